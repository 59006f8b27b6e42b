//! A small simulated cluster for the whole life of a Job: etcd, caches that lag behind it, a kubelet, and failing calls.

use std::collections::{BTreeMap, BTreeSet};

use super::build::{Case, condition_of, pod};
use crate::answer::{Answer, Failure, Shown};
use crate::job::call::Call;
use crate::job::command::{FinalizerRemoval, NewPod, Plan, StatusWrite};
use crate::job::conditions::{COMPLETE, FAILED, FAILURE_TARGET, SUCCESS_CRITERIA_MET, find_true, finished};
use crate::job::enactment::Enactment;
use crate::job::memory::Memory;
use crate::job::observed::{
    ContainerKind, Controller, Deletion, JobFacts, Phase, PodFacts, Settings, StatusFacts, Terminated,
};
use crate::job::orphan::{self, OrphanObserved, OrphanPlan, Owner};
use crate::job::plan::plan;
use crate::job::view::{PodState, pod_state};
use crate::values::{ResourceVersion, Text, Time, Uid};

/// A cluster with one Job.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// The Job in etcd.
    pub job: JobFacts,
    /// The pods in etcd.
    pub pods: BTreeMap<Uid, PodFacts>,
    /// The pods in the cache of the controller. Its cache of Jobs is always up to date.
    pub cached: BTreeMap<Uid, PodFacts>,
    /// The states of the pods since the last call with a response. A cache may show any of them.
    past: Vec<BTreeMap<Uid, PodFacts>>,
    pub memory: Memory,
    pub settings: Settings,
    pub now: Time,
    /// All UIDs that were ever recorded, each with its counter.
    recorded: BTreeMap<Uid, &'static str>,
    created: u64,
    pub writes: usize,
    /// The pod whose deletion is refused.
    pub undeletable: Option<Uid>,
}

/// The fault in the calls of one plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// All calls succeed.
    None,
    /// The process terminates before this call.
    CrashBefore(usize),
    /// The API server refuses this call.
    Refuse(usize),
    /// The API server performs this call, and the response is lost.
    LoseResponse(usize),
}

impl Cluster {
    pub fn new(job: JobFacts) -> Self {
        Cluster {
            job,
            pods: BTreeMap::new(),
            cached: BTreeMap::new(),
            past: Vec::new(),
            memory: Memory::default(),
            settings: Settings::default(),
            now: super::build::NOW,
            recorded: BTreeMap::new(),
            created: 0,
            writes: 0,
            undeletable: None,
        }
    }

    /// Returns a cluster with the Job and the pods of a case, and up-to-date caches.
    pub fn of(case: &Case) -> Self {
        let pods: BTreeMap<Uid, PodFacts> = case.pods.iter().map(|it| (it.uid.clone(), it.clone())).collect();
        let mut cluster = Cluster {
            cached: pods.clone(),
            pods,
            memory: case.memory.clone(),
            ..Cluster::new(case.job.clone())
        };
        cluster.settings = case.settings.clone();
        cluster.note_lists(&case.job.status.clone());
        cluster
    }

    pub fn plan(&self) -> Plan {
        let pods: Vec<PodFacts> = self.cached.values().cloned().collect();
        let mut case = Case::new(self.job.clone(), pods);
        case.memory = self.memory.clone();
        case.settings = self.settings.clone();
        case.now = self.now;
        plan(&case.observed())
    }

    /// Updates the caches.
    pub fn deliver(&mut self) {
        self.cached = self.pods.clone();
        self.past.clear();
    }

    /// Sets the cache of pods to the state before the last changes, but not before the last acknowledged call.
    pub fn lag(&mut self, changes: usize) {
        let at = self.past.len().saturating_sub(changes);
        self.cached = self.past.get(at).unwrap_or(&self.pods).clone();
        // A cache never returns to an earlier state.
        self.past.drain(..at);
    }

