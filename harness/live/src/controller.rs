//! A controller of a run, as a process.

use std::ffi::OsString;
use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use jobcheck_cluster::process::{MARK, Process};
use jobcheck_spec::gates::Gates;
use rustix::process::Signal;

use crate::error::Error;

/// How a process is started.
#[derive(Clone, Debug)]
pub(crate) struct Start {
    /// The program and its arguments, feature gates apart.
    pub command: Vec<OsString>,
    /// Its feature gates.
    pub gates: Gates,
    /// Whether it takes gates that are off only where it emulates a version in which they were not locked.
    pub emulates: bool,
    /// The folder of all runs of this process, whose mark it carries.
    pub folder: PathBuf,
    /// What it says.
    pub log: PathBuf,
}

/// The last version in which 1.36 can have JobManagedBy and JobPodReplacementPolicy off.
const EMULATED: &str = "--emulated-version=1.33";

impl Start {
    fn gate_flags(&self) -> Vec<String> {
        let off: Vec<String> = self.gates.off().iter().map(|gate| format!("{gate}=false")).collect();
        let flag = format!("--feature-gates={}", off.join(","));
        match (self.emulates, off.is_empty()) {
            (true, true) => Vec::new(),
            (true, false) => vec![EMULATED.to_owned(), flag],
            (false, _) => vec![flag],
        }
    }
}

/// A process of controllers; it ends with this value.
pub(crate) struct Controller {
    start: Start,
    child: Option<Child>,
    is_paused: bool,
}

impl Controller {
    /// Starts it.
    ///
    /// # Errors
    ///
    /// There is no such program, or no room for its log.
    pub(crate) fn start(start: Start) -> Result<Controller, Error> {
        let mut controller = Controller { start, child: None, is_paused: false };
        controller.spawn()?;
        Ok(controller)
    }

    fn spawn(&mut self) -> Result<(), Error> {
        let Start { command, folder, log, .. } = &self.start;
        let said = File::options().create(true).append(true).open(log).map_err(Error::file(log))?;
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

    /// It dies.
    pub(crate) fn end(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// One that is dead is started again, with these gates; once it may go on, where it is paused.
    ///
    /// # Errors
    ///
    /// It cannot be started.
    pub(crate) fn begin(&mut self, gates: Option<Gates>) -> Result<(), Error> {
        self.start.gates = gates.unwrap_or(self.start.gates);
        if self.is_paused { Ok(()) } else { self.spawn() }
    }

    /// It does nothing from now on.
    pub(crate) fn pause(&mut self) {
        self.is_paused = true;
        self.signal(Signal::STOP);
    }

    /// Whether it does nothing.
    pub(crate) fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// It goes on.
    ///
    /// # Errors
    ///
    /// It died meanwhile, and cannot be started again.
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

    /// Looks after it.
    ///
    /// # Errors
    ///
    /// It has ended by itself: how, and what it said.
    pub(crate) fn check(&mut self) -> Result<(), Error> {
        let Some(Ok(Some(status))) = self.child.as_mut().map(Child::try_wait) else { return Ok(()) };
        let said = std::fs::read_to_string(&self.start.log).unwrap_or_default();
        let last = said.lines().last().unwrap_or("nothing");
        Err(Error::Controller(format!("they ended by themselves ({status}), and said: {last}")))
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        self.end();
    }
}
