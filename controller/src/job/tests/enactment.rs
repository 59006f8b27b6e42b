//! The execution of a plan: which calls are open, and the effects of responses on the rest.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::answer::{Answer, Failure, Shown};
use crate::job::call::{Call, StepResult, Written};
use crate::job::command::{
    Command, Creation, CreationReason, Event, FinalizerRemoval, Metric, NewPod, Plan, PodRef, StatusWrite,
    Step, Stop,
};
use crate::job::enactment::Enactment;
use crate::job::memory::{Memory, MemoryUpdate};
use crate::job::observed::{PodFailureAction, StatusFacts};
use crate::job::requests::{self, Object, Verb};
use crate::values::{ResourceVersion, Time, Uid};

const NOW: Time = Time::from_seconds(77);

fn pod(name: &str) -> PodRef {
    PodRef { name: name.into(), uid: Uid::new(name), resource_version: ResourceVersion::new("4") }
}

fn removal(name: &str) -> FinalizerRemoval {
    FinalizerRemoval { pod: pod(name), policy_action: Some(PodFailureAction::Ignore) }
}

fn removals(names: &[&str]) -> Command {
    Command::RemoveFinalizers(names.iter().map(|name| removal(name)).collect())
}

fn deletions(names: &[&str]) -> Command {
    Command::DeletePods(names.iter().map(|name| pod(name)).collect())
}

fn creations(count: usize) -> Command {
    Command::CreatePods(Creation { pods: vec![NewPod::default(); count], reason: CreationReason::New })
}

fn status() -> Command {
    let (before, after) = (StatusFacts::default(), StatusFacts { active: 1, ..StatusFacts::default() });
    Command::WriteStatus(Arc::new(StatusWrite { before, after }))
}

/// A plan whose steps have their number as event, so that a test sees which step is complete.
fn plan(sequences: &[&[Command]]) -> Plan {
    let step = |(number, command): (usize, &Command)| Step {
        events: vec![Event::normal("Step", &number.to_string())],
        ..Step::from(command.clone())
    };
    let sequence = |steps: &&[Command]| steps.iter().enumerate().map(step).collect();
    Plan { scale: sequences.iter().map(sequence).collect(), ..Plan::default() }
}

fn started(plan: &Plan) -> Enactment<&Plan> {
    Enactment::new(plan, Uid::new("job"), ResourceVersion::new("5"))
}

fn stored(version: &str) -> Answer {
    let (uid, resource_version) = (Uid::new("job"), ResourceVersion::new(version));
    Ok(Shown { name: "shown".into(), uid, resource_version, deleting: false })
}

fn refused() -> Failure {
    Failure::Refused { code: 403, message: "no".to_owned() }
}

fn gone() -> Failure {
    Failure::NotFound("gone".to_owned())
}

/// The open calls as texts; `+` is the creation of a pod.
fn open(enactment: &Enactment<&Plan>) -> Vec<String> {
    let name = |call: &Call| match call {
        Call::ReadJob => "read".to_owned(),
        Call::WriteStatus(_, version) => format!("status at {}", version.as_str()),
        Call::RemoveFinalizer(removal) => format!("untrack {}", removal.pod.name),
        Call::CreatePod(..) => "+".to_owned(),
        Call::DeletePod(pod) => format!("delete {}", pod.name),
        Call::AdoptPod(pod) => format!("adopt {}", pod.name),
        Call::ReleasePod(pod) => format!("release {}", pod.name),
    };
    enactment.open().iter().map(name).collect()
}

/// Responds to the open call with this number; returns the step that the response completes.
fn answer(enactment: &mut Enactment<&Plan>, number: usize, answer: &Answer) -> Option<Step> {
    let call = enactment.take(number).expect("an open call");
    enactment.answered(&call, answer, NOW).cloned()
}

fn number(step: Option<Step>) -> Option<String> {
    step.map(|step| step.events[0].message.to_string())
}

