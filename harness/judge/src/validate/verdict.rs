//! Verdicts and violations.

use std::fmt;

use jobcheck_spec::job::Text;
use jobcheck_spec::obligations::Obligation;
use jobcheck_spec::{Broken, Req, Uid};
use jobcheck_traces::Place;

use super::actor::ActorId;
use super::event::Event;
use super::life::Life;
use super::mirror::Profile;
use super::unlogged::Resting;
use jobcheck_projection::ProjectError;
use serde::{Deserialize, Serialize};

/// A record that the trace format accepts and the projection rejects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// The place of the record.
    pub place: Place,
    /// The problem.
    pub problem: String,
}

impl Unreadable {
    /// The error for an object with a field of a wrong type.
    #[must_use]
    pub fn object(place: Place, error: &ProjectError) -> Unreadable {
        Unreadable { place, problem: error.to_string() }
    }
}

/// The verdict on a Job or on a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Every judged write is admitted.
    Conforms,
    /// The trace does not decide.
    Inconclusive,
    /// A requirement is broken.
    Violates,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Outcome::Conforms => "conforms",
            Outcome::Inconclusive => "inconclusive",
            Outcome::Violates => "violates",
        })
    }
}

/// A line about a Job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Note {
    /// The record.
    pub place: Place,
    /// The end of the response, in microseconds, if the trace shows it.
    pub time: Option<i64>,
    /// The description.
    pub text: String,
}

impl Note {
    /// A line about the record of an event.
    #[must_use]
    pub fn on(event: &Event, text: String) -> Note {
        Note { place: event.place, time: event.when.map(|when| when.done), text }
    }
}

/// A broken requirement with its evidence.
#[derive(Clone, Debug)]
pub struct Violation {
    /// The false comparison.
    pub broken: Broken,
    /// The record that breaks it.
    pub place: Place,
    /// Position in the order of judgement.
    pub order: u64,
    /// The end of the response, in microseconds.
    pub done: Option<i64>,
    /// The `resourceVersion` of the write, if the trace shows it.
    pub version: Option<u64>,
    /// A description of the write.
    pub write: String,
    /// The sender of the request, if the trace shows it.
    pub actor: Option<ActorId>,
    /// The pods that the texts of the comparison name by their UIDs, with their names.
    pub names: Vec<(Uid, Text)>,
    /// The preceding lines about the Job.
    pub story: Vec<Note>,
    /// The state before the write.
    pub world: Vec<String>,
    /// The closest candidate views, with their lag and their objections.
    pub views: Vec<ViewRefusal>,
}

impl Violation {
    /// The description in place of a write, if an obligation is open at the end of the trace.
    pub const END: &str = "end of the trace";
    /// The description in place of a write, if a Job is compared with its copies.
    pub const BESIDE_COPIES: &str = "the Job beside its copies";
}

/// The reason why one candidate view does not explain a write.
#[derive(Clone, Debug)]
pub struct ViewRefusal {
    /// Number of Job events by which the Job cache lags behind.
    pub job_lag: u64,
    /// Number of pod events by which the Pod cache lags behind.
    pub pod_lag: u64,
    /// The guards that are false in this view.
    pub broken: Vec<Broken>,
}

impl ViewRefusal {
    /// The sum by which numbers differ; `None` if something else is false.
    #[must_use]
    pub fn distance(&self) -> Option<u64> {
        self.broken.iter().map(|broken| broken.excess().map(i64::unsigned_abs)).sum()
    }
}

impl Violation {
    /// The requirement.
    #[must_use]
    pub fn req(&self) -> Req {
        self.broken.req
    }

    /// The known deviation of the built-in controller, if it is one.
    #[must_use]
    pub fn known(&self) -> Option<Req> {
        self.broken.known
    }
}

/// An obligation that is open at the end of the trace.
#[derive(Clone, Copy, Debug)]
pub struct Owed {
    /// The requirement that demands it.
    pub req: Req,
    /// The kind of obligation.
    pub obligation: Obligation,
    /// The time since which it is open, in microseconds.
    pub since: Option<i64>,
}

/// The verdict on one Job.
#[derive(Clone, Debug)]
pub struct JobVerdict {
    /// `namespace/name`.
    pub job: String,
    /// UID.
    pub uid: String,
    /// `spec.managedBy`.
    pub managed_by: Option<String>,
    /// The profile of its manager.
    pub profile: &'static str,
    /// The verdict.
    pub outcome: Outcome,
    /// Counts in the last status that the pods do not justify, as sentences.
    pub contradictions: Vec<String>,
    /// The first pods whose finalizer must still be removed at the end, with their names.
    pub holding: Vec<(Uid, Text)>,
    /// Its life, if it is explained.
    pub life: Option<Box<Life>>,
    /// The last event, in microseconds.
    pub last: Option<i64>,
    /// Number of writes on which a guard was evaluated.
    pub judged: u64,
    /// The violations, in order. The first one is the verdict; later ones may be consequences.
    pub violations: Vec<Violation>,
    /// Reasons why the verdict is inconclusive.
    pub doubts: Vec<String>,
    /// Writes that only an assumption without a sign explains. `--strict` counts them as violations.
    pub reservations: Vec<Note>,
    /// Broken recommendations.
    pub warnings: Vec<Note>,
    /// The open obligations.
    pub owed: Vec<Owed>,
}

impl JobVerdict {
    /// The namespace of the Job.
    pub(super) fn namespace(&self) -> &str {
        self.job.split_once('/').map_or("", |(namespace, _)| namespace)
    }

    /// Withdraws some violations for this reason. Returns `false` if there is none.
    pub(super) fn withdraw(&mut self, reason: &str, concerns: &dyn Fn(&Violation, Resting) -> bool) -> bool {
        let is_executed = self.profile.starts_with(Profile::Executor.name());
        let before = self.violations.len();
        let resting = |it: &Violation| Resting { req: it.req(), party: it.req().entry().binds, is_executed };
        self.violations.retain(|it| !concerns(it, resting(it)));
        if self.violations.len() == before {
            return false;
        }
        self.doubts.push(reason.to_owned());
        if self.violations.is_empty() {
            self.outcome = Outcome::Inconclusive;
        }
        true
    }
}
