//! Arguments of `jobcheck watch-audit`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use jobcheck_judge::replay::{Judging, rules};
use jobcheck_judge::validate::Role;
use jobcheck_record::Access;
use jobcheck_spec::apiserver::RuleSet;
use jobcheck_traces::parse_duration;
use jobcheck_watch::{Limits, Settings, room_for};

use crate::memory;
use crate::parse::size;
use crate::replay::actor;

/// Arguments of `jobcheck watch-audit`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct WatchAuditArgs {
    /// Follow this audit log of kube-apiserver, across rotations.
    #[arg(long, value_name = "FILE", required_unless_present = "audit_webhook")]
    pub audit: Option<PathBuf>,
    /// Serve an audit webhook at this address, such as 127.0.0.1:9443, for kube-apiserver. Port 0 is a free port.
    #[arg(long, value_name = "HOST:PORT", conflicts_with_all = ["audit", "once", "from_start"])]
    pub audit_webhook: Option<String>,
    /// Accept only requests with the token in this file, as path of the URL or as bearer token.
    #[arg(long, value_name = "FILE", requires = "audit_webhook")]
    pub audit_token_file: Option<PathBuf>,
    /// Serve the webhook over TLS, with the certificates in this file (PEM); by default plain HTTP.
    #[arg(long, value_name = "FILE", requires = "audit_webhook", requires = "audit_tls_private_key_file")]
    pub audit_tls_cert_file: Option<PathBuf>,
    /// The key of the first certificate in --audit-tls-cert-file (PEM).
    #[arg(long, value_name = "FILE", requires = "audit_tls_cert_file")]
    pub audit_tls_private_key_file: Option<PathBuf>,
    /// Keep the records of living Jobs in this folder. Each process needs one of its own.
    #[arg(long, value_name = "DIR")]
    pub state: PathBuf,
    /// Append findings and verdicts to this file, as JSON lines; by default to standard output. SIGHUP opens it again.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Serve /metrics, /healthz and /readyz at this address; 0 for no port.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:9464")]
    pub listen: String,
    /// Judge the Jobs of this namespace. Can be repeated; by default all.
    #[arg(short, long = "namespace", value_name = "NAMESPACE")]
    pub namespaces: Vec<String>,
    /// Create an Event on the Job for each violation. The account must be allowed to create events.
    #[arg(long)]
    pub events: bool,
    /// Read the audit log from its beginning, unless it was read before.
    #[arg(long)]
    pub from_start: bool,
    /// Read the audit log from its beginning to its end, judge every Job, and end. Each form that replay reads is read.
    #[arg(long, conflicts_with = "from_start")]
    pub once: bool,
    /// Judge a Job for the last time when it has been finished or gone for this time.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "60s")]
    pub settle: Duration,
    /// Judge a Job that lives and changes once in this time.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "60s")]
    pub every: Duration,
    /// Drop a Job when more live: the one with the oldest record in the namespace with the most. It is inconclusive.
    #[arg(long, value_name = "N", default_value_t = 50_000)]
    pub max_jobs: usize,
    /// Drop a Job whose records are larger. It is inconclusive.
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "256MB")]
    pub max_job_size: u64,
    /// Drop a Job that takes longer than this to be judged. It is inconclusive.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, default_value = "60s")]
    pub max_job_time: Duration,
    /// Use this much of the disk for the folder, such as 20GB. Jobs are dropped, and old evidence is removed.
    ///
    /// By default three quarters of what is free at the start, or belongs to the folder, but at most 8 GB.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub max_state: Option<u64>,
    /// Use this much memory, such as 512MB. Beyond it, the Job that is being judged is dropped, and the webhook refuses
    /// events.
    ///
    /// By default three quarters of the memory that is available at the start. A refused request is a gap.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub max_memory: Option<u64>,
    /// Keep the records of this many Jobs that violate, the newest ones.
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    pub keep: usize,
    /// Judge by the rules of this Kubernetes version, such as 1.35.
    #[arg(long, value_name = "VERSION", value_parser = rules)]
    pub kubernetes: Option<RuleSet>,
    /// Treat this user as this role, as replay does. Can be repeated.
    #[arg(long, value_name = "ROLE=USER", value_parser = actor)]
    pub actor: Vec<(Role, String)>,
    /// Known deviations of the built-in controller do not count in the exit code.
    #[arg(long)]
    pub allow_known: bool,
    /// Use this kubeconfig file for --events; by default $KUBECONFIG, ~/.kube/config, or the account of the pod.
    #[arg(long, value_name = "FILE", requires = "events")]
    pub kubeconfig: Option<PathBuf>,
    /// Use this context of the kubeconfig; by default its current context.
    #[arg(long, value_name = "NAME", requires = "events")]
    pub context: Option<String>,
}

const AFTER_HELP: &str = "\
Each line of the output is a finding, as soon as it is found, or the verdict on
a Job that is over. A Job that violates leaves its records in
DIR/violations/UID.jsonl, for jobcheck replay --explain.

