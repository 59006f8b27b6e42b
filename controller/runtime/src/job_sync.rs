//! The sync of one Job: wait for fresh caches, observe, plan, enact, and decide when to sync again.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use jobcheck_controller::job::command::Plan;
use jobcheck_controller::job::enactment::Outcome;
use jobcheck_controller::job::memory::Memory;
use jobcheck_controller::job::observed::{CompletionMode, JobFacts, Observed, PodFacts};
use jobcheck_controller::job::plan::{RESERVED_MANAGER, is_ours, plan};
use jobcheck_controller::values::{Time, Uid};
use tokio::sync::Notify;
use tokio::time::Instant;
use tracing::{Instrument, debug, info, info_span, warn};

use super::cached::{CachedJob, PodIndex};
use super::client::job_controller;
use super::enact::Enactor;
use super::handlers::Wiring;
use super::metrics::SyncLabels;
use super::own_writes::{Freshness, Reached};
use super::read_back::{ReadBack, read_back};
use super::store::{Cached, ObjectKey};
use super::trace::Tracer;
use super::turn::{self, Turn};

/// The dependencies of the syncs of Jobs.
#[derive(Clone)]
pub struct JobSync {
    /// The caches, queues, and memory.
    pub wiring: Wiring,
    /// The executor of plans.
    pub enactor: Enactor,
    /// Requests a relist of Jobs.
    pub relist_jobs: Arc<Notify>,
    /// Requests a relist of pods.
    pub relist_pods: Arc<Notify>,
    /// The native trace, if there is one.
    pub tracer: Option<Arc<Tracer>>,
}

/// The time of the next sync of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Requeue {
    /// At the next event.
    AwaitChange,
    /// At the next event, or after this time. The sync succeeded.
    After(Duration),
    /// After this time. The sync could not start yet, and earlier failures still count.
    Defer(Duration),
    /// After the delay of a failure.
    RateLimited,
}

/// The time after which a cache that does not show a write must have lost an event.
const STALE_CACHE_TIMEOUT: Duration = Duration::from_secs(10);
/// The first delay of a deferred sync. It grows with the waiting time, up to the maximum.
const DEFER: Duration = Duration::from_millis(50);
const DEFER_MAX: Duration = Duration::from_secs(2);