#[test]
fn the_calls_of_a_step_are_open_together_and_the_next_step_waits_for_all_responses() {
    let plan = plan(&[&[], &[removals(&["a", "b"]), status()], &[]]);
    let mut enactment = started(&plan);
    assert_eq!(open(&enactment), ["untrack a", "untrack b"]);
    assert_eq!(enactment.take(2), None);
    let (b, a) = (enactment.take(1).unwrap(), enactment.take(0).unwrap());
    assert_eq!(open(&enactment), [""; 0]);
    assert!(!enactment.is_over());
    assert_eq!(enactment.answered(&b, &stored("8"), NOW), None);
    assert_eq!(open(&enactment), [""; 0]);
    assert_eq!(number(enactment.answered(&a, &stored("9"), NOW).cloned()), Some("0".to_owned()));
    assert_eq!(open(&enactment), ["status at 5"]);
    assert_eq!(number(answer(&mut enactment, 0, &stored("10"))), Some("1".to_owned()));
    assert!(enactment.is_over());
    let outcome = enactment.outcome();
    assert_eq!(outcome.failures, []);
    assert_eq!(outcome.memory.finalizer_removed, BTreeSet::from([Uid::new("a"), Uid::new("b")]));
}

#[test]
fn a_plan_without_commands_is_over_at_once() {
    for plan in [plan(&[]), plan(&[&[]]), plan(&[&[], &[]]), plan(&[&[removals(&[])], &[deletions(&[])]])] {
        let mut enactment = started(&plan);
        assert!(enactment.is_over());
        assert_eq!(enactment.take_all(), []);
    }
}

/// SY-04.
#[test]
fn a_status_write_expects_the_version_of_the_previous_write() {
    let plan = plan(&[&[status(), removals(&["a"]), status()]]);
    let mut enactment = started(&plan);
    answer(&mut enactment, 0, &stored("6"));
    answer(&mut enactment, 0, &stored("7"));
    assert_eq!(open(&enactment), ["status at 6"]);
}

/// PC-11.
#[test]
fn pods_are_created_in_batches_and_none_after_a_batch_with_a_failure() {
    let plan = plan(&[&[creations(9), status()], &[deletions(&["a"])]]);
    let mut enactment = started(&plan);
    let mut sizes = Vec::new();
    while open(&enactment).contains(&"+".to_owned()) {
        let calls = enactment.take_all();
        sizes.push(calls.len());
        for (number, call) in calls.iter().enumerate() {
            let fails = sizes.len() == 3 && number == 1;
            let answer = if fails { Err(refused()) } else { stored("6") };
            assert_eq!(enactment.answered(call, &answer, NOW), None);
        }
    }
    assert_eq!(sizes, [1, 2, 4]);
    assert_eq!(open(&enactment), ["delete a"]);
    assert_eq!(enactment.failures(), [refused()]);
    let mut whole = started(&plan);
    let mut done = None;
    while open(&whole).contains(&"+".to_owned()) {
        assert_eq!(done, None);
        done = number(answer(&mut whole, 0, &stored("6")));
    }
    assert_eq!(done, Some("0".to_owned()));
    assert_eq!(open(&whole), ["status at 5"]);
}

/// H4, S-09, EN-06.
#[test]
fn a_failure_ends_its_sequence_and_a_missing_pod_ends_it_without_a_failure() {
    let plan = plan(&[&[removals(&["a", "b"]), status()], &[deletions(&["c"])]]);
    for (one, other, failures) in [
        (Err(gone()), stored("6"), vec![]),
        (stored("6"), Err(gone()), vec![]),
        (Err(gone()), Err(refused()), vec![refused()]),
        (Err(refused()), Err(gone()), vec![refused()]),
    ] {
        let mut enactment = started(&plan);
        assert_eq!(answer(&mut enactment, 0, &one), None);
        assert_eq!(answer(&mut enactment, 0, &other), None);
        assert_eq!(open(&enactment), ["delete c"]);
        assert_eq!(enactment.outcome().failures, failures);
    }
}

