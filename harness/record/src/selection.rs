//! The selection of the Jobs that are recorded, and of their pods.

use std::collections::{BTreeMap, BTreeSet};

use jobcheck_apiserver::resource::Resource as Kind;
use jobcheck_apiserver::selector::Selector;
use jobcheck_traces::Resource;
use serde_json::Value;

use crate::change::{controller, is_job};
use crate::recent::Recent;
use crate::watch::text;

/// The labels of a pod with the UID and the name of its Job. The deprecated ones have no prefix.
const UIDS: [&str; 2] = ["batch.kubernetes.io/controller-uid", "controller-uid"];
const NAMES: [&str; 2] = ["batch.kubernetes.io/job-name", "job-name"];
/// The tracking finalizer, with which Job controllers mark pods.
const FINALIZER: &str = "batch.kubernetes.io/job-tracking";

/// A label selector for Jobs, in the syntax of kubectl's `-l`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels(Selector);

impl Labels {
    /// Parses a selector.
    ///
    /// # Errors
    ///
    /// The selector is invalid. The error is kubectl's message.
    pub fn parse(text: &str) -> Result<Labels, String> {
        Selector::parse(Kind::Jobs, text, "").map(Labels)
    }
}

/// The number of Jobs that are remembered after they have gone. A controller with an old cache may still create pods for
/// them.
const GONE: usize = 10_000;

/// The namespace and the name of a Job.
type Name = (String, String);

/// The recorded objects. A selected Job stays selected with its pods, also if their labels change. Otherwise the
/// trace would lack changes, and a controller would seem to have made a mistake.
#[derive(Debug)]
pub(crate) struct Selection {
    labels: Option<Labels>,
    /// The selected Jobs, by UID.
    jobs: BTreeMap<String, Name>,
    /// The UID of the newest selected Job with each name.
    names: BTreeMap<Name, String>,
    /// The UIDs of the selected Jobs that have gone.
    gone: Recent<String>,
    /// The UIDs of their existing pods.
    pods: BTreeSet<String>,
}

impl Selection {
    /// Returns a selection of the Jobs with these labels, or of all Jobs.
    pub(crate) fn new(labels: Option<Labels>) -> Selection {
        let (jobs, names, pods) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        Selection { labels, jobs, names, gone: Recent::new(GONE), pods }
    }

    /// Returns true if a change of an object is recorded. Must be called for all objects in the order of their
    /// versions.
    pub(crate) fn takes(&mut self, resource: Resource, object: &Value, is_gone: bool) -> bool {
        if resource == Resource::Pods && is_foreign(object) {
            return false;
        }
        let Some(labels) = &self.labels else { return true };
        let uid = text(object, "uid");
        match resource {
            Resource::Jobs => {
                let takes = self.jobs.contains_key(uid) || labels.0.matches(object);
                if takes {
                    let name = (text(object, "namespace").to_owned(), text(object, "name").to_owned());
                    self.names.insert(name.clone(), uid.to_owned());
                    self.jobs.insert(uid.to_owned(), name);
                }
                if is_gone {
                    self.forget(resource, uid);
                }
                takes
            }
            Resource::Pods => {
                let takes = self.pods.contains(uid) || self.is_of_a_job(object);
                if is_gone {
                    self.pods.remove(uid);
                } else if takes {
                    self.pods.insert(uid.to_owned());
                }
                takes
            }
        }
    }

    /// Forgets an object that does not exist any more, a Job after some time.
    pub(crate) fn forget(&mut self, resource: Resource, uid: &str) {
        match resource {
            Resource::Pods => {
                self.pods.remove(uid);
            }
            Resource::Jobs => {
                if self.jobs.contains_key(uid)
                    && let Some(oldest) = self.gone.insert(uid.to_owned())
                    && let Some(name) = self.jobs.remove(&oldest)
                    && self.names.get(&name) == Some(&oldest)
                {
                    self.names.remove(&name);
                }
            }
        }
    }

