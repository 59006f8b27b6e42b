//! A run: from the namespace to the verdict.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use jobcheck_judge::replay::{Clusters, Judging, judge_clusters, rules};
use jobcheck_judge::report::ReplayReport;
use jobcheck_judge::validate::{Outcome as Verdict, Profile};
use jobcheck_record::watch::text;
use jobcheck_report::folder::TRACES;
use jobcheck_report::types::{Evidence, FoundBy, Outcome, TraceFile};
use jobcheck_report::{Folder, Scenario as Reported};
use jobcheck_spec::Req;
use jobcheck_traces::Input;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::board::{self, Board, MANAGER};
use crate::cluster::{Cluster, Played, jobs, pods};
use crate::error::Error;
use crate::kubelet;
use crate::play::{Met, Play, Unmet};
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
pub fn not_run(scenario: &Scenario, reason: impl Into<String>) -> Reported {
    let mut reported = Reported::not_run(scenario.id, scenario.stage, &format!("{scenario:?}"), reason);
    reported.requirements = scenario.requirements.iter().map(|req| req.id().to_owned()).collect();
    reported
}

/// Runs a scenario. The first cluster is the manager's, the others are the workers.
pub async fn run(
    scenario: &'static Scenario,
    clusters: &[Arc<Cluster>],
    settings: &Settings,
    stop: &CancellationToken,
) -> Reported {
    let mut reported = not_run(scenario, "");
    if let Some(hook) = scenario.hooks().find(|hook| !settings.hooks.contains_key(*hook)) {
        reported.reason = format!("the hook {hook} is missing: --hook {hook}=COMMAND");
        return reported;
    }
    reported.start_time = Some(now());
    let mut ran = Ran { scenario, reported, reasons: Vec::new() };
    if let Err(error) = attempt(&mut ran, clusters, settings, stop).await {
        ran.reported.outcome = Outcome::Error;
        ran.reasons.push(error.to_string());
    }
    let Ran { mut reported, reasons, .. } = ran;
    reported.end_time = Some(now());
    reported.reason = reasons.join("; ");
    reported
}

/// A run in progress, and what is known of its result.
struct Ran {
    scenario: &'static Scenario,
    reported: Reported,
    reasons: Vec<String>,
}

