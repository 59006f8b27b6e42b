//! The contract of an aggregator: a Job here, whose status sums up those of its members elsewhere (MR-30 to MR-33,
//! `docs/reference/managers.md`).
//!
//! | requirement | compared | decided by |
//! | --- | --- | --- |
//! | MR-30 | counters, and what the members have counted | [`judge_sums`] |
//! | MR-31 | the failure and the end, and the members at that time | the same |
//! | MR-32 | the same, if a member is of an older Kubernetes | the same |
//! | MR-33 | the decision, and the list of members | the same |
//!
//! A cache of a member may lag. A write is right if some view explains it: of each member, one of the versions that were
//! stored by then, or its absence. Views of one member only advance, and a pod that was reported has been seen. So each
//! write moves the earliest view that remains ([`Views`]).

use super::copies::{Grants, Micros};
use super::work::Work;
use crate::IndexSet;
use crate::catalogue::Req;
use crate::job::{ConditionKind, JobStatus};
use crate::requirement::Findings;

/// The rule by which members fail the Job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailsWhen {
    /// One member has failed.
    #[default]
    Any,
    /// All members have failed.
    All,
}

/// A status, and the time from which on it was stored.
#[derive(Clone, Copy, Debug)]
pub struct Stored<'a> {
    /// When the server had stored it.
    pub at: Micros,
    /// The status.
    pub status: &'a JobStatus,
}

/// A member: a Job elsewhere that an aggregator reads.
#[derive(Clone, Debug)]
pub struct Member<'a> {
    /// Its creation.
    pub created: Micros,
    /// Its statuses, in order.
    pub statuses: Vec<Stored<'a>>,
    /// Its deletion or removal.
    pub gone: Option<Micros>,
    /// Its removal. A finalizer may have kept it after its deletion.
    pub removed: Option<Micros>,
    /// The time up to which the trace of its cluster reaches.
    pub seen_until: Micros,
}

/// A Job whose manager sums up the statuses of members.
#[derive(Clone, Debug)]
pub struct Sum<'a> {
    /// Its statuses, in order.
    pub statuses: Vec<Stored<'a>>,
    /// Its deletion or removal.
    pub gone: Option<Micros>,
    /// The pods that it needs; `None` if `completions` is unset.
    pub completions: Option<i32>,
    /// Its successes are indexes. Several members may complete one.
    pub is_indexed: bool,
    /// The work of its manager on its cluster.
    pub work: Work,
    /// Status writes that validation refused, without an accepted one after them.
    pub refused: &'a [Micros],
    /// All members that ever existed, in the order of their creation.
    pub members: Vec<Member<'a>>,
    /// The declared rule.
    pub fails_when: FailsWhen,
}

/// A number of a status.
type Number = fn(&JobStatus) -> i32;

/// The counters. They belong to a pod that has ended, and never fall.
const COUNTERS: [(&str, Number); 2] =
    [("status.succeeded", |status| status.succeeded), ("status.failed", |status| status.failed)];

/// The numbers of pods that live. At quiescence they are the sums of those of the members.
const LIVING: [(&str, Number); 2] =
    [("status.active", |status| status.active), ("status.ready", |status| status.ready.unwrap_or(0))];

/// The version of each member that its manager has seen at least; `None` before the first one.
#[derive(Debug)]
struct Views {
    earliest: Vec<Option<usize>>,
}

