//! Many Jobs, and a small one beside a huge one.

use std::time::{Duration, Instant};

use super::{Sizes, UNLIMITED};
use crate::Result;
use crate::bench::Bench;
use crate::controller::Start;
use crate::jobs::{indexed, plain};
use crate::kubelet::Fate;
use crate::report::Report;

/// Jobs at once.
const JOBS: u32 = 1_000;
/// Pods of a small one.
const SMALL: u32 = 3;
/// How often a small Job is tried.
const TRIES: usize = 5;
/// Requests that the pods of the huge Job have to be far from done with.
const UNDER_WAY: u64 = 100;

/// 1,000 Jobs at once.
pub fn many(report: &mut Report) -> Result<()> {
    let mut bench = Bench::start(UNLIMITED, Fate::Succeed)?;
    for job in 0..JOBS {
        bench.create(plain(&format!("job-{job}"), SMALL, SMALL))?;
    }
    bench.finished(JOBS as usize)?;
    let (pods, figures) = (u64::from(JOBS * SMALL), bench.figures()?);
    report.measured("many", "1,000 Jobs of 3 pods", pods, &figures);
    let measured = format!(
        "{JOBS} Jobs of {SMALL} in {:.1} s, {:.1} status writes a Job",
        figures.seconds,
        figures.seen.status_writes as f64 / f64::from(JOBS)
    );
    report.answer("many", "1,000 Jobs at once finish", measured, true);
    Ok(())
}

/// SC-02: a small Job alone, and beside a huge one.
pub fn beside(sizes: &Sizes, report: &mut Report) -> Result<()> {
    for start in [UNLIMITED, Start { qps: 50.0, ..UNLIMITED }] {
        let limit = if start.qps > 0.0 { format!("{} QPS", start.qps) } else { "no limit".to_owned() };
        let alone = small_jobs(start, None)?;
        let beside = small_jobs(start, Some(sizes.most))?;
        let measured = format!(
            "{limit}: median {:.1} s alone (longest {:.1} s), {:.1} s beside {} pods (longest {:.1} s)",
            alone[TRIES / 2],
            alone[TRIES - 1],
            beside[TRIES / 2],
            sizes.most,
            beside[TRIES - 1]
        );
        report.answer("SC-02", "a small Job finishes in bounded time", measured, beside[TRIES - 1] < 60.0);
    }
    Ok(())
}

/// The seconds of small Jobs, one after the other, sorted.
fn small_jobs(start: Start, huge: Option<u32>) -> Result<Vec<f64>> {
    let mut bench = Bench::start(start, Fate::Succeed)?;
    if let Some(pods) = huge {
        bench.create(indexed("huge", pods, pods))?;
        bench.until("the huge Job does not start", |seen| seen.created > UNDER_WAY)?;
    }
    let mut seconds = Vec::new();
    for job in 1..=TRIES {
        let begun = Instant::now();
        let name = format!("small-{job}");
        bench.create(plain(&name, SMALL, SMALL))?;
        bench.until("a small Job does not finish", |seen| seen.finished.contains_key(&name))?;
        seconds.push(begun.elapsed().as_secs_f64());
        // The next one meets another moment of the huge one.
        std::thread::sleep(Duration::from_millis(300));
    }
    if huge.is_some() && bench.seen().finished.contains_key("huge") {
        return Err("the huge Job was over before the small ones: give more pods with --most".into());
    }
    seconds.sort_by(f64::total_cmp);
    Ok(seconds)
}
