//! A controller process of a run.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use jobcheck_cluster::process::{MARK, Process};
use jobcheck_spec::gates::Gates;
use rustix::process::Signal;

use crate::error::Error;

/// The settings of a process.
#[derive(Clone, Debug)]
pub(crate) struct Start {
    /// The program and its arguments, without feature gates.
    pub command: Vec<OsString>,
    /// The feature gates.
    pub gates: Gates,
    /// The version that the program emulates if gates are off, because they are locked in its own.
    pub emulates: Option<&'static str>,
    /// The folder of this process's runs, which is the mark of the controller process.
    pub folder: PathBuf,
    /// The file for its output.
    pub log: PathBuf,
}

impl Start {
    fn gate_flags(&self) -> Vec<String> {
        let off: Vec<String> = self.gates.off().iter().map(|gate| format!("{gate}=false")).collect();
        let flag = format!("--feature-gates={}", off.join(","));
        match self.emulates {
            Some(_) if off.is_empty() => Vec::new(),
            Some(version) => vec![format!("--emulated-version={version}"), flag],
            None => vec![flag],
        }
    }
}

/// A controller process. It is killed when this value is dropped.
pub(crate) struct Controller {
    start: Start,
    child: Option<Child>,
    is_paused: bool,
}

impl Controller {
    /// Starts the process.
    ///
    /// # Errors
    ///
    /// The program does not exist, or its log cannot be written.
    pub(crate) fn start(start: Start) -> Result<Controller, Error> {
        let mut controller = Controller { start, child: None, is_paused: false };
        controller.spawn()?;
        Ok(controller)
    }

    fn spawn(&mut self) -> Result<(), Error> {
        let Start { command, folder, log, .. } = &self.start;
        let said =
            File::options().create(true).append(true).mode(0o600).open(log).map_err(Error::file(log))?;
        let (program, arguments) = command.split_first().ok_or(Error::Controller("no program".to_owned()))?;
        let mut command = Command::new(program);
        command.args(arguments).args(self.start.gate_flags()).env(MARK, folder);
        let both = said.try_clone().map_err(Error::file(log))?;
        command.stdin(Stdio::null()).stdout(both).stderr(said);
        let child =
            command.spawn().map_err(|error| Error::Controller(format!("cannot be started: {error}")))?;
        self.child = Some(child);
        Ok(())
    }

    /// Kills the process.
    pub(crate) fn end(&mut self) {
        if let Some(mut child) = self.child.take() {
            // The process may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Starts a killed process again, with these gates. If it is paused, it starts when it is continued.
    ///
    /// # Errors
    ///
    /// The process cannot be started.
    pub(crate) fn begin(&mut self, gates: Option<Gates>) -> Result<(), Error> {
        self.start.gates = gates.unwrap_or(self.start.gates);
        if self.is_paused { Ok(()) } else { self.spawn() }
    }

    /// Stops the process with SIGSTOP.
    pub(crate) fn pause(&mut self) {
        self.is_paused = true;
        self.signal(Signal::STOP);
    }

    /// Returns true if the process is paused.
    pub(crate) fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// Continues the process.
    ///
    /// # Errors
    ///
    /// The process was killed meanwhile, and cannot be started again.
    pub(crate) fn unpause(&mut self) -> Result<(), Error> {
        self.is_paused = false;
        if self.child.is_none() {
            return self.spawn();
        }
        self.signal(Signal::CONT);
        Ok(())
    }

    fn signal(&self, signal: Signal) {
        if let Some(process) = self.child.as_ref().and_then(|child| Process::of(child.id())) {
            process.signal(signal);
        }
    }

    /// Checks that the process runs.
    ///
    /// # Errors
    ///
    /// The process has ended. The error has its status and the last line of its log.
    pub(crate) fn check(&mut self) -> Result<(), Error> {
        let Some(Ok(Some(status))) = self.child.as_mut().map(Child::try_wait) else { return Ok(()) };
        let said = std::fs::read_to_string(&self.start.log).unwrap_or_default();
        let last = said.lines().last().unwrap_or("nothing");
        Err(Error::Controller(format!(
            "they ended unexpectedly ({status}); the last line of the log: {last}"
        )))
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        self.end();
    }
}
