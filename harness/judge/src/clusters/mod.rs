//! Judges a manager that writes status alone by the traces of its own cluster and of the workers (MR-20 to MR-33,
//! `docs/reference/managers.md`).
//!
//! | module | task |
//! | --- | --- |
//! | [`lives`] | the Jobs of one cluster, with their statuses, their ends, and their refused status writes |
//! | [`claims`] | who creates copies, and by what the manager finds them |
//! | [`pairs`] | finds the copies of each Job |
//! | [`reasons`] | why a Job is not compared |
//! | [`unsettled`] | status writes with a server error |
//!
//! The guards are in [`jobcheck_spec::guards::copies`] and [`jobcheck_spec::guards::sums`]. Each cluster is judged on its own as well.

mod claims;
mod lives;
mod pairs;
mod reasons;
mod unsettled;

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use jobcheck_spec::guards::copies::{
    Grants, Local, judge_copies, judge_last_equality, judge_members, judge_simultaneity,
};
use jobcheck_spec::guards::sums::{Sum, judge_counters, judge_sums};
use jobcheck_spec::time::CLOCK_SKEW;
use jobcheck_spec::{Broken, Findings, Req, Uid};
use jobcheck_traces::{Input, Place};
use rustc_hash::FxHashMap;

use crate::replay::{Judging, ShowProgress};
use crate::report::JudgedTrace;
use crate::validate::{JobVerdict, Outcome, PATIENCE, Profile, Summary, Violation};
use lives::{Lives, Statuses};
use pairs::{Known, Pair};

/// The reason why the statuses of a Job and of its copies are not compared.
const NO_STATUSES: &str =
    "the trace of a worker has no write of jobs/status, so that the Job cannot be compared with its copies";

/// The reason why Jobs are not compared.
const ENDED_EARLY: &str = "the judgement ended early, so the clusters cannot be compared";

/// The traces of the clusters.
#[derive(Clone, Debug, Default)]
pub struct Clusters {
    /// The inputs of the cluster of the manager.
    pub manager: Vec<Input>,
    /// The inputs of each worker, or of each member's cluster.
    pub workers: Vec<Vec<Input>>,
}

impl Clusters {
    /// The traces in the order of the report: the manager's, then those of the workers.
    #[must_use]
    pub fn traces(&self) -> Vec<Vec<Input>> {
        std::iter::once(&self.manager).chain(&self.workers).cloned().collect()
    }
}

/// The findings about the Jobs of the manager.
#[derive(Debug, Default)]
pub(crate) struct Compared {
    /// The findings about each Job, with the record that shows its last state.
    pub(crate) jobs: BTreeMap<Uid, (Place, Findings)>,
    /// The requirements with a met premise, with the number of Jobs.
    pub(crate) premises: BTreeMap<Req, u64>,
    /// Reasons why nothing can be compared.
    pub(crate) doubts: Vec<String>,
    /// The Jobs of which the traces do not show enough, with the reasons.
    unknown: BTreeMap<Uid, &'static str>,
    /// The positions of violations on the cluster of the manager that are none beside the copy.
    excused: BTreeMap<Uid, Vec<usize>>,
}

impl Compared {
    /// Notes the violations on the cluster of the manager that are none beside the copy.
    fn excuse(&mut self, pair: &Pair<'_>, job: &JobVerdict) {
        let is_excused = |at: &usize| pair.is_as_in_the_copy(&job.violations[*at]);
        let excused: Vec<usize> = (0..job.violations.len()).filter(is_excused).collect();
        if !excused.is_empty() {
            self.excused.insert(pair.local.uid, excused);
        }
    }

    /// Adds the findings to the verdicts on the cluster of the manager.
    pub(crate) fn add_to(self, summary: &mut Summary) {
        for job in &mut summary.jobs {
            let uid = Uid::parse(&job.uid);
            if let Some(reason) = self.unknown.get(&uid) {
                job.doubts.push((*reason).to_owned());
                if job.outcome == Outcome::Conforms {
                    job.outcome = Outcome::Inconclusive;
                }
            }
            if let Some(excused) = self.excused.get(&uid) {
                excused.iter().rev().for_each(|at| drop(job.violations.remove(*at)));
                if job.violations.is_empty() {
                    let is_certain = job.doubts.is_empty();
                    job.outcome = if is_certain { Outcome::Conforms } else { Outcome::Inconclusive };
                }
            }
            let Some((place, findings)) = self.jobs.get(&uid) else { continue };
            for broken in &findings.broken {
                job.outcome = Outcome::Violates;
                job.violations.push(beside_copies(broken.clone(), *place));
            }
        }
        summary.premises.extend(self.premises);
        summary.premises.sort_unstable();
        summary.doubts.extend(self.doubts);
    }
}

