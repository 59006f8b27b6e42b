//! SC-01, SC-06: Jobs with ten pods at a time, at a limited rate of requests.

use std::time::{Duration, Instant};

use jobcheck_bench::Result;

use super::{Sizes, UNLIMITED};
use crate::bench::Bench;
use crate::controller::Settings;
use crate::jobs::indexed;
use crate::kubelet::PodResult;
use crate::observer::Counts;
use crate::report::{Documented, Report};

/// The number of Jobs at once.
const JOBS: u32 = 50;
/// The number of pods of each Job at a time.
const PARALLELISM: u32 = 10;
/// Rates, and the aims for the number of created and counted pods per minute.
const RATES: [(f64, f64, &str); 2] = [
    (50.0, 2_500.0, "2,500 pods per minute at 50 QPS"),
    (100.0, 5_000.0, "5,000 pods per minute at 100 QPS"),
];
/// The service level objective of KEP-2307.
const SYNC_SECONDS: f64 = 15.0;

/// Measures both rates.
pub fn measure(sizes: &Sizes, report: &mut Report) -> Result<()> {
    for (qps, aim, text) in RATES {
        let mut bench = Bench::start(Settings { qps, ..UNLIMITED }, PodResult::Succeed)?;
        for job in 0..JOBS {
            bench.create(indexed(&format!("job-{job}"), 10_000, PARALLELISM))?;
        }
        // At first pods are only created. Afterwards they are created and counted.
        let first = u64::from(JOBS * PARALLELISM);
        bench.wait_until("the pods are not created", |counts| {
            counts.created >= first && counts.released >= first
        })?;
        let (started, before) = (Instant::now(), bench.counts());
        std::thread::sleep(Duration::from_secs(sizes.window));
        let (after, minutes) = (bench.counts(), started.elapsed().as_secs_f64() / 60.0);
        let figures = bench.figures()?;
        report.add("qps", &format!("50 Jobs, 10 at a time, {qps} QPS"), after.released, &figures);
        let per_minute =
            |count: fn(&Counts) -> u64| count(&after).saturating_sub(count(&before)) as f64 / minutes;
        let (created, counted) = (per_minute(|it| it.created), per_minute(|it| it.released));
        let measured = format!(
            "{:.0} per minute: {created:.0} created and {counted:.0} counted, with {:.0} requests",
            created + counted,
            per_minute(Counts::total)
        );
        report.add_aim("SC-01", text, Documented::Met, measured, created + counted >= aim);
        let (p99, syncs) = (figures.p99_seconds, figures.syncs);
        let measured = format!("{qps} QPS: at most {p99} s (bound of the bucket), {syncs} syncs");
        report.add_aim(
            "SC-06",
            "99 % of syncs within 15 s at 50 QPS",
            Documented::Met,
            measured,
            p99 <= SYNC_SECONDS,
        );
    }
    Ok(())
}
