//! Recordings in which the built-in controller departs from the specification: every departure has its label, in
//! the watch as well, where the refusals that lead to it are not shown.

use std::collections::BTreeSet;

use jobcheck_judge::validate::Outcome;
use jobcheck_spec::Req;
use serde_json::json;

use crate::gaps::{broken, judge, lines};

/// Judges both forms; returns the labels that they show.
fn labels(recording: &str) -> [BTreeSet<Req>; 2] {
    ["audit", "watch"].map(|form| {
        let summary = judge(&lines(&format!("{recording}.{form}")));
        let violations = || summary.jobs.iter().flat_map(|job| &job.violations);
        assert_eq!(summary.outcome(), Outcome::Violates, "{recording}.{form}");
        assert!(violations().all(|it| it.known().is_some()), "{recording}.{form}: {:?}", broken(&summary));
        violations().filter_map(|it| it.known()).collect()
    })
}

#[test]
fn a_refused_deletion_is_told_by_what_is_reported_ready() {
    let [audit, watch] = labels("s03-lost-failjob");
    assert_eq!(audit, [Req::S03, Req::H3].into());
    assert_eq!(watch, audit);
}

#[test]
fn a_job_that_is_complete_without_a_success_is_known_and_so_is_a_pod_that_counts_twice() {
    for (recording, id) in [("s01-few-successes", Req::S01), ("s05-readopted", Req::S05)] {
        let [audit, watch] = labels(recording);
        assert_eq!(audit, [id].into());
        assert_eq!(watch, audit);
    }
}

/// The write is refused, which a watch does not show.
#[test]
fn more_ready_pods_than_active_ones_are_known() {
    let summary = judge(&lines("s09-ready-active.audit"));
    let known = summary.jobs.iter().flat_map(|job| &job.violations).map(|it| it.known());
    assert_eq!(known.collect::<Vec<_>>(), [Some(Req::S09)], "{:?}", broken(&summary));
    assert_eq!(judge(&lines("s09-ready-active.watch")).outcome(), Outcome::Conforms);
}

#[test]
fn a_later_write_of_a_suspended_end_is_no_new_violation() {
    let [audit, watch] = labels("s04-limit-lowered");
    assert_eq!(watch, [Req::S04].into());
    assert!(watch.is_subset(&audit));
}

#[test]
fn the_terminal_condition_repeats_the_interim_one_that_is_true() {
    let [audit, watch] = labels("s12-false-interim");
    assert_eq!(audit, [Req::S12].into());
    assert_eq!(watch, audit);
}

/// Neither what is said otherwise, nor other numbers in a write that is refused, are that deviation.
#[test]
fn a_write_that_is_wrong_in_another_way_has_no_label() {
    let unlabelled = |log: &[serde_json::Value]| {
        let summary = judge(log);
        summary.jobs.iter().flat_map(|job| &job.violations).any(|it| it.known().is_none())
    };
    let mut log = lines("s12-false-interim.audit");
    assert!(!unlabelled(&log));
    let appended = log.iter_mut().filter_map(|line| {
        line.pointer_mut("/responseObject/status/conditions/2").filter(|it| it["type"] == "FailureTarget")
    });
    appended.for_each(|condition| condition["message"] = json!("another"));
    assert!(unlabelled(&log));
    let log = lines("s04-limit-lowered.audit");
    assert!(!unlabelled(&log));
    for counter in ["failed", "succeeded"] {
        let mut log = log.clone();
        let refused = log.iter_mut().filter(|line| line["responseStatus"]["code"] == 422);
        refused.for_each(|line| line["requestObject"]["status"][counter] = json!(7));
        assert!(unlabelled(&log), "{counter}");
    }
}

#[test]
fn a_stray_that_ended_before_it_was_adopted_is_known_to_have_ended() {
    // A pod without an owner, and its adoption; in between a kubelet tells of its end.
    let mut log = lines("adoption.audit");
    log.truncate(4);
    let mut end = log[2].clone();
    log[2]["responseObject"]["metadata"]["resourceVersion"] = json!("1175");
    log[3]["responseObject"]["status"]["phase"] = json!("Succeeded");
    end["auditID"] = json!("the-end-of-the-stray");
    (end["verb"], end["responseStatus"]["code"]) = (json!("update"), json!(200));
    (end["objectRef"]["subresource"], end["user"]["username"]) =
        (json!("status"), json!("system:node:node-a"));
    end["responseObject"]["status"]["phase"] = json!("Succeeded");
    end["requestObject"] = end["responseObject"].clone();
    assert_eq!(judge(&log).outcome(), Outcome::Conforms);
    log.insert(3, end);
    let summary = judge(&log);
    let known: Vec<_> = summary.jobs.iter().flat_map(|job| &job.violations).map(|it| it.known()).collect();
    assert_eq!(known, [Some(Req::S05)], "{:?}", broken(&summary));
}

#[test]
fn a_log_from_mid_life_on_is_not_judged_by_what_came_before() {
    for recording in ["s03-lost-failjob", "s04-limit-lowered", "s12-false-interim"] {
        for form in ["audit", "watch"] {
            let whole = lines(&format!("{recording}.{form}"));
            for from in 1..whole.len() {
                let summary = judge(&whole[from..]);
                let mut violations = summary.jobs.iter().flat_map(|job| &job.violations);
                assert!(
                    violations.all(|it| it.known().is_some()),
                    "{recording}.{form} from {from}: {:?}",
                    broken(&summary)
                );
            }
        }
    }
}

/// S-05: a pod that was counted, adopted, and listed again. That it had been released before is no violation of its own
/// (found by `jobcheck fuzz --target builtin`, seed 1048).
#[test]
fn a_counted_pod_that_is_adopted_and_listed_again_is_one_deviation() {
    let summary = judge(&lines("s05-counted-again.native"));
    let known = summary.jobs.iter().flat_map(|job| &job.violations).map(|it| it.known());
    assert_eq!(known.collect::<Vec<_>>(), [Some(Req::S05); 2], "{:?}", broken(&summary));
}

/// S-05: a pod that was counted, adopted, and is not listed again; the adoption alone is wrong, and what it leads to.
#[test]
fn what_follows_the_adoption_of_a_counted_pod_is_no_new_violation() {
    let summary = judge(&lines("s05-adopted.native"));
    let known = summary.jobs.iter().flat_map(|job| &job.violations).map(|it| it.known());
    assert_eq!(known.collect::<Vec<_>>(), [Some(Req::S05)], "{:?}", broken(&summary));
}
