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

impl Page {
    /// The name of the program that has sent a request, if the trace shows it. Its account follows if two senders of a trace
    /// have one name: `kueue (multikueue)`.
    pub(crate) fn sender(&self, step: &Step) -> Option<String> {
        let of = |actor: usize| self.actors[actor].split_once(" (").unwrap_or((&self.actors[actor], ""));
        let own = step.actor?;
        let (name, user) = of(own);
        let others = self.steps.iter().filter(|it| it.trace == step.trace).filter_map(|it| it.actor);
        let is_alone = others.filter(|actor| *actor != own).all(|actor| of(actor).0 != name);
        let account = user.trim_end_matches(')').rsplit(':').next().filter(|it| !is_alone && !it.is_empty());
        let account = account.map(|account| format!(" ({account})")).unwrap_or_default();
        Some(format!("{name}{account}")).filter(|_| !name.is_empty())
    }

    /// The position of a Job in [`Page::objects`], if the page has a step of it.
    pub(crate) fn object_of(&self, job: usize) -> Option<usize> {
        self.objects.iter().position(|it| !it.pod && it.job == job)
    }
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

impl Job {
    /// The findings by rule, in the order of the first of each.
    #[must_use]
    pub fn by_rule(&self) -> Vec<Vec<&Found>> {
        let mut groups: Vec<Vec<&Found>> = Vec::new();
        for found in &self.findings {
            let rule = |it: &Found| (it.finding.requirement, it.finding.known);
            match groups.iter_mut().find(|group| rule(group[0]) == rule(found)) {
                Some(group) => group.push(found),
                None => groups.push(vec![found]),
            }
        }
        groups
    }
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

impl Found {
    /// The id of the requirement, or `warning`.
    #[must_use]
    pub fn id(&self) -> String {
        self.finding.requirement.map_or_else(|| "warning".to_owned(), |id| id.to_string())
    }
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
