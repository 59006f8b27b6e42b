//! Starting a cluster.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::Version;
use crate::clear::{clear, living};
use crate::control_plane::{self, ControlPlane};
use crate::embedded;
use crate::error::Error;
use crate::files;
use crate::home::Home;
use crate::kubeconfig;
use crate::launch::{Launch, Started};
use crate::lock::Lock;
use crate::name::Name;
use crate::process::Process;
use crate::state::{Kind, State};
use crate::status::{self, Health};

/// Time between two attempts to take a name.
const ATTEMPT: Duration = Duration::from_millis(100);
/// Ports are chosen before they are used, and somebody else may be quicker: how often others are tried.
const PORTS: usize = 3;

/// What is to run.
#[derive(Clone, Debug)]
pub enum Plane {
    /// The embedded API server over HTTP.
    Embedded {
        /// A program that calls [`embedded::serve`], and its arguments, to which `--folder`, `--port` and `--kubernetes` are
        /// added.
        command: Vec<OsString>,
    },
    /// A real control plane.
    Real {
        /// The program ([`crate::program::built`] of the same version).
        program: PathBuf,
        /// What of kube-controller-manager runs too.
        controllers: Controllers,
    },
}

/// Controllers of kube-controller-manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Controllers {
    /// None: it does not run.
    None,
    /// The garbage collector, and those of pod garbage and of namespaces: what controllers of Jobs rely on.
    Collectors,
    /// All that Jobs need: these, the Job controller, and the TTL-after-finished controller.
    BuiltIn,
}

/// A cluster that is to be there.
#[derive(Clone, Debug)]
pub struct Spec {
    /// Its name.
    pub name: Name,
    /// What is to run.
    pub plane: Plane,
    /// The version of Kubernetes that it is, or is like.
    pub version: Version,
    /// The port of the API server; any that is free if not given.
    pub port: Option<u16>,
    /// How long it may take to be ready.
    pub timeout: Duration,
}

/// What [`up`] came to.
#[derive(Debug)]
pub enum Up {
    /// It was started.
    Started(Cluster),
    /// One like it runs already.
    Running(State),
}

/// A cluster of this process: it is stopped with this value, unless it is detached first.
#[derive(Debug)]
pub struct Cluster {
    pub(crate) folder: PathBuf,
    pub(crate) state: State,
    pub(crate) children: Vec<Started>,
    has_replaced: bool,
    is_detached: bool,
    // The last to go: then the folder is no more.
    _lock: Lock,
}

impl Spec {
    /// What it is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self.plane {
            Plane::Embedded { .. } => Kind::Embedded,
            Plane::Real { controllers: Controllers::None, .. } => Kind::ControlPlane,
            Plane::Real { controllers: Controllers::Collectors, .. } => Kind::Collectors,
            Plane::Real { controllers: Controllers::BuiltIn, .. } => Kind::BuiltIn,
        }
    }
}

/// Starts a cluster, and waits until it is ready; one that runs already is left as it is. What is left of one of the same
/// name that has lost a process is cleared first. Dropped before it is done, it leaves nothing.
///
/// # Errors
/// It runs with other settings, or without answering; another process is starting it; or it does not become ready: then
/// nothing is left.
pub async fn up(home: &Home, spec: &Spec) -> Result<Up, Error> {
    Process::this()?;
    let end = Instant::now() + spec.timeout;
    loop {
        let lock = home.try_lock(&spec.name)?;
        let why_not = match (lock, found(home, spec).await) {
            (_, Found::Ready(state)) if is_like(&state, spec) => return Ok(Up::Running(state)),
            (_, Found::Ready(state)) => return Err(differs(state, spec)),
            (_, Found::Silent(why)) => Error::Silent { name: spec.name.to_string(), why },
            (Some(lock), Found::Nothing) => return start(home, spec, lock, end).await,
            (None, Found::Nothing) => busy(home, spec),
        };
        if Instant::now() >= end {
            return Err(why_not);
        }
        // The lock is given back meanwhile: others may stop what does not answer.
        sleep(ATTEMPT).await;
    }
}

/// What there is of a cluster.
enum Found {
    /// It works.
    Ready(State),
    /// All its processes run, and why it does not answer: what it holds is not to be thrown away for that.
    Silent(String),
    /// Nothing that can go on.
    Nothing,
}

