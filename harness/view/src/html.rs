//! The page as HTML. Everything is in the file, and its policy admits nothing else.

use std::fmt::Write as _;

use jobcheck_judge::validate::Outcome;
use jobcheck_look::{Document, escape};

use crate::brief::brief;
use crate::page::{Found, Job, Page};

/// Styles after those that all pages share.
const STYLE: &str = include_str!("assets/page.css");
const SCRIPT: &str = concat!(
    include_str!("assets/data.js"),
    include_str!("assets/timeline.js"),
    include_str!("assets/prose.js"),
    include_str!("assets/detail.js"),
    include_str!("assets/compare.js"),
    include_str!("assets/main.js"),
);
/// The script's own words: the parts that it fills.
const FRAME: &str = include_str!("assets/frame.html");
/// The number of findings of one Job in the table that needs no script.
const FINDINGS: usize = 20;
/// The number of Jobs in that table.
const JOBS: usize = 200;

/// The page.
///
/// # Errors
///
/// The data cannot be written as JSON.
pub fn html(page: &Page) -> serde_json::Result<String> {
    let data = escape::json(&serde_json::to_string(page)?);
    let (header, brief, findings) = (header(page), brief(page), findings(page));
    let body = format!(
        "{header}{brief}{FRAME}{findings}<script type=\"application/json\" id=\"data\">{data}</script>\n"
    );
    Ok(Document { title: &title(page), style: STYLE, body: &body, script: SCRIPT }.html())
}

fn title(page: &Page) -> String {
    let name = match &page.files[..] {
        [one] => one.rsplit('/').next().unwrap_or(one).to_owned(),
        several => format!("{} files", several.len()),
    };
    format!("{}: {name}", word(page.verdict))
}

fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Violates => "violates",
        Outcome::Inconclusive => "inconclusive",
        Outcome::Conforms => "conforms",
    }
}

fn header(page: &Page) -> String {
    let files: Vec<String> = page
        .traces
        .iter()
        .map(|trace| {
            let names: Vec<String> =
                trace.files.iter().take(4).map(|file| escape::html(&page.files[*file])).collect();
            let role = if trace.role.is_empty() { String::new() } else { format!("{}: ", trace.role) };
            let more = trace.files.len().saturating_sub(4);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("{role}<code>{}</code>{more}", names.join("</code>, <code>"))
        })
        .take(6)
        .collect();
    let violating = page.jobs.iter().filter(|job| job.verdict == Outcome::Violates).count();
    format!(
        "<header>\n<h1><span class=\"verdict {verdict}\">{verdict}</span> {jobs}{violating}</h1>\n\
         <p class=\"dim\">{files}; rules of Kubernetes {rules}; made by jobcheck {version}</p>\n</header>\n",
        verdict = word(page.verdict),
        jobs = jobs(page),
        violating = match (page.jobs.len(), violating) {
            (0 | 1, _) => String::new(),
            (_, violating) => format!(", {violating} with a violation"),
        },
        files = files.join("; "),
        rules = escape::html(page.traces.first().map_or("1.36", |trace| &trace.kubernetes)),
        version = page.version,
    )
}

/// The number of Jobs, and that of their copies on workers.
fn jobs(page: &Page) -> String {
    let copies = page.jobs.iter().filter(|job| !job.label.is_empty()).count();
    let own = count(page.jobs.len() - copies, "Job");
    match copies {
        0 => own,
        1 => format!("{own} and 1 copy"),
        _ => format!("{own} and {copies} copies"),
    }
}

