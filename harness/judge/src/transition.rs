//! The transition of a Job's status: would API servers of several versions accept it, and what would the built-in
//! controller have written?
//!
//! ```
//! use jobcheck_judge::transition::transition;
//!
//! let job = |status: &str| format!(
//!     r#"{{"apiVersion":"batch/v1","kind":"Job","metadata":{{"name":"sum","namespace":"ns","uid":"u"}},
//!         "spec":{{"completions":1,"template":{{}}}},"status":{status}}}"#);
//! let old = job(r#"{"startTime":"2026-11-21T00:00:00Z","active":1}"#);
//! let new = job(r#"{"startTime":"2026-11-21T00:00:00Z","succeeded":1,
//!     "completionTime":"2026-11-21T00:00:09Z","conditions":[{"type":"Complete","status":"True"}]}"#);
//!
//! let report = transition(&old, &new, &[35, 36])?;
//! assert!(report.versions.iter().all(|version| version.accepted == Some(false)));
//! assert_eq!(report.versions[0].refusals[0].requirement.0.id(), "SS-21");
//! assert!(report.built_in[0].contains("SuccessCriteriaMet"));
//! # Ok::<(), jobcheck_judge::transition::TransitionError>(())
//! ```

use jobcheck_projection::{ProjectError, Projector};
use jobcheck_spec::apiserver::{RuleSet, status_refusals};
use jobcheck_spec::guards::contract::judge_contract;
use jobcheck_spec::job::{ConditionKind, Job};
use jobcheck_spec::{Broken, Findings};
use serde::Serialize;

use crate::report::{API_VERSION, Exit, Id};

/// The judgement of a transition.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TransitionReport {
    /// Version of the report's format.
    pub api_version: &'static str,
    /// `StatusReport`.
    pub kind: &'static str,
    /// The decision of each version of the API server.
    pub versions: Vec<VersionReport>,
    /// Rules of the built-in controller that the new status does not follow, though an API server may accept it.
    pub advice: Vec<Difference>,
    /// The status writes of the built-in controller on the way to this end, in their order; empty if the transition
    /// ends nothing.
    pub built_in: Vec<String>,
}

/// The decision of an API server.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VersionReport {
    /// The minor version, such as `1.36`.
    pub kubernetes: String,
    /// It accepts the write; `None` if its rules are not known.
    pub accepted: Option<bool>,
    /// The reasons for a refusal.
    pub refusals: Vec<Difference>,
}

/// A comparison that is false.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Difference {
    /// The requirement.
    pub requirement: Id,
    /// The compared field.
    pub what: &'static str,
    /// The nearest value that is right.
    pub expected: String,
    /// The value in the new status.
    pub found: String,
    /// The requirement as a sentence.
    pub sentence: &'static str,
}

/// An object that is no Job.
#[derive(Debug, thiserror::Error)]
pub enum TransitionError {
    /// The old object.
    #[error("the old Job: {0}")]
    Old(ProjectError),
    /// The new object.
    #[error("the new Job: {0}")]
    New(ProjectError),
}

impl TransitionReport {
    /// The exit code: violated if a version refuses the write, inconclusive if the rules of one are not known.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match () {
            () if self.versions.iter().any(|version| version.accepted == Some(false)) => Exit::Violates,
            () if self.versions.iter().any(|version| version.accepted.is_none()) => Exit::Inconclusive,
            () => Exit::Conforms,
        }
    }
}

/// Judges the status write that turns one version of a Job, in JSON, into another one. `minors`: the minor versions of
/// Kubernetes, such as 36. The API server keeps the stored specification, so that of the new Job does not matter.
///
/// # Errors
///
/// One of the texts is no Job.
pub fn transition(old: &str, new: &str, minors: &[u32]) -> Result<TransitionReport, TransitionError> {
    let mut projector = Projector::new();
    let old = projector.job(old).map_err(TransitionError::Old)?.job;
    let new = projector.job(new).map_err(TransitionError::New)?.job;
    let decision = |minor: &u32| {
        let refused = RuleSet::of(*minor).map(|rules| status_refusals(&rules, &old, &new));
        VersionReport {
            kubernetes: format!("1.{minor}"),
            accepted: refused.as_ref().map(Vec::is_empty),
            refusals: refused.unwrap_or_default().iter().map(difference).collect(),
        }
    };
    let mut findings = Findings::new();
    judge_contract(&old.status, &new.status, true, &mut findings);
    Ok(TransitionReport {
        api_version: API_VERSION,
        kind: "StatusReport",
        versions: minors.iter().map(decision).collect(),
        advice: findings.broken.iter().map(difference).collect(),
        built_in: built_in(&old, &new),
    })
}

