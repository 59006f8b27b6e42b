use std::collections::BTreeSet;
use std::sync::Mutex;

use jobcheck_controller::job::command::{
    Command, Creation, CreationReason, FinalizerRemoval, NewPod, PodRef, StatusWrite, Step,
};
use jobcheck_controller::job::memory::Memory;
use jobcheck_controller::job::observed::{PodFailureAction, StatusFacts};
use jobcheck_controller::values::{ResourceVersion, Uid};
use kube::api::DynamicObject;
use serde_json::json;
use tokio::time::Instant;

use super::*;
use crate::events;
use crate::own_writes::{Freshness, Reached};
use crate::store::FromObject;
use crate::testing::{Requests, lines, server};

struct Fixture {
    enactor: Enactor,
    requests: Requests,
    job: CachedJob,
    others_wait: bool,
}

impl Fixture {
    /// The response to a request depends on its number.
    fn new(respond: impl Fn(usize) -> (u16, Value) + Send + Sync + 'static) -> Fixture {
        let (client, requests) = server(move |_, number| respond(number));
        let (recorder, _writer) = events::channel(client.clone(), "test");
        let enactor = Enactor {
            client,
            own_writes: Arc::default(),
            recorder,
            metrics: Metrics::new(),
            stop: CancellationToken::new(),
        };
        Fixture { enactor, requests, job: job(), others_wait: false }
    }

    async fn enact(&self, sequences: Vec<Vec<Command>>) -> Outcome {
        let sequence = |commands: Vec<Command>| commands.into_iter().map(Step::from).collect();
        let scale = sequences.into_iter().map(sequence).collect();
        self.enactor
            .enact(&self.job, &Plan { scale, ..Plan::default() }, &Turn::new(&|| self.others_wait))
            .await
    }

    fn lines(&self) -> Vec<String> {
        lines(&self.requests)
    }

    fn freshness(&self, jobs: u64, pods: u64) -> Freshness {
        let reached = Reached { jobs, pods, has_pod: &|_| false };
        self.enactor.own_writes.check(self.job.key(), &self.job.facts.uid, reached, Instant::now())
    }
}

fn job() -> CachedJob {
    let job: DynamicObject = serde_json::from_value(json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"namespace": "ns", "name": "sum", "uid": "u", "resourceVersion": "5"},
        "spec": {"parallelism": 1, "template": {"spec": {"containers": []}}},
    }))
    .unwrap();
    CachedJob::from_object(job, 5).unwrap().unwrap()
}

fn stored(version: usize) -> (u16, Value) {
    (
        200,
        json!({"kind": "X", "metadata": {"name": format!("p{version}"), "resourceVersion": version.to_string()}}),
    )
}

fn failure(code: u16) -> (u16, Value) {
    (code, json!({"kind": "Status", "status": "Failure", "code": code, "message": "no"}))
}

fn status(active: i32) -> Command {
    let after = StatusFacts { active, ..StatusFacts::default() };
    Command::WriteStatus(Arc::new(StatusWrite { before: StatusFacts::default(), after }))
}

fn pod(name: &str) -> PodRef {
    PodRef { name: name.into(), uid: Uid::new(name), resource_version: ResourceVersion::new("4") }
}

fn remove_finalizer(names: &[&str]) -> Command {
    let remove_finalizer =
        |name: &&str| FinalizerRemoval { pod: pod(name), policy_action: Some(PodFailureAction::Ignore) };
    Command::RemoveFinalizers(names.iter().map(remove_finalizer).collect())
}

fn create(count: usize) -> Command {
    Command::CreatePods(Creation { pods: vec![NewPod::default(); count], reason: CreationReason::New })
}

/// FT-02, SY-04: the second status write has the version in the response to the first one.
#[tokio::test(start_paused = true)]
async fn commands_are_performed_in_their_order() {
    let fixture = Fixture::new(|number| stored(number + 10));
    let outcome = fixture.enact(vec![vec![status(1), remove_finalizer(&["a", "b"]), status(2)]]).await;
    assert_eq!(outcome.failures, []);
    assert_eq!(
        fixture.lines(),
        ["PATCH jobs/sum/status", "PATCH pods/a", "PATCH pods/b", "PATCH jobs/sum/status"]
    );
    let requests = fixture.requests.lock().unwrap().clone();
    assert_eq!(requests[0].1["metadata"]["resourceVersion"], "5");
    assert_eq!(requests[3].1["metadata"]["resourceVersion"], "11");
    assert_eq!(outcome.memory.finalizer_removed, BTreeSet::from([Uid::new("a"), Uid::new("b")]));
    assert!(matches!(fixture.freshness(13, 99), Freshness::Behind { resource: "jobs", .. }));
    assert!(matches!(fixture.freshness(14, 12), Freshness::Behind { resource: "pods", .. }));
    assert_eq!(fixture.freshness(14, 13), Freshness::Fresh);
    assert!(fixture.enactor.metrics.text().contains("failure_policy_total{action=\"Ignore\"} 2"));
}

