//! The data of a report. The JSON has the same field names in camel case.

use std::collections::BTreeMap;

use jobcheck_traces::Place;
use serde::Serialize;

use super::id::Id;
use crate::validate::{Outcome, Unlisted};

/// `apiVersion` of the reports.
pub const API_VERSION: &str = "jobcheck.dev/v1";

/// The exit of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Exit {
    /// 0: everything judged conforms.
    Conforms,
    /// 1: a requirement is violated.
    Violates,
    /// 2: an input or the command line cannot be read.
    Unreadable,
    /// 3: the trace does not decide.
    Inconclusive,
    /// 4: the environment lacks something that the program needs.
    Environment,
    /// 5: a bug of this program.
    Internal,
}

impl Exit {
    /// The exit code of the process.
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

    /// The exit of several traces: the first that occurs of 5, 4, 2, 1, 3, 0 (`docs/reference/judging.md`, Exit codes).
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

/// The verdicts on all traces of a replay.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplayReport {
    /// [`API_VERSION`].
    pub api_version: &'static str,
    /// `ReplayReport`.
    pub kind: &'static str,
    /// The worst verdict on the readable part.
    pub verdict: Outcome,
    /// The exit code after the options and the errors are considered: the first that occurs of 5, 4, 2, 1, 3, 0.
    pub exit_code: Exit,
    /// Number of writes on which a guard was evaluated.
    pub judged_writes: u64,
    /// Number of events.
    pub events: u64,
    /// The traces.
    pub traces: Vec<TraceReport>,
    /// The Jobs of all traces that are listed.
    pub jobs: Vec<JobReport>,
    /// The others.
    #[serde(skip_serializing_if = "Unlisted::is_empty")]
    pub unlisted: Unlisted,
    /// The requirements, by whether they were judged.
    pub requirements: Requirements,
    /// Reasons why selected requirements could not be judged.
    pub doubts: Vec<String>,
    /// The inputs.
    pub inputs: Vec<InputReport>,
    /// The errors of unreadable inputs.
    pub errors: Vec<InputError>,
}

/// The verdict on one trace.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TraceReport {
    /// The inputs of the trace.
    pub files: Vec<String>,
    /// The minor version of the rules, such as `1.36`.
    pub kubernetes: String,
    /// Assumptions that differ from the defaults of this version, from `--assume` or the header of the trace.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub assumed: BTreeMap<String, String>,
    /// The verdict on the readable part.
    pub verdict: Outcome,
    /// The exit code after the options and the errors are considered.
    pub exit_code: Exit,
    /// Number of writes on which a guard was evaluated.
    pub judged_writes: u64,
    /// Number of events.
    pub events: u64,
    /// The trace shows actors and refusals.
    pub shows_actors: bool,
    /// Reasons why the trace as a whole is inconclusive.
    pub doubts: Vec<String>,
    /// The Jobs that are counted only.
    #[serde(skip_serializing_if = "Unlisted::is_empty")]
    pub unlisted: Unlisted,
    /// Position of the first Job in [`ReplayReport::jobs`], and number of Jobs.
    #[serde(skip)]
    pub jobs: (usize, usize),
    /// Position of the first input in [`ReplayReport::inputs`], and number of inputs.
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
    /// The profile of its manager, which decides the rules that bind it: `executor`, `mirror` or `aggregate`.
    pub profile: &'static str,
    /// The verdict.
    pub verdict: Outcome,
    /// The exit after the options are considered.
    #[serde(skip)]
    pub exit: Exit,
    /// Number of writes on which a guard was evaluated.
    pub judged_writes: u64,
    /// The inputs that show the Job.
    pub files: Vec<String>,
    /// Its life, if it is explained.
    pub life: Option<Life>,
    /// Counts in the last status that the pods do not justify, as sentences.
    pub contradictions: Vec<String>,
    /// The violations, in order. The first one is the verdict; later ones may be consequences.
    pub violations: Vec<Finding>,
    /// Reasons why the verdict is, or without a violation would be, inconclusive.
    pub doubts: Vec<String>,
    /// Broken recommendations, and writes that only a silence explains.
    pub warnings: Vec<Line>,
    /// Obligations that are open at the end of the trace.
    pub pending: Vec<Pending>,
}

/// A violation with its evidence.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// The requirement; `None` for a warning without one that `--strict` counts.
    pub requirement: Option<Id>,
    /// Aliases of the requirement, and other ids of the same fact.
    pub also: Vec<&'static str>,
    /// The known deviation of the built-in controller, if it is one.
    pub known: Option<Id>,
    /// `MUST` or `SHOULD`.
    pub level: &'static str,
    /// The place in the trace.
    #[serde(flatten)]
    pub place: FoundAt,
    /// The difference.
    #[serde(flatten)]
    pub difference: Difference,
    /// The requirement in one sentence.
    pub sentence: &'static str,
    /// The source of the requirement.
    pub source: &'static str,
    /// The pods that the texts mention.
    pub pods: Vec<PodName>,
    /// Advice, such as the versions and the workaround of a known deviation.
    pub help: Vec<String>,
    /// Commands that show the objects on the cluster, or help at once.
    pub next: Vec<String>,
    /// The page about the requirement or the deviation.
    pub page: String,
    /// The evidence.
    #[serde(flatten)]
    pub evidence: Evidence,
}

