//! What the model found on the built-in controller, in recordings of it (docs/findings/README.md): each deviation has its
//! label where the log shows its occasion, and nothing near it has.
#![expect(clippy::unwrap_used, reason = "a test that lacks its recordings may panic")]

use jobcheck_judge::validate::{Options, Outcome, Summary, Validator};
use jobcheck_spec::Req;
use jobcheck_spec::constants::Constants;
use jobcheck_tests::corpus::{Case, folder, make};
use jobcheck_traces::{Input, Reader};

fn judge(input: Input, constants: Constants) -> Summary {
    let mut reader = Reader::open(&[input]);
    let mut validator = Validator::new(Options { constants, ..Options::default() });
    while let Some(record) = reader.next().unwrap() {
        validator.feed(&record).unwrap();
    }
    validator.finish()
}

/// The requirements that a recording of `known/` breaks, and whether each has its label.
fn found(file: &str) -> Vec<(Req, bool)> {
    let summary = judge(Input::Path(folder().join("known").join(file)), Constants::V1_36);
    violations(&summary)
}

fn violations(summary: &Summary) -> Vec<(Req, bool)> {
    let all = summary.jobs.iter().flat_map(|job| &job.violations);
    all.map(|it| (it.req(), it.known().is_some())).collect()
}

#[test]
fn what_the_model_found_happens_on_the_built_in() {
    for (recording, id, times) in [
        ("j01-stale-active.audit.jsonl", Req::J01, 1),
        ("j02-full-lists.audit.jsonl.gz", Req::J02, 9),
        ("j03-counted-twice.audit.jsonl", Req::J03, 1),
        ("j03-lost-answer.audit.jsonl", Req::J03, 1),
        ("l2-one-batch.audit.jsonl", Req::S02, 3),
        ("s07-deletes-pods.audit.jsonl", Req::S07, 3),
        ("h1-counted.audit.jsonl", Req::H1, 2),
        ("j04-ignored-alive.audit.jsonl", Req::J04, 1),
        ("j05-counted-stray.audit.jsonl", Req::J05, 1),
        ("j07-heir.audit.jsonl", Req::J07, 1),
        ("s25-adopted.audit.jsonl", Req::S25, 1),
        ("j08-replaced-unseen.native.jsonl", Req::J08, 1),
        ("j08-replaced-retried.native.jsonl", Req::J08, 1),
        ("j10-held-namespace.audit.jsonl", Req::H2, 1),
        ("tc09-false-failed.native.jsonl", Req::TC09, 1),
    ] {
        assert_eq!(found(recording), vec![(id, true); times], "{recording}");
    }
}

/// A request of a dead process makes the pod, which is nobody's mistake, and looks like TC-07.
#[test]
fn a_pod_that_comes_too_late_keeps_its_finalizer() {
    let found = found("j06-late-pod.audit.jsonl");
    assert_eq!(found.last(), Some(&(Req::J06, true)));
    assert!(found.iter().all(|it| matches!(it, (Req::TC07, false) | (Req::J06, true))), "{found:?}");
}

/// What a status write would do waits for the next one while it is tried: nothing but the seven refusals is told.
#[test]
fn pods_are_not_owed_a_count_as_long_as_its_write_is_refused() {
    let found = found("s07-never-counted.native.jsonl");
    assert_eq!(found, [(Req::S07, true); 7]);
}

/// One refusal excuses nobody who does not try again.
#[test]
fn a_count_is_owed_by_who_gives_up_after_a_refusal() {
    let case = Case {
        requirement: String::new(),
        slug: String::new(),
        from: "s07-never-counted.native".to_owned(),
        edits: vec!["drop 18-23".to_owned()],
        known: None,
    };
    let input = Input::Bytes("trace".to_owned(), make(&case).unwrap().into_bytes());
    let told = violations(&judge(input, Constants::V1_36));
    assert_eq!(told[..2], [(Req::S07, true), (Req::FT02, false)], "{told:?}");
}

/// What a new list leads to is not told from other mistakes in an audit log, which shows none.
#[test]
fn what_a_new_list_leads_to_has_no_label_in_an_audit_log() {
    assert_eq!(found("j08-inherited-delay.audit.jsonl"), [(Req::BO06, false)]);
    assert_eq!(found("j09-deleted-unseen.audit.jsonl"), [(Req::PC04, false)]);
}