    /// Runs one sync with a cache of pods that lags behind.
    pub fn late_sync(&mut self, changes: usize, fault: Fault) {
        self.lag(changes);
        let plan = self.plan();
        self.enact(plan, fault);
    }

    /// Runs one sync with up-to-date caches. Returns true if there was anything to do.
    pub fn sync(&mut self, fault: Fault) -> bool {
        self.deliver();
        let orphans = self.sync_orphans();
        let plan = self.plan();
        let busy = orphans || !plan.is_empty();
        self.enact(plan, fault);
        busy
    }

    /// Runs the orphan path for ownerless pods that the Job does not adopt.
    fn sync_orphans(&mut self) -> bool {
        let ownerless = self
            .pods
            .values()
            .filter(|it| it.controller == Controller::Nobody && pod_state(it) != PodState::Active);
        let plans: Vec<OrphanPlan> = ownerless
            .map(|pod| orphan::plan(&OrphanObserved { pod, owner: Owner::Nobody, settings: &self.settings }))
            .collect();
        let removals: Vec<Call> = plans
            .into_iter()
            .filter_map(|plan| match plan {
                OrphanPlan::RemoveFinalizer(pod) => {
                    Some(Call::RemoveFinalizer(FinalizerRemoval { pod, policy_action: None }))
                }
                OrphanPlan::Leave | OrphanPlan::Delete(_) => None,
            })
            .collect();
        removals.iter().for_each(|call| assert!(self.call(call).is_ok()));
        self.deliver();
        !removals.is_empty()
    }

    /// Syncs until there is nothing to do. Returns the number of syncs that did something.
    pub fn settle(&mut self) -> usize {
        for syncs in 0..300 {
            if !self.sync(Fault::None) {
                return syncs;
            }
        }
        panic!("the controller does not reach quiescence: {:?}", self.plan().decisions);
    }

    /// Performs a plan, one call after the other.
    pub fn enact(&mut self, plan: Plan, fault: Fault) {
        let (job, version) = (self.job.uid.clone(), self.job.resource_version.clone());
        let mut enactment = Enactment::new(&plan, job, version);
        for number in 0.. {
            self.memory = enactment.memory().clone();
            let Some(call) = enactment.take(0) else { break };
            let answer = match fault {
                Fault::CrashBefore(at) if at == number => {
                    // SY-10: the next process starts with a new list.
                    self.memory = Memory::default();
                    self.past.clear();
                    return;
                }
                Fault::Refuse(at) if at == number => {
                    Err(Failure::Refused { code: 403, message: String::new() })
                }
                Fault::LoseResponse(at) if at == number => {
                    let _ = self.call(&call);
                    Err(Failure::Ambiguous(String::new()))
                }
                _ => self.call(&call),
            };
            // A 404 has no version that the cache could be compared with (J-03).
            if answer.is_ok() {
                self.past.clear();
            }
            enactment.answered(&call, &answer, self.now);
        }
        assert!(enactment.is_over());
    }

    /// Performs a call as the API server does, and returns its response.
    fn call(&mut self, call: &Call) -> Answer {
        self.past.push(self.pods.clone());
        match call {
            Call::ReadJob => Ok(self.shown()),
            Call::WriteStatus(write, version) => self.write(write, version),
            Call::RemoveFinalizer(removal) => {
                self.check_finalizer_removal(&removal.pod.uid);
                self.change(&removal.pod.uid, |it| it.tracking_finalizer = false)
            }
            Call::DeletePod(pod) if self.undeletable.as_ref() == Some(&pod.uid) => {
                Err(Failure::Refused { code: 403, message: String::new() })
            }
            Call::DeletePod(pod) => {
                let at = Deletion { at: self.now, grace_seconds: 0 };
                self.change(&pod.uid, |it| it.deletion = it.deletion.or(Some(at)))
            }
            Call::AdoptPod(pod) => self.change(&pod.uid, |it| {
                (it.controller, it.tracking_finalizer) = (Controller::ThisJob, true);
            }),
            Call::ReleasePod(pod) => self.change(&pod.uid, |it| {
                (it.controller, it.tracking_finalizer) = (Controller::Nobody, false);
            }),
            Call::CreatePod(new, _) => {
                self.create(new);
                Ok(self.shown())
            }
        }
    }

