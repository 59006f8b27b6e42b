//! A state of an aggregator: its Job, the members on other clusters, and the process.

use std::sync::Arc;

use jobcheck_spec::apiserver::{validate_status_update, would_refuse_status};
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::guards::contract::judge_contract;
use jobcheck_spec::guards::mirror::{MirrorWrite, Past, judge_mirror, judge_refusal};
use jobcheck_spec::job::{ConditionKind, Job, JobStatus};
use jobcheck_spec::requirement::Findings;
use jobcheck_spec::time::Time;

use super::Scope;
use super::protocol::{ClusterView, Counts, LocalView, MemberView, Request, decide};
use crate::executor::{Move, Shown, Task};
use crate::flat::{COMPLETE, FAILURE_TARGET, Flat, Instant};
use crate::scope::Budget;
use crate::step::{counted, with_fewest_caches};
use crate::world::Local;

/// The number of clusters with members.
pub const CLUSTERS: usize = 2;
/// The most members that a Job may have had.
pub const MEMBERS: usize = 4;
/// All events happen at this time. No rule compares times that the manager sets by itself.
const NOW: Instant = 2;

/// A state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// The status of the Job.
    pub status: Flat,
    /// The counts of members that have left, by number.
    pub counted: [Option<(u8, u8)>; MEMBERS],
    /// The members that exist, by cluster.
    pub members: [Option<Member>; CLUSTERS],
    /// The number of members that were created so far.
    pub made: u8,
    /// The process.
    pub process: Process,
    /// The faults that may still happen.
    pub left: Budget,
    /// The truth, which the manager does not see.
    pub truth: Truth,
    /// The first broken requirement.
    pub broken: Option<Req>,
}

/// A member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Member {
    /// Its number, which stands for its UID.
    pub number: u8,
    /// Its `completions`.
    pub share: u8,
    /// It is being deleted.
    pub deleting: bool,
    /// It has the finalizer of the manager.
    pub finalizer: bool,
    /// It is being deleted, and has no pods. A cache shows this as a finalizer that is gone.
    pub drained: bool,
    /// `status`.
    pub status: Flat,
    /// [`Shown::hidden`]. No part of the object; a cache has 0.
    pub hidden: i8,
}

/// The process of the manager. It takes the responses of its own writes to the Job, which nobody else writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Process {
    /// Its cache of the Job is filled.
    pub has_job: bool,
    /// Its caches of the members.
    pub members: [Option<Option<Member>>; CLUSTERS],
    /// The clusters on which it awaits a member that it has created.
    pub awaited: [bool; CLUSTERS],
}

/// The real counts, and other facts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Truth {
    /// The pods that the members have counted as succeeded.
    pub succeeded: u8,
    /// The pods that they have counted as failed.
    pub failed: u8,
    /// The pods that were created.
    pub pods: u8,
    /// A member has failed, or is going to.
    pub fails: bool,
    /// Refused status writes since the last accepted one, at most 2.
    pub refused: u8,
}

/// A request without its content, which follows from the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Call {
    /// [`Request::Write`].
    Write,
    /// [`Request::Create`].
    Create(usize),
    /// [`Request::Delete`].
    Delete(usize),
    /// [`Request::Release`].
    Release(usize),
}

/// A step. The number is that of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Caches show the newest version, the manager sends a request, and the API server handles it. The first number has a
    /// bit for each cluster, and one for the Job.
    Request(u8, Call),
    /// The executor writes the status of a member.
    Execute(usize, Move),
    /// Somebody deletes a member.
    Delete(usize),
    /// The manager stops, and a new process starts with empty caches.
    Crash,
}

impl Step {
    /// The names of the kinds of steps.
    pub const KINDS: [&'static str; 7] = [
        "the manager writes the status",
        "the manager creates a member",
        "the manager deletes a member",
        "the manager removes its finalizer",
        "the executor writes the status of a member",
        "somebody deletes a member",
        "the manager crashes",
    ];

    /// The number of the kind.
    #[must_use]
    pub fn kind(&self) -> usize {
        match self {
            Step::Request(_, Call::Write) => 0,
            Step::Request(_, Call::Create(_)) => 1,
            Step::Request(_, Call::Delete(_)) => 2,
            Step::Request(_, Call::Release(_)) => 3,
            Step::Execute(..) => 4,
            Step::Delete(_) => 5,
            Step::Crash => 6,
        }
    }
}

