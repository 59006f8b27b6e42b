//! Leader election on a `coordination.k8s.io/v1` Lease: of several replicas one works, the others stand by.
//!
//! Same rules and numbers as client-go: a lease counts as held for its duration after this process last *saw* it
//! change, by this process's own clock, so that clocks need not agree; the holder renews every retry period, and gives
//! up if no renewal succeeded within the renewal deadline.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{Api, ObjectMeta, PostParams};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use super::fence::Fence;
use super::jitter::Jitter;
use super::metrics::Metrics;
use crate::answer::Failure;

/// How long a lease is good for, and how often it is renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Others may take the lease when they have not seen it change for so long.
    pub lease_duration: Duration,
    /// The holder stops when it could not renew for so long. Less than `lease_duration`.
    pub renew_deadline: Duration,
    /// Time between two attempts. Less than `renew_deadline`.
    pub retry_period: Duration,
}

impl Default for Timing {
    /// As kube-controller-manager: 15 s, 10 s, 2 s.
    fn default() -> Self {
        Timing {
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
        }
    }
}

/// How far this process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Not yet heard of the lease.
    Unknown,
    /// Another replica leads.
    Standby,
    /// This replica leads.
    Leading,
}

/// One replica's part in the election.
#[derive(Debug)]
pub struct Elector {
    api: Api<Lease>,
    name: String,
    identity: String,
    timing: Timing,
    fence: Fence,
    metrics: Metrics,
    standing: watch::Sender<Standing>,
    resume: Arc<Notify>,
    jitter: Jitter,
    seen: Option<Seen>,
}

/// The lease as it was last read or written, and when it was seen to change.
#[derive(Debug)]
struct Seen {
    lease: Lease,
    changed: Instant,
}

/// What an attempt came to.
#[derive(Debug, PartialEq, Eq)]
enum Attempt {
    /// The lease is ours, by a request sent at this instant.
    Held(Instant),
    /// Somebody else holds it.
    Theirs,
}

impl Elector {
    /// A part in the election for the lease `name` of the namespace that `api` is for.
    #[must_use]
    pub fn new(
        api: Api<Lease>,
        name: &str,
        identity: &str,
        timing: Timing,
        fence: Fence,
        metrics: Metrics,
    ) -> Elector {
        metrics.leads(name, false);
        Elector {
            api,
            name: name.to_owned(),
            identity: identity.to_owned(),
            timing,
            fence,
            metrics,
            standing: watch::channel(Standing::Unknown).0,
            resume: Arc::new(Notify::new()),
            jitter: Jitter::seeded(identity),
            seen: None,
        }
    }

    /// Follows how far this process is.
    #[must_use]
    pub fn standing(&self) -> watch::Receiver<Standing> {
        self.standing.subscribe()
    }

    /// Tell it, after the lease was lost, that the work under it is over. Before that the lease is not taken again, lest
    /// what was decided in the old term is written in a new one.
    #[must_use]
    pub fn resume(&self) -> Arc<Notify> {
        Arc::clone(&self.resume)
    }

