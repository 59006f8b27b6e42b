//! The receiver of the records of an audit source: a trace, or a service that judges them.

use jobcheck_traces::Body;

use crate::audit::Position;
use crate::error::Error;
use crate::tally::Tally;
use crate::trace::Trace;

/// Takes the records of [`audit_log`](crate::audit_log()) or [`webhook`](crate::webhook()).
pub trait Sink {
    /// Takes a record.
    ///
    /// # Errors
    ///
    /// The record cannot be kept. The source then ends.
    fn write(&mut self, body: &Body<'_>) -> Result<(), Error>;

    /// Notes that records may be missing here.
    ///
    /// # Errors
    ///
    /// As [`Sink::write`].
    fn gap(&mut self, reason: String) -> Result<(), Error>;

    /// Called several times a second, with everything taken that there was.
    ///
    /// # Errors
    ///
    /// As [`Sink::write`].
    fn flush(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// Called after a flush with the place in the audit log up to which everything was taken.
    ///
    /// # Errors
    ///
    /// As [`Sink::write`].
    fn read_up_to(&mut self, _position: &Position) -> Result<(), Error> {
        Ok(())
    }

    /// Called after each look at an audit log with the numbers of its lines so far. The first is of audit events, the
    /// second of other lines.
    fn lines(&mut self, _readable: u64, _unreadable: u64) {}

    /// The counts so far, if the sink has them.
    fn tally(&self) -> Option<&Tally> {
        None
    }
}

impl Sink for Trace {
    fn write(&mut self, body: &Body<'_>) -> Result<(), Error> {
        Trace::write(self, body)
    }

    fn gap(&mut self, reason: String) -> Result<(), Error> {
        Trace::gap(self, None, reason)
    }

    fn flush(&mut self) -> Result<(), Error> {
        Trace::flush(self)
    }

    fn tally(&self) -> Option<&Tally> {
        Some(Trace::tally(self))
    }
}
