//! Turns an audit log that begins with its newest events.
//!
//! Query tools print the newest event first by default: CloudWatch Logs Insights, Cloud Logging, Loki,
//! Splunk, Elasticsearch. The first events show the direction. A log in the order of time is passed on as it is read; any
//! other is sorted, as far as the memory for it reaches.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::error::ReadError;
use crate::source::Head;

/// Maximum length of the events that are sorted at the same time, in bytes.
pub(crate) const MOST_SORTED: usize = 256 << 20;
/// Number of events, and their length in bytes, that show the direction.
const LOOKED_AT: usize = 64;
const MOST_LOOKED_AT: usize = 1 << 20;
/// Events of one log may be exchanged by so much, in microseconds. The judge sorts them.
const SECOND: i64 = 1_000_000;
/// Events that come later than that cannot be sorted by the judge.
const LATE: i64 = 5 * SECOND;

/// The order of the records of one input.
pub(crate) struct Order {
    /// Maximum length of the events that are sorted at the same time, in bytes.
    most: usize,
    direction: Direction,
    /// Records that were read to find the direction, and the errors among them.
    ahead: VecDeque<Result<Head, ReadError>>,
    sorted: BinaryHeap<Reverse<Sorted>>,
    bytes: usize,
    /// The latest time of the records that were taken.
    emitted: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Unknown,
    AsRead,
    NewestFirst,
}

/// A record in the order of time. The later one of equal times comes first.
struct Sorted {
    key: (i64, Reverse<u64>),
    head: Head,
}

impl PartialEq for Sorted {
    fn eq(&self, other: &Sorted) -> bool {
        self.key == other.key
    }
}

impl Eq for Sorted {}

impl PartialOrd for Sorted {
    fn partial_cmp(&self, other: &Sorted) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Sorted {
    fn cmp(&self, other: &Sorted) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

/// The next part of an input.
pub(crate) enum Next {
    /// A record or an error that was read before.
    Known(Result<Head, ReadError>),
    /// Not read yet.
    Read,
    /// A record that comes after later ones, and cannot be sorted any more.
    TooLate(u64),
    /// Nothing: the input was read to its end.
    Nothing,
}

impl Order {
    /// The order of an input that is not read yet.
    pub(crate) fn unknown(most: usize) -> Order {
        Order {
            most,
            direction: Direction::Unknown,
            ahead: VecDeque::new(),
            sorted: BinaryHeap::new(),
            bytes: 0,
            emitted: i64::MIN + LATE,
        }
    }

    /// Returns `true` if the next record must be kept, with its text, before one is taken.
    pub(crate) fn wants_more(&self) -> bool {
        match self.direction {
            Direction::Unknown => true,
            Direction::AsRead => false,
            Direction::NewestFirst => self.bytes <= self.most,
        }
    }

    /// The next record is passed on as it is read, and so are all others.
    pub(crate) fn is_as_read(&mut self) {
        self.direction = Direction::AsRead;
    }

    /// Keeps a record with its text.
    pub(crate) fn keep(&mut self, head: Head, number: u64) {
        let (time, length) = (head.time(), head.length());
        self.bytes += length;
        if self.direction == Direction::NewestFirst {
            self.sorted.push(Reverse(Sorted { key: (time, Reverse(number)), head }));
            return;
        }
        let first = self.ahead.iter().flatten().next().map(Head::time);
        self.ahead.push_back(Ok(head));
        let Some(first) = first else { return };
        let is_full = self.ahead.len() >= LOOKED_AT || self.bytes > MOST_LOOKED_AT;
        if time > first + SECOND || (is_full && time >= first) {
            self.direction = Direction::AsRead;
        } else if is_full {
            self.turn();
        }
    }

    /// Keeps the error of a line that is read on behind, if the records may be in the order of time. Among sorted ones it has no place.
    pub(crate) fn keep_error(&mut self, error: ReadError) -> Result<(), ReadError> {
        if self.direction == Direction::NewestFirst {
            return Err(error);
        }
        self.ahead.push_back(Err(error));
        Ok(())
    }

    /// Returns `true` if an error is among records that are sorted, so that the input ends.
    pub(crate) fn is_cut(&self) -> bool {
        self.direction == Direction::NewestFirst && !self.ahead.is_empty()
    }

    /// Returns `true` if the records that were read begin with the newest.
    fn falls(&self) -> bool {
        let mut times = self.ahead.iter().flatten().map(Head::time);
        times.next().zip(times.next_back()).is_some_and(|(first, last)| last < first - SECOND)
    }

    /// Ends the search for the direction, perhaps with an error. The error comes behind the records that were read.
    pub(crate) fn end(&mut self, error: Option<ReadError>) {
        if self.direction == Direction::Unknown {
            if self.falls() {
                self.turn();
            }
            self.direction = Direction::AsRead;
        }
        self.ahead.extend(error.map(Err));
    }

    /// Takes the next record. `is_over`: nothing more is read.
    pub(crate) fn next(&mut self, is_over: bool) -> Next {
        if let Some(Reverse(Sorted { head, .. })) = self.sorted.pop() {
            self.bytes -= head.length();
            let (time, line) = (head.time(), head.line);
            if time < self.emitted - LATE {
                self.sorted.clear();
                return Next::TooLate(line);
            }
            self.emitted = self.emitted.max(time);
            return Next::Known(Ok(head));
        }
        match self.ahead.pop_front() {
            Some(known) => Next::Known(known),
            None if is_over => Next::Nothing,
            None => Next::Read,
        }
    }

    fn turn(&mut self) {
        self.direction = Direction::NewestFirst;
        for (number, read) in std::mem::take(&mut self.ahead).into_iter().enumerate() {
            match read {
                Ok(head) => {
                    let key = (head.time(), Reverse(number as u64));
                    self.sorted.push(Reverse(Sorted { key, head }));
                }
                Err(error) => self.ahead.push_back(Err(ReadError { reads_on: false, ..error })),
            }
        }
    }
}
