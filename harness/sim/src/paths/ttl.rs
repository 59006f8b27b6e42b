//! The shipped TTL controller, driven by the steps of a path.

use std::sync::Arc;

use jobcheck_apiserver::request::{DeleteOptions, Request, Response, Verb};
use jobcheck_apiserver::resource::Resource;
use jobcheck_controller::ttl::observe::deletion;
use jobcheck_controller::ttl::plan::{TtlObserved, TtlPlan, plan};
use jobcheck_explorer::process::steps::RequestOutcome;
use jobcheck_explorer::process::ttl as model;
use jobcheck_explorer::process::ttl::TtlStep;
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::world::{JobId, World};
use k8s_openapi::serde::Deserialize;
use serde_json::Value;

use super::Rig;
use super::bench::{Bench, Stop, differs, timestamp};
use super::worker::failure;
use crate::cluster::NAMESPACE;
use crate::process::time;

/// The state of a TTL controller: its cache, and its next request.
#[derive(Clone, Debug)]
pub struct TtlWorker {
    /// The revision of its cache.
    seen: u64,
    asks: Option<Request>,
}

impl TtlWorker {
    /// Returns a controller that has listed the Jobs.
    #[must_use]
    pub fn started(revision: u64) -> TtlWorker {
        TtlWorker { seen: revision, asks: None }
    }
}

/// Replays a step of the TTL controller.
///
/// # Errors
///
/// The controller acts differently from the path.
pub fn step(
    bench: &mut Bench,
    id: JobId,
    what: TtlStep,
    after: &World,
    scope: &Scope,
    rig: &mut Rig,
) -> Result<(), Stop> {
    match what {
        TtlStep::Sync => {
            let Some(seen) = bench.replica(id).ttl.as_ref().map(|it| it.seen) else { return Ok(()) };
            let cached = bench.job_at(id, seen);
            decide(bench, id, cached.as_ref(), false, (after, scope), rig)?;
        }
        TtlStep::Get(outcome) | TtlStep::Delete(outcome) => {
            let Some(request) = asked(bench, id) else {
                return differs("the TTL controller sends no request");
            };
            let reads = matches!(request.verb, Verb::Get { .. });
            if reads != matches!(what, TtlStep::Get(_)) {
                return differs(format!("the TTL controller sends another request: {}", request.verb.name()));
            }
            let response = match outcome {
                RequestOutcome::Handled => bench.ask(&request),
                RequestOutcome::Fails => failure(),
                RequestOutcome::ResponseLost => {
                    bench.ask(&request);
                    failure()
                }
            };
            answered(bench, id, reads, response, (after, scope), rig)?;
        }
        TtlStep::Crash => {
            if let Some(ttl) = &mut bench.replica_mut(id).ttl {
                ttl.asks = None;
            }
        }
        TtlStep::Show => {}
    }
    check(bench, id, after, scope)
}

fn asked(bench: &mut Bench, id: JobId) -> Option<Request> {
    bench.replica_mut(id).ttl.as_mut().and_then(|ttl| ttl.asks.take())
}

fn answered(
    bench: &mut Bench,
    id: JobId,
    reads: bool,
    response: Response,
    at: (&World, &Scope),
    rig: &mut Rig,
) -> Result<(), Stop> {
    let job = response.object().ok().filter(|_| reads);
    match job {
        Some(job) => decide(bench, id, Some(&job), true, at, rig),
        None => Ok(()),
    }
}

fn decide(
    bench: &mut Bench,
    id: JobId,
    job: Option<&Arc<Value>>,
    fresh: bool,
    (after, scope): (&World, &Scope),
    rig: &mut Rig,
) -> Result<(), Stop> {
    let Some(job) = job else { return Ok(()) };
    let read = rig.reader.job(job).map_err(Stop::Differs)?;
    let clock = timestamp(scope.ttl_clock(after.now));
    let asks = request(&plan(&TtlObserved { job: &read.ttl, fresh }, time(clock)), &read.facts.name);
    if let Some(ttl) = &mut bench.replica_mut(id).ttl {
        ttl.asks = asks;
    }
    Ok(())
}

/// The request of a decision.
fn request(plan: &TtlPlan, name: &str) -> Option<Request> {
    let verb = match plan {
        TtlPlan::Leave | TtlPlan::WaitFor(_) | TtlPlan::Retry { .. } => return None,
        TtlPlan::FetchFresh => Verb::Get { resource_version: None },
        TtlPlan::Delete(delete) => Verb::Delete(DeleteOptions::deserialize(deletion(delete)).ok()?),
    };
    Some(Request::new(Resource::Jobs, Some(NAMESPACE), Some(name), verb))
}

/// Compares the next request with the path.
fn check(bench: &Bench, id: JobId, after: &World, scope: &Scope) -> Result<(), Stop> {
    let mut steps = Vec::new();
    model::enabled(after, id, scope, &mut |step| steps.push(step));
    let wanted = |what: TtlStep| steps.contains(&what);
    let wants = match () {
        () if wanted(TtlStep::Get(RequestOutcome::Handled)) => Some("get"),
        () if wanted(TtlStep::Delete(RequestOutcome::Handled)) => Some("delete"),
        () => None,
    };
    let asks = bench.replica(id).ttl.as_ref().and_then(|it| it.asks.as_ref());
    let asks = asks.map(|request| request.verb.name());
    if asks == wants {
        return Ok(());
    }
    differs(format!("the TTL controller sends {asks:?}, the path has {wants:?}"))
}

/// Updates the cache, unless it lags in the path.
pub fn look(bench: &mut Bench, id: JobId, after: &World) {
    let newest = bench.server.revision();
    let current = after.job_state(id).ttl.controller().is_some_and(|it| it.is_current());
    if let Some(ttl) = bench.replica_mut(id).ttl.as_mut().filter(|_| current) {
        ttl.seen = newest;
    }
}

/// Replays the deletion of an expired Job by the specification. A shipped controller that has just read the Job must
/// decide the same.
///
/// # Errors
///
/// The controller decides differently, or the server refuses the request.
pub fn expire(bench: &mut Bench, id: JobId, rig: &mut Rig) -> Result<(), Stop> {
    let Some(job) = bench.job(id).cloned() else { return differs("there is no Job to expire") };
    let read = rig.reader.job(&job).map_err(Stop::Differs)?;
    let decided = plan(&TtlObserved { job: &read.ttl, fresh: true }, time(bench.now));
    match request(&decided, &read.facts.name) {
        Some(request) if matches!(request.verb, Verb::Delete(_)) => bench.must(&request).map(drop),
        Some(_) | None => differs(format!("the TTL controller decides {decided:?}")),
    }
}
