//! The order of events, on a few requests.

use jobcheck_traces::{Place, Verb};

use super::super::contents::no_pod;
use super::super::fixtures::{job_write, pod_request, request};
use super::*;
use crate::validate::event::{CONFLICT, JobEvent, PodEvent};
use crate::validate::observed::Observer;

/// The events that `push` emits, and those that the final `flush` emits.
fn emitted(events: Vec<Event>) -> (Vec<Event>, Vec<Event>) {
    emitted_by(Sequencer { holds: 0, ..Sequencer::default() }, events)
}

fn emitted_by(mut sequencer: Sequencer, events: Vec<Event>) -> (Vec<Event>, Vec<Event>) {
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for event in events {
        sequencer.push(event, &mut |event| before.push(event));
    }
    sequencer.flush(&mut |event| after.push(event));
    (before, after)
}

/// All events, in order.
fn ordered(events: Vec<Event>) -> Vec<Event> {
    let (mut before, after) = emitted(events);
    before.extend(after);
    before
}

fn names(events: &[Event]) -> Vec<&str> {
    events.iter().map(|event| &*event.name).collect()
}

fn watched(name: &str, version: u64) -> Event {
    Event { form: Form::Watch, when: None, actor: None, ..job_write(name, (0, 0), version) }
}

#[test]
fn versions_order_requests_that_were_answered_in_another_order() {
    let events = vec![job_write("b", (20, 30), 7), job_write("a", (10, 40), 6), job_write("c", (50, 60), 8)];
    assert_eq!(names(&ordered(events)), ["a", "b", "c"]);
}

#[test]
fn a_request_without_a_version_follows_everything_that_was_answered_before_it() {
    let events = vec![
        job_write("first", (0, 10), 6),
        pod_request(Verb::Delete, "removal", (15, 20)),
        job_write("last", (5, 30), 7),
    ];
    assert_eq!(names(&ordered(events)), ["first", "removal", "last"]);
}

#[test]
fn a_request_without_effect_precedes_the_next_version_of_its_object() {
    let idle = Event { answered: Some(6), ..pod_request(Verb::Patch, "pod", (5, 40)) };
    let next = Event { version: Some(8), answered: Some(8), ..pod_request(Verb::Update, "pod", (20, 30)) };
    let events = ordered(vec![job_write("job", (10, 15), 7), next, idle]);
    let verbs: Vec<Option<Verb>> = events.iter().map(|event| event.verb).collect();
    assert_eq!(verbs, [Some(Verb::Update), Some(Verb::Patch), Some(Verb::Update)]);
}

#[test]
fn the_loser_of_a_conflict_follows_a_winner_that_was_answered_later() {
    let lost = Event { code: CONFLICT, version: None, answered: None, ..job_write("job", (10, 20), 0) };
    let won = job_write("job", (15, 30), 9);
    let codes: Vec<u16> = ordered(vec![lost, won]).iter().map(|event| event.code).collect();
    assert_eq!(codes, [200, CONFLICT]);
}

#[test]
fn a_refusal_that_never_reached_etcd_follows_what_its_sender_may_have_seen() {
    let refused = |received| Event { code: 503, ..pod_request(Verb::Patch, "refused", (received, received)) };
    let user = |write: Event| Event { actor: None, ..write };
    let scaled = || job_write("job", (10, 30), 9);
    assert_eq!(names(&ordered(vec![refused(20), user(scaled())])), ["job", "refused"]);
    assert_eq!(names(&ordered(vec![refused(5), user(scaled())])), ["refused", "job"]);
    // A process knows only those of its own writes that were answered.
    assert_eq!(names(&ordered(vec![refused(20), scaled()])), ["refused", "job"]);
}

/// A webhook refuses a request whose sender knows of an edit of the Job. A refusal that the Job itself may have decided about stays
/// before the edit.
#[test]
fn a_refusal_follows_what_its_sender_may_have_seen_of_other_objects() {
    let refused = |event: Event| Event { code: 403, version: None, answered: None, actor: None, ..event };
    let scaled = || job_write("job", (10, 30), 9);
    let of_pod = refused(pod_request(Verb::Patch, "pod", (20, 20)));
    assert_eq!(names(&ordered(vec![of_pod, scaled()])), ["job", "pod"]);
    let of_job = refused(job_write("job", (20, 20), 0));
    let codes: Vec<u16> = ordered(vec![of_job, scaled()]).iter().map(|event| event.code).collect();
    assert_eq!(codes, [403, 200]);
}

