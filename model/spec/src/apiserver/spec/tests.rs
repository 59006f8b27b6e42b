use super::super::create::{validate_create, would_refuse_create};
use super::super::effect::created;
use super::super::fixtures::{edit, indexed, job};
use super::super::rules::RuleSet;
use super::*;
use crate::job::{
    ConditionPattern, FailureAction, OnExitCodes, PodFailurePolicy, PodFailureRule, SuccessPolicy,
    SuccessRule,
};
use crate::requirement::Findings;

const RULES: RuleSet = RuleSet::V1_36;

fn broken(job: &Job) -> Vec<Req> {
    let mut findings = Findings::new();
    validate_create(&RULES, job, &mut findings);
    findings.broken.iter().map(|broken| broken.req).collect()
}

fn accepts(mut job: Job, change: impl FnOnce(&mut JobSpec)) {
    edit(&mut job, change);
    assert_eq!(broken(&job), []);
    assert_eq!(would_refuse_create(&job), None);
}

fn refuses(req: Req, mut job: Job, change: impl FnOnce(&mut JobSpec)) {
    edit(&mut job, change);
    assert_eq!(broken(&job), [req]);
    assert_eq!(would_refuse_create(&job).map(|broken| broken.req), Some(req));
}

#[test]
fn sp01_bo14_rp01_created_job_has_its_defaults() {
    accepts(job(), |_| {});
    accepts(indexed(), |_| {});
    for (req, forget) in [
        (Req::SP01, (|spec| spec.suspend = None) as fn(&mut JobSpec)),
        (Req::SP01, |spec| spec.parallelism = None),
        (Req::BO14, |spec| spec.backoff_limit = None),
        (Req::RP01, |spec| spec.pod_replacement_policy = None),
    ] {
        let mut job = job();
        edit(&mut job, forget);
        assert_eq!(broken(&job), [req]);
        assert_eq!(would_refuse_create(&job), None, "the server sets {req} itself");
    }
}

#[test]
fn sp02_numbers_may_be_zero_but_not_negative() {
    accepts(job(), |spec| (spec.active_deadline_seconds, spec.parallelism) = (Some(0), Some(0)));
    refuses(Req::SP02, job(), |spec| spec.active_deadline_seconds = Some(-1));
    refuses(Req::SP02, indexed(), |spec| spec.max_failed_indexes = Some(-1));
}

#[test]
fn sp03_indexed_job_needs_completions_and_bounded_parallelism() {
    accepts(indexed(), |spec| spec.parallelism = Some(100_000));
    refuses(Req::SP03, indexed(), |spec| spec.parallelism = Some(100_001));
    refuses(Req::SP03, indexed(), |spec| spec.completions = None);
    refuses(Req::SP03, job(), |spec| spec.completion_mode = Some(CompletionMode::Unknown));
}

#[test]
fn sp03_and_sp05_name_leaves_room_for_indexes_and_labels() {
    let named = |length: usize, like: Job| {
        let mut sent = Job { name: "a".repeat(length).into(), ..like };
        edit(&mut sent, |spec| {
            spec.template.labels.clear();
            spec.selector.match_labels.clear();
        });
        created(&RULES, &sent)
    };
    accepts(named(61, indexed()), |_| {});
    refuses(Req::SP03, named(62, indexed()), |_| {});
    accepts(named(63, job()), |_| {});
    refuses(Req::SP05, named(64, job()), |_| {});
    accepts(named(64, job()), |spec| spec.manual_selector = Some(true));
}

#[test]
fn sp04_pods_are_not_always_restarted() {
    accepts(job(), |spec| spec.template.restart_policy = RestartPolicy::OnFailure);
    refuses(Req::SP04, job(), |spec| spec.template.restart_policy = RestartPolicy::Always);
    refuses(Req::SP04, job(), |spec| {
        *spec = with_failure_rule(spec, exit_rule(&[1]));
        spec.template.restart_policy = RestartPolicy::OnFailure;
    });
}

fn with_failure_rule(spec: &JobSpec, rule: PodFailureRule) -> JobSpec {
    JobSpec {
        pod_failure_policy: Some(PodFailurePolicy { rules: vec![rule] }),
        pod_replacement_policy: Some(PodReplacementPolicy::Failed),
        ..spec.clone()
    }
}

fn exit_rule(values: &[i32]) -> PodFailureRule {
    PodFailureRule {
        action: FailureAction::FailJob,
        on_exit_codes: Some(OnExitCodes { container_name: None, is_in: Some(true), values: values.to_vec() }),
        on_pod_conditions: vec![],
    }
}

