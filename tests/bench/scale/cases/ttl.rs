//! SC-11, SC-12, SC-14: Jobs that finish at a steady rate, and are deleted after their TTL.

use std::time::{Duration, Instant};

use jobcheck_bench::Result;
use serde_json::json;

use super::UNLIMITED;
use crate::bench::Bench;
use crate::jobs::plain;
use crate::kubelet::PodResult;
use crate::observer::Counts;
use crate::report::{Documented, Report};

/// The number of Jobs, and the number of Jobs that are created in a second.
const JOBS: u32 = 1_000;
const RATE: u32 = 50;
/// `ttlSecondsAfterFinished` of each Job.
const TTL: u32 = 3;
/// The time within which 99 % of the Jobs are deleted. KEP-592 leaves it open.
const DELETED: f64 = 5.0;
/// If the last Job is not deleted for this long, the measurement fails.
const PATIENCE: Duration = Duration::from_secs(120);

/// Creates Jobs without pods, which finish at once, and samples the number of finished ones.
///
/// # Errors
///
/// The controllers make no progress.
pub fn measure(report: &mut Report) -> Result<()> {
    let mut bench = Bench::start(UNLIMITED, PodResult::Succeed)?;
    let (started, mut created, mut most) = (Instant::now(), 0, 0);
    while bench.counts().deleted.len() < JOBS as usize {
        let due = (started.elapsed().as_secs_f64() * f64::from(RATE)) as u32;
        while created < JOBS.min(due) {
            let mut job = plain(&format!("job-{created}"), 0, 1);
            job["spec"]["ttlSecondsAfterFinished"] = json!(TTL);
            bench.create(job)?;
            created += 1;
        }
        bench.collect_garbage();
        let counts = bench.counts();
        most = most.max(counts.finished.len() - counts.deleted.len());
        if started.elapsed() > PATIENCE {
            return Err(format!("{} of {JOBS} Jobs were deleted", counts.deleted.len()).into());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let figures = bench.figures()?;
    report.add("ttl", &format!("{JOBS} Jobs, {RATE} a second, TTL {TTL} s"), 0, &figures);
    aims(report, &figures.counts, most);
    Ok(())
}

fn aims(report: &mut Report, counts: &Counts, most: usize) {
    let calls = |call: &str| counts.calls.get(call).copied().unwrap_or_default();
    let (deletions, reads) = (calls("delete jobs"), calls("get jobs"));
    report.add_aim(
        "SC-11",
        "one DELETE for each Job",
        Documented::Met,
        format!("{deletions} DELETE and {reads} GET requests for {JOBS} Jobs"),
        deletions <= u64::from(JOBS) && reads <= u64::from(JOBS),
    );
    let late = |job: &String, at: &Instant| {
        let kept = counts.finished.get(job).map_or(0.0, |finished| (*at - *finished).as_secs_f64());
        kept - f64::from(TTL)
    };
    let mut delays: Vec<f64> = counts.deleted.iter().map(|(job, at)| late(job, at)).collect();
    delays.sort_by(f64::total_cmp);
    let p99 = delays.get(delays.len() * 99 / 100).copied().unwrap_or(f64::NAN);
    let measured = format!("{p99:.1} s after the TTL, {:.1} s at most", delays.last().unwrap_or(&f64::NAN));
    report.add_aim("SC-12", "99 % are deleted within 5 s", Documented::Met, measured, p99 <= DELETED);
    let bound = f64::from(RATE) * (f64::from(TTL) + p99.max(0.0));
    report.add_aim(
        "SC-14",
        "finished Jobs within creation rate times TTL, and the latency of deletions",
        Documented::Met,
        format!("at most {most} finished Jobs; {RATE} a second times {TTL} s is {}", RATE * TTL),
        // A finish is stored in whole seconds.
        most as f64 <= bound + f64::from(RATE),
    );
}
