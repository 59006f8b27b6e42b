//! Writing the status.
//!
//! The alphabet is a product of parts: index texts, conditions, suspension, recorded UIDs, and counted UIDs
//! ([`alphabet`]). Before the product is formed, each part is judged alone by the guards that read no other
//! part. A part that they reject is wrong in every combination. The guards then judge each combination. A
//! mistake in this pruning could only hide an admitted write; a test compares with the unpruned product.

mod alphabet;

use jobcheck_spec::guards::without_interim::{WithoutInterim, unwritten_decision};

use super::{DecisionContext, Manager};
use crate::knowledge::Knowledge;
use crate::scope::Scope;
use crate::world::{Driver, JobState};
use jobcheck_spec::apiserver::{status_updated, validate_status_update, would_refuse_status};
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::guards::backlog::judge_backlog;
use jobcheck_spec::guards::contract::judge_contract;
use jobcheck_spec::guards::counting::{
    has_true, judge_counting, judge_counting_truth, judge_indexes, judge_recorded,
};
use jobcheck_spec::guards::decision::{Holds, Reason, Tally, holds, judge_interim};
use jobcheck_spec::guards::status::{
    judge_counted_status_write, judge_list_size, judge_none_active, judge_status_shape, judge_status_write,
    judge_terminal_truth,
};
use jobcheck_spec::guards::suspend::judge_suspend;
use jobcheck_spec::job::{ConditionKind, Job, JobStatus};
use jobcheck_spec::requirement::{Broken, Findings};
use jobcheck_spec::time::Time;
use jobcheck_spec::uid::Uid;
use jobcheck_spec::view::View;

/// The admitted status writes.
pub fn admitted(context: &DecisionContext<'_>) -> Vec<JobStatus> {
    let Some(job) = context.writable_job() else { return Vec::new() };
    let mut writes: Vec<JobStatus> = Vec::new();
    let pruned = Pruned::of(context, job);
    for new in pruned.product() {
        if new != job.status && !writes.contains(&new) && pruned.admits_whole(&new) {
            writes.push(new);
        }
    }
    writes
}

/// Judges a status write.
pub fn judge(context: &DecisionContext<'_>, new: &JobStatus) -> Findings {
    let Some(job) = context.writable_job() else { return super::out_of_reach("status write") };
    let mut findings = Findings::new();
    if context.gates.delays_terminal_condition() {
        judge_announced(context, job, new, &mut findings);
        return findings;
    }
    let guards = WithoutInterim {
        with_interim: &|job, new, findings| judge_announced(context, job, new, findings),
        truth: &|job, new, findings| judge_truth(context, job, new, findings),
        unwritten_decision: &|| unwritten_decision(&context.view(job), context.now),
    };
    guards.judge(job, new, &mut findings);
    findings
}

fn judge_announced(context: &DecisionContext<'_>, job: &Job, new: &JobStatus, findings: &mut Findings) {
    judge_truth(context, job, new, findings);
    if context.scope.admits(findings) {
        judge_status_write(&context.view(job), new, findings);
    }
}

/// Judges what no stale cache can excuse.
fn judge_truth(context: &DecisionContext<'_>, job: &Job, new: &JobStatus, findings: &mut Findings) {
    let old = &job.status;
    judge_contract(old, new, true, findings);
    judge_status_shape(&job.spec, old, new, &context.job_state.ghost, findings);
    judge_list_size(new, context.scope.constants.max_uncounted_pods, findings);
    judge_accounts(context, job, new, findings);
    let known = |uid| is_known(context.job_state, uid);
    if context.gates.delays_terminal_condition() {
        judge_terminal_truth(old, new, &context.job_state.pods, &known, findings);
    } else {
        judge_none_active(old, new, &context.job_state.pods, &known, findings);
    }
}

/// Returns true if the manager can have known that the pod would be created (S-08).
fn is_known(job_state: &JobState, uid: Uid) -> bool {
    job_state.ghost.pod(uid).is_some_and(|ghost| !ghost.unexpected)
}

fn judge_accounts(context: &DecisionContext<'_>, job: &Job, new: &JobStatus, findings: &mut Findings) {
    let job_state = context.job_state;
    let gone = |uid: Uid| Some(job_state.pods.get(uid).is_none_or(|pod| !pod.finalizer));
    judge_counting_truth(&job.status, new, job.spec.is_indexed(), &job_state.ghost, &gone, findings);
}

