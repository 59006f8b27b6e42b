//! The report as a page: a row for each part, and its details below.

use std::time::Duration;

use jobcheck_judge::report::Exit;
use jobcheck_look::escape::html as text;
use jobcheck_look::plot::bar;

use super::{COUNTEREXAMPLES, Timed};
use crate::page::{class, document, head, row, seconds, table};

/// The page. `counterexamples` are the names of pages in the folder of counterexamples.
pub fn html(
    (exit, result): (Exit, &str),
    parts: &[Timed],
    elapsed: Duration,
    counterexamples: &[String],
) -> String {
    let longest = parts.iter().map(|it| it.elapsed).max().unwrap_or_default().as_secs_f64().max(0.001);
    let rows: Vec<String> = parts.iter().map(|it| part_row(it, longest)).collect();
    let head_line = head(exit, result, "jobcheck verify", &seconds(elapsed));
    let overview = table("", &["part", "result", "extent", "time", ""], &rows);
    let is_broken = parts.iter().any(|it| it.part.exit == Exit::Violates);
    let pages = if is_broken { links(counterexamples) } else { String::new() };
    let sections: String = parts.iter().map(section).collect();
    document(result, &format!("{head_line}<section>\n{overview}{pages}</section>\n{sections}"))
}

fn part_row(Timed { part, elapsed }: &Timed, longest: f64) -> String {
    let report = match &part.report {
        Some(_) => format!("<a href=\"./{}\">{}</a>", text(&part.file()), text(part.name.text())),
        None => text(part.name.text()),
    };
    row(&[
        report,
        format!("<span class=\"{}\">{}</span>", class(part.exit), super::text::result(part.exit).1),
        text(&part.extent),
        seconds(*elapsed),
        bar(elapsed.as_secs_f64() / longest, &seconds(*elapsed)),
    ])
}

/// Links to the pages of counterexamples.
fn links(pages: &[String]) -> String {
    if pages.is_empty() {
        return String::new();
    }
    let items: String = pages
        .iter()
        .map(|page| format!("<li><a href=\"./{COUNTEREXAMPLES}/{}\">{}</a></li>\n", text(page), text(page)))
        .collect();
    format!("<h3>Counterexamples</h3>\n<ul>\n{items}</ul>\n")
}

/// The problems of a part and its details, which are open if something is wrong.
fn section(Timed { part, .. }: &Timed) -> String {
    if part.problems.is_empty() && part.page.is_empty() {
        return String::new();
    }
    let problems: String =
        part.problems.iter().map(|it| format!("<p class=\"note\">{}</p>\n", text(it))).collect();
    let open = if part.exit == Exit::Conforms { "" } else { " open" };
    let details = match part.page.as_str() {
        "" => String::new(),
        page => format!("<details{open}>\n<summary>Details</summary>\n{page}</details>\n"),
    };
    format!("<section>\n<h2>{}</h2>\n{problems}{details}</section>\n", text(part.name.text()))
}