    fn shown(&self) -> Shown {
        let (uid, resource_version) = (self.job.uid.clone(), self.job.resource_version.clone());
        Shown { name: self.job.name.clone(), uid, resource_version, deleting: self.job.deletion.is_some() }
    }

    fn create(&mut self, new: &NewPod) {
        self.created += 1;
        let text = |count: i32| Text::from(count.to_string().as_str());
        let uid = format!("new-{:04}", self.created);
        let pod = PodFacts {
            created: Some(self.now.truncated()),
            phase: Phase::Pending,
            completion_index: new.index.map(|it| Text::from(it.to_string().as_str())),
            failure_count: new.failure_count.map(text),
            ignored_failure_count: new.ignored_failure_count.map(text),
            ..pod(&uid)
        };
        self.pods.insert(pod.uid.clone(), pod);
    }

    fn change(&mut self, uid: &Uid, change: impl FnOnce(&mut PodFacts)) -> Answer {
        let Some(pod) = self.pods.get_mut(uid) else { return Err(Failure::NotFound(String::new())) };
        change(pod);
        let pod = pod.clone();
        self.collect(&pod);
        Ok(self.shown())
    }

    /// FT-02, FT-03: a succeeded pod without an index is recorded before it loses its finalizer. The check is limited to
    /// pods that the cache showed as succeeded (FT-16).
    fn check_finalizer_removal(&self, uid: &Uid) {
        let Some(pod) = self.pods.get(uid).filter(|it| it.tracking_finalizer) else { return };
        let indexed = pod.completion_index.is_some();
        let shown = self.cached.get(uid).is_some_and(|it| it.phase == Phase::Succeeded);
        if shown && !indexed && pod.controller == Controller::ThisJob {
            assert!(self.recorded.contains_key(uid), "{uid} loses its finalizer uncounted");
        }
    }

    /// Removes a terminated pod that has a deletion timestamp and no finalizer, as kubelet and API server do.
    fn collect(&mut self, pod: &PodFacts) {
        let ended = pod_state(pod) == PodState::Terminated || pod.phase == Phase::Pending;
        if pod.deletion.is_some() && ended && !pod.tracking_finalizer {
            self.pods.remove(&pod.uid);
        }
    }

    /// Sets the phase of a pod, as the kubelet does.
    pub fn pod_becomes(&mut self, uid: &Uid, phase: Phase) {
        let now = self.now.truncated();
        self.past.push(self.pods.clone());
        let Some(pod) = self.pods.get_mut(uid) else { return };
        if pod_state(pod) == PodState::Terminated {
            return;
        }
        pod.phase = phase;
        if pod_state(pod) == PodState::Terminated {
            let exit_code = i32::from(phase == Phase::Failed);
            *pod = pod.clone().container(
                "c",
                ContainerKind::Regular,
                0,
                Some(Terminated { exit_code, finished_at: Some(now) }),
            );
        }
        let pod = pod.clone();
        self.collect(&pod);
    }

    pub fn delete_pod(&mut self, uid: &Uid) {
        self.past.push(self.pods.clone());
        let at = Deletion { at: self.now, grace_seconds: 0 };
        let _ = self.change(uid, |it| it.deletion = it.deletion.or(Some(at)));
    }

    fn write(&mut self, write: &StatusWrite, version: &ResourceVersion) -> Answer {
        if *version != self.job.resource_version {
            return Err(Failure::Conflict(String::new()));
        }
        assert_eq!(write.before, self.job.status);
        self.writes += 1;
        check_write(&self.job, &write.before, &write.after);
        self.note_lists(&write.after);
        self.job.status = write.after.clone();
        let version: u64 = self.job.resource_version.as_str().parse().expect("a number");
        self.job.resource_version = ResourceVersion::new(&(version + 1).to_string());
        Ok(self.shown())
    }