/// Stores the status, unless the server refuses it.
pub fn apply(job_state: &mut JobState, manager: &Manager, new: &JobStatus, now: Time, scope: &Scope) {
    let (Some(job), Some(read)) = (job_state.job.clone(), &manager.job) else { return };
    let sent = Job { status: new.clone(), ..Job::clone(&job) };
    if let Some(broken) = refusal(&job, &sent, scope) {
        job_state.ghost.refused.get_or_insert(broken.req);
        return;
    }
    let seen = super::pod_cache(job_state);
    job_state.ghost.check_interim(read, new, manager.fresh, &job_state.pods);
    job_state.ghost.status_written(&read.spec, &job.status, new, &job_state.pods, now);
    job_state.ghost.status_written_with(manager.gates, &job, new, now);
    job_state.job = Some(status_updated(&job, &sent).into());
    let (Driver::Specification(knowledge), Some(seen)) = (&mut job_state.driver, seen) else { return };
    let record = knowledge.backoff.clone();
    knowledge.backoff.keep(&seen.view(read, now, &record, &scope.constants));
    knowledge.end_sync();
}

/// The rule by which the server refuses a write. Rules in [`Scope::without`] do not apply.
#[must_use]
pub fn refusal(job: &Job, sent: &Job, scope: &Scope) -> Option<Broken> {
    if scope.without.is_empty() {
        return would_refuse_status(&scope.rules, job, sent);
    }
    let mut findings = Findings::new();
    validate_status_update(&scope.rules, job, sent, &mut findings);
    scope.verdict(findings)
}

/// Returns true if the alphabet contains a write that the server would refuse. This proves that the server's
/// rules are tested.
#[must_use]
pub fn has_refusable_candidate(job_state: &JobState, now: Time, scope: &Scope) -> bool {
    let up_to_date = Knowledge::up_to_date(job_state.gates());
    let knowledge = match &job_state.driver {
        Driver::Specification(knowledge) => knowledge,
        Driver::Processes { .. } => &up_to_date,
    };
    let context = DecisionContext::with_knowledge(job_state, knowledge, now, scope);
    let Some(job) = context.writable_job() else { return false };
    let view = context.view(job);
    let mut sent = Job { status: alphabet::base(&view), ..job.clone() };
    alphabet::conditions(&view, &Reason::ALL, context.now).into_iter().any(|part| {
        part.put_into(&mut sent.status);
        would_refuse_status(&scope.rules, job, &sent).is_some()
    })
}

/// The parts of the alphabet that may be right.
struct Pruned<'a> {
    context: &'a DecisionContext<'a>,
    job: &'a Job,
    view: View<'a>,
    tally: Tally,
    /// The stored status with the current numbers of pods.
    base: JobStatus,
}

