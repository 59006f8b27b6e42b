//! One Job, of many sizes.

use super::{Sizes, UNLIMITED, one};
use crate::Result;
use crate::jobs::{indexed, plain};
use crate::kubelet::Fate;
use crate::report::Report;

/// Pods that run at a time where the number of pods is not what is asked about.
const AT_A_TIME: u32 = 500;
/// SC-05, in bytes and in UIDs.
const LIST_BYTES: usize = 20_000;
const LIST_UIDS: usize = 500;

/// SC-04: requests for each pod.
pub fn calls(sizes: &Sizes, report: &mut Report) -> Result<()> {
    for pods in sizes.of([100, 1_000, 10_000]) {
        let figures = one(UNLIMITED, Fate::Succeed, indexed("job", pods, pods))?;
        report.measured("calls", "one Indexed Job, all pods at once", pods.into(), &figures);
        let (total, writes) = (figures.seen.total(), figures.seen.status_writes);
        let more = total.saturating_sub(2 * u64::from(pods));
        let measured = format!(
            "{pods} pods: {:.4} a pod, 2 a pod and {more} more, of which {writes} status writes, in {} syncs",
            total as f64 / f64::from(pods),
            figures.syncs
        );
        report.answer("SC-04", "2 + 10/pods requests a pod", measured, more <= 10);
    }
    Ok(())
}

/// No step is quadratic: what a pod costs in a small Job and in one of ten times its size.
pub fn growth(sizes: &Sizes, report: &mut Report) -> Result<()> {
    let large = sizes.most.min(50_000);
    let mut costs = Vec::new();
    for pods in [large / 10, large] {
        let figures = one(UNLIMITED, Fate::Succeed, indexed("job", pods, AT_A_TIME))?;
        report.measured("growth", "one Indexed Job, 500 at a time", pods.into(), &figures);
        costs.push((figures.seconds / f64::from(pods), figures.cpu_seconds / f64::from(pods)));
    }
    if let [(seconds, cpu), (more_seconds, more_cpu)] = costs[..] {
        let (seconds, cpu) = (more_seconds / seconds, more_cpu / cpu);
        let measured = format!("a pod costs {seconds:.2} times the time, {cpu:.2} times the CPU");
        report.answer("growth", "ten times the indexes: a pod costs less than twice", measured, cpu < 2.0);
    }
    Ok(())
}

/// SC-03: a Job of 100,000 completions.
pub fn completions(sizes: &Sizes, report: &mut Report) -> Result<()> {
    let pods = sizes.most.min(100_000);
    let figures = one(UNLIMITED, Fate::Succeed, indexed("job", pods, AT_A_TIME))?;
    report.measured("completions", "one Indexed Job, 500 at a time", pods.into(), &figures);
    let minutes = figures.seconds / 60.0;
    report.answer(
        "SC-03",
        "100,000 completions in minutes",
        format!("{pods} in {minutes:.1} minutes"),
        minutes < 60.0,
    );
    Ok(())
}

/// SC-05: the lists, when thousands of pods end at once.
pub fn lists(sizes: &Sizes, report: &mut Report) -> Result<()> {
    let pods = sizes.most.min(5_000);
    // Successes of an Indexed Job are counted by their indexes, and are in no list.
    let figures = one(UNLIMITED, Fate::Together(pods as usize), plain("job", pods, pods))?;
    report.measured("lists", "one NonIndexed Job, all pods end together", pods.into(), &figures);
    let (uids, bytes) = (figures.seen.longest_list, figures.seen.longest_list_bytes);
    let met = uids <= LIST_UIDS && bytes < LIST_BYTES;
    report.answer("SC-05", "at most 500 UIDs, below 20 kB", format!("{uids} UIDs, {bytes} B"), met);
    Ok(())
}
