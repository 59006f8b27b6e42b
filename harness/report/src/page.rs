//! The report as one HTML page: no script, no request to the outside, and links to the traces beside it.

use std::fmt::Write as _;

use jobcheck_look::{Document, PLOT_STYLE, escape, plot};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use crate::runs::Folded;
use crate::types::{ConformanceReport, Evidence, Outcome, Scenario, Section, Stage};

/// Styles beside those that all pages share.
const STYLE: &str = "\
section { padding: 0 16px 20px; overflow-x: auto; }
.success, .pass { color: var(--good); } .failure, .fail { color: var(--bad); }
.partial, .skip, .disabled, .error { color: var(--open); }
.facts th { width: 180px; font-weight: 400; color: var(--dim); }
td:first-child, th:first-child { min-width: 220px; }
td p:first-child { margin-top: 0; }
";
/// Characters that are escaped in an address.
const NO_ADDRESS: &AsciiSet =
    &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'%').add(b'<').add(b'>').add(b'?').add(b'`').add(b':');

/// The page.
#[must_use]
pub fn html(report: &ConformanceReport) -> String {
    let stages = [
        ("Core", Stage::Core, &report.core),
        ("Extended", Stage::Extended, &report.extended),
        ("Provisional", Stage::Provisional, &report.provisional),
    ];
    let stages: String = stages.iter().map(|(title, at, of)| stage(report, title, *at, of)).collect();
    let body = format!(
        "<header>\n<h1><span class=\"verdict {result}\">{result}</span> {project}</h1>\n</header>\n{facts}{stages}",
        result = report.result,
        project = escape::html(&report.run.implementation.project),
        facts = facts(report),
    );
    let title = format!("{}: {}", report.result, report.run.implementation.project);
    Document { title: &title, style: &format!("{PLOT_STYLE}{STYLE}"), body: &body, script: "" }.html()
}

fn facts(report: &ConformanceReport) -> String {
    let (run, implementation) = (&report.run, &report.run.implementation);
    let clusters: Vec<String> =
        run.clusters.iter().map(|it| format!("{} {}", it.name, it.kubernetes)).collect();
    let shards = run.shards.as_ref().map(|shards| format!("{} of {}", shards.run.len(), shards.of));
    let rows = [
        ("profile", format!("{} {}", run.profile.name, run.profile.version)),
        ("version", implementation.version.clone()),
        ("spec.managedBy", implementation.managed_by.clone().unwrap_or_default()),
        ("organization", implementation.organization.clone()),
        ("page", implementation.url.clone()),
        ("Kubernetes", clusters.join(", ")),
        ("rules", run.judging.rule_set.clone()),
        ("seed", run.drawn()),
        ("runs of each scenario", run.repeat.map(|it| it.to_string()).unwrap_or_default()),
        ("begin and end", format!("{} – {}", run.start_time, run.end_time)),
        ("selection", run.selection.join(", ")),
        ("shards", shards.unwrap_or_default()),
        ("made by", format!("jobcheck {}", run.jobcheck_version)),
    ];
    let rows: String = rows
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| {
            format!("<tr><th scope=\"row\">{name}</th><td>{}</td></tr>\n", escape::html(value))
        })
        .collect();
    format!("<section>\n<table class=\"facts\">\n<tbody>\n{rows}</tbody>\n</table>\n</section>\n")
}

fn stage(report: &ConformanceReport, title: &str, stage: Stage, section: &Section) -> String {
    let rows: String = report.of_stage(stage).map(|it| row(&it)).collect();
    if rows.is_empty() {
        return String::new();
    }
    let parts: Vec<(usize, String, String)> = Outcome::ALL
        .iter()
        .map(|outcome| {
            let number = section.statistics.of(*outcome);
            (number, outcome.to_string(), format!("{number} {outcome}"))
        })
        .filter(|(number, ..)| *number > 0)
        .collect();
    let flaky = Some(section.flaky_tests.len()).filter(|number| *number > 0);
    let flaky = flaky.map(|number| format!("{number} flaky"));
    let numbers = parts.iter().map(|(.., text)| text.as_str()).chain(flaky.as_deref());
    let numbers = numbers.collect::<Vec<_>>().join(", ");
    let result = section.result.map(|it| format!(" <span class=\"verdict {it}\">{it}</span>"));
    format!(
        "<section>\n<h2>{title}{}</h2>\n<p class=\"dim\">{}</p>\n<p>{}</p>\n<table>\n<thead><tr><th scope=\"col\">Scenario</th>\
         <th scope=\"col\">Outcome</th><th scope=\"col\">Requirements</th><th scope=\"col\">What is wrong</th>\
         <th scope=\"col\">Traces</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</section>\n",
        result.unwrap_or_default(),
        numbers,
        plot::parts(&numbers, &parts),
    )
}

fn row(folded: &Folded<'_>) -> String {
    let scenario = &*folded.scenario;
    let mut wrong = String::new();
    if !scenario.reason.is_empty() {
        let _ = write!(wrong, "<p>{}</p>", escape::html(&scenario.reason));
    }
    for evidence in &scenario.evidence {
        let _ = write!(wrong, "<p><b>{}</b> {}</p>", escape::html(&evidence.requirement), found(evidence));
    }
    let traces: Vec<String> = folded.runs.iter().map(|run| traces(run)).collect();
    format!(
        "<tr><th scope=\"row\">{}</th><td class=\"{outcome}\">{outcome}</td><td>{}</td><td>{wrong}</td><td>{}</td></tr>\n",
        escape::html(&scenario.id),
        escape::html(&scenario.requirements.join(", ")),
        traces.join("<br>"),
        outcome = scenario.outcome,
    )
}

