//! Arguments of `jobcheck record`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use jobcheck_record::{Access, Labels, Target};
use jobcheck_traces::parse_duration;

use crate::parse::size;

/// Arguments of `jobcheck record`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct RecordArgs {
    /// Write the trace to this file; - is standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Overwrite the file if it exists.
    #[arg(long)]
    pub force: bool,
    /// Replace what may be secret: values of environment variables, arguments, commands, and annotations.
    ///
    /// Equal texts stay equal, so that the verdict is the same. Names, labels, images and messages of the API server stay.
    #[arg(long)]
    pub redact: bool,
    /// Record this namespace. Can be repeated.
    ///
    /// By default, watches record the namespace of the kubeconfig's context. Audit logs and webhooks record all.
    #[arg(short, long = "namespace", value_name = "NAMESPACE", value_parser = namespace)]
    pub namespaces: Vec<String>,
    /// Record all namespaces.
    #[arg(short = 'A', long, conflicts_with = "namespaces")]
    pub all_namespaces: bool,
    /// Record the Jobs with these labels, such as team=a,tier!=test, and all their pods.
    #[arg(short = 'l', long, value_name = "LABELS", value_parser = Labels::parse)]
    pub selector: Option<Labels>,
    /// End after this time, such as 90s or 1h30m; by default at Ctrl-C, SIGTERM or SIGHUP.
    #[arg(long = "for", value_name = "DURATION", value_parser = parse_duration)]
    pub time: Option<Duration>,
    /// End once this much memory is used, such as 512MB or 4GB. The recording then ends with a gap.
    ///
    /// By default three quarters of the memory that is available at the start.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub max_memory: Option<u64>,
    /// Use this kubeconfig file; by default $KUBECONFIG, ~/.kube/config, or the service account of the pod.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Use this context of the kubeconfig; by default its current context.
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// Follow this audit log of kube-apiserver instead of watching, from now on and across rotations.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["selector", "kubeconfig", "context"])]
    pub audit: Option<PathBuf>,
    /// Serve an audit webhook at this address, such as 127.0.0.1:9443, for kube-apiserver.
    ///
    /// The webhook is plain HTTP unless --audit-tls-cert-file is given, and has no authentication unless
    /// --audit-token-file is. Port 0 is a free port.
    #[arg(long, value_name = "HOST:PORT", conflicts_with_all = ["audit", "selector", "kubeconfig", "context"])]
    pub audit_webhook: Option<String>,
    /// Accept only requests with the token in this file, as path of the URL or as bearer token.
    ///
    /// Without it, the webhook accepts only requests for an address or for localhost.
    #[arg(long, value_name = "FILE", requires = "audit_webhook")]
    pub audit_token_file: Option<PathBuf>,
    /// Serve the webhook over TLS, with the certificates in this file (PEM).
    #[arg(long, value_name = "FILE", requires = "audit_webhook", requires = "audit_tls_private_key_file")]
    pub audit_tls_cert_file: Option<PathBuf>,
    /// The key of the first certificate in --audit-tls-cert-file (PEM).
    #[arg(long, value_name = "FILE", requires = "audit_tls_cert_file")]
    pub audit_tls_private_key_file: Option<PathBuf>,
}

const AFTER_HELP: &str = "\
A watch shows every change of Jobs and pods, but not its sender, and no refused
requests. An audit log shows both. If changes may have been missed, the trace
has a gap, and its verdict is inconclusive. docs/guide/record.md has more, such
as the settings of an API server.

The trace has complete Jobs and pods, with environment variables and arguments.
Only the owner of the file can read it; --redact takes out what may be secret.

Examples:
  jobcheck record -n shop -o shop.jsonl          records until Ctrl-C
  jobcheck record -n shop --redact -o shop.jsonl leaves out secrets
  jobcheck record -A -l team=a --for 1h -o team-a.jsonl
                                                 records a team for an hour
  jobcheck record -n a -n b --context prod -o - | gzip > trace.jsonl.gz
  jobcheck record --audit /var/log/kubernetes/audit.log -n shop -o shop.jsonl
  jobcheck record --audit-webhook 127.0.0.1:9443 -o all.jsonl
  jobcheck replay shop.jsonl                     judges the recording

Watches need this Role in each namespace; with -A, a ClusterRole:
  kubectl create role jobcheck-record --verb=list,watch \\
    --resource=jobs.batch,pods -n shop

Exit codes:
  0  recorded, and ended by Ctrl-C, SIGTERM, SIGHUP or --for
  2  wrong usage, the file exists, or the audit log or the token cannot be read
  3  recorded with a gap: something may be missing, such as what came after the
     limit of --max-memory
  4  no cluster, no permission, the address is in use, or the trace cannot be
     written, such as to a closed pipe; what was written before can be judged
  5  internal error: please report it";

impl RecordArgs {
    /// The connection to the cluster.
    pub fn access(&self) -> Access {
        Access { kubeconfig: self.kubeconfig.clone(), context: self.context.clone() }
    }

    /// The destination of the trace.
    pub fn target(&self) -> Target {
        if self.output.as_os_str() == "-" {
            return Target::Stdout;
        }
        Target::File { path: self.output.clone(), force: self.force }
    }
}

/// Parses the name of a namespace, which becomes part of a path.
fn namespace(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if text.is_empty() || text.len() > 63 || !text.chars().all(is_plain) {
        return Err("expected the name of a namespace: lower-case letters, digits and -".to_owned());
    }
    Ok(text.to_owned())
}
