//! The controllers of a run that manage its Jobs: a process, and the fault proxy before it where the scenario needs one.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;

use jobcheck_faultproxy::{Asked, Decider, Decision, FaultProxy, Handle, Handling, Verb};
use jobcheck_judge::replay::Subject;
use jobcheck_record::Access;
use jobcheck_record::watch::Shown;
use jobcheck_traces::Resource;
use tokio::sync::oneshot;

use crate::controller::{Controller, Start};
use crate::error::Error;
use crate::site::Site;
use crate::{Manager, Plan};

/// What of kube-controller-manager manages Jobs.
const OF_JOBS: &str = "job-controller,ttl-after-finished-controller";

/// A process that manages the Jobs of a run. Beside a second one it does not know of it.
pub(crate) struct Leader {
    /// The so-many-th that was started in the run.
    pub number: usize,
    /// The process.
    pub controller: Controller,
    /// What stands before it; it ends after the process.
    pub proxy: Option<Handle>,
}

/// What a run hears of.
pub(crate) enum Heard {
    /// What a watch has shown of objects of a resource.
    Shown(Resource, Shown),
    /// A controller asks for something, and waits until it is decided what becomes of that.
    Asked(Box<Question>),
}

/// A request of a leader that waits for a decision.
pub(crate) struct Question {
    /// Whose: [`Leader::number`].
    pub leader: usize,
    /// What it asks for.
    pub asked: Asked,
    /// Where the decision goes.
    pub reply: oneshot::Sender<Handling>,
}

/// How leaders of a run are started.
pub(crate) struct Recipe<'a> {
    /// The cluster.
    pub site: &'a Site,
    /// Who manages the Jobs.
    pub plan: &'a Plan,
    /// The namespace of the run.
    pub namespace: &'a str,
    /// Constants and feature gates.
    pub subject: Subject,
    /// Who decides what becomes of their requests, if anybody does.
    pub decides: Option<Sender<Heard>>,
}

impl Recipe<'_> {
    /// Starts the one of this number; none where the run starts no controllers.
    ///
    /// # Errors
    ///
    /// The process or its proxy cannot be started.
    pub(crate) fn start(&self, number: usize) -> Result<Option<Leader>, Error> {
        let folder = self.site.folder().to_owned();
        let file = |end: &str| folder.join(format!("{}-{number}.{end}", self.namespace));
        let (log, kubeconfig) = (file("log"), file("kubeconfig"));
        if self.plan.manager == Manager::External || self.plan.manager == (Manager::BuiltIn { program: None })
        {
            return Ok(None);
        }
        let proxy = self.decides.as_ref().map(|out| self.proxy(number, out)).transpose()?;
        let access = match &proxy {
            None => self.site.access().clone(),
            Some(proxy) => {
                write_secret(&kubeconfig, &proxy.kubeconfig())?;
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
        let emulates = matches!(self.plan.manager, Manager::BuiltIn { .. });
        let controller = Controller::start(Start { command, gates, emulates, folder, log })?;
        Ok(Some(Leader { number, controller, proxy }))
    }

    /// The proxy before it. kube-controller-manager knows no namespaces: the proxy shows it that of the run alone.
    fn proxy(&self, leader: usize, out: &Sender<Heard>) -> Result<Handle, Error> {
        let decider = Asking { leader, namespace: self.namespace.to_owned(), out: out.clone() };
        self.site.runtime().block_on(async {
            let proxy = FaultProxy::of(self.site.access().config().await.map_err(Error::NoCluster)?)
                .decided_by(decider);
            let proxy = match self.plan.manager {
                Manager::BuiltIn { .. } => proxy.narrowed_to(self.namespace),
                Manager::Shipped { .. } | Manager::External => proxy,
            };
            Ok(proxy.start().await?)
        })
    }

    /// The flags, feature gates apart. A run is short: nothing limits its requests. Each controller has a namespace of
    /// its own, so that none has to wait for another's Lease.
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

/// kube-controller-manager, with upstream's defaults but for the limits of its requests, as a run is short. It serves nobody,
/// so that many find room side by side.
fn built_in(program: &Path, access: &Access) -> Vec<OsString> {
    let mut command: Vec<OsString> = vec![program.into(), "kube-controller-manager".into()];
    let kubeconfig = access.kubeconfig.iter().map(|file| {
        let mut flag = OsString::from("--kubeconfig=");
        flag.push(file);
        flag
    });
    command.extend(kubeconfig);
    let flags = [
        &format!("--controllers={OF_JOBS}"),
        "--leader-elect=false",
        // As on most clusters: the audit log tells the controllers apart.
        "--use-service-account-credentials=true",
        "--kube-api-content-type=application/json",
        "--kube-api-qps=1000",
        "--kube-api-burst=1000",
        "--secure-port=0",
    ];
    command.extend(flags.map(OsString::from));
    command
}

/// A file that nobody else can read: it holds a token.
fn write_secret(file: &PathBuf, text: &str) -> Result<(), Error> {
    let opened = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(file);
    opened.and_then(|mut opened| opened.write_all(text.as_bytes())).map_err(Error::file(file))
}

/// Asks the run what becomes of each request about its Jobs and pods.
struct Asking {
    leader: usize,
    namespace: String,
    out: Sender<Heard>,
}

impl Asking {
    fn is_meant(&self, asked: &Asked) -> bool {
        let is_object = matches!((&*asked.group, &*asked.resource), ("batch", "jobs") | ("", "pods"));
        is_object
            && asked.namespace.as_deref() == Some(&*self.namespace)
            && !matches!(asked.verb, Verb::List | Verb::Watch)
    }
}

impl Decider for Asking {
    fn decide(&self, asked: Asked) -> Decision<'_> {
        if !self.is_meant(&asked) {
            return Box::pin(async { Handling::Forward });
        }
        let (reply, decided) = oneshot::channel();
        let question = Question { leader: self.leader, asked, reply };
        // What nobody decides any more came too late: the run is over.
        let is_asked = self.out.send(Heard::Asked(Box::new(question))).is_ok();
        Box::pin(async move { if is_asked { decided.await.unwrap_or(Handling::Cut) } else { Handling::Cut } })
    }
}
