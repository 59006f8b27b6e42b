//! Many Jobs at once, and a small Job beside huge ones.

use std::time::{Duration, Instant};

use jobcheck_bench::Result;

use super::{Sizes, UNLIMITED};
use crate::bench::Bench;
use crate::controller::Settings;
use crate::jobs::{indexed, plain};
use crate::kubelet::PodResult;
use crate::report::{Documented, Report};

/// The number of Jobs at once.
const JOBS: u32 = 1_000;
/// The number of pods of a small Job.
const SMALL: u32 = 3;
/// The number of small Jobs.
const TRIES: usize = 5;
/// The number of pods of each huge Job that are created before small Jobs.
const UNDER_WAY: u64 = 100;
/// The number of Jobs that are synced at a time.
const WORKERS: u32 = 5;

/// 1,000 Jobs at once.
pub fn many(report: &mut Report) -> Result<()> {
    let mut bench = Bench::start(UNLIMITED, PodResult::Succeed)?;
    for job in 0..JOBS {
        bench.create(plain(&format!("job-{job}"), SMALL, SMALL))?;
    }
    bench.wait_for_jobs(JOBS as usize)?;
    let (pods, figures) = (u64::from(JOBS * SMALL), bench.figures()?);
    report.add("many", "1,000 Jobs of 3 pods", pods, &figures);
    let measured = format!(
        "{JOBS} Jobs of {SMALL} in {:.1} s, {:.1} status writes per Job",
        figures.seconds,
        figures.counts.status_writes as f64 / f64::from(JOBS)
    );
    report.add_aim("many", "1,000 Jobs at once finish", Documented::Met, measured, true);
    Ok(())
}

/// SC-02: the seconds of a small Job alone, beside a huge one, and beside as many huge ones as there are workers.
pub fn beside(sizes: &Sizes, report: &mut Report) -> Result<()> {
    let limited = Settings { qps: 50.0, ..UNLIMITED };
    for (settings, huge) in [(UNLIMITED, 1), (limited, 1), (limited, WORKERS)] {
        let limit = if settings.qps > 0.0 { format!("{} QPS", settings.qps) } else { "no limit".to_owned() };
        let alone = small_jobs(settings, 0, sizes.most)?;
        let beside = small_jobs(settings, huge, sizes.most)?;
        let measured = format!(
            "{limit}: median {:.1} s alone (longest {:.1} s), {:.1} s beside {huge} Jobs of {} pods (longest {:.1} s)",
            alone[TRIES / 2],
            alone[TRIES - 1],
            beside[TRIES / 2],
            sizes.most,
            beside[TRIES - 1]
        );
        report.add_aim(
            "SC-02",
            "a small Job finishes in bounded time",
            Documented::Met,
            measured,
            beside[TRIES - 1] < 60.0,
        );
    }
    Ok(())
}

/// The seconds of small Jobs one after the other, beside huge Jobs, in ascending order.
fn small_jobs(settings: Settings, huge: u32, pods: u32) -> Result<Vec<f64>> {
    let mut bench = Bench::start(settings, PodResult::Succeed)?;
    for job in 0..huge {
        bench.create(indexed(&format!("huge-{job}"), pods, pods))?;
    }
    bench.wait_until("the huge Jobs do not start", |counts| {
        huge == 0 || counts.created > UNDER_WAY * u64::from(huge)
    })?;
    let mut seconds = Vec::new();
    for job in 1..=TRIES {
        let started = Instant::now();
        let name = format!("small-{job}");
        bench.create(plain(&name, SMALL, SMALL))?;
        bench.wait_until("a small Job does not finish", |counts| counts.finished.contains_key(&name))?;
        seconds.push(started.elapsed().as_secs_f64());
        // The next small Job meets the huge one in another state.
        std::thread::sleep(Duration::from_millis(300));
    }
    if (0..huge).any(|job| bench.counts().finished.contains_key(&format!("huge-{job}"))) {
        return Err("a huge Job finished before the small ones: pass a larger --most".into());
    }
    seconds.sort_by(f64::total_cmp);
    Ok(seconds)
}