impl<'a> Pruned<'a> {
    fn of(context: &'a DecisionContext<'a>, job: &'a Job) -> Pruned<'a> {
        let view = context.view(job);
        let (tally, base) = (Tally::of(&view), alphabet::base(&view));
        Pruned { context, job, view, tally, base }
    }

    fn admits(&self, judge: impl FnOnce(&mut Findings)) -> bool {
        let mut findings = Findings::new();
        judge(&mut findings);
        self.context.scope.admits(&findings)
    }

    /// Judges a whole status write, as [`judge`] does, with the cached tally.
    fn admits_whole(&self, new: &JobStatus) -> bool {
        self.admits(|findings| judge_truth(self.context, self.job, new, findings))
            && self.admits(|findings| judge_counted_status_write(&self.view, new, &self.tally, findings))
    }

    fn product(&self) -> Vec<JobStatus> {
        let heads = self.heads();
        let accounts = if heads.is_empty() { Vec::new() } else { self.accounts() };
        let mut writes = Vec::new();
        for kinds in Announced::ALL {
            let heads: Vec<&JobStatus> = heads.iter().filter(|head| Announced::of(head) == kinds).collect();
            let Some(first) = heads.first() else { continue };
            let single = self.single_records(first);
            for account in &accounts {
                for record in self.records(&single, account, first) {
                    let counted = record.on(account.clone());
                    writes.extend(heads.iter().map(|head| with_head(counted.clone(), head)));
                }
            }
        }
        writes
    }

    /// The combinations of index texts with UIDs that leave the lists, without conditions.
    fn accounts(&self) -> Vec<JobStatus> {
        let texts = self.index_texts();
        let mut accounts = Vec::new();
        for base in self.bases() {
            let bare = JobStatus { conditions: Vec::new(), ..base };
            for moved in alphabet::moves(&self.job.status) {
                let moved = moved.on(bare.clone());
                if self.view.spec().is_indexed() {
                    accounts.extend(texts.iter().flat_map(|text| text.on(&moved)));
                } else {
                    accounts.push(moved);
                }
            }
        }
        accounts.retain(|new| {
            self.admits(|findings| judge_accounts(self.context, self.job, new, findings))
                && self.admits(|findings| judge_counting(&self.view, new, &self.tally, findings))
        });
        accounts
    }

    /// The index texts that may be right, whatever UIDs move.
    fn index_texts(&self) -> Vec<alphabet::IndexTexts> {
        if !self.view.spec().is_indexed() {
            return Vec::new();
        }
        let mut scratch = self.base.clone();
        let mut texts = alphabet::index_texts(&self.view);
        texts.retain(|text| {
            text.put_into(&mut scratch);
            self.admits(|findings| judge_indexes(&self.view, &scratch, &self.tally, findings))
        });
        texts
    }

    /// Other numbers than those of the view break PC-02 or UG-05, whatever else is written.
    fn bases(&self) -> Vec<JobStatus> {
        let wrong = [Req::PC02, Req::UG05].iter().any(|req| self.context.scope.without.contains(req));
        let mut bases = if wrong { alphabet::miscounted(&self.base) } else { Vec::new() };
        bases.push(self.base.clone());
        bases
    }

    /// The combinations of conditions and times.
    fn heads(&self) -> Vec<JobStatus> {
        let mut scratch = self.base.clone();
        let mut heads = Vec::new();
        for part in alphabet::conditions(&self.view, &self.reasons(), self.context.now) {
            part.put_into(&mut scratch);
            if self.admits_conditions(&scratch) {
                heads.extend(alphabet::suspensions(&scratch, self.context.now));
            }
        }
        heads.retain(|new| self.admits(|findings| judge_suspend(&self.view, new, findings)));
        heads
    }

    /// The reasons that a new interim condition may have. A reason that does not hold breaks a requirement,
    /// whatever else is written. If the Job is decided, every reason is equally wrong.
    fn reasons(&self) -> Vec<Reason> {
        if self.job.status.is_decided() {
            return vec![Reason::BackoffLimitExceeded];
        }
        let turned_off = !self.context.scope.without.is_empty();
        let may_hold = |reason: &Reason| turned_off || holds(*reason, &self.view, &self.tally) != Holds::No;
        Reason::ALL.into_iter().filter(may_hold).collect()
    }

    /// Judges the conditions and the completion time alone, with the cheapest guards first.
    fn admits_conditions(&self, new: &JobStatus) -> bool {
        let old = &self.job.status;
        self.admits(|findings| judge_contract(old, new, true, findings))
            && self.admits(|findings| judge_interim(&self.view, new, &self.tally, findings))
            && self.admits(|findings| {
                judge_terminal_truth(old, new, &self.context.job_state.pods, &|_| true, findings);
            })
    }

    /// The UIDs that may enter the lists in a write with the conditions of `head`.
    fn single_records(&self, head: &JobStatus) -> Vec<alphabet::Record> {
        let known = self.context.job_state.ghost.pods.len();
        let mut single = alphabet::single_records(&self.job.status, known);
        single.retain(|record| {
            let new = record.on(with_head(self.base.clone(), head));
            self.admits(|findings| judge_recorded(&self.view, &new, &self.tally, findings))
        });
        single
    }

    /// The sets of these UIDs that may enter the lists of `account`. Each contains every UID that must enter.
    fn records(
        &self,
        single: &[alphabet::Record],
        account: &JobStatus,
        head: &JobStatus,
    ) -> Vec<alphabet::Record> {
        let mut sets = alphabet::Record::sets(single);
        sets.retain(|record| {
            let new = record.on(with_head(account.clone(), head));
            self.admits(|findings| judge_backlog(&self.view, &new, &self.tally, findings))
        });
        sets
    }
}

fn with_head(account: JobStatus, head: &JobStatus) -> JobStatus {
    JobStatus {
        conditions: head.conditions.clone(),
        start_time: head.start_time,
        completion_time: head.completion_time,
        ..account
    }
}

/// The interim conditions that are true. Accounting reads nothing else of the conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Announced {
    good: bool,
    bad: bool,
}

impl Announced {
    const ALL: [Announced; 4] = [
        Announced { good: false, bad: false },
        Announced { good: true, bad: false },
        Announced { good: false, bad: true },
        Announced { good: true, bad: true },
    ];

    fn of(head: &JobStatus) -> Announced {
        Announced {
            good: has_true(head, &ConditionKind::SuccessCriteriaMet),
            bad: has_true(head, &ConditionKind::FailureTarget),
        }
    }
}

#[cfg(test)]
mod tests;
