//! Random scenarios, and the shortest one with the same failure.
//!
//! A draft is a scenario as text, so that a finding is a file for `jobcheck run --target sim`. A seed decides the
//! draft and its run.

mod random;

use std::cell::Cell;
use std::fmt::Write;

use jobcheck_explorer::mutations::Mutations;
use jobcheck_judge::report::{Exit, ReplayReport};
use jobcheck_scenario::read;
use jobcheck_spec::Req;
use jobcheck_spec::apiserver::RuleSet;

use self::random::Random;
use crate::{Outcome, run_on};

/// The elements of drafts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Menu {
    /// If true, drafts have faults of controllers: crashes, failed requests, lost responses, and held or expired
    /// watches. Pods and Nodes can fail in any case.
    pub faults: bool,
    /// If true, drafts are for a real clock: little time passes, and at the end the Job is deleted and no
    /// finalizer may remain.
    pub real_time: bool,
}

impl Menu {
    /// All elements, under virtual time.
    pub const SIM: Menu = Menu { faults: true, real_time: false };
}

/// A scenario that can be shortened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    menu: Menu,
    /// A bit mask of the steps that happen as soon as they are possible with a real clock.
    at_once: u64,
    /// The fields of the Job's spec, one line each.
    spec: Vec<String>,
    /// The steps, one line each.
    steps: Vec<String>,
    /// The first backoff delay.
    backoff: &'static str,
    /// The maximum number of UIDs in the status. `None`: the default.
    most_uncounted: Option<usize>,
}

/// The result of running a draft.
#[derive(Debug)]
pub enum DraftResult {
    /// The trace conforms, and the run became quiescent.
    Held {
        /// The number of requests in the trace.
        requests: usize,
    },
    /// The verdict is inconclusive.
    Unjudged {
        /// The reason.
        why: String,
        /// The trace.
        trace: Vec<u8>,
    },
    /// The parser or the API server refuses the draft, for this reason.
    Refused(String),
    /// The run has failed.
    Wrong(Box<Failure>),
}

/// The failure of a run.
#[derive(Debug)]
pub struct Failure {
    /// The broken requirement. `None`: the run does not become quiescent.
    pub requirement: Option<Req>,
    /// The explanation.
    pub why: String,
    /// The trace.
    pub trace: Vec<u8>,
}

impl Draft {
    /// Returns the draft of a seed.
    #[must_use]
    pub fn of(seed: u64, menu: Menu) -> Draft {
        let mut random = Random::seeded(seed ^ 0x5eed, menu);
        let spec = random.spec();
        let steps: Vec<String> = (0..random.between(3, 24)).flat_map(|_| random.step(&spec)).collect();
        let backoff = random.one(&["0s", "0s", "1s", "10s"]);
        // Three of four steps happen at once. The lines of the ending wait for quiescence.
        let own = u32::try_from(steps.len()).ok().and_then(|count| u64::MAX.checked_shl(count)).unwrap_or(0);
        let at_once = if menu.real_time { (random.bits() | random.bits()) & !own } else { 0 };
        Draft { menu, at_once, spec, steps, backoff, most_uncounted: random.most_uncounted() }
    }

    /// The bit mask of the steps that happen as soon as they are possible with a real clock: `--seed` of
    /// `jobcheck run`.
    #[must_use]
    pub fn at_once(&self) -> u64 {
        self.at_once
    }

    /// Returns the text of the scenario.
    #[must_use]
    pub fn text(&self, name: &str, about: &str) -> String {
        let mut text = format!("apiVersion: jobcheck.dev/v1\nkind: Scenario\nname: {name}\nabout: {about}\n");
        text.push_str("jobs:\n- name: job\n");
        text.push_str(if self.spec.is_empty() { "  spec: {}\n" } else { "  spec:\n" });
        for field in &self.spec {
            let _ = writeln!(text, "    {field}");
        }
        let most = self.most_uncounted.map(|most| format!(", maxUncountedPods: {most}")).unwrap_or_default();
        let _ = writeln!(text, "controller: {{podFailureBackoff: {}{most}}}", self.backoff);
        text.push_str("steps:\n");
        for step in &self.steps {
            let _ = writeln!(text, "- {step}\n  optional: true");
        }
        // A controller whose watches stay held never becomes quiescent.
        if self.menu.faults || !self.menu.real_time {
            text.push_str("- catchUp: {}\n");
        }
        if self.menu.real_time {
            text.push_str(ENDING);
        }
        text
    }

