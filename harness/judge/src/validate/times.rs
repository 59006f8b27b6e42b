//! The time of the stored version of a Job.

use jobcheck_spec::Time;

use super::track::Track;

/// Lower bound for the time of the stored version of the Job.
pub fn written(track: &Track) -> Option<Time> {
    track.times.written.map(|micros| Time(micros.div_euclid(1_000_000)))
}
