//! Recordings of known deviations of the built-in controller: every violation has its label. So it has in a watch, which
//! does not show the refusals that lead to the deviation.

use std::collections::BTreeSet;

use jobcheck_judge::validate::{Outcome, Summary};
use jobcheck_spec::Req;
use jobcheck_tests::traces::{broken, recording, validated_lines, violations};
use serde_json::{Value, json};

/// The labels of the audit log and of the watch; no violation may lack one.
fn labels(name: &str) -> [BTreeSet<Req>; 2] {
    ["audit", "watch"].map(|form| {
        let summary = validated_lines(&recording(&format!("{name}.{form}")));
        assert_eq!(summary.outcome(), Outcome::Violates, "{name}.{form}");
        assert!(violations(&summary).all(|it| it.known().is_some()), "{name}.{form}: {:?}", broken(&summary));
        violations(&summary).filter_map(|it| it.known()).collect()
    })
}

/// The label of each violation.
fn known(summary: &Summary) -> Vec<Option<Req>> {
    violations(summary).map(|it| it.known()).collect()
}

#[test]
fn a_refused_deletion_is_recognised_by_the_reported_ready_pods() {
    let [audit, watch] = labels("s03-lost-failjob");
    assert_eq!(audit, [Req::S03, Req::H3].into());
    assert_eq!(watch, audit);
}

#[test]
fn a_job_that_completes_without_a_success_and_a_pod_that_is_counted_twice_are_known() {
    for (recording, id) in [("s01-few-successes", Req::S01), ("s05-readopted", Req::S05)] {
        let [audit, watch] = labels(recording);
        assert_eq!(audit, [id].into());
        assert_eq!(watch, audit);
    }
}

/// The write is refused, which a watch does not show.
#[test]
fn more_ready_pods_than_active_ones_are_known() {
    let summary = validated_lines(&recording("s09-ready-active.audit"));
    assert_eq!(known(&summary), [Some(Req::S09)], "{:?}", broken(&summary));
    assert_eq!(validated_lines(&recording("s09-ready-active.watch")).outcome(), Outcome::Conforms);
}

#[test]
fn a_job_that_ends_while_it_is_suspended_is_known() {
    let [audit, watch] = labels("s04-limit-lowered");
    assert_eq!(watch, [Req::S04].into());
    assert!(watch.is_subset(&audit));
}

#[test]
fn a_repeated_interim_condition_is_known() {
    let [audit, watch] = labels("s12-false-interim");
    assert_eq!(audit, [Req::S12].into());
    assert_eq!(watch, audit);
}

/// Another message, and other numbers in a refused write, are not part of the deviation.
#[test]
fn a_write_that_is_wrong_in_another_way_has_no_label() {
    let unlabelled = |log: &[Value]| known(&validated_lines(log)).contains(&None);
    let mut log = recording("s12-false-interim.audit");
    assert!(!unlabelled(&log));
    let appended = log.iter_mut().filter_map(|line| {
        line.pointer_mut("/responseObject/status/conditions/2").filter(|it| it["type"] == "FailureTarget")
    });
    appended.for_each(|condition| condition["message"] = json!("another"));
    assert!(unlabelled(&log));
    let log = recording("s04-limit-lowered.audit");
    assert!(!unlabelled(&log));
    for counter in ["failed", "succeeded"] {
        let mut log = log.clone();
        let refused = log.iter_mut().filter(|line| line["responseStatus"]["code"] == 422);
        refused.for_each(|line| line["requestObject"]["status"][counter] = json!(7));
        assert!(unlabelled(&log), "{counter}");
    }
}

#[test]
fn a_pod_that_terminated_before_its_adoption_is_known() {
    // An ownerless pod, and its adoption. In between a kubelet reports the end of the pod.
    let mut log = recording("adoption.audit");
    log.truncate(4);
    let mut end = log[2].clone();
    log[2]["responseObject"]["metadata"]["resourceVersion"] = json!("1175");
    log[3]["responseObject"]["status"]["phase"] = json!("Succeeded");
    end["auditID"] = json!("the-end-of-the-pod");
    (end["verb"], end["responseStatus"]["code"]) = (json!("update"), json!(200));
    (end["objectRef"]["subresource"], end["user"]["username"]) =
        (json!("status"), json!("system:node:node-a"));
    end["responseObject"]["status"]["phase"] = json!("Succeeded");
    end["requestObject"] = end["responseObject"].clone();
    assert_eq!(validated_lines(&log).outcome(), Outcome::Conforms);
    log.insert(3, end);
    let summary = validated_lines(&log);
    assert_eq!(known(&summary), [Some(Req::S05)], "{:?}", broken(&summary));
}

#[test]
fn a_log_that_begins_in_mid_life_has_no_new_violation() {
    for name in ["s03-lost-failjob", "s04-limit-lowered", "s12-false-interim"] {
        for form in ["audit", "watch"] {
            let whole = recording(&format!("{name}.{form}"));
            for from in 1..whole.len() {
                let summary = validated_lines(&whole[from..]);
                assert!(
                    !known(&summary).contains(&None),
                    "{name}.{form} from {from}: {:?}",
                    broken(&summary)
                );
            }
        }
    }
}

/// S-05: a pod is counted, adopted, and recorded again. The earlier removal of its finalizer is no violation of its own
/// (`jobcheck fuzz --target builtin`, seed 1048).
#[test]
fn a_counted_pod_that_is_adopted_and_recorded_again_is_one_deviation() {
    let summary = validated_lines(&recording("s05-counted-again.native"));
    assert_eq!(known(&summary), [Some(Req::S05); 2], "{:?}", broken(&summary));
}

/// S-05: a user puts the finalizer back on a counted pod. The built-in controller counts it again, and nothing else is wrong.
#[test]
fn a_counted_pod_whose_finalizer_is_put_back_is_counted_again() {
    let summary = validated_lines(&recording("s05-put-back.audit"));
    assert_eq!(known(&summary), [Some(Req::S05)], "{:?}", broken(&summary));
}

/// S-05: a pod is counted and adopted, and not recorded again. Only the adoption is wrong.
#[test]
fn consequences_of_the_adoption_of_a_counted_pod_are_no_new_violations() {
    let summary = validated_lines(&recording("s05-adopted.native"));
    assert_eq!(known(&summary), [Some(Req::S05)], "{:?}", broken(&summary));
}
