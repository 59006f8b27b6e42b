//! SC-07, SC-09: Indexed Jobs with a backoff limit per index, and without, in turn.

use std::time::Duration;

use jobcheck_bench::{Result, median};
use serde_json::Value;

use super::{Sizes, run_job};
use crate::bench::Figures;
use crate::controller::Settings;
use crate::jobs::{indexed, per_index};
use crate::kubelet::PodResult;
use crate::report::{Documented, Report};

/// The settings of the benchmark in KEP-3850.
const SETTINGS: Settings = Settings { qps: 0.0, failure_delay: Some(Duration::from_millis(10)) };

/// The minimum of CPU seconds that are compared, since they are counted in hundredths.
const MIN_CPU: f64 = 1.0;

/// The figures of repetitions.
#[derive(Default)]
struct Runs {
    seconds: Vec<f64>,
    cpu: f64,
    calls: u64,
    status_writes: u64,
}

impl Runs {
    fn add(&mut self, figures: &Figures) {
        self.seconds.push(figures.seconds);
        self.cpu += figures.cpu_seconds;
        self.calls += figures.counts.total();
        self.status_writes += figures.counts.status_writes;
    }
}

/// Measures sizes, with pods that succeed and with pods that all fail once all of them run.
pub fn measure(sizes: &Sizes, report: &mut Report) -> Result<()> {
    for pods in sizes.of([10, 100, 1_000, 10_000]) {
        let first = PodResult::FailFirst(pods as usize);
        for (pod_result, what) in [(PodResult::Succeed, "all succeed"), (first, "all fail once, together")] {
            compare(pods, pod_result, what, report)?;
        }
    }
    Ok(())
}

fn compare(pods: u32, pod_result: PodResult, what: &'static str, report: &mut Report) -> Result<()> {
    let (mut regular, mut limited) = (Runs::default(), Runs::default());
    let repetitions = if pods < 10_000 { 5 } else { 3 };
    let run = |job: Value, with: &str, runs: &mut Runs, report: &mut Report| -> Result<()> {
        let figures = run_job(SETTINGS, pod_result, job)?;
        report.add("per-index", &format!("{what}, {with}"), figures.counts.created, &figures);
        runs.add(&figures);
        Ok(())
    };
    for _ in 0..repetitions {
        run(indexed("job", pods, pods), "regular", &mut regular, report)?;
        run(per_index("job", pods, pods), "per index", &mut limited, report)?;
    }
    // A single sync more takes a second, so that a mean says little.
    let (seconds, of) = (median(limited.seconds), median(regular.seconds));
    let cpu = if regular.cpu < MIN_CPU {
        String::new()
    } else {
        format!(", {:.3} times the CPU", limited.cpu / regular.cpu)
    };
    let ratio = seconds / of;
    let is_missed = pods == 10_000 && pod_result != PodResult::Succeed;
    let documented = if is_missed { Documented::Missed } else { Documented::Met };
    let times = format!(
        "{pods} indexes, {what}: {ratio:.3} times the time (medians of {repetitions}: {seconds:.3} s, {of:.3} s){cpu}"
    );
    report.add_aim("SC-07", "within 1 % of a regular Indexed Job", documented, times, ratio <= 1.01);
    let calls = format!(
        "{pods} indexes, {what}, {repetitions} runs of each: {} requests for {}, {} status writes for {}",
        limited.calls, regular.calls, limited.status_writes, regular.status_writes
    );
    let met = limited.calls <= regular.calls && limited.status_writes <= regular.status_writes;
    report.add_aim("SC-09", "no more requests than a regular one", documented, calls, met);
    Ok(())
}
