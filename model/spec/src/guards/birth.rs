//! Creation of pods: the form of the new pod.
//!
//! | question about a created pod | requirements | decided by |
//! | --- | --- | --- |
//! | Does it have the tracking finalizer once? | FT-01 | the created pod |
//! | Is the Job its only owner? | PC-14 | the created pod, and the stored Job |
//! | Does it have the Job's name, or that of its index? | PC-16, PC-17, BI-02 | the created pod, and the stored Job |
//! | Is it a copy of the template, with nothing else than the contract adds? | PC-14, PC-17, FT-01 | a view, because the template of a suspended Job may change |
//!
//! Admission may change a pod. The identity of a pod is its finalizer, owner, name, index, and the labels of the template.
//! No admission plugin may take it away, so that it is judged on the stored pod. Everything else is judged on the
//! request. Without a request, [`differs_from_template`] finds a value that either the controller or admission has changed.
//!
//! The pods of the explorer have a finalizer, an owner and an index, and [`judge_newborn`] judges them. They have no
//! template, names, labels or containers, so that the explorer cannot ask the other guards.

use std::collections::BTreeSet;

use crate::birth::{
    Birth, ContainerBirth, EnvSource, FAILURE_COUNT_KEY, IGNORED_FAILURE_COUNT_KEY, INDEX_KEY,
    INDEX_VARIABLE, OwnerRef, PodBirth,
};
use crate::catalogue::Req;
use crate::incarnation;
use crate::job::{Job, Template, Text};
use crate::pod::{Pod, TRACKING_FINALIZER};
use crate::requirement::{Findings, Operand};

/// Longest prefix to which the API server appends five characters.
const PREFIX_MAX: usize = 58;
/// The field to which `JOB_COMPLETION_INDEX` refers.
const INDEX_FIELD: &str = "metadata.labels['batch.kubernetes.io/job-completion-index']";

/// Judges a created pod of this Job, except for the parts from the template, which may change.
pub fn judge_birth(job: &Job, pod: &Pod, birth: &Birth, findings: &mut Findings) {
    let created = &birth.created;
    let tracking = created.finalizers.iter().filter(|name| &***name == TRACKING_FINALIZER).count();
    judge_finalizer(tracking, findings);
    judge_owner(job, created, findings);
    if let Some(asked) = &birth.asked {
        judge_other_owners(asked, findings);
    }
    if job.spec.is_indexed() {
        judge_indexed(job, pod, birth, findings);
    } else {
        judge_plain_name(job, created, findings);
    }
}

/// PC-14, PC-17, FT-01: judges the parts of a created pod that come from the template of the Job version in a view.
///
/// The template of a suspended Job may change while a sync that began earlier continues.
pub fn judge_copy(seen: &Job, birth: &Birth, findings: &mut Findings) {
    judge_labels(seen, birth, findings);
    let Some(asked) = &birth.asked else { return };
    judge_finalizers(&seen.spec.template, asked, findings);
    if judge_spec(seen, asked, findings) {
        judge_additional_spec(seen, asked, findings);
    }
    judge_index_variables(seen, asked, findings);
}

/// The first part of a stored pod's `spec` that differs from the template; `None` if the pod is a copy.
///
/// Only values that the template sets are compared, because admission adds values to every pod. A scheduling gate may
/// be removed before the pod is shown.
#[must_use]
pub fn differs_from_template(seen: &Job, created: &PodBirth) -> Option<String> {
    let mut findings = Findings::new();
    judge_index_variables(seen, created, &mut findings);
    let is_gate = |path: &str| path.starts_with("schedulingGates");
    let lost = missing(seen, created).find(|(path, _)| !is_gate(path)).map(|(path, _)| path.to_string());
    let another = created.other_owners.first();
    let another = another.map(|owner| format!("ownerReferences ({} {})", owner.kind, owner.name));
    lost.or(another).or_else(|| findings.broken.first().map(|broken| broken.what.to_owned()))
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
    match &birth.controller {
        Some(owner) => judge_reference(job, owner, (Req::PC14, what), findings),
        None => {
            findings.require(Req::PC14, false, what, job.uid, "none");
        }
    }
}

