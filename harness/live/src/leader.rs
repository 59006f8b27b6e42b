//! The controllers that a run starts: a process, and a fault proxy before it if the scenario requires one.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::mpsc::Sender;

use jobcheck_faultproxy::{Decider, Decision, FaultProxy, Handle, Handling, RequestInfo, Verb};
use jobcheck_judge::replay::Subject;
use jobcheck_record::watch::WatchUpdate;
use jobcheck_record::{Access, AccessError};
use jobcheck_traces::Resource;
use tokio::sync::oneshot;

use crate::controller::{Controller, Start};
use crate::error::Error;
use crate::test_cluster::TestCluster;
use crate::unsupported::unlocking;
use crate::{Manager, Plan};

/// The controllers of kube-controller-manager that a run starts.
const OF_JOBS: &str = "job-controller,ttl-after-finished-controller";

/// A process that manages the Jobs of a run. Two leaders do not know of each other.
pub(crate) struct Leader {
    /// The number of the process in the run, from 0.
    pub number: usize,
    /// The process.
    pub controller: Controller,
    /// The proxy before it, which stops after the process.
    pub proxy: Option<Handle>,
}

/// An event of a run.
pub(crate) enum RunEvent {
    /// An update from the watch of a resource.
    Shown(Resource, WatchUpdate),
    /// A request of a controller that waits for a decision.
    Request(Box<RequestDecision>),
}

/// A request of a leader that waits for a decision.
pub(crate) struct RequestDecision {
    /// The sender, by [`Leader::number`].
    pub leader: usize,
    /// The attributes of the request.
    pub asked: RequestInfo,
    /// The channel for the decision.
    pub reply: oneshot::Sender<Handling>,
}

/// The settings with which the leaders of a run are started.
pub(crate) struct ControllerSetup<'a> {
    /// The cluster.
    pub cluster: &'a TestCluster,
    /// The settings of the run.
    pub plan: &'a Plan,
    /// The namespace of the run.
    pub namespace: &'a str,
    /// Constants and feature gates.
    pub subject: Subject,
    /// The channel to the run, which decides about requests. `None`: there is no proxy.
    pub decides: Option<Sender<RunEvent>>,
}

impl ControllerSetup<'_> {
    /// Starts the process with this number. Returns `None` if the run starts no controllers.
    ///
    /// # Errors
    ///
    /// The process or its proxy cannot be started.
    pub(crate) fn start(&self, number: usize) -> Result<Option<Leader>, Error> {
        let folder = self.cluster.folder().to_owned();
        let file = |end: &str| folder.join(format!("{}-{number}.{end}", self.namespace));
        let (log, kubeconfig) = (file("log"), file("kubeconfig"));
        if self.plan.manager == Manager::External || self.plan.manager == (Manager::BuiltIn { program: None })
        {
            return Ok(None);
        }
        let proxy = self.decides.as_ref().map(|out| self.proxy(number, out)).transpose()?;
        let access = match &proxy {
            None => self.cluster.access().clone(),
            Some(proxy) => {
                write_secret(&kubeconfig, &proxy.kubeconfig()?)?;
                Access { kubeconfig: Some(kubeconfig), context: None }
            }
        };
        let (command, gates) = match &self.plan.manager {
            Manager::BuiltIn { program: Some(program) } => (built_in(program, &access), self.subject.gates),
            Manager::Shipped { command, ttl } => {
                let flags = self.flags(*ttl, &access);
                ([&command[..], &flags].concat(), self.subject.gates)
            }
            Manager::BuiltIn { program: None } | Manager::External => return Ok(None),
        };
        let is_built_in = matches!(self.plan.manager, Manager::BuiltIn { .. });
        let emulates = is_built_in.then(|| unlocking(self.plan.rules));
        let controller = Controller::start(Start { command, gates, emulates, folder, log })?;
        Ok(Some(Leader { number, controller, proxy }))
    }

    /// Starts the proxy. kube-controller-manager has no option for a namespace, so that the proxy shows it only
    /// the namespace of the run.
    fn proxy(&self, leader: usize, out: &Sender<RunEvent>) -> Result<Handle, Error> {
        let decider = RunDecider { leader, namespace: self.namespace.to_owned(), out: out.clone() };
        self.cluster.runtime().block_on(async {
            let proxy = FaultProxy::of(self.cluster.access().config().await.map_err(AccessError::NoCluster)?)
                .decided_by(decider);
            let proxy = match self.plan.manager {
                Manager::BuiltIn { .. } => proxy.narrowed_to(self.namespace),
                Manager::Shipped { .. } | Manager::External => proxy,
            };
            Ok(proxy.start().await?)
        })
    }

    /// The flags, without feature gates. A run is short, so that the rate of requests is not limited. Each
    /// controller has its own namespace, so that it needs no leader election.
    fn flags(&self, ttl: bool, access: &Access) -> Vec<OsString> {
        let constants = &self.subject.constants;
        let mut flags: Vec<OsString> = [
            format!("--namespace={}", self.namespace),
            format!("--controllers={}", if ttl { "job,ttl" } else { "job" }),
            format!("--pod-failure-backoff={}ms", constants.pod_failure_backoff_ms),
            format!("--pod-failure-backoff-max={}ms", constants.pod_failure_backoff_max_ms),
            format!("--max-uncounted-pods={}", constants.max_uncounted_pods),
            "--qps=0".to_owned(),
            "--leader-elect=false".to_owned(),
        ]
        .map(OsString::from)
        .to_vec();
        flags.extend(self.plan.managed_by.as_ref().map(|value| format!("--managed-by={value}").into()));
        if let Some(file) = &access.kubeconfig {
            flags.extend(["--kubeconfig".into(), file.clone().into_os_string()]);
        }
        if let Some(context) = &access.context {
            flags.extend(["--context".into(), context.into()]);
        }
        flags
    }
}

