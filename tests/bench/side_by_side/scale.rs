//! Aims of family SC that need an API server with its own costs. `cargo bench --bench scale` has the others, on the embedded one.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use jobcheck_bench::{Claims, Result, median, metrics};

use crate::bench::Bench;
use crate::controller::Controllers;
use crate::measure::indexed;

const DOCUMENT: &str = "docs/results/scale.md";
/// The number of Jobs at a limited rate, and of the pods of each at a time.
const JOBS: u32 = 50;
const AT_A_TIME: u32 = 10;
/// The pods of a huge Job beside small ones, all at once, and those that exist before the first small Job.
const HUGE: u32 = 10_000;
const UNDER_WAY: f64 = 100.0;
/// The pods of a small Job, and the number of such Jobs, one after the other.
const SMALL: u32 = 3;
const TRIES: usize = 5;
/// The pods of the Job of SC-03, and those that exist at a time.
const COMPLETIONS: u32 = 100_000;
const LARGE_BATCH: u32 = 500;

/// A case of family SC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ScaleCase {
    /// SC-01, SC-06: pods a minute, and the time of syncs, at 50 and 100 requests per second.
    Rate,
    /// SC-02: a small Job beside a huge one.
    Beside,
    /// SC-03: a Job of 100,000 completions.
    Completions,
}

/// A measured figure of each kind of controllers, and its aim.
#[derive(Debug)]
struct Row {
    id: &'static str,
    what: String,
    aim: Aim,
    measured: BTreeMap<Controllers, f64>,
}

#[derive(Clone, Copy, Debug)]
enum Aim {
    AtLeast(f64),
    AtMost(f64),
}

/// All figures of a run.
#[derive(Debug, Default)]
pub struct ScaleReport(Vec<Row>);

