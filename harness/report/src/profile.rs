//! The scenarios of a profile, and the objections to a report that has others.
//!
//! A writer lists every scenario of its profile, run or not, unless the user has chosen some. So a scenario that is missing
//! was removed, or the report is of another version of jobcheck, which may have had another list.

use crate::types::{ConformanceReport, Scenario, Stage};
use crate::verify::{Objection, State};

/// A scenario of a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its id.
    pub id: String,
    /// Its weight; none if it depends on the clusters of the run.
    pub stage: Option<Stage>,
    /// The requirements that it is about.
    pub requirements: Vec<String>,
    /// The digest of its text.
    pub digest: String,
    /// The traces of each pass meet the premise of one of its requirements.
    pub meets_premise: bool,
}

/// The scenarios of a profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProfileList {
    /// The version of the list.
    pub version: String,
    /// Its scenarios.
    pub scenarios: Vec<Listed>,
}

impl ProfileList {
    /// The scenario of the profile with this id.
    pub(crate) fn find(&self, id: &str) -> Option<&Listed> {
        self.scenarios.iter().find(|it| it.id == id)
    }

    /// The ids of the scenarios that a report lacks, in the order of the list.
    #[must_use]
    pub fn lacking(&self, report: &ConformanceReport) -> Vec<String> {
        let is_lacking = |it: &&Listed| !report.scenarios.iter().any(|scenario| scenario.id == it.id);
        self.scenarios.iter().filter(is_lacking).map(|it| it.id.clone()).collect()
    }

    /// The objection to the list of scenarios of a report. No provisional scenario is demanded, nor any of a report that
    /// has only chosen ones: its result is partial at best.
    #[must_use]
    pub fn objection_to_list(&self, report: &ConformanceReport) -> Option<Objection> {
        if report.run.profile.version != self.version || !report.run.selection.is_empty() {
            return None;
        }
        let counts = |id: &String| self.find(id).is_some_and(|it| it.stage != Some(Stage::Provisional));
        let by = &report.run.jobcheck_version;
        let many = match self.lacking(report).into_iter().filter(counts).count() {
            0 => return None,
            1 => "the report lacks 1 scenario of the profile".to_owned(),
            number => format!("the report lacks {number} scenarios of the profile"),
        };
        Some(match is_own(report) {
            true => Objection::new(State::NotConfirmed, many),
            false => Objection::new(State::Undecided, format!("{many}; jobcheck {by} may have had fewer")),
        })
    }

    /// The objection to a scenario of the report; none if it is one of the profile.
    pub(crate) fn objection(&self, scenario: &Scenario, report: &ConformanceReport) -> Option<Objection> {
        let profile = &report.run.profile;
        if profile.version != self.version {
            let why = format!("this version of jobcheck has no profile {} {}", profile.name, profile.version);
            return Some(Objection::new(State::Undecided, why));
        }
        let no = |why: &str| Some(Objection::new(State::NotConfirmed, why));
        let Some(listed) = self.find(&scenario.id) else {
            return no(&format!("the profile {} has no such scenario", profile.name));
        };
        if !listed.allows_stage(scenario) {
            return no("its stage is not that of the profile");
        }
        if listed.digest != scenario.digest {
            let by = &report.run.jobcheck_version;
            let why = format!("its text may have been another one in jobcheck {by}");
            return match is_own(report) {
                true => no("its text is not that of the profile"),
                false => Some(Objection::new(State::Undecided, why)),
            };
        }
        if listed.requirements != scenario.requirements {
            return no("its requirements are not those of the profile");
        }
        None
    }

    /// Removes the requirements of scenarios that the profile does not have there. Returns the ids of these scenarios.
    ///
    /// A scenario whose text may be that of another version of jobcheck keeps its requirements.
    pub fn retain_own_requirements(&self, report: &mut ConformanceReport) -> Vec<String> {
        let is_wrong = |it: &&Scenario| {
            let own = self.find(&it.id).map_or(&[][..], |listed| &listed.requirements[..]);
            let objection = self.objection(it, report);
            objection.is_some_and(|it| it.state == State::NotConfirmed)
                && it.requirements.iter().any(|id| !own.contains(id))
        };
        let folded = report.folded();
        let wrong = folded.iter().filter(|it| it.runs.iter().any(is_wrong));
        let wrong: Vec<String> = wrong.map(|it| it.scenario.id.clone()).collect();
        for scenario in report.scenarios.iter_mut().filter(|it| wrong.contains(&it.id)) {
            let listed = self.find(&scenario.id);
            scenario.requirements.retain(|id| listed.is_some_and(|it| it.requirements.contains(id)));
        }
        wrong
    }
}

impl Listed {
    /// Returns whether a scenario may have its stage. If the clusters of the run decide, it is core unless it was skipped.
    fn allows_stage(&self, scenario: &Scenario) -> bool {
        match self.stage {
            Some(stage) => stage == scenario.stage,
            None if scenario.outcome.was_left_out() => scenario.stage != Stage::Provisional,
            None => scenario.stage == Stage::Core,
        }
    }
}