impl Call {
    fn of(request: &Request) -> Call {
        match request {
            Request::Write(..) => Call::Write,
            Request::Create(cluster, _) => Call::Create(*cluster),
            Request::Delete(cluster) => Call::Delete(*cluster),
            Request::Release(cluster) => Call::Release(*cluster),
        }
    }
}

/// The bit of the cache of the Job.
const JOB: u8 = 1 << CLUSTERS;

impl State {
    /// The first state: the user has just created the Job.
    #[must_use]
    pub fn initial(scope: &Scope) -> State {
        State {
            status: Flat::default(),
            counted: [None; MEMBERS],
            members: [None; CLUSTERS],
            made: 0,
            process: Process::default(),
            left: scope.most,
            truth: Truth::default(),
            broken: None,
        }
    }

    /// The steps that may happen.
    pub fn enabled(&self, scope: &Scope, steps: &mut Vec<Step>) {
        self.requests_with_effect(scope, steps);
        for (cluster, member) in self.present() {
            let (task, shown) = (self.task(member, scope), member.shown());
            let moves = Move::ALL
                .into_iter()
                .filter(|it| it.is_enabled(&task, &shown) && has_cause(*it, &task, &shown));
            steps.extend(moves.map(|it| Step::Execute(cluster, it)));
            if self.left.copy_deletions > 0 && !member.deleting {
                steps.push(Step::Delete(cluster));
            }
        }
        steps.extend((self.left.crashes > 0).then_some(Step::Crash));
    }

    /// Each request that changes something, with the fewest caches that have to be up to date for it.
    fn requests_with_effect(&self, scope: &Scope, steps: &mut Vec<Step>) {
        let with_effect = |caches| {
            let state = self.refreshed(caches);
            let mut requests = state.requests(scope);
            requests.retain(|request| state.has_effect(request));
            requests
        };
        let sent = with_fewest_caches(self.stale(), with_effect);
        steps.extend(sent.iter().map(|(caches, request)| Step::Request(*caches, Call::of(request))));
    }

    /// The requests that the manager sends once all caches are up to date.
    #[must_use]
    pub fn due(&self, scope: &Scope) -> Vec<Call> {
        self.refreshed(self.stale()).requests(scope).iter().map(Call::of).collect()
    }

    fn requests(&self, scope: &Scope) -> Vec<Request> {
        if !self.process.has_job {
            return Vec::new();
        }
        let counted = self.counted.iter().zip(0_u8..);
        let counted =
            counted.filter_map(|(it, uid)| Some((uid, it.map(|(s, f)| (i32::from(s), i32::from(f)))?)));
        let mut local = LocalView { job: self.job(scope, self.status.status()), counted: counted.collect() };
        let views = self.process.members.map(|cache| match cache {
            None => ClusterView::Unknown,
            Some(member) => ClusterView::Known(member.map(|member| Box::new(member.view(scope.older)))),
        });
        let awaited: Vec<usize> = (0..CLUSTERS).filter(|cluster| self.process.awaited[*cluster]).collect();
        let now = Time(i64::from(NOW));
        match scope.defect {
            None => decide(&local, &views, &awaited, now),
            Some(defect) => defect.decide(&mut local, views.to_vec(), awaited, now),
        }
    }

    fn has_effect(&self, request: &Request) -> bool {
        let stored = |cluster: &usize| self.members[*cluster];
        let cached = |cluster: &usize| self.process.members[*cluster].flatten();
        match request {
            Request::Write(..) => true,
            Request::Create(cluster, _) => stored(cluster).is_none() && usize::from(self.made) < MEMBERS,
            Request::Delete(cluster) => {
                let is_same = cached(cluster).map(|it| it.number) == stored(cluster).map(|it| it.number);
                is_same && stored(cluster).is_some_and(|it| !it.deleting)
            }
            // The resourceVersion must be that of the cache.
            Request::Release(cluster) => {
                cached(cluster) == stored(cluster).map(Member::object)
                    && stored(cluster).is_some_and(|it| it.finalizer)
            }
        }
    }

    /// The caches that can show another version than they do.
    fn stale(&self) -> u8 {
        let differs = |cluster: &usize| {
            let is_late = self.process.is_late(*cluster, self.members[*cluster].as_ref());
            is_late || self.process.awaited[*cluster]
        };
        let members: u8 = (0..CLUSTERS).filter(differs).map(|cluster| 1 << cluster).sum();
        members | if self.process.has_job { 0 } else { JOB }
    }

