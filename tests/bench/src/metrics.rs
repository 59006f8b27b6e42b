//! The metrics of the controllers that are measured.

use std::collections::BTreeMap;

const SYNC_BUCKET: &str = "job_controller_job_sync_duration_seconds_bucket{";

/// The number of syncs of Jobs, and the bound of the bucket with the 99th percentile of their seconds.
///
/// ```
/// use jobcheck_bench::metrics::syncs;
///
/// let of = |bound: &str, count: u64| {
///     format!("job_controller_job_sync_duration_seconds_bucket{{result=\"success\",le=\"{bound}\"}} {count}\n")
/// };
/// assert_eq!(syncs(&(of("0.004", 98) + &of("0.008", 99) + &of("+Inf", 100))), (100, 0.008));
/// assert_eq!(syncs(""), (0, 0.0));
/// ```
#[must_use]
pub fn syncs(metrics: &str) -> (u64, f64) {
    let mut buckets: BTreeMap<u64, u64> = BTreeMap::new();
    for line in metrics.lines().filter(|line| line.starts_with(SYNC_BUCKET)) {
        let bound = line.split("le=\"").nth(1).and_then(|it| it.split('"').next()).unwrap_or_default();
        let bound: f64 = bound.parse().unwrap_or(f64::INFINITY);
        let count = line.rsplit(' ').next().and_then(|it| it.parse::<u64>().ok()).unwrap_or(0);
        // The bits of positive numbers have the order of the numbers.
        *buckets.entry(bound.to_bits()).or_default() += count;
    }
    let all = buckets.values().last().copied().unwrap_or(0);
    let percentile = buckets.iter().find(|(_, count)| **count * 100 >= all * 99);
    (all, percentile.map_or(0.0, |(bound, _)| f64::from_bits(*bound)))
}
