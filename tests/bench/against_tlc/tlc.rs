//! TLC, in a process of its own.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use jobcheck_bench::{Result, peak_memory};

use crate::measure::Measured;

/// TLC, as `model/tla/compare` installs it.
pub struct Tlc {
    jar: PathBuf,
}

/// The extent of TLC's checks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Invariants {
    /// It checks invariants and properties of steps.
    Checked,
    /// It only enumerates states.
    Omitted,
}

/// The bytes of TLC's fingerprint of a state.
const FINGERPRINT: u64 = 8;

/// The interval in which memory and disk are measured.
const INTERVAL: Duration = Duration::from_millis(100);

impl Tlc {
    /// Finds TLC, and downloads it the first time.
    pub fn find() -> Result<Tlc> {
        let output =
            Command::new(specification().join("compare")).arg("--jar").stderr(Stdio::inherit()).output();
        let output = output.map_err(|error| format!("cannot run model/tla/compare: {error}"))?;
        if !output.status.success() {
            return Err("model/tla/compare cannot get TLC".into());
        }
        Ok(Tlc { jar: PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()) })
    }

    /// Searches a scope of the second specification.
    pub fn search(&self, name: &str, workers: usize, invariants: Invariants) -> Result<Measured> {
        let folder = self.jar.with_file_name("against").join(name);
        let problem = |error| format!("{}: {error}", folder.display());
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("tmp")).map_err(problem)?;
        let configuration = configuration(name, invariants).map_err(problem)?;
        fs::write(folder.join("MC.cfg"), configuration).map_err(problem)?;
        let started = Instant::now();
        let process = self.start(&folder, workers).map_err(|error| format!("cannot start java: {error}"))?;
        let run = observe(process, &folder, started);
        let _ = fs::remove_dir_all(&folder);
        run.measured().ok_or_else(|| format!("{name}: TLC prints\n{}", run.output.join("\n")).into())
    }

    fn start(&self, folder: &Path, workers: usize) -> std::io::Result<Child> {
        let inside = |name: &str| folder.join(name).display().to_string();
        Command::new("java")
            // TLC recommends this collector.
            .args(["-Xmx2g", "-XX:+UseParallelGC", "-XX:-UsePerfData"])
            .arg(format!("-Djava.io.tmpdir={}", inside("tmp")))
            .arg("-cp")
            .arg(&self.jar)
            .args(["tlc2.TLC", "-deadlock", "-fp", "0", "-workers", &workers.to_string()])
            .args(["-metadir", &inside("states"), "-config", &inside("MC.cfg"), "JobTracking.tla"])
            .current_dir(specification())
            .stdout(Stdio::piped())
            .spawn()
    }
}

fn specification() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../model/tla")
}

/// The configuration of the second specification for a scope. Invariants and properties are its last parts.
fn configuration(name: &str, invariants: Invariants) -> std::io::Result<String> {
    let text = fs::read_to_string(specification().join("MC.cfg"))?.replace("SCOPE\"", &format!("{name}\""));
    let end = text.find("INVARIANTS").filter(|_| invariants == Invariants::Omitted);
    Ok(text[..end.unwrap_or(text.len())].to_owned())
}

/// The output of a run of TLC, and its cost.
#[derive(Default)]
struct Run {
    output: Vec<String>,
    searched_from: Option<f64>,
    searched_until: Option<f64>,
    peak: Option<u64>,
    disk: u64,
}

/// Reads TLC's output until it ends, and meanwhile measures its memory and its files.
fn observe(mut process: Child, folder: &Path, started: Instant) -> Run {
    let mut run = Run::default();
    let (id, has_ended) = (process.id(), AtomicBool::new(false));
    let out = process.stdout.take();
    std::thread::scope(|threads| {
        let sampler = threads.spawn(|| {
            let (mut peak, mut disk) = (None, 0);
            while !has_ended.load(Ordering::Relaxed) {
                peak = peak.max(peak_memory(id));
                disk = disk.max(size(&folder.join("states")));
                std::thread::sleep(INTERVAL);
            }
            (peak, disk)
        });
        for line in
            out.into_iter().flat_map(|out| BufReader::new(out).lines()).map_while(std::result::Result::ok)
        {
            let now = started.elapsed().as_secs_f64();
            if line.starts_with("Computing initial states") {
                run.searched_from = Some(now);
            } else if line.starts_with("Model checking completed. No error has been found.") {
                run.searched_until = Some(now);
            }
            run.output.push(line);
        }
        has_ended.store(true, Ordering::Relaxed);
        (run.peak, run.disk) = sampler.join().unwrap_or_default();
    });
    let _ = process.wait();
    run
}

/// The bytes of all files in a directory.
fn size(directory: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(directory) else { return 0 };
    let of = |path: &Path| if path.is_dir() { size(path) } else { path.metadata().map_or(0, |it| it.len()) };
    entries.filter_map(std::result::Result::ok).map(|entry| of(&entry.path())).sum()
}

impl Run {
    fn measured(&self) -> Option<Measured> {
        let counts = self.output.iter().find(|line| line.ends_with(", 0 states left on queue."))?;
        let number = |text: &str, after: usize| text.split_whitespace().nth(after)?.parse::<u64>().ok();
        let depth = self.output.iter().find_map(|line| {
            line.strip_prefix("The depth of the complete state graph search is ")?.strip_suffix('.')
        })?;
        let states = number(counts, 3)?;
        let start = self.searched_from?;
        Some(Measured {
            states,
            steps: number(counts, 0)?,
            // TLC counts the states of a path, and the explorer its steps.
            depth: depth.parse::<u64>().ok()?.checked_sub(1)?,
            start,
            seconds: self.searched_until? - start,
            bytes: states * FINGERPRINT,
            peak: self.peak,
            disk: self.disk,
        })
    }
}