    /// Takes part until `stop`. Who works under the lease stops when the standing is no longer [`Standing::Leading`], and
    /// says so ([`Elector::resume`]). A lease that is held at `stop` is released, so that another replica can take it at
    /// once; so `stop` only when the work is over.
    pub async fn run(mut self, stop: CancellationToken) {
        loop {
            let deadline = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                deadline = self.acquire() => deadline,
            };
            tokio::select! {
                biased;
                () = stop.cancelled() => return self.release().await,
                () = self.hold(deadline) => {}
            }
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = self.resume.notified() => {}
            }
        }
    }

    /// Returns when the lease is ours: until when.
    async fn acquire(&mut self) -> Instant {
        loop {
            match self.attempt().await {
                Ok(Attempt::Held(sent)) => {
                    let deadline = sent + self.timing.renew_deadline;
                    self.fence.open_until(deadline);
                    self.metrics.leads(&self.name, true);
                    info!(lease = self.name, identity = self.identity, "became the leader");
                    self.standing.send_replace(Standing::Leading);
                    return deadline;
                }
                Ok(Attempt::Theirs) => {
                    let before = self.standing.send_replace(Standing::Standby);
                    if before == Standing::Unknown {
                        info!(
                            lease = self.name,
                            holder = self.holder(),
                            "another replica leads: standing by"
                        );
                    }
                }
                Err(failure) => warn!(lease = self.name, %failure, "cannot take the lease"),
            }
            sleep(self.jitter.spread(self.timing.retry_period, JITTER)).await;
        }
    }

    /// Renews the lease; returns when it is lost.
    async fn hold(&mut self, mut deadline: Instant) {
        loop {
            sleep(self.timing.retry_period).await;
            match timeout_at(deadline, self.attempt()).await {
                Ok(Ok(Attempt::Held(sent))) => {
                    deadline = sent + self.timing.renew_deadline;
                    self.fence.open_until(deadline);
                }
                Ok(Ok(Attempt::Theirs)) => {
                    warn!(lease = self.name, "another replica took the lease");
                    return self.lost();
                }
                Ok(Err(failure)) if Instant::now() < deadline => {
                    warn!(lease = self.name, %failure, "cannot renew the lease");
                }
                Ok(Err(_)) | Err(_) => {
                    warn!(lease = self.name, "could not renew the lease in time");
                    return self.lost();
                }
            }
        }
    }

    /// Who held the lease when it was last read.
    fn holder(&self) -> Option<&str> {
        self.seen.as_ref()?.lease.spec.as_ref()?.holder_identity.as_deref()
    }

    fn lost(&mut self) {
        self.fence.close();
        self.metrics.leads(&self.name, false);
        self.standing.send_replace(Standing::Standby);
    }

    /// Gives the lease back: nobody holds it, and it is short.
    async fn release(&mut self) {
        self.fence.close();
        self.metrics.leads(&self.name, false);
        match tokio::time::timeout(self.timing.renew_deadline, self.give_back()).await {
            Ok(Ok(())) => info!(lease = self.name, "released the lease"),
            Ok(Err(failure)) => warn!(lease = self.name, %failure, "cannot release the lease"),
            Err(_) => warn!(lease = self.name, "no answer to the release of the lease"),
        }
    }

    async fn give_back(&self) -> Result<(), Failure> {
        let failure = |error: kube::Error| Failure::from_kube(&error);
        // Read anew: a renewal that was cut off may have been carried out.
        let current = self.api.get(&self.name).await.map_err(failure)?;
        if holder(&current) != self.identity {
            return Ok(());
        }
        let now = MicroTime(jiff::Timestamp::now());
        let spec = LeaseSpec {
            holder_identity: Some(String::new()),
            lease_duration_seconds: Some(1),
            renew_time: Some(now.clone()),
            acquire_time: Some(now),
            ..current.spec.unwrap_or_default()
        };
        let finalizer_removed = Lease { spec: Some(spec), ..current };
        self.api.replace(&self.name, &PostParams::default(), &finalizer_removed).await.map_err(failure)?;
        Ok(())
    }

    async fn attempt(&mut self) -> Result<Attempt, Failure> {
        let failure = |error: kube::Error| Failure::from_kube(&error);
        let sent = Instant::now();
        let current = self.api.get_opt(&self.name).await.map_err(failure)?;
        let Some(current) = current else {
            let lease = Lease {
                metadata: ObjectMeta { name: Some(self.name.clone()), ..ObjectMeta::default() },
                spec: Some(self.claim(None)),
            };
            let created = self.api.create(&PostParams::default(), &lease).await.map_err(failure)?;
            self.seen = Some(Seen { lease: created, changed: Instant::now() });
            return Ok(Attempt::Held(sent));
        };
        self.see(&current);
        if self.is_theirs(&current) {
            debug!(lease = self.name, holder = holder(&current), "another replica holds the lease");
            return Ok(Attempt::Theirs);
        }
        let sent = Instant::now();
        let spec = self.claim(current.spec.as_ref());
        let claimed = Lease { spec: Some(spec), ..current };
        // The version that was read is the precondition: of two replicas that try at once one is refused.
        let stored = self.api.replace(&self.name, &PostParams::default(), &claimed).await.map_err(failure)?;
        self.seen = Some(Seen { lease: stored, changed: Instant::now() });
        Ok(Attempt::Held(sent))
    }

    fn see(&mut self, current: &Lease) {
        if self.seen.as_ref().is_none_or(|seen| seen.lease.spec != current.spec) {
            self.seen = Some(Seen { lease: current.clone(), changed: Instant::now() });
        } else if let Some(seen) = &mut self.seen {
            seen.lease = current.clone();
        }
    }

    fn is_theirs(&self, current: &Lease) -> bool {
        let holder = holder(current);
        if holder.is_empty() || holder == self.identity {
            return false;
        }
        let seconds = current.spec.as_ref().and_then(|spec| spec.lease_duration_seconds).unwrap_or(0);
        let duration = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
        self.seen.as_ref().is_some_and(|seen| seen.changed.elapsed() < duration)
    }

    /// The lease as ours, from what it was.
    fn claim(&self, before: Option<&LeaseSpec>) -> LeaseSpec {
        let now = MicroTime(jiff::Timestamp::now());
        let before = before.cloned().unwrap_or_default();
        let ours = before.holder_identity.as_deref() == Some(&self.identity);
        let transitions = before.lease_transitions.unwrap_or(0);
        LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: Some(seconds(self.timing.lease_duration)),
            acquire_time: if ours { before.acquire_time } else { Some(now.clone()) },
            renew_time: Some(now),
            // The first holder is no transition.
            lease_transitions: Some(match (&before.holder_identity, ours) {
                (Some(_), false) => transitions.saturating_add(1),
                (None, _) | (Some(_), true) => transitions,
            }),
            ..before
        }
    }
}

/// As client-go: attempts to take a lease are up to 2.2 retry periods apart.
const JITTER: f64 = 1.2;

fn holder(lease: &Lease) -> &str {
    lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref()).unwrap_or_default()
}

fn seconds(duration: Duration) -> i32 {
    i32::try_from(duration.as_secs()).unwrap_or(i32::MAX).max(1)
}

#[cfg(test)]
mod tests;
