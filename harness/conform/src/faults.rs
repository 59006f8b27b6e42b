//! Faults between the manager and the API server of its cluster.
//!
//! The manager connects to a proxy. Some of its writes to Jobs in namespaces of the suite fail, or lose their response. Its
//! watches of Jobs are held for a while, end, or expire. The seed and the scenario decide which writes these are.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use jobcheck_faultproxy::{
    Cut, Decider, Decision, Delivery, FaultProxy, Handle, Handling, Refusal, RequestInfo, Verb, Watched,
};
use jobcheck_report::Run as Reported;
use jobcheck_traces::{Fault, FaultKind, Resource};
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng};
use tokio::sync::oneshot;
use tokio::time::sleep;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::cluster::Cluster;
use crate::error::Error;

/// One write in this many fails.
const ONE_IN: u64 = 2;
/// The most writes that fail in one scenario. Managers wait longer after each failure, and scenarios have to end.
const MOST: usize = 4;
/// The shortest time between two faults of watches, and its variation, in milliseconds.
const BETWEEN: (u64, u64) = (1_000, 2_000);
/// The longest time for which a watch is held, in milliseconds.
const HELD: u64 = 2_000;

/// The faults of watches: of each twelve, about six hold a watch, five cut it, and one lets it expire. A watch that expires shows
/// every Job anew. This would remind a manager of a Job that it has forgotten, so it is rare.
const KINDS: u64 = 12;
const HOLDS: u64 = 6;
const CUTS: u64 = 11;

/// The proxy before the API server of the manager, with the faults so far.
pub struct Faults {
    kubeconfig: String,
    plan: Plan,
    connected: Mutex<Option<oneshot::Receiver<()>>>,
    /// Ends the faults of watches, and the proxy.
    _watches: DropGuard,
}

/// A fault of a request or of a watch.
#[derive(Clone, Debug)]
pub(crate) struct Injected {
    /// The id of the request in the audit log. A fault of a watch has none, and neither has a request that never reached it.
    pub request: Option<String>,
    /// The fault as a trace has it.
    pub fault: Fault,
}

/// Decides about the requests of the manager.
#[derive(Clone)]
struct Plan(Arc<Shared>);

struct Shared {
    seed: u64,
    is_connected: Mutex<Option<oneshot::Sender<()>>>,
    /// A write to a Job of a scenario has come.
    is_used: AtomicBool,
    /// The scenarios by namespace.
    runs: Mutex<BTreeMap<String, Run>>,
}

/// The faults of one scenario.
struct Run {
    numbers: SplitMix64,
    failed: usize,
    injected: Vec<Injected>,
}

/// The ways in which a write fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Failure {
    Refused(Refusal),
    /// The request never arrives.
    Cut,
    /// The request is carried out, and the response is lost.
    ResponseLost,
    /// The request is carried out, and the response is a server error.
    TimesOut,
}

impl Failure {
    const ALL: [Failure; 6] = [
        Failure::ResponseLost,
        Failure::Refused(Refusal::Conflict),
        Failure::Refused(Refusal::InternalError),
        Failure::TimesOut,
        Failure::Refused(Refusal::TooManyRequests),
        Failure::Cut,
    ];

    fn handling(self) -> Handling {
        match self {
            Failure::Refused(refusal) => Handling::Refuse(refusal),
            Failure::Cut => Handling::Cut,
            Failure::ResponseLost => Handling::LoseResponse,
            Failure::TimesOut => Handling::RespondWith(Refusal::Timeout),
        }
    }

    /// The kind in a trace. The log of the API server has no request that the proxy refused.
    fn kind(self) -> FaultKind {
        match self {
            Failure::Refused(_) | Failure::Cut => FaultKind::Dropped,
            Failure::ResponseLost | Failure::TimesOut => FaultKind::LostResponse,
        }
    }

