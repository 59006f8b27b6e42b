//! Options of a validation, and facts about the trace as a whole.

use std::collections::VecDeque;

use jobcheck_spec::Time;
use jobcheck_spec::apiserver::RuleSet;
use jobcheck_spec::constants::Constants;
use jobcheck_spec::gates::Gates;
use jobcheck_traces::{Mark, MarkKind};

use super::actor::{ActorId, Role};
use super::event::Event;
use super::observed::Observations;
use super::wanted::Wanted;

/// Number of long silences of an actor that are kept.
const SILENCES_KEPT: usize = 64;
/// A step back in time that no order of responses explains, in microseconds.
const REWIND: i64 = 60_000_000;
/// The reason while the trace has shown no pod yet.
pub const NO_PODS: &str = "the trace shows no pods";
/// A silence that may hide a restart (`docs/reference/judging.md`, *Hidden restarts*), in microseconds.
const SILENCE: i64 = 1_000_000;

/// Settings and facts that all Jobs share.
#[derive(Debug)]
pub struct Settings {
    /// The rules of the API server.
    pub rules: RuleSet,
    /// The constants of the Job controller.
    pub constants: Constants,
    /// The feature gates of the current process of the Job controller.
    pub gates: Gates,
    /// Keeps the last lines about each Job.
    pub keeps_story: bool,
    /// The Jobs that are reported.
    pub wanted: Wanted,
    /// The Jobs whose lives are kept.
    pub explained: Wanted,
    /// The form of the current event shows actors and refusals.
    pub has_actors: bool,
    /// The reason why the trace may not show every pod.
    pub pods_missing: Option<&'static str>,
    /// The progress of the controllers' caches, in a native trace.
    pub observations: Observations,
    /// The trace has shown a Job controller with a known name.
    pub named_controller: bool,
    silences: Vec<(ActorId, Silences)>,
    restarts: VecDeque<i64>,
}

#[derive(Debug, Default)]
struct Silences {
    /// The receipt of the first request.
    first: i64,
    last: i64,
    long: VecDeque<(i64, i64)>,
}

/// The evidence for a restart of the manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestartSign {
    /// A mark in the trace.
    Told,
    /// Only a silence of at least one second.
    Silence,
    /// None, since the form shows no requests.
    Unknown,
    /// None.
    None,
}

impl RestartSign {
    /// Returns `true` if a restart may be assumed.
    #[must_use]
    pub fn admits(self) -> bool {
        match self {
            RestartSign::Told | RestartSign::Silence | RestartSign::Unknown => true,
            RestartSign::None => false,
        }
    }

    /// The warning for a write that rests on this evidence.
    #[must_use]
    pub fn warning(self) -> Option<String> {
        match self {
            RestartSign::Told | RestartSign::None => None,
            RestartSign::Silence => Some(
                "BO-01: the pod is created before its delay has passed. Only a restart of the controller explains \
                 it, and the only sign of a restart is a silence of a second or more"
                    .to_owned(),
            ),
            RestartSign::Unknown => Some(
                "BO-01: the pod is created before its delay has passed. Only a restart of the controller explains \
                 it, and this form shows no restarts"
                    .to_owned(),
            ),
        }
    }
}

impl Settings {
    /// Settings for an API server and a Job controller.
    #[must_use]
    pub fn new(rules: RuleSet, constants: Constants, gates: Gates, keeps_story: bool) -> Settings {
        Settings {
            rules,
            constants,
            gates,
            keeps_story,
            wanted: Wanted::default(),
            explained: Wanted::default(),
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
        // Logs of several times may have been concatenated; each has silences of its own.
        let goes_back = silences.last - when.done > REWIND;
        silences.last = if goes_back { when.done } else { silences.last.max(when.done) };
    }

    /// SY-01: returns `true` if the sender may have been replaced before the response (`docs/reference/judging.md`,
    /// *Hidden restarts* and *In the explorer*). After a silence of at least a second, its successor sent requests in
    /// the meantime; a process that waits for a response sends none.
    #[must_use]
    pub fn spans_silence(&self, event: &Event) -> bool {
        let (Some(actor), Some(when)) = (event.actor, event.when) else { return false };
        let Some((_, silences)) = self.silences.iter().find(|(known, _)| *known == actor) else {
            return false;
        };
        // The actor was silent before its first request, too.
        let before = std::iter::once((i64::MIN, silences.first));
        let mut all = silences.long.iter().copied().chain(before);
        all.any(|(from, to)| to < when.done && to - from.max(when.received) >= SILENCE)
    }

    /// Notes a restart mark.
    pub fn restarted(&mut self, when: Option<i64>) {
        if self.restarts.len() == SILENCES_KEPT {
            self.restarts.pop_front();
        }
        self.restarts.push_back(when.unwrap_or(i64::MAX));
    }

    /// Notes that another process took over, perhaps with other feature gates.
    ///
    /// # Errors
    ///
    /// The mark assumes something other than feature gates of a Job controller.
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

    /// The evidence for a restart between the last failure and this write.
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