/// The creation of another Job hangs in a webhook, and is stored long after the refusal.
#[test]
fn a_slow_write_displaces_no_refusal() {
    let refused = || Event { code: 403, ..pod_request(Verb::Create, "refused", (20, 25)) };
    let slow = || Event { actor: None, ..job_write("slow", (10, 90), 9) };
    let next = |version, received| job_write("next", (received, received + 5), version);
    let of = |event| ordered(vec![refused(), event, slow()]);
    assert_eq!(names(&of(next(8, 30))), ["refused", "next", "slow"]);
    // A request that was received before the response of the refusal says nothing.
    assert_eq!(names(&of(next(8, 22))), ["next", "slow", "refused"]);
    assert_eq!(names(&of(next(10, 30))), ["slow", "refused", "next"]);
}

/// In a log with whole seconds, the order of the lines is all that is known.
#[test]
fn a_refusal_stays_before_later_lines_of_its_second() {
    let at = |line: u64, event: Event| Event { place: Place { file: 0, line }, ..event };
    let refused = |line| at(line, Event { code: 500, ..pod_request(Verb::Create, "refused", (20, 20)) });
    let other = |line| at(line, Event { actor: None, ..job_write("other", (20, 20), 9) });
    assert_eq!(names(&ordered(vec![refused(1), other(2)])), ["refused", "other"]);
    assert_eq!(names(&ordered(vec![other(1), refused(2)])), ["other", "refused"]);
}

/// From 1.38 on, the response to a removal carries its own version.
#[test]
fn a_refusal_follows_a_removal_that_was_answered_before() {
    let gone = || Body::Pod(Box::new(PodEvent { gone: true, ..no_pod() }));
    let removal = Event { answered: Some(9), body: gone(), ..pod_request(Verb::Patch, "removal", (10, 20)) };
    let refused = Event { code: 403, version: None, answered: None, ..job_write("refused", (30, 40), 0) };
    let events = vec![job_write("first", (0, 5), 7), removal, refused];
    assert_eq!(names(&ordered(events)), ["first", "removal", "refused"]);
}

/// The controller reacts to the deletion of the Job while its response is on its way.
#[test]
fn a_removal_follows_what_its_sender_may_have_seen() {
    let gone = || Body::Pod(Box::new(PodEvent { gone: true, ..no_pod() }));
    let removal = || Event { body: gone(), ..pod_request(Verb::Patch, "removal", (20, 36)) };
    let deletion = |received| Event { actor: None, ..job_write("deletion", (received, 30), 9) };
    assert_eq!(names(&ordered(vec![deletion(0), removal()])), ["deletion", "removal"]);
    assert_eq!(names(&ordered(vec![deletion(21), removal()])), ["removal", "deletion"]);
}

/// The watches of a controller had shown the end of the Job before the controller sent its request for a pod.
#[test]
fn a_refusal_follows_what_the_watches_of_its_sender_had_shown() {
    let refused = |observer, received| {
        let mut refused =
            Event { code: CONFLICT, ..pod_request(Verb::Patch, "refused", (received, received + 5)) };
        refused.delivery.observer = observer;
        refused
    };
    let shown = || {
        let mut shown = watched("shown", 9);
        shown.arrival.shown_at = Some(20);
        shown
    };
    let of = |refused: Event| ordered(vec![job_write("job", (0, 5), 6), shown(), refused]);
    assert_eq!(names(&of(refused(Some(Observer(0)), 20))), ["job", "shown", "refused"]);
    assert_eq!(names(&of(refused(Some(Observer(0)), 19))), ["job", "refused", "shown"]);
    // Somebody else has watches of its own.
    assert_eq!(names(&of(refused(None, 20))), ["job", "refused", "shown"]);
}

