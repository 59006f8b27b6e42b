//! Missing writes, on single requests.

use std::sync::Arc;

use jobcheck_spec::Operand;
use jobcheck_spec::job::{JobSpec, JobStatus};
use jobcheck_spec::pod::Phase;

use super::super::event::{Arrival, Body};
use super::super::fixtures::{job, job_with_active, job_write, pod, pod_request, request};
use super::*;

fn track() -> Track {
    Track::new(Arc::new(job()), &job_write("job", (0, 0), 1), true, false)
}

/// A violation by the event with this number, answered at this microsecond.
fn violate(track: &mut Track, order: u64, done: i64) {
    let event = Event { order, ..job_write("job", (done, done), 1) };
    let broken = Broken {
        req: Req::PC01,
        what: "active",
        expected: Operand::Number(0),
        found: Operand::Number(1),
        known: None,
    };
    track.report(&event, &"write", broken, Vec::new());
}

fn orders(track: &Track) -> Vec<u64> {
    track.results.violations.iter().map(|it| it.order).collect()
}

#[test]
fn a_gap_withdraws_the_violations_behind_its_beginning() {
    for (since, left, doubt) in [
        (Since::Order(3), vec![1, 2, 3], "gap"),
        (Since::Order(2), vec![1, 2], "gap, which may explain an earlier violation"),
        (Since::Order(0), vec![], "gap, which may explain 3 earlier violations"),
        (Since::Time(20), vec![1], "gap, which may explain 2 earlier violations"),
    ] {
        let mut track = track();
        for order in 1..=3 {
            violate(&mut track, order, i64::try_from(order).unwrap() * 10);
        }
        track.lacks(&Event { order: 4, ..job_write("job", (50, 60), 9) }, "gap", since);
        assert_eq!((orders(&track), track.coverage.complete, track.coverage.gap), (left, false, Some(4)));
        assert_eq!(track.results.doubts, [doubt]);
    }
}

/// The reasons for an inconclusive verdict after a write of the Job that was based on the version `base`.
fn doubts_after(base: Option<u64>, write: Event, after: Job) -> Vec<String> {
    let mut track = track();
    let after = JobEvent { base, ..JobEvent::state(Arc::new(after)) };
    track.find_missing_write(&write, &after);
    assert_eq!(track.coverage.stale, !track.results.doubts.is_empty());
    track.results.doubts
}

#[test]
fn an_accepted_write_on_another_state_shows_that_a_write_of_the_job_is_missing() {
    let update = || job_write("job", (10, 20), 9);
    let on_status = || Event { is_status: true, ..update() };
    let active = || (*job_with_active(1)).clone();
    let spec = || Job { spec: Arc::new(JobSpec { parallelism: Some(7), ..(*job().spec).clone() }), ..job() };
    let both = || Job { status: JobStatus { active: 1, ..JobStatus::default() }, ..spec() };
    let deletion = || Event { verb: Some(Verb::Delete), ..update() };
    let regenerated = |generation| Job { generation, ..job() };
    for (base, write, after, expected) in [
        (None, on_status(), active(), None),
        (None, update(), spec(), None),
        (None, update(), regenerated(2), None),
        (Some(1), update(), both(), None),
        (Some(5), on_status(), active(), Some("resourceVersion 5 was never recorded")),
        (None, update(), both(), Some("no write changes spec and status together")),
        (None, on_status(), spec(), Some("the response to a status write has another spec")),
        (None, update(), active(), Some("the response to a write of the spec has another status")),
        (None, update(), regenerated(3), Some("the generation rose by more than one")),
        (None, deletion(), active(), Some("the response to a DELETE has another spec or status")),
    ] {
        let found = doubts_after(base, write, after);
        let expected: Vec<String> =
            expected.map(|why| format!("a write of the Job is missing: {why}")).into_iter().collect();
        assert_eq!(found, expected);
    }
}

