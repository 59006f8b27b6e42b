//! Creation of pods: the form of the new pod.
//!
//! | question about a created pod | requirements | decided by |
//! | --- | --- | --- |
//! | Does it have the tracking finalizer once? | FT-01 | the created pod |
//! | Is the Job its only controller? | PC-14 | the created pod, and the stored Job |
//! | Does it have the Job's name, or that of its index? | PC-16, PC-17, BI-02 | the created pod, and the stored Job |
//! | Is it a copy of the template? | PC-14 | a view, because the template of a suspended Job may change |
//!
//! The pods of the explorer have a finalizer, an owner and an index, and [`judge_newborn`] judges them. They have no
//! template, names, labels or containers, so that the explorer cannot ask the other guards.

use crate::birth::{EnvSource, FAILURE_COUNT_KEY, INDEX_KEY, PodBirth};
use crate::catalogue::Req;
use crate::incarnation;
use crate::job::{Job, Text};
use crate::pod::{Pod, TRACKING_FINALIZER};
use crate::requirement::{Findings, Operand};

/// Longest prefix to which the API server appends five characters.
const PREFIX_MAX: usize = 58;
/// The field to which `JOB_COMPLETION_INDEX` refers.
const INDEX_FIELD: &str = "metadata.labels['batch.kubernetes.io/job-completion-index']";

/// Judges a created pod of this Job, except for the parts from the template, which may change.
pub fn judge_birth(job: &Job, pod: &Pod, birth: &PodBirth, findings: &mut Findings) {
    let tracking = birth.finalizers.iter().filter(|name| &***name == TRACKING_FINALIZER).count();
    judge_finalizer(tracking, findings);
    judge_owner(job, birth, findings);
    if job.spec.is_indexed() {
        judge_indexed(job, pod, birth, findings);
    } else {
        judge_plain_name(job, birth, findings);
    }
}

/// PC-14: judges the parts of a created pod that come from the template of the Job version in a view.
///
/// The template of a suspended Job may change while a sync that began earlier continues.
pub fn judge_copy(seen: &Job, birth: &PodBirth, findings: &mut Findings) {
    judge_labels(seen, birth, findings);
    judge_spec(seen, birth, findings);
}

/// FT-01, PC-14: judges a created pod of the explorer, of which only the finalizer and the owner are known.
pub fn judge_newborn(job: Option<&Job>, pod: &Pod, findings: &mut Findings) {
    judge_finalizer(usize::from(pod.finalizer), findings);
    let fits = pod.controlled && !incarnation::is_of_another(pod, job);
    let (expected, found) = ("the Job", "another Job, or none");
    findings.require(Req::PC14, fits, "controller of the created pod", expected, found);
}

/// FT-01: the pod has the tracking finalizer once.
fn judge_finalizer(count: usize, findings: &mut Findings) {
    findings.equal(Req::FT01, "tracking finalizers of the created pod", 1, count);
}

/// PC-14: the Job is the only controller of the pod.
pub fn judge_owner(job: &Job, birth: &PodBirth, findings: &mut Findings) {
    let what = "controller of the created pod";
    let Some(owner) = &birth.controller else {
        findings.require(Req::PC14, false, what, job.uid, "none");
        return;
    };
    let fits = &*owner.api_version == "batch/v1"
        && &*owner.kind == "Job"
        && owner.name == job.name
        && owner.uid == job.uid
        && owner.block_owner_deletion == Some(true);
    let expected = format!("batch/v1 Job {} ({}), blockOwnerDeletion", job.name, job.uid);
    let blocks = if owner.block_owner_deletion == Some(true) { ", blockOwnerDeletion" } else { "" };
    let found = format!("{} {} {} ({}){blocks}", owner.api_version, owner.kind, owner.name, owner.uid);
    findings.require(Req::PC14, fits, what, expected, found);
}

/// PC-14: the request contains every value of the template. Additions are allowed.
///
/// The request is judged, not the response, since admission may change a pod. A watch shows no requests, so nothing is
/// judged there.
fn judge_spec(job: &Job, birth: &PodBirth, findings: &mut Findings) {
    let Some(asked) = &birth.asked else { return };
    // A pod of an index has a hostname of its own (PC-17).
    let is_own = |path: &str| path == "hostname" && job.spec.is_indexed();
    let lacks = |wanted: &&(Text, u64)| !is_own(&wanted.0) && asked.binary_search(wanted).is_err();
    let other = job.spec.template.essentials.iter().find(lacks);
    let expected = other.map_or_else(String::new, |(path, _)| format!("{path} as in the template"));
    let is_absent = other.is_some_and(|(path, _)| !asked.iter().any(|(key, _)| key == path));
    let found = if is_absent { "absent" } else { "another value" };
    findings.require(Req::PC14, other.is_none(), "spec of the created pod", expected, found);
}

