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
use crate::own::Own;
use crate::process::Process;
use crate::state::{Kind, State};
use crate::status::{self, Health};

/// The time between two attempts to lock a name.
const ATTEMPT: Duration = Duration::from_millis(100);
/// The number of attempts with another port. A port is chosen before it is used, and another process may take it
/// meanwhile.
const PORTS: usize = 3;

/// The kind of cluster to start.
#[derive(Clone, Debug)]
pub enum Plane {
    /// The embedded API server.
    Embedded {
        /// A program that calls [`embedded::serve`], with its arguments. `--folder`, `--port`, `--kubernetes`, and
        /// `--token` are appended.
        command: Vec<OsString>,
        /// It demands a token, over TLS. Otherwise it is plain HTTP for everyone.
        with_token: bool,
    },
    /// A real control plane.
    Real {
        /// The programs.
        programs: Programs,
        /// The controllers of kube-controller-manager to start.
        controllers: Controllers,
    },
}

/// The programs of a control plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Programs {
    /// The program of all components ([`crate::program::built`], for the same version).
    pub built: PathBuf,
    /// Another kube-apiserver.
    pub api_server: Option<Own>,
    /// Another kube-controller-manager.
    pub controller_manager: Option<Own>,
}

impl From<PathBuf> for Programs {
    fn from(built: PathBuf) -> Programs {
        Programs { built, api_server: None, controller_manager: None }
    }
}

impl Programs {
    /// The programs of others, as a cluster's state names them.
    fn own(&self) -> Vec<String> {
        let own =
            [("kube-apiserver", &self.api_server), ("kube-controller-manager", &self.controller_manager)];
        let own = own.into_iter().filter_map(|(name, own)| Some((name, own.as_ref()?)));
        own.map(|(name, own)| format!("{name} {} {}", own.version, own.path.display())).collect()
    }

    /// The words that start kube-controller-manager, to which flags are appended.
    #[must_use]
    pub fn controller_manager(&self) -> Vec<OsString> {
        let (program, arguments) = self.command("kube-controller-manager", &self.controller_manager, &[]);
        std::iter::once(program.into()).chain(arguments).collect()
    }

    /// The program and the arguments of a component.
    pub(crate) fn command<'a>(
        &'a self,
        name: &str,
        own: &'a Option<Own>,
        flags: &[OsString],
    ) -> (&'a Path, Vec<OsString>) {
        match own {
            Some(own) => (&own.path, flags.to_vec()),
            None => (&self.built, [&[name.into()], flags].concat()),
        }
    }
}

/// A selection of the controllers of kube-controller-manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Controllers {
    /// kube-controller-manager is not started.
    None,
    /// The garbage collector, the pod garbage collector, and the namespace controller, on which Job controllers
    /// depend.
    Collectors,
    /// The same, and the Job, TTL-after-finished, and CronJob controllers.
    BuiltIn,
}

/// The specification of a cluster to start.
#[derive(Clone, Debug)]
pub struct Spec {
    /// The name.
    pub name: Name,
    /// The kind of cluster.
    pub plane: Plane,
    /// The version of Kubernetes to run or emulate.
    pub version: Version,
    /// The port of the API server. `None`: a free port.
    pub port: Option<u16>,
    /// The time in which the cluster must be ready.
    pub timeout: Duration,
}

/// The result of [`up`].
#[derive(Debug)]
pub enum Up {
    /// The cluster was started.
    Started(Cluster),
    /// A cluster with the same specification runs already.
    Running(State),
}

/// A cluster that this process owns. It is stopped when the value is dropped, unless it is detached before.
#[derive(Debug)]
pub struct Cluster {
    pub(crate) folder: PathBuf,
    pub(crate) state: State,
    pub(crate) children: Vec<Started>,
    has_replaced: bool,
    is_detached: bool,
    // Dropped last, after the folder was removed.
    _lock: Lock,
}

impl Spec {
    /// The programs of others that the cluster runs.
    fn own(&self) -> Vec<String> {
        match &self.plane {
            Plane::Embedded { .. } => Vec::new(),
            Plane::Real { programs, .. } => programs.own(),
        }
    }

