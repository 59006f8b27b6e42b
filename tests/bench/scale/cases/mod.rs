//! The cases that are measured.

mod many_jobs;
mod memory;
mod per_index;
mod rate;
mod size;
mod ttl;

use clap::ValueEnum;
use jobcheck_bench::Result;

use crate::bench::{Bench, Figures};
use crate::controller::Settings;
use crate::kubelet::PodResult;
use crate::report::Report;

/// A case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Case {
    /// Requests per pod of an Indexed Job.
    Calls,
    /// The cost of a pod in a Job of 5,000 and of 50,000 indexes.
    Growth,
    /// 1,000 Jobs at once.
    Many,
    /// A small Job beside a huge one.
    Beside,
    /// 100,000 completions of one Job.
    Completions,
    /// Indexed Jobs with a backoff limit per index, and without.
    PerIndex,
    /// Pods per minute at 50 and 100 requests per second.
    Qps,
    /// The longest lists of uncounted pods.
    Lists,
    /// Memory per pod and per Job.
    Memory,
    /// Jobs that are deleted after their TTL.
    Ttl,
}

/// The sizes of the measurements.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// The minimum number of pods of a Job, in cases with several sizes.
    pub least: u32,
    /// The maximum number of pods of a Job.
    pub most: u32,
    /// The seconds of a measurement at a rate.
    pub window: u64,
}

impl Sizes {
    /// The sizes within the bounds.
    fn of<const N: usize>(&self, sizes: [u32; N]) -> impl Iterator<Item = u32> {
        let bounds = self.least..=self.most;
        sizes.into_iter().filter(move |pods| bounds.contains(pods))
    }
}

/// No limit of requests, and the default delays.
const UNLIMITED: Settings = Settings { qps: 0.0, failure_delay: None };

impl Case {
    /// Measures the case.
    ///
    /// # Errors
    ///
    /// A measurement cannot be made.
    pub fn measure(self, sizes: &Sizes, report: &mut Report) -> Result<()> {
        match self {
            Case::Calls => size::calls(sizes, report),
            Case::Growth => size::growth(sizes, report),
            Case::Many => many_jobs::many(report),
            Case::Beside => many_jobs::beside(sizes, report),
            Case::Completions => size::completions(sizes, report),
            Case::PerIndex => per_index::measure(sizes, report),
            Case::Qps => rate::measure(sizes, report),
            Case::Lists => size::lists(sizes, report),
            Case::Memory => memory::measure(sizes, report),
            Case::Ttl => ttl::measure(report),
        }
    }
}

/// Runs one Job until it has finished.
fn run_job(settings: Settings, pod_result: PodResult, job: serde_json::Value) -> Result<Figures> {
    let mut bench = Bench::start(settings, pod_result)?;
    bench.create(job)?;
    bench.wait_for_jobs(1)?;
    bench.figures()
}
