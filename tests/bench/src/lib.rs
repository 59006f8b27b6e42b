//! Parts of the benchmarks: their arguments, the claims that they check, and the controllers as processes of their own.
//!
//! ```text
//! cargo bench -p jobcheck-bench --bench explore_speed -- --gate
//! ```
//!
//! | benchmark | compares |
//! | --- | --- |
//! | `explore_speed` | the explorer's search and stateright's, on the same models |
//! | `against_tlc` | the explorer and TLC, on the same scopes |
//! | `read_speed` | nothing: it measures how fast traces are read |
//! | `replay_speed` | the judge's speed on a trace and on one of ten times its size |
//! | `scale` | the cost of the shipped controllers at scale with the aims of family SC |
//! | `side_by_side` | the shipped controllers and kube-controller-manager, on one control plane |
//!
//! Documents claim ratios of these measurements. With `--gate` a benchmark fails if a [claim](Claims) does not hold.

pub mod claims;
pub mod controller;
pub mod metrics;

use std::process::ExitCode;

use jobcheck_cluster::Usage;
use serde_json::Value;

pub use self::claims::Claims;

/// An error of a benchmark: a measurement could not be made.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// The result of a part of a benchmark.
pub type Result<T> = std::result::Result<T, Error>;

/// The arguments of the program, with its name. Cargo adds `--bench` to those of a benchmark, which is left out.
#[must_use]
pub fn arguments() -> Vec<String> {
    std::env::args().filter(|argument| argument != "--bench").collect()
}

/// The exit code of a benchmark: 1 if a claim does not hold, 4 if a measurement could not be made.
#[must_use]
pub fn exit_code(name: &str, result: Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{name}: {error}");
            ExitCode::from(if error.is::<claims::Refuted>() { 1 } else { 4 })
        }
    }
}

/// The middle one of some figures, or the mean of the two in the middle. NaN if there is none.
#[must_use]
pub fn median(figures: impl IntoIterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = figures.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    let (upper, lower) = (sorted.len() / 2, sorted.len().saturating_sub(1) / 2);
    match (sorted.get(lower), sorted.get(upper)) {
        (Some(lower), Some(upper)) => f64::midpoint(*lower, *upper),
        _ => f64::NAN,
    }
}

/// The peak memory of a process in bytes. `None` if it has ended, or the system has no `/proc`.
#[must_use]
pub fn peak_memory(pid: u32) -> Option<u64> {
    Usage::of(pid).ok().map(|usage| usage.peak * 1024)
}

/// The CPU time of a process in seconds, as [`peak_memory`].
#[must_use]
pub fn cpu_seconds(pid: u32) -> Option<f64> {
    Usage::of(pid).ok().map(|usage| usage.cpu)
}

/// Returns true if the status of a Job has a terminal condition.
#[must_use]
pub fn is_finished(status: &Value) -> bool {
    let is_terminal =
        |it: &Value| (it["type"] == "Complete" || it["type"] == "Failed") && it["status"] == "True";
    status["conditions"].as_array().is_some_and(|all| all.iter().any(is_terminal))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_or_the_mean_of_two() {
        assert!((median([3.0, 1.0, 2.0]) - 2.0).abs() < f64::EPSILON);
        assert!((median([4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < f64::EPSILON);
        assert!(median([]).is_nan());
    }
}
