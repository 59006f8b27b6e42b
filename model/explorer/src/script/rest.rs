//! What is asked where nothing can happen any more.

use super::{Item, Script, What};
use crate::progress::shortcoming;
use crate::scope::Scope;
use crate::step::Step;
use crate::world::{JobState, World};
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::pod::Pod;

/// What a report calls it.
pub const AT_REST: &str = "all that the scenario says happens, and what it expects holds at rest";

/// What is wrong at rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortfall {
    /// The requirement that asks for more, if one is known.
    pub requirement: Option<Req>,
    /// What is wrong.
    pub why: String,
}

/// What is wrong with a world in which only these steps are possible, and none is: a requirement asks for more of any
/// Job at rest ([`crate::progress`]), the script waits for ever, or something else was expected.
#[must_use]
pub fn shortfall(script: &Script, world: &World, steps: &[Step], scope: &Scope) -> Option<Shortfall> {
    if !steps.is_empty() {
        return None;
    }
    let item = script.item(world);
    let free = item.is_none_or(|item| item.holds == super::Holds::default());
    let owed = world.job_states.iter().filter(|_| free).find_map(|job_state| owed(job_state, world, scope));
    owed.or_else(|| item.map(|item| stuck(item, world))).or_else(|| unexpected(script, world))
}

/// What a requirement asks for, whatever else was to happen.
fn owed(job_state: &JobState, world: &World, scope: &Scope) -> Option<Shortfall> {
    let (requirement, why) = shortcoming(job_state, world, scope)?;
    let requirement = requirement?;
    // SU-10: the end is announced, and waits for the pods.
    let decided = job_state.job.as_ref().is_some_and(|job| job.status.is_decided());
    let waits = requirement == Req::SU10 && decided;
    (!waits && !scope.without.contains(&requirement))
        .then(|| Shortfall { requirement: Some(requirement), why: format!("at rest, {why}") })
}

fn stuck(item: &Item, world: &World) -> Shortfall {
    let job_state = world.job_state(item.job);
    let objection = item.when.iter().find_map(|claim| claim.objection(job_state));
    let reason = match (objection, &item.what) {
        (Some(objection), _) => objection,
        (None, What::Request(..) | What::Held(..)) => "no controller makes such a request".to_owned(),
        (None, What::Kubelet(..) | What::Disrupt(..)) => {
            format!("there is no such pod in a state for it, but {}", pods(job_state))
        }
        (None, What::User(..)) => "the API server would not take it, or it changes nothing".to_owned(),
        (None, _) => "it is not possible".to_owned(),
    };
    let why = format!("{} waits for ever: {reason}; nothing else can happen", item.place);
    Shortfall { requirement: item.requirement, why }
}

/// The pods of a Job, and how they are.
fn pods(job_state: &JobState) -> String {
    let told = |pod: &Pod| {
        let going = if pod.deleting { ", being deleted" } else { "" };
        format!("pod {} ({:?}{going})", pod.uid.0, pod.phase)
    };
    let pods: Vec<String> = job_state.pods.iter().map(told).collect();
    if pods.is_empty() { "no pod at all".to_owned() } else { pods.join(", ") }
}

fn unexpected(script: &Script, world: &World) -> Option<Shortfall> {
    script.at_rest.iter().find_map(|expected| {
        let job_state = world.job_state(expected.job);
        let objection = expected.claims.iter().find_map(|claim| claim.objection(job_state))?;
        Some(Shortfall {
            requirement: expected.requirement,
            why: format!("what is expected at rest does not hold ({}): {objection}", expected.place),
        })
    })
}
