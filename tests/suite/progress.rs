//! Progress of the reference algorithm: with and without faults, every Job finishes. Defects are detected.

use jobcheck_explorer::check::{Bounds, Cut, Exploration, Outcome, explore};
use jobcheck_explorer::env::user::UserAction;
use jobcheck_explorer::mutants::Mutant;
use jobcheck_explorer::mutations::{Mutation, Mutations};
use jobcheck_explorer::narrative::lines;
use jobcheck_explorer::progress::explore_for;
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::scopes::progress::progress;
use jobcheck_explorer::scopes::reference::run_by_the_algorithm;
use jobcheck_explorer::scopes::{initial, named};
use jobcheck_explorer::step::Step;
use jobcheck_spec::Req;
use jobcheck_spec::job::PodReplacementPolicy;

/// For each scope, the number of states without reductions, and the number of quiescent states. A change of
/// these numbers is a change of the algorithm, of the environment, or of a bound. Explain it in the commit.
const SIZES: &[(&str, usize, usize)] = &[
    ("progress/non-indexed", 2492, 44),
    ("progress/deleted-pods", 21425, 616),
    ("progress/full-lists", 4182, 80),
    ("progress/ready-pods", 9812, 96),
    ("progress/work-queue", 2302, 46),
    ("progress/indexed", 2475, 58),
    ("progress/indexed-deletion", 7975, 236),
    ("progress/backoff-limit", 183, 4),
    ("progress/backoff-delay", 9060, 756),
    ("progress/replace-failed", 20548, 320),
    ("progress/replace-failed-indexes", 20338, 422),
    ("progress/fail-job", 6443, 169),
    ("progress/ignored-failures", 8952, 322),
    ("progress/success-policy", 2974, 95),
    ("progress/per-index", 6683, 13),
    ("progress/fail-index", 1828, 25),
    ("progress/max-failed-indexes", 9072, 280),
    ("progress/suspend", 14609, 429),
    ("progress/deadline", 4498, 520),
    ("progress/elastic", 46048, 780),
    ("progress/ttl", 7286, 444),
    ("progress/two-jobs", 2401, 4),
    ("progress/unscheduled", 159147, 1156),
    ("progress/unscheduled-patient", 966, 24),
    ("progress/edited-failed-indexes", 1542, 27),
    ("progress/suspend-deadline", 102866, 7698),
    ("progress/suspend-patient", 2613, 85),
    ("progress/suspend-per-index", 109730, 1970),
    ("progress/elastic-per-index", 30986, 253),
    ("progress/parallelism", 98645, 926),
    ("progress/on-failure", 2782, 117),
    ("progress/success-policy-deletion", 65420, 1309),
    ("progress/replace-terminating", 54213, 668),
    ("progress/backoff-deletion", 73759, 11402),
    ("progress/per-index-deletion", 185899, 12736),
    ("progress/edited-limits", 21397, 1333),
    ("progress/edited-policy", 11674, 182),
    ("progress/reverted-policy", 19125, 218),
    ("progress/eviction", 62177, 1550),
    ("progress/eviction-of-an-index", 32193, 692),
    ("progress/lost-node", 23286, 439),
    ("progress/lost-node-patient", 11982, 364),
    ("progress/out-of-service", 7921, 230),
    ("progress/edited-template", 1824, 107),
    ("progress/force-delete", 22408, 778),
    ("progress/orphaning", 27172, 1564),
    ("progress/adoption", 354, 9),
    ("progress/lost-owner", 1842, 48),
    ("progress/relabelled-pod", 18156, 556),
    ("progress/legacy-pods", 2347, 70),
    ("progress/indexed-parallelism", 135328, 3428),
    ("progress/removed-deadline", 7498, 583),
    ("progress/unready-pods", 17409, 96),
    ("progress/endless-pods", 9812, 139),
    ("progress/second-deletion", 37507, 1326),
    ("progress/second-deletion-orphaning", 78412, 3484),
    ("progress/denied-condition", 609, 9),
    ("progress/job-deletion", 2317, 367),
    ("progress-failed-request/non-indexed", 17219, 214),
    ("progress-failed-request/full-lists", 25862, 267),
    ("progress-failed-request/indexed", 18270, 307),
    ("progress-failed-request/backoff-limit", 1047, 16),
    ("progress-failed-request/per-index", 8785, 197),
    ("progress-failed-request/fail-index", 6473, 106),
    ("progress-failed-request/deadline", 24826, 2919),
    ("progress-failed-request/ttl", 22490, 1606),
    ("progress-lost-answer/backoff-limit", 9686, 186),
    ("progress-lost-answer/non-indexed", 5688, 194),
    ("progress-lost-answer/indexed", 6083, 276),
    ("progress-lost-answer/fail-job", 15068, 710),
    ("progress-lost-answer/per-index", 3706, 212),
    ("progress-lost-answer/suspend", 23739, 1085),
    ("progress-lost-answer/deadline", 10391, 1612),
    ("progress-lost-answer/ttl", 9006, 616),
    ("progress-lost-answer/relabelled-pod", 33812, 1560),
    ("progress-crash/non-indexed", 16472, 198),
    ("progress-crash/full-lists", 23380, 267),
    ("progress-crash/indexed", 17242, 287),
    ("progress-crash/backoff-limit", 938, 16),
    ("progress-crash/success-policy", 22159, 490),
    ("progress-crash/per-index", 8594, 189),
    ("progress-crash/fail-index", 6279, 104),
    ("progress-crash/deadline", 22482, 2556),
    ("progress-late-request/backoff-limit", 25400, 658),
    ("progress-late-request/non-indexed", 1262, 207),
    ("progress-late-request/indexed", 1060, 196),
    ("progress-late-request/per-index", 932, 196),
    ("progress/terminating-namespace", 3206, 214),
    ("progress/terminating-namespace-per-index", 5343, 231),
    ("progress/flips", 15555, 328),
    ("progress/flips-indexed", 15559, 428),
    ("progress/rollout-replacement", 17418, 283),
    ("progress/rollout-failure-policy", 7201, 121),
    ("progress/rollout-per-index", 11404, 125),
    ("progress/rollout-success-policy", 14135, 519),
    ("progress/rollout-managed-by", 51, 3),
    ("progress/beside-another-manager", 14, 7),
    ("progress/rollout-without-delay", 6571, 609),
    ("progress/rollout-delay-in-turns", 146665, 5479),
    ("refused/quota", 613, 17),
    ("refused/quota-endless", 613, 27),
    ("refused/no-pods", 48, 35),
    ("refused/kept-pod", 2567, 292),
    ("refused/kept-index", 2584, 421),
    ("refused/status", 44, 44),
    ("refused/suspend", 5888, 275),
    ("refused/backoff-limit", 17167, 468),
    ("refused/fail-job", 731, 31),
    ("refused/scale", 29924, 688),
    ("refused/deleted-in-background", 24518, 17569),
    ("refused/deleted-in-foreground", 57854, 40189),
    ("refused/deleted-leaving-pods", 129828, 104590),
    ("progress/recreation", 998, 67),
    ("progress/recreation-stale", 5828, 204),
];

