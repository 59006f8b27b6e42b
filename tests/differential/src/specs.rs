//! Random specifications near the edges of the specification rules.

use std::sync::Arc;

use jobcheck_spec::apiserver::{
    CONTROLLER_UID_LABEL, JOB_NAME_LABEL, LEGACY_CONTROLLER_UID_LABEL, LEGACY_JOB_NAME_LABEL, RuleSet,
    created,
};
use jobcheck_spec::job::{
    CompletionMode, ConditionPattern, FailureAction, Job, JobSpec, JobStatus, OnExitCodes, PodFailurePolicy,
    PodFailureRule, PodReplacementPolicy, RestartPolicy, SuccessPolicy, SuccessRule,
};
use jobcheck_spec::{Time, Uid};

use crate::random::Random;

/// Makes a specification NonIndexed or Indexed, with or without policies.
pub fn choose_kind(random: &mut Random, spec: &mut JobSpec) {
    if random.one_in(2) {
        spec.completion_mode = Some(CompletionMode::Indexed);
        spec.completions = random.pick(&[Some(3), Some(5), Some(100_000), Some(100_001), Some(0)]);
        spec.backoff_limit_per_index = random.pick(&[None, Some(1)]);
        if spec.backoff_limit_per_index.is_some() {
            spec.max_failed_indexes = random.pick(&[None, Some(1), Some(3), Some(10_000)]);
        }
        spec.success_policy = random.one_in(3).then(|| success_policy(random));
    }
    spec.parallelism = random.pick(&[Some(3), Some(5), Some(1)]);
    if random.one_in(4) {
        spec.pod_failure_policy = Some(failure_policy(random));
        spec.pod_replacement_policy = Some(PodReplacementPolicy::Failed);
    }
}

/// Changes one number, mode, policy, or label.
pub fn vary(random: &mut Random, job: &mut Job) {
    let numbers = [None, Some(-1), Some(0), Some(1), Some(3), Some(5), Some(6)];
    let large = [Some(10_000), Some(10_001), Some(100_000), Some(100_001)];
    let name = job.name.clone();
    let spec = Arc::make_mut(&mut job.spec);
    match random.below(18) {
        0 => spec.parallelism = random.pick(&[Some(-1), Some(0), Some(3), Some(5)]),
        1 => spec.parallelism = random.pick(&large),
        2 => spec.completions = random.pick(&numbers),
        3 => spec.completions = random.pick(&large),
        4 => (spec.completions, spec.parallelism) = random.pick(&[(Some(3), Some(3)), (Some(5), Some(5))]),
        5 => spec.active_deadline_seconds = random.pick(&numbers).map(i64::from),
        6 => spec.backoff_limit = random.pick(&[Some(-1), Some(0), Some(3)]),
        7 => spec.ttl_seconds_after_finished = random.pick(&numbers),
        8 => spec.backoff_limit_per_index = random.pick(&numbers),
        9 => spec.max_failed_indexes = random.pick(&numbers),
        10 => spec.max_failed_indexes = random.pick(&large),
        11 => {
            spec.completion_mode = random.pick(&[
                Some(CompletionMode::NonIndexed),
                Some(CompletionMode::Indexed),
                Some(CompletionMode::Unknown),
            ])
        }
        12 => {
            spec.pod_replacement_policy = random.pick(&[
                Some(PodReplacementPolicy::TerminatingOrFailed),
                Some(PodReplacementPolicy::Failed),
                Some(PodReplacementPolicy::Unknown),
            ])
        }
        13 => spec.pod_failure_policy = (!random.one_in(3)).then(|| failure_policy(random)),
        14 => spec.success_policy = (!random.one_in(3)).then(|| success_policy(random)),
        15 => spec.managed_by = manager(random).map(Into::into),
        16 => spec.suspend = random.pick(&[Some(false), Some(true)]),
        _ => vary_labels(random, &name, spec),
    }
}

fn manager(random: &mut Random) -> Option<String> {
    let long = |length: usize| format!("a.io/{}", "x".repeat(length - 5));
    let managers = [
        "acme.io/x",
        "kubernetes.io/job-controller",
        "",
        "acme.io",
        "/x",
        "acme.io/",
        "Acme.io/x",
        "a/b c",
        "a/b/c%~",
        "a.-b/c",
    ];
    match random.below(14) {
        0..10 => Some(random.pick(&managers).to_owned()),
        10 => Some(long(63)),
        11 => Some(long(64)),
        _ => None,
    }
}

/// The labels that the server generates.
const GENERATED: [&str; 4] =
    [JOB_NAME_LABEL, CONTROLLER_UID_LABEL, LEGACY_JOB_NAME_LABEL, LEGACY_CONTROLLER_UID_LABEL];

/// Removes one of the generated labels of the template, or changes it, or all of one kind.
pub fn vary_generated(random: &mut Random, job: &mut Job) {
    let labels = &mut Arc::make_mut(&mut job.spec).template.labels;
    let key = random.pick(&GENERATED);
    match random.below(6) {
        0 => labels.iter_mut().filter(|(label, _)| **label == *key).for_each(|it| it.1 = "other".into()),
        1 => labels.retain(|(label, _)| [JOB_NAME_LABEL, CONTROLLER_UID_LABEL].contains(&&**label)),
        2 => labels.retain(|(label, _)| ![JOB_NAME_LABEL, LEGACY_JOB_NAME_LABEL].contains(&&**label)),
        3 => labels
            .retain(|(label, _)| ![LEGACY_JOB_NAME_LABEL, LEGACY_CONTROLLER_UID_LABEL].contains(&&**label)),
        _ => labels.retain(|(label, _)| **label != *key),
    }
}