    /// Returns true if a selected Job owns a pod, or could adopt it.
    fn is_of_a_job(&self, pod: &Value) -> bool {
        let owners = pod["metadata"]["ownerReferences"].as_array().into_iter().flatten();
        let labelled = |name: &&str| pod["metadata"]["labels"].get(*name).and_then(Value::as_str);
        let namespace = text(pod, "namespace");
        let named = |name: &str| self.names.contains_key(&(namespace.to_owned(), name.to_owned()));
        owners.filter_map(|owner| owner["uid"].as_str()).any(|uid| self.jobs.contains_key(uid))
            || UIDS.iter().filter_map(labelled).any(|uid| self.jobs.contains_key(uid))
            || NAMES.iter().filter_map(labelled).any(named)
    }
}

/// Returns true if a pod concerns no Job: its controller is no Job, and it has no tracking finalizer.
fn is_foreign(pod: &Value) -> bool {
    let finalizers = pod["metadata"]["finalizers"].as_array().into_iter().flatten();
    let is_tracked = finalizers.into_iter().any(|it| *it == FINALIZER);
    !is_tracked && controller(pod).is_some_and(|owner| !is_job(owner))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn job(uid: &str, label: &str) -> Value {
        json!({"metadata": {"uid": uid, "name": uid, "namespace": "ns", "labels": {"team": label}}})
    }

    fn pod(uid: &str, owner: &str) -> Value {
        json!({"metadata": {"uid": uid, "namespace": "ns", "ownerReferences": [{"uid": owner}]}})
    }

    #[test]
    fn a_job_is_chosen_by_its_labels_and_stays_so_with_all_its_pods() {
        let mut selection = Selection::new(Some(Labels::parse("team=a").unwrap()));
        assert!(selection.takes(Resource::Jobs, &job("j1", "a"), false));
        assert!(!selection.takes(Resource::Jobs, &job("j2", "b"), false));
        assert!(selection.takes(Resource::Jobs, &job("j1", "b"), false));
        assert!(selection.takes(Resource::Pods, &pod("p1", "j1"), false));
        assert!(!selection.takes(Resource::Pods, &pod("p2", "j2"), false));
        let orphan = json!({"metadata": {"uid": "p1", "namespace": "ns"}});
        assert!(
            selection.takes(Resource::Pods, &orphan, true)
                && !selection.takes(Resource::Pods, &orphan, false)
        );
        let adoptable = json!({"metadata": {"uid": "p3", "namespace": "ns", "labels": {"job-name": "j1"}}});
        assert!(selection.takes(Resource::Pods, &adoptable, false));
    }

    #[test]
    fn jobs_that_have_gone_are_forgotten_after_some_time() {
        let mut selection = Selection::new(Some(Labels::parse("team=a").unwrap()));
        for number in 0..=GONE {
            for is_gone in [false, true] {
                assert!(selection.takes(Resource::Jobs, &job(&number.to_string(), "a"), is_gone));
            }
        }
        assert_eq!([selection.jobs.len(), selection.names.len()], [GONE, GONE]);
        assert!(selection.takes(Resource::Pods, &pod("p1", "1"), false));
        assert!(!selection.takes(Resource::Pods, &pod("p0", "0"), false));
        selection.forget(Resource::Pods, "p1");
        assert!(selection.pods.is_empty());
    }

    #[test]
    fn pods_that_concern_no_job_are_omitted() {
        let mut selection = Selection::new(None);
        let owned = |kind: &str, finalizers: &[&str]| {
            let owner = json!({"uid": "o", "controller": true, "kind": kind, "apiVersion": "batch/v1"});
            json!({"metadata": {"uid": "p", "ownerReferences": [owner], "finalizers": finalizers}})
        };
        assert!(selection.takes(Resource::Pods, &owned("Job", &[]), false));
        assert!(selection.takes(Resource::Pods, &owned("ReplicaSet", &[FINALIZER]), false));
        assert!(!selection.takes(Resource::Pods, &owned("ReplicaSet", &[]), false));
        assert!(selection.takes(Resource::Pods, &json!({"metadata": {"uid": "p"}}), false));
    }

    #[test]
    fn wrong_labels_are_refused() {
        assert!(Labels::parse("a in (b").is_err() && Labels::parse("a=b=c").is_err());
        assert!(Labels::parse("a in (b,c),!d").is_ok());
    }
}
