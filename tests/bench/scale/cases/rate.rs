//! SC-01, SC-06: Jobs with ten pods at a time, at a limited rate of requests.

use std::time::{Duration, Instant};

use super::{Sizes, UNLIMITED};
use crate::Result;
use crate::bench::Bench;
use crate::controller::Start;
use crate::jobs::indexed;
use crate::kubelet::Fate;
use crate::report::Report;

/// Jobs side by side, with so many pods at a time.
const JOBS: u32 = 50;
const PARALLELISM: u32 = 10;
/// Rates, and the creations and countings of pods that are aimed at in a minute.
const RATES: [(f64, f64, &str); 2] =
    [(50.0, 2_500.0, "2,500 pods a minute at 50 QPS"), (100.0, 5_000.0, "5,000 pods a minute at 100 QPS")];
/// The objective of KEP-2307.
const SYNC_SECONDS: f64 = 15.0;

/// Measures both rates.
pub fn measure(sizes: &Sizes, report: &mut Report) -> Result<()> {
    for (qps, aim, text) in RATES {
        let mut bench = Bench::start(Start { qps, ..UNLIMITED }, Fate::Succeed)?;
        for job in 0..JOBS {
            bench.create(indexed(&format!("job-{job}"), 10_000, PARALLELISM))?;
        }
        // Creations alone come first: from then on both are mixed.
        let first = u64::from(JOBS * PARALLELISM);
        bench.until("the pods are not created", |seen| seen.created >= first && seen.released >= first)?;
        let (begun, before) = (Instant::now(), bench.seen());
        std::thread::sleep(Duration::from_secs(sizes.window));
        let (after, minutes) = (bench.seen(), begun.elapsed().as_secs_f64() / 60.0);
        let figures = bench.figures()?;
        report.measured("qps", &format!("50 Jobs, 10 at a time, {qps} QPS"), after.released, &figures);
        let a_minute = |count: fn(&crate::observer::Seen) -> u64| {
            count(&after).saturating_sub(count(&before)) as f64 / minutes
        };
        let (created, counted) = (a_minute(|seen| seen.created), a_minute(|seen| seen.released));
        let measured = format!(
            "{:.0} a minute: {created:.0} created and {counted:.0} counted, with {:.0} requests",
            created + counted,
            a_minute(|seen| seen.total())
        );
        report.answer("SC-01", text, measured, created + counted >= aim);
        let (p99, syncs) = (figures.p99_seconds, figures.syncs);
        let measured = format!("{qps} QPS: at most {p99} s (bound of the bucket), {syncs} syncs");
        report.answer("SC-06", "99 % of syncs within 15 s at 50 QPS", measured, p99 <= SYNC_SECONDS);
    }
    Ok(())
}
