//! The explanations of a write, in their order.

use jobcheck_spec::Uid;
use jobcheck_spec::apiserver::RuleSet;
use jobcheck_spec::constants::Constants;
use jobcheck_spec::gates::Gates;
use jobcheck_spec::pod::{Phase, Pod};

use super::super::actor::{Actor, Role};
use super::super::delivery::{Delivery, Sender};
use super::super::fixtures::{job, job_write, pod};
use super::super::frontier::VIEW_CAP;
use super::super::own_write::OwnWrite;
use super::super::process::Uncertain;
use super::super::unlisted::Reported;
use super::*;
use jobcheck_spec::Req;

const SECOND: i64 = 1_000_000;

fn settings() -> Settings {
    Settings::new(RuleSet::V1_36, Constants::V1_36, Gates::ON, Reported::default())
}

/// A write of the manager that was received and answered at this second.
fn write_at(second: i64) -> Event {
    job_write("job", (second * SECOND, second * SECOND), 1)
}

/// A request that lasts from the middle of this second to the middle of the next one.
fn request_between(second: i64) -> Event {
    let (from, to) = (second * SECOND + SECOND / 2, (second + 1) * SECOND + SECOND / 2);
    job_write("job", (from, to), 1)
}

/// A write of second 20 whose sender was in this state when the API server handled it.
fn sent_by(sender: Sender) -> Event {
    Event { delivery: Delivery { sender, ..Delivery::default() }, ..write_at(20) }
}

/// The Job controller.
fn controller() -> Actor {
    let (user, agent) = ("job-controller".into(), "".into());
    Actor { user, agent, role: Role::JobController }
}

/// A Job whose pods are all known.
fn track() -> Track {
    Track::new(std::sync::Arc::new(job()), &write_at(0), true, false)
}

/// Judges a write of second 20.
fn judge(track: &mut Track, settings: &Settings, guard: &dyn Fn(&View<'_>, &mut Findings)) -> bool {
    track.judge_by_views(&write_at(20), settings, &"write", Versions::Any, None, guard)
}

/// Accepts views with exactly so many pods in the cache.
fn pods_seen(count: usize) -> impl Fn(&View<'_>, &mut Findings) {
    move |view, findings| {
        findings.equal(Req::PC01, "pods", count as i64, view.cache.len() as i64);
    }
}

fn broken(track: &Track) -> Vec<Req> {
    track.results.violations.iter().map(|it| it.broken.req).collect()
}

#[test]
fn a_write_that_a_view_explains_is_judged_and_its_premises_are_kept() {
    let mut track = track();
    track.pod_changed(Uid(1), Some(pod(1)), None);
    assert!(judge(&mut track, &settings(), &pods_seen(1)));
    assert_eq!((track.results.judged, broken(&track), track.results.doubts.len()), (1, Vec::new(), 0));
    assert_eq!(track.results.premises.premises().collect::<Vec<_>>(), [Req::PC01]);
}

#[test]
fn a_write_that_no_view_explains_is_a_violation_with_the_closest_views() {
    let mut track = track();
    track.pod_changed(Uid(1), Some(pod(1)), None);
    assert!(!judge(&mut track, &settings(), &pods_seen(2)));
    assert_eq!(broken(&track), [Req::PC01]);
    let violation = &track.results.violations[0];
    assert_eq!((violation.write.as_str(), violation.broken.known), ("write", None));
    assert_eq!(violation.views.len(), 2);
    // Later writes are judged against the state of etcd.
    assert_eq!(track.process.frontier.earliest(), track.history.end());
}

#[test]
fn a_job_with_unknown_pods_and_a_write_of_a_terminated_process_are_not_judged() {
    let mut incomplete = track();
    incomplete.coverage.complete = false;
    assert!(judge(&mut incomplete, &settings(), &pods_seen(2)));
    let mut complete = track();
    let posthumous = sent_by(Sender::Replaced);
    assert!(complete.judge_by_views(&posthumous, &settings(), &"write", Versions::Any, None, &pods_seen(2)));
    assert_eq!((incomplete.results.judged, complete.results.judged), (0, 0));
}

#[test]
fn writes_just_after_a_restart_may_be_those_of_the_process_before() {
    // The guard accepts a process that did not create the pod itself.
    let explained = |sender: Sender| {
        let mut track = track();
        let creation = OwnWrite::Create(Box::new(pod(1)));
        let own = track.heard(&sent_by(sender), Uid(1), creation);
        track.pod_changed(Uid(1), Some(pod(1)), own);
        let no_pod = |view: &View<'_>, findings: &mut Findings| {
            findings.equal(Req::PC01, "pods", 0i64, view.post.len() as i64);
        };
        (judge(&mut track, &settings(), &no_pod), track.results.reservations.len())
    };
    assert_eq!(explained(Sender::Alive), (false, 0));
    assert_eq!(explained(Sender::JustStarted), (true, 1));
}

#[test]
fn a_sender_that_may_have_been_replaced_in_flight_leaves_the_write_undecided() {
    let mut track = track();
    let overlapped = sent_by(Sender::MaybeReplaced);
    assert!(track.judge_by_views(&overlapped, &settings(), &"write", Versions::Any, None, &pods_seen(2)));
    assert_eq!((broken(&track), track.results.reservations.len()), (Vec::new(), 1));
    assert!(
        track.results.reservations[0].text.starts_with("SY-01: write: "),
        "{}",
        track.results.reservations[0].text
    );
}

