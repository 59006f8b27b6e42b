//! Random scenarios, and the shortest that is wrong in the same way.
//!
//! A draft is a scenario as text, so that what is found is a file that `jobcheck run --target sim` takes. A seed decides
//! the draft and its run.

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

/// What drafts are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Menu {
    /// Whether something happens to the controllers: crashes, requests that fail or are answered to nobody, watches that
    /// stand still or expire. What happens to pods and their nodes, happens in any case.
    pub faults: bool,
    /// Whether a real clock is waited for: then little time passes, and in the end the Job is deleted, and whoever holds
    /// a finalizer has to let go.
    pub real_time: bool,
}

impl Menu {
    /// Everything, under virtual time.
    pub const SIM: Menu = Menu { faults: true, real_time: false };
}

/// A scenario that may be shortened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    menu: Menu,
    /// Steps that happen as soon as they are possible where a real clock is waited for, a bit for each.
    at_once: u64,
    /// Fields of the Job's spec, one line each.
    spec: Vec<String>,
    /// Steps, one line each.
    steps: Vec<String>,
    /// The delay after a failure.
    backoff: &'static str,
    /// How many pods the status lists at most, if that is not the usual number.
    most_uncounted: Option<usize>,
}

/// How a draft went.
#[derive(Debug)]
pub enum Ran {
    /// The trace conforms, and the controllers came to rest.
    Held {
        /// Requests in it.
        requests: usize,
    },
    /// It cannot be judged.
    Unjudged {
        /// Why.
        why: String,
        /// The trace.
        trace: Vec<u8>,
    },
    /// The API server, or the reader, does not take it; why.
    Refused(String),
    /// Something is wrong.
    Wrong(Box<Wrong>),
}

/// What is wrong with a run.
#[derive(Debug)]
pub struct Wrong {
    /// The requirement that is broken; none where the controllers do not come to rest.
    pub requirement: Option<Req>,
    /// What is wrong.
    pub why: String,
    /// The trace.
    pub trace: Vec<u8>,
}

impl Draft {
    /// The draft of a seed.
    #[must_use]
    pub fn of(seed: u64, menu: Menu) -> Draft {
        let mut random = Random::seeded(seed ^ 0x5eed, menu);
        let spec = random.spec();
        let steps: Vec<String> = (0..random.between(3, 24)).flat_map(|_| random.step(&spec)).collect();
        let backoff = random.one(&["0s", "0s", "1s", "10s"]);
        // Three of four steps are; what comes behind them waits until everybody is at rest.
        let own = u32::try_from(steps.len()).ok().and_then(|count| u64::MAX.checked_shl(count)).unwrap_or(0);
        let at_once = if menu.real_time { (random.bits() | random.bits()) & !own } else { 0 };
        Draft { menu, at_once, spec, steps, backoff, most_uncounted: random.most_uncounted() }
    }

    /// The steps that happen as soon as they are possible where a real clock is waited for, a bit for each: `--seed` of
    /// `jobcheck run`.
    #[must_use]
    pub fn at_once(&self) -> u64 {
        self.at_once
    }

