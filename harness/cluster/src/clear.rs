//! Ending the processes of a cluster, and removing its folder.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;

use crate::error::Error;
use crate::process::{Process, marked, wait};
use crate::state::State;

/// The component that is killed last: its data is not needed any longer.
const LAST: &str = "etcd";
/// The time that processes have to end after SIGTERM.
const ASKED: Duration = Duration::from_secs(5);
/// The time that processes have to end after SIGKILL.
const FORCED: Duration = Duration::from_secs(20);

/// Ends every process of the cluster in this folder, and removes the folder. The caller holds the lock of the
/// cluster's name.
pub(crate) fn clear(folder: &Path) -> Result<(), Error> {
    if !folder.exists() {
        return Ok(());
    }
    let asked = asked(folder);
    asked.iter().for_each(|it| it.signal(Signal::TERM));
    // A paused process gets its signal once it is resumed.
    asked.iter().for_each(|it| it.signal(Signal::CONT));
    let _ = wait(asked, ASKED);
    // A process that was found only now was started by one that is dead. Two rounds are enough, because
    // components start no further processes.
    for _ in 0..2 {
        let all = living(folder);
        all.iter().for_each(|it| it.signal(Signal::KILL));
        if let Some(survivor) = wait(all, FORCED).first() {
            return Err(Error::Survives(survivor.pid));
        }
    }
    fs::remove_dir_all(folder).map_err(Error::file("remove", folder))
}

/// The living processes of a cluster: those in its state file, and those that carry its mark.
pub(crate) fn living(folder: &Path) -> Vec<Process> {
    let written = State::read(folder).map(|state| state.processes().collect()).unwrap_or_default();
    let mut all: Vec<Process> = [written, marked(folder)].concat();
    all.retain(|it| it.lives());
    all.sort_unstable();
    all.dedup();
    all
}

fn asked(folder: &Path) -> Vec<Process> {
    let state = State::read(folder);
    let last = state.iter().flat_map(|it| &it.components).find(|it| it.name == LAST).map(|it| it.process);
    living(folder).into_iter().filter(|it| Some(*it) != last).collect()
}