async fn found(home: &Home, spec: &Spec) -> Found {
    let Some(status) = status::one(home, &spec.name).await else { return Found::Nothing };
    match (status.state, status.health) {
        (Some(state), Health::Ready) => Found::Ready(state),
        (Some(_), Health::NotReady(why)) if !status.components.contains(&Health::Gone) => Found::Silent(why),
        (None, Health::NotReady(why)) if !living(&status.folder).is_empty() => Found::Silent(why),
        _ => Found::Nothing,
    }
}

fn differs(state: State, spec: &Spec) -> Error {
    let State { kind, kubernetes, server, .. } = state;
    let found = format!("{kind}, Kubernetes {kubernetes}, {}", server.unwrap_or_default());
    Error::Differs { name: spec.name.to_string(), found }
}

fn busy(home: &Home, spec: &Spec) -> Error {
    let owner = State::read(&home.cluster(&spec.name)).and_then(|state| state.living_owner());
    Error::Busy { name: spec.name.to_string(), owner: owner.map(|it| it.pid) }
}

async fn start(home: &Home, spec: &Spec, lock: Lock, end: Instant) -> Result<Up, Error> {
    let folder = home.cluster(&spec.name);
    let has_replaced = folder.exists();
    clear(&folder)?;
    let state = State::new(spec.kind(), spec.version.release())?;
    let mut cluster =
        Cluster { folder, state, children: Vec::new(), has_replaced, is_detached: false, _lock: lock };
    cluster.start(spec, end).await?;
    Ok(Up::Started(cluster))
}

fn is_like(state: &State, spec: &Spec) -> bool {
    let is_there = |port: u16| state.server.as_ref().is_some_and(|it| it.ends_with(&format!(":{port}")));
    let is_same = state.kind == spec.kind() && state.kubernetes == spec.version.release();
    is_same && spec.port.is_none_or(is_there)
}

impl Cluster {
    /// Its folder, with logs and the audit log.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Its kubeconfig.
    #[must_use]
    pub fn kubeconfig(&self) -> PathBuf {
        kubeconfig::path(&self.folder)
    }

    /// What is known of it.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Whether what was left of another one had to be cleared for it.
    #[must_use]
    pub fn has_replaced(&self) -> bool {
        self.has_replaced
    }

    /// Lets it run on in the background when this process ends.
    ///
    /// # Errors
    /// That cannot be written down; then it is stopped.
    pub fn detach(mut self) -> Result<State, Error> {
        self.state.owner = None;
        self.state.write(&self.folder)?;
        self.is_detached = true;
        Ok(self.state.clone())
    }

    /// Stops it, and removes its folder.
    ///
    /// # Errors
    /// A process does not end, or a file cannot be removed.
    pub fn stop(mut self) -> Result<(), Error> {
        self.is_detached = true;
        self.end()
    }

    /// Waits until a component ends, and returns its name.
    pub async fn failure(&mut self) -> String {
        loop {
            for (started, component) in self.children.iter_mut().zip(&self.state.components) {
                if !matches!(started.child.try_wait(), Ok(None)) {
                    return component.name.clone();
                }
            }
            sleep(ATTEMPT).await;
        }
    }

    async fn start(&mut self, spec: &Spec, end: Instant) -> Result<(), Error> {
        let attempts = if spec.port.is_none() { PORTS } else { 1 };
        for left in (0..attempts).rev() {
            match self.try_start(spec, end).await {
                Err(Error::Exited { log, .. }) if left > 0 && log.says("address already in use") => {
                    self.end()?
                }
                Err(error) => return Err(error),
                Ok(()) => break,
            }
        }
        self.state.ready = true;
        self.state.write(&self.folder)
    }

    async fn try_start(&mut self, spec: &Spec, end: Instant) -> Result<(), Error> {
        files::make_folder(&self.folder)?;
        self.state.write(&self.folder)?;
        let (folder, within) = (&*self.folder, spec.timeout);
        let mut launch = Launch { folder, state: &mut self.state, children: &mut self.children, end, within };
        match &spec.plane {
            Plane::Embedded { command } => embedded::start(&mut launch, spec, command).await,
            Plane::Real { program, controllers } => {
                let (name, port, controllers) = (&spec.name, spec.port, *controllers);
                let plane = ControlPlane { program, name, port, controllers };
                plane.start(&mut launch).await
            }
        }
    }

