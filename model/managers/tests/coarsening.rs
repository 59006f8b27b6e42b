//! The moves of a coarse executor admit every status that the executor scopes of the explorer reach.

use std::collections::HashSet;

use jobcheck_explorer::check::{Bounds, graph};
use jobcheck_explorer::scopes;
use jobcheck_explorer::world::JobState;
use jobcheck_managers::executor::{Move, Shown, Task};
use jobcheck_managers::flat::{Flat, KINDS};
use jobcheck_spec::job::{Job, JobStatus};

/// Numbers of the explored scopes.
const SMALL: &str = "scopes are small";

/// A status without what the model leaves out: `ready`, times, and the list of failed UIDs, which count as failed.
fn coarse(status: &JobStatus) -> Flat {
    let small = |count: i32| u8::try_from(count).expect(SMALL);
    let len = |list: &[jobcheck_spec::Uid]| u8::try_from(list.len()).expect(SMALL);
    let mut flat = Flat {
        active: small(status.active),
        terminating: small(status.terminating.unwrap_or(0)),
        reported: status.terminating.is_some(),
        succeeded: small(status.succeeded),
        failed: small(status.failed) + len(status.uncounted_failed()),
        recorded: len(status.uncounted_succeeded()),
        start: u8::from(status.start_time.is_some()),
        end: u8::from(status.completion_time.is_some()),
        ..Flat::default()
    };
    for (number, kind) in KINDS.iter().enumerate() {
        if let Some(condition) = status.condition(kind) {
            let is_true = condition.status == jobcheck_spec::job::ConditionStatus::True;
            flat.set(number, is_true, 1);
        }
    }
    flat
}

/// The status of a Job, and its pods that the status does not show.
fn shown(state: &JobState) -> Option<Shown> {
    let status = coarse(&state.job.as_ref()?.status);
    let pods = [status.living(), status.succeeded, status.recorded, status.failed];
    let counted: i8 = pods.into_iter().map(|count| i8::try_from(count).expect(SMALL)).sum();
    let created = i8::try_from(state.ghost.pods.len()).expect(SMALL);
    Some(Shown { status, hidden: created - counted })
}

fn task(job: &Job) -> Task {
    Task {
        completions: u8::try_from(job.spec.completions.unwrap_or(100)).expect(SMALL),
        parallelism: u8::try_from(job.spec.parallelism.unwrap_or(1)).expect(SMALL),
        pods_left: 9,
        suspended: job.spec.is_suspended(),
        deleting: false,
    }
}

/// Returns true if moves lead from one status to the other. The counters of the second bound the search.
fn leads_to(task: &Task, from: Shown, to: Shown) -> bool {
    let mut known = HashSet::from([from]);
    let mut open = vec![from];
    while let Some(shown) = open.pop() {
        if shown == to {
            return true;
        }
        for it in Move::ALL.into_iter().filter(|it| it.is_enabled(task, &shown)) {
            let next = it.apply(&shown, 1);
            let pods = |it: &Shown| {
                let shown = it.status.living() + it.status.succeeded + it.status.recorded + it.status.failed;
                i16::from(it.hidden) + i16::from(shown)
            };
            if pods(&next) <= pods(&to) && known.insert(next) {
                open.push(next);
            }
        }
    }
    false
}

/// A write of an executor: what it reads of the Job, whether more successes than `completions` are possible, and the
/// status before and after.
type Write = (u8, u8, bool, bool, Shown, Shown);

/// The writes of all behaviours of a scope.
fn writes(name: &str) -> HashSet<Write> {
    let scope = scopes::named(name).expect("the scope exists");
    let mut writes = HashSet::new();
    let exploration = graph(&scope, &Bounds::none(1), &mut |_, world, step, _| {
        let old = &world.job_states[0];
        let new = &world.apply(step, &scope).job_states[0];
        if let (Some(before), Some(after)) = (shown(old), shown(new))
            && let Some(job) = &old.job
            && before != after
        {
            let task = task(job);
            let may_exceed = !job.spec.replaces_only_failed();
            writes.insert((task.completions, task.parallelism, task.suspended, may_exceed, before, after));
        }
    });
    assert!(exploration.holds(), "{name}");
    writes
}

#[test]
fn every_status_of_the_executor_scopes_is_reached_by_moves() {
    let mut exceeding = 0;
    for name in [
        "non-indexed",
        "deleted-pods",
        "replace-failed",
        "replace-terminating",
        "suspend",
        "deadline",
        "backoff-limit",
    ] {
        let writes = writes(name);
        assert!(writes.len() > 50, "{name}: {} writes", writes.len());
        for (completions, parallelism, suspended, may_exceed, old, new) in writes {
            let task = Task { completions, parallelism, suspended, pods_left: 9, deleting: false };
            if new.status.succeeded + new.status.recorded > completions {
                assert!(may_exceed, "{name}: the moves leave out what only TerminatingOrFailed allows");
                exceeding += 1;
                continue;
            }
            assert!(leads_to(&task, old, new), "{name}: {task:?}\n{old:#?}\n{new:#?}");
        }
    }
    assert!(exceeding > 0, "no executor counts more successes than completions: the exception can go");
}