impl Member<'_> {
    /// The number of versions that may be seen at a time.
    fn shown(&self, by: Micros) -> usize {
        self.statuses.partition_point(|it| it.at <= by)
    }

    /// The largest value that any of its versions has had by then.
    fn largest(&self, number: Number, by: Micros) -> i64 {
        let shown = self.statuses[..self.shown(by)].iter();
        shown.map(|it| i64::from(number(it.status))).max().unwrap_or(0)
    }

    /// The version that is stored at a time.
    fn stored(&self, at: Micros) -> Option<&JobStatus> {
        self.statuses[..self.shown(at)].last().map(|it| it.status)
    }

    /// Returns `true` if its trace shows its counters at this time: it reaches as far, or they cannot change any more.
    fn is_shown_at(&self, at: Micros) -> bool {
        self.seen_until >= at || self.removed.is_some() || self.last().is_some_and(JobStatus::is_finished)
    }

    fn last(&self) -> Option<&JobStatus> {
        self.statuses.last().map(|it| it.status)
    }

    /// The last change of its status, or of its existence.
    fn changed(&self) -> Micros {
        let last = self.statuses.last().map_or(self.created, |it| it.at);
        last.max(self.created).max(self.gone.unwrap_or(Micros::MIN))
    }

    /// It comes from a Kubernetes that writes neither interim conditions nor `terminating`.
    fn is_older(&self) -> bool {
        self.statuses.iter().any(|it| it.status.is_finished() && lacks_interim(it.status))
            || self.statuses.iter().any(|it| it.status.start_time.is_some())
                && self.statuses.iter().all(|it| it.status.terminating.is_none())
    }
}

impl Views {
    /// The versions of a member that some view shows at this time. `None` is its absence.
    fn of<'a>(
        &self,
        member: &'a Member<'_>,
        position: usize,
        by: Micros,
    ) -> impl Iterator<Item = Option<&'a JobStatus>> {
        let earliest = self.earliest[position];
        let is_absent = earliest.is_none() || member.gone.is_some_and(|gone| gone <= by);
        let from = earliest.unwrap_or(0);
        let versions = member.statuses[..member.shown(by)].iter().skip(from).map(|it| Some(it.status));
        is_absent.then_some(None).into_iter().chain(versions)
    }

    /// Learns from a write that its reported pods had been seen. A number that the members do not explain shows nothing.
    fn learn(&mut self, members: &[Member<'_>], write: &Stored<'_>, by: Micros) {
        let numbers = COUNTERS.map(|(_, number)| number).into_iter().chain([(|it| it.active) as Number]);
        for number in numbers {
            let largest: Vec<i64> = members.iter().map(|member| member.largest(number, by)).collect();
            let all: i64 = largest.iter().sum();
            let reported = i64::from(number(write.status));
            if reported > all {
                continue;
            }
            for (position, member) in members.iter().enumerate() {
                let needed = reported - (all - largest[position]);
                let has = |it: &Stored<'_>| i64::from(number(it.status)) >= needed;
                let seen = member.statuses.iter().position(has).filter(|_| needed > 0);
                self.earliest[position] = self.earliest[position].max(seen);
            }
        }
    }
}

/// Judges the status of a Job as the sum of those of its members.
pub fn judge_sums(sum: &Sum<'_>, grants: Grants, findings: &mut Findings) {
    judge_list(sum, grants, findings);
    if sum.members.is_empty() {
        return;
    }
    let mut views = Views { earliest: vec![None; sum.members.len()] };
    let mut before = &JobStatus::default();
    for write in &sum.statuses {
        let by = write.at.saturating_add(grants.skew);
        views.learn(&sum.members, write, by);
        judge_most(sum, write, grants, findings);
        if fails(write.status) && !fails(before) {
            judge_failure(sum, &views, by, findings);
        }
        if write.status.is_decided() && !before.is_decided() {
            judge_success(sum, &views, write, grants, findings);
        }
        if write.status.is_finished() && !before.is_finished() {
            judge_rest(sum, &views, write, by, findings);
            judge_total(sum, &views, write, by, findings);
            judge_interim(sum, write, findings);
        }
        before = write.status;
    }
    judge_quiescence(sum, grants, findings);
    judge_refusals(sum, findings);
}

/// Judges the counters of a Job with copies: they count no pod that no copy has counted (MR-30).
pub fn judge_counters(sum: &Sum<'_>, grants: Grants, findings: &mut Findings) {
    for write in &sum.statuses {
        judge_most(sum, write, grants, findings);
    }
}

fn fails(status: &JobStatus) -> bool {
    status.is_true(&ConditionKind::Failed) || status.is_true(&ConditionKind::FailureTarget)
}