/// The reasons for an inconclusive verdict at the end of the trace, after a request whose response has this pod.
fn doubts_of_pod(verb: Verb, is_status: bool, names_finalizers: Option<bool>, after: Pod) -> Vec<String> {
    let mut track = track();
    let before = pod(1);
    track.pod_changed(before.uid, Some(before.clone()), None);
    let mut event = Event { answered: Some(9), is_status, ..pod_request(verb, "pod", (10, 20)) };
    let Body::Pod(body) = std::mem::replace(&mut event.body, Body::Evicted) else { unreachable!() };
    let body = PodEvent { names_finalizers, ..*body };
    track.find_missing_pod_write(&event, &body, &before, &after);
    track.find_never_shown();
    track.results.doubts
}

#[test]
fn a_response_that_its_request_cannot_cause_shows_that_a_write_of_a_pod_is_missing() {
    let running = || Pod { phase: Phase::Running, ..pod(1) };
    let bare = || Pod { finalizer: false, ..pod(1) };
    let deleting = || Pod { deleting: true, ..pod(1) };
    for (verb, is_status, names_finalizers, after, expected) in [
        (Verb::Patch, true, None, running(), None),
        (Verb::Patch, false, Some(true), bare(), None),
        (Verb::Delete, false, None, deleting(), None),
        (Verb::Patch, true, None, bare(), Some("no write of the status changes finalizers")),
        (Verb::Patch, false, None, running(), Some("its status changed without a write")),
        (Verb::Patch, false, Some(false), bare(), Some("its finalizer changed without a write")),
        (Verb::Delete, false, None, bare(), Some("no DELETE removes a finalizer")),
        (Verb::Delete, false, None, running(), Some("no DELETE changes the status")),
        (Verb::Patch, true, None, deleting(), Some("it was deleted without a DELETE")),
    ] {
        let found = doubts_of_pod(verb, is_status, names_finalizers, after);
        let expected: Vec<String> =
            expected.map(|why| format!("a write of a pod is missing: {why}")).into_iter().collect();
        assert_eq!(found, expected);
    }
}

#[test]
fn a_base_that_the_trace_shows_later_is_no_gap() {
    for (shown, doubts) in [(true, 0), (false, 1)] {
        let mut track = track();
        let refused = JobEvent { base: Some(5), attempted: Some(Box::new(job())), ..JobEvent::nothing() };
        track.find_unseen_base(&refused);
        if shown {
            track.coverage.has_version(5, 2);
        }
        track.find_never_shown();
        assert_eq!(track.results.doubts.len(), doubts);
    }
}

#[test]
fn a_late_line_is_a_gap_unless_its_version_was_seen() {
    let arrival = Arrival { late: true, ..Arrival::default() };
    let late = |version, done| Event { arrival, ..job_write("job", (0, done), version) };
    for (version, done, is_late, doubts) in
        [(1, 5, true, 0), (2, 5, true, 1), (2, 60, false, 0), (9, 5, false, 0)]
    {
        let mut track = track();
        track.saw(&job_write("job", (10, 50), 7), None);
        assert_eq!(track.comes_late(&late(version, done)), is_late, "{version} at {done}");
        assert_eq!(track.results.doubts.len(), doubts);
    }
}

#[test]
fn only_a_patch_that_may_name_owners_changes_the_owner() {
    let patch = |is_status, names_owner| {
        let event = Event { is_status, ..pod_request(Verb::Patch, "pod", (0, 1)) };
        let Body::Pod(body) = pod_request(Verb::Patch, "pod", (0, 1)).body else { unreachable!() };
        keeps_owner(&event, &PodEvent { names_owner, ..*body })
    };
    assert_eq!([patch(false, Some(true)), patch(false, None)], [false, false]);
    assert_eq!([patch(false, Some(false)), patch(true, None)], [true, true]);
    let watched = Event { form: Form::Watch, ..request(Verb::Delete, "pod", (0, 1), Body::Evicted) };
    let Body::Pod(body) = pod_request(Verb::Delete, "pod", (0, 1)).body else { unreachable!() };
    assert!(!keeps_owner(&watched, &body));
}
