//! The life of a Job: where each of its pods was counted, and by which write. It is kept for Jobs that are explained.

use std::collections::HashMap;

use jobcheck_spec::job::{ConditionStatus, Job, JobStatus, Text};
use jobcheck_spec::pod::{Phase, Pod};
use jobcheck_spec::{Time, Uid};
use jobcheck_traces::Place;

use super::event::Event;
use super::track::Track;
use super::verdict::Note;

/// Number of lines of a life that are kept.
const LINES_KEPT: usize = 5000;
/// Number of pods of a life that are kept.
const PODS_KEPT: usize = 5000;

/// The life of a Job.
#[derive(Clone, Debug, Default)]
pub struct Life {
    /// The events that matter for the counts, in order.
    pub lines: Vec<Note>,
    /// Number of events that were left out because there were too many.
    pub left_out: u64,
    /// The pods, in the order of their appearance.
    pub pods: Vec<PodLife>,
    now: Now,
}

/// The record that is being judged.
#[derive(Clone, Copy, Debug, Default)]
struct Now {
    place: Option<Place>,
    time: Option<i64>,
}

/// The life of a pod.
#[derive(Clone, Debug)]
pub struct PodLife {
    /// UID.
    pub uid: Uid,
    /// Name, if the trace shows it.
    pub name: Option<Text>,
    /// Completion index.
    pub index: Option<u32>,
    /// The last phase.
    pub phase: Phase,
    /// It was marked for deletion.
    pub deleted: bool,
    /// It is gone.
    pub gone: bool,
    /// The Job controls it.
    member: bool,
    /// The counts that it was added to, each with the record of the status write.
    pub counted: Vec<Note>,
}

/// A list of UIDs in a status.
type List = fn(&JobStatus) -> &[Uid];

/// The two lists of `uncountedTerminatedPods`.
const LISTS: [(&str, List); 2] =
    [("succeeded", JobStatus::uncounted_succeeded), ("failed", JobStatus::uncounted_failed)];

impl Life {
    fn add(&mut self, text: String) {
        let Some(place) = self.now.place else { return };
        if self.lines.len() < LINES_KEPT {
            self.lines.push(Note { place, time: self.now.time, text });
        } else {
            self.left_out += 1;
        }
    }

    fn pod(&mut self, uid: Uid) -> Option<&mut PodLife> {
        self.pods.iter_mut().rev().find(|pod| pod.uid == uid)
    }

    fn name(&self, uid: Uid) -> String {
        let known = self.pods.iter().rev().find(|pod| pod.uid == uid).and_then(|pod| pod.name.as_ref());
        known.map_or_else(|| uid.to_string(), ToString::to_string)
    }

    /// Notes a new state of a pod.
    fn pod_changes(&mut self, uid: Uid, name: Option<&Text>, before: Option<&Pod>, after: Option<&Pod>) {
        let Some(after) = after.filter(|pod| pod.controlled) else {
            let left = self.pod(uid).filter(|pod| pod.member);
            if before.is_some_and(|pod| pod.controlled)
                && left.is_some_and(|pod| std::mem::take(&mut pod.member))
            {
                self.add(format!("pod {} leaves the Job", self.name(uid)));
            }
            return;
        };
        let known = self.pod(uid).map(|pod| {
            let state = (pod.member, pod.phase, pod.deleted);
            (pod.member, pod.phase) = (true, after.phase);
            pod.deleted |= after.deleting;
            state
        });
        if known.is_none() && self.pods.len() < PODS_KEPT {
            self.pods.push(PodLife {
                uid,
                name: name.cloned(),
                index: after.index,
                phase: after.phase,
                deleted: after.deleting,
                gone: false,
                member: true,
                counted: Vec::new(),
            });
        }
        let name = self.name(uid);
        let index = after.index.map_or(String::new(), |index| format!(", index {index}"));
        let Some((true, phase, deleted)) = known else {
            let how = if known.is_some() { "is the Job's again" } else { "appears" };
            self.add(format!("pod {name} {how}: {:?}{index}", after.phase));
            return;
        };
        if phase != after.phase {
            self.add(format!("pod {name} is {:?}", after.phase));
        }
        if after.deleting && !deleted {
            self.add(format!("pod {name} is marked for deletion"));
        }
        match (before.is_some_and(|pod| pod.finalizer), after.finalizer) {
            (true, false) => self.add(format!("pod {name} loses the tracking finalizer")),
            (false, true) if before.is_some() => self.add(format!("pod {name} gets the tracking finalizer")),
            _ => {}
        }
    }

    fn pod_goes(&mut self, uid: Uid) {
        if let Some(pod) = self.pod(uid).filter(|pod| !pod.gone) {
            pod.gone = true;
            self.add(format!("pod {} is gone", self.name(uid)));
        }
    }

