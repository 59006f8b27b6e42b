//! Processes: identity, liveness, and the cluster to which they belong.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// The environment variable with the cluster's folder that every process of a cluster has.
pub const MARK: &str = "JOBCHECK_CLUSTER_FOLDER";

/// The interval of checks for the end of a process.
const LOOK: Duration = Duration::from_millis(20);

/// A process, identified by its number and the time of its start. Both together are unique until the machine
/// restarts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Process {
    /// The process id.
    pub pid: u32,
    /// The start, in clock ticks since the machine was booted (field 22 of `/proc/PID/stat`).
    pub started: u64,
}

impl Process {
    /// The living process with this id.
    #[must_use]
    pub fn of(pid: u32) -> Option<Process> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        Some(Process { pid, started: start_of_living(&stat)? })
    }

    /// This process.
    ///
    /// # Errors
    /// There is no `/proc`.
    pub fn this() -> Result<Process, Error> {
        Process::of(std::process::id()).ok_or(Error::NoProc)
    }

    /// Returns true if the process runs. A zombie does not.
    #[must_use]
    pub fn lives(self) -> bool {
        Process::of(self.pid) == Some(self)
    }

    /// Sends a signal if the process runs.
    pub fn signal(self, signal: Signal) {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        if let (Some(pid), true) = (pid, self.lives()) {
            // The process may have ended meanwhile, which callers check anyway.
            let _ = kill_process(pid, signal);
        }
    }
}

/// Reads the start of a process from `/proc/PID/stat`. `None` if it has ended. The name is in parentheses and may
/// contain any character.
fn start_of_living(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    match fields.next()? {
        "Z" | "X" | "x" => None,
        // The state is field 3, and the start is field 22.
        _ => fields.nth(18)?.parse().ok(),
    }
}

/// The id of the current boot of the machine.
#[must_use]
pub fn boot() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_owned()
}

/// The living processes with this mark.
#[must_use]
pub fn marked(folder: &Path) -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| carries(*pid, folder)).filter_map(Process::of).collect()
}

/// Returns true if a process has the mark. Processes of other users cannot be read, and are never ours.
fn carries(pid: u32, folder: &Path) -> bool {
    let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) else { return false };
    environment.split(|byte| *byte == 0).any(|entry| {
        entry.strip_prefix(MARK.as_bytes()).and_then(|rest| rest.strip_prefix(b"="))
            == Some(OsStr::as_bytes(folder.as_os_str()))
    })
}

/// Waits until no process runs or the time has passed. Returns the processes that still run.
#[must_use]
pub fn wait(mut processes: Vec<Process>, time: Duration) -> Vec<Process> {
    let end = Instant::now() + time;
    loop {
        processes.retain(|it| it.lives());
        if processes.is_empty() || Instant::now() >= end {
            return processes;
        }
        std::thread::sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn the_start_is_read_past_any_name() {
        let stat = "12 (a) Z 1) S 1 12 12 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 99 1";
        assert_eq!(start_of_living(stat), Some(4711));
        assert_eq!(start_of_living(&stat.replace(") S", ") Z")), None);
        assert_eq!(start_of_living("nonsense"), None);
    }

    #[test]
    fn a_reused_process_id_is_another_process() {
        let this = Process::this().unwrap();
        assert!(this.lives());
        assert!(!Process { started: this.started + 1, ..this }.lives());
    }

    #[test]
    fn a_marked_process_is_found_until_it_is_killed() {
        let folder = Path::new("/nowhere/clusters/marked");
        let mut child = Command::new("sleep").arg("600").env(MARK, folder).spawn().unwrap();
        // A spawned process has its parent's environment until it has executed its program.
        let found = (0..500).find_map(|_| {
            let found = marked(folder);
            std::thread::sleep(LOOK);
            (!found.is_empty()).then_some(found)
        });
        let found = found.unwrap();
        assert_eq!(found.iter().map(|it| it.pid).collect::<Vec<_>>(), [child.id()]);
        assert!(marked(Path::new("/nowhere/clusters/mark")).is_empty());
        found[0].signal(Signal::KILL);
        // The process is a zombie until its parent waits for it.
        assert!(wait(found.clone(), Duration::from_secs(60)).is_empty());
        assert!(marked(folder).is_empty());
        let _ = child.wait();
    }
}