    /// Ends what was started.
    fn end(&mut self) -> Result<(), Error> {
        clear(&self.folder)?;
        self.state.components.clear();
        // They have ended, and stay in the table of processes until somebody asks how.
        self.children.drain(..).for_each(|mut started| drop(started.child.wait()));
        Ok(())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if !self.is_detached {
            // There is nobody to tell; what is left, the next start clears.
            let _ = self.end();
        }
    }
}

/// The audit log of a cluster with this folder.
#[must_use]
pub fn audit_log(folder: &Path) -> PathBuf {
    control_plane::audit_log(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::down::down;
    use crate::process::{MARK, marked};

    /// A folder of one test, which goes with it.
    struct Folder(PathBuf);

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    /// A cluster whose server is a script.
    fn scripted(test: &str, script: &str, timeout: Duration) -> (Folder, Home, Spec) {
        let folder = std::env::temp_dir().join(format!("jobcheck-cluster-{}-{test}", std::process::id()));
        let home = Home::at(&folder).unwrap();
        let command = ["sh", "-c", script].map(OsString::from).to_vec();
        let name = "default".parse().unwrap();
        (
            Folder(folder),
            home,
            Spec {
                name,
                plane: Plane::Embedded { command },
                version: Version::default(),
                port: None,
                timeout,
            },
        )
    }

    fn assert_nothing_is_left(home: &Home, spec: &Spec) {
        let folder = home.cluster(&spec.name);
        assert!(!folder.exists() && !folder.with_extension("lock").exists());
        assert!(marked(&folder).is_empty());
    }

    #[tokio::test]
    async fn one_that_is_not_ready_in_time_is_ended() {
        let (_folder, home, spec) = scripted("late", "sleep 600 & sleep 600", Duration::from_millis(300));
        let told = up(&home, &spec).await.unwrap_err().to_string();
        assert!(told.starts_with("embedded-apiserver was not ready within 300ms: there is no "), "{told}");
        assert!(told.ends_with("embedded-apiserver.log says nothing"), "{told}");
        assert_nothing_is_left(&home, &spec);
    }

    #[tokio::test]
    async fn one_that_ends_is_told_at_once() {
        let (_folder, home, spec) = scripted("ends", "echo I cannot >&2; exit 3", Duration::from_secs(600));
        let told = up(&home, &spec).await.unwrap_err().to_string();
        assert!(told.starts_with("embedded-apiserver ended (exit status: 3) before it was ready"), "{told}");
        assert!(told.ends_with("\n  I cannot"), "{told}");
        assert_nothing_is_left(&home, &spec);
    }

    #[tokio::test]
    async fn a_port_that_was_taken_meanwhile_is_tried_again_unless_it_was_asked_for() {
        let script = "test -e ../../tried && { echo again >&2; exit 3; }; \
                      touch ../../tried; echo address already in use >&2; exit 1";
        let (_folder, home, spec) = scripted("port", script, Duration::from_secs(600));
        let told = up(&home, &spec).await.unwrap_err().to_string();
        assert!(told.ends_with("\n  again"), "{told}");

        let (_other, home, other) = scripted("fixed-port", script, Duration::from_secs(600));
        let told = up(&home, &Spec { port: Some(1), ..other }).await.unwrap_err().to_string();
        assert!(told.ends_with("\n  address already in use"), "{told}");
    }

    #[tokio::test]
    async fn one_that_another_version_wrote_is_not_thrown_away() {
        let (_folder, home, spec) = scripted("other", "sleep 600", Duration::from_millis(300));
        let folder = home.cluster(&spec.name);
        std::fs::create_dir_all(&folder).unwrap();
        let mut other = std::process::Command::new("sleep").arg("600").env(MARK, &folder).spawn().unwrap();
        let told = up(&home, &spec).await.unwrap_err().to_string();
        assert!(told.contains("its state cannot be read"), "{told}");
        assert!(other.try_wait().unwrap().is_none());
        assert!(down(&home, &spec.name).unwrap());
        assert_nothing_is_left(&home, &spec);
        let _ = other.wait();
    }

    #[tokio::test]
    async fn one_that_is_given_up_is_ended() {
        let (_folder, home, spec) = scripted("given-up", "sleep 600", Duration::from_secs(600));
        let starting = tokio::time::timeout(Duration::from_millis(300), up(&home, &spec));
        assert!(starting.await.is_err());
        assert_nothing_is_left(&home, &spec);
        assert!(!down(&home, &spec.name).unwrap());
    }
}