/// Changes labels and selector to valid and invalid ones. Some have no label, and some have the labels of old Jobs.
fn vary_labels(random: &mut Random, name: &str, spec: &mut JobSpec) {
    let key = random.pick(&[
        JOB_NAME_LABEL,
        CONTROLLER_UID_LABEL,
        LEGACY_JOB_NAME_LABEL,
        LEGACY_CONTROLLER_UID_LABEL,
        "mine",
    ]);
    let value = random.pick(&[name, "other"]);
    let in_selector = random.one_in(3);
    let labels = if in_selector { &mut spec.selector.match_labels } else { &mut spec.template.labels };
    labels.retain(|(label, _)| **label != *key);
    if random.one_in(2) {
        labels.push((key.into(), value.into()));
        labels.sort();
    }
    if random.one_in(3) {
        spec.manual_selector = Some(random.one_in(2));
    }
    if random.one_in(8) {
        spec.template.restart_policy = random.pick(&[RestartPolicy::OnFailure, RestartPolicy::Always]);
    }
}

fn failure_policy(random: &mut Random) -> PodFailurePolicy {
    let count = if random.one_in(12) { random.pick(&[20, 21]) } else { random.below(3) };
    let plain = failure_rule(random);
    PodFailurePolicy {
        rules: (0..count).map(|_| if count > 3 { plain.clone() } else { failure_rule(random) }).collect(),
    }
}

fn failure_rule(random: &mut Random) -> PodFailureRule {
    use FailureAction::{Count, FailIndex, FailJob, Ignore, Unknown};
    let action = random.pick(&[FailJob, Ignore, Count, FailJob, Ignore, Count, FailIndex, Unknown]);
    let (mut on_exit_codes, mut on_pod_conditions) = (Some(exit_codes(random)), vec![]);
    if random.one_in(2) {
        (on_exit_codes, on_pod_conditions) = (None, patterns(random));
    } else if random.one_in(10) {
        on_pod_conditions = patterns(random);
    }
    PodFailureRule { action, on_exit_codes, on_pod_conditions }
}

fn exit_codes(random: &mut Random) -> OnExitCodes {
    let many: Vec<i32> = (1..=255).collect();
    let too_many: Vec<i32> = (1..=256).collect();
    let values = [
        vec![1],
        vec![1, 2],
        vec![3],
        vec![-1, 1],
        vec![0, 1],
        vec![0],
        vec![],
        vec![2, 1],
        vec![1, 1],
        many,
        too_many,
    ];
    OnExitCodes {
        container_name: random.pick(&[
            None,
            None,
            Some("main".into()),
            Some("init".into()),
            Some("x".into()),
        ]),
        is_in: random.pick(&[Some(true), Some(true), Some(false), Some(false), None]),
        values: random.pick(&values),
    }
}

fn patterns(random: &mut Random) -> Vec<ConditionPattern> {
    let kinds = ["Ready", "DisruptionTarget", "a.io/Ready", "A.io/x", "-x", ""];
    let status = random.pick(&["True", "True", "False", "Unknown", "Maybe"]);
    let kind = if random.one_in(3) { random.pick(&kinds) } else { "Ready" };
    let count = random.pick(&[0, 1, 1, 1, 2, 20, 21]);
    vec![ConditionPattern { kind: kind.into(), status: status.into() }; count]
}

fn success_policy(random: &mut Random) -> SuccessPolicy {
    let texts = ["0", "0-2", "0,2", "4", "2,1", "x", "", "99999"];
    let count = random.pick(&[1, 1, 1, 2, 0, 20, 21]);
    let rule = SuccessRule {
        succeeded_indexes: (!random.one_in(3)).then(|| long_or(random, &texts).into()),
        succeeded_count: random.pick(&[None, Some(1), Some(2), Some(3), Some(0), Some(-1), Some(6)]),
    };
    SuccessPolicy { rules: vec![rule; count] }
}

/// Returns one of the texts, or one of about 64 KiB. Each index of it has five digits, and commas separate them.
fn long_or(random: &mut Random, texts: &[&str]) -> String {
    if !random.one_in(40) {
        return random.pick(texts).to_owned();
    }
    let count = random.pick(&[10_922, 10_923]);
    (0..count).map(|index| (10_000 + index).to_string()).collect::<Vec<_>>().join(",")
}

/// Returns a Job with the default specification.
pub fn base(rules: &RuleSet) -> Job {
    named(rules, "pi")
}

/// Returns such a Job with another name.
pub fn named(rules: &RuleSet, name: &str) -> Job {
    let sent = Job {
        uid: Uid::parse("a5bea2a9-d1b6-4d7c-a7b4-aa02fcb4ff1f"),
        name: name.into(),
        namespace: "default".into(),
        generation: 0,
        created: Time(1),
        deleting: false,
        finalizers: Vec::new(),
        metadata: Arc::default(),
        probes_digest: 0,
        spec: Arc::default(),
        status: JobStatus::default(),
    };
    created(rules, &sent)
}
