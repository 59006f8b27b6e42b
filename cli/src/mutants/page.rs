//! The report as a page: a row for each defect, and its counterexample below.

use std::path::Path;

use jobcheck_judge::report::Exit;
use jobcheck_look::escape::html;
use jobcheck_look::plot::bar;

use super::report::{MutantReport, MutantsReport};
use super::result;
use crate::check::counterexample_page;
use crate::page::{document, head, number, row, table};
use crate::save::can_write;
use crate::view;

/// Returns whether the page can be written, or none is asked for.
pub fn is_possible(file: Option<&Path>) -> bool {
    file.is_none_or(can_write)
}

/// Writes the page, if one is asked for. Returns the exit code.
pub fn write(file: Option<&Path>, report: &MutantsReport, exit: Exit) -> Exit {
    let is_written = file.is_none_or(|file| view::write(file, &Ok(page(report, exit))));
    if is_written { exit } else { Exit::Environment }
}

fn page(report: &MutantsReport, exit: Exit) -> String {
    let caught = report.mutants.iter().filter(|it| it.caught).count();
    let title = format!("{caught} of {} defects are caught", report.mutants.len());
    let word = if exit == Exit::Conforms { "caught" } else { "not caught" };
    let longest = report.mutants.iter().filter_map(|it| it.steps).max().unwrap_or(1);
    let rows: Vec<String> = report.mutants.iter().map(|it| mutant_row(it, longest)).collect();
    let head_of = ["id", "result", "breaks", "steps", "", "states", "time", "defect"];
    let below = format!("defects of the subject {}", report.subject);
    let stories: String = report.mutants.iter().map(story).collect();
    let body = format!(
        "{}<section>\n{}</section>\n{stories}",
        head(exit, word, &title, &below),
        table("numbers", &head_of, &rows)
    );
    document(&title, &body)
}

fn mutant_row(it: &MutantReport, longest: usize) -> String {
    let class = if it.caught { "conforms" } else { "violates" };
    let steps = it.steps.map_or("–".to_owned(), |steps| steps.to_string());
    let share = it.steps.unwrap_or_default() as f64 / longest as f64;
    row(&[
        match it.counterexample {
            Some(_) => format!("<a href=\"#{id}\">{id}</a>", id = html(it.id)),
            None => html(it.id),
        },
        format!("<span class=\"{class}\">{}</span>", result(it.caught, it.holds_without, it.steps.is_some())),
        html(it.requirement.unwrap_or("–")),
        steps.clone(),
        bar(share, &format!("{steps} steps")),
        number(it.states as u64),
        format!("{:.2} s", it.seconds),
        format!("{}<span class=\"about dim\">{}</span>", html(it.title), html(&it.issues.join(", "))),
    ])
}

/// The counterexample of a defect, which a reader can open.
fn story(it: &MutantReport) -> String {
    let Some(found) = &it.counterexample else { return String::new() };
    let command = it.is_explored.then(|| format!("jobcheck explore --mutant {}", it.id));
    let place = format!("the scope of {}", it.id);
    format!(
        "<section id=\"{id}\">\n<h2>{id}: {}</h2>\n<details>\n<summary>Counterexample</summary>\n{}</details>\n</section>\n",
        html(it.title),
        counterexample_page(&place, command.as_deref(), found),
        id = html(it.id),
    )
}