async fn attempt(
    ran: &mut Ran,
    clusters: &[Arc<Cluster>],
    settings: &Settings,
    stop: &CancellationToken,
) -> Result<(), Error> {
    let namespace = name();
    let mut recordings = Vec::new();
    for cluster in clusters {
        recordings.push(Arc::new(Recording::begin(cluster)?));
        make_namespace(cluster, &namespace, ran.scenario).await?;
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
        create_objects(&clusters[MANAGER], &namespace, settings).await?;
        let mut play = Play {
            scenario: ran.scenario,
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
    let written = write(ran, clusters, &recordings, &namespace, settings).await;
    let judged = match &written {
        Ok(()) => Some(judge(&ran.reported.traces, clusters, settings).await?),
        Err(_) => None,
    };
    if let (Ok(unmet), Some(report)) = (&played, &judged) {
        conclude(ran, unmet.as_ref(), report);
    }
    let is_kept = settings.keeps_failed && ran.reported.outcome != Outcome::Pass && !stop.is_cancelled();
    let removed = if is_kept {
        ran.reasons.push(format!("the namespace {namespace} is kept"));
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

async fn judge(
    traces: &[TraceFile],
    clusters: &[Arc<Cluster>],
    settings: &Settings,
) -> Result<ReplayReport, Error> {
    let folder = Folder::at(&settings.out);
    let mut inputs = traces.iter().map(|trace| vec![Input::Path(folder.path(&trace.file))]);
    let manager = inputs.next().unwrap_or_default();
    let compared = Clusters { manager, workers: inputs.collect() };
    let profile = settings.managed_by.is_none().then_some(Profile::Mirror);
    let kubernetes = rules(&clusters[MANAGER].kubernetes).ok();
    let judging = Judging { kubernetes, profile, strict: settings.strict, ..Judging::default() };
    let judged = tokio::task::spawn_blocking(move || judge_clusters(&compared, &judging, &mut |_, _| {}));
    judged.await.map_err(|error| Error::Cluster { cluster: "all".to_owned(), why: error.to_string() })
}

/// The outcome from the verdict and the wait that took too long. The verdict on a worker is one on its executor, and does
/// not count.
fn conclude(ran: &mut Ran, unmet: Option<&Unmet>, report: &ReplayReport) {
    let Some(trace) = report.traces.first() else { return };
    let file = ran.reported.traces.first().map(|trace| trace.file.clone());
    let on_manager = report.jobs_of(trace);
    for found in on_manager.iter().flat_map(|job| &job.violations).filter(|it| it.known.is_none()) {
        let Some(req) = found.requirement.map(|id| id.0) else { continue };
        let it = &found.difference;
        let sentence = format!("{}: {}: expected {}, found {}", it.write, it.what, it.expected, it.found);
        let lines = found.place.line.into_iter().collect();
        add(ran, req, FoundBy::Judge, Evidence { trace: file.clone(), lines, sentence, ..nothing() });
    }
    if let Some(Unmet { why, broken }) = unmet {
        match broken {
            Some(req) => {
                add(ran, *req, FoundBy::Expectation, Evidence { sentence: why.clone(), ..nothing() })
            }
            None => ran.reasons.push(why.clone()),
        }
    }
    let doubts = || on_manager.iter().flat_map(|job| &job.doubts).chain(&trace.doubts).cloned();
    // The trace as a whole is open if no Job could be compared with a copy.
    let is_open = trace.verdict == Verdict::Inconclusive || report.verdict == Verdict::Inconclusive;
    ran.reported.outcome = match () {
        () if !ran.reported.evidence.is_empty() => Outcome::Fail,
        () if unmet.is_some() => Outcome::Inconclusive,
        () if is_open || on_manager.is_empty() => {
            ran.reasons.extend(doubts().chain(report.doubts.iter().cloned()));
            Outcome::Inconclusive
        }
        () => Outcome::Pass,
    };
}

fn nothing() -> Evidence {
    let (requirement, sentence) = (String::new(), String::new());
    Evidence { requirement, found_by: FoundBy::Judge, trace: None, lines: Vec::new(), sentence }
}

/// Adds a broken requirement. Its first evidence is enough.
fn add(ran: &mut Ran, req: Req, found_by: FoundBy, evidence: Evidence) {
    if ran.reported.evidence.iter().any(|known| known.requirement == req.id()) {
        return;
    }
    if ran.reasons.is_empty() {
        ran.reasons.push(format!("{} is broken", req.id()));
    }
    ran.reported.evidence.push(Evidence { requirement: req.id().to_owned(), found_by, ..evidence });
}

/// Writes the traces to `traces/SCENARIO/CLUSTER.jsonl`.
async fn write(
    ran: &mut Ran,
    clusters: &[Arc<Cluster>],
    recordings: &[Arc<Recording>],
    namespace: &str,
    settings: &Settings,
) -> Result<(), Error> {
    let folder = Folder::at(&settings.out);
    let below = format!("{TRACES}/{}", ran.scenario.id.replace('/', "-"));
    let path = folder.path(&below);
    std::fs::create_dir_all(&path).map_err(Error::file(&path))?;
    for (cluster, recording) in clusters.iter().zip(recordings) {
        let name = format!("{below}/{}.jsonl", cluster.name);
        let file = folder.path(&name);
        recording.write(cluster, namespace, &file).await?;
        ran.reported.traces.push(folder.seal(&name, &cluster.name).map_err(Error::file(&file))?);
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
async fn create_objects(cluster: &Cluster, namespace: &str, settings: &Settings) -> Result<(), Error> {
    for object in &settings.objects {
        let path = path_of(object, namespace)
            .map_err(|why| Error::Cluster { cluster: cluster.name.clone(), why })?;
        cluster.send(Played::User, "POST", &path, object).await?;
    }
    Ok(())
}

/// The path at which an object is created. Its plural is that of a regular noun, unless the object says otherwise in the
/// annotation `jobcheck.dev/plural`.
fn path_of(object: &Value, namespace: &str) -> Result<String, String> {
    let (version, kind) = (object["apiVersion"].as_str(), object["kind"].as_str());
    let (Some(version), Some(kind)) = (version, kind) else {
        return Err("an object of --setup has no apiVersion or kind".to_owned());
    };
    let plural = match object["metadata"]["annotations"]["jobcheck.dev/plural"].as_str() {
        Some(plural) => plural.to_owned(),
        None => format!("{}s", kind.to_lowercase()),
    };
    let root = if version.contains('/') { "apis" } else { "api" };
    Ok(format!("/{root}/{version}/namespaces/{namespace}/{plural}"))
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
                return Err(Error::Cluster { cluster: cluster.name.clone(), why });
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_created_at_the_path_of_their_kind() {
        let queue = json!({"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "LocalQueue"});
        let path = path_of(&queue, "a").unwrap();
        assert_eq!(path, "/apis/kueue.x-k8s.io/v1beta1/namespaces/a/localqueues");
        let named = json!({
            "apiVersion": "v1", "kind": "Policy", "metadata": {"annotations": {"jobcheck.dev/plural": "policies"}},
        });
        assert_eq!(path_of(&named, "a").unwrap(), "/api/v1/namespaces/a/policies");
        assert!(path_of(&json!({"kind": "X"}), "a").is_err());
    }
}
