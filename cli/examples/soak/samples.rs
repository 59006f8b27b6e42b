//! The memory, the threads, and the open files of the processes over the run.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::ensure;

use super::disturb::Disturbances;

/// A tenth more than after the first tenth is flat.
const GROWTH: f64 = 1.1;
/// The number of Jobs from which on the memory counts.
const ENOUGH: u64 = 10_000;
/// The number of samples of which the median counts.
const MEDIAN_OF: usize = 9;

struct Process {
    name: &'static str,
    id: u32,
    /// Bytes, threads, and open files at each sample.
    rows: Vec<[u64; 3]>,
}

/// The samples of a run.
pub struct Samples {
    processes: Vec<Process>,
    jobs: u64,
    begun: Instant,
    /// The number of Jobs, and the seconds, at each sample.
    at: Vec<(u64, u64)>,
    disturbed: String,
}

impl Samples {
    pub fn new(ids: Vec<(&'static str, u32)>, jobs: u64) -> Samples {
        let processes = ids.into_iter().map(|(name, id)| Process { name, id, rows: Vec::new() }).collect();
        Samples { processes, jobs, begun: Instant::now(), at: Vec::new(), disturbed: String::new() }
    }

    /// The run has ended after this number of Jobs.
    pub fn ends_after(&mut self, jobs: u64) {
        self.jobs = jobs;
    }

    /// The number of Jobs at which the next sample is due.
    pub fn next(&self, every: u64) -> u64 {
        every * (self.at.len() as u64 + 1)
    }

    pub fn take(&mut self, gone: u64, so_far: &Disturbances) {
        self.at.push((gone, self.begun.elapsed().as_secs()));
        let Disturbances { cut, stolen, .. } = so_far;
        self.disturbed = format!(
            "{cut} watches cut, {} times expired (410), {stolen} leases stolen, {} jumps of the clock with another token, \
             {} certificates seen",
            so_far.compactions(),
            so_far.jumps(),
            so_far.certificates()
        );
        for process in &mut self.processes {
            let status = fs::read_to_string(format!("/proc/{}/status", process.id)).unwrap_or_default();
            let number = |key: &str| {
                let line = status.lines().find_map(|line| line.strip_prefix(key));
                line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0)
            };
            let files = fs::read_dir(format!("/proc/{}/fd", process.id)).map_or(0, Iterator::count);
            process.rows.push([number("VmRSS:") * 1024, number("Threads:"), files as u64]);
        }
    }

    /// The median of some bytes at this part of the run.
    fn memory(&self, process: &Process, part: f64) -> f64 {
        let last = process.rows.len().saturating_sub(MEDIAN_OF);
        let from = last.min((process.rows.len() as f64 * part) as usize);
        let mut some: Vec<u64> = process.rows.iter().skip(from).take(MEDIAN_OF).map(|row| row[0]).collect();
        some.sort_unstable();
        some.get(some.len() / 2).map_or(0.0, |bytes| *bytes as f64)
    }

    /// The memory after a tenth. A replica that stands by then is compared with the one that leads.
    fn after_a_tenth(&self, process: &Process) -> f64 {
        let kind = |name: &'static str| name.split(' ').next();
        let alike = self.processes.iter().filter(|other| kind(other.name) == kind(process.name));
        alike.map(|other| self.memory(other, 0.1)).fold(0.0, f64::max)
    }

    /// A table for people.
    pub fn table(&self) -> String {
        let mut out = String::new();
        let seconds = self.begun.elapsed().as_secs();
        let _ = writeln!(out, "{} Jobs in {seconds} s; {}\n", self.jobs, self.disturbed);
        let _ =
            writeln!(out, "| process | MB after a tenth | MB at the end | ratio | threads | open files |");
        let _ = writeln!(out, "| --- | --- | --- | --- | --- | --- |");
        for process in &self.processes {
            let (tenth, end) = (self.memory(process, 0.1), self.memory(process, 1.0));
            let most = |column: usize| process.rows.iter().map(|row| row[column]).max().unwrap_or(0);
            let ratio = end / tenth.max(1.0);
            let _ = writeln!(
                out,
                "| {} | {:.1} | {:.1} | {ratio:.2} | {} | {} |",
                process.name,
                tenth / 1e6,
                end / 1e6,
                most(1),
                most(2)
            );
        }
        out
    }

    /// Writes the samples, and their curves.
    pub fn write(&self, path: &Path) -> anyhow::Result<()> {
        let mut csv = "jobs,seconds".to_owned();
        for process in &self.processes {
            let name = process.name;
            let _ = write!(csv, ",{name} bytes,{name} threads,{name} files");
        }
        for (row, (gone, seconds)) in self.at.iter().enumerate() {
            let _ = write!(csv, "\n{gone},{seconds}");
            for process in &self.processes {
                let [bytes, threads, files] = process.rows[row];
                let _ = write!(csv, ",{bytes},{threads},{files}");
            }
        }
        fs::write(path.with_extension("csv"), csv + "\n")?;
        fs::write(path.with_extension("svg"), self.curves())?;
        Ok(())
    }

    /// The memory over the Jobs, as a drawing.
    fn curves(&self) -> String {
        const COLOURS: [&str; 4] = ["#1f77b4", "#17becf", "#d62728", "#9467bd"];
        let most = self.processes.iter().flat_map(|it| &it.rows).map(|row| row[0]).max().unwrap_or(1) as f64;
        let mut out = String::from(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 760 340\" font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"760\" height=\"340\" fill=\"white\"/>\n",
        );
        for (process, colour) in self.processes.iter().zip(COLOURS) {
            let points = self.at.iter().zip(&process.rows).map(|((gone, _), row)| {
                let x = 60.0 + 560.0 * *gone as f64 / self.jobs.max(1) as f64;
                format!("{x:.1},{:.1}", 300.0 - 270.0 * row[0] as f64 / most)
            });
            let points: Vec<String> = points.collect();
            let _ = writeln!(
                out,
                "<polyline fill=\"none\" stroke=\"{colour}\" points=\"{}\"/>",
                points.join(" ")
            );
        }
        for (place, (process, colour)) in self.processes.iter().zip(COLOURS).enumerate() {
            let _ = writeln!(
                out,
                "<text x=\"630\" y=\"{}\" fill=\"{colour}\">{}</text>",
                40 + 18 * place,
                process.name
            );
        }
        let _ = writeln!(
            out,
            "<text x=\"5\" y=\"34\">{:.0} MB</text><text x=\"40\" y=\"304\">0</text>",
            most / 1e6
        );
        let _ = writeln!(out, "<text x=\"560\" y=\"325\">{} Jobs</text>\n</svg>", self.jobs);
        out
    }

    /// Fails unless each curve is flat. A short run has not filled all caches, and says nothing.
    pub fn check(&self) -> anyhow::Result<()> {
        if self.jobs < ENOUGH {
            return Ok(());
        }
        for process in &self.processes {
            let (tenth, end) = (self.after_a_tenth(process), self.memory(process, 1.0));
            ensure!(
                end <= tenth * GROWTH,
                "the memory of {} grows from {:.1} to {:.1} MB",
                process.name,
                tenth / 1e6,
                end / 1e6
            );
        }
        Ok(())
    }
}