/// PC-11.
#[tokio::test(start_paused = true)]
async fn creations_start_slowly_and_stop_after_a_batch_with_a_failure() {
    let fixture = Fixture::new(|number| if number == 3 { failure(403) } else { stored(number) });
    let outcome = fixture.enact(vec![vec![create(20)], vec![status(1)]]).await;
    assert_eq!(outcome.failures, [Failure::Refused { code: 403, message: "no".to_owned() }]);
    assert_eq!(fixture.lines(), ["POST pods", "POST pods", "POST pods", "PATCH jobs/sum/status"]);
    let metrics = fixture.enactor.metrics.text();
    assert!(metrics.contains("creation_total{reason=\"new\",status=\"succeeded\"} 2"), "{metrics}");
    assert!(metrics.contains("creation_total{reason=\"new\",status=\"failed\"} 1"), "{metrics}");
}

/// H4, S-09: a missing pod ends its sequence without a failure, and the next sequence is performed (EN-06).
#[tokio::test(start_paused = true)]
async fn a_missing_pod_ends_only_its_sequence() {
    let fixture = Fixture::new(|number| if number == 1 { failure(404) } else { stored(number) });
    let outcome = fixture
        .enact(vec![vec![remove_finalizer(&["a"]), status(1)], vec![Command::DeletePods(vec![pod("b")])]])
        .await;
    assert_eq!(outcome.failures, []);
    assert_eq!(fixture.lines(), ["PATCH pods/a", "DELETE pods/b"]);
    assert_eq!(outcome.memory.finalizer_removed, BTreeSet::from([Uid::new("a")]));
    assert_eq!(outcome.memory.deleted, BTreeSet::from([Uid::new("b")]));
}

/// SY-04.
#[tokio::test(start_paused = true)]
async fn a_status_write_that_fails_ends_the_plan() {
    let fixture = Fixture::new(|_| failure(409));
    let outcome = fixture.enact(vec![vec![status(1), remove_finalizer(&["a"])], vec![create(1)]]).await;
    assert_eq!(outcome.failures, [Failure::Conflict("no".to_owned())]);
    assert_eq!(fixture.lines(), ["PATCH jobs/sum/status"]);
    assert_eq!(outcome.memory.finalizer_removed, BTreeSet::new());
    assert_eq!(fixture.freshness(0, 0), Freshness::Fresh);
}

#[tokio::test(start_paused = true)]
async fn after_an_ambiguous_response_nothing_is_assumed() {
    for command in [create(1), remove_finalizer(&["a"]), status(1), Command::DeletePods(vec![pod("a")])] {
        let fixture = Fixture::new(|_| failure(504));
        let outcome = fixture.enact(vec![vec![command]]).await;
        assert!(outcome.failures[0].is_ambiguous());
        assert_eq!(outcome.memory, Memory::default());
        assert_eq!(fixture.freshness(99, 99), Freshness::Unknown);
    }
}

/// FT-24: the Job is read first, and a deleted or terminating Job adopts nothing.
#[tokio::test(start_paused = true)]
async fn an_adoption_first_reads_the_job() {
    let answer = |uid: &'static str, deletion: Option<&'static str>| {
        move |number| match number {
            1 => (
                200,
                json!({"apiVersion": "batch/v1", "kind": "Job",
                    "metadata": {"name": "sum", "uid": uid, "deletionTimestamp": deletion}}),
            ),
            number => stored(number),
        }
    };
    let adopted = Fixture::new(answer("u", None));
    assert_eq!(adopted.enact(vec![vec![Command::AdoptPods(vec![pod("a")])]]).await.failures, []);
    assert_eq!(adopted.lines(), ["GET jobs/sum", "PATCH pods/a"]);
    for refused in
        [Fixture::new(answer("other", None)), Fixture::new(answer("u", Some("2026-01-01T00:00:00Z")))]
    {
        let outcome = refused.enact(vec![vec![Command::AdoptPods(vec![pod("a")])]]).await;
        assert!(matches!(outcome.failures[..], [Failure::Conflict(_)]));
        assert_eq!(refused.lines(), ["GET jobs/sum"]);
    }
}

