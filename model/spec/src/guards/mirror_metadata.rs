//! Metadata in the writes of a manager that writes status alone (MR-15).
//!
//! A dispatcher owns the labels, annotations and finalizers that it has added. Those of others stay as they are, and so do
//! owner references. A write to the status subresource can change metadata as well (MB-12).

use std::collections::BTreeMap;

use crate::catalogue::Req;
use crate::job::{Job, Text};
use crate::requirement::{Findings, Operand};

/// A part of the metadata of which several actors may own entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Part {
    /// `metadata.labels`.
    Label,
    /// `metadata.annotations`.
    Annotation,
    /// `metadata.finalizers`.
    Finalizer,
}

impl Part {
    /// All parts.
    pub const ALL: [Part; 3] = [Part::Label, Part::Annotation, Part::Finalizer];

    fn name(self) -> &'static str {
        match self {
            Part::Label => "label",
            Part::Annotation => "annotation",
            Part::Finalizer => "finalizer",
        }
    }

    /// The entries of this part, each with a digest of its value.
    pub fn entries(self, job: &Job) -> impl Iterator<Item = (&Text, u64)> + '_ {
        let pairs = match self {
            Part::Label => &job.metadata.labels[..],
            Part::Annotation => &job.metadata.annotations[..],
            Part::Finalizer => &[],
        };
        let names = if self == Part::Finalizer { &job.finalizers[..] } else { &[] };
        pairs.iter().map(|(key, value)| (key, *value)).chain(names.iter().map(|name| (name, 0)))
    }

    /// The values of the entries by their keys.
    fn values(self, job: &Job) -> BTreeMap<&Text, u64> {
        self.entries(job).collect()
    }
}

/// An entry that differs between two versions of a Job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change<'a> {
    /// The part of the metadata.
    pub part: Part,
    /// The key of the entry, or the name of the finalizer.
    pub key: &'a Text,
    /// True if the entry was there before.
    pub was_there: bool,
    /// True if it is there now.
    pub is_there: bool,
}

/// Returns the entries that differ between two versions of a Job: those that `old` has alone or with another value, and
/// those that `new` adds. A user can give a Job a hundred thousand labels.
#[must_use]
pub fn changed<'a>(old: &'a Job, new: &'a Job) -> Vec<Change<'a>> {
    let mut changes = Vec::new();
    for part in Part::ALL.into_iter().filter(|part| !part.entries(old).eq(part.entries(new))) {
        let (before, after) = (part.values(old), part.values(new));
        let differs = before.iter().filter(|(key, value)| after.get(*key) != Some(*value));
        changes.extend(differs.map(|(key, _)| Change {
            part,
            key,
            was_there: true,
            is_there: after.contains_key(key),
        }));
        let added = after.keys().filter(|key| !before.contains_key(*key));
        changes.extend(added.map(|key| Change { part, key, was_there: false, is_there: true }));
    }
    changes
}

/// MR-15: a manager that writes status alone leaves the metadata of others as it is.
///
/// `is_of_others` is true for an entry that another actor is known to have set.
pub fn judge_mirrored_metadata(
    old: &Job,
    new: &Job,
    is_of_others: &dyn Fn(Part, &Text) -> bool,
    findings: &mut Findings,
) {
    let what = "metadata in a write of the Job's manager";
    // An entry that is new here was removed by somebody else before.
    let taken = changed(old, new).into_iter().filter(|change| change.was_there);
    for Change { part, key, is_there, .. } in taken.filter(|change| is_of_others(change.part, change.key)) {
        let expected = Operand::lazy(|| format!("{} {key} as before", part.name()));
        let found = Operand::lazy(|| if is_there { "another value".to_owned() } else { format!("no {key}") });
        findings.require(Req::MR15, false, what, expected, found);
    }
    if old.metadata != new.metadata || old.finalizers != new.finalizers {
        let same = old.metadata.owners == new.metadata.owners;
        findings.require(Req::MR15, same, what, "ownerReferences as before", "other ownerReferences");
    }
}

/// Returns whether a key belongs to the domain of a manager: `kueue.x-k8s.io/multikueue` owns `kueue.x-k8s.io/queue-name`.
#[must_use]
pub fn is_in_domain_of(manager: &str, key: &str) -> bool {
    let domain = |text: &'_ str| text.split_once('/').map(|(domain, _)| domain.to_owned());
    domain(manager).is_some_and(|own| domain(key).is_some_and(|other| other == own))
}

/// MR-15: a manager that writes status alone does not delete an unfinished Job that somebody else has created.
///
/// The explorer's managers delete no Jobs but copies, so that this is about traces alone.
pub fn judge_deletion(job: &Job, findings: &mut Findings) {
    let is_right = job.status.is_finished() || job.deleting;
    findings.require(Req::MR15, is_right, "an unfinished Job", "no deletion by its manager", "a DELETE");
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::apiserver::fixtures::job;
    use crate::job::JobMetadata;

    fn with(labels: &[(&str, u64)], finalizers: &[&str], owners: &[(&str, u64)]) -> Job {
        let pairs = |list: &[(&str, u64)]| list.iter().map(|(key, value)| ((*key).into(), *value)).collect();
        let metadata = JobMetadata { labels: pairs(labels), annotations: Vec::new(), owners: pairs(owners) };
        let finalizers = finalizers.iter().map(|name| (*name).into()).collect();
        Job { metadata: Arc::new(metadata), finalizers, ..job() }
    }

    fn broken(new: &Job) -> Vec<String> {
        let old = with(&[("team", 1), ("own", 1)], &["a.example/keep", "own"], &[("CronJob c", 1)]);
        let mut findings = Findings::new();
        let is_of_others = |_: Part, key: &Text| !key.contains("own");
        judge_mirrored_metadata(&old, new, &is_of_others, &mut findings);
        findings.broken.iter().map(|broken| broken.found.to_string()).collect()
    }

    #[test]
    fn mr15_what_others_have_set_stays() {
        let owner = &[("CronJob c", 1)][..];
        let keep = &["a.example/keep"][..];
        assert_eq!(broken(&with(&[("team", 1), ("own", 7), ("owned", 3)], keep, owner)), [""; 0]);
        assert_eq!(broken(&with(&[("team", 2)], keep, owner)), ["another value"]);
        assert_eq!(broken(&with(&[("own", 1)], keep, owner)), ["no team"]);
        assert_eq!(broken(&with(&[("team", 1)], &["own"], owner)), ["no a.example/keep"]);
        assert_eq!(broken(&with(&[("team", 1)], keep, &[])), ["other ownerReferences"]);
    }

    #[test]
    fn mr15_a_manager_owns_its_domain() {
        assert!(is_in_domain_of("kueue.x-k8s.io/multikueue", "kueue.x-k8s.io/queue-name"));
        assert!(!is_in_domain_of("kueue.x-k8s.io/multikueue", "example.com/team"));
        assert!(!is_in_domain_of("plain", "team") && !is_in_domain_of("a/b", "team"));
    }
}
