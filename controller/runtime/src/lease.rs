//! Leader election on a `coordination.k8s.io/v1` Lease: one of several replicas works, the others stand by.
//!
//! The rules and the durations are those of client-go:
//!
//! - A lease is held for its duration after this process last *observed* a change of it. Only the clock of this process
//!   counts, so clocks need not agree.
//! - The holder renews the lease every retry period. It stops if no renewal succeeded within the renewal deadline.

use std::sync::Arc;
use std::time::Duration;

use jobcheck_controller::answer::Failure;
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
use crate::failure::of_kube;

/// The durations of leader election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Another replica may take the lease if it has not observed a change for this time.
    pub lease_duration: Duration,
    /// The holder stops if it has not renewed the lease for this time. It is less than `lease_duration`.
    pub renew_deadline: Duration,
    /// The time between two attempts. It is less than `renew_deadline`.
    pub retry_period: Duration,
}

impl Default for Timing {
    /// The durations of kube-controller-manager: 15 s, 10 s, and 2 s.
    fn default() -> Self {
        Timing {
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
        }
    }
}

/// The role of this process in the election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leadership {
    /// The process has not read the lease yet.
    Unknown,
    /// Another replica is the leader.
    Standby,
    /// This replica is the leader.
    Leading,
}

/// The participation of one replica in the election.
#[derive(Debug)]
pub struct Elector {
    api: Api<Lease>,
    name: String,
    identity: String,
    timing: Timing,
    fence: Fence,
    metrics: Metrics,
    leadership: watch::Sender<Leadership>,
    resume: Arc<Notify>,
    jitter: Jitter,
    observed: Option<ObservedLease>,
}

/// The lease as it was last read or written, and the time of its last observed change.
#[derive(Debug)]
struct ObservedLease {
    lease: Lease,
    changed: Instant,
}

/// The result of an attempt to take or renew the lease.
#[derive(Debug, PartialEq, Eq)]
enum Attempt {
    /// This process holds the lease, by a request that was sent at this instant.
    Held(Instant),
    /// Another process holds the lease.
    HeldByOther,
}

