//! The memory of the controllers per pod and per Job.

use std::time::Duration;

use jobcheck_bench::Result;

use super::{Sizes, UNLIMITED};
use crate::bench::Bench;
use crate::jobs::{indexed, suspended};
use crate::kubelet::PodResult;
use crate::report::Report;

/// The time after which all events have arrived.
const PAUSE: Duration = Duration::from_secs(5);
const JOBS: u32 = 5_000;

/// Measures running pods and suspended Jobs.
pub fn measure(sizes: &Sizes, report: &mut Report) -> Result<()> {
    let pods = sizes.most.min(20_000);
    let mut bench = Bench::start(UNLIMITED, PodResult::NONE)?;
    let mut resident = Vec::new();
    for (job, count) in [("first", pods / 10), ("second", pods - pods / 10)] {
        bench.create(indexed(job, count, count))?;
        let all = if job == "first" { count } else { pods };
        bench.wait_until("the pods are not created", |counts| counts.created >= u64::from(all))?;
        std::thread::sleep(PAUSE);
        let figures = bench.figures()?;
        report.add(
            "memory",
            &format!("running pods, {} kB resident", figures.resident),
            all.into(),
            &figures,
        );
        resident.push(figures.resident);
    }
    let each = per(resident[0], resident[1], pods - pods / 10);
    report.add_figure("memory", format!("{each:.0} B per running pod"));
    drop(bench);
    jobs(report)
}

fn jobs(report: &mut Report) -> Result<()> {
    let mut bench = Bench::start(UNLIMITED, PodResult::NONE)?;
    let mut resident = Vec::new();
    for bounds in [0..JOBS / 10, JOBS / 10..JOBS] {
        let all = u64::from(bounds.end);
        for job in bounds {
            bench.create(suspended(&format!("job-{job}")))?;
        }
        // The controllers store once for each Job that it is suspended.
        bench.wait_until("the Jobs are not suspended", |counts| counts.status_writes >= all)?;
        std::thread::sleep(PAUSE);
        let figures = bench.figures()?;
        report.add("memory", &format!("{all} suspended Jobs, {} kB resident", figures.resident), 0, &figures);
        resident.push(figures.resident);
    }
    let each = per(resident[0], resident[1], JOBS - JOBS / 10);
    report.add_figure("memory", format!("{each:.0} B per suspended Job"));
    Ok(())
}

/// The bytes per object, from the kB before and after.
fn per(before: u64, after: u64, count: u32) -> f64 {
    after.saturating_sub(before) as f64 * 1_024.0 / f64::from(count)
}
