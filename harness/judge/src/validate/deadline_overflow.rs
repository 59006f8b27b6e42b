//! J-11: the built-in controller converts `activeDeadlineSeconds` to nanoseconds without a check for an overflow.

use jobcheck_spec::view::View;
use jobcheck_spec::{Broken, Req};

/// Nanoseconds in a second.
const SECOND: i64 = 1_000_000_000;

/// The finding, if a failure for a deadline that is not over (SU-08) is the only error.
pub(super) fn sole_failure(broken: &[Broken]) -> Option<&Broken> {
    match broken {
        [it @ Broken { req: Req::SU08, .. }] => Some(it),
        _ => None,
    }
}

/// Returns `true` if the deadline of the view overflows, and what remains of it is over.
pub(super) fn is_over(view: &View<'_>) -> bool {
    let Some(seconds) = view.spec().active_deadline_seconds else { return false };
    let (allowed, overflows) = seconds.overflowing_mul(SECOND);
    // A sync that finds no start sets it to its own time.
    let elapsed =
        view.job.status.start_time.zip(view.latest).map_or(0, |(start, latest)| latest.since(start));
    overflows && elapsed.saturating_mul(SECOND) >= allowed
}

#[cfg(test)]
mod tests {
    use jobcheck_spec::Time;
    use jobcheck_spec::pods::Pods;

    use super::super::fixtures;
    use super::*;

    #[test]
    fn a_deadline_is_over_by_its_overflown_nanoseconds() {
        for (seconds, elapsed, expected) in [
            (i64::MAX / SECOND, 1_000, false),
            (i64::MAX / SECOND + 1, 0, true),
            (i64::MAX, 0, true),
            // 2^64 nanoseconds, and 290 ms.
            (18_446_744_074, 0, false),
            (18_446_744_074, 1, true),
            (60, 61, false),
        ] {
            let mut job = fixtures::job();
            std::sync::Arc::make_mut(&mut job.spec).active_deadline_seconds = Some(seconds);
            job.status.start_time = Some(Time(100));
            let pods = Pods::default();
            let view = View { latest: Some(Time(100 + elapsed)), ..View::of(&job, &pods) };
            assert_eq!(is_over(&view), expected, "{seconds} {elapsed}");
        }
    }
}
