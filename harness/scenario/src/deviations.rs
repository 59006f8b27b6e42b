//! Deviations that a scenario expects of a target: documented deviations of the built-in controller, and requirements
//! that the target breaks.

use std::fmt;

use jobcheck_judge::report::{Finding, ReplayReport};
use jobcheck_spec::Req;
use jobcheck_spec::apiserver::minor_of;
use serde::{Deserialize, Serialize};
use serde_saphyr::Spanned;

use super::claims::Claims;
use super::format::Scenario;
use super::values::{Id, TargetName};

/// A deviation that a target is expected to show.
///
/// At most one of `known`, `breaks` and `warns` is set. If none is set, no requirement forbids the behaviour of the
/// target, and `instead` describes the difference.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Deviation {
    /// The target.
    pub on: TargetName,
    /// The known deviation of the built-in controller, which the judge reports as the label of a violation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known: Option<Id>,
    /// The broken requirement, if the recording lacks the evidence for the label of a known deviation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub breaks: Option<Id>,
    /// The requirement that a warning of the judge names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warns: Option<Id>,
    /// The minor version of Kubernetes, such as `1.37`, from which on the target no longer deviates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The claims that hold at the end on this target, in place of `expect`. If the field is absent, the run still
    /// waits for `expect`, until its patience ends or an obligation is overdue. The wait makes the deviation show.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instead: Option<Vec<Claims>>,
}

/// The evidence of a deviation in the report of the judge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// A violation with this label.
    Known(Req),
    /// A violation of this requirement, without a label.
    Breaks(Req),
    /// A warning of this requirement.
    Warns(Req),
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shown::Known(id) => write!(f, "KNOWN {id}"),
            Shown::Breaks(id) => write!(f, "breaks {id}"),
            Shown::Warns(id) => write!(f, "warns {id}"),
        }
    }
}

impl Deviation {
    /// Returns the evidence that the report must have: one item for each of `known`, `breaks` and `warns` that is set.
    pub fn shown(&self) -> impl Iterator<Item = Shown> {
        let known = self.known.map(|id| Shown::Known(id.0));
        let breaks = self.breaks.map(|id| Shown::Breaks(id.0));
        known.into_iter().chain(breaks).chain(self.warns.map(|id| Shown::Warns(id.0)))
    }

    /// Returns the reason why the deviation is invalid, or `None` if it is valid.
    pub(super) fn objection(&self) -> Option<&'static str> {
        if self.before.as_deref().is_some_and(|version| named_minor(version).is_none()) {
            return Some("`before` is a minor version of Kubernetes in quotes, such as \"1.37\"");
        }
        if self.before.is_some() && self.instead.is_some() {
            return Some(
                "`before` and `instead` cannot be used together: what holds does not depend on the version",
            );
        }
        match (self.shown().count(), &self.instead) {
            (0, None) => Some("write one of `known`, `breaks` and `warns`, or what holds `instead`"),
            (0 | 1, _) => None,
            _ => Some("write only one of `known`, `breaks` and `warns`; write a deviation for each"),
        }
    }

    /// Returns `true` if the target may deviate in the version by whose rules the report judges.
    fn is_of(&self, report: &ReplayReport) -> bool {
        let judged = report.traces.first().and_then(|trace| minor_of(&trace.kubernetes));
        let before = self.before.as_deref().and_then(named_minor);
        judged.zip(before).is_none_or(|(judged, before)| judged < before)
    }
}

/// The number of a minor version, which a patch release is not.
fn named_minor(version: &str) -> Option<u32> {
    minor_of(version).filter(|minor| version == format!("1.{minor}"))
}

impl Shown {
    fn is_in(self, report: &ReplayReport) -> bool {
        let mut jobs = report.jobs.iter();
        match self {
            Shown::Known(id) => violations(report).any(|it| it == (Some(id), true)),
            Shown::Breaks(id) => violations(report).any(|it| it == (Some(id), false)),
            Shown::Warns(id) => {
                jobs.any(|job| job.warnings.iter().any(|line| line.text.starts_with(id.id())))
            }
        }
    }
}

/// Returns the label of each violation and true, or the requirement and false if the violation has no label.
fn violations(report: &ReplayReport) -> impl Iterator<Item = (Option<Req>, bool)> {
    report.jobs.iter().flat_map(|job| &job.violations).map(told)
}

/// Returns the same for the first violation of each Job.
fn first_violations(report: &ReplayReport) -> impl Iterator<Item = (Option<Req>, bool)> {
    report.jobs.iter().filter_map(|job| job.violations.first()).map(told)
}

fn told(it: &Finding) -> (Option<Req>, bool) {
    (it.known.or(it.requirement).map(|id| id.0), it.known.is_some())
}

/// The comparison of the expected deviations of a target with a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// The report has all of them, and the first violation of each Job is one of them.
    Shown(Vec<Shown>),
    /// The report lacks these.
    Missing(Vec<Shown>),
    /// The first violation of a Job is none of the expected deviations.
    Others,
}

