use std::sync::Arc;

use super::super::effect::{spec_updated, status_updated};
use super::super::fixtures::{decide, edit, indexed, job};
use super::*;
use crate::job::{JobMetadata, PodFailurePolicy, PodReplacementPolicy, SuccessPolicy, SuccessRule};
use crate::time::Time;

const RULES: RuleSet = RuleSet::V1_36;

fn broken_under(rules: &RuleSet, old: &Job, change: impl FnOnce(&mut JobSpec)) -> Vec<Req> {
    let mut sent = old.clone();
    edit(&mut sent, change);
    let new = spec_updated(rules, old, &sent);
    let mut findings = Findings::new();
    validate_spec_update(rules, old, &new, &mut findings);
    let broken: Vec<Req> = findings.broken.iter().map(|broken| broken.req).collect();
    assert_eq!(would_refuse_spec(rules, old, &new).map(|broken| broken.req), broken.first().copied());
    broken
}

fn broken(old: &Job, change: impl FnOnce(&mut JobSpec)) -> Vec<Req> {
    broken_under(&RULES, old, change)
}

fn suspended() -> Job {
    let mut job = job();
    edit(&mut job, |spec| spec.suspend = Some(true));
    job
}

#[test]
fn sp08_selector_mode_and_policies_are_immutable() {
    assert_eq!(broken(&job(), |spec| spec.suspend = Some(true)), []);
    let policy =
        SuccessPolicy { rules: vec![SuccessRule { succeeded_count: Some(1), succeeded_indexes: None }] };
    assert_eq!(broken(&indexed(), |spec| spec.success_policy = Some(policy)), [Req::SP08]);
    let failing = |spec: &mut JobSpec| {
        spec.pod_failure_policy = Some(PodFailurePolicy::default());
        spec.pod_replacement_policy = Some(PodReplacementPolicy::Failed);
    };
    assert_eq!(broken(&job(), failing), [Req::SP08]);
    let selecting = |spec: &mut JobSpec| {
        let label = (JOB_NAME_LABEL.into(), "pi".into());
        spec.selector.match_labels.push(label);
    };
    assert_eq!(broken(&job(), selecting), [Req::SP08]);
}

/// RP-01, SP-10: the policy of a Job with a pod failure policy cannot become TerminatingOrFailed.
#[test]
fn rp01_and_sp10_an_update_satisfies_the_rules_of_the_policy_too() {
    let mut old = job();
    edit(&mut old, |spec| {
        spec.pod_failure_policy = Some(PodFailurePolicy::default());
        spec.pod_replacement_policy = Some(PodReplacementPolicy::Failed);
    });
    let eager = |spec: &mut JobSpec| {
        spec.pod_replacement_policy = Some(PodReplacementPolicy::TerminatingOrFailed);
    };
    assert_eq!(broken(&old, eager), [Req::RP01, Req::SP10]);
    assert_eq!(broken(&job(), eager), []);
}

/// UG-08, UG-13: without their gates, fields stay where they are set, and a manager stays immutable.
#[test]
fn ug08_and_ug13_fields_stay_where_they_are_set_without_their_gates() {
    let off = RuleSet { backoff_limit_per_index: false, job_managed_by: false, ..RULES };
    let set = |spec: &mut JobSpec| {
        (spec.backoff_limit_per_index, spec.max_failed_indexes) = (Some(1), Some(1));
        spec.managed_by = Some("example.com/one".into());
    };
    let mut old = indexed();
    edit(&mut old, set);
    let kept = spec_updated(&off, &old, &old);
    assert_eq!(kept.spec, old.spec);
    let mut without = indexed();
    edit(&mut without, |spec| (spec.backoff_limit_per_index, spec.max_failed_indexes) = (None, None));
    let mut sent = without.clone();
    edit(&mut sent, set);
    let dropped = spec_updated(&off, &without, &sent);
    assert_eq!((dropped.spec.backoff_limit_per_index, dropped.spec.max_failed_indexes), (None, None));
    let other = broken_under(&off, &old, |spec| spec.managed_by = Some("example.com/two".into()));
    assert_eq!(other, [Req::MB01]);
}

#[test]
fn sp09_numbers_stay_mutable_after_the_end() {
    let mut old = job();
    decide(&mut old, &[ConditionKind::SuccessCriteriaMet, ConditionKind::Complete]);
    let change = |spec: &mut JobSpec| {
        (spec.parallelism, spec.backoff_limit, spec.ttl_seconds_after_finished) = (Some(0), Some(0), Some(9));
        spec.pod_replacement_policy = Some(PodReplacementPolicy::Failed);
    };
    assert_eq!(broken(&old, change), []);
    let mut findings = Findings::new();
    let mut sent = old.clone();
    edit(&mut sent, change);
    validate_spec_update(&RULES, &old, &spec_updated(&RULES, &old, &sent), &mut findings);
    assert!(findings.premises().any(|req| req == Req::SP09));
}

