//! Recordings of deviations that the model found (`docs/findings/README.md`). Each deviation has its label if the log
//! shows its occasion, and no near miss has one.

use jobcheck_judge::validate::{Options, Outcome, Summary};
use jobcheck_spec::Req;
use jobcheck_spec::constants::Constants;
use jobcheck_tests::corpus::folder;
use jobcheck_tests::traces::{edited, input, validated, violations};
use jobcheck_traces::Input;

fn judge(input: Input, constants: Constants) -> Summary {
    validated(&[input], Options { constants, ..Options::default() })
}

/// The requirements that a recording of `known/` breaks, each with `true` if it has its label.
fn found(file: &str) -> Vec<(Req, bool)> {
    labelled(&judge(Input::Path(folder().join("known").join(file)), Constants::V1_36))
}

fn labelled(summary: &Summary) -> Vec<(Req, bool)> {
    violations(summary).map(|it| (it.req(), it.known().is_some())).collect()
}

#[test]
fn deviations_that_the_model_found_occur_on_the_built_in_controller() {
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
        ("ft22-refused-once.native.jsonl", Req::FT22, 1),
    ] {
        assert_eq!(found(recording), vec![(id, true); times], "{recording}");
    }
}

/// A delayed request of a terminated process creates the pod. This is no mistake of any process, but looks like TC-07.
#[test]
fn a_pod_of_a_delayed_creation_keeps_its_finalizer() {
    let found = found("j06-late-pod.audit.jsonl");
    assert_eq!(found.last(), Some(&(Req::J06, true)));
    assert!(found.iter().all(|it| matches!(it, (Req::TC07, false) | (Req::J06, true))), "{found:?}");
}

/// The obligation to count waits while the status write is retried, so only the seven refusals are reported.
#[test]
fn an_obligation_to_count_is_not_overdue_while_its_write_is_refused() {
    let found = found("s07-never-counted.native.jsonl");
    assert_eq!(found, [(Req::S07, true); 7]);
}

/// One refusal excuses no controller that does not retry.
#[test]
fn an_obligation_to_count_is_overdue_if_its_write_is_not_retried() {
    let trace = input("trace", &edited("s07-never-counted.native", &["drop 18-23"]));
    let found = labelled(&judge(trace, Constants::V1_36));
    assert_eq!(found[..2], [(Req::S07, true), (Req::FT02, false)], "{found:?}");
}

/// An audit log shows no lists, so these deviations look like any other mistake.
#[test]
fn deviations_after_a_relist_have_no_label_in_an_audit_log() {
    assert_eq!(found("j08-inherited-delay.audit.jsonl"), [(Req::BO06, false)]);
    assert_eq!(found("j09-deleted-unseen.audit.jsonl"), [(Req::PC04, false)]);
}

/// The pods alone show these deviations, without an actor.
#[test]
fn a_watch_shows_which_finalizer_is_removed_too_early() {
    for (recording, id) in [
        ("j04-ignored-alive.watch.jsonl", Req::J04),
        ("j05-counted-stray.watch.jsonl", Req::J05),
        ("s25-adopted.watch.jsonl", Req::S25),
    ] {
        assert_eq!(found(recording), [(id, true)], "{recording}");
    }
}

/// Without refusals and actors the occasion is not visible: a number is wrong, or nothing is.
#[test]
fn a_watch_shows_other_deviations_without_a_label() {
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

/// `nonindexed-success`, in which two pods are recorded and a third terminates later, judged with room for `cap` UIDs.
fn recorded(cap: usize, edits: &[&str]) -> Summary {
    let trace = input("trace", &edited("nonindexed-success.audit", edits));
    judge(trace, Constants { max_uncounted_pods: cap, ..Constants::V1_36 })
}

const FIRST: &str = "0f09f2e6-5ad7-4270-9410-dec71a24a097";
const SECOND: &str = "970ed955-a37f-44d3-a8aa-d2c7a68204c8";
const THIRD: &str = "717fc3aa-a64a-4bf1-9f4b-7dd46b88a263";

fn lists(line: u32, uids: &[&str]) -> String {
    format!("set {line} /responseObject/status/uncountedTerminatedPods {{\"succeeded\":{uids:?}}}")
        .replace("\", ", "\",")
}

const REFUSED: [&str; 2] = ["refuse 11 422 denied by a policy", "refuse 12 422 denied by a policy"];
/// Without the write that would have counted them, and without its consequences.
const NOT_COUNTED: [&str; 4] = [
    "drop 13",
    "set 16 /requestObject/metadata/resourceVersion \"257\"",
    "unset 16 /responseObject/status/succeeded",
    "drop 17-",
];

#[test]
fn full_lists_that_grow_are_known_after_refused_removals() {
    let all = lists(16, &[FIRST, SECOND, THIRD]);
    let edits = [&REFUSED[..], &NOT_COUNTED, &[&*all]].concat();
    assert_eq!(labelled(&recorded(2, &edits)), [(Req::J02, true)]);
    // The refused removals are left undone.
    assert_eq!(recorded(3, &edits).outcome(), Outcome::Inconclusive);
}

#[test]
fn longer_lists_for_any_other_reason_are_not_known() {
    let first = |summary: &Summary| labelled(summary).first().copied();
    // The lists had room for one pod, and two were added.
    assert_eq!(first(&recorded(1, &[])), Some((Req::SC05, false)));
    // The lists were full, removals were refused, and two pods were added.
    let one = lists(10, &[FIRST]);
    let all = lists(16, &[FIRST, SECOND, THIRD]);
    let two = [&[&*one, REFUSED[1], "drop 11"], &NOT_COUNTED[..], &[&*all]].concat();
    assert_eq!(first(&recorded(1, &two)), Some((Req::SC05, false)));
    // The lists were full, and no removal was attempted.
    let idle = [&["drop 11", "drop 12"], &NOT_COUNTED[..], &[&*all]].concat();
    assert_eq!(first(&recorded(2, &idle)), Some((Req::SC05, false)));
}
