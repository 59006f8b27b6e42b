//! Deviations that a scenario expects of a target: documented ones of the built-in, and requirements that it breaks.

use std::fmt;

use jobcheck_judge::report::ReplayReport;
use jobcheck_spec::Req;
use serde::{Deserialize, Serialize};
use serde_saphyr::Spanned;

use super::claims::Claims;
use super::format::Scenario;
use super::values::{Id, TargetName};

/// A deviation from the requirements that a target is expected to show. Exactly one of `known`, `breaks` and `warns` is set.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Deviation {
    /// The target.
    pub on: TargetName,
    /// The documented deviation of the built-in, by which the judge names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known: Option<Id>,
    /// The requirement that is broken, where the recording shows too little to name the deviation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub breaks: Option<Id>,
    /// The requirement of which the judge warns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warns: Option<Id>,
    /// What holds there at the end in the place of `expect`. Where it is left out, `expect` is waited for all the same, as
    /// long as it takes until what does not come is overdue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instead: Option<Vec<Claims>>,
}

/// What the judge says where a deviation shows.
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
    /// What the judge says where it shows; none where not exactly one field says so.
    #[must_use]
    pub fn shown(&self) -> Option<Shown> {
        match (self.known, self.breaks, self.warns) {
            (Some(id), None, None) => Some(Shown::Known(id.0)),
            (None, Some(id), None) => Some(Shown::Breaks(id.0)),
            (None, None, Some(id)) => Some(Shown::Warns(id.0)),
            _ => None,
        }
    }
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

/// The label of each violation, or its requirement where it has none; and whether it has a label.
fn violations(report: &ReplayReport) -> impl Iterator<Item = (Option<Req>, bool)> {
    let all = report.jobs.iter().flat_map(|job| &job.violations);
    all.map(|it| (it.known.or(it.requirement).map(|id| id.0), it.known.is_some()))
}

/// What became of the deviations that were expected of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// All of them show, and nothing else is wrong.
    Shown(Vec<Shown>),
    /// These do not show.
    Missing(Vec<Shown>),
    /// Something else is wrong, too.
    Others,
}

impl Scenario {
    /// The deviations that are expected of a target.
    pub fn deviations_on(&self, target: TargetName) -> impl Iterator<Item = &Deviation> {
        self.deviations.iter().map(|it| &it.value).filter(move |it| it.on == target)
    }

    /// What holds at the end on a target.
    #[must_use]
    pub fn expected_on(&self, target: TargetName) -> Vec<&Claims> {
        let instead: Vec<&Claims> = self.deviations_on(target).flat_map(|it| it.instead.iter().flatten()).collect();
        let deviates = self.deviations_on(target).any(|it| it.instead.is_some());
        if deviates { instead } else { self.expect.iter().map(|it: &Spanned<Claims>| &it.value).collect() }
    }

    /// What became of the deviations that are expected of a target; none where it is to hold.
    #[must_use]
    pub fn expected_deviations(&self, target: TargetName, report: &ReplayReport) -> Option<Expected> {
        let all: Vec<Shown> = self.deviations_on(target).filter_map(Deviation::shown).collect();
        if all.is_empty() {
            return None;
        }
        let is_expected = |(id, labelled): (Option<Req>, bool)| {
            let told = id.map(|id| if labelled { Shown::Known(id) } else { Shown::Breaks(id) });
            told.is_some_and(|told| all.contains(&told))
        };
        let missing: Vec<Shown> = all.iter().copied().filter(|shown| !shown.is_in(report)).collect();
        Some(if !violations(report).all(is_expected) {
            Expected::Others
        } else if missing.is_empty() {
            Expected::Shown(all)
        } else {
            Expected::Missing(missing)
        })
    }
}
