//! Status writes with a server error, and what later requests show of them. The version on which a client makes a request is one
//! that was stored.

use jobcheck_spec::guards::copies::Micros;
use jobcheck_spec::job::JobStatus;

use super::lives::INVALID;
use crate::validate::CONFLICT;

/// The status writes of a Job of which nothing shows yet if they were stored.
#[derive(Debug, Default)]
pub(super) struct Unsettled(Vec<Write>);

/// A status write with a server error.
#[derive(Debug)]
struct Write {
    since: Micros,
    /// The time at which a response shows the status again.
    until: Option<Micros>,
    /// The status that it may have stored, if the request has all of it.
    status: Option<JobStatus>,
}

/// A status that was stored: its version, the time, and itself.
pub(super) type Stored = (u64, Micros, JobStatus);

impl Unsettled {
    pub(super) fn add(&mut self, since: Micros, status: Option<JobStatus>) {
        self.0.push(Write { since, until: None, status });
    }

    /// Notes that a response shows the status.
    pub(super) fn shown(&mut self, at: Micros) {
        self.0.iter_mut().for_each(|it| it.until = it.until.or(Some(at)));
    }

    /// Learns from a request that was made on a version, and from its code. `newest`: the highest version that is shown.
    pub(super) fn settle(&mut self, base: Option<u64>, newest: u64, code: u16) -> Option<Stored> {
        let base = base?;
        let is_current = base == newest && ((200..300).contains(&code) || INVALID.contains(&code));
        if is_current {
            self.0.retain(|it| it.until.is_some());
        }
        // Somebody has written since.
        let is_old = base == newest && code == CONFLICT;
        if base > newest || is_old {
            return self.only().map(|(since, status)| (base + u64::from(is_old), since, status));
        }
        None
    }

    /// Removes the open write, if there is one alone, and the request has its status.
    fn only(&mut self) -> Option<(Micros, JobStatus)> {
        let mut open = (0..self.0.len()).filter(|at| self.0[*at].until.is_none());
        let (Some(at), None) = (open.next(), open.next()) else { return None };
        let status = self.0[at].status.clone()?;
        Some((self.0.remove(at).since, status))
    }

    /// The spans in which the status is not known, in the order of their ends.
    pub(super) fn spans(&self) -> Vec<(Micros, Micros)> {
        let mut spans: Vec<_> = self.0.iter().map(|it| (it.since, it.until.unwrap_or(Micros::MAX))).collect();
        spans.sort_unstable_by_key(|(_, until)| *until);
        spans
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_request_shows_what_became_of_a_write() {
        let of = |base, code| {
            let mut writes = Unsettled::default();
            writes.add(10, Some(JobStatus::default()));
            let stored = writes.settle(Some(base), 5, code).map(|(version, ..)| version);
            (stored, writes.spans().len())
        };
        assert_eq!((of(6, 200), of(5, 409)), ((Some(6), 0), (Some(6), 0)));
        assert_eq!((of(5, 200), of(5, 422)), ((None, 0), (None, 0)));
        // Nobody has looked at the version.
        assert_eq!((of(5, 403), of(5, 504), of(4, 409)), ((None, 1), (None, 1), (None, 1)));
        // One of several may be the one.
        let mut two = Unsettled::default();
        two.add(10, Some(JobStatus::default()));
        two.add(20, None);
        assert_eq!(two.settle(Some(6), 5, 200), None);
        two.shown(30);
        assert_eq!(two.spans(), [(10, 30), (20, 30)]);
    }
}
