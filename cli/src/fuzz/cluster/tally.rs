//! The results of the runs, and the runs that are written to files.

use std::collections::BTreeMap;

use jobcheck_judge::report::Exit;
use jobcheck_live::Error;
use jobcheck_sim::fuzz::Draft;
use jobcheck_spec::Req;

use super::super::args::FuzzArgs;
use super::super::write;
use super::verdict::Verdict;
use crate::output;
use crate::real_cluster;
use crate::run::Target;

/// The result of a draft.
pub enum Outcome {
    /// It was run.
    Ran(Box<Ran>),
    /// The target cannot run it, for this reason.
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
    /// The verdict.
    pub verdict: Verdict,
    /// The number of requests in its recording.
    pub requests: usize,
    /// The recording.
    pub trace: Vec<u8>,
    /// For a violation: the number of repetitions that break the same requirement, and of all repetitions.
    pub again: Option<(usize, usize)>,
}

/// The results of all runs.
#[derive(Default)]
pub struct Tally {
    /// The number of drafts.
    pub runs: u64,
    /// The number of requests in all recordings.
    pub requests: usize,
    /// The number of runs that conform.
    pub conform: u64,
    /// The number of runs that show known deviations only.
    pub deviate: u64,
    /// The number of runs that show each known deviation.
    pub known: BTreeMap<Req, u64>,
    /// The runs that break a requirement.
    pub violating: Vec<Ran>,
    /// The runs without a verdict.
    pub inconclusive: Vec<Ran>,
    /// The seeds of drafts that the target cannot run, with the reason.
    pub not_run: Vec<(u64, String)>,
    /// The seeds of runs that failed, with the reason and the exit code.
    pub failed: Vec<(u64, String, Exit)>,
    /// The number of restarts of components of the control plane.
    pub restarts: u64,
    /// The errors outside the runs, with the exit code.
    pub errors: Vec<(String, Exit)>,
}

impl Ran {
    /// The scenario, for `jobcheck run`.
    pub fn scenario(&self, target: Target) -> String {
        let (predicate, target) = (self.verdict.predicate(), target.name());
        let about = format!("{predicate} on {target}, with seed {}", self.draft.at_once());
        self.draft.text(&format!("fuzz-{}", self.seed), &about)
    }
}

impl Tally {
    /// Adds the result of a draft, and writes the run to files if it is evidence.
    pub fn add(&mut self, seed: u64, outcome: Outcome, args: &FuzzArgs) {
        self.runs += 1;
        match outcome {
            Outcome::Ran(ran) => self.ran(*ran, args),
            Outcome::NotRun(why) => self.not_run.push((seed, why)),
            Outcome::Failed(error) => {
                self.failed.push((seed, error.to_string(), real_cluster::exit_of(&error)));
            }
        }
    }

    fn ran(&mut self, mut ran: Ran, args: &FuzzArgs) {
        if self.is_evidence(&ran.verdict) {
            self.save(&ran, args);
        }
        // The traces of a long search do not fit in memory.
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

    /// Returns whether a run is written to files. The first run that shows a known deviation is evidence for it.
    fn is_evidence(&self, verdict: &Verdict) -> bool {
        match verdict {
            Verdict::Conforms => false,
            Verdict::Known(ids) => ids.iter().any(|id| !self.known.contains_key(id)),
            Verdict::Violates { .. } | Verdict::Inconclusive { .. } => true,
        }
    }

    /// Writes a run to files, at once, so that nothing is lost if the process is killed.
    fn save(&mut self, ran: &Ran, args: &FuzzArgs) {
        let Some(folder) = args.folder() else { return };
        if let Err(error) = write(folder, ran.seed, &ran.scenario(args.target), &ran.trace) {
            output::error(format!("{error:#}"));
            self.errors.push((format!("{error:#}"), Exit::Environment));
        }
    }

    /// The results so far, in a line.
    pub fn summary(&self) -> String {
        let (violating, open) = (self.violating.len(), self.inconclusive.len());
        format!("{} runs, {} KNOWN, {violating} violate, {open} inconclusive", self.runs, self.deviate)
    }

    /// The exit code.
    pub fn exit(&self, allow_known: bool) -> Exit {
        let failed = self.failed.iter().map(|(_, _, exit)| *exit);
        let errors = self.errors.iter().map(|(_, exit)| *exit);
        let is_broken = !self.violating.is_empty() || (self.deviate > 0 && !allow_known);
        let is_open = self.runs == 0 || !self.inconclusive.is_empty() || !self.not_run.is_empty();
        let broken = is_broken.then_some(Exit::Violates);
        Exit::of_all(failed.chain(errors).chain(broken).chain(is_open.then_some(Exit::Inconclusive)))
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
    fn the_first_run_of_each_known_deviation_is_evidence() {
        let mut tally = Tally::default();
        let known = |ids: &[Req]| Verdict::Known(ids.iter().copied().collect());
        assert!(tally.is_evidence(&known(&[Req::S04])) && !tally.is_evidence(&Verdict::Conforms));
        tally.count(ran(known(&[Req::S04])));
        assert!(!tally.is_evidence(&known(&[Req::S04])) && tally.is_evidence(&known(&[Req::S04, Req::S07])));
        tally.count(ran(known(&[Req::S04, Req::S07])));
        assert_eq!((tally.deviate, tally.known[&Req::S04], tally.known[&Req::S07]), (2, 2, 1));
    }
}
