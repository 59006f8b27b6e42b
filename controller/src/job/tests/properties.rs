//! Properties of the decision in random worlds.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::build::{Case, ago, indexed, limited, pod, rule, secs, shape, wide};
use super::world::{Fault, World, end};
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
                it = it.ended(ago(seconds), i32::from(phase == Phase::Failed));
            }
            let it = if flags[0] { it.deleted() } else { it };
            let it = if flags[1] { it.free() } else { it };
            PodFacts { scheduled: flags[2], ..it }
        },
    )
}

/// Failing cases become tests of their own, not files.
fn config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }
}

/// A Job with pods, some of them listed.
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

    /// Deterministic, and the same for every order of the pods.
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

    /// A sync may leave settled pods out: nothing but the memory of their release is another.
    #[test]
    fn pods_that_are_settled_change_nothing(case in some_case(), finalizer_removed in prop::collection::vec(any::<bool>(), 7)) {
        let mut case = case;
        let names = case.pods.iter().map(|it| it.uid.clone());
        case.memory.uid = Some(case.job.uid.clone());
        case.memory.finalizer_removed = names.zip(finalizer_removed).filter_map(|(uid, is)| is.then_some(uid)).collect();
        let is_settled = |pod: &PodFacts| {
            pod.selected && pod.controller == Controller::ThisJob && is_settled(&case.job, pod)
        };
        let (out, kept): (Vec<_>, Vec<_>) = case.pods.iter().cloned().partition(is_settled);
        let mut planned = case.plan();
        planned.memory.finalizer_removed.retain(|uid| out.iter().all(|pod| pod.uid != *uid));
        prop_assert_eq!(Case { pods: kept, ..case.clone() }.plan(), planned);
    }

    /// Quiescence: once all is enacted there is nothing left to do, and no write on the way is one that the API server
    /// refuses.
    #[test]
    fn the_controller_comes_to_rest(case in some_case()) {
        let mut world = World::of(&case);
        let syncs = world.settle();
        prop_assert!(syncs <= 60, "{} syncs", syncs);
        prop_assert!(world.plan().is_empty());
    }

    /// R19: when the pods of a Job end, and it is not suspended, it comes to its end.
    #[test]
    fn every_job_comes_to_its_end(case in some_case()) {
        let mut world = World::of(&case);
        world.settle();
        world.job.spec.suspend = false;
        world.job.deletion = None;
        world.job.spec.parallelism = if case.job.spec.parallelism == 0 { 1 } else { case.job.spec.parallelism };
        end(&mut world);
        prop_assert!(finished(&world.job.status.conditions), "{:?}", world.plan());
        let ours = world.pods.values().filter(|it| it.controller == Controller::ThisJob);
        prop_assert!(ours.into_iter().all(|it| !it.tracking_finalizer), "FT-23");
    }

    /// FT-02, S-07, R18: with faults, crashes, and pods that end whenever they like.
    #[test]
    fn faults_break_nothing(
        job in some_job(),
        script in prop::collection::vec((0..12_u8, 0..6_usize, any::<prop::sample::Index>()), 0..30),
    ) {
        let mut world = World::new(JobFacts { deletion: None, ..job });
        world.settings.max_uncounted_pods = 2;
        for (event, number, which) in script {
            let uids: Vec<Uid> = world.pods.keys().cloned().collect();
            let chosen = (!uids.is_empty()).then(|| which.get(&uids).clone());
            match (event, chosen) {
                (0, Some(uid)) => world.pod_becomes(&uid, Phase::Succeeded),
                (1, Some(uid)) => world.pod_becomes(&uid, Phase::Failed),
                (2, Some(uid)) => world.pod_becomes(&uid, Phase::Running),
                (3, Some(uid)) => world.delete_pod(&uid),
                (4, _) => world.job.spec.suspend = !world.job.spec.suspend,
                (5, _) => { world.sync(Fault::CrashBefore(number)); }
                (6, _) => { world.sync(Fault::Refuse(number)); }
                (7, _) => { world.sync(Fault::LoseAnswer(number)); }
                (8, _) => world.late_sync(number, Fault::None),
                (9, _) => world.late_sync(number + 1, Fault::Refuse(1)),
                (10, _) => world.late_sync(number + 1, Fault::LoseAnswer(1)),
                _ => { world.sync(Fault::None); }
            }
            world.now = world.now.plus(secs(3));
            if finished(&world.job.status.conditions) {
                break;
            }
        }
        world.job.spec.suspend = false;
        world.job.spec.parallelism = world.job.spec.parallelism.max(1);
        end(&mut world);
        prop_assert!(finished(&world.job.status.conditions), "{:?}", world.plan());
    }

    /// The plan against a table, one pod at a time.
    #[test]
    fn each_pod_is_treated_as_the_table_says(case in some_case()) {
        let plan = case.plan();
        let status = plan.commands().find_map(|command| match command {
            Command::WriteStatus(write) => Some(write.after.clone()),
            _ => None,
        });
        let status = status.unwrap_or_else(|| case.job.status.clone());
        let lists = status.uncounted.clone().unwrap_or_default();
        let finalizer_removed: BTreeSet<&Uid> = plan.commands().flat_map(|command| match command {
            Command::RemoveFinalizers(pods) => pods.iter().map(|it| &it.pod.uid).collect(),
            _ => Vec::new(),
        }).collect();
        for pod in &case.pods {
            let row = table(&case, pod, &status.conditions);
            let listed = (lists.succeeded.contains(&pod.uid), lists.failed.contains(&pod.uid));
            prop_assert!(!(listed.0 && listed.1));
            if row.never_listed {
                prop_assert_eq!(listed, (false, false), "{:?} in {}", pod, shape(&plan));
            }
            if let Some(expected) = row.only_as {
                prop_assert!(listed == expected || listed == (false, false), "{:?} in {}", pod, shape(&plan));
            }
            if row.never_removed {
                prop_assert!(!finalizer_removed.contains(&pod.uid), "{:?} in {}", pod, shape(&plan));
            }
        }
    }
}

