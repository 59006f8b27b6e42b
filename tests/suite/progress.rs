//! The reference algorithm brings every Job to its end, and each switch that keeps it from doing so is noticed.

use jobcheck_model::algorithm::scopes::run_by_the_algorithm;
use jobcheck_model::algorithm::switches::{Switch, Switches};
use jobcheck_model::env::user::UserAction;
use jobcheck_model::explore::story::tell;
use jobcheck_model::job::PodReplacementPolicy;
use jobcheck_model::mutants::Mutant;
use jobcheck_model::progress::check_progress;
use jobcheck_model::scope::{Algorithm, Scope};
use jobcheck_model::scopes::named;
use jobcheck_model::step::Step;

/// Scopes in which both caches lag by one, and the number of their worlds.
const SIZES: &[(&str, usize)] = &[
    ("non-indexed", 2492),
    ("full-lists", 4182),
    ("work-queue", 2302),
    ("indexed", 2475),
    ("backoff-limit", 183),
    ("backoff-delay", 9060),
    ("fail-job", 6443),
    ("success-policy", 2974),
    ("per-index", 6683),
    ("fail-index", 1828),
    ("suspend", 14609),
    ("deadline", 4498),
    ("ttl", 7286),
    ("stale-job", 3552),
    ("two-jobs", 2401),
];

#[test]
fn every_job_comes_to_its_end_and_the_controller_to_rest() {
    let mut sizes = Vec::new();
    for (name, _) in SIZES {
        let scope = run_by_the_algorithm(named(name).unwrap(), 1);
        let found = check_progress(&scope, 200_000).unwrap();
        if let Some(round) = &found.stuck {
            let story = |steps| {
                tell(&scope, steps)
                    .iter()
                    .map(|line| format!("{} {}\n", line.who, line.what))
                    .collect::<String>()
            };
            let whole = [&round.prefix[..], &round.cycle[..]].concat();
            panic!(
                "{name}: {} steps, and then for ever {}:\n{}",
                round.prefix.len(),
                round.cycle.len(),
                story(&whole)
            );
        }
        sizes.push((*name, found.states));
    }
    assert_eq!(sizes, SIZES);
}

/// A pod that terminates when its Job is suspended ends, and the Job with it (L1).
fn suspended_end() -> Scope {
    let mut scope = run_by_the_algorithm(named("suspend").unwrap(), 0);
    scope.user = vec![UserAction::DeletePod, UserAction::Suspend];
    scope.ticks = 0;
    for spec in &mut scope.jobs {
        spec.pod_replacement_policy = Some(PodReplacementPolicy::Failed);
    }
    scope
}

/// KEP-2307 Deleted Jobs, FT-20: a Job that is deleted so that its pods stay leaves none with the finalizer.
#[test]
fn pods_that_lose_their_job_lose_their_finalizer() {
    let mutant = Mutant::named("B04b").unwrap();
    let lagging = |scope: Scope| run_by_the_algorithm(scope, 1);
    assert_eq!(check_progress(&lagging(mutant.sound_scope()), 200_000).unwrap().stuck, None);
    let round = check_progress(&mutant.scope(), 200_000).unwrap().stuck.unwrap();
    assert!(round.prefix.iter().any(|step| matches!(step, Step::Collect(..))), "{round:?}");
}

/// Each of these scopes with both caches one behind, as above.
#[test]
fn whatever_others_do_every_job_comes_to_its_end() {
    for name in
        ["eviction-of-an-index", "lost-node-patient", "force-delete", "adoption", "lost-owner", "legacy-pods"]
    {
        let scope = run_by_the_algorithm(named(name).unwrap(), 1);
        let stuck = check_progress(&scope, 300_000).unwrap().stuck;
        let way = stuck.map(|round| [&round.prefix[..], &round.cycle[..]].concat());
        let told: Option<Vec<String>> = way
            .map(|way| tell(&scope, &way).iter().map(|line| format!("{} {}", line.who, line.what)).collect());
        assert_eq!(told, None, "{name}");
    }
}

fn with(scope: Scope, switch: Switch) -> Scope {
    let algorithm = Algorithm { switches: Switches::of(&[switch]), ..scope.algorithm.clone() };
    Scope { algorithm, ..scope }
}

#[test]
fn a_suspended_job_that_finishes_without_start_time_is_refused_for_ever() {
    let found = check_progress(&suspended_end(), 200_000).unwrap();
    assert_eq!(found.stuck, None);
    let wrong = with(suspended_end(), Switch::FinishesSuspendedWithoutStartTime);
    let round = check_progress(&wrong, 200_000).unwrap().stuck.unwrap();
    assert!(!round.cycle.is_empty(), "the write is tried again and again");
}

#[test]
fn an_index_that_is_completed_and_failed_is_refused_for_ever() {
    let mutant = Mutant::named("L2").unwrap();
    assert_eq!(check_progress(&mutant.sound_scope(), 200_000).unwrap().stuck, None);
    let round = check_progress(&mutant.scope(), 200_000).unwrap().stuck.unwrap();
    assert!(!round.cycle.is_empty(), "the write is tried again and again");
}