/// PC-14 for a created pod, FT-24 for an adopted one: the reference to the Job has all its parts.
///
/// The explorer's pods have no references, so that this is about traces alone.
pub fn judge_reference(
    job: &Job,
    owner: &OwnerRef,
    (req, what): (Req, &'static str),
    findings: &mut Findings,
) {
    let fits = &*owner.api_version == "batch/v1"
        && &*owner.kind == "Job"
        && owner.name == job.name
        && owner.uid == job.uid
        && owner.block_owner_deletion == Some(true);
    let expected = Operand::lazy(|| format!("batch/v1 Job {} ({}), blockOwnerDeletion", job.name, job.uid));
    let found = Operand::lazy(|| {
        let blocks = if owner.block_owner_deletion == Some(true) { ", blockOwnerDeletion" } else { "" };
        format!("{} {} {} ({}){blocks}", owner.api_version, owner.kind, owner.name, owner.uid)
    });
    findings.require(req, fits, what, expected, found);
}

/// PC-14: the pod has no other owner than its Job.
fn judge_other_owners(asked: &PodBirth, findings: &mut Findings) {
    let other = asked.other_owners.first();
    let found =
        Operand::lazy(|| other.map_or_else(String::new, |owner| format!("{} {}", owner.kind, owner.name)));
    findings.require(Req::PC14, other.is_none(), "owners of the created pod", "the Job alone", found);
}

/// PC-14: the request contains every value of the template.
fn judge_spec(job: &Job, asked: &PodBirth, findings: &mut Findings) -> bool {
    let other = missing(job, asked).next();
    let expected = other.map_or_else(String::new, |(path, _)| format!("{path} as in the template"));
    let is_absent = other.is_some_and(|(path, _)| !asked.spec.iter().any(|(key, _)| key == path));
    let found = if is_absent { "absent" } else { "another value" };
    findings.require(Req::PC14, other.is_none(), "spec of the created pod", expected, found)
}

/// The values of the template that a pod lacks.
fn missing<'a>(job: &'a Job, pod: &'a PodBirth) -> impl Iterator<Item = &'a (Text, u64)> {
    // A pod of an index has a hostname of its own (PC-17).
    let is_own = |path: &str| path == "hostname" && job.spec.is_indexed();
    let wanted = job.spec.template.essentials.iter();
    wanted.filter(move |wanted| !is_own(&wanted.0) && pod.spec.binary_search(wanted).is_err())
}

/// PC-14, PC-17: the request contains nothing that neither the template nor the contract of Indexed Jobs sets.
fn judge_additional_spec(job: &Job, asked: &PodBirth, findings: &mut Findings) {
    let template = &job.spec.template.essentials;
    let is_added = |pair: &&(Text, u64)| {
        template.binary_search(pair).is_err() && !is_of_contract(job, pair, &asked.spec)
    };
    let added = asked.spec.iter().find(is_added);
    let is_variable = added.is_some_and(|(path, _)| is_index_variable(path));
    let req = if is_variable { Req::PC17 } else { Req::PC14 };
    let found = Operand::lazy(|| added.map_or_else(String::new, |(path, _)| path.to_string()));
    let what = "spec of the created pod beyond its template";
    findings.require(req, added.is_none(), what, "nothing", found);
}

/// Returns whether a value of a request is no addition of its sender.
///
/// | path | set by |
/// | --- | --- |
/// | `hostname`, the index variable | PC-17 |
/// | `resources/requests`, equal to the limit | the defaults of a pod, which those of a template lack |
/// | `resources` of the pod | the same, if the template has some |
/// | `schedulingGroup` | gang scheduling in Kubernetes 1.36 and later, which no requirement describes |
fn is_of_contract(job: &Job, (path, digest): &(Text, u64), asked: &[(Text, u64)]) -> bool {
    let indexed = job.spec.is_indexed();
    let has_pod_resources = || {
        let essentials = &job.spec.template.essentials;
        let first = essentials.partition_point(|(path, _)| **path < *"resources/");
        essentials.get(first).is_some_and(|(path, _)| path.starts_with("resources/"))
    };
    let limit = || {
        let (container, resource) = path.split_once("/resources/requests/")?;
        let limit = Text::from(format!("{container}/resources/limits/{resource}"));
        Some(asked.binary_search(&(limit, *digest)).is_ok())
    };
    (indexed && (&**path == "hostname" || is_index_reference(path)))
        || (path.starts_with("resources/") && has_pod_resources())
        || path.starts_with("schedulingGroup/")
        || limit() == Some(true)
}

fn is_index_variable(path: &str) -> bool {
    let mut parts = path.split('/');
    matches!(parts.next(), Some("containers" | "initContainers"))
        && parts.nth(1) == Some("env")
        && parts.next() == Some(INDEX_VARIABLE)
}

/// The name and the field reference of the index variable; the field is judged by itself.
fn is_index_reference(path: &str) -> bool {
    let ends = ["/name", "/valueFrom/fieldRef/apiVersion", "/valueFrom/fieldRef/fieldPath"];
    is_index_variable(path) && ends.iter().any(|end| path.ends_with(end))
}

/// PC-14: the pod has the labels and annotations of the template. The request has no others, except those of the index.
fn judge_labels(job: &Job, birth: &Birth, findings: &mut Findings) {
    let (template, indexed) = (&job.spec.template, job.spec.is_indexed());
    // A process with the gate of BI-02 off reads the Job without its limit, and the stored Job has it.
    let counts = [FAILURE_COUNT_KEY, IGNORED_FAILURE_COUNT_KEY];
    let is_label = |key: &str| indexed && key == INDEX_KEY;
    let is_annotation = |key: &str| indexed && (key == INDEX_KEY || counts.contains(&key));
    let (created, asked) = (&birth.created, birth.asked.as_ref());
    let labels = Pairs {
        wanted: &template.labels,
        created: &created.labels,
        asked: asked.map(|asked| &*asked.labels),
        is_own: &is_label,
    };
    labels.judge("labels of the created pod", findings);
    let annotations = Pairs {
        wanted: &template.annotations,
        created: &created.annotations,
        asked: asked.map(|asked| &*asked.annotations),
        is_own: &is_annotation,
    };
    annotations.judge("annotations of the created pod", findings);
}

/// Labels, or annotations.
struct Pairs<'a> {
    /// Those of the template.
    wanted: &'a [(Text, Text)],
    created: &'a [(Text, Text)],
    asked: Option<&'a [(Text, Text)]>,
    /// Returns whether the contract of Indexed Jobs sets a key.
    is_own: &'a dyn Fn(&str) -> bool,
}

