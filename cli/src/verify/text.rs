//! The summary for people: one screen.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use anstyle::Style;
use jobcheck_judge::report::Exit;

use super::Timed;
use crate::styles::{BAD, BOLD, GOOD, OPEN};

/// So many things that are wrong are told of each part; the report has all.
const TOLD: usize = 5;

pub fn render(parts: &[Timed], exit: Exit, elapsed: Duration, directory: &Path) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{BOLD}{:<22} {:<44} {:>8}  result{BOLD:#}", "part", "extent", "time");
    for Timed { part, elapsed } in parts {
        let (paint, result) = result(part.exit);
        let seconds = elapsed.as_secs_f64();
        let _ =
            writeln!(out, "{:<22} {:<44} {seconds:>7.1}s  {paint}{result}{paint:#}", part.name, part.extent);
        for wrong in part.wrong.iter().take(TOLD) {
            let _ = writeln!(out, "  {paint}{}{paint:#}", crate::output::clean(wrong));
        }
        if part.wrong.len() > TOLD {
            let _ = writeln!(out, "  and {} more", part.wrong.len() - TOLD);
        }
    }
    let (paint, result) = match exit {
        Exit::Conforms => (GOOD, "all of it holds"),
        Exit::Inconclusive => (OPEN, "not all of it was verified"),
        _ => (BAD, "not all of it holds"),
    };
    let _ = writeln!(
        out,
        "{paint}{result}{paint:#} in {:.1} s; the report is in {}",
        elapsed.as_secs_f64(),
        directory.display()
    );
    out
}

fn result(exit: Exit) -> (Style, &'static str) {
    match exit {
        Exit::Conforms => (GOOD, "holds"),
        Exit::Violates => (BAD, "broken"),
        Exit::Inconclusive => (OPEN, "not finished"),
        Exit::Unreadable => (BAD, "cannot be read"),
        Exit::Environment | Exit::Internal => (BAD, "failed"),
    }
}