/// Returns whether this version of jobcheck wrote the report, so that its list is known.
pub(crate) fn is_own(report: &ConformanceReport) -> bool {
    report.run.jobcheck_version == env!("CARGO_PKG_VERSION")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::result::tests::{repeated, scenario};
    use crate::types::Outcome;
    use crate::types::Run;

    /// The list of a profile that has the scenarios of this report.
    pub(crate) fn list_of(report: &ConformanceReport) -> ProfileList {
        let listed = |it: &Scenario| Listed {
            id: it.id.clone(),
            stage: Some(it.stage),
            requirements: it.requirements.clone(),
            digest: it.digest.clone(),
            meets_premise: true,
        };
        ProfileList {
            version: report.run.profile.version.clone(),
            scenarios: report.scenarios.iter().map(listed).collect(),
        }
    }

    fn report(scenarios: Vec<Scenario>) -> ConformanceReport {
        let jobcheck_version = env!("CARGO_PKG_VERSION").to_owned();
        ConformanceReport::new(Run { jobcheck_version, ..Run::default() }, scenarios)
    }

    fn sample() -> ConformanceReport {
        report(vec![
            scenario("a", Stage::Core, Outcome::Pass),
            scenario("b", Stage::Core, Outcome::Fail),
            scenario("c", Stage::Extended, Outcome::Skip),
            scenario("d", Stage::Provisional, Outcome::Pass),
        ])
    }

    #[test]
    fn a_report_has_every_scenario_that_counts() {
        let whole = sample();
        let list = list_of(&whole);
        let without = |ids: &[&str]| {
            let mut scenarios = whole.scenarios.clone();
            scenarios.retain(|it| !ids.contains(&&*it.id));
            report(scenarios)
        };
        assert_eq!(list.objection_to_list(&whole), None);
        assert_eq!(list.objection_to_list(&without(&["d"])), None);
        for (ids, many) in
            [(&["b"][..], "1 scenario"), (&["c"], "1 scenario"), (&["a", "b", "d"], "2 scenarios")]
        {
            let objection = list.objection_to_list(&without(ids));
            let why = format!("the report lacks {many} of the profile");
            assert_eq!(objection, Some(Objection::new(State::NotConfirmed, why)), "{ids:?}");
        }
        let mut older = without(&["a"]);
        older.run.jobcheck_version = "0.0.1".to_owned();
        assert_eq!(list.objection_to_list(&older).unwrap().state, State::Undecided);
    }

    #[test]
    fn chosen_scenarios_are_not_all() {
        let whole = sample();
        let run = Run { selection: vec!["a".to_owned()], ..whole.run.clone() };
        let chosen = ConformanceReport::new(run, vec![whole.scenarios[0].clone()]);
        assert_eq!(list_of(&whole).objection_to_list(&chosen), None);
        assert_eq!(list_of(&whole).lacking(&chosen), ["b", "c", "d"]);
    }

    #[test]
    fn other_requirements_are_refused_and_not_counted() {
        let whole = sample();
        let list = list_of(&whole);
        let mut changed = whole.clone();
        changed.scenarios[0].requirements = vec!["FT-01".to_owned(), "MR-20".to_owned()];
        let why = "its requirements are not those of the profile";
        let objection = list.objection(&changed.scenarios[0], &changed);
        assert_eq!(objection, Some(Objection::new(State::NotConfirmed, why)));
        changed.scenarios[1].id = "invented".to_owned();
        assert_eq!(list.retain_own_requirements(&mut changed), ["a", "invented"]);
        assert_eq!(changed.scenarios[0].requirements, ["MR-20"]);
        assert!(changed.scenarios[1].requirements.is_empty());
        assert!(list.retain_own_requirements(&mut whole.clone()).is_empty());
        let mut runs = report(repeated("a", Stage::Core, &[Outcome::Pass, Outcome::Fail]));
        runs.scenarios[1].requirements.push("FT-01".to_owned());
        assert_eq!(list.retain_own_requirements(&mut runs), ["a"]);
        assert!(runs.scenarios.iter().all(|it| it.requirements == ["MR-20"]));
    }

    #[test]
    fn a_scenario_is_core_unless_the_clusters_cannot_run_it() {
        let mut list = list_of(&sample());
        list.scenarios[0].stage = None;
        for (stage, outcome, is_right) in [
            (Stage::Core, Outcome::Pass, true),
            (Stage::Core, Outcome::Skip, true),
            (Stage::Extended, Outcome::Skip, true),
            (Stage::Extended, Outcome::Pass, false),
            (Stage::Extended, Outcome::Error, false),
            (Stage::Provisional, Outcome::Fail, false),
            (Stage::Provisional, Outcome::Skip, false),
        ] {
            let report = report(vec![scenario("a", stage, outcome)]);
            let objection = list.objection(&report.scenarios[0], &report);
            assert_eq!(objection.is_none(), is_right, "{stage} {outcome}");
        }
    }
}
