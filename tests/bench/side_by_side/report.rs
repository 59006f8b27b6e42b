//! The tables of a run, and its JSON.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use jobcheck_bench::{Claims, Result};
use serde_json::{Value, json};

use crate::controller::Controllers;
use crate::measure::{Case, Figures, PodResult};

const DOCUMENT: &str = "docs/results/side-by-side.md";

/// All measurements of a run.
#[derive(Debug, Default)]
pub struct Report(BTreeMap<Case, BTreeMap<Controllers, Vec<Figures>>>);

/// The medians of a case.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// The case.
    pub case: Case,
    /// The figures of the shipped controllers.
    pub shipped: Figures,
    /// The figures of kube-controller-manager.
    pub built_in: Figures,
}

impl Pair {
    /// The pods that have terminated and were counted, per minute.
    pub fn pods_per_minute(&self, of: Figures) -> f64 {
        f64::from(self.case.pods) * 60.0 / of.seconds
    }

    fn calls_per_pod(&self, of: Figures) -> f64 {
        of.calls / f64::from(self.case.pods)
    }

    /// The aim for the number of requests per pod.
    fn calls_aim(&self) -> f64 {
        2.0 + 10.0 / f64::from(self.case.pods)
    }

    fn speed_ratio(&self) -> f64 {
        self.built_in.seconds / self.shipped.seconds
    }

    fn cpu_ratio(&self) -> f64 {
        self.shipped.cpu_seconds / self.built_in.cpu_seconds.max(0.01)
    }

    fn memory_ratio(&self) -> f64 {
        self.shipped.peak_mb / self.built_in.peak_mb
    }
}

/// The label of a case in the tables.
pub fn label(case: Case) -> String {
    let result = if case.pod_result == PodResult::Fail { ", each fails" } else { "" };
    let limit = if case.qps == 0 { "no limit".to_owned() } else { format!("{} QPS", case.qps) };
    format!("{}{result}, {limit}", case.pods)
}

impl Report {
    /// Adds a measurement, and prints it as progress.
    pub fn add(&mut self, controllers: Controllers, case: Case, figures: Figures) {
        eprintln!("{}, {}: {figures:?}", label(case), controllers.name());
        self.0.entry(case).or_default().entry(controllers).or_default().push(figures);
    }

    /// The medians.
    pub fn pairs(&self) -> Vec<Pair> {
        let of = |all: &BTreeMap<Controllers, Vec<Figures>>, controllers| {
            all.get(&controllers).map(|it| Figures::median(it))
        };
        let pair = |(case, all): (&Case, _)| {
            let (shipped, built_in) = (of(all, Controllers::Shipped)?, of(all, Controllers::BuiltIn)?);
            Some(Pair { case: *case, shipped, built_in })
        };
        self.0.iter().filter_map(pair).collect()
    }

    /// The ratios that the documentation claims.
    pub fn claims(&self) -> Claims {
        let mut claims = Claims::default();
        for pair in self.pairs() {
            let (case, label) = (pair.case, label(pair.case));
            let text = format!("{label}: less than a quarter of the memory");
            claims.at_most(DOCUMENT, text, pair.memory_ratio(), 0.25);
            // CPU is counted in hundredths of a second, which says little about a short run.
            if case.pods >= 1_000 {
                claims.at_most(DOCUMENT, format!("{label}: no more CPU"), pair.cpu_ratio(), 1.0);
            }
            if case.pods <= 1_000 {
                let text = format!("{label}: requests per pod");
                claims.at_most(DOCUMENT, text, pair.calls_per_pod(pair.shipped), pair.calls_aim());
            }
            if case.pods == 1_000 && case.qps == 0 {
                claims.at_least(DOCUMENT, format!("{label}: pods per minute"), pair.speed_ratio(), 1.2);
            }
        }
        claims
    }

    /// Tables of the medians and of the ratios.
    pub fn table(&self) -> String {
        let mut text = "| pods | controllers | seconds | pods/min | calls/pod | CPU s | peak MB | last pod to the end, s |\n\
                        | --- | --- | --- | --- | --- | --- | --- | --- |\n"
            .to_owned();
        for pair in self.pairs() {
            for (controllers, it) in
                [(Controllers::Shipped, pair.shipped), (Controllers::BuiltIn, pair.built_in)]
            {
                // Writing to a string cannot fail.
                let _ = writeln!(
                    text,
                    "| {} | {} | {:.2} | {:.0} | {:.4} | {:.2} | {:.1} | {:.2} |",
                    label(pair.case),
                    controllers.name(),
                    it.seconds,
                    pair.pods_per_minute(it),
                    pair.calls_per_pod(it),
                    it.cpu_seconds,
                    it.peak_mb,
                    it.last_seconds,
                );
            }
        }
        text + "\n" + &self.ratios()
    }

    fn ratios(&self) -> String {
        let mut text =
            "| pods | pods/min, shipped to built-in (aim 1.2) | CPU (aim below 0.25) | memory (aim below 0.25) | \
             calls/pod, shipped (aim) |\n| --- | --- | --- | --- | --- |\n"
                .to_owned();
        for pair in self.pairs() {
            let _ = writeln!(
                text,
                "| {} | {:.2} | {:.2} | {:.2} | {:.4} ({:.4}) |",
                label(pair.case),
                pair.speed_ratio(),
                pair.cpu_ratio(),
                pair.memory_ratio(),
                pair.calls_per_pod(pair.shipped),
                pair.calls_aim(),
            );
        }
        text
    }

    /// All measurements as JSON.
    ///
    /// # Errors
    ///
    /// A figure is not finite, so that JSON cannot represent it.
    pub fn json(&self) -> Result<String> {
        let measured = |(case, all): (&Case, &BTreeMap<Controllers, Vec<Figures>>)| {
            let rounds = all.iter().map(|(controllers, figures)| (controllers.name(), json!(figures)));
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
    let output = Command::new("git").args(["describe", "--always", "--dirty"]).output();
    let output = output.ok().filter(|it| it.status.success()).map(|it| it.stdout).unwrap_or_default();
    let commit = String::from_utf8_lossy(&output).trim().to_owned();
    if commit.is_empty() { "unknown".to_owned() } else { commit }
}

/// The cores and the memory of the machine.
fn machine() -> Value {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = memory.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kilobytes: u64 = total.and_then(|it| it.split_whitespace().next()?.parse().ok()).unwrap_or(0);
    json!({ "cores": cores, "memoryGiB": kilobytes >> 20 })
}
