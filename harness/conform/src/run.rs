//! A run: from the namespace to the verdict.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use jobcheck_record::watch::text;
use jobcheck_report::folder::TRACES;
use jobcheck_report::judge::{Judged, Unmet, conclude, judged};
use jobcheck_report::types::{Outcome, TraceFile};
use jobcheck_report::{Folder, Scenario as Reported};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::board::{self, Board, MANAGER};
use crate::cluster::{Cluster, Played, Refusal, jobs, path_of, pods};
use crate::error::Error;
use crate::kubelet;
use crate::play::{Met, Play};
use crate::recording::Recording;
use crate::scenario::{Awaited, Scenario, Step};
use crate::settings::Settings;

/// The label of the namespaces.
const LABEL: &str = "jobcheck.dev/conform";
/// The time without a write after which a run ends.
const QUIET: Step = Step::Await(Awaited::Rest(2));
/// The time in which a namespace must be removed.
const GOES: Duration = Duration::from_secs(30);
/// The interval at which the removal of a namespace is looked at.
const LOOK: Duration = Duration::from_millis(200);

/// A scenario that was not run, for this reason.
#[must_use]
pub fn not_run(scenario: &Scenario, repetition: Option<u32>, reason: impl Into<String>) -> Reported {
    let mut reported = Reported::not_run(scenario.id, scenario.stage, &format!("{scenario:?}"), reason);
    reported.repetition = repetition;
    reported.requirements = scenario.requirements.iter().map(|req| req.id().to_owned()).collect();
    reported
}

/// The reason why the settings do not allow a scenario.
#[must_use]
pub fn missing(scenario: &Scenario, settings: &Settings) -> Option<String> {
    let hook = scenario.hooks().find(|hook| !settings.hooks.contains_key(*hook));
    match hook {
        Some(hook) => Some(format!("the hook {hook} is missing: --hook {hook}=COMMAND")),
        None if scenario.needs_resource() && settings.resource.is_none() => {
            Some("no custom resource is named: --resource FILE".to_owned())
        }
        None => None,
    }
}

/// Runs a scenario. The first cluster is the manager's, the others are the workers. `repetition`: the number of the run, if
/// there are several.
pub async fn run(
    scenario: &'static Scenario,
    repetition: Option<u32>,
    clusters: &[Arc<Cluster>],
    settings: &Settings,
    stop: &CancellationToken,
) -> Reported {
    if let Some(reason) = missing(scenario, settings) {
        return not_run(scenario, repetition, reason);
    }
    let mut reported = not_run(scenario, repetition, "");
    reported.start_time = Some(now());
    if let Err(error) = attempt(scenario, &mut reported, clusters, settings, stop).await {
        // A failure stands, although its namespace could not be removed.
        if reported.outcome != Outcome::Fail {
            reported.outcome = Outcome::Error;
        }
        add_reason(&mut reported, &error.to_string());
    }
    reported.end_time = Some(now());
    reported
}

fn add_reason(reported: &mut Reported, why: &str) {
    let separator = if reported.reason.is_empty() { "" } else { "; " };
    reported.reason.push_str(separator);
    reported.reason.push_str(why);
}

async fn attempt(
    scenario: &'static Scenario,
    reported: &mut Reported,
    clusters: &[Arc<Cluster>],
    settings: &Settings,
    stop: &CancellationToken,
) -> Result<(), Error> {
    let namespace = name();
    let mut recordings = Vec::new();
    for cluster in clusters {
        recordings.push(Arc::new(Recording::begin(cluster)?));
        make_namespace(cluster, &namespace, scenario).await?;
        if let Some(faults) = &cluster.faults {
            faults.begin(&namespace, scenario.id, reported.repetition);
        }
    }
    let (sender, receiver) = watch::channel(board::empty(clusters.len()));
    let mut tasks = JoinSet::new();
    let all_succeed = Arc::new(AtomicBool::new(false));
    let played = async {
        board::watch(&sender, clusters, &recordings, &namespace, &mut tasks).await?;
        for (at, worker) in clusters.iter().enumerate().skip(1) {
            let (worker, flag) = (Arc::clone(worker), Arc::clone(&all_succeed));
            tasks.spawn(kubelet::work(worker, at, namespace.clone(), receiver.clone(), flag));
        }
        for (at, cluster) in clusters.iter().enumerate() {
            let objects = if at == MANAGER { &settings.objects } else { &settings.worker_objects };
            create_objects(cluster, &namespace, objects).await?;
        }
        let mut play = Play {
            scenario,
            settings,
            clusters,
            namespace: &namespace,
            board: receiver.clone(),
            all_succeed: Arc::clone(&all_succeed),
            stop,
            met: Met::default(),
        };
        play.all().await
    };
    let played = played.await;
    // The traces are on disk before anything is removed, also after an error or an interruption.
    let written = write(scenario, reported, clusters, &recordings, &namespace, settings).await;
    if let (Ok(unmet), Ok(())) = (&played, &written) {
        conclude(reported, judge(&reported.traces, settings).await?, unmet.clone());
    }
    let is_kept = settings.keeps_failed && reported.outcome != Outcome::Pass && !stop.is_cancelled();
    let removed = if is_kept {
        add_reason(reported, &format!("the namespace {namespace} is kept"));
        Ok(())
    } else {
        remove(clusters, &receiver, &namespace).await
    };
    tasks.abort_all();
    played?;
    written?;
    removed
}