#[test]
fn sp10_scaling_below_a_success_policy_index_is_refused() {
    let mut old = indexed();
    let rule = SuccessRule { succeeded_indexes: Some("0-8".into()), succeeded_count: None };
    edit(&mut old, |spec| spec.success_policy = Some(SuccessPolicy { rules: vec![rule] }));
    let scale =
        |to: i32| move |spec: &mut JobSpec| (spec.completions, spec.parallelism) = (Some(to), Some(to));
    assert_eq!(broken(&old, scale(9)), []);
    assert_eq!(broken(&old, scale(8)), [Req::SP07, Req::SP10]);
}

#[test]
fn sp11_generation_counts_specifications() {
    let (old, mut new) = (job(), job());
    let mut findings = Findings::new();
    new.generation = 2;
    validate_spec_update(&RULES, &old, &new, &mut findings);
    assert_eq!(findings.broken[0].req, Req::SP11);
    findings.clear();
    edit(&mut new, |spec| spec.suspend = Some(true));
    validate_spec_update(&RULES, &old, &new, &mut findings);
    assert!(findings.is_clean());
    new.generation = 1;
    validate_spec_update(&RULES, &old, &new, &mut findings);
    assert_eq!(findings.broken[0].req, Req::SP11);
}

#[test]
fn sp11_mark_of_deletion_counts_too() {
    let (old, mut new) = (job(), job());
    (new.generation, new.deleting) = (2, true);
    let mut findings = Findings::new();
    validate_spec_update(&RULES, &old, &new, &mut findings);
    assert!(findings.is_clean());
}

#[test]
fn sp11_newer_specification_may_differ_where_the_model_does_not_look() {
    let (old, mut new) = (job(), job());
    new.generation = 2;
    let mut findings = Findings::new();
    validate_spec_update(&RuleSet::V1_37, &old, &new, &mut findings);
    assert!(findings.is_clean());
}

#[test]
fn ss32_main_resource_keeps_the_stored_status() {
    let (old, mut new) = (job(), job());
    new.status.active = 1;
    let mut findings = Findings::new();
    validate_spec_update(&RULES, &old, &new, &mut findings);
    assert_eq!(findings.broken[0].req, Req::SS32);
    assert_eq!(spec_updated(&RULES, &old, &new), old);
    assert_eq!(would_refuse_spec(&RULES, &old, &new), None);
}

#[test]
fn mb12_status_write_takes_metadata_but_no_specification() {
    let (old, mut sent) = (job(), suspended());
    let labels = vec![("team".into(), 7)];
    sent.metadata = Arc::new(JobMetadata { labels, ..JobMetadata::default() });
    sent.status.active = 1;
    let new = status_updated(&old, &sent);
    assert_eq!((new.metadata, new.status.active, new.spec), (sent.metadata, 1, old.spec));
}

#[test]
fn pc22_completions_change_only_with_parallelism_of_an_indexed_job() {
    assert_eq!(broken(&indexed(), |spec| (spec.completions, spec.parallelism) = (Some(4), Some(4))), []);
    assert_eq!(broken(&indexed(), |spec| spec.completions = Some(3)), []);
    assert_eq!(broken(&indexed(), |spec| spec.completions = Some(4)), [Req::PC22]);
    let both = |spec: &mut JobSpec| (spec.completions, spec.parallelism) = (Some(2), Some(2));
    assert_eq!(broken(&job(), both), [Req::PC22]);
}

#[test]
fn mb01_and_bi12_manager_and_limit_per_index_are_immutable() {
    assert_eq!(broken(&job(), |spec| spec.managed_by = Some("acme.io/x".into())), [Req::MB01]);
    assert_eq!(broken(&indexed(), |spec| spec.backoff_limit_per_index = Some(2)), [Req::BI12]);
    assert_eq!(broken(&indexed(), |spec| spec.max_failed_indexes = Some(2)), []);
}

/// Changes the template in one of its parts.
fn part(number: u32) -> impl Fn(&mut JobSpec) {
    move |spec| {
        let template = &mut spec.template;
        template.digest = 1;
        let digests = [
            &mut template.directives_digest,
            &mut template.resources_digest,
            &mut template.metadata_digest,
            &mut template.labels_digest,
            &mut template.fixed_digest,
        ];
        for (position, digest) in digests.into_iter().enumerate() {
            *digest = u64::from(position == number as usize);
        }
    }
}

