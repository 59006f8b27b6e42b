//! What is printed, and written.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::Result;
use crate::controller::Who;
use crate::measure::{Case, Fate, Figures};

/// All that was measured.
#[derive(Debug, Default)]
pub struct Report(BTreeMap<Case, BTreeMap<Who, Vec<Figures>>>);

/// The medians of a case: ours, and those of the built-in.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// The case.
    pub case: Case,
    /// Of the shipped controllers.
    pub ours: Figures,
    /// Of kube-controller-manager.
    pub built_in: Figures,
}

impl Pair {
    /// Pods that have ended and were counted, a minute.
    pub fn pods_a_minute(&self, of: Figures) -> f64 {
        f64::from(self.case.pods) * 60.0 / of.seconds
    }

    fn calls_a_pod(&self, of: Figures) -> f64 {
        of.calls / f64::from(self.case.pods)
    }
}

/// A Job, as the tables have it.
pub fn told(case: Case) -> String {
    let fate = if case.fate == Fate::Fail { ", each fails" } else { "" };
    let limit = if case.qps == 0 { "no limit".to_owned() } else { format!("{} QPS", case.qps) };
    format!("{}{fate}, {limit}", case.pods)
}

impl Report {
    /// Takes in a measurement, and tells it as progress.
    pub fn take(&mut self, who: Who, case: Case, figures: Figures) {
        eprintln!("{}, {}: {figures:?}", told(case), who.name());
        self.0.entry(case).or_default().entry(who).or_default().push(figures);
    }

    /// The medians.
    pub fn pairs(&self) -> Vec<Pair> {
        let of = |all: &BTreeMap<Who, Vec<Figures>>, who| all.get(&who).map(|it| Figures::median(it));
        let pair = |(case, all): (&Case, _)| {
            let (ours, built_in) = (of(all, Who::Ours)?, of(all, Who::BuiltIn)?);
            Some(Pair { case: *case, ours, built_in })
        };
        self.0.iter().filter_map(pair).collect()
    }

    /// Medians, and ratios of ours to the built-in's.
    pub fn table(&self) -> String {
        let mut text = "| pods | controller | seconds | pods/min | calls/pod | CPU s | peak MB | last pod to the end, s |\n\
                        | --- | --- | --- | --- | --- | --- | --- | --- |\n"
            .to_owned();
        for pair in self.pairs() {
            for (who, it) in [(Who::Ours, pair.ours), (Who::BuiltIn, pair.built_in)] {
                // Writing into text cannot fail.
                let _ = writeln!(
                    text,
                    "| {} | {} | {:.2} | {:.0} | {:.4} | {:.2} | {:.1} | {:.2} |",
                    told(pair.case),
                    who.name(),
                    it.seconds,
                    pair.pods_a_minute(it),
                    pair.calls_a_pod(it),
                    it.cpu_seconds,
                    it.peak_mb,
                    it.last_seconds,
                );
            }
        }
        text + "\n" + &self.ratios()
    }

    fn ratios(&self) -> String {
        let mut text = "| pods | pods/min, ours to built-in (aim 1.2) | CPU (aim below 0.25) | memory (aim below 0.25) | \
                        calls/pod, ours (aim) |\n| --- | --- | --- | --- | --- |\n"
            .to_owned();
        for pair in self.pairs() {
            let (ours, other) = (pair.ours, pair.built_in);
            let _ = writeln!(
                text,
                "| {} | {:.2} | {:.2} | {:.2} | {:.4} ({:.4}) |",
                told(pair.case),
                other.seconds / ours.seconds,
                ours.cpu_seconds / other.cpu_seconds.max(0.01),
                ours.peak_mb / other.peak_mb,
                pair.calls_a_pod(ours),
                2.0 + 10.0 / f64::from(pair.case.pods),
            );
        }
        text
    }

    /// All of it, also each round.
    ///
    /// # Errors
    /// A figure that JSON cannot have.
    pub fn json(&self) -> Result<String> {
        let measured = |(case, all): (&Case, &BTreeMap<Who, Vec<Figures>>)| {
            let rounds = all.iter().map(|(who, figures)| (who.name(), json!(figures)));
            json!({ "case": case, "rounds": rounds.collect::<BTreeMap<&str, Value>>() })
        };
        let measured: Vec<Value> = self.0.iter().map(measured).collect();
        Ok(serde_json::to_string_pretty(
            &json!({ "commit": commit(), "machine": machine(), "measured": measured }),
        )?)
    }
}

/// The commit of the current folder.
fn commit() -> String {
    let asked = Command::new("git").args(["describe", "--always", "--dirty"]).output();
    let said = asked.ok().filter(|it| it.status.success()).map(|it| it.stdout).unwrap_or_default();
    let said = String::from_utf8_lossy(&said).trim().to_owned();
    if said.is_empty() { "unknown".to_owned() } else { said }
}

/// The shape of the machine.
fn machine() -> Value {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = memory.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kilobytes: u64 = total.and_then(|it| it.split_whitespace().next()?.parse().ok()).unwrap_or(0);
    json!({ "cores": cores, "memoryGiB": kilobytes >> 20 })
}