#[test]
fn the_order_of_the_responses_of_a_batch_makes_no_difference() {
    let plan = plan(&[&[removals(&["a", "b", "c"]), status()], &[deletions(&["d"])]]);
    let answers = [stored("6"), Err(gone()), Err(refused())];
    let mut outcomes = Vec::new();
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let mut enactment = started(&plan);
        let calls = enactment.take_all();
        for place in order {
            enactment.answered(&calls[place], &answers[place], NOW);
        }
        outcomes.push((open(&enactment), enactment.outcome()));
    }
    assert!(outcomes.iter().all(|outcome| *outcome == outcomes[0]), "{outcomes:?}");
}

/// SY-04, FT-25.
#[test]
fn a_status_write_or_a_claim_that_fails_ends_the_plan() {
    let adopt = Command::AdoptPods(vec![pod("a")]);
    let release = Command::ReleasePods(vec![pod("a")]);
    for command in [status(), adopt, release] {
        let plan = plan(&[&[command, deletions(&["b"])], &[deletions(&["c"])]]);
        let mut enactment = started(&plan);
        answer(&mut enactment, 0, &Err(refused()));
        assert!(enactment.is_over());
        assert_eq!(enactment.outcome().failures, [refused()]);
    }
}

/// FT-24.
#[test]
fn pods_are_adopted_after_the_job_was_read() {
    let plan = plan(&[&[Command::AdoptPods(vec![pod("a"), pod("b")])], &[status()]]);
    let mut enactment = started(&plan);
    assert_eq!(open(&enactment), ["read"]);
    assert_eq!(answer(&mut enactment, 0, &stored("5")), None);
    assert_eq!(open(&enactment), ["adopt a", "adopt b"]);
    answer(&mut enactment, 0, &stored("6"));
    assert_eq!(number(answer(&mut enactment, 0, &stored("7"))), Some("0".to_owned()));
    assert_eq!(open(&enactment), ["status at 5"]);
    let shown = stored("5").unwrap();
    let another = Ok(Shown { uid: Uid::new("another"), ..shown.clone() });
    let deleting = Ok(Shown { deleting: true, ..shown });
    for found in [another, deleting, Err(gone())] {
        let mut enactment = started(&plan);
        answer(&mut enactment, 0, &found);
        assert!(enactment.is_over(), "{found:?}");
        assert!(matches!(enactment.failures(), [Failure::Conflict(_)]), "{found:?}");
    }
}

#[test]
fn an_abandoned_enactment_opens_no_call_and_keeps_later_responses() {
    let plan = plan(&[&[removals(&["a", "b"]), status()], &[deletions(&["c"])]]);
    let mut enactment = started(&plan);
    let call = enactment.take(0).unwrap();
    let why = Failure::NotSent("stopping".to_owned());
    enactment.abandon(why.clone());
    assert_eq!(open(&enactment), [""; 0]);
    assert_eq!(enactment.answered(&call, &stored("6"), NOW), None);
    assert!(enactment.is_over());
    assert_eq!(enactment.memory().finalizer_removed, BTreeSet::from([Uid::new("a")]));
    assert_eq!(enactment.outcome().failures, [why]);
}

#[test]
fn responses_add_to_the_memory_of_the_plan() {
    let memory = Memory { finalizer_removed: BTreeSet::from([Uid::new("z")]), ..Memory::default() };
    let plan = Plan { memory, ..plan(&[&[removals(&["a"])], &[deletions(&["b"])], &[creations(1)]]) };
    let mut enactment = started(&plan);
    answer(&mut enactment, 0, &stored("6"));
    answer(&mut enactment, 0, &Err(gone()));
    answer(&mut enactment, 0, &Err(Failure::NamespaceTerminating(String::new())));
    let memory = enactment.outcome().memory;
    assert_eq!(memory.finalizer_removed, BTreeSet::from([Uid::new("a"), Uid::new("z")]));
    assert_eq!(memory.deleted, BTreeSet::from([Uid::new("b")]));
    assert_eq!(memory.creation_refused, Some(NOW));
}