/// The command of kube-controller-manager, with upstream's defaults. It listens on no port, so that many can run side
/// by side.
fn built_in(program: &[OsString], access: &Access) -> Vec<OsString> {
    let mut command = program.to_vec();
    let kubeconfig = access.kubeconfig.iter().map(|file| {
        let mut flag = OsString::from("--kubeconfig=");
        flag.push(file);
        flag
    });
    command.extend(kubeconfig);
    let flags = [
        &format!("--controllers={OF_JOBS}"),
        "--leader-elect=false",
        // As on most clusters. The audit log then shows which controller has sent a request.
        "--use-service-account-credentials=true",
        "--kube-api-content-type=application/json",
        "--kube-api-qps=1000",
        "--kube-api-burst=1000",
        "--secure-port=0",
    ];
    command.extend(flags.map(OsString::from));
    command
}

/// Writes a file that only this user can read, because it contains a token.
fn write_secret(file: &PathBuf, text: &str) -> Result<(), Error> {
    let opened = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(file);
    opened.and_then(|mut opened| opened.write_all(text.as_bytes())).map_err(Error::file(file))
}

/// Passes each request about the Jobs and pods of a run to the run for a decision.
struct RunDecider {
    leader: usize,
    namespace: String,
    out: Sender<RunEvent>,
}

impl RunDecider {
    fn concerns_the_run(&self, asked: &RequestInfo) -> bool {
        let is_object = matches!((&*asked.group, &*asked.resource), ("batch", "jobs") | ("", "pods"));
        is_object
            && asked.namespace.as_deref() == Some(&*self.namespace)
            && !matches!(asked.verb, Verb::List | Verb::Watch)
    }
}

impl Decider for RunDecider {
    fn decide(&self, asked: RequestInfo) -> Decision<'_> {
        if !self.concerns_the_run(&asked) {
            return Box::pin(async { Handling::Forward });
        }
        let (reply, decided) = oneshot::channel();
        let request = RequestDecision { leader: self.leader, asked, reply };
        // If the channel is closed, the run has ended.
        let is_asked = self.out.send(RunEvent::Request(Box::new(request))).is_ok();
        Box::pin(async move { if is_asked { decided.await.unwrap_or(Handling::Cut) } else { Handling::Cut } })
    }
}