    fn detail(self) -> String {
        match self {
            Failure::Refused(refusal) => format!("refused with {}", refusal.code()),
            Failure::Cut => "it never arrives".to_owned(),
            Failure::ResponseLost => "the response is lost".to_owned(),
            Failure::TimesOut => "carried out, and answered with 504".to_owned(),
        }
    }
}

impl Faults {
    /// Starts a proxy before the API server of this cluster. `seed` decides which writes fail.
    ///
    /// # Errors
    ///
    /// The API server does not respond, or there is no free port.
    pub async fn start(cluster: &Cluster, seed: u64) -> Result<Faults, Error> {
        let failed = |why: String| cluster.failed(why);
        let config = cluster.access.config().await.map_err(failed)?;
        let (sender, receiver) = oneshot::channel();
        let shared = Shared {
            seed,
            is_connected: Mutex::new(Some(sender)),
            is_used: AtomicBool::new(false),
            runs: Mutex::default(),
        };
        let plan = Plan(Arc::new(shared));
        let proxy = FaultProxy::of(config).decided_by(plan.clone()).start().await;
        let proxy = proxy.map_err(|error| failed(error.to_string()))?;
        let kubeconfig = proxy.kubeconfig().map_err(|error| failed(error.to_string()))?;
        let stop = CancellationToken::new();
        let (of_watches, stopped) = (disturb(proxy, plan.clone()), stop.clone());
        tokio::spawn(async move { stopped.run_until_cancelled(of_watches).await });
        Ok(Faults { kubeconfig, plan, connected: Mutex::new(Some(receiver)), _watches: stop.drop_guard() })
    }

    /// The kubeconfig with which the manager connects. It acts as the account of the suite.
    #[must_use]
    pub fn kubeconfig(&self) -> &str {
        &self.kubeconfig
    }

    /// Waits for the first request through the proxy.
    pub async fn connected(&self) {
        let receiver = self.connected.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(receiver) = receiver {
            // The sender lives as long as the proxy.
            let _ = receiver.await;
        }
    }

    /// Returns true if a write to a Job of a scenario has come through the proxy. If none has, the manager does not use it.
    #[must_use]
    pub fn is_used(&self) -> bool {
        self.plan.0.is_used.load(Ordering::Relaxed)
    }

    /// Begins the faults of a run. Each repetition has a seed of its own, with which `--seed` runs it alone.
    pub(crate) fn begin(&self, namespace: &str, scenario: &str, repetition: Option<u32>) {
        let numbers = numbers(self.plan.0.seed, scenario, repetition);
        let run = Run { numbers, failed: 0, injected: Vec::new() };
        self.plan.runs().insert(namespace.to_owned(), run);
    }

    /// Ends the faults of a scenario, and returns them.
    pub(crate) fn end(&self, namespace: &str) -> Vec<Injected> {
        self.plan.runs().remove(namespace).map(|run| run.injected).unwrap_or_default()
    }
}

/// The numbers that decide about the writes of a run.
fn numbers(seed: u64, scenario: &str, repetition: Option<u32>) -> SplitMix64 {
    SplitMix64::seed_from_u64(seed_of(Reported::seed_of(seed, repetition), scenario))
}

/// The seed of a scenario, by FNV-1a.
fn seed_of(seed: u64, scenario: &str) -> u64 {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    scenario.bytes().fold(0xcbf2_9ce4_8422_2325 ^ seed, mix)
}

impl Plan {
    fn runs(&self) -> MutexGuard<'_, BTreeMap<String, Run>> {
        self.0.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn handling(&self, asked: &RequestInfo) -> Handling {
        let first = self.0.is_connected.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(first) = first {
            // Nobody may be waiting any longer.
            let _ = first.send(());
        }
        let is_write = matches!(asked.verb, Verb::Update | Verb::Patch | Verb::Delete);
        if !is_write || asked.group != "batch" || asked.resource != "jobs" {
            return Handling::Forward;
        }
        let mut runs = self.runs();
        let run = asked.namespace.as_deref().and_then(|namespace| runs.get_mut(namespace));
        if run.is_some() {
            self.0.is_used.store(true, Ordering::Relaxed);
        }
        run.and_then(|run| run.fails(asked)).map_or(Handling::Forward, Failure::handling)
    }
}