#[test]
fn sp06_pod_failure_rule_says_one_valid_thing() {
    let condition = |kind: &str, status: &str| PodFailureRule {
        on_exit_codes: None,
        on_pod_conditions: vec![ConditionPattern { kind: kind.into(), status: status.into() }],
        ..exit_rule(&[])
    };
    for good in [exit_rule(&[1, 3]), condition("DisruptionTarget", "True")] {
        accepts(job(), |spec| *spec = with_failure_rule(spec, good));
    }
    let both = PodFailureRule { on_exit_codes: exit_rule(&[1]).on_exit_codes, ..condition("Ready", "True") };
    let neither = PodFailureRule { on_exit_codes: None, ..exit_rule(&[]) };
    let fail_index = PodFailureRule { action: FailureAction::FailIndex, ..exit_rule(&[1]) };
    for bad in [
        exit_rule(&[]),
        exit_rule(&[0]),
        exit_rule(&[2, 1]),
        exit_rule(&[1, 1]),
        condition("-", "True"),
        condition("Ready", "Maybe"),
        both,
        neither,
        fail_index.clone(),
    ] {
        refuses(Req::SP06, job(), |spec| *spec = with_failure_rule(spec, bad));
    }
    accepts(indexed(), |spec| *spec = with_failure_rule(spec, fail_index));
}

#[test]
fn sp06_containers_of_a_rule_exist_and_rules_are_few() {
    let of = |container: &str| {
        let mut rule = exit_rule(&[1]);
        rule.on_exit_codes =
            rule.on_exit_codes.map(|codes| OnExitCodes { container_name: Some(container.into()), ..codes });
        rule
    };
    accepts(job(), |spec| *spec = with_failure_rule(spec, of("main")));
    refuses(Req::SP06, job(), |spec| *spec = with_failure_rule(spec, of("other")));
    let many = |count: usize| {
        move |spec: &mut JobSpec| {
            *spec = with_failure_rule(spec, exit_rule(&[1]));
            spec.pod_failure_policy = Some(PodFailurePolicy { rules: vec![exit_rule(&[1]); count] });
        }
    };
    accepts(job(), many(0));
    accepts(job(), many(20));
    refuses(Req::SP06, job(), many(21));
}

#[test]
fn sp07_success_rule_names_indexes_or_a_count_within_completions() {
    let policy = |text: Option<&str>, count: Option<i32>| {
        let rule = SuccessRule { succeeded_indexes: text.map(Text::from), succeeded_count: count };
        move |spec: &mut JobSpec| spec.success_policy = Some(SuccessPolicy { rules: vec![rule] })
    };
    for (text, count) in [(Some("0,2-4"), Some(4)), (Some(""), None), (None, Some(10)), (Some("9"), Some(0))]
    {
        accepts(indexed(), policy(text, count));
    }
    for (text, count) in [
        (None, None),
        (Some("10"), None),
        (Some("2,1"), None),
        (None, Some(11)),
        (Some("0,1"), Some(3)),
        (None, Some(-1)),
    ] {
        refuses(Req::SP07, indexed(), policy(text, count));
    }
    refuses(Req::SP07, job(), policy(Some("0"), None));
    refuses(Req::SP07, indexed(), |spec| spec.success_policy = Some(SuccessPolicy::default()));
}

#[test]
fn sp15_and_rp01_replacement_policy_is_known_and_fits_the_failure_policy() {
    accepts(job(), |spec| spec.pod_replacement_policy = Some(PodReplacementPolicy::Failed));
    refuses(Req::SP15, job(), |spec| spec.pod_replacement_policy = Some(PodReplacementPolicy::Unknown));
    refuses(Req::RP01, job(), |spec| {
        *spec = with_failure_rule(spec, exit_rule(&[1]));
        spec.pod_replacement_policy = Some(PodReplacementPolicy::TerminatingOrFailed);
    });
}

#[test]
fn bi12_limits_per_index_need_indexes_and_stay_bounded() {
    accepts(indexed(), |spec| spec.max_failed_indexes = Some(10));
    refuses(Req::BI12, indexed(), |spec| spec.max_failed_indexes = Some(11));
    refuses(Req::BI12, job(), |spec| spec.backoff_limit_per_index = Some(1));
    refuses(Req::BI12, indexed(), |spec| {
        (spec.backoff_limit_per_index, spec.max_failed_indexes) = (None, Some(1));
    });
}

#[test]
fn bi12_many_completions_need_tighter_limits() {
    let many = |max_failed, parallelism| {
        move |spec: &mut JobSpec| {
            spec.completions = Some(100_001);
            (spec.max_failed_indexes, spec.parallelism) = (max_failed, Some(parallelism));
        }
    };
    accepts(indexed(), many(Some(10_000), 10_000));
    refuses(Req::BI12, indexed(), many(None, 1));
    refuses(Req::BI12, indexed(), many(Some(10_001), 1));
    refuses(Req::BI12, indexed(), many(Some(1), 10_001));
}

#[test]
fn mb01_manager_is_a_short_domain_prefixed_path() {
    for good in ["acme.io/x", crate::job::BUILT_IN] {
        accepts(job(), |spec| spec.managed_by = Some(good.into()));
    }
    for bad in ["", "acme.io", "acme.io/", &format!("a/{}", "x".repeat(62))] {
        refuses(Req::MB01, job(), |spec| spec.managed_by = Some(bad.into()));
    }
}

#[test]
fn mb11_no_controller_needs_to_have_the_name_of_a_manager() {
    for manager in ["kubernetes.io/job-controller", "acme.example.com/no-such", "nobody.invalid/a/b"] {
        accepts(job(), |spec| spec.managed_by = Some(manager.into()));
    }
}