impl Elector {
    /// Returns a participation in the election for the lease `name` in the namespace of `api`.
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
            leadership: watch::channel(Leadership::Unknown).0,
            resume: Arc::new(Notify::new()),
            jitter: Jitter::seeded(identity),
            observed: None,
        }
    }

    /// Returns a receiver of the role of this process.
    #[must_use]
    pub fn leadership(&self) -> watch::Receiver<Leadership> {
        self.leadership.subscribe()
    }

    /// Returns the notification that the work of a lost term has ended.
    ///
    /// Until it is sent the lease is not taken again, so that no decision of the old term is written in a new term.
    #[must_use]
    pub fn resume(&self) -> Arc<Notify> {
        Arc::clone(&self.resume)
    }

    /// Participates in the election until `stop`.
    ///
    /// The caller stops its work when the role is no longer [`Leadership::Leading`], and notifies [`Elector::resume`]
    /// then. At `stop` a held lease is released, so that another replica can take it at once. The caller therefore cancels
    /// `stop` only after its work has ended.
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

    /// Waits until this process holds the lease. Returns the renewal deadline.
    async fn acquire(&mut self) -> Instant {
        loop {
            match self.attempt().await {
                Ok(Attempt::Held(sent)) => {
                    let deadline = sent + self.timing.renew_deadline;
                    self.fence.open_until(deadline);
                    self.metrics.leads(&self.name, true);
                    info!(lease = self.name, identity = self.identity, "became the leader");
                    self.leadership.send_replace(Leadership::Leading);
                    return deadline;
                }
                Ok(Attempt::HeldByOther) => {
                    let before = self.leadership.send_replace(Leadership::Standby);
                    if before == Leadership::Unknown {
                        info!(
                            lease = self.name,
                            holder = self.holder(),
                            "another replica is the leader: standing by"
                        );
                    }
                }
                Err(failure) => warn!(lease = self.name, %failure, "cannot take the lease"),
            }
            sleep(self.jitter.spread(self.timing.retry_period, JITTER)).await;
        }
    }

    /// Renews the lease until it is lost.
    async fn hold(&mut self, mut deadline: Instant) {
        loop {
            sleep(self.timing.retry_period).await;
            match timeout_at(deadline, self.attempt()).await {
                Ok(Ok(Attempt::Held(sent))) => {
                    deadline = sent + self.timing.renew_deadline;
                    self.fence.open_until(deadline);
                }
                Ok(Ok(Attempt::HeldByOther)) => {
                    warn!(lease = self.name, "another replica took the lease");
                    return self.lose();
                }
                Ok(Err(failure)) if Instant::now() < deadline => {
                    warn!(lease = self.name, %failure, "cannot renew the lease");
                }
                Ok(Err(_)) | Err(_) => {
                    warn!(lease = self.name, "could not renew the lease in time");
                    return self.lose();
                }
            }
        }
    }

    /// The holder of the lease when it was last read.
    fn holder(&self) -> Option<&str> {
        self.observed.as_ref()?.lease.spec.as_ref()?.holder_identity.as_deref()
    }

    fn lose(&mut self) {
        self.fence.close();
        self.metrics.leads(&self.name, false);
        self.leadership.send_replace(Leadership::Standby);
    }

    /// Releases the lease: it has no holder then, and a duration of one second.
    async fn release(&mut self) {
        self.fence.close();
        self.metrics.leads(&self.name, false);
        match tokio::time::timeout(self.timing.renew_deadline, self.clear_holder()).await {
            Ok(Ok(())) => info!(lease = self.name, "released the lease"),
            Ok(Err(failure)) => warn!(lease = self.name, %failure, "cannot release the lease"),
            Err(_) => warn!(lease = self.name, "no response to the release of the lease"),
        }
    }

    async fn clear_holder(&self) -> Result<(), Failure> {
        let failure = |error: kube::Error| of_kube(&error);
        // The lease is read again, because an abandoned renewal may have succeeded.
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
        let released = Lease { spec: Some(spec), ..current };
        self.api.replace(&self.name, &PostParams::default(), &released).await.map_err(failure)?;
        Ok(())
    }

    async fn attempt(&mut self) -> Result<Attempt, Failure> {
        let failure = |error: kube::Error| of_kube(&error);
        let sent = Instant::now();
        let current = self.api.get_opt(&self.name).await.map_err(failure)?;
        let Some(current) = current else {
            let lease = Lease {
                metadata: ObjectMeta { name: Some(self.name.clone()), ..ObjectMeta::default() },
                spec: Some(self.claim(None)),
            };
            let created = self.api.create(&PostParams::default(), &lease).await.map_err(failure)?;
            self.observed = Some(ObservedLease { lease: created, changed: Instant::now() });
            return Ok(Attempt::Held(sent));
        };
        self.observe(&current);
        if self.is_held_by_other(&current) {
            debug!(lease = self.name, holder = holder(&current), "another replica holds the lease");
            return Ok(Attempt::HeldByOther);
        }
        let sent = Instant::now();
        let spec = self.claim(current.spec.as_ref());
        let claimed = Lease { spec: Some(spec), ..current };
        // The version is the precondition: if two replicas try at once, one of them is refused.
        let stored = self.api.replace(&self.name, &PostParams::default(), &claimed).await.map_err(failure)?;
        self.observed = Some(ObservedLease { lease: stored, changed: Instant::now() });
        Ok(Attempt::Held(sent))
    }

    fn observe(&mut self, current: &Lease) {
        if self.observed.as_ref().is_none_or(|observed| observed.lease.spec != current.spec) {
            self.observed = Some(ObservedLease { lease: current.clone(), changed: Instant::now() });
        } else if let Some(observed) = &mut self.observed {
            observed.lease = current.clone();
        }
    }

    fn is_held_by_other(&self, current: &Lease) -> bool {
        let holder = holder(current);
        if holder.is_empty() || holder == self.identity {
            return false;
        }
        let seconds = current.spec.as_ref().and_then(|spec| spec.lease_duration_seconds).unwrap_or(0);
        let duration = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
        self.observed.as_ref().is_some_and(|observed| observed.changed.elapsed() < duration)
    }

    /// Returns the specification of the lease with this process as its holder.
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
            // The first holder does not count as a transition.
            lease_transitions: Some(match (&before.holder_identity, ours) {
                (Some(_), false) => transitions.saturating_add(1),
                (None, _) | (Some(_), true) => transitions,
            }),
            ..before
        }
    }
}

/// The jitter of client-go: two attempts to take a lease are at most 2.2 retry periods apart.
const JITTER: f64 = 1.2;

fn holder(lease: &Lease) -> &str {
    lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref()).unwrap_or_default()
}

fn seconds(duration: Duration) -> i32 {
    i32::try_from(duration.as_secs()).unwrap_or(i32::MAX).max(1)
}

#[cfg(test)]
mod tests;
