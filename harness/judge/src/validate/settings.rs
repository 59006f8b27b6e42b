//! What a validation is told, and what it knows of the trace as a whole.

use std::collections::VecDeque;

use jobcheck_spec::Time;
use jobcheck_spec::apiserver::RuleSet;
use jobcheck_spec::constants::Constants;
use jobcheck_spec::gates::Gates;
use jobcheck_traces::{Mark, MarkKind};

use super::actor::{ActorId, Role};
use super::event::Event;
use super::observed::Observations;

/// Silences of the manager that are remembered.
const SILENCES_KEPT: usize = 64;
/// A step back in time that no order of answers explains, in microseconds.
const REWIND: i64 = 60_000_000;
/// Nothing was said of any pod so far.
pub const NO_PODS: &str = "the trace shows no pods";
/// A silence that may hide a restart (judging.md 1), in microseconds.
const SILENCE: i64 = 1_000_000;

/// Settings and knowledge that all Jobs share.
#[derive(Debug)]
pub struct Settings {
    /// The API server's rules.
    pub rules: RuleSet,
    /// The subject's constants.
    pub constants: Constants,
    /// The feature gates of the Job controller's process.
    pub gates: Gates,
    /// Whether the last lines of each Job's story are kept.
    pub keeps_story: bool,
    /// Whether the current event's form shows actors and refusals.
    pub has_actors: bool,
    /// Why the trace cannot be trusted to show every pod.
    pub pods_missing: Option<&'static str>,
    /// What controllers had seen, as a native trace tells.
    pub observations: Observations,
    /// Whether a Job controller by name has been seen.
    pub named_controller: bool,
    silences: Vec<(ActorId, Silences)>,
    restarts: VecDeque<i64>,
}

#[derive(Debug, Default)]
struct Silences {
    /// When the first request was received.
    first: i64,
    last: i64,
    long: VecDeque<(i64, i64)>,
}

/// Whether something hints at a restart of the manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestartSign {
    /// The trace says so.
    Told,
    /// Nothing but a silence of at least one second does.
    Silence,
    /// The form shows no requests, so it cannot be told.
    Unknown,
    /// Nothing.
    None,
}

impl RestartSign {
    /// Whether a restart may be assumed.
    #[must_use]
    pub fn admits(self) -> bool {
        match self {
            RestartSign::Told | RestartSign::Silence | RestartSign::Unknown => true,
            RestartSign::None => false,
        }
    }

    /// What to warn of.
    #[must_use]
    pub fn warning(self) -> Option<String> {
        match self {
            RestartSign::Told | RestartSign::None => None,
            RestartSign::Silence => Some(
                "BO-01: the pod is created before its delay is over; only a restart of the controller explains \
                 it, and nothing but its silence of a second or more hints at one"
                    .to_owned(),
            ),
            RestartSign::Unknown => Some(
                "BO-01: the pod is created before its delay is over; only a restart of the controller, which \
                 this form does not show, explains it"
                    .to_owned(),
            ),
        }
    }
}

impl Settings {
    /// Settings for a subject.
    #[must_use]
    pub fn new(rules: RuleSet, constants: Constants, gates: Gates, keeps_story: bool) -> Settings {
        Settings {
            rules,
            constants,
            gates,
            keeps_story,
            has_actors: true,
            pods_missing: Some(NO_PODS),
            observations: Observations::default(),
            named_controller: false,
            silences: Vec::new(),
            restarts: VecDeque::new(),
        }
    }

    /// Notes a request of an actor, in the order of the trace.
    pub fn heard(&mut self, event: &Event) {
        let (Some(actor), Some(when)) = (event.actor, event.when) else { return };
        let silences = match self.silences.iter().position(|(known, _)| *known == actor) {
            Some(position) => &mut self.silences[position].1,
            None => {
                self.silences.push((
                    actor,
                    Silences { first: when.received, last: when.received, long: VecDeque::new() },
                ));
                return;
            }
        };
        if when.received - silences.last >= SILENCE {
            if silences.long.len() == SILENCES_KEPT {
                silences.long.pop_front();
            }
            silences.long.push_back((silences.last, when.received));
        }
        // Logs of several times may have been put together: each is heard on its own.
        let goes_back = silences.last - when.done > REWIND;
        silences.last = if goes_back { when.done } else { silences.last.max(when.done) };
    }

    /// SY-01: whether the process that sent this may have been replaced before it was answered (judging.md 1 and 6). Its
    /// successor was heard of in the meantime, after a silence of a second or more: no process waits for an answer and
    /// goes on as if there were none.
    #[must_use]
    pub fn spans_silence(&self, event: &Event) -> bool {
        let (Some(actor), Some(when)) = (event.actor, event.when) else { return false };
        let Some((_, silences)) = self.silences.iter().find(|(known, _)| *known == actor) else {
            return false;
        };
        // Before its first request the actor was silent, too.
        let before = std::iter::once((i64::MIN, silences.first));
        let mut all = silences.long.iter().copied().chain(before);
        all.any(|(from, to)| to < when.done && to - from.max(when.received) >= SILENCE)
    }

    /// The trace says that a controller was restarted.
    pub fn restarted(&mut self, when: Option<i64>) {
        if self.restarts.len() == SILENCES_KEPT {
            self.restarts.pop_front();
        }
        self.restarts.push_back(when.unwrap_or(i64::MAX));
    }

    /// A process took over, perhaps with other feature gates.
    ///
    /// # Errors
    ///
    /// The mark assumes something else of a Job controller than its gates.
    pub fn takes_over(&mut self, mark: &Mark) -> Result<(), String> {
        let MarkKind::Restart { actor, assume } = &mark.kind else { return Ok(()) };
        if Role::named(actor).is_none_or(|role| role == Role::JobController) {
            for (gate, on) in assume {
                let on =
                    on.parse().map_err(|_| format!("assume.{gate}: expected true or false, found {on:?}"))?;
                let expected =
                    || format!("expected a feature gate of the Job controller, found assume.{gate}");
                self.gates = self.gates.with(gate, on).ok_or_else(expected)?;
            }
        }
        Ok(())
    }

    /// What hints at a restart between the last failure and this write.
    #[must_use]
    pub fn restart_sign(&self, event: &Event, last_failure: Option<Time>) -> RestartSign {
        if !self.restarts.is_empty() {
            return RestartSign::Told;
        }
        if !self.has_actors {
            return RestartSign::Unknown;
        }
        let failed = last_failure.map_or(i64::MIN / 2, |time| time.0.saturating_mul(1_000_000));
        let now = event.when.map_or(i64::MAX, |when| when.received);
        let silent =
            self.silences.iter().filter(|(actor, _)| Some(*actor) == event.actor).any(|(_, silences)| {
                silences.long.iter().any(|(from, to)| (*to).min(now) - (*from).max(failed) >= SILENCE)
            });
        if silent { RestartSign::Silence } else { RestartSign::None }
    }
}
