//! Counterexamples as text: a line for each step.

use crate::check::Counterexample;
use crate::executor::Move;
use crate::flat::{COMPLETE, FAILED, FAILURE_TARGET, Flat, KINDS, SUCCESS_CRITERIA_MET, SUSPENDED};
use crate::scope::Scope;
use crate::step::{Call, Step};
use crate::world::World;

/// The steps of a path.
#[must_use]
pub fn steps(scope: &Scope, path: &[Step]) -> Vec<String> {
    let apply = |world: &World, step: &Step| world.apply(step, scope);
    along(path, World::initial(scope), apply, |step, before, after| line(step, before, after, scope))
}

/// A line for each step of a path from this state, by the states before and after the step.
pub(crate) fn along<S, T>(
    path: &[T],
    mut state: S,
    apply: impl Fn(&S, &T) -> S,
    line: impl Fn(&T, &S, &S) -> String,
) -> Vec<String> {
    let next_line = |step| {
        let next = apply(&state, step);
        let before = std::mem::replace(&mut state, next);
        line(step, &before, &state)
    };
    path.iter().map(next_line).collect()
}

/// The steps of a counterexample, and what it breaks.
#[must_use]
pub fn lines(scope: &Scope, found: &Counterexample) -> Vec<String> {
    found.in_words(|path| steps(scope, path)).lines()
}

impl Counterexample<String> {
    /// The steps, and what they break. The beginning of a cycle is marked.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut lines = self.path.clone();
        match self.cycle_start {
            Some(start) if start == lines.len() => lines.push("nothing more has to happen".to_owned()),
            Some(start) => lines.insert(start, "from here the steps repeat:".to_owned()),
            None => {}
        }
        lines.push(format!("broken: {}", self.why));
        lines
    }
}

fn line(step: &Step, before: &World, after: &World, scope: &Scope) -> String {
    let copy =
        |world: &World, worker: usize| world.workers[worker].copy.map(|it| it.status).unwrap_or_default();
    match step {
        Step::Request(_, call) => request(*call, before, after),
        Step::Execute(worker, it) => {
            let whose = if before.own_copies().any(|(own, _)| own == *worker) {
                "the copy"
            } else {
                "the former copy"
            };
            let statuses = [before, after].map(|world| copy(world, *worker));
            executed(*it, &statuses, whose, &place(*worker, scope))
        }
        Step::Assign(worker) => format!("the dispatcher chooses {}", name(*worker, scope)),
        Step::Evict => "the dispatcher takes the Job away".to_owned(),
        Step::Suspend(true) => "the user suspends the Job".to_owned(),
        Step::Suspend(false) => "the user resumes the Job".to_owned(),
        Step::Delete => "the user deletes the Job".to_owned(),
        Step::Recreate => "the user creates the Job again under its name".to_owned(),
        Step::SetCondition => "another actor sets its condition on the Job".to_owned(),
        Step::DeleteCopy(worker) => format!("somebody deletes the copy{}", place(*worker, scope)),
        Step::CreateStranger(worker) => {
            format!("somebody creates a Job of the same name{}", place(*worker, scope))
        }
        Step::Expire => "the Job expires".to_owned(),
        Step::ExpireCopy(worker) => format!("the copy expires{}", place(*worker, scope)),
        Step::Disconnect(worker) => format!("{} becomes unreachable", name(*worker, scope)),
        Step::Reconnect(worker) => format!("{} is reachable again", name(*worker, scope)),
        Step::Crash => "the manager crashes, and starts again".to_owned(),
    }
}

/// A step of the executor of a copy, whose status was the first and is the second.
pub(crate) fn executed(it: Move, statuses: &[Flat; 2], whose: &str, at: &str) -> String {
    if it == Move::Create {
        return format!("a pod of {whose} is created{at}");
    }
    let shown = changes(&statuses[0], &statuses[1]);
    let what = if shown.is_empty() { format!("{it:?}") } else { shown };
    format!("the executor{at} writes the status of {whose}: {what}")
}

fn request(call: Call, before: &World, after: &World) -> String {
    match call {
        Call::Write if before.local == after.local => {
            format!("the manager writes the status, and {}", in_vain(before, after))
        }
        Call::Write => {
            let status = |world: &World| world.local.map(|local| local.status).unwrap_or_default();
            format!("the manager writes the status: {}", changes(&status(before), &status(after)))
        }
        Call::Create(_) => "the manager creates the copy".to_owned(),
        Call::Suspend(worker) => {
            let suspended = after.workers[worker].copy.is_some_and(|copy| copy.suspended);
            format!("the manager {} the copy", if suspended { "suspends" } else { "resumes" })
        }
        Call::Delete(_) => "the manager deletes the copy".to_owned(),
        Call::Release(_) => "the manager removes its finalizer".to_owned(),
    }
}

/// Why a status write has changed nothing.
fn in_vain(before: &World, after: &World) -> &'static str {
    match before.local {
        None => "the Job is gone (404)",
        local if before.manager.local != Some(local) => "the Job has changed meanwhile (409)",
        Some(_) if after.history.refused > 0 => "the API server refuses it (422)",
        Some(_) => "nothing changes",
    }
}

fn name(worker: usize, scope: &Scope) -> String {
    if scope.workers == 1 { "the worker".to_owned() } else { format!("worker {worker}") }
}

fn place(worker: usize, scope: &Scope) -> String {
    if scope.workers == 1 { String::new() } else { format!(" on worker {worker}") }
}

/// The fields that differ, with their new values. A `completionTime` that belongs to Complete is left out.
pub(crate) fn changes(old: &Flat, new: &Flat) -> String {
    let number = |what: &str, old: u8, new: u8| (old != new).then(|| format!("{what} {new}"));
    let time = |what: &str, old: u8, new: u8| match (old != new, new) {
        (false, _) => None,
        (true, 0) => Some(format!("no {what}")),
        (true, at) => Some(format!("{what} {at}")),
    };
    let mut parts = vec![
        time("startTime", old.start, new.start),
        number("active", old.active, new.active),
        number("terminating", old.terminating, new.terminating),
        number("recorded successes", old.recorded, new.recorded),
        number("succeeded", old.succeeded, new.succeeded),
        number("failed", old.failed, new.failed),
    ];
    for kind in [SUSPENDED, SUCCESS_CRITERIA_MET, FAILURE_TARGET, COMPLETE, FAILED] {
        let name = KINDS[kind].as_str();
        parts.push(
            (old.is(kind) != new.is(kind))
                .then(|| format!("{name}={}", if new.is(kind) { "True" } else { "False" })),
        );
    }
    let belongs = (new.end > 0) == new.is(COMPLETE);
    parts.push(time("completionTime", old.end, new.end).filter(|_| !belongs));
    parts.push((old.other != new.other).then(|| "another condition".to_owned()));
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A write that changes nothing is refused, or is in conflict, or is accepted.
    #[test]
    fn a_write_in_vain_has_its_reason() {
        let scope = crate::scope::named("managers/plain").unwrap();
        let mut before = World::initial(&scope);
        before.manager.local = Some(before.local);
        assert_eq!(in_vain(&before, &before), "nothing changes");
        let mut refused = before.clone();
        refused.history.refused = 1;
        assert_eq!(in_vain(&before, &refused), "the API server refuses it (422)");
        let mut late = before.clone();
        late.manager.local = Some(None);
        assert_eq!(in_vain(&late, &refused), "the Job has changed meanwhile (409)");
        let gone = World { local: None, ..before };
        assert_eq!(in_vain(&gone, &gone), "the Job is gone (404)");
    }
}