    /// S-07: the first record of a UID is final, and no UID is recorded again.
    fn note_lists(&mut self, status: &StatusFacts) {
        let Some(uncounted) = status.uncounted.as_ref() else { return };
        let before: BTreeSet<Uid> = self.recorded.keys().cloned().collect();
        let stored = self.job.status.uncounted.clone().unwrap_or_default();
        for (list, kind) in [(&uncounted.succeeded, "succeeded"), (&uncounted.failed, "failed")] {
            for uid in list {
                let known = stored.succeeded.contains(uid) || stored.failed.contains(uid);
                assert!(known || !before.contains(uid), "{uid} is recorded a second time");
                assert_eq!(*self.recorded.entry(uid.clone()).or_insert(kind), kind, "{uid} changes its list");
            }
        }
    }
}

/// The validation of a status write by the API server (SS-01 to SS-28), and FT-02, TC-03, and TC-05.
fn check_write(job: &JobFacts, before: &StatusFacts, after: &StatusFacts) {
    let lists = after.uncounted.clone().unwrap_or_default();
    let all: Vec<&Uid> = lists.succeeded.iter().chain(&lists.failed).collect();
    let distinct: BTreeSet<&&Uid> = all.iter().collect();
    assert_eq!(distinct.len(), all.len(), "SS-02");
    let ready = after.ready.expect("ready is set");
    assert!(after.active >= 0 && ready >= 0 && ready <= after.active, "SS-01, SS-19");
    assert!(after.failed >= before.failed, "SS-27");
    let elastic = job.spec.completions == Some(job.spec.parallelism);
    assert!(after.succeeded >= before.succeeded || elastic, "SS-28");
    let is = |status: &StatusFacts, kind| find_true(&status.conditions, kind).is_some();
    for kind in [FAILURE_TARGET, SUCCESS_CRITERIA_MET, COMPLETE, FAILED] {
        assert!(!is(before, kind) || is(after, kind), "SS-06, SS-08: {kind}");
        let _ = condition_of(after, kind);
    }
    assert!(!(is(after, FAILURE_TARGET) && is(after, SUCCESS_CRITERIA_MET)), "SS-04");
    assert_eq!(after.completion_time.is_some(), is(after, COMPLETE), "SS-24, SS-25");
    let start_moves = before.start_time.is_some() && before.start_time != after.start_time;
    assert!(
        !start_moves || job.spec.suspend || (is(before, "Suspended") && !is(after, "Suspended")),
        "SS-09"
    );
    if finished(&after.conditions) {
        assert!(!finished(&before.conditions), "TC-11");
        assert!(is(before, FAILURE_TARGET) || is(before, SUCCESS_CRITERIA_MET), "TC-03, SS-34");
        assert!(
            after.active == 0 && after.terminating.unwrap_or(0) == 0 && all.is_empty(),
            "SS-12, SS-13, SS-18"
        );
        assert!(
            after.start_time.is_some() && after.completion_time.is_none_or(|it| Some(it) >= after.start_time)
        );
    }
}

/// KEP-2307: two calls for each pod, and a few status writes (`docs/reference/differences.md`, the floor of calls).
#[test]
fn a_job_of_many_pods_takes_two_calls_for_each_and_ten_writes() {
    let mut large = super::build::indexed(2_000, 2_000);
    large.status = StatusFacts::default();
    let mut cluster = Cluster::new(large);
    cluster.settle();
    assert_eq!(cluster.pods.len(), 2_000);
    for uid in cluster.pods.keys().cloned().collect::<Vec<_>>() {
        cluster.pod_becomes(&uid, Phase::Succeeded);
    }
    cluster.settle();
    assert_eq!(condition_of(&cluster.job.status, COMPLETE), Some(("True", "CompletionsReached")));
    assert_eq!(cluster.job.status.completed_indexes.as_deref(), Some("0-1999"));
    assert!(cluster.writes <= 10, "{} writes", cluster.writes);
}