impl JobSync {
    /// Syncs the Job with this name.
    pub async fn sync(&self, key: &ObjectKey) -> Requeue {
        if self.wiring.jobs.is_unread(key) {
            debug!(job = %key, "deciding nothing about a Job whose state cannot be read");
            return Requeue::AwaitChange;
        }
        let (job, jobs_seen) = self.wiring.jobs.get_at(key);
        let Some(job) = job else {
            // SY-09: the event has dropped the memory, but a sync that was running then may have added to it.
            self.wiring.memories.forget_name(key);
            self.wiring.own_writes.forget_name(key);
            return Requeue::AwaitChange;
        };
        if !is_ours(&job.facts, &self.wiring.settings) {
            log_skip(key, &job.facts);
            return Requeue::AwaitChange;
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
                Ok(()) => self.until_shown(&job, self.decide(&job, jobs_seen).await),
                Err(next) => next,
            }
        }
        .instrument(span)
        .await
    }

    /// SY-03: returns `Ok` if the caches are fresh, or the time of the next attempt.
    async fn fresh(&self, job: &CachedJob) -> Result<(), Requeue> {
        let wiring = &self.wiring;
        loop {
            match self.freshness(job) {
                Freshness::Fresh => return Ok(()),
                Freshness::Behind { resource, waited } => {
                    wiring.metrics.stale_sync_skipped(resource);
                    return self.defer(job, resource, waited);
                }
                Freshness::Unknown => {
                    info!("the outcome of a write is unknown: reading back the stored objects");
                    let stored = read_back(&self.enactor.client, &wiring.pods, &wiring.own_writes, job);
                    match stored.await {
                        Ok(ReadBack::Exists) => {}
                        Ok(ReadBack::Deleted) => return Err(Requeue::Defer(DEFER_MAX)),
                        Err(failure) => {
                            warn!(%failure, "cannot read back the stored objects");
                            return Err(Requeue::RateLimited);
                        }
                    }
                }
            }
        }
    }

    fn freshness(&self, job: &CachedJob) -> Freshness {
        let wiring = &self.wiring;
        let (jobs, pods) = (wiring.jobs.latest_version(), wiring.pods.latest_version());
        let has_pod = |uid: &_| wiring.pods.lookup(|index| index.by_uid(uid).is_some());
        let reached = Reached { jobs, pods, has_pod: &has_pod };
        wiring.own_writes.check(job.key(), &job.facts.uid, reached, Instant::now())
    }

    /// Syncs again in time to request relists if no event shows the writes of this sync. Such an event makes the sync
    /// earlier.
    fn until_shown(&self, job: &CachedJob, next: Requeue) -> Requeue {
        let latest = match next {
            Requeue::AwaitChange => STALE_CACHE_TIMEOUT,
            Requeue::After(delay) => delay.min(STALE_CACHE_TIMEOUT),
            Requeue::Defer(_) | Requeue::RateLimited => return next,
        };
        let is_fresh = self.freshness(job) == Freshness::Fresh;
        if is_fresh { next } else { Requeue::After(latest) }
    }

    /// Defers the sync until the caches are fresh, and requests relists if that takes too long.
    fn defer(&self, job: &CachedJob, resource: &'static str, waited: Duration) -> Result<(), Requeue> {
        debug!(resource, ?waited, "the cache does not show the writes of this process yet (SY-03)");
        if waited >= STALE_CACHE_TIMEOUT {
            let since = Instant::now().checked_sub(waited.saturating_sub(STALE_CACHE_TIMEOUT));
            let is_newer = |listed: Option<Instant>| listed.zip(since).is_some_and(|(at, since)| at > since);
            if is_newer(self.wiring.jobs.last_list()) && is_newer(self.wiring.pods.last_list()) {
                // Both lists are newer than the writes, so the caches show everything that is stored.
                self.wiring.own_writes.forget(job.key(), &job.facts.uid);
                return Err(Requeue::Defer(DEFER));
            }
            warn!(resource, ?waited, "a watch has lost events: requesting relists");
            self.relist_jobs.notify_one();
            self.relist_pods.notify_one();
        }
        Err(Requeue::Defer(waited.clamp(DEFER, DEFER_MAX)))
    }

    async fn decide(&self, job: &CachedJob, jobs_seen: u64) -> Requeue {
        let start = Instant::now();
        let wiring = &self.wiring;
        let (key, uid) = (job.key(), &job.facts.uid);
        let mut memory = wiring.memories.of(key);
        let read =
            |index: &PodIndex| (index.facts_for(job, &memory.deleted), index.done(&memory.finalizer_removed));
        let ((pods, done), pods_seen) = wiring.pods.lookup_at(read);
        wiring.memories.restore_settled(key, uid, &pods, &mut memory);
        tracing::Span::current().record("pods_seen", pods_seen);
        if let Some(tracer) = &self.tracer {
            let actor = job_controller(wiring.settings.managed_by.is_none());
            tracer.sync_begins(actor, job.key(), jobs_seen, pods_seen);
        }
        let plan = self.plan(job, &pods, &memory);
        if memory.uid == plan.memory.uid {
            let settled =
                done.into_iter().filter(|pod| !plan.memory.finalizer_removed.contains(pod)).collect();
            let exists = |pod: &Uid| wiring.pods.lookup(|index| index.by_uid(pod).is_some());
            wiring.memories.keep_settled(key, uid, settled, exists);
        }
        wiring.memories.set(job.key(), plan.memory.clone());
        log_plan(&plan, pods.len());
        let others_wait = || wiring.job_queue.depth() > 0;
        let turn = Turn::new(&others_wait);
        let mut outcome = self.enactor.enact(job, &plan, &turn).await;
        // Requests that are left over are no failures.
        outcome.failures.retain(|failure| *failure != turn::left_over());
        wiring.memories.set(job.key(), outcome.memory.clone());
        if let Some(action) = plan.action {
            let labels = SyncLabels {
                completion_mode: completion_mode(job),
                success: outcome.failures.is_empty(),
                action: action.label(),
            };
            wiring.metrics.synced(labels, start.elapsed().as_secs_f64());
        }
        requeue(&plan, &outcome, &turn)
    }

    fn plan(&self, job: &CachedJob, pods: &[PodFacts], memory: &Memory) -> Plan {
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

/// The clock of the controller.
#[must_use]
pub fn now() -> Time {
    Time::from_millis(Timestamp::now().as_millisecond())
}

fn completion_mode(job: &CachedJob) -> &'static str {
    match job.facts.spec.completion_mode {
        CompletionMode::Indexed => "Indexed",
        CompletionMode::NonIndexed | CompletionMode::Unknown => "NonIndexed",
    }
}

/// MB-13.
fn log_skip(key: &ObjectKey, job: &JobFacts) {
    let manager = job.spec.managed_by.as_deref().unwrap_or(RESERVED_MANAGER);
    debug!(job = %key, uid = %job.uid, manager, "skipping the sync of a Job of another manager");
}

fn log_plan(plan: &Plan, pods: usize) {
    let commands = plan.commands().count();
    let requirements: Vec<&str> = plan.decisions.iter().map(|decision| decision.requirement).collect();
    let why: Vec<&str> = plan.decisions.iter().map(|decision| decision.why).collect();
    if commands == 0 {
        debug!(pods, requirements = requirements.join(","), why = why.join("; "), "nothing to do");
    } else {
        info!(
            pods,
            commands,
            requirements = requirements.join(","),
            why = why.join("; "),
            "executing the plan"
        );
    }
}

fn requeue(plan: &Plan, outcome: &Outcome, turn: &Turn<'_>) -> Requeue {
    for failure in &outcome.failures {
        warn!(%failure, "a command failed");
    }
    match (outcome.failures.is_empty(), plan.wake_after) {
        (true, _) if turn.is_over() => {
            debug!("the rest of the plan is left to the next sync, because other Jobs wait");
            Requeue::After(Duration::ZERO)
        }
        (true, Some(delay)) => Requeue::After(delay),
        (true, None) => Requeue::AwaitChange,
        (false, _) => Requeue::RateLimited,
    }
}

#[cfg(test)]
mod tests;
