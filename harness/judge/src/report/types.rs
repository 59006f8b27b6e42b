//! The report's data. Field names are those of its JSON, in camel case.

use std::collections::BTreeMap;

use jobcheck_traces::Place;
use serde::Serialize;

use super::id::Id;
use crate::validate::Outcome;

/// `apiVersion` of the reports.
pub const API_VERSION: &str = "jobcheck.dev/v1";

/// What a verdict means for whoever called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Exit {
    /// Everything judged is allowed: 0.
    Conforms,
    /// A requirement is broken: 1.
    Violates,
    /// An input, or the command line, cannot be read: 2.
    Unreadable,
    /// It cannot be told: 3.
    Inconclusive,
    /// Something that the program needs is missing: 4.
    Environment,
    /// A bug of this program: 5.
    Internal,
}

impl Exit {
    /// The process's exit code.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Exit::Conforms => 0,
            Exit::Violates => 1,
            Exit::Unreadable => 2,
            Exit::Inconclusive => 3,
            Exit::Environment => 4,
            Exit::Internal => 5,
        }
    }

    /// The exit of several: the first that occurs of 5, 4, 2, 1, 3, 0 (judging.md 5).
    #[must_use]
    pub fn of_all(exits: impl IntoIterator<Item = Exit>) -> Exit {
        let rank = |exit: &Exit| match exit {
            Exit::Internal => 5,
            Exit::Environment => 4,
            Exit::Unreadable => 3,
            Exit::Violates => 2,
            Exit::Inconclusive => 1,
            Exit::Conforms => 0,
        };
        exits.into_iter().max_by_key(rank).unwrap_or(Exit::Conforms)
    }
}

impl Serialize for Exit {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(self.code())
    }
}

/// What a replay comes to: the verdicts on all its traces together.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplayReport {
    /// [`API_VERSION`].
    pub api_version: &'static str,
    /// `ReplayReport`.
    pub kind: &'static str,
    /// The worst verdict on what could be read.
    pub verdict: Outcome,
    /// What the verdicts, the flags and the errors come to: the first that occurs of 5, 4, 2, 1, 3, 0.
    pub exit_code: Exit,
    /// Writes on which a guard was evaluated.
    pub judged_writes: u64,
    /// Events that were read.
    pub events: u64,
    /// The traces that the inputs are.
    pub traces: Vec<TraceReport>,
    /// The Jobs of all traces.
    pub jobs: Vec<JobReport>,
    /// Which requirements were judged.
    pub requirements: Requirements,
    /// Requirements that were asked for and could not be judged.
    pub doubts: Vec<String>,
    /// What was read.
    pub inputs: Vec<InputReport>,
    /// What could not be read.
    pub errors: Vec<InputError>,
}

/// The verdict on one trace: inputs that were merged.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TraceReport {
    /// The inputs.
    pub files: Vec<String>,
    /// The rules that were applied: `1.36`.
    pub kubernetes: String,
    /// The verdict on what could be read of them.
    pub verdict: Outcome,
    /// What the verdict, the flags and the errors come to.
    pub exit_code: Exit,
    /// Writes on which a guard was evaluated.
    pub judged_writes: u64,
    /// Events that were read.
    pub events: u64,
    /// Whether actors and refusals were shown.
    pub shows_actors: bool,
    /// Doubts about the trace as a whole.
    pub doubts: Vec<String>,
    /// How many there are, before it, in [`ReplayReport::jobs`], and how many of them are its own.
    #[serde(skip)]
    pub jobs: (usize, usize),
    /// The same of [`ReplayReport::inputs`].
    #[serde(skip)]
    pub inputs: (usize, usize),
}

impl ReplayReport {
    /// The Jobs of a trace.
    #[must_use]
    pub fn jobs_of(&self, trace: &TraceReport) -> &[JobReport] {
        let (from, count) = trace.jobs;
        self.jobs.get(from..from + count).unwrap_or_default()
    }

    /// The inputs of a trace.
    #[must_use]
    pub fn inputs_of(&self, trace: &TraceReport) -> &[InputReport] {
        let (from, count) = trace.inputs;
        self.inputs.get(from..from + count).unwrap_or_default()
    }

    /// The errors of a trace.
    pub fn errors_of<'a>(&'a self, trace: &'a TraceReport) -> impl Iterator<Item = &'a InputError> {
        self.errors.iter().filter(|error| trace.files.contains(&error.file))
    }
}

