//! What a validation says.

use std::fmt;

use jobcheck_spec::{Broken, Req};
use jobcheck_traces::Place;
use serde::Serialize;

use jobcheck_projection::ProjectError;

/// A record that the formats accept and the projection does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// Where it stands.
    pub place: Place,
    /// What is wrong with it.
    pub problem: String,
}

impl Unreadable {
    /// An object with a field of a wrong type.
    #[must_use]
    pub fn object(place: Place, error: &ProjectError) -> Unreadable {
        Unreadable { place, problem: error.to_string() }
    }
}

/// The verdict on one Job, or on a whole trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Every judged write is allowed.
    Conforms,
    /// It cannot be told.
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

/// A broken requirement, with its evidence.
#[derive(Clone, Debug)]
pub struct Violation {
    /// The false comparison.
    pub broken: Broken,
    /// The record that broke it.
    pub place: Place,
    /// Its number in the order of judgement.
    pub order: u64,
    /// When it was answered, in microseconds.
    pub done: Option<i64>,
    /// The write, in words.
    pub write: String,
    /// What stood before it in the Job's story.
    pub story: Vec<(Place, String)>,
    /// The world before the write.
    pub world: Vec<String>,
    /// For each candidate view: how far behind it is, and what it refuses.
    pub views: Vec<ViewRefusal>,
}

/// Why one candidate view does not explain a write.
#[derive(Clone, Debug)]
pub struct ViewRefusal {
    /// How many Job events the Job cache lags behind.
    pub job_lag: u64,
    /// How many pod events the Pod cache lags behind.
    pub pod_lag: u64,
    /// The guards that were false.
    pub broken: Vec<Broken>,
}

impl Violation {
    /// The requirement.
    #[must_use]
    pub fn req(&self) -> Req {
        self.broken.req
    }

    /// The documented deviation of the built-in that it is.
    #[must_use]
    pub fn known(&self) -> Option<Req> {
        self.broken.known
    }
}

/// The kinds of obligations. Their texts are for people; the judge compares the kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obligation {
    /// Remove the finalizers of the pods of a Job that is gone.
    ReleaseOfDeletedJob,
    /// Delete an expired Job.
    DeleteExpiredJob,
    /// Remove the finalizers of the pods of a finished Job.
    ReleaseOfFinishedJob,
    /// Count terminated pods.
    Count,
    /// Create missing pods.
    Create,
    /// Delete surplus pods.
    DeleteSurplus,
    /// Report the numbers of living pods.
    Report,
    /// Write Failed.
    WriteFailed,
    /// Write Complete.
    WriteComplete,
    /// Write an interim condition.
    WriteInterim,
    /// Write FailureTarget after the deadline.
    FailAtDeadline,
    /// Delete the pods of a suspended Job.
    DeleteSuspended,
}

impl fmt::Display for Obligation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Obligation::ReleaseOfDeletedJob => "remove the tracking finalizer of the pods of the deleted Job",
            Obligation::DeleteExpiredJob => "delete the expired Job",
            Obligation::ReleaseOfFinishedJob => {
                "remove the tracking finalizer of the pods of the finished Job"
            }
            Obligation::Count => "count the terminated pods",
            Obligation::Create => "create the missing pods",
            Obligation::DeleteSurplus => "delete the surplus pods",
            Obligation::Report => "report active, ready, and terminating",
            Obligation::WriteFailed => {
                "write Failed: the Job is decided, and no pod is active or terminating"
            }
            Obligation::WriteComplete => {
                "write Complete: the Job is decided, and no pod is active or terminating"
            }
            Obligation::WriteInterim => "write the interim condition: the counts decide the Job",
            Obligation::FailAtDeadline => "write FailureTarget: the deadline passes",
            Obligation::DeleteSuspended => "delete the pods of the suspended Job",
        })
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
    /// Which rules bind its manager.
    pub profile: &'static str,
    /// The outcome.
    pub outcome: Outcome,
    /// Writes on which a guard was evaluated.
    pub judged: u64,
    /// Violations, in order; the first is the verdict, later ones may be its consequences.
    pub violations: Vec<Violation>,
    /// Why the outcome is inconclusive.
    pub doubts: Vec<String>,
    /// Broken advice, and explanations that only a silence supports.
    pub warnings: Vec<(Place, String)>,
    /// What still had to happen.
    pub owed: Vec<Owed>,
}