#[test]
fn every_job_finishes_and_its_controller_becomes_idle() {
    let mut sizes = Vec::new();
    for scope in progress() {
        let found = explore(&scope, &Bounds::none(2));
        if let Outcome::Broken(found) = &found.outcome {
            let lines = lines(&scope, &found.path);
            let story: String = lines.iter().map(|line| format!("{} {}\n", line.who, line.what)).collect();
            panic!("{}: {}, {:?}:\n{story}", scope.name, found.why, found.cycle_start);
        }
        assert!(matches!(found.outcome, Outcome::Holds), "{}: {:?}", scope.name, found.outcome);
        sizes.push((scope.name, found.states, found.quiescent_states.unwrap()));
    }
    assert_eq!(sizes, SIZES);
}

/// Each fault ends with a restart or a retry. The number of faults is bounded, so they finally stop in every
/// behaviour.
#[test]
fn every_kind_of_fault_occurs_in_some_scope() {
    let scopes = progress();
    let some = |has: fn(&Scope) -> bool| scopes.iter().any(has);
    assert!(some(|it| it.faults.failures > 0) && some(|it| it.faults.losses > 0));
    assert!(some(|it| it.faults.crashes > 0) && some(|it| it.delayed_requests));
}

fn searched(scope: &Scope, bounds: &Bounds) -> Exploration {
    explore_for(scope, bounds, &|_| false)
}

