//! The data of a report. YAML and JSON have the same names in camel case.
//!
//! Readers ignore fields that they do not know, as for all reports of this project (`docs/reference/stability.md`).

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

/// `apiVersion` of the reports.
pub const API_VERSION: &str = "jobcheck.dev/v1";
/// `kind` of the reports.
pub const KIND: &str = "JobConformanceReport";

/// A report. [`ConformanceReport::new`] computes what follows from the outcomes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConformanceReport {
    /// [`API_VERSION`].
    pub api_version: String,
    /// [`KIND`].
    pub kind: String,
    /// The result of the whole run.
    pub result: Verdict,
    /// The circumstances of the run.
    #[serde(flatten)]
    pub run: Run,
    /// Scenarios that every implementation of the profile must pass.
    pub core: Section,
    /// Scenarios of features that an implementation may lack, if it declares so.
    pub extended: Section,
    /// New scenarios, which count for nothing yet.
    pub provisional: Section,
    /// Every scenario of the profile, run or not, each as often as it is repeated; only the chosen ones if there is a selection.
    pub scenarios: Vec<Scenario>,
}

/// The circumstances of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// The program under test.
    pub implementation: Implementation,
    /// The profile.
    pub profile: Profile,
    /// The API servers.
    pub clusters: Vec<Cluster>,
    /// The options with which the traces were judged.
    pub judging: JudgingOptions,
    /// The seed of all that was drawn.
    pub seed: u64,
    /// Faults were injected between the controller and its API server.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub faults: bool,
    /// The number of runs of each scenario, at least 2; none if each was run once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<u32>,
    /// The version of jobcheck.
    pub jobcheck_version: String,
    /// The begin of the run, RFC 3339.
    pub start_time: String,
    /// The end of the run, RFC 3339.
    pub end_time: String,
    /// The ids that the user chose: scenarios, or requirements at which they aim. All scenarios of the profile without ids.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub selection: Vec<String>,
    /// The shards, if the run is a part of several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shards: Option<Shards>,
}

impl Run {
    /// The largest number of runs of a scenario.
    pub const MOST_REPEATS: u32 = 1_000;
    /// The largest number of runs of all scenarios together, so that the report is no larger than a reader allows.
    pub const MOST_RUNS: usize = 2_000;

    /// The seed, and whether faults were drawn by it. With faults, each repetition has a [seed of its own](Run::seed_of).
    #[must_use]
    pub fn drawn(&self) -> String {
        match (self.faults, self.repeat) {
            (false, _) => self.seed.to_string(),
            (true, None) => format!("{}, with faults", self.seed),
            (true, Some(last)) => {
                format!("{} to {}, with faults", self.seed, Run::seed_of(self.seed, Some(last)))
            }
        }
    }

    /// The seed of the faults of a repetition. The first one has that of the run.
    #[must_use]
    pub fn seed_of(seed: u64, repetition: Option<u32>) -> u64 {
        seed.wrapping_add(u64::from(repetition.unwrap_or(1).saturating_sub(1)))
    }
}

/// The program under test.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Implementation {
    /// Its authors.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub organization: String,
    /// Its name.
    pub project: String,
    /// Its page.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub url: String,
    /// Its version: a release or a commit.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// Addresses for questions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contact: Vec<String>,
    /// The value of `spec.managedBy` of its Jobs; none if it manages Jobs without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub managed_by: Option<String>,
}

/// A profile and the version of its list of scenarios.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// Such as `mirror`.
    pub name: String,
    /// Such as `v1alpha1`.
    pub version: String,
}

/// A cluster of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cluster {
    /// `manager`, or the name of a worker.
    pub name: String,
    /// The version of its API server, such as `v1.36.3`.
    pub kubernetes: String,
}

/// The options of the judge, as the flags of `jobcheck replay` have them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JudgingOptions {
    /// The rules of the API server, such as `1.36`.
    pub rule_set: String,
    /// Warnings count as violations.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
    /// Known deviations of the built-in controller are excused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_known: bool,
    /// The task of managers of Jobs without `spec.managedBy`: `mirror`, `aggregate` or `executor`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Users with a role, each `ROLE=USER`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub actors: Vec<String>,
    /// Assumptions, each `KEY=VALUE`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assume: Vec<String>,
    /// The members of an aggregator whose failure fails a Job: `any`, the default, or `all`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fails_when: Option<String>,
    /// Seconds by which the clocks of two clusters may differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skew: Option<i64>,
}

/// Parts of a run on several machines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shards {
    /// The number of parts, at most [`Shards::MOST`].
    pub of: u32,
    /// The parts in this report, counted from 0.
    pub run: Vec<u32>,
}

impl Shards {
    /// The largest number of parts.
    pub const MOST: u32 = 10_000;

    /// The number of parts that are missing.
    #[must_use]
    pub fn missing(&self) -> usize {
        let own: BTreeSet<u32> = self.run.iter().copied().filter(|shard| *shard < self.of).collect();
        (self.of as usize).saturating_sub(own.len())
    }

    /// Returns whether no part is missing.
    #[must_use]
    pub fn are_complete(&self) -> bool {
        self.missing() == 0
    }
}

