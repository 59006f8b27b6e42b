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
    /// The highest version of these objects.
    highest_in_list: u64,
    /// True if they are a list: one of them had been shown before.
    is_list: bool,
}

/// The place of an object in its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The highest version before the list, if the object is part of one.
    pub after: u64,
    /// The highest version that the list is known to have, if the object shows that it is a list.
    pub until: Option<u64>,
    /// True if a later version was shown before, as in a list alone.
    pub is_old: bool,
}

impl Streams {
    /// Notes an event. `is_again`: the object had been shown before, and is shown as new.
    pub fn shows(
        &mut self,
        stream: (u32, Resource),
        kind: WatchKind,
        (uid, version): (Uid, u64),
        is_again: bool,
    ) -> Shown {
        let stream = self.0.entry(stream).or_default();
        let is_new = kind == WatchKind::Added;
        // A list shows an object once.
        if !is_new || stream.list.contains(&uid) {
            stream.list.clear();
        }
        if stream.list.is_empty() {
            (stream.before_list, stream.highest_in_list, stream.is_list) = (stream.highest, 0, false);
        }
        if is_new {
            stream.list.insert(uid);
        }
        // New objects behind the list have later versions.
        let is_listed = is_again || stream.is_list && version < stream.highest_in_list;
        stream.is_list |= is_again;
        stream.highest_in_list = stream.highest_in_list.max(version);
        let is_old = version < stream.highest;
        stream.highest = stream.highest.max(version);
        Shown { after: stream.before_list, until: is_listed.then_some(stream.highest_in_list), is_old }
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
        let mut shows = |stream, kind, uid, version, is_again| {
            let shown = streams.shows(stream, kind, (Uid(uid), version), is_again);
            (shown.after, shown.until)
        };
        shows(jobs, Added, 1, 5, false);
        shows(jobs, Modified, 1, 9, false);
        // The list is in the order of names.
        assert_eq!(shows(jobs, Added, 2, 20, false), (9, None));
        assert_eq!(shows(jobs, Added, 1, 7, true), (9, Some(20)));
        assert_eq!(shows(jobs, Added, 3, 18, false), (9, Some(20)));
        // It may be new.
        assert_eq!(shows(jobs, Added, 4, 21, false), (9, None));
        shows(jobs, Modified, 1, 22, false);
        assert_eq!(shows(jobs, Added, 1, 30, true), (22, Some(30)));
        // The next list, with no event in between.
        assert_eq!(shows(jobs, Added, 1, 40, true), (30, Some(40)));
        // Another resource, and another file, have streams of their own.
        assert_eq!(shows((0, Resource::Pods), Added, 3, 50, false), (0, None));
        assert_eq!(shows((1, Resource::Jobs), Added, 1, 50, false), (0, None));
    }
}
