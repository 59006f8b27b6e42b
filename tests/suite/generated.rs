//! Generated tests: the shipped controllers follow paths of the model's scopes on the embedded API server.

use std::sync::Mutex;
use std::thread;

use jobcheck_adapter::mutations::is_of_the_plan;
use jobcheck_adapter::of_the_controller;
use jobcheck_apiserver::request::{Request, Subresource, Verb};
use jobcheck_apiserver::resource::Resource;
use jobcheck_explorer::mutants::{MUTANTS, Mutant};
use jobcheck_explorer::mutations::Mutations;
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::step::StepKind;
use jobcheck_sim::paths::{Rig, Walked, scopes, walk};
use serde_json::{Value, json};

/// The kinds of steps that no path takes, with the reason.
const NOT_TAKEN: &[&str] = &[];

/// The number of steps for each scope. `jobcheck fuzz --generated` takes more.
const STEPS: usize = 1_000;

fn walked(scope: &Scope, most: usize, rig: Rig) -> Walked {
    walk(scope, 1, most, rig, &|| false).unwrap()
}

fn named(name: &str) -> Scope {
    scopes().into_iter().find(|scope| scope.name == name).unwrap()
}

/// Every step of these paths has the effect that the path predicts. The paths take every kind of step that is
/// not listed above.
#[test]
fn the_shipped_controllers_follow_the_paths_of_every_scope() {
    let queue = Mutex::new(scopes().into_iter());
    let all = Mutex::new(Vec::new());
    thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| {
                loop {
                    let Some(scope) = queue.lock().unwrap().next() else { return };
                    let walked = walked(&scope, STEPS, Rig::default());
                    all.lock().unwrap().push(walked);
                }
            });
        }
    });
    let all = all.into_inner().unwrap();
    for walked in &all {
        assert!(walked.difference.is_none(), "{}: {:?}", walked.scope, walked.difference);
        assert!(walked.paths > 0 && walked.steps >= walked.paths, "{walked:?}");
    }
    let is_taken = |kind: StepKind| all.iter().any(|walked| walked.taken[kind as usize] > 0);
    let missing: Vec<_> =
        StepKind::outside_scripts().filter(|kind| !is_taken(*kind)).map(StepKind::name).collect();
    assert_eq!(missing, NOT_TAKEN);
}

/// With enough steps, each step of the graph is taken once. The seed determines only their order.
#[test]
fn the_paths_of_a_small_scope_take_every_step() {
    for name in ["stale-caches/non-indexed", "stale-caches/adoption", "crash/backoff-limit"] {
        let whole = |seed| walk(&named(name), seed, 100_000, Rig::default(), &|| false).unwrap();
        let (one, same, other) = (whole(1), whole(1), whole(2));
        assert!(one.is_complete() && other.is_complete(), "{one:?}");
        assert_eq!((one.paths, one.steps, &one.taken), (same.paths, same.steps, &same.taken), "{name}");
        assert_eq!((one.steps, one.graph, &one.taken), (other.steps, other.graph, &other.taken), "{name}");
    }
}

/// The defects that have no effect on the paths, with the reason.
const WITHOUT_EFFECT: &[&str] = &[
    // A strategic merge patch has one condition of each type, so the new condition replaces the other one.
    "S-12", //
    // No path starts a sync before the caches show the writes of its process.
    "J-01", "B01", "B13", //
    // The controller does not read a pod of another controller.
    "B37",
];

/// A defect has an effect on the paths of its own scope without the defect.
#[test]
fn a_plan_with_a_defect_leaves_the_paths() {
    // The model leaves out the creation time of a pod while it does not matter. A replayed pod may therefore be younger
    // than the pod of a counterexample (BO-07). Several orders of the steps are tried.
    let has_no_effect = |mutant: &&Mutant| {
        let scope = of_the_controller(mutant.sound_scope());
        let mutations = || Rig::with(Mutations::of(mutant.mutations));
        (1..=4).all(|seed| walk(&scope, seed, 20_000, mutations(), &|| false).unwrap().difference.is_none())
    };
    // Scopes with a server rule switched off are left out, because the embedded server applies all rules.
    let of_the_plan = MUTANTS.iter().filter(|it| is_of_the_plan(it) && it.sound_scope().without.is_empty());
    let all: Vec<_> = of_the_plan.collect();
    let ids: Vec<_> = all.iter().copied().filter(has_no_effect).map(|mutant| mutant.id).collect();
    assert_eq!(ids, WITHOUT_EFFECT);
    assert!(all.len() > 30, "{}", all.len());
}

