//! Random scenarios, and the shortest that is wrong in the same way.
//!
//! A draft is a scenario as text, so that what is found is a file that `jobcheck run --target sim` takes. A seed decides
//! the draft and its run.

use std::cell::Cell;
use std::fmt::Write;

use jobcheck_harness::report::Exit;
use jobcheck_harness::scenario::read;
use jobcheck_model::Req;
use jobcheck_model::algorithm::switches::Switches;

use crate::rng::Rng;
use crate::{Outcome, run};

/// A scenario that may be shortened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// Fields of the Job's spec, one line each.
    spec: Vec<String>,
    /// Steps, one line each.
    steps: Vec<String>,
    /// The delay after a failure.
    backoff: &'static str,
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
    pub fn of(seed: u64) -> Draft {
        let mut random = Random(Rng::seeded(seed ^ 0x5eed));
        let spec = random.spec();
        let steps = (0..random.between(3, 24)).flat_map(|_| random.step(&spec)).collect();
        Draft { spec, steps, backoff: random.one(&["0s", "0s", "1s", "10s"]) }
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
        let _ = writeln!(text, "controller: {{podFailureBackoff: {}}}", self.backoff);
        text.push_str("steps:\n");
        for step in &self.steps {
            let _ = writeln!(text, "- {step}\n  optional: true");
        }
        // Who never sees anything again never comes to rest.
        text.push_str("- catchUp: {}\n");
        text
    }

    /// How many steps it has.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.steps.len()
    }

    /// Runs it with a seed, by controllers with these departures.
    #[must_use]
    pub fn run(&self, seed: u64, departures: &Switches) -> Ran {
        let scenario = match read(&self.text("fuzz", "found by chance")) {
            Ok(scenario) => scenario,
            Err(error) => return Ran::Refused(error.to_string()),
        };
        match run(&scenario, seed, departures) {
            Ok(outcome) => ran(outcome),
            Err(why) => Ran::Refused(why),
        }
    }

    /// The shortest draft found that is wrong in the same way, with the seed of its run: without each step and field in
    /// turn, until none can be missed. Each candidate may break with any of the first seeds.
    #[must_use]
    pub fn shrunk(&self, seed: u64, requirement: Option<Req>, departures: &Switches) -> (Draft, u64) {
        let tries = Cell::new(0);
        let breaks = |draft: &Draft| {
            tries.set(tries.get() + 1);
            let seeds = [seed].into_iter().chain(0..SEEDS_TRIED);
            seeds.into_iter().find(
                |seed| matches!(draft.run(*seed, departures), Ran::Wrong(wrong) if wrong.requirement == requirement),
            )
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
        fewer_steps.chain(fewer_fields).chain(sooner).filter(move |draft| draft != self)
    }
}

/// Seeds with which a shorter draft is tried beside its own: with fewer steps chance falls otherwise.
const SEEDS_TRIED: u64 = 4;
/// Drafts that are tried, after which the shortest so far is told.
const MOST_TRIES: usize = 200;

fn ran(outcome: Outcome) -> Ran {
    let (requirement, why) = outcome.told();
    match outcome.exit() {
        Exit::Conforms => Ran::Held { requests: outcome.requests },
        // A Job that went before its controller wrote anything is no doubt.
        Exit::Inconclusive if is_idle(&outcome) => Ran::Held { requests: outcome.requests },
        Exit::Inconclusive => Ran::Unjudged { why, trace: outcome.trace },
        _ => Ran::Wrong(Box::new(Wrong { requirement, why, trace: outcome.trace })),
    }
}

/// Whether all that cannot be judged is that nothing was written of a Job.
fn is_idle(outcome: &Outcome) -> bool {
    let jobs = &outcome.report.jobs;
    let clear =
        jobs.iter().all(|job| job.doubts.is_empty() || (job.judged_writes == 0 && job.doubts.len() == 1));
    clear && outcome.unmet.is_none() && outcome.report.errors.is_empty()
}

struct Random(Rng);

impl Random {
    fn below(&mut self, count: usize) -> usize {
        self.0.below(count)
    }

    fn between(&mut self, least: usize, most: usize) -> usize {
        least + self.below(most - least + 1)
    }

