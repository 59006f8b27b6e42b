//! Properties of the decision for random Jobs and pods.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::build::{Case, ago, indexed, limited, pod, rule, secs, shape, wide};
use super::cluster::{Cluster, Fault, end};
use crate::job::command::Command;
use crate::job::conditions::{FAILURE_TARGET, SUCCESS_CRITERIA_MET, SUSPENDED, finished};
use crate::job::indexes::steps;
use crate::job::observed::{Controller, JobFacts, Phase, PodFacts, PodFailureAction, PodReplacementPolicy};
use crate::job::settled::is_settled;
use crate::values::{Text, Uid};

fn some_job() -> impl Strategy<Value = JobFacts> {
    let kinds = prop::sample::select(vec![0, 1, 2, 3]);
    let numbers = (0..4_i32, 0..5_i32, 0..3_i32);
    (kinds, numbers, any::<[bool; 5]>(), prop::option::of(0..2_i32)).prop_map(
        |(kind, numbers, flags, limit)| {
            let (parallelism, completions, backoff_limit) = numbers;
            let mut job = match kind {
                0 => wide(parallelism, completions),
                1 => indexed(parallelism, completions),
                2 => limited(completions, backoff_limit),
                _ => {
                    let mut queue = wide(parallelism, 1);
                    queue.spec.completions = None;
                    queue
                }
            };
            if kind != 2 {
                job.spec.backoff_limit = backoff_limit;
            }
            job.spec.max_failed_indexes = limit.filter(|_| kind == 2);
            job.spec.suspend = flags[0];
            if flags[1] {
                job.spec.pod_replacement_policy = Some(PodReplacementPolicy::Failed);
            }
            if flags[2] {
                job = job.rules(vec![
                    rule(PodFailureAction::Ignore, "Evicted"),
                    rule(PodFailureAction::FailJob, "Bad"),
                    rule(PodFailureAction::FailIndex, "Lost"),
                ]);
            }
            if flags[3] {
                job = job.status_with(SUSPENDED, "True", "JobSuspended");
                job.status.start_time = None;
            }
            if flags[4] {
                job.deletion = Some(ago(5));
            }
            job
        },
    )
}

fn some_pod() -> impl Strategy<Value = PodFacts> {
    let phases = prop::sample::select(vec![
        Phase::Pending,
        Phase::Running,
        Phase::Running,
        Phase::Succeeded,
        Phase::Failed,
    ]);
    let conditions = prop::sample::select(vec!["Ready", "Evicted", "Bad", "Lost", "Other"]);
    let owners = prop::sample::select(vec![
        Controller::ThisJob,
        Controller::ThisJob,
        Controller::ThisJob,
        Controller::Nobody,
    ]);
    (phases, conditions, owners, any::<[bool; 3]>(), (-1..6_i64, 0..3_i32, 0..100_i64)).prop_map(
        |(phase, condition, controller, flags, (index, failures, seconds))| {
            let mut it = pod("x").phase(phase).index(index).failures(&failures.to_string());
            it = it.condition(condition, "True", Some(ago(seconds)));
            it.created = Some(ago(seconds));
            it.controller = controller;
            if matches!(phase, Phase::Succeeded | Phase::Failed) {
                it = it.exited(ago(seconds), i32::from(phase == Phase::Failed));
            }
            let it = if flags[0] { it.deleted() } else { it };
            let it = if flags[1] { it.untracked() } else { it };
            PodFacts { scheduled: flags[2], ..it }
        },
    )
}

/// Failing cases become tests, so no regression files are written.
fn config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }
}

/// A Job with pods, some of them recorded.
fn some_case() -> impl Strategy<Value = Case> {
    let pods = prop::collection::vec((some_pod(), 0..6_u8), 0..7);
    (some_job(), pods, 1..4_usize, 1..4_usize).prop_map(|(mut job, pods, uncounted, rounds)| {
        let mut named = Vec::new();
        for (number, (it, list)) in pods.into_iter().enumerate() {
            let uid = format!("{number}");
            let it = PodFacts { uid: Uid::new(&uid), name: Text::from(format!("pod-{uid}").as_str()), ..it };
            let lists = job.status.uncounted.get_or_insert_default();
            let ended = matches!(it.phase, Phase::Succeeded | Phase::Failed);
            match list {
                0 if ended => lists.failed.push(it.uid.clone()),
                1 if ended
                    && job.spec.completion_mode == crate::job::observed::CompletionMode::NonIndexed =>
                {
                    lists.succeeded.push(it.uid.clone());
                }
                _ => {}
            }
            named.push(it);
        }
        let mut case = Case::new(job, named);
        case.settings.max_uncounted_pods = uncounted;
        case.settings.max_pod_create_delete_per_sync = rounds;
        case
    })
}

