//! What is printed.

use std::fmt::Write as _;

use serde::Serialize;

use crate::bench::Figures;

/// All that was measured.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    measurements: Vec<Measurement>,
    answers: Vec<Answer>,
}

/// One measurement.
#[derive(Debug, Serialize)]
struct Measurement {
    case: &'static str,
    what: String,
    pods: u64,
    #[serde(flatten)]
    figures: Figures,
}

/// What was measured of a requirement.
#[derive(Debug, Serialize)]
struct Answer {
    id: &'static str,
    aim: &'static str,
    measured: String,
    /// Whether the aim is met; null where a figure is told for its own sake.
    met: Option<bool>,
}

impl Report {
    /// Takes in a measurement of so many pods, and tells it as progress.
    pub fn measured(&mut self, case: &'static str, what: &str, pods: u64, figures: &Figures) {
        let measurement = Measurement { case, what: what.to_owned(), pods, figures: figures.clone() };
        eprintln!("{}", line(&measurement));
        self.measurements.push(measurement);
    }

    /// Says what was measured of a requirement.
    pub fn answer(&mut self, id: &'static str, aim: &'static str, measured: String, met: bool) {
        eprintln!("{id}: {measured}");
        self.answers.push(Answer { id, aim, measured, met: Some(met) });
    }

    /// Says what was measured where nothing is aimed at.
    pub fn told(&mut self, id: &'static str, measured: String) {
        eprintln!("{id}: {measured}");
        self.answers.push(Answer { id, aim: "none", measured, met: None });
    }

    /// Both as tables.
    pub fn table(&self) -> String {
        let mut text = "| case | what | pods | seconds | pods/s | calls/pod | status writes | CPU ms/pod | \
                        peak MB | syncs | p99 of syncs, s | longest lists |\n\
                        | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
            .to_owned();
        for measurement in &self.measurements {
            text.push_str(&line(measurement));
            text.push('\n');
        }
        text.push_str("\n| id | aim | measured | met |\n| --- | --- | --- | --- |\n");
        for Answer { id, aim, measured, met } in &self.answers {
            let met = met.map_or("-", |met| if met { "yes" } else { "no" });
            // Writing into text cannot fail.
            let _ = writeln!(text, "| {id} | {aim} | {measured} | {met} |");
        }
        text
    }
}

fn line(of: &Measurement) -> String {
    let Measurement { case, what, pods, figures: it } = of;
    let each = |sum: f64| sum / (*pods).max(1) as f64;
    format!(
        "| {case} | {what} | {pods} | {:.1} | {:.0} | {:.4} | {} | {:.2} | {:.0} | {} | {} | {} UIDs, {} B |",
        it.seconds,
        *pods as f64 / it.seconds,
        each(it.seen.total() as f64),
        it.seen.status_writes,
        each(it.cpu_seconds * 1_000.0),
        it.peak as f64 / 1_000.0,
        it.syncs,
        it.p99_seconds,
        it.seen.longest_list,
        it.seen.longest_list_bytes,
    )
}