fn calls() -> [Call; 7] {
    let write = StatusWrite { before: StatusFacts::default(), after: StatusFacts::default() };
    [
        Call::ReadJob,
        Call::WriteStatus(Arc::new(write), ResourceVersion::new("5")),
        Call::RemoveFinalizer(removal("a")),
        Call::CreatePod(NewPod::default(), CreationReason::New),
        Call::DeletePod(pod("a")),
        Call::AdoptPod(pod("a")),
        Call::ReleasePod(pod("a")),
    ]
}

fn each<T>(of: impl Fn(&Call) -> T) -> [T; 7] {
    calls().map(|call| of(&call))
}

#[test]
fn the_result_of_a_response_depends_on_the_call() {
    let job = Uid::new("job");
    let word = |answer: Answer| {
        each(|call| match call.result(&answer, &job) {
            StepResult::Done => "done",
            StepResult::NotFound => "not found",
            StepResult::Failed(_) => "failed",
        })
    };
    let failed = ["failed"; 7];
    assert_eq!(word(stored("6")), ["done"; 7]);
    assert_eq!(word(Err(gone())), ["failed", "failed", "not found", "failed", "not found", "failed", "done"]);
    let invalid = Failure::Refused { code: 422, message: String::new() };
    assert_eq!(word(Err(invalid)), ["failed", "failed", "failed", "failed", "failed", "failed", "done"]);
    assert_eq!(word(Err(refused())), failed);
    assert_eq!(word(Err(Failure::Ambiguous(String::new()))), failed);
}

#[test]
fn successes_and_missing_pods_update_the_memory() {
    let updates = |answer: Answer| each(|call| call.memory_update(&answer));
    let removed = || Some(MemoryUpdate::FinalizerRemoved(Uid::new("a")));
    let both = [None, None, removed(), None, Some(MemoryUpdate::Deleted(Uid::new("a"))), None, None];
    assert_eq!(updates(Err(gone())), both);
    // A release removes the finalizer too.
    let mut all = both;
    all[6] = removed();
    assert_eq!(updates(stored("6")), all);
    assert_eq!(updates(Err(refused())), [const { None }; 7]);
    let mut terminating = [const { None }; 7];
    terminating[3] = Some(MemoryUpdate::NamespaceTerminating);
    assert_eq!(updates(Err(Failure::NamespaceTerminating(String::new()))), terminating);
}

/// SY-03.
#[test]
fn the_caches_must_show_each_write_and_a_lost_response_leaves_its_version_unknown() {
    let written = |answer: Answer| each(|call| call.written(&answer));
    let pod = Some(Written::Pod(ResourceVersion::new("6")));
    let job = Some(Written::Job(ResourceVersion::new("6")));
    let all = [None, job, pod.clone(), pod.clone(), pod.clone(), pod.clone(), pod];
    assert_eq!(written(stored("6")), all);
    let mut unknown = [const { Some(Written::Unknown) }; 7];
    unknown[0] = None;
    assert_eq!(written(Err(Failure::Ambiguous(String::new()))), unknown);
    assert_eq!(written(Err(gone())), [const { None }; 7]);
}

