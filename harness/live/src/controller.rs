//! The shipped controllers of a run, as a process.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use jobcheck_cluster::process::{MARK, Process};
use jobcheck_harness::report::Subject;
use jobcheck_model::gates::Gates;
use jobcheck_record::Access;
use rustix::process::Signal;

use crate::error::Error;

/// How the process is started.
#[derive(Clone, Debug)]
pub(crate) struct Start<'a> {
    /// The program, and its first arguments.
    pub command: &'a [OsString],
    /// The cluster.
    pub access: &'a Access,
    /// The folder of all runs of this process, whose mark it carries.
    pub folder: &'a Path,
    /// The only namespace that it sees.
    pub namespace: &'a str,
    /// The Jobs that it manages.
    pub managed_by: Option<&'a str>,
    /// Whether it is the TTL-after-finished controller, too.
    pub ttl: bool,
    /// Its constants and feature gates.
    pub subject: Subject,
}

/// A process of the shipped controllers; it ends with this value.
pub(crate) struct Controller {
    command: Vec<OsString>,
    folder: PathBuf,
    log: PathBuf,
    gates: Gates,
    child: Option<Child>,
    is_paused: bool,
}

impl Controller {
    /// Starts it.
    ///
    /// # Errors
    ///
    /// There is no such program, or no room for its log.
    pub(crate) fn start(start: &Start<'_>) -> Result<Controller, Error> {
        let mut controller = Controller {
            command: [start.command, &flags(start)].concat(),
            folder: start.folder.to_owned(),
            log: start.folder.join(format!("{}.log", start.namespace)),
            gates: start.subject.gates,
            child: None,
            is_paused: false,
        };
        controller.spawn()?;
        Ok(controller)
    }

    fn spawn(&mut self) -> Result<(), Error> {
        let log =
            File::options().create(true).append(true).open(&self.log).map_err(Error::file(&self.log))?;
        let (program, arguments) =
            self.command.split_first().ok_or(Error::Controller("no program".to_owned()))?;
        let off: Vec<String> = self.gates.off().iter().map(|gate| format!("{gate}=false")).collect();
        let mut command = Command::new(program);
        command.args(arguments).arg(format!("--feature-gates={}", off.join(","))).env(MARK, &self.folder);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let child =
            command.spawn().map_err(|error| Error::Controller(format!("cannot be started: {error}")))?;
        self.child = Some(child);
        Ok(())
    }

    fn end(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// It dies, and is started again, with these gates; once it may go on, where it is paused.
    ///
    /// # Errors
    ///
    /// It cannot be started.
    pub(crate) fn restart(&mut self, gates: Option<Gates>) -> Result<(), Error> {
        self.end();
        self.gates = gates.unwrap_or(self.gates);
        if self.is_paused { Ok(()) } else { self.spawn() }
    }

    /// It does nothing from now on.
    pub(crate) fn pause(&mut self) {
        self.is_paused = true;
        self.signal(Signal::STOP);
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
        let said = std::fs::read_to_string(&self.log).unwrap_or_default();
        let last = said.lines().last().unwrap_or("nothing");
        Err(Error::Controller(format!("they ended by themselves ({status}), and said: {last}")))
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        self.end();
    }
}

/// The flags, feature gates apart. A run is short: nothing limits its requests. Each controller has a namespace of its
/// own, so that none has to wait for another's Lease.
fn flags(start: &Start<'_>) -> Vec<OsString> {
    let constants = &start.subject.constants;
    let mut flags: Vec<OsString> = [
        format!("--namespace={}", start.namespace),
        format!("--controllers={}", if start.ttl { "job,ttl" } else { "job" }),
        format!("--pod-failure-backoff={}ms", constants.pod_failure_backoff_ms),
        format!("--pod-failure-backoff-max={}ms", constants.pod_failure_backoff_max_ms),
        format!("--max-uncounted-pods={}", constants.max_uncounted_pods),
        "--qps=0".to_owned(),
        "--leader-elect=false".to_owned(),
    ]
    .map(OsString::from)
    .to_vec();
    flags.extend(start.managed_by.map(|value| format!("--managed-by={value}").into()));
    if let Some(file) = &start.access.kubeconfig {
        flags.extend(["--kubeconfig".into(), file.clone().into_os_string()]);
    }
    if let Some(context) = &start.access.context {
        flags.extend(["--context".into(), context.into()]);
    }
    flags
}
