//! TLC, in a process of its own.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::measure::{Measured, peak_memory};

/// TLC, as `model/tla/compare` gets it.
pub struct Tlc {
    jar: PathBuf,
}

/// Whether TLC looks at anything but the states.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Invariants {
    /// The twin's invariants and properties of steps.
    Checked,
    /// States are only found.
    LeftOut,
}

/// What TLC's fingerprint of a state takes.
const FINGERPRINT: u64 = 8;

/// How often memory and disk are looked at.
const OFTEN: Duration = Duration::from_millis(100);

impl Tlc {
    /// Gets it, once.
    pub fn get() -> Result<Tlc, String> {
        let output = Command::new(twin().join("compare")).arg("--jar").stderr(Stdio::inherit()).output();
        let output = output.map_err(|error| format!("cannot run model/tla/compare: {error}"))?;
        if !output.status.success() {
            return Err("model/tla/compare cannot get TLC".to_owned());
        }
        Ok(Tlc { jar: PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()) })
    }

    /// Searches a scope of the twin.
    pub fn search(&self, name: &str, workers: usize, invariants: Invariants) -> Result<Measured, String> {
        let work = self.jar.with_file_name("against").join(name);
        let problem = |error| format!("{}: {error}", work.display());
        let _ = fs::remove_dir_all(&work);
        fs::create_dir_all(work.join("tmp")).map_err(problem)?;
        fs::write(work.join("MC.cfg"), configuration(name, invariants).map_err(problem)?).map_err(problem)?;
        let begun = Instant::now();
        let process = self.start(&work, workers).map_err(|error| format!("cannot start java: {error}"))?;
        let seen = watch(process, &work, begun);
        let _ = fs::remove_dir_all(&work);
        seen.measured().ok_or_else(|| format!("{name}: TLC says\n{}", seen.said.join("\n")))
    }

    fn start(&self, work: &Path, workers: usize) -> std::io::Result<Child> {
        let in_work = |name: &str| work.join(name).display().to_string();
        Command::new("java")
            // The collector that TLC asks for.
            .args(["-Xmx2g", "-XX:+UseParallelGC", "-XX:-UsePerfData"])
            .arg(format!("-Djava.io.tmpdir={}", in_work("tmp")))
            .arg("-cp")
            .arg(&self.jar)
            .args(["tlc2.TLC", "-deadlock", "-fp", "0", "-workers", &workers.to_string()])
            .args(["-metadir", &in_work("states"), "-config", &in_work("MC.cfg"), "JobTracking.tla"])
            .current_dir(twin())
            .stdout(Stdio::piped())
            .spawn()
    }
}

fn twin() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tla")
}

/// The twin's configuration for a scope; invariants and properties come last in it.
fn configuration(name: &str, invariants: Invariants) -> std::io::Result<String> {
    let text = fs::read_to_string(twin().join("MC.cfg"))?.replace("SCOPE\"", &format!("{name}\""));
    let end = text.find("INVARIANTS").filter(|_| invariants == Invariants::LeftOut);
    Ok(text[..end.unwrap_or(text.len())].to_owned())
}

/// What TLC said, and when.
#[derive(Default)]
struct Seen {
    said: Vec<String>,
    searched_from: Option<f64>,
    searched_until: Option<f64>,
    peak: Option<u64>,
    disk: u64,
}

/// Reads what TLC says until it ends, and looks at its memory and its files meanwhile.
fn watch(mut process: Child, work: &Path, begun: Instant) -> Seen {
    let mut seen = Seen::default();
    let (id, over) = (process.id().to_string(), AtomicBool::new(false));
    let out = process.stdout.take();
    std::thread::scope(|threads| {
        let looks = threads.spawn(|| {
            let (mut peak, mut disk) = (None, 0);
            while !over.load(Ordering::Relaxed) {
                peak = peak.max(peak_memory(&id));
                disk = disk.max(size(&work.join("states")));
                std::thread::sleep(OFTEN);
            }
            (peak, disk)
        });
        for line in out.into_iter().flat_map(|out| BufReader::new(out).lines()).map_while(Result::ok) {
            let now = begun.elapsed().as_secs_f64();
            if line.starts_with("Computing initial states") {
                seen.searched_from = Some(now);
            } else if line.starts_with("Model checking completed. No error has been found.") {
                seen.searched_until = Some(now);
            }
            seen.said.push(line);
        }
        over.store(true, Ordering::Relaxed);
        (seen.peak, seen.disk) = looks.join().unwrap_or_default();
    });
    let _ = process.wait();
    seen
}

/// Bytes of all files below a directory.
fn size(directory: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(directory) else { return 0 };
    let of = |path: &Path| if path.is_dir() { size(path) } else { path.metadata().map_or(0, |it| it.len()) };
    entries.filter_map(Result::ok).map(|entry| of(&entry.path())).sum()
}

impl Seen {
    fn measured(&self) -> Option<Measured> {
        let counts = self.said.iter().find(|line| line.ends_with(", 0 states left on queue."))?;
        let number = |text: &str, after: usize| text.split_whitespace().nth(after)?.parse::<u64>().ok();
        let depth = self.said.iter().find_map(|line| {
            line.strip_prefix("The depth of the complete state graph search is ")?.strip_suffix('.')
        })?;
        let states = number(counts, 3)?;
        let start = self.searched_from?;
        Some(Measured {
            states,
            steps: number(counts, 0)?,
            // TLC counts states on the way, and we steps.
            depth: depth.parse::<u64>().ok()?.checked_sub(1)?,
            start,
            seconds: self.searched_until? - start,
            bytes: states * FINGERPRINT,
            peak: self.peak,
            disk: self.disk,
        })
    }
}