    /// The state in which these caches show the newest version.
    pub(super) fn refreshed(&self, caches: u8) -> State {
        let mut state = *self;
        state.process.has_job |= caches & JOB != 0;
        for cluster in (0..CLUSTERS).filter(|cluster| caches >> cluster & 1 == 1) {
            state.process.members[cluster] = Some(self.members[cluster].map(Member::object));
            state.process.awaited[cluster] = false;
        }
        state
    }

    fn present(&self) -> impl Iterator<Item = (usize, &Member)> {
        self.members.iter().enumerate().filter_map(|(cluster, it)| Some((cluster, it.as_ref()?)))
    }

    /// The parts of a member that its executor reads.
    #[must_use]
    pub fn task(&self, member: &Member, scope: &Scope) -> Task {
        Task {
            completions: member.share,
            parallelism: member.share,
            pods_left: scope.pods - self.truth.pods,
            suspended: false,
            deleting: member.deleting,
        }
    }

    fn job(&self, scope: &Scope, status: JobStatus) -> Job {
        let mut job = Local::new(0, 1).with_status(&crate::scope::plain(), status);
        let spec = Arc::make_mut(&mut job.spec);
        let completions = i32::from(scope.completions);
        (spec.completions, spec.parallelism) = (Some(completions), Some(completions));
        job
    }

    /// The state after an enabled step.
    #[must_use]
    pub fn after(&self, step: Step, scope: &Scope) -> (State, Findings) {
        let mut state = *self;
        let mut findings = Findings::new();
        match step {
            Step::Request(caches, call) => {
                state = state.refreshed(caches);
                let request = state.requests(scope).into_iter().find(|request| Call::of(request) == call);
                if let Some(request) = request {
                    state.send(request, scope, &mut findings);
                }
            }
            Step::Execute(cluster, it) => state.execute(cluster, it),
            Step::Delete(cluster) => {
                state.left.copy_deletions -= 1;
                state.change(cluster, |member| member.deleting = true);
            }
            Step::Crash => {
                state.left.crashes -= 1;
                state.process = Process::default();
            }
        }
        let found = findings.broken.iter().map(|broken| broken.req).find(|req| scope.asks(*req));
        state.broken = state.broken.or(found);
        (state, findings)
    }

    fn change(&mut self, cluster: usize, change: impl FnOnce(&mut Member)) {
        if let Some(member) = &mut self.members[cluster] {
            change(member);
            let has_pods = member.status.living() > 0 || member.hidden != 0 || member.status.recorded > 0;
            member.drained = member.deleting && !has_pods;
            if member.drained && !member.finalizer {
                self.members[cluster] = None;
            }
        }
    }

    fn execute(&mut self, cluster: usize, it: Move) {
        let Some(member) = self.members[cluster] else { return };
        let shown = it.apply(&member.shown(), NOW);
        let (succeeded, failed) = counted(&member.status, &shown.status);
        self.truth.succeeded += succeeded;
        self.truth.failed += failed;
        self.truth.pods += u8::from(it == Move::Create);
        self.truth.fails |= shown.status.is(FAILURE_TARGET);
        self.change(cluster, |member| (member.status, member.hidden) = (shown.status, shown.hidden));
    }

    /// The API server handles a request.
    fn send(&mut self, request: Request, scope: &Scope, findings: &mut Findings) {
        match request {
            Request::Write(status, counted) => self.write(&status, &counted, scope, findings),
            Request::Create(cluster, share) => {
                self.process.awaited[cluster] = true;
                self.members[cluster] = Some(Member::new(self.made, u8::try_from(share).unwrap_or(u8::MAX)));
                self.made += 1;
            }
            Request::Delete(cluster) => self.change(cluster, |member| member.deleting = true),
            Request::Release(cluster) => self.change(cluster, |member| member.finalizer = false),
        }
    }

