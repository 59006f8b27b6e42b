//! Permutations of the pods of a Job.
//!
//! Each type that may name a pod is taken apart field by field. A new field therefore does not compile until
//! it is decided here whether it names a pod.

mod identity;
mod processes;

use std::sync::Arc;

pub use self::identity::Identity;
use super::parts::JobPart;
use crate::ghost::{Decision, Ending, GhostHistory, PodHistory, Violations};
use crate::knowledge::{Knowledge, OwnWrite, Unseen};
use crate::world::{Driver, JobState};
use jobcheck_spec::job::{Condition, Job, JobStatus, Text, Uncounted};
use jobcheck_spec::pod::{Pod, PolicyMatch};
use jobcheck_spec::pods::Pods;
use jobcheck_spec::uid::Uid;

/// A permutation of the UIDs of all pods that a Job ever had: `Uid(n)` becomes the n-th entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renaming(Vec<u8>);

impl Renaming {
    /// All permutations of this number of pods. The first one is the identity.
    pub fn all(pods: usize) -> Vec<Renaming> {
        let mut all = vec![Renaming(Vec::new())];
        for next in 1..=pods {
            let longer = |shorter: &Renaming| {
                let insert = |at: usize| {
                    let mut names = shorter.0.clone();
                    names.insert(at, u8::try_from(next).unwrap_or(u8::MAX));
                    Renaming(names)
                };
                (0..next).rev().map(insert).collect::<Vec<_>>()
            };
            all = all.iter().flat_map(longer).collect();
        }
        all
    }

    /// Returns true if the permutation sorts these keys, which are in the order of the UIDs.
    pub fn sorts(&self, keys: &[u64]) -> bool {
        let after = |name: u8| self.0.iter().position(|it| *it == name).and_then(|before| keys.get(before));
        (1..u8::try_from(keys.len()).unwrap_or(u8::MAX)).all(|name| after(name) <= after(name + 1))
    }

    fn uid(&self, uid: Uid) -> Uid {
        let position = usize::try_from(uid.0).ok().and_then(|number| number.checked_sub(1));
        position.and_then(|position| self.0.get(position)).map_or(uid, |name| Uid(u128::from(*name)))
    }