impl Run {
    /// Decides about a write.
    fn fails(&mut self, asked: &RequestInfo) -> Option<Failure> {
        let (is_it, which) = (self.numbers.next_u64().is_multiple_of(ONE_IN), self.numbers.next_u64());
        if !is_it || self.failed == MOST {
            return None;
        }
        self.failed += 1;
        let number = usize::try_from(which % Failure::ALL.len() as u64).unwrap_or(0);
        let failure = *Failure::ALL.get(number)?;
        let arrives = failure.kind() == FaultKind::LostResponse;
        let object = asked.name.as_deref().unwrap_or_default();
        let detail = format!("{} {} {object}: {}", asked.verb.name(), asked.kind(), failure.detail());
        self.injected.push(Injected {
            request: arrives.then(|| asked.id.clone()),
            fault: fault(failure.kind(), asked.agent.rsplit(['/', ':']).next(), detail),
        });
        Some(failure)
    }
}

fn fault(kind: FaultKind, actor: Option<&str>, detail: String) -> Fault {
    let at = Some(Timestamp::now().as_microsecond());
    let resource = (kind == FaultKind::Relist).then_some(Resource::Jobs);
    Fault { at, kind, actor: actor.map(str::to_owned), resource, detail: Some(detail) }
}

impl Decider for Plan {
    fn decide(&self, asked: RequestInfo) -> Decision<'_> {
        Box::pin(std::future::ready(self.handling(&asked)))
    }
}

/// Holds, ends, and expires the watches of Jobs, again and again. The proxy runs as long.
async fn disturb(proxy: Handle, plan: Plan) {
    let mut numbers = SplitMix64::seed_from_u64(plan.0.seed);
    loop {
        let (least, variation) = BETWEEN;
        sleep(Duration::from_millis(least + numbers.next_u64() % variation)).await;
        let (kind, detail) = match numbers.next_u64() % KINDS {
            0..HOLDS => {
                proxy.hold(Watched::Jobs);
                sleep(Duration::from_millis(numbers.next_u64() % HELD)).await;
                proxy.release(Watched::Jobs, Delivery::Each);
                (FaultKind::StaleRead, "the watch of Jobs was held")
            }
            HOLDS..CUTS => {
                proxy.cut(Watched::Jobs, Cut::Break);
                (FaultKind::StaleRead, "the watch of Jobs was cut")
            }
            _ => {
                proxy.cut(Watched::Jobs, Cut::Expire);
                (FaultKind::Relist, "the watch of Jobs expired")
            }
        };
        for run in plan.runs().values_mut() {
            let fault = fault(kind, None, detail.to_owned());
            run.injected.push(Injected { request: None, fault });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(seed: u64, scenario: &str) -> u64 {
        numbers(seed, scenario, None).next_u64()
    }

    #[test]
    fn a_seed_and_a_scenario_decide_which_writes_fail() {
        assert_eq!(first(1, "mirror/success"), first(1, "mirror/success"));
        assert_ne!(first(1, "mirror/success"), first(2, "mirror/success"));
        assert_ne!(first(1, "mirror/success"), first(1, "mirror/failure"));
        // The seed of a repetition runs it alone.
        let of = |seed, repetition| numbers(seed, "mirror/success", repetition).next_u64();
        assert_eq!([of(7, Some(1)), of(7, Some(3))], [of(7, None), of(9, None)]);
    }

    #[test]
    fn only_requests_that_arrive_are_in_the_log() {
        for failure in Failure::ALL {
            let arrives = matches!(failure.handling(), Handling::LoseResponse | Handling::RespondWith(_));
            assert_eq!(arrives, failure.kind() == FaultKind::LostResponse, "{failure:?}");
        }
    }
}