    /// Notes a new state of the Job.
    fn job_changes(&mut self, before: &Job, after: &Job) {
        let (old, new) = (&before.status, &after.status);
        for (list, uids) in LISTS {
            for uid in uids(new).iter().filter(|uid| !uids(old).contains(uid)) {
                self.add(format!("pod {} enters uncountedTerminatedPods.{list}", self.name(*uid)));
            }
        }
        let counts = [(old.succeeded, new.succeeded), (old.failed, new.failed)];
        for ((list, uids), (was, is)) in LISTS.into_iter().zip(counts) {
            for uid in uids(old).iter().filter(|uid| !uids(new).contains(uid)) {
                self.add(format!("pod {} leaves the list: counted as {list}", self.name(*uid)));
                self.counts(*uid, list);
            }
            if was != is {
                self.add(format!("{list} {was} -> {is}"));
            }
        }
        let texts = [
            ("completedIndexes", Some(&*old.completed_indexes), Some(&*new.completed_indexes)),
            ("failedIndexes", old.failed_indexes.as_deref(), new.failed_indexes.as_deref()),
        ];
        let texts = texts.map(|(field, was, is)| (field, was.unwrap_or_default(), is.unwrap_or_default()));
        for (field, was, is) in texts.into_iter().filter(|(_, was, is)| was != is) {
            self.add(format!("{field} \"{was}\" -> \"{is}\""));
        }
        let completed = new.completed(None).minus(&old.completed(None));
        let succeeded = |pod: &&PodLife| {
            pod.phase == Phase::Succeeded && pod.index.is_some_and(|index| completed.contains(index))
        };
        let pods: Vec<Uid> = self.pods.iter().filter(succeeded).map(|pod| pod.uid).collect();
        for uid in pods {
            self.add(format!("pod {} is counted as succeeded by its index", self.name(uid)));
            self.counts(uid, "succeeded");
        }
        self.conditions_change(old, new);
        self.spec_changes(before, after);
    }

    fn counts(&mut self, uid: Uid, list: &str) {
        let Now { place: Some(place), time } = self.now else { return };
        if let Some(pod) = self.pod(uid) {
            pod.counted.push(Note { place, time, text: list.to_owned() });
        }
    }

    fn conditions_change(&mut self, old: &JobStatus, new: &JobStatus) {
        let mut before = HashMap::new();
        for condition in old.conditions.iter().rev() {
            before.insert(&condition.kind, condition.status);
        }
        for condition in &new.conditions {
            if before.get(&condition.kind) == Some(&condition.status) {
                continue;
            }
            let reason = Some(&*condition.reason).filter(|reason| !reason.is_empty());
            let reason = reason.map_or(String::new(), |reason| format!(" ({reason})"));
            let status = match condition.status {
                ConditionStatus::True => "True",
                ConditionStatus::False => "False",
                ConditionStatus::Unknown => "Unknown",
                ConditionStatus::Undefined => "undefined",
            };
            self.add(format!("condition {} is {status}{reason}", condition.kind.as_str()));
        }
        if old.start_time != new.start_time {
            let time = new.start_time.map_or_else(|| "none".to_owned(), |time: Time| time.to_string());
            self.add(format!("startTime is {time}"));
        }
    }

    fn spec_changes(&mut self, before: &Job, after: &Job) {
        let (old, new) = (&before.spec, &after.spec);
        if old.is_suspended() != new.is_suspended() {
            self.add(format!("spec.suspend is {}", new.is_suspended()));
        }
        for (field, was, is) in [
            ("completions", old.completions, new.completions),
            ("parallelism", old.parallelism, new.parallelism),
            ("backoffLimit", old.backoff_limit, new.backoff_limit),
        ] {
            if was != is {
                self.add(format!("spec.{field} {} -> {}", number(was), number(is)));
            }
        }
        if after.deleting && !before.deleting {
            self.add("the Job is marked for deletion".to_owned());
        }
    }
}

fn number(value: Option<i32>) -> String {
    value.map_or_else(|| "none".to_owned(), |value| value.to_string())
}

impl Track {
    /// Begins to keep the life of the Job.
    pub fn keep_life(&mut self, event: &Event) {
        self.account.life = Some(Box::default());
        self.lives(event);
        let Some((life, job)) = self.account.life.as_mut().zip(self.stored.as_ref()) else { return };
        let how = if self.coverage.complete { "created" } else { "first seen" };
        life.add(format!(
            "the Job is {how}: completions {}, parallelism {}",
            number(job.spec.completions),
            number(job.spec.parallelism)
        ));
    }

    /// Notes the record that is judged next.
    pub fn lives(&mut self, event: &Event) {
        if let Some(life) = &mut self.account.life {
            life.now = Now { place: Some(event.place), time: event.when.map(|when| when.done) };
        }
    }

    /// Notes a new state of the Job, before it is stored.
    pub fn live_job(&mut self, event: &Event, after: &Job) {
        self.lives(event);
        if let Some((life, before)) = self.account.life.as_mut().zip(self.stored.as_ref()) {
            life.job_changes(before, after);
        }
    }

    /// Notes a new state of a pod, before it is stored.
    pub fn live_pod(&mut self, uid: Uid, after: Option<&Pod>) {
        if let Some(life) = &mut self.account.life {
            life.pod_changes(uid, self.account.names.get(uid), self.history.known(uid), after);
        }
    }

    /// Notes that a pod is gone.
    pub fn live_pod_gone(&mut self, event: &Event, uid: Uid) {
        self.lives(event);
        if let Some(life) = &mut self.account.life {
            life.pod_goes(uid);
        }
    }
}
