//! The property of a scenario: all of its steps happen, and its expectations hold at quiescence.

use crate::obligations::open_obligation;
use crate::scope::Scope;
use crate::script::{Item, Paused, Script, What};
use crate::step::Step;
use crate::world::{JobState, World};
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::pod::Pod;

/// The name of the property in reports.
pub const SCENARIO_COMPLETES: &str =
    "every step of the scenario happens, and its expectations hold at quiescence";

/// An expectation of a scenario, or an obligation, that the quiescent state does not satisfy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmet {
    /// The requirement behind it, if one is known.
    pub requirement: Option<Req>,
    /// The reason, as a sentence without a full stop.
    pub why: String,
}

/// Checks a state in which only these steps are enabled. Returns `None` if one of them can still happen, or
/// if nothing is wrong.
///
/// It returns the first of these: an open obligation ([`crate::obligations`]) of a Job, a script that waits
/// forever, an expectation that does not hold.
#[must_use]
pub fn unmet(script: &Script, world: &World, steps: &[Step], scope: &Scope) -> Option<Unmet> {
    if !steps.is_empty() {
        return None;
    }
    let item = script.item(world);
    let nothing_is_paused = item.is_none_or(|item| item.paused == Paused::default());
    let mut job_states = world.job_states.iter().filter(|_| nothing_is_paused);
    let overdue = job_states.find_map(|job_state| overdue(job_state, world, scope));
    overdue.or_else(|| item.map(|item| stuck(item, world))).or_else(|| unexpected(script, world))
}

/// An obligation that is overdue, whatever else the scenario contains.
fn overdue(job_state: &JobState, world: &World, scope: &Scope) -> Option<Unmet> {
    let obligation = open_obligation(job_state, world, scope)?;
    let requirement = obligation.requirement?;
    // SU-10: a decided Job has met its deadline. It waits for its pods.
    let decided = job_state.job.as_ref().is_some_and(|job| job.status.is_decided());
    let waits = requirement == Req::SU10 && decided;
    (!waits && !scope.without.contains(&requirement))
        .then(|| Unmet { requirement: Some(requirement), why: format!("at quiescence, {}", obligation.why) })
}

fn stuck(item: &Item, world: &World) -> Unmet {
    let job_state = world.job_state(item.job);
    let objection = item.when.iter().find_map(|claim| claim.objection(job_state));
    let reason = match (objection, &item.what) {
        (Some(objection), _) => objection,
        (None, What::Request(..) | What::Held(..)) => "no controller makes such a request".to_owned(),
        (None, What::Kubelet(..) | What::Disrupt(..)) => {
            format!("no such pod is in a suitable state; the Job has {}", pods(job_state))
        }
        (None, What::User(..)) => "the API server would refuse the request, or it changes nothing".to_owned(),
        (None, _) => "it is not possible".to_owned(),
    };
    let why = format!("{} waits forever: {reason}; no other step is enabled", item.place);
    Unmet { requirement: item.requirement, why }
}

/// The pods of a Job with their phases.
fn pods(job_state: &JobState) -> String {
    let text = |pod: &Pod| {
        let deleting = if pod.deleting { ", being deleted" } else { "" };
        format!("pod {} ({:?}{deleting})", pod.uid.0, pod.phase)
    };
    let pods: Vec<String> = job_state.pods.iter().map(text).collect();
    if pods.is_empty() { "no pods".to_owned() } else { pods.join(", ") }
}

fn unexpected(script: &Script, world: &World) -> Option<Unmet> {
    script.expectations.iter().find_map(|expected| {
        let job_state = world.job_state(expected.job);
        let objection = expected.claims.iter().find_map(|claim| claim.objection(job_state))?;
        Some(Unmet {
            requirement: expected.requirement,
            why: format!("an expectation does not hold at quiescence ({}): {objection}", expected.place),
        })
    })
}