    /// The number of steps.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.steps.len()
    }

    /// Runs the draft with a seed, with mutations of the controllers, and with the rules of this version.
    #[must_use]
    pub fn run(&self, version: RuleSet, seed: u64, mutations: &Mutations) -> DraftResult {
        let scenario = match read(&self.text("fuzz", "found by chance")) {
            Ok(scenario) => scenario,
            Err(error) => return DraftResult::Refused(error.to_string()),
        };
        match run_on(version, &scenario, seed, mutations) {
            Ok(outcome) => ran(outcome),
            Err(why) => DraftResult::Refused(why),
        }
    }

    /// Returns the shortest draft with the same failure, and the seed of its run. Steps and fields are removed in
    /// turn until none can be removed. Each candidate is run with several seeds.
    #[must_use]
    pub fn shrunk(
        &self,
        requirement: Option<Req>,
        version: RuleSet,
        seed: u64,
        mutations: &Mutations,
    ) -> (Draft, u64) {
        let tries = Cell::new(0);
        let is_wrong = |result: DraftResult| matches!(result, DraftResult::Wrong(wrong) if wrong.requirement == requirement);
        let breaks = |draft: &Draft| {
            tries.set(tries.get() + 1);
            let seeds = [seed].into_iter().chain(0..SEEDS_TRIED);
            seeds.into_iter().find(|seed| is_wrong(draft.run(version, *seed, mutations)))
        };
        let mut best = (self.clone(), seed);
        loop {
            let shorter = best.0.shorter().find_map(|draft| breaks(&draft).map(|seed| (draft, seed)));
            match shorter.filter(|_| tries.get() < MOST_TRIES) {
                Some(shorter) => best = shorter,
                None => return best,
            }
        }
    }

    /// The drafts without some steps, many first, and without one field.
    fn shorter(&self) -> impl Iterator<Item = Draft> {
        let count = self.steps.len();
        let sizes = std::iter::successors(Some(count), |size| (*size > 1).then_some(size / 2));
        let ranges =
            sizes.flat_map(move |size| (0..count).step_by(size.max(1)).map(move |from| (from, size)));
        let fewer_steps = ranges.map(move |(from, size)| {
            let kept = |number: &usize| !(from..from + size).contains(number);
            let steps = (0..count).filter(kept).map(|number| self.steps[number].clone()).collect();
            Draft { steps, ..self.clone() }
        });
        let fewer_fields = (0..self.spec.len()).map(|number| {
            let mut spec = self.spec.clone();
            spec.remove(number);
            Draft { spec, ..self.clone() }
        });
        let sooner = (self.backoff != "0s").then(|| Draft { backoff: "0s", ..self.clone() });
        let usual = self.most_uncounted.is_some().then(|| Draft { most_uncounted: None, ..self.clone() });
        fewer_steps.chain(fewer_fields).chain(sooner).chain(usual).filter(move |draft| draft != self)
    }
}

/// The ending: the Job is deleted, and no finalizer remains.
const ENDING: &str = "- deleteJob: {propagation: Background}\n  optional: true\n\
                      expect:\n- exists: false\n  pods: {tracked: 0}\n";
/// The number of further seeds for a shorter draft. With fewer steps a seed chooses another order.
const SEEDS_TRIED: u64 = 4;
/// The maximum number of drafts that are tried.
const MOST_TRIES: usize = 200;

fn ran(outcome: Outcome) -> DraftResult {
    let (requirement, why) = outcome.finding();
    match outcome.exit() {
        Exit::Conforms => DraftResult::Held { requests: outcome.requests },
        // A Job that was removed before any write of its controller needs no verdict.
        Exit::Inconclusive if is_idle(&outcome.report) && outcome.unmet.is_none() => {
            DraftResult::Held { requests: outcome.requests }
        }
        Exit::Inconclusive => DraftResult::Unjudged { why, trace: outcome.trace },
        _ => DraftResult::Wrong(Box::new(Failure { requirement, why, trace: outcome.trace })),
    }
}

/// Returns true if the only reason for an inconclusive verdict is a Job without writes.
#[must_use]
pub fn is_idle(report: &ReplayReport) -> bool {
    let is_clear = |doubts: usize, judged: u64| doubts <= usize::from(judged == 0);
    report.errors.is_empty()
        && report.jobs.iter().all(|job| is_clear(job.doubts.len(), job.judged_writes))
        && report.traces.iter().all(|trace| is_clear(trace.doubts.len(), trace.judged_writes))
}