/// A watcher may receive the winner after the loser has its response.
#[test]
fn the_loser_of_a_conflict_follows_the_winner_that_a_watch_shows() {
    let lost = || {
        let job = JobEvent { base: Some(6), ..JobEvent::nothing() };
        let request = request(Verb::Update, "job", (10, 20), Body::Job(Box::new(job)));
        Event { form: Form::Native, code: CONFLICT, ..request }
    };
    let shown = |version, at| {
        let mut shown = watched("job", version);
        shown.arrival.shown_at = Some(at);
        shown
    };
    let codes = |events| ordered(events).iter().map(|event| event.code).collect::<Vec<u16>>();
    assert_eq!(codes(vec![shown(6, 5), lost(), shown(9, 28_000)]), [200, 200, CONFLICT]);
    // A write that comes much later was not in the way, so that only the clocks decide.
    assert_eq!(codes(vec![shown(6, 5), lost(), shown(9, 21 + WINDOW_MICROS)]), [CONFLICT, 200, 200]);
}

/// By the clocks, the winner came later. Two API servers may have clocks that differ.
#[test]
fn a_loser_may_have_lost_against_a_near_successor() {
    let lost =
        |form| Event { form, code: CONFLICT, version: None, answered: None, ..job_write("job", (10, 20), 0) };
    let next = |received: i64| Event { actor: None, ..job_write("job", (received, received + 5), 9) };
    let is_near = |lost: Event, next: Event| {
        let events = ordered(vec![lost, next]);
        events.iter().any(|event| event.arrival.has_near_successor)
    };
    assert!(is_near(lost(Form::Audit), next(20 + CLOCKS_DIFFER)));
    assert!(!is_near(lost(Form::Audit), next(21 + CLOCKS_DIFFER)));
    assert!(!is_near(lost(Form::Audit), job_write("job", (30, 40), 9)), "of the same sender");
    assert!(!is_near(lost(Form::Native), next(30)), "of one clock");
}

#[test]
fn the_removal_of_a_job_precedes_what_its_watchers_did_before_the_response() {
    let gone = JobEvent { gone: true, ..JobEvent::nothing() };
    let removal = request(Verb::Delete, "job", (10, 40), Body::Job(Box::new(gone)));
    let watcher = Event { version: Some(8), answered: Some(8), ..pod_request(Verb::Patch, "pod", (20, 30)) };
    let events = ordered(vec![job_write("job", (0, 5), 6), watcher, removal]);
    assert_eq!(names(&events), ["job", "job", "pod"]);
    assert!(events[1].body.is_gone());
}

/// The kubelet's last request for a pod takes effect before its response. A write of the controller in between knows it.
#[test]
fn the_removal_of_a_pod_precedes_what_others_did_before_the_response() {
    let kubelet = |it: Event| Event { actor: None, ..it };
    let gone = || Body::Pod(Box::new(PodEvent { gone: true, ..no_pod() }));
    let removal = || request(Verb::Delete, "pod", (10, 40), gone());
    let writes = || vec![job_write("old", (0, 5), 6), job_write("new", (20, 30), 8)];
    let of = |removal: Event| ordered(writes().into_iter().chain([removal]).collect());
    assert_eq!(names(&of(kubelet(removal()))), ["old", "pod", "new"]);
    // A process knows its own writes before it sends the next one.
    assert_eq!(names(&of(removal())), ["old", "new", "pod"]);
}

#[test]
fn an_event_is_emitted_once_no_earlier_line_can_follow() {
    let write = |done: i64, version: u64| job_write(&version.to_string(), (done - 1, done), version);
    let early = emitted(vec![write(10, 1), write(10 + 2 * WINDOW_MICROS - 1, 2)]).0;
    assert_eq!(names(&early), [""; 0]);
    let ripe = emitted(vec![write(10, 1), write(10 + 2 * WINDOW_MICROS, 2)]).0;
    assert_eq!(names(&ripe), ["1"]);
}