fn beside_copies(broken: Broken, place: Place) -> Violation {
    Violation {
        broken,
        place,
        order: u64::MAX,
        done: None,
        version: None,
        write: Violation::BESIDE_COPIES.to_owned(),
        actor: None,
        names: Vec::new(),
        story: Vec::new(),
        world: Vec::new(),
        views: Vec::new(),
    }
}

/// Compares the Jobs of the manager with their copies. A profile says that Jobs without `spec.managedBy` have such a
/// manager, too. If the reading is stopped, nothing is compared: what is not read would count as absent.
///
/// `judged` has the verdicts on each cluster by itself, that of the manager first.
pub(crate) fn compare(
    clusters: &Clusters,
    judged: &[JudgedTrace],
    judging: &Judging,
    progress: ShowProgress<'_>,
) -> Compared {
    let mut compared = Compared::default();
    let manager = Lives::read(&clusters.manager, &judging.stop, progress);
    let workers: Vec<Lives> =
        clusters.workers.iter().map(|inputs| Lives::read(inputs, &judging.stop, progress)).collect();
    if judging.stop.load(Ordering::Relaxed) {
        compared.doubts.push(ENDED_EARLY.to_owned());
        return compared;
    }
    if !manager.has_times || workers.iter().any(|worker| !worker.has_times) {
        let reason = "a watch stream has no times, so the clusters cannot be compared; record with --audit";
        compared.doubts.push(reason.to_owned());
        return compared;
    }
    if manager.has_gap || workers.iter().any(|worker| worker.has_gap) {
        compared.doubts.push("a trace has a gap, so the clusters cannot be compared".to_owned());
        return compared;
    }
    let skew = judging.skew.unwrap_or(CLOCK_SKEW);
    let grants = Grants { patience: PATIENCE, skew: skew.saturating_mul(1_000_000) };
    let is_aggregate = judging.profile == Some(Profile::Aggregate);
    let known = Known { is_declared: judging.profile.is_some(), is_aggregate, skew: grants.skew };
    let pairs = pairs::find(&manager, &workers, known);
    if pairs.iter().all(|pair| pair.copies.is_empty()) {
        compared.doubts.push("no Job of the workers is the copy of a Job of the manager".to_owned());
    }
    let here = judged.first().into_iter().flat_map(|trace| &trace.summary.jobs);
    let verdicts: FxHashMap<Uid, &JobVerdict> = here.map(|job| (Uid::parse(&job.uid), job)).collect();
    for pair in &pairs {
        if judging.stop.load(Ordering::Relaxed) {
            compared.doubts.push(ENDED_EARLY.to_owned());
            break;
        }
        if let Some(reason) = pair.unknown {
            compared.unknown.insert(pair.local.uid, reason);
            continue;
        }
        if let Some(job) = verdicts.get(&pair.local.uid) {
            compared.excuse(pair, job);
        }
        let (facts, sum, mut findings) = (pair.facts(), pair.sum(judging.fails_when), Findings::new());
        judge_pair(pair, (&facts, &sum), (grants, is_aggregate), judged, &mut findings);
        let ends_early = || sum.is_ahead(grants).then_some(reasons::ENDED);
        let lacking = pair.lacks_evidence(is_aggregate).or_else(ends_early);
        if let Some(reason) = pair.excuse(judged, &mut findings).or(lacking) {
            compared.unknown.insert(pair.local.uid, reason);
        }
        let is_broken = !findings.broken.is_empty();
        let statuses = pair.statuses();
        if statuses == Statuses::LeftOut || statuses == Statuses::None && is_broken {
            // The rest of the contract does not rest on them.
            compared.unknown.insert(pair.local.uid, NO_STATUSES);
            findings = Findings::new();
            judge_members(&facts, grants, &mut findings);
        }
        for req in findings.premises() {
            *compared.premises.entry(req).or_default() += 1;
        }
        compared.jobs.insert(pair.local.uid, (pair.local.place, findings));
    }
    compared
}

fn judge_pair(
    pair: &Pair<'_>,
    (facts, sum): (&Local<'_>, &Sum<'_>),
    (grants, is_aggregate): (Grants, bool),
    judged: &[JudgedTrace],
    findings: &mut Findings,
) {
    if is_aggregate {
        judge_members(facts, grants, findings);
        judge_sums(sum, grants, findings);
        return;
    }
    judge_copies(facts, grants, findings);
    judge_last_equality(facts, grants, findings);
    if pair.shows_all(judged) {
        judge_simultaneity(facts, grants, findings);
    }
    if pair.has_any_copy() {
        judge_counters(sum, grants, findings);
    }
}
