//! A manager of Jobs that creates no pods. It writes the status only, like a controller that mirrors Jobs of another
//! cluster.
//!
//! ```text
//! cargo run -p jobcheck --example mirror -- --kubeconfig FILE --managed-by example.com/mirror
//! jobcheck run --target external --managed-by example.com/mirror --cluster default SCENARIO
//! ```
//!
//! The pods of the other cluster are invented. They all succeed, unless `backoffLimit` is 0: then one pod fails. The
//! example serves the tests, and is the smallest manager that follows the rules of KEP-4368.

use std::path::PathBuf;

use clap::Parser;
use futures_util::TryStreamExt;
use jiff::Timestamp;
use k8s_openapi::api::batch::v1::{Job, JobStatus};
use kube::api::{Patch, PatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, Config, ResourceExt};
use serde_json::{Value, json};

/// Write the status of Jobs that run elsewhere.
#[derive(Debug, Parser)]
struct Cli {
    /// Kubeconfig file of the cluster.
    #[arg(long, value_name = "FILE")]
    kubeconfig: PathBuf,
    /// Value of `spec.managedBy` of the Jobs to manage.
    #[arg(long, value_name = "VALUE")]
    managed_by: String,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    let file = Kubeconfig::read_from(&cli.kubeconfig)?;
    let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
    let client = Client::try_from(config)?;
    let jobs = watcher(Api::<Job>::all(client.clone()), watcher::Config::default());
    jobs.default_backoff()
        .applied_objects()
        .map_err(anyhow::Error::from)
        .try_for_each(|job| mirror(client.clone(), cli.managed_by.clone(), job))
        .await?;
    Ok(())
}

/// Writes the next status of a Job. The watch delivers the written Job, and with it the next turn.
async fn mirror(client: Client, managed_by: String, job: Job) -> anyhow::Result<()> {
    let is_ours = job.spec.as_ref().and_then(|spec| spec.managed_by.as_ref()) == Some(&managed_by);
    let Some(status) = next_status(&job).filter(|_| is_ours) else { return Ok(()) };
    let namespace = job.namespace().unwrap_or_default();
    let patch = json!({"metadata": {"resourceVersion": job.resource_version()}, "status": status});
    let jobs: Api<Job> = Api::namespaced(client, &namespace);
    let params = PatchParams::default();
    match jobs.patch_status(&job.name_any(), &params, &Patch::Merge(patch)).await {
        // The watch will deliver the newer Job.
        Err(kube::Error::Api(status)) if status.is_conflict() || status.is_not_found() => Ok(()),
        Err(error) => Err(error.into()),
        Ok(_) => Ok(()),
    }
}

/// The fields of the next status; `None` if the Job needs none.
fn next_status(job: &Job) -> Option<Value> {
    let spec = job.spec.as_ref()?;
    let status = job.status.clone().unwrap_or_default();
    if job.metadata.deletion_timestamp.is_some() || spec.suspend == Some(true) || is_finished(&status) {
        return None;
    }
    let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    if status.start_time.is_none() {
        let active = spec.parallelism.unwrap_or(1).min(spec.completions.unwrap_or(i32::MAX));
        return Some(json!({"startTime": now, "active": active, "ready": 0, "terminating": 0}));
    }
    let fails = spec.backoff_limit == Some(0);
    let (interim, end, reason) = if fails {
        ("FailureTarget", "Failed", "BackoffLimitExceeded")
    } else {
        ("SuccessCriteriaMet", "Complete", "CompletionsReached")
    };
    let condition = |kind: &str| {
        json!({"type": kind, "status": "True", "reason": reason, "message": "reported by the other cluster",
            "lastProbeTime": now, "lastTransitionTime": now})
    };
    let mut conditions = serde_json::to_value(status.conditions.unwrap_or_default()).ok()?;
    let reported = conditions.as_array_mut()?;
    if reported.iter().any(|it| it["type"] == interim) {
        reported.push(condition(end));
        return Some(match fails {
            true => json!({"conditions": reported}),
            false => json!({"conditions": reported, "completionTime": now}),
        });
    }
    reported.push(condition(interim));
    let (succeeded, failed) = if fails { (0, 1) } else { (spec.completions.unwrap_or(1), 0) };
    Some(json!({"conditions": reported, "active": 0, "succeeded": succeeded, "failed": failed}))
}

fn is_finished(status: &JobStatus) -> bool {
    let conditions = status.conditions.iter().flatten();
    conditions.into_iter().any(|it| matches!(&*it.type_, "Complete" | "Failed") && it.status == "True")
}
