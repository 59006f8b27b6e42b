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

/// Sums over repetitions.
#[derive(Default)]
struct Sum {
    seconds: f64,
    cpu: f64,
    calls: u64,
    status_writes: u64,
}

impl Sum {
    fn add(&mut self, figures: &Figures) {
        self.seconds += figures.seconds;
        self.cpu += figures.cpu_seconds;
        self.calls += figures.seen.total();
        self.status_writes += figures.seen.status_writes;
    }
}

/// Measures sizes, with pods that succeed, and with pods of which the first of each index fails.
pub fn measure(sizes: &Sizes, report: &mut Report) -> Result<()> {
    for pods in [10, 100, 1_000, 10_000].into_iter().filter(|pods| *pods <= sizes.most) {
        for (fate, what) in [(Fate::Succeed, "all succeed"), (Fate::FailFirst, "all fail once")] {
            compare(pods, fate, what, report)?;
        }
    }
    Ok(())
}

fn compare(pods: u32, fate: Fate, what: &'static str, report: &mut Report) -> Result<()> {
    let (mut plain, mut limited) = (Sum::default(), Sum::default());
    let repetitions = if pods < 10_000 { 5 } else { 2 };
    let run = |job: Value, with: &str, sum: &mut Sum, report: &mut Report| -> Result<()> {
        let figures = one(START, fate, job)?;
        report.measured("per-index", &format!("{what}, {with}"), figures.seen.created, &figures);
        sum.add(&figures);
        Ok(())
    };
    for _ in 0..repetitions {
        run(indexed("job", pods, pods), "regular", &mut plain, report)?;
        run(per_index("job", pods, pods), "per index", &mut limited, report)?;
    }
    let (seconds, cpu) = (limited.seconds / plain.seconds, limited.cpu / plain.cpu);
    let times = format!(
        "{pods} indexes, {what}: {seconds:.3} times the time ({:.2} s and {:.2} s), {cpu:.3} times the CPU",
        limited.seconds / f64::from(repetitions),
        plain.seconds / f64::from(repetitions)
    );
    report.answer("SC-07", "within 1 % of a regular Indexed Job", times, seconds <= 1.01);
    let calls = format!(
        "{pods} indexes, {what}, {repetitions} runs of each: {} requests for {}, {} status writes for {}",
        limited.calls, plain.calls, limited.status_writes, plain.status_writes
    );
    report.answer("SC-09", "no more requests than a regular one", calls, limited.calls <= plain.calls);
    Ok(())
}