impl Pairs<'_> {
    /// PC-14: judges both objects together, so that a wrong template is one finding.
    fn judge(&self, what: &'static str, findings: &mut Findings) {
        let asked = self.asked.unwrap_or(self.created);
        let (created, sent): (BTreeSet<_>, BTreeSet<_>) =
            (self.created.iter().collect(), asked.iter().collect());
        // The contract's keys overwrite those of a template that was copied from a pod.
        let is_absent = |pair: &&(Text, Text)| {
            !(self.is_own)(&pair.0) && (!created.contains(pair) || !sent.contains(pair))
        };
        let absent = self.wanted.iter().find(is_absent).map(|(key, value)| format!("{key}={value}"));
        let expected = absent.clone().map_or(Operand::Words("those in the template"), Operand::Text);
        if findings.require(Req::PC14, absent.is_none(), what, expected, "absent") {
            let wanted: BTreeSet<&Text> = self.wanted.iter().map(|(key, _)| key).collect();
            let is_added = |(key, _): &&(Text, Text)| !wanted.contains(key) && !(self.is_own)(key);
            let added = self.asked.unwrap_or_default().iter().find(is_added);
            let found =
                Operand::lazy(|| added.map_or_else(String::new, |(key, value)| format!("{key}={value}")));
            findings.require(Req::PC14, added.is_none(), what, "nothing beyond the template", found);
        }
    }
}

/// FT-01: the finalizers are those of the template, and the tracking finalizer.
fn judge_finalizers(template: &Template, asked: &PodBirth, findings: &mut Findings) {
    let others = asked.finalizers.iter().filter(|name| &***name != TRACKING_FINALIZER);
    let wanted = template.finalizers.iter().filter(|name| &***name != TRACKING_FINALIZER);
    let fits = others.clone().eq(wanted.clone());
    let names = |names: Vec<&Text>| names.iter().map(|name| &***name).collect::<Vec<_>>().join(", ");
    let (expected, found) =
        (Operand::lazy(|| names(wanted.collect())), Operand::lazy(|| names(others.collect())));
    findings.require(Req::FT01, fits, "other finalizers of the created pod", expected, found);
}

/// PC-17, BI-02: the name, the annotations and label of the index, and the hostname.
fn judge_indexed(job: &Job, pod: &Pod, birth: &Birth, findings: &mut Findings) {
    let Some(index) = pod.index else {
        findings.require(Req::PC17, false, "completion index annotation", "an index", "none");
        return;
    };
    let created = &birth.created;
    let tail = format!("-{index}-");
    let stem: String = job.name.chars().take(PREFIX_MAX - tail.len()).collect();
    judge_name(Req::PC17, created, &[format!("{stem}{tail}")], findings);
    let text = |value: Option<&Text>| value.map_or("none".to_owned(), ToString::to_string);
    findings.equal(Req::PC17, "index annotation", index.to_string(), text(created.annotation(INDEX_KEY)));
    findings.equal(Req::PC17, "index label", index.to_string(), text(created.label(INDEX_KEY)));
    let hostname = format!("{}-{index}", job.name);
    findings.equal(Req::PC17, "hostname", hostname, text(created.hostname.as_ref()));
    if job.spec.backoff_limit_per_index.is_some() {
        judge_count_annotations(pod, created, findings);
    }
}