#[test]
fn a_line_that_precedes_an_ordered_one_is_late() {
    let late = |lines: [(u64, i64); 3]| {
        let events = lines.map(|(version, done)| job_write(&done.to_string(), (done - 1, done), version));
        let late = ordered(events.into()).into_iter().filter(|event| event.arrival.late);
        late.map(|event| event.name.to_string()).collect::<Vec<_>>()
    };
    // The second line puts everything up to its time, less the window, in order.
    let second = (3, 3 * WINDOW_MICROS);
    assert_eq!(late([(2, 30), second, (1, 40)]), [""; 0]);
    assert_eq!(late([(2, 30), second, (1, 20)]), ["20"]);
    // Its version shows the place of the third one, which is still open.
    assert_eq!(late([(2, 30), second, (4, 20)]), [""; 0]);
}

/// A namespace that is busy loses the events that seem to be the first, and not its whole window.
#[test]
fn a_full_window_passes_on_its_first_events_alone() {
    let count = WINDOW_EVENTS as u64 + 100;
    let write = |number: u64| {
        let at = i64::try_from(number).unwrap();
        job_write(&number.to_string(), (at, at), number)
    };
    // Neighbours are exchanged.
    let (before, after) = emitted((0..count).map(|number| write(number ^ 1)).collect());
    assert_eq!((before.len(), after.len()), (100, WINDOW_EVENTS));
    let all: Vec<Event> = before.into_iter().chain(after).collect();
    assert!(all.iter().all(|event| !event.arrival.late) && all.is_sorted_by_key(|event| event.version));
    // A line that is far away is late.
    let mut moved: Vec<Event> = (1..count).map(write).collect();
    moved.push(write(0));
    let late = ordered(moved).into_iter().filter(|event| event.arrival.late).map(|event| event.version);
    assert_eq!(late.collect::<Vec<_>>(), [Some(0)]);
}

/// The lane of a namespace that is silent for long is dropped, and its place is not forgotten.
#[test]
fn a_line_of_a_namespace_that_was_silent_for_long_is_late() {
    let elsewhere =
        |number: i64| Event { namespace: "busy".into(), ..job_write("busy", (number, number), 9) };
    let count = 3 * WINDOW_EVENTS as i64;
    let mut events = vec![job_write("first", (5, 5), 7)];
    events.extend((10..count).map(elsewhere));
    events.push(job_write("late", (3, 3), 6));
    let late = ordered(events).into_iter().filter(|event| event.arrival.late);
    assert_eq!(names(&late.collect::<Vec<_>>()), ["late"]);
}

#[test]
fn the_order_of_the_lines_of_a_small_log_changes_nothing() {
    let write =
        |second: i64| job_write(&second.to_string(), (second * WINDOW_MICROS, second * WINDOW_MICROS), 1);
    let shuffled = [5, 2, 9, 1].map(write).into_iter().map(|event| Event { version: None, ..event });
    let (before, after) = emitted_by(Sequencer::default(), shuffled.collect());
    assert_eq!((names(&before), names(&after)), (vec![], vec!["1", "2", "5", "9"]));
    assert!(after.iter().all(|event| !event.arrival.late));
}

/// A long log with few events at a time is held back by their number. That must not tear two writes apart.
#[test]
fn the_length_of_a_log_does_not_change_the_order() {
    let second = 1_000_000;
    for earlier in [0, 10, HELD_EVENTS as i64] {
        let plain = |number: i64| {
            let at = number * second;
            job_write(&number.to_string(), (at, at), u64::try_from(number + 1).unwrap() * 10)
        };
        let at = earlier * second;
        let version = u64::try_from(earlier + 1).unwrap() * 10;
        let later = job_write("later", (at, at + 10), version + 2);
        let first = job_write("first", (at, at + 90_000), version + 1);
        let mut events: Vec<Event> = (0..=earlier).map(plain).collect();
        events.extend([later, first]);
        events.extend((earlier + 1..earlier + 3 * HELD_EVENTS as i64).map(plain));
        let (mut all, after) = emitted_by(Sequencer::default(), events);
        assert!(all.len() > HELD_EVENTS / 2, "the window is not passed: {}", all.len());
        all.extend(after);
        assert!(all.is_sorted_by_key(|event| event.version), "{earlier}");
        assert!(all.iter().all(|event| !event.arrival.late));
    }
}

