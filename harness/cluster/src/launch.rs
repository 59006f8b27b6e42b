//! Starting the processes of a cluster, and waiting until they are ready.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use std::os::unix::process::CommandExt;
use tokio::time::{Instant, sleep};

use crate::error::{Error, Log};
use crate::files;
use crate::health;
use crate::process::{MARK, Process};
use crate::state::{Component, Endpoint, State};

/// The interval of health checks.
const ASK: Duration = Duration::from_millis(100);

/// A cluster that is being started. Its processes are children of this one.
pub(crate) struct Launch<'a> {
    /// The cluster's folder.
    pub folder: &'a Path,
    /// The state of the cluster.
    pub state: &'a mut State,
    /// The child processes, in the order of the components in the state.
    pub children: &'a mut Vec<Started>,
    /// The time at which the cluster must be ready.
    pub end: Instant,
    /// The same limit as a duration, for messages.
    pub within: Duration,
}

/// A component as a child of this process, with its command.
#[derive(Debug)]
pub(crate) struct Started {
    /// The child.
    pub child: Child,
    program: PathBuf,
    arguments: Vec<OsString>,
}

impl Started {
    /// Starts a component in the cluster's folder. It gets a process group of its own, so that Ctrl-C does not
    /// reach it.
    fn new(folder: &Path, name: &str, program: &Path, arguments: &[OsString]) -> Result<Started, Error> {
        let log = files::log(&log(folder, name))?;
        let both = log.try_clone().map_err(Error::file("write", folder))?;
        let mut command = Command::new(program);
        command.args(arguments).current_dir(folder).env(MARK, folder).process_group(0);
        command.stdin(Stdio::null()).stdout(log).stderr(both);
        let started = command.spawn();
        let child =
            started.map_err(|source| Error::Start { program: program.display().to_string(), source })?;
        Ok(Started { child, program: program.to_owned(), arguments: arguments.to_vec() })
    }

    /// Starts the same component again, after it has ended.
    pub(crate) fn again(&self, folder: &Path, name: &str) -> Result<Started, Error> {
        Started::new(folder, name, &self.program, &self.arguments)
    }

    /// The process. A zombie keeps its process id.
    pub(crate) fn process(&self) -> Process {
        let pid = self.child.id();
        Process::of(pid).unwrap_or(Process { pid, started: 0 })
    }
}

/// The log of a component, in the folder of its cluster.
#[must_use]
pub fn log(folder: &Path, component: &str) -> PathBuf {
    folder.join(format!("{component}.log"))
}

impl Launch<'_> {
    /// Starts a component.
    pub(crate) fn start(&mut self, name: &str, program: &Path, arguments: &[OsString]) -> Result<(), Error> {
        let started = Started::new(self.folder, name, program, arguments)?;
        let process = started.process();
        self.children.push(started);
        self.state.components.push(Component { name: name.to_owned(), process, health: None });
        self.state.write(self.folder)
    }

    /// Waits until a started component is ready.
    pub(crate) async fn well(&mut self, name: &str, endpoint: Endpoint) -> Result<(), Error> {
        self.until(&endpoint).await?;
        if let Some(component) = self.state.components.iter_mut().find(|it| it.name == name) {
            component.health = Some(endpoint);
        }
        self.state.write(self.folder)
    }

    /// Repeats a health check until it succeeds.
    pub(crate) async fn until(&mut self, endpoint: &Endpoint) -> Result<(), Error> {
        loop {
            let Err(why) = health::ask(self.folder, endpoint).await else { return Ok(()) };
            self.pause(&why).await?;
        }
    }

    /// Waits until a file exists and is not empty. Returns its contents.
    pub(crate) async fn file(&mut self, path: &Path) -> Result<Vec<u8>, Error> {
        loop {
            match std::fs::read(path) {
                Ok(bytes) if !bytes.is_empty() => return Ok(bytes),
                Ok(_) | Err(_) => self.pause(&format!("there is no {}", path.display())).await?,
            }
        }
    }

    /// Waits for the next check. Fails if a component has ended or the time has passed.
    async fn pause(&mut self, why: &str) -> Result<(), Error> {
        for (started, component) in self.children.iter_mut().zip(&self.state.components) {
            if let Ok(Some(status)) = started.child.try_wait() {
                let log = Log::end_of(&log(self.folder, &component.name));
                return Err(Error::Exited {
                    component: component.name.clone(),
                    status: status.to_string(),
                    log,
                });
            }
        }
        if Instant::now() >= self.end {
            let component = self.state.components.last().map_or_else(String::new, |it| it.name.clone());
            let log = Log::end_of(&log(self.folder, &component));
            return Err(Error::NotReady { component, within: self.within, why: why.to_owned(), log });
        }
        sleep(ASK).await;
        Ok(())
    }
}