/// BI-02: the failure counts of the index are decimal numbers, and the first one is present.
fn judge_count_annotations(pod: &Pod, created: &PodBirth, findings: &mut Findings) {
    let what = "failure count annotation of the created pod";
    let count = created.annotation(FAILURE_COUNT_KEY);
    findings.require(Req::BI02, count.is_some(), what, "present", "absent");
    let ignored = created.annotation(IGNORED_FAILURE_COUNT_KEY);
    for (number, text) in [(pod.failure_count, count), (pod.ignored_failure_count, ignored)] {
        if let Some(text) = text {
            findings.equal(Req::BI02, what, number.to_string(), text.to_string());
        }
    }
}

/// PC-17: each container of the template has the environment variable of the index once, with a reference to the index.
///
/// A container whose template defines the variable keeps its definition. Containers that admission adds are exempt.
fn judge_index_variables(job: &Job, sent: &PodBirth, findings: &mut Findings) {
    let template = &job.spec.template;
    if !job.spec.is_indexed() {
        return;
    }
    let names: BTreeSet<&Text> = template.container_names.iter().collect();
    let defined: BTreeSet<&str> = template.essentials.iter().map(|(path, _)| &**path).collect();
    let keeps_its_own = |container: &ContainerBirth| {
        let list = if container.is_init { "initContainers" } else { "containers" };
        defined.contains(&*format!("{list}/{}/env/{INDEX_VARIABLE}/name", container.name))
    };
    for container in sent.containers.iter().filter(|it| names.contains(&it.name) && !keeps_its_own(it)) {
        let found = Operand::Text(format!("{} definitions", container.index_env.len()));
        let is_one = container.index_env.len() == 1;
        findings.require(Req::PC17, is_one, INDEX_VARIABLE, "one definition", found);
        let (fits, found) = match container.index_env.first() {
            Some(EnvSource::FieldPath(path)) => (&**path == INDEX_FIELD, "another field"),
            Some(EnvSource::Other) => (false, "no field"),
            None => (true, "none"),
        };
        findings.require(Req::PC17, fits, INDEX_VARIABLE, INDEX_FIELD, found);
        if !(is_one && fits) {
            // One finding names the defect; a pod may have thousands of containers.
            return;
        }
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
    use std::sync::Arc;

    use super::*;
    use crate::apiserver::fixtures::job;
    use crate::job::{CompletionMode, JobSpec};
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

    const IMAGE: (&str, u64) = ("containers/main/image", 1);

    fn spec(values: &[(&str, u64)]) -> Vec<(Text, u64)> {
        let mut spec: Vec<(Text, u64)> =
            values.iter().map(|(path, digest)| ((*path).into(), *digest)).collect();
        spec.sort_unstable();
        spec
    }

    fn of_template(mode: CompletionMode, values: &[(&str, u64)]) -> Job {
        let job = job();
        let template = Template {
            essentials: spec(values),
            labels: vec![("app".into(), "a".into())],
            ..job.spec.template.clone()
        };
        let spec = JobSpec { completion_mode: Some(mode), template, ..(*job.spec).clone() };
        Job { spec: Arc::new(spec), ..job }
    }

    fn copy(values: &[(&str, u64)], index_env: Vec<EnvSource>) -> PodBirth {
        PodBirth {
            labels: vec![("app".into(), "a".into())],
            finalizers: vec![TRACKING_FINALIZER.into()],
            containers: vec![ContainerBirth { name: "main".into(), is_init: false, index_env }],
            spec: spec(values),
            ..PodBirth::default()
        }
    }

    fn judged(job: &Job, asked: PodBirth) -> Vec<Req> {
        let birth = Birth { created: asked.clone(), asked: Some(asked) };
        let mut findings = Findings::new();
        judge_copy(job, &birth, &mut findings);
        findings.broken.into_iter().map(|broken| broken.req).collect()
    }

    #[test]
    fn request_contains_nothing_beyond_the_template() {
        let limit = ("containers/main/resources/limits/cpu", 7);
        let job = of_template(CompletionMode::NonIndexed, &[IMAGE, limit]);
        for (added, fits) in [
            (("containers/main/resources/requests/cpu", 7), true),
            (("containers/main/resources/requests/cpu", 8), false),
            (("containers/main/resources/requests/memory", 7), false),
            (("schedulingGroup/podGroupName", 1), true),
            (("resources/requests/cpu", 1), false),
            (("hostname", 1), false),
            (("containers/main/env/JOB_COMPLETION_INDEX/name", 1), false),
            (("hostNetwork", 1), false),
        ] {
            let found = judged(&job, copy(&[IMAGE, limit, added], Vec::new()));
            assert_eq!(found.is_empty(), fits, "{added:?}: {found:?}");
        }
        assert_eq!(judged(&job, copy(&[IMAGE], Vec::new())), [Req::PC14]);
        let mut labelled = copy(&[IMAGE, limit], Vec::new());
        labelled.labels.push(("team".into(), "b".into()));
        assert_eq!(judged(&job, labelled), [Req::PC14]);
        let mut kept = copy(&[IMAGE, limit], Vec::new());
        kept.finalizers.push("example.com/keep".into());
        assert_eq!(judged(&job, kept), [Req::FT01]);
    }

    #[test]
    fn pod_level_requests_follow_pod_level_limits() {
        let limit = ("resources/limits/cpu", 7);
        let job = of_template(CompletionMode::NonIndexed, &[IMAGE, limit]);
        assert_eq!(judged(&job, copy(&[IMAGE, limit, ("resources/requests/cpu", 7)], Vec::new())), []);
    }

    #[test]
    fn index_variable_refers_to_the_index() {
        let job = of_template(CompletionMode::Indexed, &[IMAGE]);
        let path = "containers/main/env/JOB_COMPLETION_INDEX";
        let name = format!("{path}/name");
        let field = format!("{path}/valueFrom/fieldRef/fieldPath");
        let own = EnvSource::FieldPath(INDEX_FIELD.into());
        let values = [IMAGE, (&*name, 1), (&*field, 1), ("hostname", 1)];
        assert_eq!(judged(&job, copy(&values, vec![own.clone()])), []);
        assert_eq!(
            judged(&job, copy(&values, vec![EnvSource::FieldPath("metadata.name".into())])),
            [Req::PC17]
        );
        assert_eq!(judged(&job, copy(&values, vec![own.clone(), own])), [Req::PC17]);
        assert_eq!(judged(&job, copy(&[IMAGE], Vec::new())), [Req::PC17]);
        let constant = format!("{path}/value");
        let values = [IMAGE, (&*name, 1), (&*constant, 1)];
        assert_eq!(judged(&job, copy(&values, vec![EnvSource::Other])), [Req::PC17, Req::PC17]);
    }

    /// A search for each container among all others would take minutes.
    #[test]
    fn thousands_of_containers_and_labels_are_one_finding_each() {
        let names: Vec<Text> = (0..64_000).map(|number| format!("c{number}").into()).collect();
        let labels: Vec<(Text, Text)> = names.iter().map(|name| (name.clone(), "".into())).collect();
        let paths: Vec<String> = names.iter().map(|name| format!("containers/{name}/image")).collect();
        let values: Vec<(&str, u64)> = paths.iter().map(|path| (&**path, 1)).collect();
        let mut job = of_template(CompletionMode::Indexed, &values);
        let spec = Arc::make_mut(&mut job.spec);
        (spec.template.container_names, spec.template.labels) = (names.clone(), labels.clone());
        let container =
            |name: &Text| ContainerBirth { name: name.clone(), is_init: false, index_env: Vec::new() };
        let containers = names.iter().map(container).collect();
        let pod = PodBirth { containers, labels, ..copy(&values, Vec::new()) };
        assert_eq!(judged(&job, pod.clone()), [Req::PC17]);
        let mut labelled = pod;
        labelled.labels.pop();
        assert_eq!(judged(&job, labelled), [Req::PC14, Req::PC17]);
    }

    #[test]
    fn container_keeps_the_variable_of_its_template() {
        let name = ("containers/main/env/JOB_COMPLETION_INDEX/name", 1);
        let value = ("containers/main/env/JOB_COMPLETION_INDEX/value", 1);
        let job = of_template(CompletionMode::Indexed, &[IMAGE, name, value]);
        assert_eq!(judged(&job, copy(&[IMAGE, name, value], vec![EnvSource::Other])), []);
    }

    #[test]
    fn stored_pod_is_compared_with_what_the_template_sets() {
        let gate = ("schedulingGates/wait/name", 1);
        let job = of_template(CompletionMode::NonIndexed, &[IMAGE, gate]);
        let differs = |values: &[(&str, u64)]| differs_from_template(&job, &copy(values, Vec::new()));
        assert_eq!(differs(&[IMAGE, ("nodeName", 1)]), None);
        assert_eq!(differs(&[("containers/main/image", 2)]).as_deref(), Some("containers/main/image"));
    }
}