impl ScaleReport {
    fn add(&mut self, controllers: Controllers, (id, what): (&'static str, String), aim: Aim, measured: f64) {
        eprintln!("{id}, {what}, {}: {measured:.2}", controllers.name());
        match self.0.iter_mut().find(|row| row.id == id && row.what == what) {
            Some(row) => drop(row.measured.insert(controllers, measured)),
            None => self.0.push(Row { id, what, aim, measured: BTreeMap::from([(controllers, measured)]) }),
        }
    }

    /// The aims that the shipped controllers meet according to the documentation.
    pub fn claims(&self) -> Claims {
        let mut claims = Claims::default();
        for row in &self.0 {
            let text = format!("{}: {}", row.id, row.what);
            let measured = row.measured.get(&Controllers::Shipped).copied().unwrap_or(f64::NAN);
            match row.aim {
                Aim::AtLeast(bound) => claims.at_least(DOCUMENT, text, measured, bound),
                Aim::AtMost(bound) => claims.at_most(DOCUMENT, text, measured, bound),
            }
        }
        claims
    }

    /// The figures of both kinds of controllers.
    pub fn table(&self) -> String {
        let mut text =
            "| id | what | aim | shipped | built-in |\n| --- | --- | --- | --- | --- |\n".to_owned();
        for Row { id, what, aim, measured } in &self.0 {
            let of = |controllers| measured.get(&controllers).map_or("-".to_owned(), |it| format!("{it:.2}"));
            let aim = match aim {
                Aim::AtLeast(bound) => format!("at least {bound}"),
                Aim::AtMost(bound) => format!("at most {bound}"),
            };
            let (shipped, built_in) = (of(Controllers::Shipped), of(Controllers::BuiltIn));
            // Writing to a string cannot fail.
            let _ = writeln!(text, "| {id} | {what} | {aim} | {shipped} | {built_in} |");
        }
        text
    }
}

impl ScaleCase {
    /// Measures the case with these controllers. A rate is measured for this many seconds.
    ///
    /// # Errors
    ///
    /// A measurement cannot be made.
    pub async fn measure(
        self,
        bench: &mut Bench,
        controllers: Controllers,
        window: u64,
        report: &mut ScaleReport,
    ) -> Result<()> {
        match self {
            ScaleCase::Rate => {
                for (qps, aim) in [(50, 2_500.0), (100, 5_000.0)] {
                    let (per_minute, p99) = rate(bench, controllers, qps, window).await?;
                    let what = format!("pods created or counted a minute, at {qps} QPS");
                    report.add(controllers, ("SC-01", what), Aim::AtLeast(aim), per_minute);
                    let what = format!("seconds of 99 % of syncs, at {qps} QPS (bound of the bucket)");
                    report.add(controllers, ("SC-06", what), Aim::AtMost(15.0), p99);
                }
            }
            ScaleCase::Beside => {
                for (qps, limit) in [(0, "without limit"), (50, "at 50 QPS")] {
                    for (huge, beside) in [(0, "alone"), (1, "beside 10,000 pods")] {
                        let seconds = small_jobs(bench, controllers, qps, huge).await?;
                        let (middle, longest) = (
                            median(seconds.iter().copied()),
                            seconds.iter().fold(0.0, |a: f64, b| a.max(*b)),
                        );
                        eprintln!("{beside}, {limit}: median {middle:.2} s");
                        let what = format!("seconds of the slowest of {TRIES} small Jobs, {beside}, {limit}");
                        report.add(controllers, ("SC-02", what), Aim::AtMost(60.0), longest);
                    }
                }
            }
            ScaleCase::Completions => {
                let seconds = completions(bench, controllers).await?;
                let what = format!("minutes for a Job of {COMPLETIONS} completions, {LARGE_BATCH} at a time");
                report.add(controllers, ("SC-03", what), Aim::AtMost(60.0), seconds / 60.0);
            }
        }
        Ok(())
    }
}

/// The pods that are created or counted a minute, and the bound for 99 % of the syncs in seconds.
async fn rate(bench: &mut Bench, controllers: Controllers, qps: u32, window: u64) -> Result<(f64, f64)> {
    let mut process = bench.begin(controllers, qps).await?;
    let first = f64::from(JOBS * AT_A_TIME);
    let begin = bench.pods_handled().await?;
    for _ in 0..JOBS {
        bench.create(indexed(10_000, AT_A_TIME)).await?;
    }
    // At first pods are only created. Afterwards they are created and counted.
    bench
        .wait_until(&mut process, "the pods are not counted", move |now| {
            now.created - begin.created >= first && now.counted - begin.counted >= first
        })
        .await?;
    let (started, before) = (Instant::now(), bench.pods_handled().await?);
    tokio::time::sleep(Duration::from_secs(window)).await;
    let (after, minutes) = (bench.pods_handled().await?, started.elapsed().as_secs_f64() / 60.0);
    let (_, p99) = metrics::syncs(&process.metrics().await?);
    bench.end(process).await?;
    let handled = after.created + after.counted - before.created - before.counted;
    Ok((handled / minutes, p99))
}

/// The seconds of small Jobs one after the other, beside this number of huge Jobs.
async fn small_jobs(bench: &mut Bench, controllers: Controllers, qps: u32, huge: u32) -> Result<Vec<f64>> {
    let mut process = bench.begin(controllers, qps).await?;
    let begin = bench.pods_handled().await?;
    for _ in 0..huge {
        bench.create(indexed(HUGE, HUGE)).await?;
        bench
            .wait_until(&mut process, "the huge Job does not start", move |now| {
                now.created - begin.created > UNDER_WAY
            })
            .await?;
    }
    let mut seconds = Vec::new();
    for _ in 0..TRIES {
        let (started, finished) = bench.run_job(indexed(SMALL, SMALL), &mut process).await?;
        seconds.push((finished - started).as_secs_f64());
        // The next small Job meets the huge one in another state.
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    let counted = bench.pods_handled().await?.counted - begin.counted;
    if huge > 0 && counted >= f64::from(huge * HUGE) {
        return Err("the huge Job has finished before the small ones".into());
    }
    bench.end(process).await?;
    Ok(seconds)
}

/// The seconds of a Job of 100,000 completions.
async fn completions(bench: &mut Bench, controllers: Controllers) -> Result<f64> {
    let mut process = bench.begin(controllers, 0).await?;
    let (started, finished) = bench.run_job(indexed(COMPLETIONS, LARGE_BATCH), &mut process).await?;
    bench.end(process).await?;
    Ok((finished - started).as_secs_f64())
}