#[test]
fn su12_template_is_immutable_while_the_job_is_not_suspended_and_idle() {
    let mut running = suspended();
    (running.status.start_time, running.status.active) = (Some(Time(1)), 1);
    let mut not_yet = running.clone();
    not_yet.status.active = 0;
    for old in [job(), running, not_yet] {
        for number in 0..5 {
            assert_eq!(broken(&old, part(number)), [Req::SU12]);
        }
    }
}

#[test]
fn su12_suspended_job_may_change_all_but_the_fixed_part() {
    let mut had_started = suspended();
    had_started.status.start_time = Some(Time(1));
    decide(&mut had_started, &[ConditionKind::Suspended]);
    for old in [suspended(), had_started] {
        for number in 0..4 {
            assert_eq!(broken(&old, part(number)), []);
        }
        assert_eq!(broken(&old, part(4)), [Req::SU12]);
        let resume = |spec: &mut JobSpec| {
            part(0)(spec);
            spec.suspend = Some(false);
        };
        assert_eq!(broken(&old, resume), []);
    }
}

#[test]
fn su13_metadata_is_mutable_only_with_the_gate_for_resources() {
    let old = suspended();
    let mut sent = old.clone();
    edit(&mut sent, part(2));
    let new = spec_updated(&RULES, &old, &sent);
    let mut findings = Findings::new();
    validate_spec_update(&RULES, &old, &new, &mut findings);
    assert!(findings.is_clean() && findings.premises().any(|req| req == Req::SU13));
    assert_eq!(broken_under(&RuleSet::V1_35, &old, part(2)), [Req::SU12]);
    assert_eq!(broken_under(&RuleSet::V1_35, &old, part(1)), [Req::SU12]);
    assert_eq!(broken_under(&RuleSet::V1_35, &old, part(0)), []);
}

#[test]
fn su12_first_versions_of_the_gates_waited_for_the_condition() {
    let rules = RuleSet { mutable_before_suspended_condition: false, ..RULES };
    let mut old = suspended();
    assert_eq!(broken_under(&rules, &old, part(0)), [Req::SU12]);
    decide(&mut old, &[ConditionKind::Suspended]);
    assert_eq!(broken_under(&rules, &old, part(0)), []);
}

#[test]
fn pc15_old_job_need_not_get_the_prefixed_labels() {
    let mut old = suspended();
    edit(&mut old, |spec| {
        spec.template.labels.retain(|(key, _)| **key != *JOB_NAME_LABEL && **key != *CONTROLLER_UID_LABEL);
        spec.selector.match_labels = vec![("job-name".into(), "pi".into())];
    });
    assert_eq!(broken(&old, |spec| spec.suspend = Some(false)), []);
    assert_eq!(broken(&suspended(), |spec| spec.template.labels.clear()), [Req::PC15, Req::SP10]);
}

/// From 1.37 on, an update is checked for what it changes. The selector still selects the template.
#[test]
fn pc15_generated_labels_are_checked_again_until_1_36() {
    let under = |rules: RuleSet, old: &Job, change: fn(&mut JobSpec)| broken_under(&rules, old, change);
    let without_name =
        |spec: &mut JobSpec| spec.template.labels.retain(|(key, _)| !key.ends_with("job-name"));
    let (is_refused, is_accepted) = (vec![Req::PC15, Req::SP10], vec![]);
    assert_eq!(under(RuleSet::V1_36, &suspended(), without_name), is_refused);
    assert_eq!(under(RuleSet::V1_37, &suspended(), without_name), is_accepted);
    for rules in [RuleSet::V1_36, RuleSet::V1_37] {
        assert_eq!(under(rules, &suspended(), |spec| spec.template.labels.clear()), is_refused);
    }
    let mut manual = suspended();
    manual.name = "n".repeat(64).into();
    edit(&mut manual, |spec| spec.manual_selector = Some(true));
    let generated = |spec: &mut JobSpec| spec.manual_selector = Some(false);
    assert_eq!(under(RuleSet::V1_36, &manual, generated), [Req::SP05, Req::PC15, Req::SP10]);
    assert_eq!(under(RuleSet::V1_37, &manual, generated), is_accepted);
}

#[test]
fn ug04_replacement_policy_is_dropped_where_it_was_not() {
    let rules = RuleSet { pod_replacement_policy: false, ..RULES };
    let mut old = job();
    assert_eq!(broken_under(&rules, &old, |_| {}), []);
    edit(&mut old, |spec| spec.pod_replacement_policy = None);
    let mut findings = Findings::new();
    let mut new = job();
    new.generation = 2;
    validate_spec_update(&rules, &old, &new, &mut findings);
    assert_eq!(findings.broken[0].req, Req::UG04);
    assert_eq!(spec_updated(&rules, &old, &new), old);
}
