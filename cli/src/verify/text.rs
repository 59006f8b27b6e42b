//! The summary for people: one screen.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use anstyle::Style;
use jobcheck_judge::report::Exit;

use super::Timed;
use crate::styles::{BAD, BOLD, GOOD, OPEN};
use crate::text::{clean, of_path};

/// The number of problems of a part that are shown. The report has all.
const MOST_SHOWN: usize = 5;

/// The head of the table.
pub fn head() -> String {
    format!("{BOLD}{:<19}  {:<41} {:>7}  result{BOLD:#}\n", "part", "extent", "time")
}

/// The row of a part, with its first problems.
pub fn row(Timed { part, elapsed }: &Timed) -> String {
    let (paint, result) = result(part.exit);
    let seconds = elapsed.as_secs_f64();
    let mut out =
        format!("{:<19}  {:<41} {seconds:>6.1}s  {paint}{result}{paint:#}\n", part.name.text(), part.extent);
    for problem in part.problems.iter().take(MOST_SHOWN) {
        let _ = writeln!(out, "  {paint}{}{paint:#}", clean(problem));
    }
    if part.problems.len() > MOST_SHOWN {
        let _ = writeln!(out, "  and {} more", part.problems.len() - MOST_SHOWN);
    }
    out
}

/// The last line.
pub fn summary((exit, words): (Exit, &str), elapsed: Duration, directory: &Path) -> String {
    let (paint, _) = result(exit);
    let (seconds, directory) = (elapsed.as_secs_f64(), of_path(directory));
    format!("{paint}{words}{paint:#} in {seconds:.1} s; the report is in {directory}\n")
}

/// The result of a part in its colour.
pub fn result(exit: Exit) -> (Style, &'static str) {
    match exit {
        Exit::Conforms => (GOOD, "holds"),
        Exit::Violates => (BAD, "broken"),
        Exit::Inconclusive => (OPEN, "not finished"),
        Exit::Unreadable => (BAD, "unreadable"),
        Exit::Environment | Exit::Internal => (BAD, "failed"),
    }
}
