//! The progress of the watch streams. It shows where an interruption of a stream began.
//!
//! A stream shows a known object as new if its client has listed again. Whatever came between the last event before that list and
//! the list itself is not shown.

use jobcheck_spec::Uid;
use jobcheck_traces::{Resource, WatchKind};
use rustc_hash::{FxHashMap, FxHashSet};

/// The streams of a trace. Each file may have one of each resource.
#[derive(Debug, Default)]
pub struct Streams(FxHashMap<(u32, Resource), Stream>);

/// The progress of one stream.
#[derive(Debug, Default)]
struct Stream {
    /// The highest version so far.
    highest: u64,
    /// The objects that were shown as new without another event in between. They may be a list.
    list: FxHashSet<Uid>,
    /// The highest version before these objects.
    before_list: u64,
}

impl Streams {
    /// Notes an event. Returns the version after which an interruption began if the event is part of a list.
    pub fn shows(&mut self, stream: (u32, Resource), kind: WatchKind, uid: Uid, version: u64) -> u64 {
        let stream = self.0.entry(stream).or_default();
        let is_new = kind == WatchKind::Added;
        // A list shows an object once.
        if !is_new || stream.list.contains(&uid) {
            stream.list.clear();
        }
        if stream.list.is_empty() {
            stream.before_list = stream.highest;
        }
        if is_new {
            stream.list.insert(uid);
        }
        stream.highest = stream.highest.max(version);
        stream.before_list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interruption_begins_before_the_first_object_of_a_list() {
        use WatchKind::{Added, Modified};
        let mut streams = Streams::default();
        let jobs = (0, Resource::Jobs);
        let mut shows = |stream, kind, uid, version| streams.shows(stream, kind, Uid(uid), version);
        shows(jobs, Added, 1, 5);
        shows(jobs, Modified, 1, 9);
        // The list is in the order of names.
        assert_eq!([shows(jobs, Added, 2, 20), shows(jobs, Added, 1, 7)], [9, 9]);
        shows(jobs, Modified, 1, 21);
        assert_eq!(shows(jobs, Added, 1, 30), 21);
        // The next list, with no event in between.
        assert_eq!(shows(jobs, Added, 1, 40), 30);
        // Another resource, and another file, have streams of their own.
        assert_eq!(shows((0, Resource::Pods), Added, 3, 50), 0);
        assert_eq!(shows((1, Resource::Jobs), Added, 1, 50), 0);
    }
}