/// FT-26.
#[tokio::test(start_paused = true)]
async fn a_release_of_a_changed_or_missing_pod_is_no_failure() {
    for (code, failures) in [(404, 0), (422, 0), (403, 1)] {
        let fixture = Fixture::new(move |_| failure(code));
        let outcome = fixture.enact(vec![vec![Command::ReleasePods(vec![pod("a")])]]).await;
        assert_eq!(outcome.failures.len(), failures, "{code}");
    }
}

#[tokio::test(start_paused = true)]
async fn no_command_starts_after_the_process_stops() {
    let fixture = Fixture::new(stored);
    fixture.enactor.stop.cancel();
    let outcome = fixture.enact(vec![vec![status(1)]]).await;
    assert!(matches!(outcome.failures[..], [Failure::NotSent(_)]));
    assert_eq!(fixture.lines(), Vec::<String>::new());
}

/// Requests of a batch that are still waiting are not sent after the process stops or loses the lease.
#[tokio::test(start_paused = true)]
async fn the_rest_of_a_batch_is_skipped_when_the_process_stops() {
    let stop = CancellationToken::new();
    let mut fixture = Fixture::new({
        let stop = stop.clone();
        move |number| {
            if number == 1 {
                stop.cancel();
            }
            stored(number)
        }
    });
    fixture.enactor.stop = stop;
    let names: Vec<String> = (0..100).map(|pod| format!("p{pod}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let outcome = fixture.enact(vec![vec![remove_finalizer(&names), status(1)]]).await;
    assert!(matches!(outcome.failures[..], [Failure::NotSent(_)]));
    assert!(fixture.lines().len() <= CONCURRENT_REQUESTS, "{}", fixture.lines().len());
}

/// SC-02: a large Job leaves the rest of its plan to its next sync if others wait.
#[tokio::test(start_paused = true)]
async fn a_large_plan_ends_early_if_other_jobs_wait() {
    for (others_wait, sent) in [(true, turn::REQUESTS), (false, 401)] {
        let fixture = Fixture { others_wait, ..Fixture::new(stored) };
        let names: Vec<String> = (0..400).map(|pod| format!("p{pod}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let outcome = fixture.enact(vec![vec![remove_finalizer(&names), status(1)]]).await;
        assert_eq!(fixture.lines().len(), sent);
        assert_eq!(outcome.failures.is_empty(), !others_wait);
        assert!(outcome.failures.iter().all(|failure| *failure == turn::left_over()));
    }
}

/// A batch of 500 requests is not sent at once, so that other Jobs get tokens of the rate limit.
#[tokio::test(start_paused = true)]
async fn a_large_batch_is_sent_in_portions() {
    let in_flight = Arc::new(Mutex::new((0_usize, 0_usize)));
    let answers = {
        let futures = (0..500).map(|_| {
            let in_flight = Arc::clone(&in_flight);
            async move {
                {
                    let mut counts = in_flight.lock().unwrap();
                    counts.0 += 1;
                    counts.1 = counts.1.max(counts.0);
                }
                tokio::time::sleep(std::time::Duration::from_millis(1)).await;
                in_flight.lock().unwrap().0 -= 1;
            }
        });
        concurrently(futures.collect()).collect::<Vec<_>>().await
    };
    assert_eq!(answers.len(), 500);
    assert_eq!(in_flight.lock().unwrap().1, CONCURRENT_REQUESTS);
}

/// TC-09: a real API server inserts new conditions first, unless the patch has their order.
#[tokio::test(start_paused = true)]
async fn new_conditions_follow_the_old_ones() {
    let condition = |kind: &str| jobcheck_controller::job::observed::Condition {
        kind: kind.into(),
        status: "True".into(),
        reason: "r".into(),
        message: "m".into(),
        last_probe: None,
        last_transition: None,
    };
    let with = |kinds: &[&str]| StatusFacts {
        conditions: kinds.iter().map(|kind| condition(kind)).collect(),
        ..StatusFacts::default()
    };
    let fixture = Fixture::new(stored);
    let write = StatusWrite {
        before: with(&["Suspended", "FailureTarget"]),
        after: with(&["Suspended", "FailureTarget", "Failed"]),
    };
    fixture.enact(vec![vec![Command::WriteStatus(Arc::new(write))]]).await;
    let status = fixture.requests.lock().unwrap()[0].1["status"].clone();
    assert_eq!(status["conditions"].as_array().unwrap().len(), 1);
    let order = json!([{"type": "Suspended"}, {"type": "FailureTarget"}, {"type": "Failed"}]);
    assert_eq!(status["$setElementOrder/conditions"], order);
}
