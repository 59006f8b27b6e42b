//! Patterns of known deviations in writes to pods and in overdue obligations (see [`super::known`]).

use std::sync::Arc;

use jobcheck_spec::apiserver::RuleSet;
use jobcheck_spec::failure_policy::{FailureEvidence, evaluate};
use jobcheck_spec::job::{FailureAction, Job};
use jobcheck_spec::pod::{Pod, PolicyMatch};
use jobcheck_spec::{Broken, Req};
use serde::{Deserialize, Serialize};

use super::event::Event;
use super::known;
use super::pod_records::Fact;
use super::relists::{Unseen, hides_the_end};
use super::track::Track;
use super::verdict::{ViewRefusal, Violation};

/// Occasions that lead the built-in controller to deviations later. They are dropped with the counts of the Job.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Occasions {
    /// The manager created a pod of the previous Job when this Job had the name already (J-07).
    pub inherits: bool,
    /// Changes that the manager has missed between two lists (J-08, J-09).
    pub unseen: Unseen,
    /// The manager itself has set a terminal condition to another status than True (TC-09).
    pub denied_itself: bool,
}

/// Labels the violation of a finalizer removal, if the pod itself is the occasion.
pub fn of_release(track: &mut Track, event: &Event, pod: &Pod) {
    if passes_over(track, pod) {
        relabel(track, event, Req::FT15, Req::J04);
    }
    if track.pods.has(pod.uid, Fact::AdoptedOwnerless) {
        relabel(track, event, Req::FT14, Req::S25);
    }
    let by_count = |it: &Violation| it.order == event.order && it.known() == Some(Req::H1);
    if track.results.violations.iter().any(by_count) {
        track.pods.note(pod.uid, Fact::Displaced);
    }
}

/// Labels the deletion that follows a labelled finalizer removal (FT-16).
pub fn of_deletion(track: &mut Track, event: &Event, pod: &Pod) {
    if track.pods.has(pod.uid, Fact::Displaced) {
        relabel(track, event, Req::PC04, Req::H1);
    }
}

/// Labels an overdue obligation.
///
/// | id | occasion |
/// | --- | --- |
/// | S-02, S-04, S-07, S-09, BO-02 | the last status writes of the Job were refused because of it, at least twice |
/// | FT-22 | the only clean-up of each pod with a finalizer was refused, and not repeated |
/// | J-06 | no event has triggered the clean-up since the pods with a finalizer appeared |
/// | J-07 | the Job has no pods, and expects one more creation than it will observe |
/// | J-08 | no event has shown the manager that the Job of its pods is gone, or its successor waits for the delay of that Job |
/// | J-09 | the manager waits for a pod that it created, and creates no other |
pub fn of_debt(track: &Track, broken: Broken, rules: &RuleSet, now: Option<i64>) -> Broken {
    let held = || track.history.stored.iter().filter(|pod| pod.finalizer);
    let unnoticed = held().all(|pod| track.pods.has(pod.uid, Fact::Late) && !pod.deleting);
    let not_repeated = |pod: &Pod| {
        track.pods.has(pod.uid, Fact::CleanUpRefused) && !track.pods.has(pod.uid, Fact::CleanUpRepeated)
    };
    let known = |req: Req| Broken { req, known: Some(req), ..broken.clone() };
    let may = |deviation| known::is_possible(rules, deviation);
    let is_wedged = |job: &Arc<Job>| !job.status.is_finished() && !job.deleting;
    if let Some(wedged) = track.trouble.wedged().filter(|_| track.stored.as_ref().is_some_and(is_wedged)) {
        return Broken { known: Some(wedged), ..broken };
    }
    match broken.req {
        _ if !track.is_built_in() => broken,
        Req::FT23 if unnoticed => known(Req::J06),
        Req::BO06 if may(Req::J07) && track.occasions.inherits => known(Req::J07),
        Req::BO06 if track.occasions.unseen.inherits_delay(now) => known(Req::J08),
        Req::FT20 if hides_the_end(track) => known(Req::J08),
        Req::FT20 | Req::FT23 if may(Req::FT22) && held().next().is_some() && held().all(not_repeated) => {
            known(Req::FT22)
        }
        Req::PC04 | Req::RP04 | Req::BO11
            if track.occasions.unseen.awaits_creation(track.times.last_event()) =>
        {
            known(Req::J09)
        }
        _ => broken,
    }
}

/// H1: returns `true` if some view objects only that the pod is no surplus.
pub fn is_no_surplus(views: &[ViewRefusal]) -> bool {
    let broken = |view: &ViewRefusal| view.broken.iter().all(|it| matches!(it.req, Req::FT14 | Req::PC04));
    views.iter().any(broken)
}

/// J-04: returns `true` if a rule ignores a running pod for its condition DisruptionTarget.
fn passes_over(track: &Track, pod: &Pod) -> bool {
    let policy = track.stored.as_ref().and_then(|job| job.spec.pod_failure_policy.as_ref());
    let conditions = vec![("DisruptionTarget".into(), "True".into())];
    let evidence = FailureEvidence { conditions, ..FailureEvidence::default() };
    let ignores = PolicyMatch::Action(FailureAction::Ignore);
    pod.disrupted
        && !pod.is_terminated()
        && policy.is_some_and(|policy| evaluate(policy, &evidence) == ignores)
}

fn relabel(track: &mut Track, event: &Event, from: Req, known: Req) {
    if !track.is_built_in() {
        return;
    }
    let of_event =
        track.results.violations.iter_mut().filter(|it| it.order == event.order && it.known().is_none());
    for violation in of_event.filter(|it| it.broken.req == from) {
        violation.broken.req = known;
        violation.broken.known = Some(known);
    }
}
