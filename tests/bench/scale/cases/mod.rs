//! What is measured.

mod crowd;
mod memory;
mod per_index;
mod rate;
mod size;

use clap::ValueEnum;

use crate::Result;
use crate::bench::{Bench, Figures};
use crate::controller::Start;
use crate::kubelet::Fate;
use crate::report::Report;

/// A case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Case {
    /// Requests for each pod of an Indexed Job.
    Calls,
    /// The cost of a pod in a Job of 5,000 and of 50,000 indexes.
    Growth,
    /// 1,000 Jobs at once.
    Many,
    /// A small Job beside a huge one.
    Beside,
    /// 100,000 completions of one Job.
    Completions,
    /// Indexed Jobs with a limit for each index, and without.
    PerIndex,
    /// Pods a minute at 50 and 100 requests a second.
    Qps,
    /// The longest lists of uncounted pods.
    Lists,
    /// Memory of a pod and of a Job.
    Memory,
}

/// How large it may be.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Fewest pods of a Job, where a case has several sizes.
    pub least: u32,
    /// Most pods of a Job.
    pub most: u32,
    /// Seconds of a measurement at a rate.
    pub window: u64,
}

impl Sizes {
    /// Those of these sizes that are asked for.
    fn of<const N: usize>(&self, sizes: [u32; N]) -> impl Iterator<Item = u32> {
        let bounds = self.least..=self.most;
        sizes.into_iter().filter(move |pods| bounds.contains(pods))
    }
}

/// No limit of requests, and the delays of the built-in.
const UNLIMITED: Start = Start { qps: 0.0, backoff: None };

impl Case {
    /// Measures it.
    ///
    /// # Errors
    /// A measurement cannot be made.
    pub fn measure(self, sizes: &Sizes, report: &mut Report) -> Result<()> {
        match self {
            Case::Calls => size::calls(sizes, report),
            Case::Growth => size::growth(sizes, report),
            Case::Many => crowd::many(report),
            Case::Beside => crowd::beside(sizes, report),
            Case::Completions => size::completions(sizes, report),
            Case::PerIndex => per_index::measure(sizes, report),
            Case::Qps => rate::measure(sizes, report),
            Case::Lists => size::lists(sizes, report),
            Case::Memory => memory::measure(sizes, report),
        }
    }
}

/// Runs one Job to its end.
fn one(start: Start, fate: Fate, job: serde_json::Value) -> Result<Figures> {
    let mut bench = Bench::start(start, fate)?;
    bench.create(job)?;
    bench.finished(1)?;
    bench.figures()
}