fn lacks_interim(status: &JobStatus) -> bool {
    status.is_true(&ConditionKind::Failed) && !status.is_true(&ConditionKind::FailureTarget)
        || status.is_true(&ConditionKind::Complete) && !status.is_true(&ConditionKind::SuccessCriteriaMet)
}

/// MR-30: no counter exceeds what the members have counted by then. A member whose trace has ended may have counted more.
fn judge_most(sum: &Sum<'_>, write: &Stored<'_>, grants: Grants, findings: &mut Findings) {
    if !sum.members.iter().all(|member| member.is_shown_at(write.at.saturating_sub(grants.skew))) {
        return;
    }
    let by = write.at.saturating_add(grants.skew);
    for (what, number) in COUNTERS {
        let most: i64 = sum.members.iter().map(|member| member.largest(number, by)).sum();
        let found = i64::from(number(write.status));
        let expected = format!("at most {most}, which all members have counted by then");
        findings.require(Req::MR30, found <= most, what, expected, found);
    }
}

/// MR-30: the counters of an end are the sum of what some view shows. A member that has left keeps its counts.
fn judge_total(sum: &Sum<'_>, views: &Views, write: &Stored<'_>, by: Micros, findings: &mut Findings) {
    for (what, number) in COUNTERS {
        let smallest = |(position, member): (usize, &Member<'_>)| {
            let seen = views.earliest[position];
            let kept = seen.map_or(0, |seen| i64::from(number(member.statuses[seen].status)));
            let ended = views.of(member, position, by).filter(|view| is_at_rest(*view));
            ended.map(|view| view.map_or(kept, |view| i64::from(number(view)))).min().unwrap_or(kept)
        };
        let least = sum.least(what, sum.members.iter().enumerate().map(smallest));
        let found = i64::from(number(write.status));
        let expected = format!("at least {least}, which the members have counted");
        findings.require(Req::MR30, found >= least, what, expected, found);
    }
}

