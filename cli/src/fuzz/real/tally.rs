//! What the runs came to, counted, and what of them is kept.

use std::collections::BTreeMap;

use anstream::eprintln;
use jobcheck_judge::report::Exit;
use jobcheck_live::Error;
use jobcheck_sim::fuzz::Draft;
use jobcheck_spec::Req;

use super::super::args::FuzzArgs;
use super::super::keep;
use super::verdict::Verdict;
use crate::real;
use crate::run::Target;

/// What became of a draft.
pub enum Outcome {
    /// It was run.
    Ran(Box<Ran>),
    /// The target cannot play it, and why.
    NotRun(String),
    /// Something failed.
    Failed(Error),
}

/// A run of a draft.
pub struct Ran {
    /// The seed of the draft.
    pub seed: u64,
    /// The draft.
    pub draft: Draft,
    /// What the run came to.
    pub verdict: Verdict,
    /// Requests in its recording.
    pub requests: usize,
    /// The recording.
    pub trace: Vec<u8>,
    /// Of a run that is wrong: how many repetitions were wrong in the same way, of how many.
    pub again: Option<(usize, usize)>,
}

/// What the runs came to.
#[derive(Default)]
pub struct Tally {
    /// Drafts.
    pub runs: u64,
    /// Requests of all recordings.
    pub requests: usize,
    /// Runs with which nothing is wrong.
    pub conform: u64,
    /// Runs that show documented deviations alone.
    pub deviate: u64,
    /// How many of them show each.
    pub known: BTreeMap<Req, u64>,
    /// Runs that break a requirement.
    pub violating: Vec<Ran>,
    /// Runs that cannot be judged.
    pub inconclusive: Vec<Ran>,
    /// Seeds of drafts that the target cannot play, and why.
    pub not_run: Vec<(u64, String)>,
    /// Seeds of runs that could not be made, why, and what that comes to.
    pub failed: Vec<(u64, String, Exit)>,
    /// How often a part of the control plane was restarted.
    pub restarts: u64,
    /// What went wrong beside the runs, and what that comes to.
    pub trouble: Vec<(String, Exit)>,
}

impl Ran {
    /// The scenario, for `jobcheck run`.
    pub fn text(&self, target: Target) -> String {
        let (what, on) = (self.verdict.told(), target.name());
        let about = format!("{what} on {on}, with seed {}", self.draft.at_once());
        self.draft.text(&format!("fuzz-{}", self.seed), &about)
    }
}

impl Tally {
    /// Counts what became of a draft, and keeps what is to be kept.
    pub fn take(&mut self, seed: u64, outcome: Outcome, args: &FuzzArgs) {
        self.runs += 1;
        match outcome {
            Outcome::Ran(ran) => self.ran(*ran, args),
            Outcome::NotRun(why) => self.not_run.push((seed, why)),
            Outcome::Failed(error) => {
                self.failed.push((seed, error.to_string(), real::exit_of(&error)));
            }
        }
    }

    fn ran(&mut self, mut ran: Ran, args: &FuzzArgs) {
        if self.wants(&ran.verdict) {
            self.save(&ran, args);
        }
        // A long search has many.
        ran.trace = Vec::new();
        self.count(ran);
    }

    fn count(&mut self, ran: Ran) {
        self.requests += ran.requests;
        match &ran.verdict {
            Verdict::Conforms => self.conform += 1,
            Verdict::Known(ids) => {
                self.deviate += 1;
                ids.iter().for_each(|id| *self.known.entry(*id).or_default() += 1);
            }
            Verdict::Violates { .. } => self.violating.push(ran),
            Verdict::Inconclusive { .. } => self.inconclusive.push(ran),
        }
    }

    /// Whether a run is kept. The first of each documented deviation is evidence.
    fn wants(&self, verdict: &Verdict) -> bool {
        match verdict {
            Verdict::Conforms => false,
            Verdict::Known(ids) => ids.iter().any(|id| !self.known.contains_key(id)),
            Verdict::Violates { .. } | Verdict::Inconclusive { .. } => true,
        }
    }

    /// At once: whoever is killed has lost nothing then.
    fn save(&mut self, ran: &Ran, args: &FuzzArgs) {
        let Some(directory) = &args.save else { return };
        if let Err(error) = keep(directory, ran.seed, &ran.text(args.target), &ran.trace) {
            eprintln!("error: {error:#}");
            self.trouble.push((format!("{error:#}"), Exit::Environment));
        }
    }

    /// In a line.
    pub fn so_far(&self) -> String {
        let (wrong, open) = (self.violating.len(), self.inconclusive.len());
        format!("{} runs, {} KNOWN, {wrong} wrong, {open} inconclusive", self.runs, self.deviate)
    }

    /// What it comes to.
    pub fn exit(&self, allow_known: bool) -> Exit {
        let failed = self.failed.iter().map(|(_, _, exit)| *exit);
        let trouble = self.trouble.iter().map(|(_, exit)| *exit);
        let is_broken = !self.violating.is_empty() || (self.deviate > 0 && !allow_known);
        let is_open = self.runs == 0 || !self.inconclusive.is_empty() || !self.not_run.is_empty();
        let broken = is_broken.then_some(Exit::Violates);
        Exit::of_all(failed.chain(trouble).chain(broken).chain(is_open.then_some(Exit::Inconclusive)))
    }
}

#[cfg(test)]
mod tests {
    use jobcheck_sim::fuzz::Menu;

    use super::*;

    fn ran(verdict: Verdict) -> Ran {
        let draft = Draft::of(1, Menu { faults: false, real_time: true });
        Ran { seed: 1, draft, verdict, requests: 1, trace: Vec::new(), again: None }
    }

    fn exit(verdicts: impl IntoIterator<Item = Verdict>, allow_known: bool) -> Exit {
        let mut tally = Tally::default();
        for verdict in verdicts {
            tally.runs += 1;
            tally.count(ran(verdict));
        }
        tally.exit(allow_known)
    }

    #[test]
    fn the_exit_is_that_of_the_worst_run() {
        let known = || Verdict::Known([Req::S04].into());
        let violates = || Verdict::Violates { requirement: Some(Req::FT02), why: String::new() };
        let open = || Verdict::Inconclusive { why: String::new() };
        assert_eq!(exit([], false), Exit::Inconclusive);
        assert_eq!(exit([Verdict::Conforms], false), Exit::Conforms);
        assert_eq!(exit([Verdict::Conforms, known()], false), Exit::Violates);
        assert_eq!(exit([Verdict::Conforms, known()], true), Exit::Conforms);
        assert_eq!(exit([known(), open()], true), Exit::Inconclusive);
        assert_eq!(exit([violates(), open()], true), Exit::Violates);
    }

    #[test]
    fn of_each_documented_deviation_the_first_is_kept() {
        let mut tally = Tally::default();
        let known = |ids: &[Req]| Verdict::Known(ids.iter().copied().collect());
        assert!(tally.wants(&known(&[Req::S04])) && !tally.wants(&Verdict::Conforms));
        tally.count(ran(known(&[Req::S04])));
        assert!(!tally.wants(&known(&[Req::S04])) && tally.wants(&known(&[Req::S04, Req::S07])));
        tally.count(ran(known(&[Req::S04, Req::S07])));
        assert_eq!((tally.deviate, tally.known[&Req::S04], tally.known[&Req::S07]), (2, 2, 1));
    }
}