    /// The kind of cluster.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self.plane {
            Plane::Embedded { with_token: false, .. } => Kind::Embedded,
            Plane::Embedded { with_token: true, .. } => Kind::EmbeddedWithToken,
            Plane::Real { controllers: Controllers::None, .. } => Kind::ControlPlane,
            Plane::Real { controllers: Controllers::Collectors, .. } => Kind::Collectors,
            Plane::Real { controllers: Controllers::BuiltIn, .. } => Kind::BuiltIn,
        }
    }
}

/// Starts a cluster, and waits until it is ready. A cluster that runs already is not changed. A cluster of the same
/// name that has lost a process is removed first. If the future is dropped early, nothing remains.
///
/// # Errors
/// The cluster runs with other settings or does not respond, or another process is starting it. If it does not become
/// ready, nothing remains.
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
        // The lock is released meanwhile, so that another process can stop a cluster that does not respond.
        sleep(ATTEMPT).await;
    }
}

/// The state in which an existing cluster was found.
enum Found {
    /// The cluster is ready.
    Ready(State),
    /// All its processes run, but it does not respond, for this reason. Its data must not be removed.
    Silent(String),
    /// There is no usable cluster.
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
    let State { kind, kubernetes, server, own, .. } = state;
    let own: String = own.iter().map(|it| format!(", {it}")).collect();
    let found = format!("{kind}, Kubernetes {kubernetes}, {}{own}", server.unwrap_or_default());
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
    let mut state = State::new(spec.kind(), spec.version.release())?;
    state.own = spec.own();
    let mut cluster =
        Cluster { folder, state, children: Vec::new(), has_replaced, is_detached: false, _lock: lock };
    cluster.start(spec, end).await?;
    Ok(Up::Started(cluster))
}

fn is_like(state: &State, spec: &Spec) -> bool {
    let is_there = |port: u16| state.server.as_ref().is_some_and(|it| it.ends_with(&format!(":{port}")));
    let is_same =
        state.kind == spec.kind() && state.kubernetes == spec.version.release() && state.own == spec.own();
    is_same && spec.port.is_none_or(is_there)
}

impl Cluster {
    /// The folder, with the logs and the audit log.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The kubeconfig file.
    #[must_use]
    pub fn kubeconfig(&self) -> PathBuf {
        kubeconfig::path(&self.folder)
    }

    /// The state.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Returns true if a broken cluster of the same name was removed first.
    #[must_use]
    pub fn has_replaced(&self) -> bool {
        self.has_replaced
    }

    /// Leaves the cluster running in the background after the end of this process.
    ///
    /// # Errors
    /// The state cannot be written. Then the cluster is stopped.
    pub fn detach(mut self) -> Result<State, Error> {
        self.state.owner = None;
        self.state.write(&self.folder)?;
        self.is_detached = true;
        Ok(self.state.clone())
    }

    /// Stops the cluster, and removes its folder.
    ///
    /// # Errors
    /// A process does not end, or a file cannot be removed.
    pub fn stop(mut self) -> Result<(), Error> {
        self.is_detached = true;
        self.end()
    }

    /// Waits until a component ends. Returns its name.
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
            Plane::Embedded { command, with_token } => {
                embedded::start(&mut launch, spec, command, *with_token).await
            }
            Plane::Real { programs, controllers } => {
                let (name, port, controllers) = (&spec.name, spec.port, *controllers);
                let plane = ControlPlane { programs, name, port, controllers };
                plane.start_all(&mut launch).await
            }
        }
    }

    /// Ends the started processes, and removes the folder.
    fn end(&mut self) -> Result<(), Error> {
        clear(&self.folder)?;
        self.state.components.clear();
        // The processes have ended, and are zombies until their parent waits for them.
        self.children.drain(..).for_each(|mut started| drop(started.child.wait()));
        Ok(())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if !self.is_detached {
            // A destructor cannot report an error. The next start removes the rest.
            let _ = self.end();
        }
    }
}