fn difference(broken: &Broken) -> Difference {
    Difference {
        requirement: Id(broken.req),
        what: broken.what,
        expected: broken.expected.to_string(),
        found: broken.found.to_string(),
        sentence: broken.req.entry().sentence,
    }
}

/// The writes of the built-in controller on the way to the end in the new status (TC-03, TC-05, FT-02).
fn built_in(old: &Job, new: &Job) -> Vec<String> {
    let ends = [
        (ConditionKind::Complete, ConditionKind::SuccessCriteriaMet),
        (ConditionKind::Failed, ConditionKind::FailureTarget),
    ];
    let is_new = |kind: &ConditionKind| new.status.is_true(kind) && !old.status.is_true(kind);
    let Some((terminal, interim)) =
        ends.iter().find(|(terminal, interim)| is_new(terminal) || is_new(interim))
    else {
        return Vec::new();
    };
    let reason = match terminal {
        ConditionKind::Complete if new.spec.success_policy.is_some() => "SuccessPolicy",
        ConditionKind::Complete => "CompletionsReached",
        _ => "BackoffLimitExceeded, DeadlineExceeded, PodFailurePolicy, or another one",
    };
    let mut writes = Vec::new();
    if !old.status.is_true(interim) {
        writes.push(format!(
            "{}=True with reason {reason}; terminated pods are in uncountedTerminatedPods; pods that still run are counted \
             in active, and after their deletion in terminating",
            interim.as_str()
        ));
    }
    let time = if *terminal == ConditionKind::Complete { ", completionTime" } else { "" };
    writes.push(format!(
        "{}=True with the same reason beside {}{time}; active, ready and terminating are 0, uncountedTerminatedPods is \
         empty, startTime stays",
        terminal.as_str(),
        interim.as_str()
    ));
    writes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(status: &str) -> String {
        format!(
            r#"{{"apiVersion":"batch/v1","kind":"Job","metadata":{{"name":"a","namespace":"n","uid":"u"}},
            "spec":{{"completions":1,"suspend":true,"template":{{}}}},"status":{status}}}"#
        )
    }

    #[test]
    fn each_version_decides_by_its_own_rules_and_an_unknown_one_not_at_all() {
        let suspended = r#"{"type":"Suspended","status":"True","lastTransitionTime":"2026-11-21T00:00:00Z"}"#;
        let old = job(&format!(r#"{{"conditions":[{suspended}]}}"#));
        let report = transition(&old, &old, &[33, 34, 36]).unwrap();
        let accepted: Vec<_> = report.versions.iter().map(|version| version.accepted).collect();
        assert_eq!(accepted, [None, Some(true), Some(true)]);
        assert_eq!(report.exit(), Exit::Inconclusive);
        assert!(report.advice.is_empty() && report.built_in.is_empty());
    }

    #[test]
    fn all_reasons_for_a_refusal_are_listed() {
        let old = job(r#"{"startTime":"2026-11-21T00:00:00Z","failed":3,"active":1}"#);
        let failed = r#"{"type":"Failed","status":"True","reason":"BackoffLimitExceeded"}"#;
        let new = job(&format!(
            r#"{{"startTime":"2026-11-21T00:00:00Z","failed":1,"active":1,"conditions":[{failed}]}}"#
        ));
        let report = transition(&old, &new, &[36]).unwrap();
        let ids: Vec<&str> = report.versions[0].refusals.iter().map(|it| it.requirement.0.id()).collect();
        assert_eq!(ids, ["SS-12", "SS-20", "SS-27"]);
        assert_eq!(report.exit(), Exit::Violates);
        assert_eq!(report.built_in.len(), 2);
        assert!(report.advice.iter().any(|it| it.requirement.0.id() == "TC-03"));
    }

    #[test]
    fn an_object_of_a_wrong_shape_is_an_error() {
        let wrong = transition("{}", r#"{"status":{"active":"x"}}"#, &[36]).unwrap_err().to_string();
        assert!(wrong.starts_with("the "), "{wrong}");
    }
}
