//! Generated tests: paths of the model's scopes, replayed on the shipped controllers behind the embedded API server.

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

/// Kinds of steps that no path takes, and why.
const NOT_TAKEN: &[&str] = &[];

/// Steps that each scope gets here; `jobcheck fuzz --generated` takes more.
const STEPS: usize = 1_000;

fn walked(scope: &Scope, most: usize, rig: Rig) -> Walked {
    walk(scope, 1, most, rig, &|| false).unwrap()
}

fn named(name: &str) -> Scope {
    scopes().into_iter().find(|scope| scope.name == name).unwrap()
}

/// In a part of each scope every step comes to what its path says, and every kind of step is taken but for those that are
/// listed.
#[test]
fn paths_of_every_scope_are_as_they_say() {
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

/// Where there are enough steps, each step of the graph is taken, once; the seed decides their order, and nothing else.
#[test]
fn a_small_scope_is_walked_through_as_a_whole() {
    for name in ["stale-caches/non-indexed", "stale-caches/adoption", "crash/backoff-limit"] {
        let whole = |seed| walk(&named(name), seed, 100_000, Rig::default(), &|| false).unwrap();
        let (one, same, other) = (whole(1), whole(1), whole(2));
        assert!(one.is_complete() && other.is_complete(), "{one:?}");
        assert_eq!((one.paths, one.steps, &one.taken), (same.paths, same.steps, &same.taken), "{name}");
        assert_eq!((one.steps, one.graph, &one.taken), (other.steps, other.graph, &other.taken), "{name}");
    }
}

/// Defects that come to the same on every path, and why.
const UNNOTICED: &[&str] = &[
    // A strategic merge patch has one condition of a type: the one that is appended takes the place of the other.
    "S-12", //
    // No path starts a sync before the caches show what its process wrote.
    "J-01", "B01", "B13", //
    // A pod of another controller is not read.
    "B37",
];

/// What a defect changes is noticed on the paths of its own world, which do not have it.
#[test]
fn a_plan_with_a_defect_does_not_follow_the_paths_without_it() {
    let unnoticed = |mutant: &&Mutant| {
        let scope = of_the_controller(mutant.sound_scope());
        let rig = Rig::with(Mutations::of(mutant.mutations));
        walked(&scope, 20_000, rig).difference.is_none()
    };
    // Where the world has a rule of the API server switched off, the embedded one has it still.
    let of_the_plan = MUTANTS.iter().filter(|it| is_of_the_plan(it) && it.sound_scope().without.is_empty());
    let all: Vec<_> = of_the_plan.collect();
    let ids: Vec<_> = all.iter().copied().filter(unnoticed).map(|mutant| mutant.id).collect();
    assert_eq!(ids, UNNOTICED);
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

/// A way to spoil a request, and a scope in which that shows.
type Spoiled = (&'static str, &'static str, fn(&mut Request));

/// What may be wrong with the body of a request.
const SPOILED: &[Spoiled] = &[
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

/// What is wrong with the body of a request is noticed, which no exploration of plans can see.
#[test]
fn a_request_with_a_wrong_body_is_noticed() {
    let unnoticed = |(_, scope, tamper): &&Spoiled| {
        walked(&named(scope), 20_000, Rig::tampering(*tamper)).difference.is_none()
    };
    let names: Vec<_> = SPOILED.iter().filter(unnoticed).map(|(name, ..)| *name).collect();
    assert!(names.is_empty(), "{names:#?}");
}
