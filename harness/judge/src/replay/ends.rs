//! The ends of the inputs of a trace. If others continue, nobody knows what an input would have shown behind its end.
//!
//! | input | violations behind its end that are withdrawn |
//! | --- | --- |
//! | one that cannot be read any further | all |
//! | the watches of one resource, if those of the other resource go further | those that rest on pods |

use jobcheck_traces::{Body, Form, Record, Resource};

use crate::validate::{Resting, Violation};

/// The words for an input that cannot be read any further.
pub(super) const CUT: &str = "could not be read to its end, and other inputs continue";

/// The end of an input, or of several ones.
#[derive(Debug)]
pub(crate) struct End {
    /// The reason why violations behind it prove nothing.
    pub(crate) reason: String,
    /// The last version; `None` without one.
    version: Option<u64>,
    /// The last time, in microseconds; `None` without one.
    time: Option<i64>,
    /// Every violation may rest on what is missing.
    concerns_all: bool,
}

impl End {
    /// Returns `true` if the violation may rest on what the input would have shown behind its end.
    pub(crate) fn concerns(&self, violation: &Violation, resting: Resting) -> bool {
        let by_time = violation.done.zip(self.time).map(|(done, end)| done >= end);
        let by_version = violation.version.zip(self.version).map(|(version, end)| version > end);
        let is_behind = by_time.or(by_version).unwrap_or(true);
        is_behind && (self.concerns_all || resting.rests_on_pods())
    }
}

/// The part of an input that was read.
#[derive(Clone, Debug, Default)]
struct Stream {
    version: u64,
    time: Option<i64>,
    /// It has shown Jobs, and pods.
    shows: [bool; 2],
    is_watch: bool,
    /// It cannot be read any further.
    is_cut: bool,
}

/// The inputs of a trace.
#[derive(Debug)]
pub(super) struct Streams(Vec<Stream>);

impl Streams {
    pub(super) fn new(count: usize) -> Streams {
        Streams(vec![Stream::default(); count])
    }

    /// Notes a record.
    pub(super) fn note(&mut self, record: &Record<'_>) {
        let Some(stream) = self.0.get_mut(record.place.file as usize) else { return };
        let (resource, version, time) = match &record.body {
            Body::Request(it) => (it.resource, it.version, Some(it.interval.done)),
            Body::Watched(it) => (it.resource, Some(it.version), it.at),
            Body::Header(_) | Body::Mark(_) | Body::Fault(_) | Body::Observed(_) | Body::Expected(_) => {
                return;
            }
        };
        stream.shows[usize::from(resource == Resource::Pods)] = true;
        stream.version = stream.version.max(version.unwrap_or(0));
        stream.time = stream.time.max(time);
        stream.is_watch = record.form == Form::Watch;
    }

    /// Notes that an input cannot be read any further.
    pub(super) fn is_cut(&mut self, file: usize) {
        if let Some(stream) = self.0.get_mut(file) {
            stream.is_cut = true;
        }
    }

    /// The ends of inputs while others continue.
    pub(super) fn ends(&self, names: &[String]) -> Vec<End> {
        let Streams(streams) = self;
        if streams.len() < 2 {
            return Vec::new();
        }
        let cut = streams.iter().zip(names).filter(|(stream, _)| stream.is_cut);
        let cut = cut.map(|(stream, name)| End {
            reason: format!("{name} {CUT}"),
            version: Some(stream.version).filter(|_| stream.is_watch),
            time: stream.time,
            concerns_all: true,
        });
        cut.chain(self.shorter_watches()).collect()
    }

    /// The end of the watches of one resource, if those of the other one go further.
    fn shorter_watches(&self) -> Option<End> {
        let Streams(streams) = self;
        let reach = |resource: usize| {
            let of_it = streams.iter().filter(|stream| stream.shows[resource]);
            of_it.map(|stream| stream.version).max()
        };
        let (jobs, pods) = (reach(0)?, reach(1)?);
        let is_watch = |stream: &Stream| stream.is_watch || stream.shows == [false; 2];
        let (what, version) = if jobs < pods { ("Jobs", jobs) } else { ("pods", pods) };
        (jobs != pods && streams.iter().all(is_watch)).then(|| End {
            reason: format!(
                "the watch of {what} shows nothing behind resourceVersion {version}, and may have ended: later changes of {what} may be \
                 missing"
            ),
            version: Some(version),
            time: None,
            concerns_all: false,
        })
    }
}
