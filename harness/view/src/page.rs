//! The data of a page. The script reads it as JSON with the same names in camel case.

use std::collections::{BTreeMap, HashMap};

use jobcheck_judge::report::{Finding, Line, Pending};
use jobcheck_judge::validate::Outcome;
use serde::Serialize;

/// A page.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Page {
    /// The version of jobcheck.
    pub version: &'static str,
    /// The worst verdict.
    pub verdict: Outcome,
    /// The names of all inputs, in the order of the traces.
    pub files: Vec<String>,
    /// The traces.
    pub traces: Vec<Trace>,
    /// The senders of requests.
    pub actors: Vec<String>,
    /// The names of the fields that the steps change.
    pub fields: Vec<String>,
    /// The Jobs: those with a violation first.
    pub jobs: Vec<Job>,
    /// The Jobs and pods that the steps concern.
    pub objects: Vec<Object>,
    /// The steps of all Jobs, trace by trace.
    pub steps: Vec<Step>,
    /// The texts of the requirements that the page names, by their ids.
    pub rules: BTreeMap<String, Rule>,
    /// Reasons why something was not read or not judged.
    pub notes: Vec<String>,
    /// The number of steps that the page leaves out.
    pub left_out: usize,
    /// The positions of the names in [`Page::fields`].
    #[serde(skip)]
    pub(crate) known_fields: HashMap<String, usize>,
}

/// A trace.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Trace {
    /// `manager`, `worker 1`, …, or nothing.
    pub role: String,
    /// The positions of its inputs in [`Page::files`].
    pub files: Vec<usize>,
    /// The rules that were applied, such as `1.36`.
    pub kubernetes: String,
    /// The verdict.
    pub verdict: Outcome,
}

/// A Job.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Job {
    /// `NAMESPACE/NAME`.
    pub job: String,
    /// UID.
    pub uid: String,
    /// The position of its trace in [`Page::traces`].
    pub trace: usize,
    /// The Jobs of other clusters that have its name.
    pub beside: Vec<usize>,
    /// Its name among Jobs of one name, if it is on a worker: `the copy`, or `copy 2`.
    pub label: String,
    /// `executor`, `mirror` or `aggregate`.
    pub profile: &'static str,
    /// `spec.managedBy`.
    pub managed_by: Option<String>,
    /// The verdict.
    pub verdict: Outcome,
    /// The number of writes that were judged.
    pub judged_writes: u64,
    /// The violations, each with its step.
    pub findings: Vec<Found>,
    /// Warnings, each with its step.
    pub warnings: Vec<Warned>,
    /// The obligations that are open at the end of the trace.
    pub pending: Vec<Pending>,
    /// Reasons why the verdict is inconclusive, and counts that the pods do not justify.
    pub remarks: Vec<String>,
    /// The number of its steps, and of those on the page.
    pub steps: (usize, usize),
}

/// A violation and the step that shows it.
#[derive(Clone, Debug, Serialize)]
pub struct Found {
    /// The position in [`Page::steps`], if the page has the step.
    pub step: Option<usize>,
    /// The violation, as in the report.
    #[serde(flatten)]
    pub finding: Finding,
}

/// A warning and the step that shows it.
#[derive(Clone, Debug, Serialize)]
pub struct Warned {
    /// The position in [`Page::steps`], if the page has the step.
    pub step: Option<usize>,
    /// The warning, as in the report.
    #[serde(flatten)]
    pub line: Line,
}

/// A Job or a pod.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Object {
    /// It is a pod.
    pub pod: bool,
    /// Its name.
    pub name: String,
    /// The position of its Job in [`Page::jobs`].
    pub job: usize,
}

/// A record of a trace.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// The position of the trace in [`Page::traces`].
    pub trace: usize,
    /// The position of the Job in [`Page::jobs`]; `None` if it concerns all Jobs of the trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<usize>,
    /// The position of the object in [`Page::objects`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<usize>,
    /// The position of the input in [`Page::files`].
    pub file: usize,
    /// The line, from 1.
    pub line: u64,
    /// The end of the response, in microseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
    /// The position of the sender in [`Page::actors`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<usize>,
    /// The kind of request.
    pub kind: Kind,
    /// The event, in a few words.
    pub what: String,
    /// The same without names and times, by which two traces are compared.
    pub shape: String,
    /// The answer, if it was a refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Refusal>,
    /// The changed fields. In a refused request, what it asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// Nothing changes that a rule is about, or a refusal is repeated.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub quiet: bool,
    /// The object is new, or gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub life: Option<Turn>,
}

/// The kind of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Kind {
    /// A write of a Job's status.
    Status,
    /// Another write of a Job.
    #[default]
    Job,
    /// A write of a pod.
    Pod,
    /// A fault, a restart, a gap, or what a cache shows.
    Mark,
    /// The end of the trace.
    End,
}

/// The beginning or the end of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Turn {
    /// The first state that the trace shows.
    New,
    /// It is gone.
    Gone,
}

/// The answer to a refused request.
#[derive(Clone, Debug, Serialize)]
pub struct Refusal {
    /// HTTP status.
    pub code: u16,
    /// The message.
    pub message: String,
}

/// A changed field: its position in [`Page::fields`], and its values before and after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change(pub usize, pub Option<String>, pub Option<String>);

/// The text of a requirement.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    /// The rule in one sentence.
    pub sentence: &'static str,
    /// Conditions and exceptions.
    pub details: String,
    /// The reason why it exists.
    pub reason: String,
    /// A minimal example of a violation.
    pub example: String,
    /// The behaviour of a right controller; empty if the page about the rule has no text about it.
    pub instead: String,
    /// The KEP and the source file.
    pub source: String,
}
