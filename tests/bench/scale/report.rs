//! The tables of a run.

use std::fmt::Write as _;

use jobcheck_bench::Claims;
use serde::Serialize;

use crate::bench::Figures;

const DOCUMENT: &str = "docs/results/scale.md";

/// All measurements of a run, and the aims that they decide.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    measurements: Vec<Measurement>,
    aims: Vec<Aim>,
}

#[derive(Debug, Serialize)]
struct Measurement {
    case: &'static str,
    what: String,
    pods: u64,
    #[serde(flatten)]
    figures: Figures,
}

/// An aim of a requirement, and what was measured.
#[derive(Debug, Serialize)]
struct Aim {
    id: &'static str,
    aim: &'static str,
    measured: String,
    /// True if the aim is met. `None` for a figure without an aim.
    is_met: Option<bool>,
    /// The documentation claims that the aim is met.
    is_claimed: bool,
}

/// The documented result of an aim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Documented {
    /// The aim is met.
    Met,
    /// The aim is missed.
    Missed,
}

impl Report {
    /// Adds a measurement of a number of pods, and prints it as progress.
    pub fn add(&mut self, case: &'static str, what: &str, pods: u64, figures: &Figures) {
        let measurement = Measurement { case, what: what.to_owned(), pods, figures: figures.clone() };
        eprintln!("{}", row(&measurement));
        self.measurements.push(measurement);
    }

    /// Adds an aim.
    pub fn add_aim(
        &mut self,
        id: &'static str,
        aim: &'static str,
        documented: Documented,
        measured: String,
        is_met: bool,
    ) {
        eprintln!("{id}: {measured}");
        let is_claimed = documented == Documented::Met;
        self.aims.push(Aim { id, aim, measured, is_met: Some(is_met), is_claimed });
    }

    /// Adds a figure without an aim.
    pub fn add_figure(&mut self, id: &'static str, measured: String) {
        eprintln!("{id}: {measured}");
        self.aims.push(Aim { id, aim: "none", measured, is_met: None, is_claimed: false });
    }

    /// The aims that are met according to the documentation.
    pub fn claims(&self) -> Claims {
        let mut claims = Claims::default();
        for it in self.aims.iter().filter(|it| it.is_claimed) {
            claims.compared(
                DOCUMENT,
                format!("{}: {}", it.id, it.aim),
                &it.measured,
                it.is_met == Some(true),
            );
        }
        claims
    }

    /// Tables of measurements and aims.
    pub fn table(&self) -> String {
        let mut text = "| case | what | pods | seconds | pods/s | calls/pod | status writes | CPU ms/pod | \
                        peak MB | syncs | p99 of syncs, s | longest lists |\n\
                        | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
            .to_owned();
        for measurement in &self.measurements {
            text.push_str(&row(measurement));
            text.push('\n');
        }
        text.push_str("\n| id | aim | measured | met |\n| --- | --- | --- | --- |\n");
        for Aim { id, aim, measured, is_met, .. } in &self.aims {
            let met = is_met.map_or("-", |met| if met { "yes" } else { "no" });
            // Writing to a string cannot fail.
            let _ = writeln!(text, "| {id} | {aim} | {measured} | {met} |");
        }
        text
    }
}

fn row(measurement: &Measurement) -> String {
    let Measurement { case, what, pods, figures: it } = measurement;
    let per_pod = |sum: f64| sum / (*pods).max(1) as f64;
    format!(
        "| {case} | {what} | {pods} | {:.1} | {:.0} | {:.4} | {} | {:.2} | {:.0} | {} | {} | {} UIDs, {} B |",
        it.seconds,
        *pods as f64 / it.seconds,
        per_pod(it.counts.total() as f64),
        it.counts.status_writes,
        per_pod(it.cpu_seconds * 1_000.0),
        it.peak as f64 / 1_000.0,
        it.syncs,
        it.p99_seconds,
        it.counts.longest_list,
        it.counts.longest_list_bytes,
    )
}