#[test]
fn a_mark_follows_everything_before_it() {
    let mark = request(Verb::Update, "mark", (0, 0), Body::Restart("job-controller".to_owned()));
    let events =
        vec![job_write("b", (0, 10), 7), job_write("a", (0, 20), 6), mark, job_write("old", (0, 5), 1)];
    assert_eq!(names(&ordered(events)), ["a", "b", "mark", "old"]);
}

#[test]
fn a_watch_event_follows_the_request_with_its_version() {
    let request = job_write("request", (0, 10), 6);
    assert_eq!(names(&ordered(vec![watched("watch", 6), request])), ["request", "watch"]);
}

#[test]
fn a_watch_looks_ahead_for_a_fixed_number_of_events() {
    let events =
        |count: u64| (1..=count).rev().map(|version| watched(&version.to_string(), version)).collect();
    assert_eq!(names(&emitted(events(HELD_EVENTS as u64)).0), [""; 0]);
    assert_eq!(names(&emitted(events(HELD_EVENTS as u64 + 1)).0), ["1"]);
}

#[test]
fn watch_events_wait_for_the_requests_that_precede_them() {
    // As many in a window as a controller with large Jobs sends, and more than a window holds.
    for count in [1_000, WINDOW_EVENTS as u64] {
        // The later one of two requests is answered first, and its watch event precedes the response of the other.
        let at = |number: u64| i64::try_from(number ^ 1).unwrap() * 1_000;
        let write = |version| job_write(&format!("request {version}"), (at(version), at(version)), version);
        let shown = |version| watched(&format!("watch {version}"), version);
        let pair = |one: u64| [write(one + 1), shown(one + 1), write(one), shown(one)];
        let events = (0..count).step_by(2).map(|it| it + 2).flat_map(pair).collect();
        let (mut before, after) = emitted_by(Sequencer::default(), events);
        before.extend(after);
        let expected =
            (2..count + 2).flat_map(|version| [format!("request {version}"), format!("watch {version}")]);
        let found: Vec<String> = before.iter().map(|event| event.name.to_string()).collect();
        let other = expected.zip(&found).find(|(expected, found)| expected != *found);
        assert_eq!(other, None, "{count}");
        assert!(before.iter().all(|event| !event.arrival.late), "{count}");
    }
}

#[test]
fn namespaces_are_ordered_independently() {
    // Another cluster, a day later, with lower versions.
    let day = 86_400_000_000;
    let elsewhere = |version: u64, done: i64| Event {
        namespace: "other".into(),
        ..job_write("elsewhere", (done, done), version)
    };
    let events = vec![
        elsewhere(1, day),
        job_write("b", (0, 10), 700),
        elsewhere(2, day + 1),
        job_write("a", (0, 20), 600),
    ];
    let (before, after) = emitted(events);
    assert_eq!(names(&before), [""; 0]);
    assert_eq!(names(&after), ["elsewhere", "elsewhere", "a", "b"]);
}

#[test]
fn a_full_window_emits_the_namespace_that_has_been_silent_for_longest() {
    let of = |namespace: &str, at: i64| Event {
        namespace: namespace.into(),
        ..job_write(namespace, (at, at), u64::try_from(at).unwrap())
    };
    let mut events = vec![of("idle", 1), of("idle", 2), of("busy", 3)];
    events.extend((4..).map(|at| of("new", at)).take(WINDOW_EVENTS - 3));
    events.push(of("busy", 100_000));
    let (before, after) = emitted(events);
    assert_eq!(names(&before), ["idle", "idle"]);
    assert_eq!(after.len(), WINDOW_EVENTS - 1);
}

/// The clock of another API server is behind, so that its write seems to come before the removal.
#[test]
fn a_removal_precedes_what_its_sender_asks_for_after_the_response() {
    let gone = Body::Pod(Box::new(PodEvent { gone: true, ..no_pod() }));
    let removal = Event { answered: Some(6), body: gone, ..pod_request(Verb::Patch, "removal", (20, 30)) };
    let elsewhere = Event { actor: None, ..job_write("elsewhere", (10, 18), 9) };
    let events = vec![elsewhere, removal, job_write("status", (31, 40), 8)];
    assert_eq!(names(&ordered(events)), ["removal", "status", "elsewhere"]);
}