    /// A text with renamed pods. The kubelet of this model names a pod `default/pod-1`.
    fn text(&self, text: &Text) -> Text {
        const BEFORE: &str = "default/pod-";
        let Some((head, tail)) = text.split_once(BEFORE) else { return text.clone() };
        let digits = tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len());
        let Ok(number) = tail[..digits].parse() else { return text.clone() };
        format!("{head}{BEFORE}{}{}", self.uid(Uid(number)).0, &tail[digits..]).into()
    }

    /// The Job with renamed pods in its status.
    pub fn job_part(&self, part: &JobPart) -> JobPart {
        JobPart(part.0.as_ref().map(|job| self.job(job)))
    }

    fn job(&self, job: &Arc<Job>) -> Arc<Job> {
        Arc::new(Job { status: self.status(&job.status), ..Job::clone(job) })
    }

    fn status(&self, status: &JobStatus) -> JobStatus {
        let JobStatus {
            active: _,
            ready: _,
            terminating: _,
            succeeded: _,
            failed: _,
            start_time: _,
            completion_time: _,
            completed_indexes: _,
            failed_indexes: _,
            uncounted,
            conditions,
        } = status;
        let lists = |lists: &Uncounted| {
            let Uncounted { succeeded, failed } = lists;
            Uncounted { succeeded: self.list(succeeded), failed: self.list(failed) }
        };
        let condition = |it: &Condition| Condition { message: self.text(&it.message), ..it.clone() };
        JobStatus {
            uncounted: uncounted.as_ref().map(lists),
            conditions: conditions.iter().map(condition).collect(),
            ..status.clone()
        }
    }

    /// A renamed list. All lists that are written are sorted.
    fn list(&self, uids: &[Uid]) -> Vec<Uid> {
        let mut renamed: Vec<Uid> = uids.iter().map(|uid| self.uid(*uid)).collect();
        renamed.sort_unstable();
        renamed
    }

    /// The renamed pods.
    pub fn pods(&self, pods: &Pods) -> Pods {
        let mut renamed = Pods::new();
        for pod in pods.iter().map(|pod| self.pod(pod)) {
            renamed.set(pod.uid, Some(pod));
        }
        renamed
    }

    fn pod(&self, pod: &Pod) -> Pod {
        let Pod {
            uid,
            finalizer: _,
            other_finalizers: _,
            phase: _,
            deleting: _,
            forced: _,
            disrupted: _,
            controlled: _,
            incarnation: _,
            selected: _,
            ready: _,
            scheduled: _,
            index: _,
            failure_count: _,
            ignored_failure_count: _,
            restarts: _,
            max_restarts: _,
            created: _,
            ready_changed: _,
            finished: _,
            policy,
        } = pod;
        let policy = match policy {
            PolicyMatch::FailJob(message) => PolicyMatch::FailJob(self.text(message)),
            PolicyMatch::None | PolicyMatch::Action(_) => policy.clone(),
        };
        Pod { uid: self.uid(*uid), policy, ..pod.clone() }
    }

    fn driver(&self, driver: &Driver) -> Driver {
        match driver {
            Driver::Specification(knowledge) => Driver::Specification(self.knowledge(knowledge)),
            Driver::Processes { processes, delayed } => Driver::Processes {
                processes: processes.iter().map(|process| self.process(process)).collect(),
                delayed: delayed.as_ref().map(|delayed| self.delayed(delayed)),
            },
        }
    }

    /// The knowledge of a manager with renamed pods.
    pub fn knowledge(&self, knowledge: &Knowledge) -> Knowledge {
        let Knowledge { old_job, behind, backoff, gates } = knowledge;
        Knowledge {
            old_job: old_job.as_ref().map(|job| self.job(job)),
            behind: behind.iter().map(|unseen| self.unseen(unseen)).collect(),
            backoff: backoff.renamed(|uid| self.uid(uid)),
            gates: *gates,
        }
    }

    fn unseen(&self, unseen: &Unseen) -> Unseen {
        let Unseen { uid, before, own, missed } = unseen;
        let own = own.as_ref().map(|own| {
            let OwnWrite { after, created, earlier_sync } = own;
            OwnWrite { after: self.pod(after), created: *created, earlier_sync: *earlier_sync }
        });
        let before = before.as_ref().map(|pod| self.pod(pod));
        Unseen { uid: self.uid(*uid), before, own, missed: *missed }
    }

    /// The history with renamed pods. The position of a pod's history is its UID.
    pub fn ghost(&self, ghost: &GhostHistory) -> GhostHistory {
        let GhostHistory {
            pods,
            // Symmetry reduction excludes recreated Jobs.
            incarnation: _,
            former: _,
            foreign_pods: _,
            widest: _,
            most: _,
            fewest: _,
            allowed_early_replacement: _,
            decision,
            ending,
            refused: _,
            objection: _,
            namespace_refused: _,
            ttl_deletion: _,
            gates: _,
            writers: _,
            violations,
        } = ghost;
        let numbered = (1u128..).map(Uid).zip(pods);
        let mut placed: Vec<_> = numbered.map(|(uid, pod)| (self.uid(uid), self.pod_history(pod))).collect();
        placed.sort_unstable_by_key(|(uid, _)| *uid);
        GhostHistory {
            pods: placed.into_iter().map(|(_, pod)| pod).collect(),
            decision: decision.as_ref().map(|it| Decision { message: self.text(&it.message), ..it.clone() }),
            ending: ending
                .as_ref()
                .map(|it| Ending { text: (it.text.0.clone(), self.text(&it.text.1)), ..it.clone() }),
            violations: self.violations(violations),
            ..ghost.clone()
        }
    }

    /// The history of a pod. It names no pod.
    fn pod_history(&self, ghost: &PodHistory) -> PodHistory {
        let PodHistory {
            index: _,
            end: _,
            deleted: _,
            finalizer_removed: _,
            ignored: _,
            restarts: _,
            flipped: _,
            unexpected: _,
            replaced: _,
            recorded: _,
            counted_succeeded: _,
            counted_failed: _,
        } = ghost;
        ghost.clone()
    }

    fn violations(&self, violations: &Violations) -> Violations {
        let Violations {
            lost,
            uncountable,
            verdict_lost,
            tracked_at_the_end,
            write_after_end,
            creation_after_decision,
            creation_while_suspended,
            retry_of_failed_index,
            wrong_failure_count,
            premature_creation,
            start_moved,
            gates,
            deleted_terminated,
            deleted_for_others,
            missing_interim,
            count_lost,
            premature_retry,
            futile_creation,
        } = violations;
        let uid = |uid: &Option<Uid>| uid.map(|uid| self.uid(uid));
        Violations {
            lost: uid(lost),
            uncountable: uid(uncountable),
            verdict_lost: uid(verdict_lost),
            tracked_at_the_end: *tracked_at_the_end,
            write_after_end: *write_after_end,
            creation_after_decision: uid(creation_after_decision),
            creation_while_suspended: uid(creation_while_suspended),
            retry_of_failed_index: uid(retry_of_failed_index),
            wrong_failure_count: uid(wrong_failure_count),
            premature_creation: uid(premature_creation),
            start_moved: *start_moved,
            gates: *gates,
            deleted_terminated: uid(deleted_terminated),
            deleted_for_others: uid(deleted_for_others),
            missing_interim: *missing_interim,
            count_lost: uid(count_lost),
            premature_retry: uid(premature_retry),
            futile_creation: *futile_creation,
        }
    }

    /// The whole state of a Job with renamed pods.
    pub fn job_state(&self, job_state: &JobState) -> JobState {
        let JobState { job, pods, driver, ttl: _, faults: _, rollouts: _, ghost, used: _ } = job_state;
        JobState {
            job: job.as_ref().map(|job| self.job(job)),
            pods: Arc::new(self.pods(pods)),
            driver: self.driver(driver),
            ghost: self.ghost(ghost),
            ..job_state.clone()
        }
    }
}