/// The place of a finding.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FoundAt {
    /// The input.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<u64>,
    /// The end of the response, as RFC 3339, if the trace shows it.
    pub time: Option<String>,
    /// The sender of the request, if the trace shows it.
    pub actor: Option<Sender>,
}

/// The difference between a write and what the requirement accepts.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Difference {
    /// A description of the write.
    pub write: String,
    /// The compared quantity.
    pub what: String,
    /// The nearest accepted value.
    pub expected: String,
    /// The value in the write.
    pub found: String,
}

/// The evidence for a finding.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    /// The preceding events of the Job.
    pub story: Vec<Line>,
    /// The state before the write: the Job's status, then its pods.
    pub world: Vec<String>,
    /// The closest candidate views, with the guards that are false in each.
    pub views: Vec<View>,
}

/// The life of a Job.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Life {
    /// The events that matter for the counts, in order.
    pub events: Vec<Line>,
    /// Number of events that were left out because there were too many.
    pub left_out: u64,
    /// The pods, in the order of their appearance.
    pub pods: Vec<PodFate>,
}

/// The end of a pod, and its counts.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodFate {
    /// Name, or UID if the trace does not show the name.
    pub pod: String,
    /// UID.
    pub uid: String,
    /// Completion index.
    pub index: Option<u32>,
    /// The last phase.
    pub phase: String,
    /// It was marked for deletion.
    pub deleted: bool,
    /// It is gone.
    pub gone: bool,
    /// The counters that it was added to, `succeeded` or `failed`, each with the status write.
    pub counted: Vec<Line>,
}

/// The sender of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Sender {
    /// The user name.
    pub user: String,
    /// The part of the user agent that names the controller or the program.
    pub agent: Option<String>,
}

/// A pod by its names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodName {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// UID.
    pub uid: String,
}

/// A line of an input, with a description.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Line {
    /// The input.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<u64>,
    /// The end of the response, as RFC 3339, if the trace shows it.
    pub time: Option<String>,
    /// The description.
    pub text: String,
}

/// The reason why one candidate view does not explain a write.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct View {
    /// Number of Job events by which the Job cache lags behind.
    pub job_lag: u64,
    /// Number of pod events by which the Pod cache lags behind.
    pub pod_lag: u64,
    /// The guards that are false in this view.
    pub broken: Vec<BrokenGuard>,
}

/// A guard that is false in a view.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BrokenGuard {
    /// The requirement.
    pub requirement: Id,
    /// The compared quantity.
    pub what: String,
    /// The nearest accepted value.
    pub expected: String,
    /// The value in the write.
    pub found: String,
}

/// An open obligation.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Pending {
    /// The requirement that demands it.
    pub requirement: Id,
    /// The expected event.
    pub what: String,
    /// The time since which it is open, as RFC 3339.
    pub since: Option<String>,
    /// The first pods that it concerns.
    pub pods: Vec<PodName>,
}

/// Requirements by whether a trace reached them.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Requirements {
    /// The judged requirements, with the number of Jobs that met the premise.
    pub judged: BTreeMap<Id, u64>,
    /// Requirements that this form can decide, but whose premise no Job met.
    pub premise_never_met: Vec<Id>,
    /// Requirements that only another form can decide.
    pub not_decidable: Vec<Id>,
}

/// Facts about an input.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InputReport {
    /// Its name.
    pub file: String,
    /// `audit log`, `watch stream`, or `native trace`; `None` if it was not recognised.
    pub form: Option<&'static str>,
    /// Number of lines.
    pub lines: u64,
    /// Number of bytes, uncompressed.
    pub bytes: u64,
    /// Number of records of Jobs and Pods.
    pub records: u64,
    /// Number of skipped documents.
    pub skipped: u64,
}

/// The error of an unreadable input.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InputError {
    /// The input.
    pub file: String,
    /// The line, from 1.
    pub line: Option<u64>,
    /// The message, without the place.
    pub message: String,
    /// The expected content.
    pub expected: Option<String>,
    /// The content that was found.
    pub found: Option<String>,
    /// The input is judged behind the line, too. Otherwise it ends there.
    pub reads_on: bool,
}

impl InputError {
    /// The input, and the line if there is one, as `audit.log:17`.
    #[must_use]
    pub fn place(&self) -> String {
        self.place_in(&self.file)
    }

    /// The same with another name of the input.
    #[must_use]
    pub fn place_in(&self, file: &str) -> String {
        self.line.map_or_else(|| file.to_owned(), |line| format!("{file}:{line}"))
    }
}

/// The name of the input and the line of a place; `None` for line 0, which is no place.
pub(super) fn named(place: Place, names: &[String]) -> (Option<String>, Option<u64>) {
    if place.line == 0 {
        return (None, None);
    }
    (names.get(place.file as usize).cloned(), Some(place.line))
}
