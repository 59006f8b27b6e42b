//! SC-07, SC-09: Indexed Jobs with a limit for each index, and without, in turn.

use std::time::Duration;

use serde_json::Value;

use super::{Sizes, one};
use crate::Result;
use crate::bench::Figures;
use crate::controller::Start;
use crate::jobs::{indexed, per_index};
use crate::kubelet::Fate;
use crate::report::Report;

/// The delay of failed pods in the benchmark of KEP-3850.
const START: Start = Start { qps: 0.0, backoff: Some(Duration::from_millis(10)) };

/// Less CPU than this is not compared: it is counted in hundredths of a second.
const LEAST_CPU: f64 = 1.0;

/// What repetitions came to.
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
        self.calls += figures.seen.total();
        self.status_writes += figures.seen.status_writes;
    }

    /// One sync more or less is a second, so that a mean says little.
    fn median(&self) -> f64 {
        let mut sorted = self.seconds.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
    }
}

/// Measures sizes, with pods that succeed, and with pods that all fail once they all run.
pub fn measure(sizes: &Sizes, report: &mut Report) -> Result<()> {
    for pods in sizes.of([10, 100, 1_000, 10_000]) {
        let first = Fate::FailFirst(pods as usize);
        for (fate, what) in [(Fate::Succeed, "all succeed"), (first, "all fail once, together")] {
            compare(pods, fate, what, report)?;
        }
    }
    Ok(())
}

fn compare(pods: u32, fate: Fate, what: &'static str, report: &mut Report) -> Result<()> {
    let (mut regular, mut limited) = (Runs::default(), Runs::default());
    let repetitions = if pods < 10_000 { 5 } else { 3 };
    let run = |job: Value, with: &str, runs: &mut Runs, report: &mut Report| -> Result<()> {
        let figures = one(START, fate, job)?;
        report.measured("per-index", &format!("{what}, {with}"), figures.seen.created, &figures);
        runs.add(&figures);
        Ok(())
    };
    for _ in 0..repetitions {
        run(indexed("job", pods, pods), "regular", &mut regular, report)?;
        run(per_index("job", pods, pods), "per index", &mut limited, report)?;
    }
    let (seconds, of) = (limited.median(), regular.median());
    let cpu = if regular.cpu < LEAST_CPU {
        String::new()
    } else {
        format!(", {:.3} times the CPU", limited.cpu / regular.cpu)
    };
    let ratio = seconds / of;
    let times = format!(
        "{pods} indexes, {what}: {ratio:.3} times the time (medians of {repetitions}: {seconds:.3} s, {of:.3} s){cpu}"
    );
    report.answer("SC-07", "within 1 % of a regular Indexed Job", times, ratio <= 1.01);
    let calls = format!(
        "{pods} indexes, {what}, {repetitions} runs of each: {} requests for {}, {} status writes for {}",
        limited.calls, regular.calls, limited.status_writes, regular.status_writes
    );
    let met = limited.calls <= regular.calls && limited.status_writes <= regular.status_writes;
    report.answer("SC-09", "no more requests than a regular one", calls, met);
    Ok(())
}
