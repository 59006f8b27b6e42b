//! One Job of different sizes.

use jobcheck_bench::Result;

use super::{Sizes, UNLIMITED, run_job};
use crate::jobs::{indexed, plain};
use crate::kubelet::PodResult;
use crate::report::{Documented, Report};

/// The number of pods at a time, in cases that do not vary it.
const PARALLELISM: u32 = 500;
/// The limit of SC-05 in bytes.
const LIST_BYTES: usize = 20_000;
/// The limit of SC-05 in UIDs.
const LIST_UIDS: usize = 500;

/// SC-04: requests per pod.
pub fn calls(sizes: &Sizes, report: &mut Report) -> Result<()> {
    for pods in sizes.of([100, 1_000, 10_000]) {
        let figures = run_job(UNLIMITED, PodResult::Succeed, indexed("job", pods, pods))?;
        report.add("calls", "one Indexed Job, all pods at once", pods.into(), &figures);
        // A sync counts at most 500 pods (FT-10), so that more pods need more status writes.
        let documented = if pods < 10_000 { Documented::Met } else { Documented::Missed };
        let (total, writes) = (figures.counts.total(), figures.counts.status_writes);
        let more = total.saturating_sub(2 * u64::from(pods));
        let measured = format!(
            "{pods} pods: {:.4} per pod, which is 2 per pod and {more} more; {writes} status writes in {} syncs",
            total as f64 / f64::from(pods),
            figures.syncs
        );
        report.add_aim("SC-04", "2 + 10/pods requests per pod", documented, measured, more <= 10);
    }
    Ok(())
}

/// The cost of a pod in a small Job, and in one of ten times its size.
pub fn growth(sizes: &Sizes, report: &mut Report) -> Result<()> {
    let large = sizes.most.min(50_000);
    let mut costs = Vec::new();
    for pods in [large / 10, large] {
        let figures = run_job(UNLIMITED, PodResult::Succeed, indexed("job", pods, PARALLELISM))?;
        report.add("growth", "one Indexed Job, 500 at a time", pods.into(), &figures);
        costs.push((figures.seconds / f64::from(pods), figures.cpu_seconds / f64::from(pods)));
    }
    if let [(seconds, cpu), (more_seconds, more_cpu)] = costs[..] {
        let (seconds, cpu) = (more_seconds / seconds, more_cpu / cpu);
        let measured = format!("a pod costs {seconds:.2} times the time, {cpu:.2} times the CPU");
        report.add_aim(
            "growth",
            "ten times the indexes: a pod costs less than twice",
            Documented::Met,
            measured,
            cpu < 2.0,
        );
    }
    Ok(())
}

/// SC-03: a Job of 100,000 completions.
pub fn completions(sizes: &Sizes, report: &mut Report) -> Result<()> {
    let pods = sizes.most.min(100_000);
    let figures = run_job(UNLIMITED, PodResult::Succeed, indexed("job", pods, PARALLELISM))?;
    report.add("completions", "one Indexed Job, 500 at a time", pods.into(), &figures);
    let minutes = figures.seconds / 60.0;
    report.add_aim(
        "SC-03",
        "100,000 completions in minutes",
        Documented::Met,
        format!("{pods} in {minutes:.1} minutes"),
        minutes < 60.0,
    );
    Ok(())
}

/// SC-05: the lists of uncounted pods, if thousands of pods terminate at once.
pub fn lists(sizes: &Sizes, report: &mut Report) -> Result<()> {
    let pods = sizes.most.min(5_000);
    // Succeeded pods of an Indexed Job are counted by their indexes, without a list.
    let figures = run_job(UNLIMITED, PodResult::SucceedTogether(pods as usize), plain("job", pods, pods))?;
    report.add("lists", "one NonIndexed Job, all pods terminate together", pods.into(), &figures);
    let (uids, bytes) = (figures.counts.longest_list, figures.counts.longest_list_bytes);
    let met = uids <= LIST_UIDS && bytes < LIST_BYTES;
    report.add_aim(
        "SC-05",
        "at most 500 UIDs, below 20 kB",
        Documented::Met,
        format!("{uids} UIDs, {bytes} B"),
        met,
    );
    Ok(())
}
