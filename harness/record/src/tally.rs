//! The counts of a recording.

use jobcheck_traces::{Body, Resource, WatchKind};

use crate::recent::Recent;

/// The number of objects of each resource that are remembered.
const REMEMBERED: usize = 100_000;

/// The counts of a recording so far.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    jobs: Seen,
    pods: Seen,
    /// The number of watch events or requests.
    pub records: u64,
    /// The number of gaps.
    pub gaps: u64,
}

impl Tally {
    /// The number of Jobs in the trace. One that reappears after 100,000 others counts again.
    #[must_use]
    pub fn jobs(&self) -> usize {
        self.jobs.count
    }

    /// The number of pods in the trace. One that reappears after 100,000 others counts again.
    #[must_use]
    pub fn pods(&self) -> usize {
        self.pods.count
    }

    pub(crate) fn count(&mut self, body: &Body<'_>) {
        let (resource, uid, is_gone) = match body {
            Body::Watched(watched) => {
                (watched.resource, Some(watched.uid), watched.kind == WatchKind::Deleted)
            }
            Body::Request(request) => (request.resource, request.uid, false),
            _ => return,
        };
        self.records += 1;
        let seen = self.seen(resource);
        if let Some(uid) = uid {
            seen.add(uid);
            if is_gone {
                seen.recent.remove(uid);
            }
        }
    }

    /// Forgets an object that does not exist any more. It stays in the counts.
    pub(crate) fn forget(&mut self, resource: Resource, uid: &str) {
        self.seen(resource).recent.remove(uid);
    }

    fn seen(&mut self, resource: Resource) -> &mut Seen {
        if resource == Resource::Jobs { &mut self.jobs } else { &mut self.pods }
    }
}

/// The objects of a resource that the trace has shown.
#[derive(Clone, Debug)]
struct Seen {
    count: usize,
    recent: Recent<String>,
}

impl Default for Seen {
    fn default() -> Seen {
        Seen { count: 0, recent: Recent::new(REMEMBERED) }
    }
}

impl Seen {
    fn add(&mut self, uid: &str) {
        if !self.recent.contains(uid) {
            self.count += 1;
            self.recent.insert(uid.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use jobcheck_traces::{Object, Watched};

    use super::*;

    fn show(tally: &mut Tally, kind: WatchKind, uid: &str) {
        let object = Object::new("{}").unwrap();
        let (resource, namespace, name) = (Resource::Pods, "ns", uid);
        tally.count(&Body::Watched(Watched {
            kind,
            resource,
            namespace,
            name,
            uid,
            version: 1,
            at: None,
            object,
        }));
    }

    #[test]
    fn an_object_counts_once_and_is_forgotten_when_it_is_gone() {
        let mut tally = Tally::default();
        for uid in ["a", "b"] {
            for kind in [WatchKind::Added, WatchKind::Modified, WatchKind::Deleted] {
                show(&mut tally, kind, uid);
            }
        }
        show(&mut tally, WatchKind::Added, "c");
        tally.forget(Resource::Pods, "c");
        assert_eq!((tally.pods(), tally.jobs(), tally.records), (3, 0, 7));
        assert!(["a", "b", "c"].iter().all(|uid| !tally.pods.recent.contains(*uid)));
    }
}
