//! The sync of one Job: caches fresh → observe → plan → enact → when to come again.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::Notify;
use tokio::time::Instant;
use tracing::{Instrument, debug, info, info_span, warn};

use super::client::job_controller;
use super::enact::Enactor;
use super::handlers::Wiring;
use super::kept::{KeptJob, PodIndex};
use super::metrics::SyncLabels;
use super::own_writes::{Freshness, Reached};
use super::proof::{Stored, prove};
use super::store::{Kept, ObjectKey};
use super::trace::Tracer;
use crate::job::command::Plan;
use crate::job::enactment::Outcome;
use crate::job::memory::Memory;
use crate::job::observed::{CompletionMode, Observed, PodFacts};
use crate::job::plan::{is_ours, plan};
use crate::values::{Time, Uid};

/// Everything that syncs of Jobs need.
#[derive(Clone)]
pub struct JobSync {
    /// Caches, queues, memory.
    pub wiring: Wiring,
    /// Who carries out plans.
    pub enactor: Enactor,
    /// Asks the reflector of Jobs to list again.
    pub relist_jobs: Arc<Notify>,
    /// Asks the reflector of pods to list again.
    pub relist_pods: Arc<Notify>,
    /// The native trace.
    pub tracer: Option<Arc<Tracer>>,
}

/// When the key comes again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// When something happens.
    Rest,
    /// After this time at the latest; the sync was no failure.
    After(Duration),
    /// After this time: nothing could be tried yet, and former failures still count.
    PutOff(Duration),
    /// With the delays of failures.
    Retry,
}

/// After this time without the caches showing our writes an event must have been lost.
const PATIENCE: Duration = Duration::from_secs(10);
/// A sync that was put off comes again after this time, doubled while it waits.
const PUT_OFF: Duration = Duration::from_millis(50);
const PUT_OFF_MAX: Duration = Duration::from_secs(2);

impl JobSync {
    /// Syncs the Job of this name.
    pub async fn sync(&self, key: &ObjectKey) -> Next {
        let (job, jobs_seen) = self.wiring.jobs.get_at(key);
        let Some(job) = job else {
            // SY-09: the event has told so, but a sync that was under way then has remembered more since.
            self.wiring.memories.forget_name(key);
            self.wiring.own_writes.forget_name(key);
            return Next::Rest;
        };
        if !is_ours(&job.facts, &self.wiring.settings) {
            return Next::Rest;
        }
        let span = info_span!(
            "sync",
            job = %key,
            uid = %job.facts.uid,
            job_version = job.version(),
            jobs_seen,
            pods_seen = tracing::field::Empty,
        );
        async {
            match self.fresh(&job).await {
                Ok(()) => self.decide(&job, jobs_seen).await,
                Err(next) => next,
            }
        }
        .instrument(span)
        .await
    }

    /// SY-03. `Err`: not now.
    async fn fresh(&self, job: &KeptJob) -> Result<(), Next> {
        let wiring = &self.wiring;
        loop {
            let (jobs, pods) = (wiring.jobs.seen(), wiring.pods.seen());
            let holds = |uid: &_| wiring.pods.lookup(|index| index.by_uid(uid).is_some());
            let reached = Reached { jobs, pods, holds: &holds };
            match wiring.own_writes.check(job.key(), &job.facts.uid, reached, Instant::now()) {
                Freshness::Fresh => return Ok(()),
                Freshness::Behind { resource, waited } => {
                    wiring.metrics.stale_sync_skipped(resource);
                    return self.put_off(job, resource, waited);
                }
                Freshness::InDoubt => {
                    info!("the outcome of a write is not known: asking what is stored");
                    let proof = prove(&self.enactor.client, &wiring.pods, &wiring.own_writes, job);
                    match proof.await {
                        Ok(Stored::Proved) => {}
                        Ok(Stored::Gone) => return Err(Next::PutOff(PUT_OFF_MAX)),
                        Err(failure) => {
                            warn!(%failure, "cannot ask what is stored");
                            return Err(Next::Retry);
                        }
                    }
                }
            }
        }
    }