impl Play<'_> {
    /// Performs the steps, and waits until nothing is written any longer. A manager that writes for ever is judged.
    async fn all(&mut self) -> Result<Option<Unmet>, Error> {
        let unmet = self.steps().await?;
        let is_restless = self.step(&QUIET).await?.is_some();
        Ok(unmet.or_else(|| {
            is_restless
                .then(|| Unmet { why: "something is written again and again".to_owned(), broken: None })
        }))
    }
}

async fn judge(traces: &[TraceFile], settings: &Settings) -> Result<Judged, Error> {
    let (folder, traces, judging) = (Folder::at(&settings.out), traces.to_vec(), settings.judging.clone());
    let judging = tokio::task::spawn_blocking(move || judged(&folder, &traces, &judging));
    judging.await.map_err(|error| error.to_string()).flatten().map_err(Error::Judge)
}

/// Writes the traces to `traces/SCENARIO/CLUSTER.jsonl`, or to `traces/SCENARIO/NUMBER/CLUSTER.jsonl` if there are several runs.
async fn write(
    scenario: &Scenario,
    reported: &mut Reported,
    clusters: &[Arc<Cluster>],
    recordings: &[Arc<Recording>],
    namespace: &str,
    settings: &Settings,
) -> Result<(), Error> {
    let folder = Folder::at(&settings.out);
    let number = reported.repetition.map(|number| format!("/{number}")).unwrap_or_default();
    let below = format!("{TRACES}/{}{number}", scenario.id.replace('/', "-"));
    let path = folder.path(&below);
    std::fs::create_dir_all(&path).map_err(Error::file(&path))?;
    for (cluster, recording) in clusters.iter().zip(recordings) {
        let name = format!("{below}/{}.jsonl", cluster.name);
        let file = folder.path(&name);
        recording.write(cluster, namespace, &file).await?;
        reported.traces.push(folder.seal(&name, &cluster.name).map_err(Error::file(&file))?);
    }
    Ok(())
}

fn now() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}

/// A name that no other run has.
fn name() -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let nanos = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    format!("jobcheck-conform-{:x}-{:x}-{number}", std::process::id(), nanos & 0xff_ffff)
}

async fn make_namespace(cluster: &Cluster, name: &str, scenario: &Scenario) -> Result<(), Error> {
    let metadata = json!({
        "name": name, "labels": {LABEL: "true"}, "annotations": {"jobcheck.dev/scenario": scenario.id},
    });
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata});
    cluster.send(Played::Suite, "POST", "/api/v1/namespaces", &namespace).await.map(drop)
}

/// Creates the objects of `--setup` in the namespace.
async fn create_objects(cluster: &Cluster, namespace: &str, objects: &[Value]) -> Result<(), Error> {
    for object in objects {
        let path = path_of(object, namespace).map_err(|why| cluster.failed(why))?;
        match cluster.ask(Played::User, "POST", &path, object).await? {
            // Somebody else creates some objects in each namespace, such as the service account `default`.
            Ok(_) | Err(Refusal { code: 409, .. }) => {}
            Err(Refusal { message, .. }) => {
                return Err(cluster.failed(format!("an object of --setup is refused at {path}: {message}")));
            }
        }
    }
    Ok(())
}

/// Removes the namespace from all clusters, and the finalizers that could delay its removal.
async fn remove(
    clusters: &[Arc<Cluster>],
    board: &watch::Receiver<Board>,
    namespace: &str,
) -> Result<(), Error> {
    let path = format!("/api/v1/namespaces/{namespace}");
    for cluster in clusters {
        cluster.send(Played::Suite, "DELETE", &path, &json!({})).await?;
    }
    let end = Instant::now() + GOES;
    for (at, cluster) in clusters.iter().enumerate() {
        while cluster.send(Played::Suite, "GET", &path, &Value::Null).await?.is_some() {
            if Instant::now() >= end {
                let why = format!("the namespace {namespace} was not removed in {GOES:?}");
                return Err(cluster.failed(why));
            }
            release(cluster, at, board, namespace).await?;
            // A change may be the last one before the namespace goes.
            let mut board = board.clone();
            let _ = timeout(LOOK, board.changed()).await;
            sleep(LOOK / 10).await;
        }
    }
    Ok(())
}

/// Deletes what is left in the namespace of a cluster, with all finalizers.
async fn release(
    cluster: &Cluster,
    at: usize,
    board: &watch::Receiver<Board>,
    namespace: &str,
) -> Result<(), Error> {
    let left: Vec<String> = {
        let board = board.borrow();
        let objects = &board.clusters[at];
        let of_jobs = objects.jobs.values().map(|job| jobs(namespace, text(job, "name")));
        of_jobs.chain(objects.pods.values().map(|pod| pods(namespace, text(pod, "name")))).collect()
    };
    for path in left {
        let now = json!({"gracePeriodSeconds": 0, "propagationPolicy": "Background"});
        cluster.send(Played::Suite, "DELETE", &path, &now).await?;
        let free = json!({"metadata": {"finalizers": null}});
        cluster.send(Played::Suite, "PATCH", &path, &free).await?;
    }
    Ok(())
}