/// The audit log of the cluster in this folder.
#[must_use]
pub fn audit_log(folder: &Path) -> PathBuf {
    control_plane::audit_log(folder)
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::down::down;
    use crate::process::{MARK, marked};

    /// The specification of a cluster whose server is a shell script.
    fn scripted(script: &str, timeout: Duration) -> (TempDir, Home, Spec) {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path()).unwrap();
        let command = ["sh", "-c", script].map(OsString::from).to_vec();
        let name = "default".parse().unwrap();
        (
            folder,
            home,
            Spec {
                name,
                plane: Plane::Embedded { command, with_token: false },
                version: Version::default(),
                port: None,
                timeout,
            },
        )
    }

    #[test]
    fn a_program_of_someone_else_gets_the_flags_alone() {
        let own = Own { path: "/mine".into(), version: "v1.36.3".to_owned() };
        let programs = Programs { controller_manager: Some(own), ..Programs::from(PathBuf::from("/built")) };
        let flags = ["--a".into()];
        let of = |own| programs.command("kube-controller-manager", own, &flags);
        assert_eq!(of(&programs.controller_manager), (Path::new("/mine"), vec!["--a".into()]));
        let ours = vec!["kube-controller-manager".into(), "--a".into()];
        assert_eq!(of(&programs.api_server), (Path::new("/built"), ours));
        assert_eq!(programs.controller_manager(), ["/mine"]);
        assert_eq!(
            Programs::from(PathBuf::from("/b")).controller_manager(),
            ["/b", "kube-controller-manager"]
        );
        assert_eq!(programs.own(), ["kube-controller-manager v1.36.3 /mine"]);
    }

    fn assert_nothing_is_left(home: &Home, spec: &Spec) {
        let folder = home.cluster(&spec.name);
        assert!(!folder.exists() && !folder.with_extension("lock").exists());
        assert!(marked(&folder).is_empty());
    }

    #[tokio::test]
    async fn a_cluster_that_is_not_ready_in_time_is_removed() {
        let (_folder, home, spec) = scripted("sleep 600 & sleep 600", Duration::from_millis(300));
        let error = up(&home, &spec).await.unwrap_err().to_string();
        assert!(error.starts_with("embedded-apiserver was not ready within 300ms: there is no "), "{error}");
        assert!(error.ends_with("embedded-apiserver.log is empty"), "{error}");
        assert_nothing_is_left(&home, &spec);
    }

    #[tokio::test]
    async fn a_component_that_ends_is_reported_at_once() {
        let (_folder, home, spec) = scripted("echo I cannot >&2; exit 3", Duration::from_secs(600));
        let error = up(&home, &spec).await.unwrap_err().to_string();
        assert!(
            error.starts_with("embedded-apiserver ended (exit status: 3) before it was ready"),
            "{error}"
        );
        assert!(error.ends_with("\n  I cannot"), "{error}");
        assert_nothing_is_left(&home, &spec);
    }

    #[tokio::test]
    async fn another_port_is_tried_unless_the_port_was_requested() {
        let script = "test -e ../../tried && { echo again >&2; exit 3; }; \
                      touch ../../tried; echo address already in use >&2; exit 1";
        let (_folder, home, spec) = scripted(script, Duration::from_secs(600));
        let error = up(&home, &spec).await.unwrap_err().to_string();
        assert!(error.ends_with("\n  again"), "{error}");

        let (_other, home, other) = scripted(script, Duration::from_secs(600));
        let error = up(&home, &Spec { port: Some(1), ..other }).await.unwrap_err().to_string();
        assert!(error.ends_with("\n  address already in use"), "{error}");
    }

    #[tokio::test]
    async fn a_cluster_of_another_version_is_not_removed() {
        let (_folder, home, spec) = scripted("sleep 600", Duration::from_millis(300));
        let folder = home.cluster(&spec.name);
        std::fs::create_dir_all(&folder).unwrap();
        let mut other = std::process::Command::new("sleep").arg("600").env(MARK, &folder).spawn().unwrap();
        let error = up(&home, &spec).await.unwrap_err().to_string();
        assert!(error.contains("its state cannot be read"), "{error}");
        assert!(other.try_wait().unwrap().is_none());
        assert!(down(&home, &spec.name).unwrap());
        assert_nothing_is_left(&home, &spec);
        let _ = other.wait();
    }

    #[tokio::test]
    async fn a_dropped_start_leaves_no_process() {
        let (_folder, home, spec) = scripted("sleep 600", Duration::from_secs(600));
        let starting = tokio::time::timeout(Duration::from_millis(300), up(&home, &spec));
        assert!(starting.await.is_err());
        assert_nothing_is_left(&home, &spec);
        assert!(!down(&home, &spec.name).unwrap());
    }
}
