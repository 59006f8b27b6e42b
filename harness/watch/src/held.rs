//! Pods without a controller: the last record of each, because a Job may adopt the pod.
//!
//! The folder `pods` has a file for each of them, `UID.jsonl`, so that a restart loses none.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use jobcheck_traces::{Body, Header, Writer, files};
use rustc_hash::FxHashMap;

use crate::error::Error;
use crate::owners::known_as;
use crate::spool::remove_if_there;

/// The most pods whose records are kept.
const MOST: usize = 10_000;

pub(crate) struct Held {
    folder: PathBuf,
    most: usize,
    /// The number of the last record of each pod, by UID.
    turns: FxHashMap<String, u64>,
    /// The pods in the order of their last records.
    order: BTreeMap<u64, String>,
    counter: u64,
}

impl Held {
    /// Opens the folder, which exists.
    pub(crate) fn open(folder: &Path) -> Result<Held, Error> {
        let folder = folder.join("pods");
        let entries = fs::read_dir(&folder).map_err(Error::of(&folder))?;
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let pods: Vec<String> =
            names.filter_map(|name| name.strip_suffix(".jsonl").map(str::to_owned)).collect();
        let (turns, order) = (FxHashMap::default(), BTreeMap::new());
        let mut held = Held { folder, most: MOST, turns, order, counter: 0 };
        pods.into_iter().for_each(|pod| held.note(pod));
        Ok(held)
    }

    /// Keeps the record of a pod, in the place of an earlier one.
    pub(crate) fn hold(&mut self, pod: &str, body: &Body<'_>) -> Result<(), Error> {
        let pod = known_as(pod);
        let path = self.file(&pod);
        let failed = || Error::of(path.clone());
        let mut lines = Vec::new();
        let mut writer = Writer::new(&mut lines, &Header::new()).map_err(failed())?;
        writer.write(body).map_err(failed())?;
        files::write(&path, &lines).map_err(failed())?;
        self.note(pod);
        while self.order.len() > self.most
            && let Some((_, oldest)) = self.order.first_key_value()
        {
            let oldest = oldest.clone();
            self.remove(&oldest)?;
        }
        Ok(())
    }

    /// Returns the record of a pod, as a native trace, and forgets it.
    pub(crate) fn take(&mut self, pod: &str) -> Result<Option<Vec<u8>>, Error> {
        let pod = known_as(pod);
        if !self.turns.contains_key(&pod) {
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

    fn note(&mut self, pod: String) {
        self.counter += 1;
        if let Some(before) = self.turns.insert(pod.clone(), self.counter) {
            self.order.remove(&before);
        }
        self.order.insert(self.counter, pod);
    }

    fn remove(&mut self, pod: &str) -> Result<(), Error> {
        let Some(turn) = self.turns.remove(pod) else { return Ok(()) };
        self.order.remove(&turn);
        remove_if_there(&self.file(pod))
    }

    fn file(&self, pod: &str) -> PathBuf {
        self.folder.join(format!("{pod}.jsonl"))
    }
}

#[cfg(test)]
mod tests {
    use jobcheck_traces::{Mark, MarkKind};

    use super::*;

    fn hold(held: &mut Held, pod: &str, reason: &str) {
        let kind = MarkKind::Gap { resource: None, reason: reason.to_owned(), gone: Vec::new() };
        held.hold(pod, &Body::Mark(&Mark { at: None, kind })).unwrap();
    }

    fn taken(held: &mut Held, pod: &str) -> Option<String> {
        held.take(pod).unwrap().map(|record| String::from_utf8(record).unwrap())
    }

    #[test]
    fn the_last_record_of_each_of_the_latest_pods_is_kept_across_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("pods")).unwrap();
        let mut held = Held { most: 2, ..Held::open(folder.path()).unwrap() };
        for (pod, reason) in [("a", "first"), ("b", "second"), ("a", "third"), ("c", "fourth")] {
            hold(&mut held, pod, reason);
        }
        assert_eq!(taken(&mut held, "b"), None);
        drop(held);
        let mut held = Held::open(folder.path()).unwrap();
        let record = taken(&mut held, "a").unwrap();
        assert!(record.contains("third") && !record.contains("first"), "{record}");
        assert_eq!(taken(&mut held, "a"), None);
        held.forget("c").unwrap();
        assert_eq!(folder.path().join("pods").read_dir().unwrap().count(), 0);
    }
}