proptest! {
    #![proptest_config(config())]

    /// The plan is deterministic and does not depend on the order of the pods.
    #[test]
    fn the_order_of_the_pods_changes_nothing(case in some_case(), seed in any::<u64>()) {
        let planned = case.plan();
        prop_assert_eq!(&case.plan(), &planned);
        let mut other = case.clone();
        other.pods.sort_by_key(|it| {
            it.uid.as_str().bytes().fold(seed, |hash, byte| hash.wrapping_mul(31).rotate_left(7) ^ u64::from(byte))
        });
        prop_assert_eq!(&other.plan(), &planned);
        other.pods.reverse();
        prop_assert_eq!(&other.plan(), &planned);
    }

    /// Without settled pods the plan is the same, except for their entries in the memory.
    #[test]
    fn pods_that_are_settled_change_nothing(case in some_case(), removed in prop::collection::vec(any::<bool>(), 7)) {
        let mut case = case;
        let names = case.pods.iter().map(|it| it.uid.clone());
        case.memory.uid = Some(case.job.uid.clone());
        case.memory.finalizer_removed = names.zip(removed).filter_map(|(uid, is)| is.then_some(uid)).collect();
        let is_settled = |pod: &PodFacts| {
            pod.selected && pod.controller == Controller::ThisJob && is_settled(&case.job, pod)
        };
        let (out, kept): (Vec<_>, Vec<_>) = case.pods.iter().cloned().partition(is_settled);
        let mut planned = case.plan();
        planned.memory.finalizer_removed.retain(|uid| out.iter().all(|pod| pod.uid != *uid));
        prop_assert_eq!(Case { pods: kept, ..case.clone() }.plan(), planned);
    }

    /// The controller reaches quiescence, and the API server refuses no write before.
    #[test]
    fn the_controller_reaches_quiescence(case in some_case()) {
        let mut cluster = Cluster::of(&case);
        let syncs = cluster.settle();
        prop_assert!(syncs <= 60, "{} syncs", syncs);
        prop_assert!(cluster.plan().is_empty());
    }

    /// R19: a Job that is not suspended finishes after its pods have terminated.
    #[test]
    fn every_job_finishes(case in some_case()) {
        let mut cluster = Cluster::of(&case);
        cluster.settle();
        cluster.job.spec.suspend = false;
        cluster.job.deletion = None;
        cluster.job.spec.parallelism = if case.job.spec.parallelism == 0 { 1 } else { case.job.spec.parallelism };
        end(&mut cluster);
        prop_assert!(finished(&cluster.job.status.conditions), "{:?}", cluster.plan());
        let ours = cluster.pods.values().filter(|it| it.controller == Controller::ThisJob);
        prop_assert!(ours.into_iter().all(|it| !it.tracking_finalizer), "FT-23");
    }

    /// FT-02, S-07, R18: under faults and crashes, and with pods that terminate at any time.
    #[test]
    fn faults_break_nothing(
        job in some_job(),
        script in prop::collection::vec((0..12_u8, 0..6_usize, any::<prop::sample::Index>()), 0..30),
    ) {
        let mut cluster = Cluster::new(JobFacts { deletion: None, ..job });
        cluster.settings.max_uncounted_pods = 2;
        for (event, number, which) in script {
            let uids: Vec<Uid> = cluster.pods.keys().cloned().collect();
            let chosen = (!uids.is_empty()).then(|| which.get(&uids).clone());
            match (event, chosen) {
                (0, Some(uid)) => cluster.pod_becomes(&uid, Phase::Succeeded),
                (1, Some(uid)) => cluster.pod_becomes(&uid, Phase::Failed),
                (2, Some(uid)) => cluster.pod_becomes(&uid, Phase::Running),
                (3, Some(uid)) => cluster.delete_pod(&uid),
                (4, _) => cluster.job.spec.suspend = !cluster.job.spec.suspend,
                (5, _) => { cluster.sync(Fault::CrashBefore(number)); }
                (6, _) => { cluster.sync(Fault::Refuse(number)); }
                (7, _) => { cluster.sync(Fault::LoseResponse(number)); }
                (8, _) => cluster.late_sync(number, Fault::None),
                (9, _) => cluster.late_sync(number + 1, Fault::Refuse(1)),
                (10, _) => cluster.late_sync(number + 1, Fault::LoseResponse(1)),
                _ => { cluster.sync(Fault::None); }
            }
            cluster.now = cluster.now.plus(secs(3));
            if finished(&cluster.job.status.conditions) {
                break;
            }
        }
        cluster.job.spec.suspend = false;
        cluster.job.spec.parallelism = cluster.job.spec.parallelism.max(1);
        end(&mut cluster);
        prop_assert!(finished(&cluster.job.status.conditions), "{:?}", cluster.plan());
    }

    /// The treatment of each pod agrees with a table.
    #[test]
    fn each_pod_is_treated_as_the_table_says(case in some_case()) {
        let plan = case.plan();
        let status = plan.commands().find_map(|command| match command {
            Command::WriteStatus(write) => Some(write.after.clone()),
            _ => None,
        });
        let status = status.unwrap_or_else(|| case.job.status.clone());
        let lists = status.uncounted.clone().unwrap_or_default();
        let untracked: BTreeSet<&Uid> = plan.commands().flat_map(|command| match command {
            Command::RemoveFinalizers(pods) => pods.iter().map(|it| &it.pod.uid).collect(),
            _ => Vec::new(),
        }).collect();
        for pod in &case.pods {
            let row = table(&case, pod, &status.conditions);
            let recorded = (lists.succeeded.contains(&pod.uid), lists.failed.contains(&pod.uid));
            prop_assert!(!(recorded.0 && recorded.1));
            if row.never_recorded {
                prop_assert_eq!(recorded, (false, false), "{:?} in {}", pod, shape(&plan));
            }
            if let Some(expected) = row.only_as {
                prop_assert!(recorded == expected || recorded == (false, false), "{:?} in {}", pod, shape(&plan));
            }
            if row.never_untracked {
                prop_assert!(!untracked.contains(&pod.uid), "{:?} in {}", pod, shape(&plan));
            }
        }
    }
}

