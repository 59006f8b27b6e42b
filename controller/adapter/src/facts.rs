//! From the model's objects to the facts that a decision reads, and from the status that it wants back to the model's.

pub mod job;
pub mod pod;
pub mod status;

use jobcheck_controller::values::{ResourceVersion, Text, Time};
use jobcheck_spec::time;

/// The version of every object.
pub(crate) fn version() -> ResourceVersion {
    thread_local! {
        static VERSION: ResourceVersion = ResourceVersion::new("1");
    }
    VERSION.with(Clone::clone)
}

/// An instant.
#[must_use]
pub fn time(time: time::Time) -> Time {
    Time::from_seconds(time.0)
}

/// An instant, in the whole seconds of the model.
#[must_use]
pub fn seconds(time: Time) -> time::Time {
    time::Time(time.as_seconds())
}

/// Text that many facts hold.
pub(crate) fn constant(text: &'static str) -> Text {
    Text::from(text)
}