/// L1: a terminating pod of a suspended Job terminates, and the Job finishes.
fn suspended_end() -> Scope {
    let mut scope = run_by_the_algorithm(named("suspend").unwrap(), 0);
    scope.user = vec![UserAction::DeletePod, UserAction::SUSPEND];
    scope.ticks = 0;
    for spec in &mut scope.jobs {
        spec.pod_replacement_policy = Some(PodReplacementPolicy::Failed);
    }
    scope
}

#[test]
fn a_cycle_can_be_repeated_forever() {
    let scope = suspended_end();
    assert!(matches!(searched(&scope, &Bounds::none(1)).outcome, Outcome::Holds));
    let mutations = Mutations::of(&[Mutation::FinishesSuspendedWithoutStartTime]);
    let wrong = scope.clone().with_mutations(mutations);
    let Outcome::Broken(found) = searched(&wrong, &Bounds::none(2)).outcome else { panic!() };
    let (prefix, cycle) = found.path.split_at(found.cycle_start.unwrap());
    assert!(!cycle.is_empty(), "the write is repeated: {found:?}");
    let walk = |world, steps: &[_]| {
        steps.iter().fold(world, |world: jobcheck_explorer::world::World, step| {
            assert!(world.enabled(&wrong).contains(step));
            world.apply(step, &wrong)
        })
    };
    let entry = walk(initial(&wrong), prefix);
    assert_eq!(walk(entry.clone(), cycle), entry);
}

/// A state that no step leaves is detected like a cycle.
#[test]
fn a_job_without_another_sync_is_found() {
    let mutant = Mutant::named("B35").unwrap();
    let Outcome::Broken(found) = searched(&mutant.scope(), &Bounds::none(1)).outcome else { panic!() };
    assert_eq!((found.req, found.cycle_start), (Some(Req::PC11), Some(found.path.len())), "{found:?}");
    assert!(found.why.starts_with("the Job is not finished"), "{}", found.why);
    assert!(matches!(searched(&mutant.sound_scope(), &Bounds::none(1)).outcome, Outcome::Holds));
}

/// KEP-2307 Deleted Jobs, FT-20: a Job that is deleted with propagation Orphan leaves no pod with the
/// finalizer.
#[test]
fn pods_that_lose_their_job_lose_their_finalizer() {
    let mutant = Mutant::named("B04b").unwrap();
    let lagging = run_by_the_algorithm(mutant.sound_scope(), 1);
    assert!(matches!(searched(&lagging, &Bounds::none(2)).outcome, Outcome::Holds));
    let Outcome::Broken(found) = searched(&mutant.scope(), &Bounds::none(2)).outcome else { panic!() };
    assert!(found.path.iter().any(|step| matches!(step, Step::Collect(..))), "{found:?}");
}

/// These scopes with a lag of one in both caches.
#[test]
fn every_job_finishes_whatever_other_actors_do() {
    for name in
        ["eviction-of-an-index", "lost-node-patient", "force-delete", "adoption", "lost-owner", "legacy-pods"]
    {
        let scope = run_by_the_algorithm(named(name).unwrap(), 1);
        if let Outcome::Broken(found) = searched(&scope, &Bounds::none(2)).outcome {
            panic!("{name}: {}: {:#?}", found.why, lines(&scope, &found.path));
        }
    }
}

#[test]
fn a_check_of_progress_that_reaches_a_limit_proves_nothing() {
    let scope = suspended_end();
    let cut = searched(&scope, &Bounds { max_states: Some(50), ..Bounds::none(1) });
    assert!(matches!(cut.outcome, Outcome::NotFinished(Cut::States)) && cut.quiescent_states.is_none());
    // The limit is reached when all states are in the store.
    let asked = std::sync::atomic::AtomicUsize::new(0);
    let stop = move || asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) > 0;
    let late = searched(&scope, &Bounds { stop: std::sync::Arc::new(stop), ..Bounds::none(1) });
    assert!(matches!(late.outcome, Outcome::NotFinished(Cut::Time)) && late.quiescent_states.is_none());
}