/// The admitted treatment of a pod.
struct Row {
    never_recorded: bool,
    only_as: Option<(bool, bool)>,
    never_untracked: bool,
}

/// The row for a pod. It reads only the phases of the pod and its Job, and is structured differently from the plan.
fn table(case: &Case, pod: &PodFacts, after: &[crate::job::observed::Condition]) -> Row {
    let before = case.job.status.uncounted.clone().unwrap_or_default();
    let was = (before.succeeded.contains(&pod.uid), before.failed.contains(&pod.uid));
    // An adopted pod has the finalizer (FT-24).
    let active = !matches!(pod.phase, Phase::Succeeded | Phase::Failed) && pod.deletion.is_none();
    let adopted =
        pod.controller == Controller::Nobody && pod.selected && active && case.job.deletion.is_none();
    let has_finalizer = pod.tracking_finalizer || adopted;
    let ours = pod.controller == Controller::ThisJob || adopted;
    let is = |kind: &str| after.iter().any(|it| &*it.kind == kind && &*it.status == "True");
    let (fails, succeeds) = (is(FAILURE_TARGET), is(SUCCESS_CRITERIA_MET));
    let waits = case.job.spec.pod_failure_policy.is_some()
        || case.job.spec.pod_replacement_policy == Some(PodReplacementPolicy::Failed);
    let deleted = pod.deletion.is_some();
    let indexed = case.job.spec.completion_mode == crate::job::observed::CompletionMode::Indexed;
    if !has_finalizer {
        return Row { never_recorded: true, only_as: None, never_untracked: true };
    }
    if was != (false, false) {
        return Row { never_recorded: false, only_as: Some(was), never_untracked: !ours };
    }
    if !ours {
        return Row { never_recorded: true, only_as: None, never_untracked: true };
    }
    match (pod.phase, deleted) {
        (Phase::Succeeded, _) => {
            Row { never_recorded: indexed, only_as: Some((true, false)), never_untracked: false }
        }
        (Phase::Failed, _) => {
            Row { never_recorded: false, only_as: Some((false, true)), never_untracked: false }
        }
        (_, true) if !waits => {
            Row { never_recorded: false, only_as: Some((false, true)), never_untracked: false }
        }
        (_, deleted) => Row {
            never_recorded: !fails,
            only_as: Some((false, true)),
            // A terminating pod loses the finalizer only at the end of the Job, an active pod also as surplus.
            never_untracked: deleted && !fails && !succeeds && case.job.deletion.is_none(),
        },
    }
}

/// The cost is not quadratic: ten times the indexes take about ten times the steps.
#[test]
fn the_steps_of_a_plan_grow_with_the_number_of_indexes() {
    let steps_for = |count: i32| {
        let mut large = limited(count, 1);
        let even: Vec<u32> = (0..u32::try_from(count).expect("positive")).step_by(2).collect();
        large.status.completed_indexes =
            Some(Text::from(crate::job::indexes::IndexSet::of(even).to_string().as_str()));
        large.status.succeeded = count / 2;
        let pods = (0..count).map(|index| {
            let it = pod(&format!("{index:06}")).index(i64::from(index));
            match index % 4 {
                1 => it,
                3 => it.failed().failures("0").exited(ago(1), 1),
                _ => it.succeeded().untracked(),
            }
        });
        let case = Case::new(large, pods);
        steps::taken();
        let planned = case.plan();
        assert!(!planned.is_empty());
        steps::taken()
    };
    let (small, large) = (steps_for(5_000), steps_for(50_000));
    assert!(small >= 5_000, "steps are counted: {small}");
    assert!(large <= small * 11, "{small} steps for 5,000 indexes, {large} for 50,000");
}