    fn chance(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// A Job that the API server takes.
    fn spec(&mut self) -> Vec<String> {
        let indexed = self.chance(2);
        let work_queue = !indexed && self.chance(4);
        let completions = self.between(1, 4);
        let mut spec = Vec::new();
        if !work_queue {
            spec.push(format!("completions: {completions}"));
        }
        spec.push(format!("parallelism: {}", self.between(1, 4)));
        let per_index = indexed && self.chance(2);
        if indexed {
            spec.push("completionMode: Indexed".to_owned());
        }
        if per_index {
            spec.push(format!("backoffLimitPerIndex: {}", self.below(3)));
            if self.chance(2) {
                spec.push(format!("maxFailedIndexes: {}", self.below(completions + 1)));
            }
        } else if !self.chance(4) {
            spec.push(format!("backoffLimit: {}", self.below(4)));
        }
        if self.chance(3) {
            let actions = ["Ignore", "Count", "FailJob", "FailIndex"];
            let action = self.one(&actions[..if per_index { 4 } else { 3 }]);
            spec.push(format!(
                "podFailurePolicy: {{rules: [{{action: {action}, onExitCodes: {{operator: In, values: [42]}}}}]}}"
            ));
        } else if self.chance(2) {
            spec.push(format!("podReplacementPolicy: {}", self.one(&["Failed", "TerminatingOrFailed"])));
        }
        if indexed && self.chance(4) {
            spec.push(format!(
                "successPolicy: {{rules: [{{succeededCount: {}}}]}}",
                self.between(1, completions)
            ));
        }
        if self.chance(5) {
            spec.push(format!("activeDeadlineSeconds: {}", self.between(1, 20)));
        }
        if self.chance(5) {
            spec.push(format!("ttlSecondsAfterFinished: {}", self.below(10)));
        }
        if self.chance(8) {
            spec.push("suspend: true".to_owned());
        }
        spec
    }

    fn pod(&mut self) -> String {
        if self.chance(4) { "{}".to_owned() } else { format!("{{pod: {}}}", self.between(1, 6)) }
    }

    /// One step, or two that belong together.
    fn step(&mut self, spec: &[String]) -> Vec<String> {
        let one = |step: String| vec![step];
        match self.below(24) {
            0..=4 => one(format!("succeed: {}", self.pod())),
            5..=7 => one(format!("fail: {{pod: {}, exitCode: {}}}", self.between(1, 6), self.one(&[1, 42]))),
            8 => one(format!("run: {}", self.pod())),
            9 => one(format!("ready: {}", self.pod())),
            10 => one(format!("evict: {}", self.pod())),
            11 => one(format!("deletePod: {{pod: {}, force: {}}}", self.between(1, 6), self.chance(4))),
            12 => one(format!("{}: {}", self.one(&["loseNode", "podGC", "relabel", "disown"]), self.pod())),
            13 => one(format!("edit: {{suspend: {}}}", self.chance(2))),
            14 => one(self.rescaling(spec)),
            15 => one("crash: {}".to_owned()),
            16 => {
                let request = self.request();
                vec![format!("crash: {{during: {{{request}}}}}"), "lateRequest: {}".to_owned()]
            }
            17..=19 => {
                let request = self.request();
                one(format!("request: {{{request}, outcome: {}}}", self.one(&["fails", "answerLost"])))
            }
            20 => {
                let watch = self.one(&["pods", "jobs"]);
                vec![format!("hold: {{watch: {watch}}}"), format!("release: {{watch: {watch}}}")]
            }
            21 => one(format!("advance: {}s", self.between(1, 15))),
            22 => one("settle: {}".to_owned()),
            _ if self.chance(3) => {
                let propagation = self.one(&["Foreground", "Background", "Orphan"]);
                vec![format!("deleteJob: {{propagation: {propagation}}}"), "recreate: {}".to_owned()]
            }
            _ => one("catchUp: {}".to_owned()),
        }
    }

    /// Of an Indexed Job both numbers at once.
    fn rescaling(&mut self, spec: &[String]) -> String {
        let to = self.between(1, 4);
        if spec.iter().any(|field| field.starts_with("completionMode")) {
            format!("edit: {{parallelism: {to}, completions: {to}}}")
        } else {
            format!("edit: {{parallelism: {to}}}")
        }
    }

    fn request(&mut self) -> String {
        let kinds = [
            "verb: update, resource: jobs/status",
            "verb: create, resource: pods",
            "verb: patch, resource: pods",
            "verb: delete, resource: pods",
        ];
        let (kind, nth) = (self.one(&kinds), self.between(1, 3));
        format!("{kind}, nth: {nth}")
    }
}

#[cfg(test)]
mod tests {
    use jobcheck_model::algorithm::switches::Switch;

    use super::*;

    /// The API server takes all of them, and what they come to is judged, and holds.
    #[test]
    fn drafts_are_valid_and_hold() {
        for seed in 0..150 {
            let ran = Draft::of(seed).run(seed, &Switches::default());
            assert!(matches!(ran, Ran::Held { requests } if requests > 0), "{seed}: {ran:?}");
        }
    }

    /// What is left of a draft breaks the same requirement, with the seed that is told. Here by a known defect.
    #[test]
    fn the_shortest_is_wrong_in_the_same_way() {
        let departures = Switches::of(&[Switch::FinishesWhilePodsTerminate]);
        let wrong = |seed| match Draft::of(seed).run(seed, &departures) {
            Ran::Wrong(wrong) => wrong.requirement.map(|requirement| (seed, requirement)),
            Ran::Held { .. } | Ran::Unjudged { .. } | Ran::Refused(_) => None,
        };
        let (seed, requirement) = (0..200).find_map(wrong).unwrap();
        let draft = Draft::of(seed);
        let (shortest, its_seed) = draft.shrunk(seed, Some(requirement), &departures);
        assert!(shortest.steps() < draft.steps(), "{}", shortest.text("x", "y"));
        let again = shortest.run(its_seed, &departures);
        assert!(matches!(again, Ran::Wrong(wrong) if wrong.requirement == Some(requirement)));
        assert!(matches!(shortest.run(its_seed, &Switches::default()), Ran::Held { .. }));
    }

    /// A step that breaks something remains, and what it does not need goes.
    #[test]
    fn what_is_not_needed_goes() {
        let draft = Draft {
            spec: ["completions: 2", "parallelism: 2", "ttlSecondsAfterFinished: 9"]
                .map(str::to_owned)
                .into(),
            steps: ["run: {pod: 1}", "advance: 3s", "succeed: {pod: 1}"].map(str::to_owned).into(),
            backoff: "1s",
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
