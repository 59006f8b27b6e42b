//! Pods without a controller: the last record of each, because a Job may adopt the pod.
//!
//! The folder `pods` has a file for each of them, `UID.jsonl`, so that a restart loses none.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use jobcheck_traces::{Body, Header, Input, Reader, Writer, files};
use rustc_hash::FxHashMap;

use crate::error::Error;
use crate::owners::known_as;
use crate::shares::{Share, Shares};
use crate::spool::remove_if_there;

pub(crate) struct Held {
    folder: PathBuf,
    most: Share,
    pods: FxHashMap<String, Pod>,
    /// The pods in the order of their last records.
    order: BTreeMap<u64, String>,
    shares: Shares,
    counter: u64,
}

/// A pod whose last record is kept.
struct Pod {
    /// The number of that record.
    turn: u64,
    namespace: String,
    /// The size of its file.
    bytes: u64,
}

impl Held {
    /// Opens the folder, which exists. Keeps at most this much.
    pub(crate) fn open(folder: &Path, most: Share) -> Result<Held, Error> {
        let folder = folder.join("pods");
        let entries = fs::read_dir(&folder).map_err(Error::of(&folder))?;
        let (pods, order, shares) = (FxHashMap::default(), BTreeMap::new(), Shares::default());
        let mut held = Held { folder, most, pods, order, shares, counter: 0 };
        for entry in entries.flatten() {
            let name = entry.file_name().into_string().unwrap_or_default();
            let Some(pod) = name.strip_suffix(".jsonl") else { continue };
            let bytes = entry.metadata().map_or(0, |data| data.len());
            held.note(pod.to_owned(), namespace_in(&entry.path()), bytes);
        }
        held.keep_limits()?;
        Ok(held)
    }

    /// Keeps the record of a pod of a namespace, in the place of an earlier one.
    pub(crate) fn hold(&mut self, pod: &str, namespace: &str, body: &Body<'_>) -> Result<(), Error> {
        let pod = known_as(pod);
        let path = self.file(&pod);
        let failed = || Error::of(path.clone());
        let mut lines = Vec::new();
        let mut writer = Writer::new(&mut lines, &Header::new()).map_err(failed())?;
        writer.write(body).map_err(failed())?;
        files::write(&path, &lines).map_err(failed())?;
        self.note(pod, namespace.to_owned(), lines.len() as u64);
        self.keep_limits()
    }

    /// Removes the oldest records of the namespace that has the most, until all together are within the limits.
    fn keep_limits(&mut self) -> Result<(), Error> {
        while let Some((namespace, _)) = self.shares.excess(self.most) {
            let is_there = |pod: &&String| self.pods.get(*pod).is_some_and(|pod| pod.namespace == namespace);
            let Some(oldest) = self.order.values().find(is_there).cloned() else { return Ok(()) };
            self.remove(&oldest)?;
        }
        Ok(())
    }

    /// Returns the record of a pod, as a native trace, and forgets it.
    pub(crate) fn take(&mut self, pod: &str) -> Result<Option<Vec<u8>>, Error> {
        let pod = known_as(pod);
        if !self.pods.contains_key(&pod) {
            return Ok(None);
        }
        let path = self.file(&pod);
        let record = fs::read(&path).map_err(Error::of(path))?;
        self.remove(&pod)?;
        Ok(Some(record))
    }

    /// Forgets a pod that is being deleted.
    pub(crate) fn forget(&mut self, pod: &str) -> Result<(), Error> {
        self.remove(&known_as(pod))
    }

    fn note(&mut self, pod: String, namespace: String, bytes: u64) {
        self.forget_share(&pod);
        self.counter += 1;
        self.shares.add(&namespace, Share::one(bytes));
        self.order.insert(self.counter, pod.clone());
        self.pods.insert(pod, Pod { turn: self.counter, namespace, bytes });
    }

    fn remove(&mut self, pod: &str) -> Result<(), Error> {
        if self.forget_share(pod) { remove_if_there(&self.file(pod)) } else { Ok(()) }
    }

    /// Forgets what a pod uses. Returns true if it was known.
    fn forget_share(&mut self, pod: &str) -> bool {
        let Some(known) = self.pods.remove(pod) else { return false };
        self.order.remove(&known.turn);
        self.shares.remove(&known.namespace, Share::one(known.bytes));
        true
    }

    fn file(&self, pod: &str) -> PathBuf {
        self.folder.join(format!("{pod}.jsonl"))
    }
}

/// The namespace of the record in a file; empty if it cannot be read.
fn namespace_in(path: &Path) -> String {
    let mut reader = Reader::open(&[Input::Path(path.to_owned())]);
    match reader.next() {
        Ok(Some(record)) => match &record.body {
            Body::Request(request) => request.namespace.to_owned(),
            _ => String::new(),
        },
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use jobcheck_traces::{Mark, MarkKind};

    use super::*;

    fn hold(held: &mut Held, pod: &str, reason: &str) {
        let kind = MarkKind::Gap { resource: None, reason: reason.to_owned(), gone: Vec::new() };
        held.hold(pod, "ns", &Body::Mark(&Mark { at: None, kind })).unwrap();
    }

    fn taken(held: &mut Held, pod: &str) -> Option<String> {
        held.take(pod).unwrap().map(|record| String::from_utf8(record).unwrap())
    }

    #[test]
    fn the_last_record_of_each_of_the_latest_pods_is_kept_across_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("pods")).unwrap();
        let mut held = Held::open(folder.path(), Share { count: 2, bytes: u64::MAX }).unwrap();
        for (pod, reason) in [("a", "first"), ("b", "second"), ("a", "third"), ("c", "fourth")] {
            hold(&mut held, pod, reason);
        }
        assert_eq!(taken(&mut held, "b"), None);
        drop(held);
        let mut held = Held::open(folder.path(), Share { count: 2, bytes: u64::MAX }).unwrap();
        let record = taken(&mut held, "a").unwrap();
        assert!(record.contains("third") && !record.contains("first"), "{record}");
        assert_eq!(taken(&mut held, "a"), None);
        held.forget("c").unwrap();
        assert_eq!(folder.path().join("pods").read_dir().unwrap().count(), 0);
    }
}
