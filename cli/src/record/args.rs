//! Arguments of `jobcheck record`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use jobcheck_record::{Access, Labels, Target};
use jobcheck_traces::parse_duration;

/// Arguments of `jobcheck record`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct RecordArgs {
    /// The trace to write; - is standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Overwrite the file if it is there already.
    #[arg(long)]
    pub force: bool,
    /// Record this namespace; can be repeated. Without it, watches record that of the
    /// kubeconfig's context, audit logs and webhooks all.
    #[arg(short, long = "namespace", verbatim_doc_comment, value_name = "NAMESPACE", value_parser = namespace)]
    pub namespaces: Vec<String>,
    /// Record all namespaces.
    #[arg(short = 'A', long, conflicts_with = "namespaces")]
    pub all_namespaces: bool,
    /// Record Jobs with these labels, such as team=a,tier!=test, and the pods of those Jobs,
    /// whatever labels they have.
    #[arg(short = 'l', long, verbatim_doc_comment, value_name = "LABELS", value_parser = Labels::parse)]
    pub selector: Option<Labels>,
    /// End after this time, such as 90s or 1h30m; else at Ctrl-C or SIGTERM.
    #[arg(long = "for", value_name = "DURATION", value_parser = parse_duration)]
    pub time: Option<Duration>,
    /// Kubeconfig file of the cluster; else $KUBECONFIG, ~/.kube/config, or the service account
    /// of the pod.
    #[arg(long, verbatim_doc_comment, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig; else its current one.
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// Record from this audit log of kube-apiserver instead of watches: what is written to it
    /// from now on, also once it was rotated.
    #[arg(long, verbatim_doc_comment, value_name = "FILE", conflicts_with_all = ["selector", "kubeconfig", "context"])]
    pub audit: Option<PathBuf>,
    /// Be an audit webhook at this address, such as 127.0.0.1:9443, to which kube-apiserver
    /// sends audit events: plain HTTP, for whoever can open a connection. Port 0 is any that
    /// is free.
    #[arg(
        long,
        verbatim_doc_comment,
        value_name = "HOST:PORT",
        conflicts_with_all = ["audit", "selector", "kubeconfig", "context"]
    )]
    pub audit_webhook: Option<String>,
}

const AFTER_HELP: &str = "\
A watch shows every change of Jobs and pods, but neither who made it nor what was refused: an audit log tells
more. Where changes may have been missed the trace has a gap, and its verdict is inconclusive at best.
docs/guide/record.md tells more, also how an API server is set up.

Examples:
  jobcheck record -n shop -o shop.jsonl                    Ctrl-C ends it
  jobcheck record -A -l team=a --for 1h -o team-a.jsonl    the Jobs of a team, for an hour
  jobcheck record -n a -n b --context prod -o - | gzip > trace.jsonl.gz
  jobcheck record --audit /var/log/kubernetes/audit.log -n shop -o shop.jsonl
  jobcheck record --audit-webhook 127.0.0.1:9443 -o all.jsonl
  jobcheck replay shop.jsonl                               judges it

What watches need of RBAC, in each namespace, or with -A in the cluster:
  kubectl create role jobcheck-record --verb=list,watch --resource=jobs.batch,pods -n shop

Exit codes:
  0  recorded, and ended by Ctrl-C, SIGTERM or --for
  2  wrong usage, the file is there already, or the audit log cannot be read
  3  recorded, with a gap: something may be missing
  4  no cluster, no permission, the address is taken, or the trace cannot be written (a full disk, say);
     what was written before can be judged
  5  internal error: please report it";

impl RecordArgs {
    /// The way to the cluster.
    pub fn access(&self) -> Access {
        Access { kubeconfig: self.kubeconfig.clone(), context: self.context.clone() }
    }

    /// Where the trace goes.
    pub fn target(&self) -> Target {
        if self.output.as_os_str() == "-" {
            return Target::Stdout;
        }
        Target::File { path: self.output.clone(), force: self.force }
    }
}

/// A namespace is a part of paths.
fn namespace(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if text.is_empty() || text.len() > 63 || !text.chars().all(is_plain) {
        return Err("expected the name of a namespace: small letters, digits and -".to_owned());
    }
    Ok(text.to_owned())
}
