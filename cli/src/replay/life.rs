//! The life of a Job: the events that matter for its counts, and a table of its pods.

use jobcheck_judge::report::{JobReport, Life, Line, PodFate};

use super::clock::{date, time};
use super::text::Style;
use crate::output::count;
use crate::styles::{BOLD, DIM};
use crate::text::{clean, short};

/// The number of events, and of pods, that are shown without `-v` and `--explain=all`.
const FEW: usize = 60;

/// The life of a Job as text, if the report has it.
pub fn text(job: &JobReport, style: &Style) -> String {
    let Some(life) = &job.life else { return String::new() };
    let all = style.verbose || style.explain.is_unbounded();
    let few = if all { usize::MAX } else { FEW };
    let mut out = events(life, few, job.files.len() > 1);
    out.push_str(&pods(life, few, job.files.len() > 1));
    out
}

fn events(life: &Life, few: usize, with_files: bool) -> String {
    let first = life.events.iter().find_map(|event| date(event.time.as_deref()));
    let day = first.map(|date| format!(" (UTC, from {date} on)")).unwrap_or_default();
    let mut out = format!("    {BOLD}its life{BOLD:#}{day}\n");
    for event in life.events.iter().take(few) {
        out.push_str(&format!("      {}  {}\n", at(event, with_files), short(&event.text)));
    }
    let more = life.events.len().saturating_sub(few);
    if more > 0 {
        out.push_str(&format!(
            "      {DIM}… and {} more; --explain=all shows them{DIM:#}\n",
            count(more, "event")
        ));
    }
    if life.left_out > 0 {
        out.push_str(&format!(
            "      {DIM}… and {} that were not kept{DIM:#}\n",
            count(life.left_out, "event")
        ));
    }
    out
}

/// File, line, and clock time of a line.
fn at(line: &Line, with_files: bool) -> String {
    let file = line.file.as_deref().filter(|_| with_files).map(|file| format!("{}:", clean(file)));
    let number = line.line.map(|number| number.to_string()).unwrap_or_default();
    let clock = time(line.time.as_deref()).map(|time| format!("  {time}")).unwrap_or_default();
    match file {
        Some(file) => format!("{file}{number}{clock}"),
        None => format!("{number:>6}{clock}"),
    }
}

fn pods(life: &Life, few: usize, with_files: bool) -> String {
    if life.pods.is_empty() {
        return String::new();
    }
    let mut rows = vec![["pod", "index", "end", "counted as", "at"].map(str::to_owned)];
    rows.extend(life.pods.iter().take(few).flat_map(|pod| fate(pod, with_files)));
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 5] = std::array::from_fn(width);
    let mut out = format!("    {BOLD}its pods{BOLD:#}\n");
    for row in &rows {
        let cells: Vec<String> =
            row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        out.push_str(&format!("      {}\n", cells.join("  ").trim_end()));
    }
    let more = life.pods.len().saturating_sub(few);
    if more > 0 {
        out.push_str(&format!(
            "      {DIM}… and {} more; --explain=all shows them{DIM:#}\n",
            count(more, "pod")
        ));
    }
    out
}

/// The rows of a pod: one, or one for each time that it was counted.
fn fate(pod: &PodFate, with_files: bool) -> Vec<[String; 5]> {
    let index = pod.index.map_or_else(|| "-".to_owned(), |index| index.to_string());
    let mut end = pod.phase.clone();
    for (holds, word) in [(pod.deleted, ", deleted"), (pod.gone, ", gone")] {
        if holds {
            end.push_str(word);
        }
    }
    let row =
        |counted: &str, at: String| [clean(&pod.pod), index.clone(), end.clone(), counted.to_owned(), at];
    if pod.counted.is_empty() {
        return vec![row("not counted", String::new())];
    }
    let counted = |line: &Line| row(&clean(&line.text), at(line, with_files).trim_start().to_owned());
    pod.counted.iter().map(counted).collect()
}