fn body(request: &mut Request) -> Option<&mut Value> {
    match &mut request.verb {
        Verb::Create(body) | Verb::Update(body) | Verb::Patch { body, .. } => Some(body),
        _ => None,
    }
}

fn is_status(request: &Request) -> bool {
    request.subresource == Some(Subresource::Status)
}

fn remove(request: &mut Request, pointer: &str, key: &str) {
    let members = body(request).and_then(|body| body.pointer_mut(pointer)).and_then(Value::as_object_mut);
    if let Some(members) = members {
        members.remove(key);
    }
}

/// A change of a request body, and a scope in which it has an effect.
type WrongBody = (&'static str, &'static str, fn(&mut Request));

/// Wrong request bodies.
const WRONG_BODIES: &[WrongBody] = &[
    ("a status without the version it was made from", "stale-caches/suspend", |request| {
        if is_status(request) {
            remove(request, "/metadata", "resourceVersion");
        }
    }),
    ("a status without one counter", "stale-caches/non-indexed", |request| {
        remove(request, "/status", "succeeded");
    }),
    ("a status whose lists are not emptied", "stale-caches/non-indexed", |request| {
        let lists = body(request).and_then(|body| body.pointer_mut("/status/uncountedTerminatedPods"));
        if let Some(Value::Object(lists)) = lists {
            lists.retain(|_, list| !list.is_null());
        }
    }),
    ("new conditions before the old ones", "stale-caches/backoff-limit", |request| {
        remove(request, "/status", "$setElementOrder/conditions");
    }),
    ("a time that is a second late", "stale-caches/non-indexed", |request| {
        let start = body(request).and_then(|body| body.pointer_mut("/status/startTime"));
        if let Some(start) = start {
            *start = json!("2026-01-01T00:00:01Z");
        }
    }),
    ("a status that is sent to the Job itself", "stale-caches/non-indexed", |request| {
        request.subresource = None;
    }),
    ("a pod without the finalizer", "stale-caches/non-indexed", |request| {
        if matches!(request.verb, Verb::Create(_)) {
            remove(request, "/metadata", "finalizers");
        }
    }),
    ("a pod without its owner", "stale-caches/non-indexed", |request| {
        if matches!(request.verb, Verb::Create(_)) {
            remove(request, "/metadata", "ownerReferences");
        }
    }),
    ("a pod that its owner's end does not wait for", "progress/recreation", |request| {
        let owner = body(request).and_then(|body| body.pointer_mut("/metadata/ownerReferences/0"));
        if let Some(owner) = owner {
            owner["blockOwnerDeletion"] = json!(false);
        }
    }),
    ("a pod without its index", "stale-caches/indexed", |request| {
        remove(request, "/metadata/annotations", "batch.kubernetes.io/job-completion-index");
    }),
    ("a pod without the count of failures", "stale-caches/per-index", |request| {
        remove(request, "/metadata/annotations", "batch.kubernetes.io/job-index-failure-count");
    }),
    ("a patch that keeps the finalizer", "stale-caches/non-indexed", |request| {
        remove(request, "/metadata", "$deleteFromPrimitiveList/finalizers");
    }),
    ("a deletion without grace", "stale-caches/suspend", |request| {
        if let (Verb::Delete(options), Resource::Pods) = (&mut request.verb, request.resource) {
            options.grace_period_seconds = Some(0);
        }
    }),
    ("an adoption without the finalizer", "stale-caches/adoption", |request| {
        if !is_status(request) && matches!(request.verb, Verb::Patch { .. }) {
            remove(request, "/metadata", "finalizers");
        }
    }),
    ("an adoption of any version", "stale-caches/adoption", |request| {
        if !is_status(request) {
            remove(request, "/metadata", "resourceVersion");
        }
    }),
];

/// A wrong request body has an effect on the paths. No exploration of plans can detect it.
#[test]
fn a_wrong_request_body_leaves_the_paths() {
    let has_no_effect = |(_, scope, tamper): &&WrongBody| {
        walked(&named(scope), 20_000, Rig::tampering(*tamper)).difference.is_none()
    };
    let names: Vec<_> = WRONG_BODIES.iter().filter(has_no_effect).map(|(name, ..)| *name).collect();
    assert!(names.is_empty(), "{names:#?}");
}