/// FT-10, FT-12, J-02.
#[test]
fn a_small_cap_changes_only_the_duration() {
    for completion_mode in [super::build::wide(7, 7), super::build::indexed(7, 7)] {
        let mut cluster = Cluster::new(completion_mode);
        cluster.settings.max_uncounted_pods = 1;
        cluster.settings.max_pod_create_delete_per_sync = 2;
        cluster.settle();
        for uid in cluster.pods.keys().cloned().collect::<Vec<_>>() {
            cluster.pod_becomes(&uid, Phase::Succeeded);
        }
        cluster.settle();
        assert_eq!(cluster.job.status.succeeded, 7);
        assert!(finished(&cluster.job.status.conditions));
        assert!(cluster.pods.values().all(|it| !it.tracking_finalizer));
    }
}

/// FT-02: a crash, a refusal, or a lost response at any call in the life of a Job changes no count.
#[test]
fn a_fault_at_any_call_changes_no_count() {
    for fault in [Fault::CrashBefore, Fault::Refuse, Fault::LoseResponse] {
        for sync in 0..6 {
            for call in 0..6 {
                let mut cluster = Cluster::new(super::build::wide(2, 2));
                cluster.job.spec.backoff_limit = 9;
                for step in 0..6 {
                    cluster.sync(if step == sync { fault(call) } else { Fault::None });
                    cluster.now = cluster.now.plus(super::build::secs(1));
                    let first = cluster.pods.keys().next().cloned();
                    let phase = if step == 1 { Phase::Failed } else { Phase::Succeeded };
                    first.into_iter().for_each(|uid| cluster.pod_becomes(&uid, phase));
                }
                end(&mut cluster);
                assert!(finished(&cluster.job.status.conditions), "{:?} {sync} {call}", fault(call));
                let ended = cluster.recorded.len();
                let counted = cluster.job.status.succeeded + cluster.job.status.failed;
                assert_eq!(usize::try_from(counted), Ok(ended));
            }
        }
    }
}

/// Lets all pods succeed and time pass, until the Job has finished.
pub fn end(cluster: &mut Cluster) {
    for _ in 0..200 {
        cluster.settle();
        if finished(&cluster.job.status.conditions) {
            return;
        }
        cluster.now = cluster.now.plus(super::build::secs(700));
        for uid in cluster.pods.keys().cloned().collect::<Vec<_>>() {
            cluster.pod_becomes(&uid, Phase::Succeeded);
        }
    }
}

/// PC-23, TC-07.
#[test]
fn a_failing_job_ends_with_its_pods() {
    let mut strict = super::build::wide(3, 3);
    strict.spec.backoff_limit = 0;
    let mut cluster = Cluster::new(strict);
    cluster.settle();
    let uids: Vec<Uid> = cluster.pods.keys().cloned().collect();
    uids.iter().for_each(|uid| cluster.pod_becomes(uid, Phase::Running));
    cluster.settle();
    cluster.pod_becomes(&uids[0], Phase::Failed);
    cluster.settle();
    assert_eq!(cluster.job.status.failed, 3, "FT-15");
    assert_eq!(cluster.job.status.terminating, Some(2));
    assert!(!finished(&cluster.job.status.conditions));
    cluster.pod_becomes(&uids[1], Phase::Succeeded);
    cluster.settle();
    assert!(!finished(&cluster.job.status.conditions));
    cluster.pod_becomes(&uids[2], Phase::Failed);
    cluster.settle();
    assert_eq!(condition_of(&cluster.job.status, FAILED), Some(("True", "BackoffLimitExceeded")));
    assert_eq!((cluster.job.status.succeeded, cluster.job.status.failed), (0, 3));
}