impl Scenario {
    /// Returns the deviations that are expected of a target.
    pub fn deviations_on(&self, target: TargetName) -> impl Iterator<Item = &Deviation> {
        self.deviations.iter().map(|it| &it.value).filter(move |it| it.on == target)
    }

    /// Returns the claims that must hold at the end on a target: those of `instead` if a deviation has them, otherwise
    /// `expect`.
    #[must_use]
    pub fn expected_on(&self, target: TargetName) -> Vec<&Claims> {
        let instead: Vec<&Claims> =
            self.deviations_on(target).flat_map(|it| it.instead.iter().flatten()).collect();
        let deviates = self.deviations_on(target).any(|it| it.instead.is_some());
        if deviates { instead } else { self.expect.iter().map(|it: &Spanned<Claims>| &it.value).collect() }
    }

    /// Compares the deviations that are expected of a target with a report. Returns `None` if none are expected of its version.
    #[must_use]
    pub fn expected_deviations(&self, target: TargetName, report: &ReplayReport) -> Option<Expected> {
        let expected = || self.deviations_on(target).filter(|it| it.is_of(report));
        expected().next()?;
        let all: Vec<Shown> = expected().flat_map(Deviation::shown).collect();
        let is_expected = |(id, labelled): (Option<Req>, bool)| {
            let told = id.map(|id| if labelled { Shown::Known(id) } else { Shown::Breaks(id) });
            told.is_some_and(|told| all.contains(&told))
        };
        let missing: Vec<Shown> = all.iter().copied().filter(|shown| !shown.is_in(report)).collect();
        // Later violations of a Job may be consequences of the first.
        Some(if !first_violations(report).all(is_expected) {
            Expected::Others
        } else if missing.is_empty() {
            Expected::Shown(all)
        } else {
            Expected::Missing(missing)
        })
    }
}

#[cfg(test)]
mod tests {
    use jobcheck_judge::replay::{Judging, judge};
    use jobcheck_spec::apiserver::RuleSet;
    use jobcheck_traces::Input;

    use crate::read;

    use super::*;

    const TRACE: &str = r#"{"type":"ADDED","object":{"kind":"Job","apiVersion":"batch/v1","metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"1"},"spec":{}}}"#;

    #[test]
    fn a_target_that_is_to_deviate_has_expectations_of_its_own() {
        let text = "apiVersion: jobcheck.dev/v1\nkind: Scenario\nname: x\nabout: y\n\
                    jobs: [{name: job, spec: {completions: 1}}]\nexpect: [{active: 0}]\n\
                    deviations:\n- {on: builtin, known: J-01, instead: [{active: 1}]}\n- {on: live, breaks: FT-02}\n";
        let scenario = read(text).unwrap();
        let active = |target| {
            let all = scenario.expected_on(target);
            all.iter().filter_map(|claims| claims.active).map(|it| serde_json::json!(it)).collect::<Vec<_>>()
        };
        assert_eq!(active(TargetName::BuiltIn), [1]);
        assert_eq!((active(TargetName::Live), active(TargetName::Sim)), (vec![0.into()], vec![0.into()]));
        let shown = |target| scenario.deviations_on(target).flat_map(Deviation::shown).collect::<Vec<_>>();
        assert_eq!(shown(TargetName::BuiltIn), [Shown::Known(Req::J01)]);
        assert_eq!(shown(TargetName::Live)[0].to_string(), "breaks FT-02");
        assert!(shown(TargetName::Model).is_empty());
    }

    #[test]
    fn a_deviation_can_end_with_a_minor_version() {
        let with = |deviation: &str| {
            read(&format!(
                "apiVersion: jobcheck.dev/v1\nkind: Scenario\nname: x\nabout: y\n\
                 jobs: [{{name: job, spec: {{completions: 1}}}}]\nexpect: [{{active: 0}}]\n\
                 deviations:\n- {{on: builtin, known: J-07, {deviation}}}\n"
            ))
        };
        let scenario = with("before: '1.37'").unwrap();
        let expected = |rules| {
            let judging = Judging { kubernetes: Some(rules), ..Judging::default() };
            let report = judge(&[vec![Input::Bytes("x".into(), TRACE.into())]], &judging, &mut |_, _| {});
            scenario.expected_deviations(TargetName::BuiltIn, &report)
        };
        assert_eq!(expected(RuleSet::V1_36), Some(Expected::Missing(vec![Shown::Known(Req::J07)])));
        assert_eq!(expected(RuleSet::V1_37), None);
        for (wrong, why) in
            [("before: latest", "in quotes"), ("before: '1.37', instead: [{active: 1}]", "together")]
        {
            assert!(with(wrong).unwrap_err().to_string().contains(why), "{wrong}");
        }
    }
}