/// What the pods show by themselves needs no actor.
#[test]
fn a_watch_shows_whose_finalizer_goes_too_early() {
    for (recording, id) in [
        ("j04-ignored-alive.watch.jsonl", Req::J04),
        ("j05-counted-stray.watch.jsonl", Req::J05),
        ("s25-adopted.watch.jsonl", Req::S25),
    ] {
        assert_eq!(found(recording), [(id, true)], "{recording}");
    }
}

/// Without refusals and actors there is no evidence of the occasion: a number is wrong, or nothing is seen.
#[test]
fn a_watch_shows_what_they_do_and_not_why() {
    for (recording, id) in [
        ("j01-stale-active.watch.jsonl", None),
        ("j02-full-lists.watch.jsonl.gz", Some(Req::SC05)),
        ("j03-counted-twice.watch.jsonl", Some(Req::FT02)),
        ("j03-lost-answer.watch.jsonl", Some(Req::FT02)),
        ("l2-one-batch.watch.jsonl", None),
        ("s07-deletes-pods.watch.jsonl", None),
        ("h1-counted.watch.jsonl", None),
        ("j07-heir.watch.jsonl", None),
    ] {
        let found = found(recording);
        assert_eq!(found.first().copied(), id.map(|id| (id, false)), "{recording}");
        assert!(found.iter().all(|it| Some(it.0) == id), "{recording}: {found:?}");
    }
}

/// `nonindexed-success`, in which two pods are listed and a third ends later, judged with room for `cap` UIDs.
fn listed(cap: usize, edits: &[&str]) -> Summary {
    let case = Case {
        requirement: String::new(),
        slug: String::new(),
        from: "nonindexed-success.audit".to_owned(),
        edits: edits.iter().map(|edit| (*edit).to_owned()).collect(),
        known: None,
    };
    let input = Input::Bytes("trace".to_owned(), make(&case).unwrap().into_bytes());
    judge(input, Constants { max_uncounted_pods: cap, ..Constants::V1_36 })
}

const FIRST: &str = "0f09f2e6-5ad7-4270-9410-dec71a24a097";
const SECOND: &str = "970ed955-a37f-44d3-a8aa-d2c7a68204c8";
const THIRD: &str = "717fc3aa-a64a-4bf1-9f4b-7dd46b88a263";

fn lists(line: u32, uids: &[&str]) -> String {
    format!("set {line} /responseObject/status/uncountedTerminatedPods {{\"succeeded\":{uids:?}}}")
        .replace("\", ", "\",")
}

const REFUSED: [&str; 2] = ["refuse 11 422 denied by a policy", "refuse 12 422 denied by a policy"];
/// What follows the write that would have counted them.
const NOT_COUNTED: [&str; 4] = [
    "drop 13",
    "set 16 /requestObject/metadata/resourceVersion \"257\"",
    "unset 16 /responseObject/status/succeeded",
    "drop 17-",
];

#[test]
fn full_lists_that_grow_are_known_by_the_refused_removals() {
    let all = lists(16, &[FIRST, SECOND, THIRD]);
    let edits = [&REFUSED[..], &NOT_COUNTED, &[&*all]].concat();
    assert_eq!(violations(&listed(2, &edits)), [(Req::J02, true)]);
    assert_eq!(listed(3, &edits).outcome(), Outcome::Conforms);
}

#[test]
fn longer_lists_for_any_other_reason_are_not_known() {
    let first = |summary: &Summary| violations(summary).first().copied();
    // The lists had room for one, and two were added.
    assert_eq!(first(&listed(1, &[])), Some((Req::SC05, false)));
    // The lists were full, removals were refused, and two were added.
    let one = lists(10, &[FIRST]);
    let all = lists(16, &[FIRST, SECOND, THIRD]);
    let two = [&[&*one, REFUSED[1], "drop 11"], &NOT_COUNTED[..], &[&*all]].concat();
    assert_eq!(first(&listed(1, &two)), Some((Req::SC05, false)));
    // The lists were full, and no removal was tried.
    let idle = [&["drop 11", "drop 12"], &NOT_COUNTED[..], &[&*all]].concat();
    assert_eq!(first(&listed(2, &idle)), Some((Req::SC05, false)));
}