    /// Waits for the caches; has them made anew when they take too long.
    fn put_off(&self, job: &KeptJob, resource: &'static str, waited: Duration) -> Result<(), Next> {
        debug!(resource, ?waited, "the cache does not show our own writes yet (SY-03)");
        if waited >= PATIENCE {
            let since = Instant::now().checked_sub(waited.saturating_sub(PATIENCE));
            let anew = |filled: Option<Instant>| filled.zip(since).is_some_and(|(at, since)| at > since);
            if anew(self.wiring.jobs.filled()) && anew(self.wiring.pods.filled()) {
                // Both lists are newer than the writes: what they do not show is not there.
                self.wiring.own_writes.forget(job.key(), &job.facts.uid);
                return Err(Next::PutOff(PUT_OFF));
            }
            warn!(resource, ?waited, "a watch has lost events: listing again");
            self.relist_jobs.notify_one();
            self.relist_pods.notify_one();
        }
        Err(Next::PutOff(waited.clamp(PUT_OFF, PUT_OFF_MAX)))
    }

    async fn decide(&self, job: &KeptJob, jobs_seen: u64) -> Next {
        let begun = Instant::now();
        let wiring = &self.wiring;
        let (key, uid) = (job.key(), &job.facts.uid);
        let mut memory = wiring.memories.of(key);
        let look =
            |index: &PodIndex| (index.seen_from(job, &memory.deleted), index.over(&memory.finalizer_removed));
        let ((pods, over), pods_seen) = wiring.pods.lookup_at(look);
        wiring.memories.recall(key, uid, &pods, &mut memory);
        tracing::Span::current().record("pods_seen", pods_seen);
        if let Some(tracer) = &self.tracer {
            let actor = job_controller(wiring.settings.managed_by.is_none());
            tracer.sync_begins(actor, job.key(), jobs_seen, pods_seen);
        }
        let plan = self.plan(job, &pods, &memory);
        if memory.uid == plan.memory.uid {
            let settled =
                over.into_iter().filter(|pod| !plan.memory.finalizer_removed.contains(pod)).collect();
            let is_there = |pod: &Uid| wiring.pods.lookup(|index| index.by_uid(pod).is_some());
            wiring.memories.put_away(key, uid, settled, is_there);
        }
        wiring.memories.set(job.key(), plan.memory.clone());
        told(&plan, pods.len());
        let outcome = self.enactor.enact(job, &plan).await;
        wiring.memories.set(job.key(), outcome.memory.clone());
        if let Some(action) = plan.action {
            let labels = SyncLabels {
                completion_mode: completion_mode(job),
                success: outcome.failures.is_empty(),
                action: action.label(),
            };
            wiring.metrics.synced(labels, begun.elapsed().as_secs_f64());
        }
        next(&plan, &outcome)
    }

    fn plan(&self, job: &KeptJob, pods: &[PodFacts], memory: &Memory) -> Plan {
        plan(&Observed {
            job: &job.facts,
            pods,
            memory,
            caches_show_own_writes: true,
            now: now(),
            settings: &self.wiring.settings,
        })
    }
}

/// The controller's clock.
#[must_use]
pub fn now() -> Time {
    Time::from_millis(Timestamp::now().as_millisecond())
}

fn completion_mode(job: &KeptJob) -> &'static str {
    match job.facts.spec.completion_mode {
        CompletionMode::Indexed => "Indexed",
        CompletionMode::NonIndexed | CompletionMode::Unknown => "NonIndexed",
    }
}

fn told(plan: &Plan, pods: usize) {
    let commands = plan.commands().count();
    let requirements: Vec<&str> = plan.decisions.iter().map(|decision| decision.requirement).collect();
    let why: Vec<&str> = plan.decisions.iter().map(|decision| decision.why).collect();
    if commands == 0 {
        debug!(pods, requirements = requirements.join(","), why = why.join("; "), "nothing to do");
    } else {
        info!(pods, commands, requirements = requirements.join(","), why = why.join("; "), "decided");
    }
}

fn next(plan: &Plan, outcome: &Outcome) -> Next {
    for failure in &outcome.failures {
        warn!(%failure, "a command failed");
    }
    match (outcome.failures.is_empty(), plan.wake_after) {
        (true, Some(delay)) => Next::After(delay),
        (true, None) => Next::Rest,
        (false, _) => Next::Retry,
    }
}

#[cfg(test)]
mod tests;