/// A Job with a pod that failed in second 5. The manager has recorded the failure in its backoff record, and has then
/// removed the finalizer.
fn track_with_failure(settings: &Settings) -> Track {
    let mut track = track();
    let failed = Pod { phase: Phase::Failed, finished: Some(Time(5)), ..pod(1) };
    track.pod_changed(Uid(1), Some(failed.clone()), None);
    assert!(judge(&mut track, settings, &pods_seen(1)));
    track.keep_backoff(&sent_by(Sender::Alive), true, settings);
    assert_eq!(track.process.backoff.last_failure(), Some(Time(5)));
    track.pod_changed(Uid(1), Some(Pod { finalizer: false, ..failed }), None);
    track
}

/// Accepts views without the finalizer and without a delay.
fn no_delay(view: &View<'_>, findings: &mut Findings) {
    let held = view.cache.iter().filter(|pod| pod.finalizer).count();
    findings.equal(Req::PC01, "finalizers", 0, held as i64);
    findings.equal(Req::BO01, "failures", 0, i64::from(view.backoff.failures));
}

#[test]
fn only_a_sign_of_a_restart_empties_the_backoff_record() {
    let mut marked = settings();
    marked.restarted(Some("job-controller"), 6 * SECOND);
    let mut silent = settings();
    for second in [10, 12] {
        silent.heard(&write_at(second), &controller(), "");
    }
    let mut without_requests = settings();
    without_requests.has_actors = false;
    let mut before = settings();
    before.restarted(Some("job-controller"), 4 * SECOND);
    let mut after = settings();
    after.restarted(Some("job-controller"), 21 * SECOND);
    let mut of_another = settings();
    of_another.restarted(Some("kube-scheduler"), 6 * SECOND);
    for settings in [&mut before, &mut after, &mut of_another] {
        for second in 0..20 {
            settings.heard(&request_between(second), &controller(), "");
        }
    }
    let mut never_silent = settings();
    never_silent.heard(&write_at(0), &controller(), "");
    for (settings, explained, doubt) in [
        (marked, true, None),
        (silent, true, Some("a silence of a second or more")),
        (without_requests, true, Some("does not show whose requests these are")),
        (never_silent, false, None),
        (before, false, None),
        (after, false, None),
        (of_another, false, None),
    ] {
        let mut track = track_with_failure(&settings);
        assert_eq!(judge(&mut track, &settings, &no_delay), explained);
        assert_eq!(broken(&track), if explained { vec![] } else { vec![Req::BO01] });
        assert_eq!(track.process.backoff.last_failure(), if explained { None } else { Some(Time(5)) });
        assert_eq!(track.results.reservations.len(), usize::from(doubt.is_some()));
        for (found, expected) in track.results.reservations.iter().zip(doubt) {
            assert!(found.text.starts_with("BO-01: ") && found.text.contains(expected), "{}", found.text);
        }
    }
}

#[test]
fn a_restart_excuses_nothing_but_a_delay() {
    let mut settings = settings();
    settings.restarted(None, 6 * SECOND);
    let mut track = track_with_failure(&settings);
    assert!(!judge(&mut track, &settings, &pods_seen(2)));
    assert_eq!((broken(&track), track.process.backoff.last_failure()), (vec![Req::PC01], Some(Time(5))));
}

fn committed_creation() -> Uncertain {
    Uncertain::Effect { after: Some(pod(1)), own: Some(OwnWrite::Create(Box::new(pod(1)))) }
}

#[test]
fn a_write_with_a_server_error_counts_as_committed_if_that_explains_a_later_one() {
    let mut settings = settings();
    settings.shown_pods.insert("ns".into());
    for (seen, explained) in [(1, true), (2, false)] {
        let mut track = track();
        track.process.uncertain.insert(Uid(1), committed_creation());
        assert_eq!(judge(&mut track, &settings, &pods_seen(seen)), explained);
        // An assumption that explains nothing leaves nothing behind.
        assert_eq!((track.process.uncertain.is_empty(), track.results.warnings.len()), (explained, 0));
        assert_eq!(broken(&track), if explained { vec![] } else { vec![Req::PC01] });
    }
    // A write that a view explains leaves the question open.
    let mut open = track();
    open.process.uncertain.insert(Uid(1), committed_creation());
    assert!(judge(&mut open, &settings, &pods_seen(0)));
    assert_eq!(open.process.uncertain.len(), 1);
}

#[test]
fn reported_pods_of_which_the_trace_shows_none_make_the_verdict_inconclusive() {
    let unknown = settings();
    let mut track = track();
    assert!(judge(&mut track, &unknown, &pods_seen(1)));
    assert_eq!((broken(&track), track.coverage.complete), (Vec::new(), false));
    assert_eq!(track.results.doubts, ["the trace shows no pods"]);
}

#[test]
fn a_search_that_reaches_its_limit_makes_the_verdict_inconclusive() {
    let mut track = track();
    for position in 0..=VIEW_CAP {
        track.pod_changed(Uid(1), Some(Pod { ready: position % 2 == 0, ..pod(1) }), None);
    }
    assert!(judge(&mut track, &settings(), &pods_seen(2)));
    assert_eq!((broken(&track), track.coverage.complete), (Vec::new(), false));
    assert_eq!(track.results.doubts, ["write: the search for an explaining view reached its limit"]);
}