After a restart, a log is read on where it was left. A webhook has a gap then:
Jobs that lived are judged in part, and are inconclusive. If the output cannot
be written, the process ends, and a restart reports what is missing.

Examples:
  jobcheck watch-audit --audit /var/log/audit.log --state /var/lib/jobcheck
  jobcheck watch-audit --audit-webhook 0.0.0.0:9443 --audit-token-file token \\
    --state /state --listen 0.0.0.0:9464 --events
  jobcheck watch-audit --audit audit.log --once --state state --listen 0

Exit codes:
  0  ended by Ctrl-C or SIGTERM, or at the end of the log; nothing was violated
  1  a requirement was violated
  2  wrong usage, or the audit log or the token cannot be read; with --once, also
     if the log cannot be read to its end
  4  the folder, an address, the output, or the cluster cannot be used; also if
     standard output is closed
  5  internal error: please report it";

impl WatchAuditArgs {
    /// The settings of the service.
    pub fn settings(&self) -> Settings {
        let seconds = |time: Duration| i64::try_from(time.as_secs()).unwrap_or(i64::MAX / 1_000_000);
        let (kubernetes, actors, allow_known) = (self.kubernetes, self.actor.clone(), self.allow_known);
        Settings {
            settle: seconds(self.settle),
            every: seconds(self.every),
            limits: self.limits(),
            judging: Judging { kubernetes, actors, allow_known, ..Judging::default() },
            ..Settings::at(&self.state)
        }
    }

    fn limits(&self) -> Limits {
        Limits {
            jobs: self.max_jobs,
            job_bytes: self.max_job_size,
            folder_bytes: self.max_state.unwrap_or_else(|| room_for(&self.state)),
            evidence: self.keep,
            time: self.max_job_time,
            memory: memory::limit(self.max_memory),
            used_memory: memory::used,
            ends: Arc::default(),
        }
    }

    /// The connection to the cluster.
    pub fn access(&self) -> Access {
        Access { kubeconfig: self.kubeconfig.clone(), context: self.context.clone() }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use clap::Parser;
    use serde_json::Value;

    use crate::args::{Cli, Command};

    /// The arguments, the ports, and the permission of the manifests are those of the program.
    #[test]
    fn the_manifests_fit_the_program() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/watch-audit/");
        let read = |name: &str| -> Value {
            let text = std::fs::read_to_string(format!("{folder}{name}")).expect("the manifest exists");
            serde_saphyr::from_str(&text).expect("it is YAML")
        };
        let set = read("statefulset.yaml");
        let container = &set["spec"]["template"]["spec"]["containers"][0];
        let arguments = container["args"].as_array().expect("a list").iter().filter_map(Value::as_str);
        let cli = Cli::try_parse_from(["jobcheck"].into_iter().chain(arguments)).expect("they are valid");
        let Command::WatchAudit(args) = cli.command else { panic!("it is another command") };
        assert!(args.events && args.audit_token_file.is_some() && args.audit_tls_cert_file.is_some());
        let port = |address: &str| address.rsplit(':').next().and_then(|port| port.parse::<u64>().ok());
        let ports: Vec<_> = container["ports"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|it| it["containerPort"].as_u64())
            .collect();
        assert_eq!(ports, [port(args.audit_webhook.as_deref().unwrap_or("")), port(&args.listen)]);
        // Each file that an argument names is in a Secret.
        let pod = &set["spec"]["template"]["spec"];
        let list = |value: &Value| value.as_array().expect("a list").clone();
        let secrets: Vec<_> =
            list(&pod["volumes"]).into_iter().filter(|it| it["secret"]["secretName"].is_string()).collect();
        let mounts = list(&container["volumeMounts"]);
        let files = [args.audit_token_file, args.audit_tls_cert_file, args.audit_tls_private_key_file];
        for file in files.into_iter().flatten() {
            let mount = mounts.iter().find(|it| file.parent() == it["mountPath"].as_str().map(Path::new));
            let mount = mount.unwrap_or_else(|| panic!("{} is in no volume", file.display()));
            assert!(secrets.iter().any(|it| it["name"] == mount["name"]), "{}", file.display());
        }
        let rules = &read("clusterrole.yaml")["rules"];
        assert_eq!(
            *rules,
            serde_json::json!([{"apiGroups": [""], "resources": ["events"], "verbs": ["create"]}])
        );
        // All of it is in the one namespace, whose pods must be restricted.
        let (kustomization, namespace) = (read("kustomization.yaml"), read("namespace.yaml"));
        let mut listed: Vec<_> = list(&kustomization["resources"])
            .iter()
            .filter_map(|it| it.as_str().map(str::to_owned))
            .collect();
        listed.extend(["alerts.yaml", "kustomization.yaml"].map(str::to_owned));
        listed.sort();
        let entries = std::fs::read_dir(folder).expect("the folder exists").flatten();
        let mut there: Vec<_> = entries.filter_map(|it| it.file_name().into_string().ok()).collect();
        there.sort();
        assert_eq!(listed, there);
        assert_eq!(kustomization["namespace"], namespace["metadata"]["name"]);
        assert_eq!(namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"], "restricted");
    }
}