/// MR-31: the Job fails if members have failed, by the declared rule.
fn judge_failure(sum: &Sum<'_>, views: &Views, by: Micros, findings: &mut Findings) {
    let members = || sum.members.iter().enumerate();
    let may_fail = |(position, member): (usize, &Member<'_>)| {
        views.of(member, position, by).any(|view| view.is_some_and(fails))
    };
    let may_be_absent =
        |(position, member): (usize, &Member<'_>)| views.of(member, position, by).any(|view| view.is_none());
    let some = members().any(may_fail);
    let (holds, expected) = match sum.fails_when {
        FailsWhen::Any => (some, "set once a member has failed"),
        FailsWhen::All => {
            let all = members().all(|it| may_fail(it) || may_be_absent(it));
            (some && all, "set once all members have failed")
        }
    };
    findings.require(Req::MR31, holds, "failure of the Job", expected, "set without such a failure");
}

/// MR-31: a Job that any member fails does not decide to succeed after the failure of one.
fn judge_success(sum: &Sum<'_>, views: &Views, write: &Stored<'_>, grants: Grants, findings: &mut Findings) {
    if sum.fails_when != FailsWhen::Any || fails(write.status) {
        return;
    }
    let by = write.at.saturating_add(grants.skew);
    let is_failure_seen = |(position, member): (usize, &Member<'_>)| {
        let mut all = views.of(member, position, by).peekable();
        let is_in_all_views = all.peek().is_some() && all.all(|view| view.is_some_and(fails));
        let failed = member.statuses.iter().find(|it| fails(it.status)).map(|it| it.at);
        let had_time = |failed: Micros| {
            let since = failed.saturating_add(grants.skew);
            sum.work.worked(since, write.at.saturating_sub(grants.skew)) >= grants.patience
        };
        is_in_all_views || member.gone.is_none() && failed.is_some_and(had_time)
    };
    let holds = !sum.members.iter().enumerate().any(is_failure_seen);
    let found = "success, after a member had failed";
    findings.require(Req::MR31, holds, "decision about the Job", "failure", found);
}

/// A view of a member in which it has no pods that run or end.
fn is_at_rest(view: Option<&JobStatus>) -> bool {
    view.is_none_or(|status| {
        status.active == 0 && status.ready.unwrap_or(0) == 0 && status.terminating.unwrap_or(0) == 0
    })
}

/// MR-31: at the end no member has active or terminating pods.
fn judge_rest(sum: &Sum<'_>, views: &Views, write: &Stored<'_>, by: Micros, findings: &mut Findings) {
    let busy = sum.members.iter().enumerate().find(|(position, member)| {
        let mut all = views.of(member, *position, by);
        !all.any(is_at_rest)
    });
    let found = busy.and_then(|(_, member)| member.stored(by)).map_or_else(String::new, |status| {
        let terminating = status.terminating.unwrap_or(0);
        format!("one with active {} and terminating {terminating}", status.active)
    });
    let holds = busy.is_none();
    findings.require(Req::MR31, holds, "members at the end of the Job", "none active or terminating", found);
    let first = write.status.is_true(&ConditionKind::Failed);
    let before = || sum.statuses.iter().take_while(|it| it.at <= write.at);
    let announced = !first || before().any(|it| it.status.is_true(&ConditionKind::FailureTarget));
    findings.require(Req::MR31, announced, "Failed", "set with FailureTarget, or after it", "set alone");
}

/// MR-32: a member without interim conditions does not take that of the Job away.
fn judge_interim(sum: &Sum<'_>, write: &Stored<'_>, findings: &mut Findings) {
    if sum.members.iter().any(Member::is_older) {
        let holds = !lacks_interim(write.status);
        let found = "set alone, as in a member of an older Kubernetes";
        findings.require(Req::MR32, holds, "terminal condition", "set beside its interim condition", found);
    }
}

/// MR-32: no status write is refused for ever because of an older member.
fn judge_refusals(sum: &Sum<'_>, findings: &mut Findings) {
    let Some(since) = sum.members.iter().filter(|it| it.is_older()).map(|it| it.created).min() else {
        return;
    };
    let refused = sum.refused.iter().filter(|at| **at >= since).count();
    let what = "status writes that validation refuses, without an accepted one after them";
    let expected = "none, although a member is of an older Kubernetes";
    findings.require(Req::MR32, refused < 2, what, expected, refused);
}

/// MR-33: an empty list of members decides nothing. A member that has decided before it left counts.
fn judge_list(sum: &Sum<'_>, grants: Grants, findings: &mut Findings) {
    let Some(write) = sum.statuses.iter().find(|it| it.status.is_decided()) else { return };
    let by = write.at.saturating_add(grants.skew);
    let earlier = write.at.saturating_sub(grants.skew);
    let is_left = |member: &&Member<'_>| {
        let is_there = member.gone.is_none_or(|gone| gone > earlier);
        member.created <= by && (is_there || member.statuses.iter().any(|it| it.status.is_decided()))
    };
    let counted: i64 = sum.members.iter().map(|member| member.largest(|it| it.succeeded, by)).sum();
    let is_done = !fails(write.status) && counted >= sum.needed();
    let holds = is_done || sum.members.iter().any(|member| is_left(&member));
    let found = "decided, while the list of members is empty";
    findings.require(Req::MR33, holds, "end of the Job", "that of its members", found);
}