/// EV-01 to EV-04, PC-12.
#[test]
fn creations_and_deletions_have_events() {
    let events = |answer: Answer| {
        let [read, status, removal, create, delete, adopt, release] = each(|call| call.event(&answer));
        assert_eq!([read, status, removal, adopt, release], [const { None }; 5]);
        (create, delete)
    };
    assert_eq!(events(stored("6")), (Some(Event::created("shown")), Some(Event::deleted("a"))));
    assert_eq!(events(Err(gone())), (Some(Event::create_failed("gone")), None));
    assert_eq!(events(Err(refused())), (Some(Event::create_failed("no")), Some(Event::delete_failed("no"))));
    let terminating = Failure::NamespaceTerminating("x".to_owned());
    assert_eq!(events(Err(terminating)), (None, Some(Event::delete_failed("x"))));
    assert_eq!(events(Err(Failure::NotSent(String::new()))), (None, None));
}

/// MX-06, MX-07.
#[test]
fn creations_and_finalizer_removals_of_matched_pods_are_counted() {
    let metrics = |answer: Answer| {
        let [read, status, removal, create, delete, adopt, release] = each(|call| call.metric(&answer));
        assert_eq!([read, status, delete, adopt, release], [const { None }; 5]);
        (removal, create)
    };
    let created = |succeeded| Some(Metric::PodCreated { reason: CreationReason::New, succeeded });
    let handled = Some(Metric::PodFailureHandled { action: "Ignore" });
    assert_eq!(metrics(stored("6")), (handled, created(true)));
    assert_eq!(metrics(Err(refused())), (None, created(false)));
    let quiet = Call::RemoveFinalizer(FinalizerRemoval { policy_action: None, ..removal("a") });
    assert_eq!(quiet.metric(&stored("6")), None);
}

#[test]
fn each_call_is_a_request() {
    let job = super::build::job();
    let request = |call: &Call| {
        let made = requests::request(call, &job, |_| json!({ "kind": "Pod" }));
        (made.verb, made.object, made.body)
    };
    let pod = || Object::Pod("a".into());
    let [read, status, removal, create, delete, adopt, release] = each(request);
    assert_eq!(read, (Verb::Get, Object::Job("job".into()), Value::Null));
    assert_eq!((status.0, status.1), (Verb::Patch, Object::JobStatus("job".into())));
    assert_eq!(status.2["metadata"]["resourceVersion"], "5");
    assert_eq!((removal.0, removal.1), (Verb::Patch, pod()));
    assert_eq!(removal.2, requests::finalizer_removal_patch(&Uid::new("a")));
    assert_eq!(create, (Verb::Create, Object::Pods, json!({ "kind": "Pod" })));
    assert_eq!(delete, (Verb::Delete, pod(), requests::pod_deletion(&Uid::new("a"))));
    assert_eq!((adopt.0, adopt.1), (Verb::Patch, pod()));
    assert_eq!(adopt.2["metadata"]["resourceVersion"], "4");
    assert_eq!((release.0, release.1), (Verb::Patch, pod()));
    assert_eq!(release.2, requests::release_patch(&Uid::new("a"), &job.uid));
}

/// TC-08.
#[test]
fn the_results_of_the_deletions_decide_which_status_is_written() {
    let one = |command| vec![Step::from(command)];
    let stop = Stop {
        deletions: vec![one(deletions(&["a", "b"])), one(deletions(&["c"]))],
        if_all: vec![one(status())],
        if_none: vec![one(removals(&["f"]))],
    };
    let plan = Plan { stop: Some(stop), account: vec![one(removals(&["always"]))], ..Plan::default() };
    let next = |answers: [&Answer; 3]| {
        let mut enactment = started(&plan);
        answers.into_iter().for_each(|given| drop(answer(&mut enactment, 0, given)));
        open(&enactment)
    };
    let (done, no, missing) = (&stored("6"), &Err(refused()), &Err(gone()));
    assert_eq!(next([done, done, done]), ["status at 5"]);
    assert_eq!(next([no, no, no]), ["untrack f"]);
    // The number of active pods is unknown until the caches show it.
    for answers in [[no, done, no], [no, no, done], [no, missing, no], [done, missing, done]] {
        assert_eq!(next(answers), ["untrack always"], "{answers:?}");
    }
}