    /// The scenario.
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
        // Who never sees anything again never comes to rest.
        if self.menu.faults || !self.menu.real_time {
            text.push_str("- catchUp: {}\n");
        }
        if self.menu.real_time {
            text.push_str(ENDING);
        }
        text
    }

    /// How many steps it has.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.steps.len()
    }

    /// Runs it with a seed, by controllers with these mutations, on the API server of this version.
    #[must_use]
    pub fn run(&self, version: RuleSet, seed: u64, mutations: &Mutations) -> Ran {
        let scenario = match read(&self.text("fuzz", "found by chance")) {
            Ok(scenario) => scenario,
            Err(error) => return Ran::Refused(error.to_string()),
        };
        match run_on(version, &scenario, seed, mutations) {
            Ok(outcome) => ran(outcome),
            Err(why) => Ran::Refused(why),
        }
    }

    /// The shortest draft found that is wrong in the same way, with the seed of its run: without each step and field in
    /// turn, until none can be missed. Each candidate may break with any of the first seeds.
    #[must_use]
    pub fn shrunk(
        &self,
        requirement: Option<Req>,
        version: RuleSet,
        seed: u64,
        mutations: &Mutations,
    ) -> (Draft, u64) {
        let tries = Cell::new(0);
        let is_wrong = |ran: Ran| matches!(ran, Ran::Wrong(wrong) if wrong.requirement == requirement);
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

    /// Itself without some of its steps, many first, and without one of its fields.
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

/// The Job is deleted, and no finalizer is left.
const ENDING: &str = "- deleteJob: {propagation: Background}\n  optional: true\n\
                      expect:\n- exists: false\n  pods: {tracked: 0}\n";
/// Seeds with which a shorter draft is tried beside its own: with fewer steps chance falls otherwise.
const SEEDS_TRIED: u64 = 4;
/// Drafts that are tried, after which the shortest so far is told.
const MOST_TRIES: usize = 200;

fn ran(outcome: Outcome) -> Ran {
    let (requirement, why) = outcome.told();
    match outcome.exit() {
        Exit::Conforms => Ran::Held { requests: outcome.requests },
        // A Job that went before its controller wrote anything is no doubt.
        Exit::Inconclusive if is_idle(&outcome.report) && outcome.unmet.is_none() => {
            Ran::Held { requests: outcome.requests }
        }
        Exit::Inconclusive => Ran::Unjudged { why, trace: outcome.trace },
        _ => Ran::Wrong(Box::new(Wrong { requirement, why, trace: outcome.trace })),
    }
}

/// Whether all that cannot be judged is that nothing was written of a Job.
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

    /// The API server takes all of them, and what they come to is judged, and holds.
    #[test]
    fn drafts_are_valid_and_hold() {
        for (seed, version) in
            (0..150).map(|seed| (seed, V1_36)).chain((0..50).map(|seed| (seed, RuleSet::V1_35)))
        {
            let ran = Draft::of(seed, Menu::SIM).run(version, seed, &Mutations::default());
            assert!(matches!(ran, Ran::Held { requests } if requests > 0), "{version:?} {seed}: {ran:?}");
        }
    }

    /// Where a real clock is waited for, time hardly passes; without faults nothing happens to controllers.
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
                    let names = step.happenings();
                    FAULTS.iter().any(|fault| names.iter().any(|name| name == fault))
                };
                assert!(faults || !steps().any(is_fault), "{text}");
                assert!(steps().next_back().is_some_and(|step| step.delete_job.is_some()), "{text}");
                assert_eq!(draft.at_once() >> draft.steps(), 0);
            }
        }
    }

    const FAULTS: [&str; 7] = ["crash", "lateRequest", "request", "hold", "release", "expire", "catchUp"];

    /// What is left of a draft breaks the same requirement, with the seed that is told. Here by a known defect.
    #[test]
    fn the_shortest_is_wrong_in_the_same_way() {
        let mutations = Mutations::of(&[Mutation::FinishesWhilePodsTerminate]);
        let wrong = |seed| match Draft::of(seed, Menu::SIM).run(V1_36, seed, &mutations) {
            Ran::Wrong(wrong) => wrong.requirement.map(|requirement| (seed, requirement)),
            Ran::Held { .. } | Ran::Unjudged { .. } | Ran::Refused(_) => None,
        };
        let (seed, requirement) = (0..200).find_map(wrong).unwrap();
        let draft = Draft::of(seed, Menu::SIM);
        let (shortest, its_seed) = draft.shrunk(Some(requirement), V1_36, seed, &mutations);
        assert!(shortest.steps() < draft.steps(), "{}", shortest.text("x", "y"));
        let again = shortest.run(V1_36, its_seed, &mutations);
        assert!(matches!(again, Ran::Wrong(wrong) if wrong.requirement == Some(requirement)));
        assert!(matches!(shortest.run(V1_36, its_seed, &Mutations::default()), Ran::Held { .. }));
    }

    /// A step that breaks something remains, and what it does not need goes.
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