/// What may happen to a pod.
struct Row {
    never_listed: bool,
    only_as: Option<(bool, bool)>,
    never_removed: bool,
}

/// By the phases of a pod and of its Job alone, in another shape than the plan.
fn table(case: &Case, pod: &PodFacts, after: &[crate::job::observed::Condition]) -> Row {
    let before = case.job.status.uncounted.clone().unwrap_or_default();
    let was = (before.succeeded.contains(&pod.uid), before.failed.contains(&pod.uid));
    // An adopted pod has the finalizer (FT-24).
    let at_work = !matches!(pod.phase, Phase::Succeeded | Phase::Failed) && pod.deletion.is_none();
    let adopted =
        pod.controller == Controller::Nobody && pod.selected && at_work && case.job.deletion.is_none();
    let holds = pod.tracking_finalizer || adopted;
    let ours = pod.controller == Controller::ThisJob || adopted;
    let says = |kind: &str| after.iter().any(|it| &*it.kind == kind && &*it.status == "True");
    let (fails, succeeds) = (says(FAILURE_TARGET), says(SUCCESS_CRITERIA_MET));
    let waits = case.job.spec.pod_failure_policy.is_some()
        || case.job.spec.pod_replacement_policy == Some(PodReplacementPolicy::Failed);
    let gone = pod.deletion.is_some();
    let indexed = case.job.spec.completion_mode == crate::job::observed::CompletionMode::Indexed;
    if !holds {
        return Row { never_listed: true, only_as: None, never_removed: true };
    }
    if was != (false, false) {
        return Row { never_listed: false, only_as: Some(was), never_removed: !ours };
    }
    if !ours {
        return Row { never_listed: true, only_as: None, never_removed: true };
    }
    match (pod.phase, gone) {
        (Phase::Succeeded, _) => {
            Row { never_listed: indexed, only_as: Some((true, false)), never_removed: false }
        }
        (Phase::Failed, _) => Row { never_listed: false, only_as: Some((false, true)), never_removed: false },
        (_, true) if !waits => {
            Row { never_listed: false, only_as: Some((false, true)), never_removed: false }
        }
        (_, gone) => Row {
            never_listed: !fails,
            only_as: Some((false, true)),
            // A terminating pod is let go at the end of the Job only; an active one as surplus too.
            never_removed: gone && !fails && !succeeds && case.job.deletion.is_none(),
        },
    }
}

/// No step is quadratic: ten times the indexes take about ten times the steps.
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
                3 => it.failed().failures("0").ended(ago(1), 1),
                _ => it.succeeded().free(),
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
