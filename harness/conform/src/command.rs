//! The commands of hooks.

use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::Child;
use tokio::time::timeout;

/// A command in a process group of its own. If it has not ended when this is dropped, it is killed with all processes of the group.
///
/// Processes that a command has started, and left behind, run on. One of them may be the manager that it has restarted.
#[derive(Debug)]
pub(crate) struct Command {
    child: Child,
    has_ended: bool,
}

impl Command {
    /// Starts it. Its first word is a program; no shell reads the others.
    pub(crate) fn start(words: &[String], namespace: &str) -> Result<Command, String> {
        let (program, arguments) = words.split_first().ok_or_else(|| "it is empty".to_owned())?;
        let child = tokio::process::Command::new(program)
            .args(arguments)
            .env("JOBCHECK_NAMESPACE", namespace)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|error| error.to_string())?;
        Ok(Command { child, has_ended: false })
    }

    /// Waits for its end, which is a success.
    pub(crate) async fn end(&mut self, patience: Duration) -> Result<(), String> {
        let Ok(ended) = timeout(patience, self.child.wait()).await else {
            return Err(format!("it did not end in {patience:?}"));
        };
        self.has_ended = true;
        match ended {
            Err(error) => Err(error.to_string()),
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(status.to_string()),
        }
    }
}

impl Drop for Command {
    fn drop(&mut self) {
        let group = self.child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
        if let Some(group) = group.filter(|_| !self.has_ended) {
            // It may end at the same time.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn shell(script: &str) -> Command {
        Command::start(&["sh".to_owned(), "-c".to_owned(), script.to_owned()], "a-namespace").unwrap()
    }

    /// Returns `true` if a process with this id runs.
    fn runs(id: &str) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", id.trim())).unwrap_or_default();
        // A killed one may wait for its parent.
        !stat.is_empty() && !stat.contains(") Z ")
    }

    async fn written(file: &std::path::Path) -> String {
        loop {
            match fs::read_to_string(file) {
                Ok(text) if text.ends_with('\n') => return text,
                _ => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    }

    #[tokio::test]
    async fn a_command_that_takes_too_long_ends_with_its_children() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("child");
        let mut command = shell(&format!("sleep 777 & echo $! > {}; wait", file.display()));
        let child = written(&file).await;
        assert!(runs(&child));
        let ended = command.end(Duration::from_millis(10)).await;
        assert_eq!(ended, Err("it did not end in 10ms".to_owned()));
        drop(command);
        for _ in 0..500 {
            if !runs(&child) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the child {child} runs on");
    }

    #[tokio::test]
    async fn what_a_command_has_started_runs_on_after_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("child");
        let mut command = shell(&format!(
            "test $JOBCHECK_NAMESPACE = a-namespace; sleep 777 & echo $! > {}",
            file.display()
        ));
        assert_eq!(command.end(Duration::from_secs(60)).await, Ok(()));
        drop(command);
        let child = written(&file).await;
        assert!(runs(&child));
        let id = child.trim().parse().ok().and_then(Pid::from_raw).unwrap();
        rustix::process::kill_process(id, Signal::KILL).unwrap();
    }

    #[tokio::test]
    async fn a_command_may_fail_or_be_missing() {
        assert_eq!(shell("exit 3").end(Duration::from_secs(60)).await, Err("exit status: 3".to_owned()));
        assert_eq!(Command::start(&[], "a").unwrap_err(), "it is empty");
        assert!(Command::start(&["/nonexistent".to_owned()], "a").is_err());
    }
}