/// PC-14: the labels and annotations of the template are copied.
fn judge_labels(job: &Job, birth: &PodBirth, findings: &mut Findings) {
    let template = &job.spec.template;
    let missing = |wanted: &[(Text, Text)], have: &[(Text, Text)]| {
        wanted.iter().find(|pair| !have.contains(pair)).map(|(key, value)| format!("{key}={value}"))
    };
    for (what, wanted, have) in [
        ("labels of the created pod", &template.labels, &birth.labels),
        ("annotations of the created pod", &template.annotations, &birth.annotations),
    ] {
        let absent = missing(wanted, have);
        let expected = absent.clone().map_or(Operand::Words("those in the template"), Operand::Text);
        findings.require(Req::PC14, absent.is_none(), what, expected, "absent");
    }
}

/// PC-17, BI-02: the name, the annotations and label of the index, the hostname, and the environment variable.
fn judge_indexed(job: &Job, pod: &Pod, birth: &PodBirth, findings: &mut Findings) {
    let Some(index) = pod.index else {
        findings.require(Req::PC17, false, "completion index annotation", "an index", "none");
        return;
    };
    let tail = format!("-{index}-");
    let stem: String = job.name.chars().take(PREFIX_MAX - tail.len()).collect();
    judge_name(Req::PC17, birth, &[format!("{stem}{tail}")], findings);
    let text = |value: Option<&Text>| value.map_or("none".to_owned(), ToString::to_string);
    findings.equal(Req::PC17, "index label", index.to_string(), text(birth.label(INDEX_KEY)));
    let hostname = format!("{}-{index}", job.name);
    findings.equal(Req::PC17, "hostname", hostname, text(birth.hostname.as_ref()));
    judge_index_variables(birth, findings);
    if job.spec.backoff_limit_per_index.is_some() {
        let has = birth.annotation(FAILURE_COUNT_KEY).is_some();
        findings.require(Req::BI02, has, "failure count annotation of the created pod", "present", "absent");
    }
}

/// PC-17: each container has the environment variable of the index once.
fn judge_index_variables(birth: &PodBirth, findings: &mut Findings) {
    for container in &birth.containers {
        // A container whose template defines the variable keeps its definition, so each container has exactly one.
        let found = Operand::Text(format!("{} definitions", container.index_env.len()));
        let is_one = container.index_env.len() == 1;
        findings.require(Req::PC17, is_one, "JOB_COMPLETION_INDEX", "one definition", found);
        let own = container.index_env.first().is_some_and(|source| *source == EnvSource::Other);
        let by_field = container.index_env.first() == Some(&EnvSource::FieldPath(INDEX_FIELD.into()));
        findings.require(Req::PC17, by_field || own, "JOB_COMPLETION_INDEX", INDEX_FIELD, "another field");
    }
}

/// PC-16: the name begins with that of the Job.
fn judge_plain_name(job: &Job, birth: &PodBirth, findings: &mut Findings) {
    judge_name(Req::PC16, birth, &[format!("{}-", job.name), job.name.to_string()], findings);
}

fn judge_name(req: Req, birth: &PodBirth, expected: &[String], findings: &mut Findings) {
    let found = birth.generate_name.as_deref().unwrap_or("none");
    let fits = expected.iter().any(|expected| expected == found);
    findings.require(req, fits, "generateName of the created pod", expected[0].clone(), found.to_owned());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::uid::Uid;

    fn broken(pod: &Pod) -> Vec<Req> {
        let mut findings = Findings::new();
        judge_newborn(None, pod, &mut findings);
        findings.broken.into_iter().map(|broken| broken.req).collect()
    }

    #[test]
    fn newborn_pod_has_the_finalizer_and_an_owner() {
        let whole = Pod { finalizer: true, ..Pod::new(Uid(1)) };
        assert_eq!(broken(&whole), []);
        assert_eq!(broken(&Pod { finalizer: false, ..whole.clone() }), [Req::FT01]);
        assert_eq!(broken(&Pod { controlled: false, ..whole }), [Req::PC14]);
    }
}