/// MR-30 and MR-21: what the members have counted and decided arrives.
fn judge_quiescence(sum: &Sum<'_>, grants: Grants, findings: &mut Findings) {
    let here = sum.statuses.last().map_or(Micros::MIN, |it| it.at);
    let since = sum.members.iter().map(Member::changed).max().unwrap_or(here).max(here);
    let has_had_time = sum.work.had_time(since, grants.patience);
    let reach = since.saturating_add(grants.patience).saturating_sub(grants.skew);
    let is_seen = sum.members.iter().all(|member| member.gone.is_some() || member.seen_until >= reach);
    let (Some(last), None, true) = (sum.statuses.last(), sum.gone, has_had_time && is_seen) else { return };
    if last.status.is_finished() {
        return;
    }
    for (what, number) in COUNTERS {
        // The last counts of a member that was removed may never have been seen.
        let counted = |member: &Member<'_>| {
            let until = member.gone.map_or(Micros::MAX, |gone| gone.saturating_sub(grants.patience));
            member.stored(until).map_or(0, |status| i64::from(number(status)))
        };
        let least = sum.least(what, sum.members.iter().map(counted));
        let found = i64::from(number(last.status));
        let expected = format!("{least}, which the members have counted");
        findings.require(Req::MR30, found >= least, what, expected, found);
    }
    for (what, number) in LIVING {
        let living = |member: &Member<'_>| member.last().map_or(0, |status| i64::from(number(status)));
        let of = |is_there: fn(&Member<'_>) -> bool| -> i64 {
            sum.members.iter().filter(|member| is_there(member)).map(living).sum()
        };
        // The pods of a member that is being deleted may count.
        let (least, most) = (of(|it| it.gone.is_none()), of(|it| it.removed.is_none()));
        let found = i64::from(number(last.status));
        let holds = (least..=most).contains(&found);
        findings.require(Req::MR30, holds, what, format!("{least}, the sum of the members"), found);
    }
    if let Some(kind) = sum.due_end() {
        let found = "none, although the manager was active for 120 s or more after the ends of all members";
        findings.require(Req::MR21, false, "terminal condition of the Job", kind, found);
    }
}

/// The number of indexes that any of these statuses has completed.
fn union(all: &[&JobStatus]) -> u32 {
    let sets: Vec<_> = all.iter().map(|status| status.completed(None)).collect();
    let new = |(position, set): (usize, &IndexSet)| {
        sets[..position].iter().fold(set.clone(), |left, earlier| left.minus(earlier)).len()
    };
    sets.iter().enumerate().map(new).sum()
}

impl Sum<'_> {
    /// Returns `true` if the last counters exceed those of the members because a trace of a member has ended.
    #[must_use]
    pub fn is_ahead(&self, grants: Grants) -> bool {
        let Some(last) = self.statuses.last() else { return false };
        let at = last.at.saturating_sub(grants.skew);
        let exceeds = |number: Number| {
            let all: i64 = self.members.iter().map(|member| member.largest(number, Micros::MAX)).sum();
            i64::from(number(last.status)) > all
        };
        let is_open = self.members.iter().any(|member| !member.is_shown_at(at));
        is_open && COUNTERS.iter().any(|(_, number)| exceeds(*number))
    }

    /// The successes that end the Job.
    fn needed(&self) -> i64 {
        self.completions.map_or(1, i64::from)
    }

    /// The least value of a counter: that of the members, where the Job may have it (MR-01). Several members may complete one
    /// index, which counts once.
    fn least(&self, what: &str, counted: impl Iterator<Item = i64>) -> i64 {
        let counted: i64 = match self.is_indexed && what == "status.succeeded" {
            true => counted.max().unwrap_or(0),
            false => counted.sum(),
        };
        let most = self.completions.filter(|_| what == "status.succeeded").map_or(i64::MAX, i64::from);
        counted.min(most)
    }

    /// The end that the ends of all members demand.
    fn due_end(&self) -> Option<&'static str> {
        let ends: Vec<&JobStatus> = self.members.iter().map(Member::last).collect::<Option<_>>()?;
        if !ends.iter().all(|status| status.is_finished()) {
            return None;
        }
        let failed = ends.iter().filter(|status| fails(status)).count();
        let succeeded = match self.is_indexed {
            true => i64::from(union(&ends)),
            false => ends.iter().map(|status| i64::from(status.succeeded)).sum(),
        };
        match self.fails_when {
            FailsWhen::Any if failed > 0 => Some("Failed"),
            FailsWhen::All if failed == ends.len() => Some("Failed"),
            _ if succeeded >= self.needed() => Some("Complete"),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
