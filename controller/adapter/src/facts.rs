//! Conversions of the model's objects to the facts that a plan reads, and of its status writes to the model's
//! status.

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

/// A time of the model in the controller's type.
#[must_use]
pub fn time(time: time::Time) -> Time {
    Time::from_seconds(time.0)
}

/// A time in the whole seconds of the model.
#[must_use]
pub fn seconds(time: Time) -> time::Time {
    time::Time(time.as_seconds())
}

/// A text that many facts share.
pub(crate) fn constant(text: &'static str) -> Text {
    Text::from(text)
}