    fn write(
        &mut self,
        status: &JobStatus,
        counted: &[(u8, Counts)],
        scope: &Scope,
        findings: &mut Findings,
    ) {
        let (old, new) = (self.job(scope, self.status.status()), self.job(scope, status.clone()));
        if let Some(broken) = would_refuse_status(&scope.rules, &old, &new) {
            judge_refusal(broken.to_string(), self.truth.refused > 0, findings);
            self.truth.refused = (self.truth.refused + 1).min(2);
            return;
        }
        let past = Past { parallelism: u32::from(scope.completions), ..Past::default() };
        let until = Some(Time(i64::from(NOW)));
        let write = MirrorWrite { job: &old, new: status, until, skew: 0, past: &past };
        judge_mirror(&write, findings, &mut Findings::new());
        judge_contract(&old.status, status, false, findings);
        validate_status_update(&scope.rules, &old, &new, findings);
        let small = |count: i32| u8::try_from(count).unwrap_or(u8::MAX);
        self.truth.refused = 0;
        self.judge_sum(&Flat::of(status), scope, findings);
        self.status = Flat::of(status);
        for (number, (succeeded, failed)) in counted {
            self.counted[usize::from(*number)] = Some((small(*succeeded), small(*failed)));
        }
    }

    /// Compares a status with what really happened (MR-30, MR-31, MR-33, TC-05).
    fn judge_sum(&self, new: &Flat, scope: &Scope, findings: &mut Findings) {
        let Truth { succeeded, failed, fails, .. } = self.truth;
        let is_end = new.is_finished() && !self.status.is_finished();
        for (what, counted, found) in [
            ("succeeded, and the pods that the members have counted", succeeded, new.succeeded),
            ("failed, and the pods that the members have counted", failed, new.failed),
        ] {
            let fits = found <= counted && (!is_end || found == counted);
            let bound = if is_end { counted.to_string() } else { format!("at most {counted}") };
            findings.require(Req::MR30, fits, what, bound, i32::from(found));
        }
        let is_decision = new.is_decided() && !self.status.is_decided();
        if is_decision && new.is(FAILURE_TARGET) {
            findings.require(
                Req::MR31,
                fails,
                "failure of the Job",
                "set once a member has failed",
                "set before",
            );
        } else if is_decision {
            let has_enough = succeeded >= scope.completions;
            findings.require(Req::MR33, has_enough, "end of the Job", "that of its members", "another one");
        }
        if is_end {
            let living: u8 = self.present().map(|(_, member)| member.status.living()).sum();
            let what = "pods of the members at the end of the Job";
            findings.require(Req::MR31, living == 0, what, 0, i32::from(living));
        }
        let fits = new.end == 0 || new.is(COMPLETE);
        findings.require(Req::TC05, fits, "completionTime", "only with Complete", "another status");
    }

    /// The open obligation of a state in which nothing more happens.
    #[must_use]
    pub fn open_obligation(&self) -> Option<(Req, &'static str)> {
        match () {
            () if !self.status.is_finished() => Some((Req::MR21, "the Job has no terminal condition")),
            () if self.present().any(|(_, member)| member.finalizer) => {
                Some((Req::MR25, "a member keeps the finalizer"))
            }
            () => None,
        }
    }
}

/// Returns true if the executor has a cause for this write. A member fails after a failure of a pod, and deletes pods at its end.
fn has_cause(it: Move, task: &Task, shown: &Shown) -> bool {
    it.is_due(task, shown) || (it == Move::Reject && shown.status.failed > 0)
}

impl Process {
    /// Returns true if the cache of a cluster does not show this member.
    pub(super) fn is_late(&self, cluster: usize, newest: Option<&Member>) -> bool {
        self.members[cluster] != Some(newest.copied().map(Member::object))
    }
}

impl Member {
    fn new(number: u8, share: u8) -> Member {
        let status = Flat::default();
        Member { number, share, deleting: false, finalizer: true, drained: false, status, hidden: 0 }
    }

    /// The status, and the pods that it does not show.
    #[must_use]
    pub fn shown(&self) -> Shown {
        Shown { status: self.status, hidden: self.hidden }
    }

    /// The object, as a cache has it.
    fn object(self) -> Member {
        Member { hidden: 0, ..self }
    }

    /// The object as the protocol reads it. An older Kubernetes has neither interim conditions nor `terminating`.
    fn view(&self, older: bool) -> MemberView {
        let mut status = self.status.status();
        if older {
            status.terminating = None;
            let is_interim = |kind: &ConditionKind| {
                matches!(kind, ConditionKind::SuccessCriteriaMet | ConditionKind::FailureTarget)
            };
            status.conditions.retain(|it| !is_interim(&it.kind));
        }
        MemberView {
            uid: self.number,
            share: i32::from(self.share),
            deleting: self.deleting,
            drained: self.drained,
            finalizer: self.finalizer,
            status,
        }
    }
}
