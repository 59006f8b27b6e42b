//! Random objects near the edges of the rules.

use std::sync::Arc;

use jobcheck_spec::apiserver::RuleSet;
use jobcheck_spec::job::Job;
use serde_json::Value;

use crate::json;
use crate::pod::Pod;
use crate::random::Random;
use crate::{specs, statuses};

/// A stored Job, and the Job in a client's update, each as JSON.
pub struct Update {
    /// The stored object.
    pub old: Value,
    /// The object in the request.
    pub new: Value,
}

/// Returns a random write of the status.
pub fn status(random: &mut Random) -> Update {
    let mut old = specs::base(&RuleSet::V1_36);
    statuses::vary_spec(random, Arc::make_mut(&mut old.spec));
    old.status = statuses::arbitrary(random, &old);
    let mut new = old.clone();
    if random.one_in(2) {
        statuses::advance(random, &mut new.status);
    }
    for _ in 0..random.below(4) {
        statuses::vary(random, &mut new.status);
    }
    let pod = Pod::plain();
    Update { old: value(&old, &pod), new: value(&new, &pod) }
}

/// Returns a random write of the specification.
pub fn spec(random: &mut Random) -> Update {
    let (mut old, mut old_pod) = (specs::base(&RuleSet::V1_36), Pod::plain());
    specs::choose_kind(random, Arc::make_mut(&mut old.spec));
    old.status = statuses::arbitrary(random, &old);
    for _ in 0..random.below(4) {
        old_pod.vary(random);
    }
    for _ in 0..random.below(2) {
        specs::vary(random, &mut old);
    }
    let suspend = random.pick(&[Some(true), Some(false)]);
    Arc::make_mut(&mut old.spec).suspend = suspend;
    let (mut new, mut new_pod) = (old.clone(), old_pod.clone());
    for _ in 0..random.below(3) {
        specs::vary(random, &mut new);
    }
    for _ in 0..random.below(3) {
        new_pod.vary(random);
    }
    Update { old: value(&old, &old_pod), new: value(&new, &new_pod) }
}

/// Returns a random update of labels, or of another part that the server generates. Until 1.36 it checks them again.
pub fn generated(random: &mut Random) -> Update {
    let mut old = specs::base(&RuleSet::V1_36);
    if random.one_in(4) {
        old = specs::named(&RuleSet::V1_36, &"p".repeat(random.pick(&[63, 64])));
    }
    let spec = Arc::make_mut(&mut old.spec);
    spec.suspend = Some(!random.one_in(6));
    spec.manual_selector = random.pick(&[None, Some(false), Some(true)]);
    for _ in 0..random.below(3) {
        specs::vary_generated(random, &mut old);
    }
    let mut new = old.clone();
    for _ in 0..random.below(3) {
        specs::vary_generated(random, &mut new);
    }
    let spec = Arc::make_mut(&mut new.spec);
    if random.one_in(3) {
        spec.manual_selector = random.pick(&[None, Some(false), Some(true)]);
    }
    if random.one_in(4) {
        spec.parallelism = random.pick(&[Some(-1), Some(0), Some(3)]);
    }
    let pod = Pod::plain();
    Update { old: value(&old, &pod), new: value(&new, &pod) }
}

/// Returns a random Job that a client creates. Most lack the generated labels and selector, and some fields with a
/// default.
pub fn sent(random: &mut Random) -> Value {
    let (mut job, mut pod) = (specs::base(&RuleSet::V1_36), Pod::plain());
    specs::choose_kind(random, Arc::make_mut(&mut job.spec));
    for _ in 0..random.below(4) {
        specs::vary(random, &mut job);
    }
    if random.one_in(4) {
        pod.vary(random);
    }
    if random.one_in(4) {
        job.status = statuses::arbitrary(random, &job);
    }
    let mut sent = value(&job, &pod);
    if !random.one_in(5) {
        sent["spec"]["template"]["metadata"]["labels"] = serde_json::json!({"app": "x"});
        sent["spec"]["selector"] = Value::Null;
    }
    for key in
        ["parallelism", "completions", "backoffLimit", "completionMode", "suspend", "podReplacementPolicy"]
    {
        if random.one_in(4) {
            sent["spec"][key] = Value::Null;
        }
    }
    if random.one_in(8) {
        let length = random.pick(&[57, 58, 61, 62, 63, 64]);
        let name = random.pick(&["a.b".to_owned(), "A".to_owned(), "-a".to_owned(), "a".repeat(length)]);
        sent["metadata"]["name"] = Value::from(name);
    }
    sent
}

fn value(job: &Job, pod: &Pod) -> Value {
    serde_json::from_str(&json::job(job, pod)).expect("the generator writes JSON")
}
