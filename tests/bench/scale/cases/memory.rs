//! Memory of the controllers: what more pods and more Jobs add to it.

use std::time::Duration;

use super::{Sizes, UNLIMITED};
use crate::Result;
use crate::bench::Bench;
use crate::jobs::{indexed, suspended};
use crate::kubelet::Fate;
use crate::report::Report;

/// After so long all events have come, and nothing is under way.
const REST: Duration = Duration::from_secs(5);
const JOBS: u32 = 5_000;

/// Measures both.
pub fn measure(sizes: &Sizes, report: &mut Report) -> Result<()> {
    let pods = sizes.most.min(20_000);
    let mut bench = Bench::start(UNLIMITED, Fate::RUN)?;
    let mut resident = Vec::new();
    for (job, count) in [("first", pods / 10), ("second", pods - pods / 10)] {
        bench.create(indexed(job, count, count))?;
        let all = if job == "first" { count } else { pods };
        bench.until("the pods are not created", |seen| seen.created >= u64::from(all))?;
        std::thread::sleep(REST);
        let figures = bench.figures()?;
        report.measured(
            "memory",
            &format!("running pods, {} kB resident", figures.resident),
            all.into(),
            &figures,
        );
        resident.push(figures.resident);
    }
    let each = per(resident[0], resident[1], pods - pods / 10);
    report.told("memory", format!("{each:.0} B a running pod"));
    drop(bench);
    jobs(report)
}

fn jobs(report: &mut Report) -> Result<()> {
    let mut bench = Bench::start(UNLIMITED, Fate::RUN)?;
    let mut resident = Vec::new();
    for bounds in [0..JOBS / 10, JOBS / 10..JOBS] {
        let all = u64::from(bounds.end);
        for job in bounds {
            bench.create(suspended(&format!("job-{job}")))?;
        }
        // Each says once that it is suspended.
        bench.until("the Jobs are not suspended", |seen| seen.status_writes >= all)?;
        std::thread::sleep(REST);
        let figures = bench.figures()?;
        report.measured(
            "memory",
            &format!("{all} suspended Jobs, {} kB resident", figures.resident),
            0,
            &figures,
        );
        resident.push(figures.resident);
    }
    let each = per(resident[0], resident[1], JOBS - JOBS / 10);
    report.told("memory", format!("{each:.0} B a suspended Job"));
    Ok(())
}

/// Bytes of each, from kB before and after.
fn per(before: u64, after: u64, count: u32) -> f64 {
    after.saturating_sub(before) as f64 * 1_024.0 / f64::from(count)
}
