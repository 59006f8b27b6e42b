//! The shipped orphan queue: pods that no sync reads, one request at a time (FT-20 to FT-23).

use std::sync::Arc;

use jobcheck_apiserver::request::Request;
use jobcheck_controller::job::observe::PodSelector;
use jobcheck_controller::job::orphan::{self, OrphanObserved, OwnerLookup};
use jobcheck_controller::job::requests::{of_orphan, read_job};
use jobcheck_controller::values;
use jobcheck_explorer::process::decisions::OrphanDecision;
use jobcheck_explorer::process::steps::{RequestOutcome, orphan_decision};
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::world::{JobId, World};
use jobcheck_spec::Uid;

use super::Rig;
use super::bench::{Bench, Stop, differs};
use crate::calls::{answer, to_server};

/// Replays a step of the orphan queue.
///
/// # Errors
///
/// The process acts differently from the path.
pub fn step(
    bench: &mut Bench,
    id: JobId,
    number: usize,
    (uid, outcome): (Uid, RequestOutcome),
    before: &World,
    scope: &Scope,
    rig: &mut Rig,
) -> Result<(), Stop> {
    let decided = orphan_decision(before.job_state(id), number, uid, scope);
    let wants = wanted(bench, id, number, uid, (before, scope), rig)?;
    let expected = match decided {
        Some(OrphanDecision::Leave) => Some("leave"),
        Some(OrphanDecision::RemoveFinalizer(_)) => Some("patch"),
        Some(OrphanDecision::Delete(_)) => Some("delete"),
        None => None,
    };
    let found = wants.as_ref().map_or("leave", |request| request.verb.name());
    let Some(expected) = expected else {
        // In the model, a request about a changed or removed pod has no effect.
        let code = wants.map(|request| bench.ask(&request).code());
        return match code {
            None | Some(404 | 409) => Ok(()),
            Some(code) => {
                differs(format!("pod {} has changed, and the {found} gets the response {code}", uid.0))
            }
        };
    };
    if found != expected {
        return differs(format!(
            "the orphan queue sends {found} for pod {}, and the path has {expected}",
            uid.0
        ));
    }
    if let Some(request) = wants.filter(|_| outcome != RequestOutcome::Fails) {
        let code = bench.ask(&request).code();
        if !(200..300).contains(&code) && code != 404 {
            return differs(format!("the {found} of pod {} gets the response {code}", uid.0));
        }
    }
    Ok(())
}

/// The request of the shipped orphan queue, after it has found the pod's owner.
fn wanted(
    bench: &mut Bench,
    id: JobId,
    number: usize,
    uid: Uid,
    (before, scope): (&World, &Scope),
    rig: &mut Rig,
) -> Result<Option<Request>, Stop> {
    let process = &before.job_state(id).processes()[number];
    let (newest, replica) = (bench.server.revision(), bench.replica(id));
    let Some(name) = replica.known(uid).map(|known| Arc::clone(&known.name)) else {
        return differs(format!("pod {} is not known", uid.0));
    };
    let shown = bench.pods_at(replica.pod_revision(process.knowledge.behind.len(), newest));
    let Some(pod) = shown.iter().find(|pod| pod["metadata"]["name"] == *name) else { return Ok(None) };
    let pod = rig.reader.pod(pod).map_err(Stop::Differs)?;
    let cached = bench.job_at(id, replica.job_revision(process.job_behind.len(), newest));
    let cached = cached.map(|job| rig.reader.job(&job)).transpose().map_err(Stop::Differs)?;
    let facts = pod.facts(&values::Uid::new(""), &PodSelector::nothing()).map_err(Stop::Differs)?;
    let reference = pod.owner();
    // The memory of removed Jobs only saves a request.
    let owner =
        match orphan::look_up_owner(&facts, &reference, cached.as_ref().map(|job| &job.facts), |_| false) {
            OwnerLookup::Known(owner) => owner,
            OwnerLookup::Ask { job, uid } => {
                let response = bench.ask(&to_server(read_job(job)));
                match orphan::owner_from_response(uid, answer(Some(&response))) {
                    Ok(Some(owner)) => owner,
                    Ok(None) => return Ok(None),
                    Err(failure) => {
                        return differs(format!("the Job of pod {} cannot be read: {failure}", facts.name));
                    }
                }
            }
        };
    let settings = jobcheck_adapter::sync::options(&scope.constants, process.knowledge.gates);
    let plan = orphan::plan(&OrphanObserved { pod: &facts, owner, settings: &settings });
    Ok(of_orphan(&plan).map(to_server))
}