/// The verdict on one Job.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JobReport {
    /// `NAMESPACE/NAME`.
    pub job: String,
    /// UID.
    pub uid: String,
    /// `spec.managedBy`.
    pub managed_by: Option<String>,
    /// Which rules bind its manager: `executor` or `mirror`.
    pub profile: &'static str,
    /// The verdict.
    pub verdict: Outcome,
    /// What the verdict and the flags come to.
    #[serde(skip)]
    pub exit: Exit,
    /// Writes on which a guard was evaluated.
    pub judged_writes: u64,
    /// The inputs that show the Job.
    pub files: Vec<String>,
    /// Violations, in order; the first is the verdict, later ones may be its consequences.
    pub violations: Vec<Finding>,
    /// Why the verdict is inconclusive, or would be.
    pub doubts: Vec<String>,
    /// Broken advice, and explanations that only a silence supports.
    pub warnings: Vec<Line>,
    /// What still had to happen when the trace ended.
    pub pending: Vec<Pending>,
}

/// A broken requirement.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// The requirement; none where `--strict` turned a warning without one into a violation.
    pub requirement: Option<Id>,
    /// Other ids of the same fact.
    pub also: Vec<&'static str>,
    /// The documented deviation of the built-in that it is.
    pub known: Option<Id>,
    /// `MUST` or `SHOULD`.
    pub level: &'static str,
    /// The input that shows it.
    pub file: Option<String>,
    /// The line.
    pub line: Option<u64>,
    /// The write, in words.
    pub write: String,
    /// What was compared.
    pub what: String,
    /// The nearest value that would have been accepted.
    pub expected: String,
    /// What the write holds.
    pub found: String,
    /// The requirement in one sentence.
    pub sentence: &'static str,
    /// Where the requirement comes from.
    pub source: &'static str,
    /// What stood before the write in the Job's story.
    pub story: Vec<Line>,
    /// The world before the write.
    pub world: Vec<String>,
    /// The candidate views that come closest, and what each of them refuses.
    pub views: Vec<View>,
}

/// A line of an input, with words about it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Line {
    /// The input.
    pub file: Option<String>,
    /// The line.
    pub line: Option<u64>,
    /// What it shows.
    pub text: String,
}

/// Why one candidate view does not explain a write.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct View {
    /// How many Job events the Job cache lags behind.
    pub job_lag: u64,
    /// How many pod events the Pod cache lags behind.
    pub pod_lag: u64,
    /// The guards that are false in it.
    pub broken: Vec<BrokenGuard>,
}

/// A guard that is false in a view.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BrokenGuard {
    /// The requirement.
    pub requirement: Id,
    /// What was compared.
    pub what: String,
    /// The nearest value that would have been accepted.
    pub expected: String,
    /// What the write holds.
    pub found: String,
}

/// Something that still had to happen.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Pending {
    /// The requirement that asks for it.
    pub requirement: Id,
    /// What.
    pub what: String,
    /// Since when, as RFC 3339.
    pub since: Option<String>,
}

/// Which requirements a trace reached.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Requirements {
    /// The number of Jobs in which the premise of each was met.
    pub judged: BTreeMap<Id, u64>,
    /// Those that this form can decide, and whose premise no Job met.
    pub premise_never_met: Vec<Id>,
    /// Those that another form could decide and this one cannot.
    pub not_decidable: Vec<Id>,
}

/// What was read of an input.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InputReport {
    /// Its name.
    pub file: String,
    /// `audit log`, `watch stream` or `native trace`; none where nothing was recognised.
    pub form: Option<&'static str>,
    /// Lines read.
    pub lines: u64,
    /// Bytes read, unpacked.
    pub bytes: u64,
    /// Records of Jobs and Pods.
    pub records: u64,
    /// Documents about something else.
    pub skipped: u64,
}

/// Why an input could not be read to its end.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InputError {
    /// The input.
    pub file: String,
    /// The line.
    pub line: Option<u64>,
    /// The whole message, without the place.
    pub message: String,
    /// What was expected there.
    pub expected: Option<String>,
    /// What stands there.
    pub found: Option<String>,
}

/// A place by name; a line of 0 is none.
pub(super) fn named(place: Place, names: &[String]) -> (Option<String>, Option<u64>) {
    if place.line == 0 {
        return (None, None);
    }
    (names.get(place.file as usize).cloned(), Some(place.line))
}