/// The links to the traces of a run. If there are several runs, each has its number and its outcome.
fn traces(run: &Scenario) -> String {
    let links = run.traces.iter().map(|trace| link(&trace.file, &trace.cluster)).collect::<Vec<_>>();
    match run.repetition {
        Some(number) => {
            let outcome = run.outcome;
            format!("<span class=\"{outcome}\">run {number} {outcome}</span> {}", links.join(" "))
        }
        None => links.join("<br>"),
    }
}

fn found(evidence: &Evidence) -> String {
    let lines: Vec<String> = evidence.lines.iter().map(u64::to_string).collect();
    let lines = if lines.is_empty() { String::new() } else { format!(", line {}", lines.join(", ")) };
    let place = evidence.trace.as_ref().map(|trace| format!(" ({}{lines})", link(trace, trace)));
    format!("{}{}", escape::html(&evidence.sentence), place.unwrap_or_default())
}

/// A link to a file beside the page. The leading `./` keeps a name from being an address elsewhere.
fn link(file: &str, name: &str) -> String {
    let address = utf8_percent_encode(file, NO_ADDRESS).to_string();
    format!("<a href=\"./{}\">{}</a>", escape::html(&address), escape::html(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::tests::{repeated, report};
    use crate::types::{Cluster, TraceFile};

    fn hostile(text: &str) -> ConformanceReport {
        let text = || text.to_owned();
        let mut report = report(&Outcome::ALL.map(|outcome| (Stage::Core, outcome)));
        report.run.implementation.project = text();
        report.run.implementation.url = text();
        report.run.implementation.managed_by = Some(text());
        report.run.clusters = vec![Cluster { name: text(), kubernetes: text() }];
        report.run.profile.name = text();
        report.run.judging.rule_set = text();
        for scenario in &mut report.scenarios {
            scenario.id = text();
            scenario.reason = text();
            scenario.requirements = vec![text()];
            scenario.traces = vec![TraceFile { file: text(), cluster: text(), digest: text() }];
            for evidence in &mut scenario.evidence {
                (evidence.trace, evidence.sentence, evidence.requirement) = (Some(text()), text(), text());
            }
        }
        report
    }

    #[test]
    fn the_text_of_others_is_no_markup() {
        let tags = |page: &str| page.matches('<').count();
        let plain = html(&hostile("x"));
        for text in [
            "</style><script>alert(1)</script>",
            "<img src=x onerror=alert(1)>",
            "\"onmouseover='x'",
            "\u{202e}\u{0}",
        ] {
            let page = html(&hostile(text));
            assert_eq!(tags(&page), tags(&plain), "{text:?}");
            assert!(!page.contains(text), "{text:?}");
        }
        let page = html(&hostile("javascript:alert(1)"));
        assert!(
            page.contains("href=\"./javascript%3Aalert(1)\"") && !page.contains("href=\"javascript"),
            "{page}"
        );
    }

    #[test]
    fn the_page_asks_for_nothing() {
        let page = html(&report(&[(Stage::Core, Outcome::Pass)]));
        assert!(page.contains("default-src 'none'; style-src 'sha256-"));
        for word in ["<script", "http://", "https://", "src=", "@import", "url("] {
            assert!(!page.contains(word), "{word}");
        }
    }

    #[test]
    fn the_page_shows_the_runs_of_a_scenario_in_one_row() {
        let mut scenarios = repeated("mirror/a", Stage::Core, &[Outcome::Pass, Outcome::Fail]);
        for run in &mut scenarios {
            let file = format!("traces/{}.jsonl", run.repetition.unwrap());
            run.traces = vec![TraceFile { file, cluster: "manager".to_owned(), digest: String::new() }];
        }
        let run = crate::Run { repeat: Some(2), ..crate::Run::default() };
        let page = html(&ConformanceReport::new(run, scenarios));
        assert_eq!(page.matches("mirror/a").count(), 1);
        for text in [
            "<th scope=\"row\">runs of each scenario</th><td>2</td>",
            "<p class=\"dim\">1 fail, 1 flaky</p>",
            "<p>flaky: fails in 1 of 2 runs (MR-20), passes in 1; as the test wants it</p>",
            "<span class=\"pass\">run 1 pass</span> <a href=\"./traces/1.jsonl\">manager</a><br>",
            "<br><span class=\"fail\">run 2 fail</span> <a href=\"./traces/2.jsonl\">manager</a>",
        ] {
            assert!(page.contains(text), "{text}\n{page}");
        }
    }

    #[test]
    fn the_page_shows_each_scenario_with_its_evidence() {
        let mut report = report(&[(Stage::Core, Outcome::Fail), (Stage::Extended, Outcome::Disabled)]);
        report.scenarios[0].evidence[0].trace = Some("traces/a b.jsonl".to_owned());
        report.scenarios[0].evidence[0].lines = vec![3, 17];
        let page = html(&report);
        for text in [
            "<span class=\"verdict failure\">failure</span>",
            "<p class=\"dim\">1 fail</p>",
            "<th scope=\"row\">mirror/s0</th><td class=\"fail\">fail</td><td>MR-20</td>",
            "found none (<a href=\"./traces/a%20b.jsonl\">traces/a b.jsonl</a>, line 3, 17)",
            "<td class=\"disabled\">disabled</td>",
        ] {
            assert!(page.contains(text), "{text}\n{page}");
        }
        assert!(!page.contains("Provisional"));
    }
}