/// The result of a run or of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    /// Everything that counts passed.
    Success,
    /// Something of the core was left out, or scenarios were chosen.
    Partial,
    /// Nothing was run, or something has no outcome.
    Inconclusive,
    /// A requirement is broken.
    Failure,
}

/// The weight of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Stage {
    /// It counts, and leaving it out counts, too.
    Core,
    /// It counts if it was run.
    Extended,
    /// It does not count yet.
    Provisional,
}

/// The outcome of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// It ran, and nothing is wrong.
    Pass,
    /// It ran, and a requirement is broken.
    Fail,
    /// It was not run.
    Skip,
    /// It was not run, because the implementation declares that it lacks the feature.
    Disabled,
    /// The suite or its environment failed.
    Error,
    /// It ran, and what was recorded does not decide.
    Inconclusive,
}

impl Outcome {
    /// All outcomes, in the order in which reports list them.
    pub const ALL: [Outcome; 6] = [
        Outcome::Pass,
        Outcome::Fail,
        Outcome::Skip,
        Outcome::Disabled,
        Outcome::Error,
        Outcome::Inconclusive,
    ];

    /// Returns whether the scenario was left out.
    #[must_use]
    pub fn was_left_out(self) -> bool {
        matches!(self, Outcome::Skip | Outcome::Disabled)
    }

    /// Returns whether the scenario ran to an end.
    #[must_use]
    pub fn was_run(self) -> bool {
        matches!(self, Outcome::Pass | Outcome::Fail | Outcome::Inconclusive)
    }
}

/// The result and the numbers of a stage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Section {
    /// The result; none without a scenario that counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Verdict>,
    /// The number of scenarios for each outcome.
    pub statistics: Statistics,
    /// The ids of scenarios that failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_tests: Vec<String>,
    /// The ids of scenarios that were skipped or disabled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped_tests: Vec<String>,
    /// The ids of scenarios without an outcome of their own: errors, and inconclusive ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undecided_tests: Vec<String>,
    /// The ids of scenarios whose runs have several outcomes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flaky_tests: Vec<String>,
    /// The ids of scenarios of which some runs were skipped, and others were not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub incomplete_tests: Vec<String>,
}

/// Numbers of scenarios.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statistics {
    /// Passed.
    pub pass: usize,
    /// Failed.
    pub fail: usize,
    /// Skipped.
    pub skip: usize,
    /// Disabled.
    pub disabled: usize,
    /// Errors.
    pub error: usize,
    /// Inconclusive.
    pub inconclusive: usize,
}

/// A run of a scenario and its outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Scenario {
    /// Its id, such as `mirror/redispatch-after-failure`.
    pub id: String,
    /// Its weight.
    pub stage: Stage,
    /// The requirements that it is about.
    pub requirements: Vec<String>,
    /// The digest of its text.
    pub digest: String,
    /// The outcome.
    pub outcome: Outcome,
    /// Why it was not run, or what went wrong; empty if it passed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The shard that runs it, if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<u32>,
    /// The number of this run of the scenario, from 1; none if there is only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repetition: Option<u32>,
    /// The begin, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_time: Option<String>,
    /// The end, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_time: Option<String>,
    /// The broken requirements, with the lines that show them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
    /// The recorded traces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traces: Vec<TraceFile>,
}

impl Scenario {
    /// A scenario that was not run, for this reason.
    #[must_use]
    pub fn not_run(id: impl Into<String>, stage: Stage, text: &str, reason: impl Into<String>) -> Scenario {
        Scenario {
            id: id.into(),
            stage,
            requirements: Vec::new(),
            digest: crate::digest::of(text.as_bytes()),
            outcome: Outcome::Skip,
            reason: reason.into(),
            shard: None,
            repetition: None,
            start_time: None,
            end_time: None,
            evidence: Vec::new(),
            traces: Vec::new(),
        }
    }

    /// The id, with the number of the run if there are several.
    #[must_use]
    pub fn name(&self) -> String {
        match self.repetition {
            Some(number) => format!("{} (run {number})", self.id),
            None => self.id.clone(),
        }
    }
}

/// A broken requirement, and the lines that show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    /// The id of the requirement.
    pub requirement: String,
    /// The finder.
    #[serde(default)]
    pub found_by: FoundBy,
    /// The trace, relative to the folder of the report; none if the traces show nothing, such as a missing write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// The lines, from 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<u64>,
    /// The expected and the found value, in one sentence.
    pub sentence: String,
}

/// The finder of a broken requirement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FoundBy {
    /// The judge. It finds the same in the same traces again.
    #[default]
    Judge,
    /// An expectation of the scenario, which the judge does not know.
    Expectation,
}

/// A recorded trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceFile {
    /// The file, relative to the folder of the report, with `/`.
    pub file: String,
    /// The cluster that it was recorded on: `manager`, or the name of a worker.
    pub cluster: String,
    /// The digest of the file.
    pub digest: String,
}

macro_rules! shown_as_in_reports {
    ($($kind:ty),*) => {$(
        impl fmt::Display for $kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.serialize(f)
            }
        }
    )*};
}
shown_as_in_reports!(Verdict, Stage, Outcome);