/// The findings as a table. It is there without the script, in print, and for readers of screens.
fn findings(page: &Page) -> String {
    let mut rows = String::new();
    let listed = page.jobs.iter().filter(|job| !job.findings.is_empty() || !job.remarks.is_empty());
    let all = listed.clone().count();
    for job in listed.take(JOBS) {
        rows.push_str(&rows_of(job));
    }
    let more = match all.checked_sub(JOBS) {
        Some(more) if more > 0 => {
            format!("<p>Showing {JOBS} of {all} Jobs; <code>jobcheck replay -v</code> shows all.</p>\n")
        }
        _ => String::new(),
    };
    let notes: String =
        page.notes.iter().map(|note| format!("<p class=\"note\">{}</p>\n", escape::html(note))).collect();
    let table = if rows.is_empty() {
        let words = match page.verdict {
            _ if page.jobs.is_empty() => "The traces show no Job that was asked for.",
            Outcome::Conforms => "Nothing that was judged is wrong.",
            Outcome::Violates | Outcome::Inconclusive => "No Job has a finding of its own.",
        };
        format!("<p>{words}</p>\n")
    } else {
        format!(
            "<table>\n<thead><tr><th scope=\"col\">Job</th><th scope=\"col\">Rule</th><th scope=\"col\">What is wrong</th>\
             <th scope=\"col\">Expected</th><th scope=\"col\">Found</th><th scope=\"col\">Where</th></tr></thead>\n\
             <tbody>\n{rows}</tbody>\n</table>\n{more}"
        )
    };
    format!(
        "<section id=\"findings\" aria-labelledby=\"findings-title\">\n<h2 id=\"findings-title\">Findings</h2>\n{notes}{table}</section>\n"
    )
}

fn rows_of(job: &Job) -> String {
    let name = escape::html(&job.job);
    let mut rows = String::new();
    let groups = job.by_rule();
    for group in groups.iter().take(FINDINGS) {
        rows.push_str(&row(&name, group));
    }
    if groups.len() > FINDINGS {
        let _ = writeln!(
            rows,
            "<tr><th scope=\"row\">{name}</th><td></td><td colspan=\"4\">Showing {FINDINGS} of {} rules.</td></tr>",
            groups.len()
        );
    }
    for remark in &job.remarks {
        let _ = writeln!(
            rows,
            "<tr><th scope=\"row\">{name}</th><td></td><td colspan=\"4\">{}</td></tr>",
            escape::html(remark)
        );
    }
    rows
}

fn row(job: &str, group: &[&Found]) -> String {
    let found = group[0];
    let finding = &found.finding;
    let id = found.id();
    let known =
        finding.known.map(|id| format!(" This is the known deviation {id} of the built-in controller."));
    let place = match (&finding.place.file, finding.place.line) {
        (Some(file), Some(line)) if !finding.is_of_the_end() => {
            format!("{}:{line}", file.rsplit('/').next().unwrap_or(file))
        }
        _ => "end of the trace".to_owned(),
    };
    let last = group.last().and_then(|it| it.finding.place.line).filter(|_| group.len() > 1);
    let last = last.map(|line| format!(", the last at line {line}")).unwrap_or_default();
    let times = if group.len() > 1 { format!("<br>{} times{last}", group.len()) } else { String::new() };
    let step = found.step.map(|step| format!(" data-step=\"{step}\"")).unwrap_or_default();
    format!(
        "<tr{step}><th scope=\"row\">{job}</th><td>{}</td><td>{}{}<br><span class=\"dim\">{}</span></td>\
         <td class=\"admitted\">{}</td><td class=\"found\">{}</td><td><code>{}</code>{times}</td></tr>\n",
        escape::html(&id),
        escape::html(finding.sentence),
        known.unwrap_or_default(),
        escape::html(&finding.difference.write),
        escape::html(&finding.difference.expected),
        escape::html(&finding.difference.found),
        escape::html(&place),
    )
}

fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A carriage return would be changed by the browser, and the digest with it.
    #[test]
    fn the_assets_are_inert_text() {
        for asset in [jobcheck_look::STYLE, STYLE, SCRIPT, FRAME] {
            assert!(asset.is_ascii() && !asset.contains('\r'));
            assert!(!asset.contains("http://") && !asset.contains("https://") && !asset.contains("</script"));
        }
        for word in [
            "innerHTML",
            "outerHTML",
            "insertAdjacent",
            "document.write",
            "eval(",
            "fetch(",
            "Worker",
            "Storage",
        ] {
            assert!(!SCRIPT.contains(word), "{word}");
        }
    }
}