/// The documentation asks for restartPolicy Never, and no rule does (S-15).
#[test]
fn bi13_a_limit_per_index_may_be_beside_on_failure() {
    accepts(indexed(), |spec| spec.template.restart_policy = RestartPolicy::OnFailure);
    refuses(Req::SP04, indexed(), |spec| {
        *spec = with_failure_rule(spec, exit_rule(&[1]));
        spec.template.restart_policy = RestartPolicy::OnFailure;
    });
}

#[test]
fn pc15_generated_selector_and_labels_name_the_job() {
    accepts(job(), |spec| {
        spec.selector.match_labels.insert(0, (JOB_NAME_LABEL.into(), "pi".into()));
    });
    refuses(Req::PC15, job(), |spec| spec.template.labels.retain(|(key, _)| **key != *JOB_NAME_LABEL));
    refuses(Req::PC15, job(), |spec| spec.selector.match_labels.push(("mine".into(), "x".into())));
    let manual = |label: &'static str| {
        move |spec: &mut JobSpec| {
            spec.manual_selector = Some(true);
            spec.selector.match_labels = vec![("mine".into(), "x".into())];
            spec.template.labels = vec![("mine".into(), label.into())];
        }
    };
    accepts(job(), manual("x"));
    refuses(Req::PC15, job(), manual("y"));
}

#[test]
fn pc15_created_selector_asks_for_the_uid() {
    let mut job = job();
    edit(&mut job, |spec| spec.selector.match_labels.clear());
    assert_eq!(broken(&job), [Req::PC15]);
}

#[test]
fn sp11_and_ss32_created_job_starts_at_generation_one_without_status() {
    let mut job = job();
    job.generation = 2;
    job.status.active = 1;
    assert_eq!(broken(&job), [Req::SP11, Req::SS32]);
}

#[test]
fn ug04_and_ug13_fields_are_dropped_without_their_gates() {
    let rules = RuleSet { job_managed_by: false, pod_replacement_policy: false, ..RULES };
    let mut sent = job();
    edit(&mut sent, |spec| spec.managed_by = Some("acme.io/x".into()));
    let mut findings = Findings::new();
    validate_create(&rules, &sent, &mut findings);
    let broken: Vec<Req> = findings.broken.iter().map(|broken| broken.req).collect();
    assert_eq!(broken, [Req::UG04, Req::UG13]);
    findings.clear();
    validate_create(&rules, &created(&rules, &sent), &mut findings);
    assert!(findings.is_clean());
}

#[test]
fn ug08_limits_per_index_are_dropped_without_their_gate_and_leave_their_default_behind() {
    let rules = RuleSet { backoff_limit_per_index: false, success_policy: false, ..RULES };
    let mut sent = indexed();
    edit(&mut sent, |spec| {
        spec.backoff_limit = None;
        spec.max_failed_indexes = Some(3);
        let rules = [FailureAction::FailIndex, FailureAction::Count]
            .map(|action| PodFailureRule::on_exit_code(action, 1));
        spec.pod_failure_policy = Some(PodFailurePolicy { rules: rules.to_vec() });
        spec.success_policy = Some(SuccessPolicy::default());
    });
    let mut findings = Findings::new();
    validate_create(&rules, &created(&RULES, &sent), &mut findings);
    assert!(findings.broken.iter().any(|broken| broken.req == Req::UG08));
    findings.clear();
    let stored = created(&rules, &sent);
    validate_create(&rules, &stored, &mut findings);
    assert!(findings.broken.iter().all(|broken| broken.req != Req::UG08));
    let spec = &stored.spec;
    assert_eq!((spec.backoff_limit_per_index, spec.max_failed_indexes), (None, None));
    assert_eq!(spec.pod_failure_policy.as_ref().map(|policy| policy.rules.len()), Some(1));
    assert_eq!(spec.success_policy, None);
    // Nothing limits its failures any more: defaults are set before fields are dropped.
    assert_eq!(spec.backoff_limit, Some(i32::MAX));
}

#[test]
fn defaults_depend_on_the_rest_of_the_specification() {
    assert_eq!(
        (job().spec.completions, job().spec.parallelism, job().spec.backoff_limit),
        (Some(1), Some(1), Some(6))
    );
    let again = |change: fn(&mut JobSpec)| {
        let mut sent = job();
        edit(&mut sent, |spec| {
            (spec.completions, spec.backoff_limit, spec.pod_replacement_policy) = (None, None, None);
            change(spec);
        });
        created(&RULES, &sent).spec
    };
    assert_eq!(again(|spec| spec.parallelism = Some(2)).completions, None);
    assert_eq!(again(|spec| spec.backoff_limit_per_index = Some(0)).backoff_limit, Some(i32::MAX));
    let failing = again(|spec| spec.pod_failure_policy = Some(PodFailurePolicy::default()));
    assert_eq!(failing.pod_replacement_policy, Some(PodReplacementPolicy::Failed));
}