#[cfg(test)]
mod tests {
    use jobcheck_explorer::mutations::Mutation;
    use jobcheck_scenario::Step;

    use super::*;

    const V1_36: RuleSet = RuleSet::V1_36;

    /// The API server accepts every draft, and its run is judged and conforms.
    #[test]
    fn drafts_are_valid_and_hold() {
        for (seed, version) in
            (0..150).map(|seed| (seed, V1_36)).chain((0..50).map(|seed| (seed, RuleSet::V1_35)))
        {
            let ran = Draft::of(seed, Menu::SIM).run(version, seed, &Mutations::default());
            assert!(
                matches!(ran, DraftResult::Held { requests } if requests > 0),
                "{version:?} {seed}: {ran:?}"
            );
        }
    }

    /// Drafts for a real clock let little time pass. Drafts without faults do not affect controllers.
    #[test]
    fn a_draft_has_what_its_menu_has() {
        for seed in 0..300 {
            for faults in [false, true] {
                let draft = Draft::of(seed, Menu { faults, real_time: true });
                let text = draft.text("fuzz", "found by chance");
                let scenario = read(&text).unwrap();
                let steps = || scenario.steps.iter().map(|step| &step.value);
                let passes = steps().filter_map(|step| step.advance).map(|span| span.0).max();
                assert!(passes.unwrap_or_default() <= 3_000, "{text}");
                let is_fault = |step: &Step| {
                    let names = step.events();
                    FAULTS.iter().any(|fault| names.iter().any(|name| name == fault))
                };
                assert!(faults || !steps().any(is_fault), "{text}");
                assert!(steps().next_back().is_some_and(|step| step.delete_job.is_some()), "{text}");
                assert_eq!(draft.at_once() >> draft.steps(), 0);
            }
        }
    }

    const FAULTS: [&str; 7] = ["crash", "lateRequest", "request", "hold", "release", "expire", "catchUp"];

    /// A shortened draft breaks the same requirement with the returned seed, here because of a known defect.
    #[test]
    fn the_shortest_is_wrong_in_the_same_way() {
        let mutations = Mutations::of(&[Mutation::FinishesWhilePodsTerminate]);
        let wrong = |seed| match Draft::of(seed, Menu::SIM).run(V1_36, seed, &mutations) {
            DraftResult::Wrong(wrong) => wrong.requirement.map(|requirement| (seed, requirement)),
            DraftResult::Held { .. } | DraftResult::Unjudged { .. } | DraftResult::Refused(_) => None,
        };
        let (seed, requirement) = (0..200).find_map(wrong).unwrap();
        let draft = Draft::of(seed, Menu::SIM);
        let (shortest, its_seed) = draft.shrunk(Some(requirement), V1_36, seed, &mutations);
        assert!(shortest.steps() < draft.steps(), "{}", shortest.text("x", "y"));
        let again = shortest.run(V1_36, its_seed, &mutations);
        assert!(matches!(again, DraftResult::Wrong(wrong) if wrong.requirement == Some(requirement)));
        assert!(matches!(shortest.run(V1_36, its_seed, &Mutations::default()), DraftResult::Held { .. }));
    }

    /// The step that breaks the requirement remains, and all others are removed.
    #[test]
    fn what_is_not_needed_goes() {
        let draft = Draft {
            menu: Menu::SIM,
            at_once: 0,
            spec: ["completions: 2", "parallelism: 2", "ttlSecondsAfterFinished: 9"]
                .map(str::to_owned)
                .into(),
            steps: ["run: {pod: 1}", "advance: 3s", "succeed: {pod: 1}"].map(str::to_owned).into(),
            backoff: "1s",
            most_uncounted: Some(1),
        };
        let shorter: Vec<Draft> = draft.shorter().collect();
        assert!(
            shorter
                .iter()
                .all(|it| it.text("x", "y").len() < draft.text("x", "y").len() || it.backoff == "0s")
        );
        assert_eq!(shorter[0].steps(), 0);
        let one_less = shorter.iter().filter(|it| it.steps() == 2).count();
        assert_eq!(one_less, 3);
        assert_eq!(shorter.iter().filter(|it| it.spec.len() == 2).count(), 3);
    }
}
