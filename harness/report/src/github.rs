//! The report for GitHub: a step summary in Markdown, and annotations.

use std::fmt::Write as _;

use crate::cases::place;
use crate::runs::Folded;
use crate::text::clean;
use crate::types::{ConformanceReport, Outcome, Scenario, Section, Stage};

/// The report as Markdown: what does not pass, and the numbers of all.
#[must_use]
pub fn markdown(report: &ConformanceReport) -> String {
    let (run, implementation) = (&report.run, &report.run.implementation);
    let repeated = run.repeat.map(|it| format!(", {it} runs of each scenario")).unwrap_or_default();
    let mut out = format!(
        "## {}: {} {}\n\nProfile {} {}, rules of Kubernetes {}, seed {}, jobcheck {}{repeated}.\n\n",
        report.result,
        literal(&implementation.project),
        literal(&implementation.version),
        literal(&run.profile.name),
        literal(&run.profile.version),
        literal(&run.judging.rule_set),
        run.drawn(),
        literal(&run.jobcheck_version),
    );
    out.push_str("| stage | result | pass | fail | skip | disabled | error | inconclusive |\n");
    out.push_str("| --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for (stage, section) in stages(report) {
        let result = section.result.map(|it| it.to_string()).unwrap_or_default();
        let numbers = Outcome::ALL.map(|outcome| section.statistics.of(outcome).to_string());
        let _ = writeln!(out, "| {stage} | {result} | {} |", numbers.join(" | "));
    }
    let folded = report.folded();
    let open = folded.iter().filter(|it| !it.has_passed());
    let rest: String = open.map(|it| row(&it.scenario)).collect();
    if !rest.is_empty() {
        out.push_str("\n| scenario | stage | outcome | what is wrong |\n| --- | --- | --- | --- |\n");
        out.push_str(&rest);
    }
    out
}

fn stages(report: &ConformanceReport) -> impl Iterator<Item = (Stage, &Section)> {
    [
        (Stage::Core, &report.core),
        (Stage::Extended, &report.extended),
        (Stage::Provisional, &report.provisional),
    ]
    .into_iter()
    .filter(|(stage, _)| report.of_stage(*stage).next().is_some())
}

fn row(scenario: &Scenario) -> String {
    let wrong = wrong(scenario).iter().map(|it| literal(it)).collect::<Vec<_>>().join("<br>");
    format!("| {} | {} | {} | {wrong} |\n", literal(&scenario.id), scenario.stage, scenario.outcome)
}

/// The problems of a scenario, in sentences.
fn wrong(scenario: &Scenario) -> Vec<String> {
    let found = scenario.evidence.iter().map(|it| format!("{} ({})", it.sentence, place(it)));
    let reason = Some(scenario.reason.clone()).filter(|reason| !reason.is_empty());
    reason.into_iter().chain(found).collect()
}

/// Annotations, one a line. A failure is an error, any other outcome of core or extended but pass is a warning, and a
/// provisional scenario is a notice.
#[must_use]
pub fn annotations(report: &ConformanceReport) -> String {
    report.folded().iter().filter_map(annotation).collect()
}

fn annotation(folded: &Folded<'_>) -> Option<String> {
    let scenario = &*folded.scenario;
    let command = match (scenario.outcome, scenario.stage) {
        (Outcome::Pass, _) if !folded.lacks_runs() => return None,
        (Outcome::Skip | Outcome::Disabled, Stage::Extended | Stage::Provisional) => return None,
        (_, Stage::Provisional) => "notice",
        (Outcome::Fail, _) => "error",
        (_, _) => "warning",
    };
    let flaky = if folded.is_flaky() { ", flaky" } else { "" };
    let title = format!("{} {}{flaky}", scenario.id, scenario.outcome);
    Some(format!("::{command} title={}::{}\n", property(&title), message(&wrong(scenario).join("; "))))
}

/// The message of a workflow command. It is one line, so that no text of others begins a command.
fn message(text: &str) -> String {
    clean(text).replace('%', "%25")
}

/// A property of a workflow command.
fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}

/// Text that Markdown shows as it is: what has a meaning becomes a character reference.
fn literal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in clean(text).chars() {
        match c {
            ' ' | '-' | '/' | ',' | '(' | ')' => out.push(c),
            // `www.` begins a link.
            '.' if !out.ends_with(['w', 'W']) => out.push(c),
            c if c.is_ascii_punctuation() => {
                let _ = write!(out, "&#{};", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::tests::{repeated, report};

    #[test]
    fn the_summary_lists_what_does_not_pass() {
        let mut report = report(&[
            (Stage::Core, Outcome::Pass),
            (Stage::Core, Outcome::Fail),
            (Stage::Extended, Outcome::Skip),
        ]);
        report.run.implementation.project = "Acme|<b>*runner*</b> www.x.y @all".to_owned();
        assert_eq!(
            markdown(&report),
            "## failure: Acme&#124;&#60;b&#62;&#42;runner&#42;&#60;/b&#62; www&#46;x.y &#64;all \n\n\
             Profile  , rules of Kubernetes , seed 0, jobcheck .\n\n\
             | stage | result | pass | fail | skip | disabled | error | inconclusive |\n\
             | --- | --- | --- | --- | --- | --- | --- | --- |\n\
             | core | failure | 1 | 1 | 0 | 0 | 0 | 0 |\n\
             | extended |  | 0 | 0 | 1 | 0 | 0 | 0 |\n\n\
             | scenario | stage | outcome | what is wrong |\n| --- | --- | --- | --- |\n\
             | mirror/s1 | core | fail | as the test wants it<br>expected the end of the copy, found none (MR-20) |\n\
             | mirror/s2 | extended | skip | as the test wants it |\n"
        );
    }

    #[test]
    fn the_runs_of_a_scenario_are_one_row_and_one_annotation() {
        use Outcome::{Fail, Pass, Skip};
        let mut scenarios = repeated("mirror/a", Stage::Core, &[Pass, Fail, Fail]);
        scenarios.extend(repeated("mirror/b", Stage::Core, &[Pass, Pass, Pass]));
        scenarios.extend(repeated("mirror/c", Stage::Core, &[Pass, Pass, Skip]));
        let run = crate::Run { repeat: Some(3), ..crate::Run::default() };
        let report = ConformanceReport::new(run, scenarios);
        let text = markdown(&report);
        assert!(text.contains("jobcheck , 3 runs of each scenario.\n"), "{text}");
        assert!(text.contains("| core | failure | 2 | 1 | 0 | 0 | 0 | 0 |"), "{text}");
        let rows: Vec<&str> = text.lines().filter(|it| it.starts_with("| mirror")).collect();
        let tally = "flaky&#58; fails in 2 of 3 runs (MR-20), passes in 1&#59; as the test wants it";
        let found = "expected the end of the copy, found none (MR-20)";
        let expected = [
            format!("| mirror/a | core | fail | {tally}<br>{found} |"),
            "| mirror/c | core | pass | passes in 2 of 3 runs, is skipped in 1 |".to_owned(),
        ];
        assert_eq!(rows, expected);
        let commands = annotations(&report);
        let commands: Vec<&str> = commands.lines().collect();
        let [flaky, short] = commands[..] else { panic!("{commands:?}") };
        let tally = "flaky: fails in 2 of 3 runs (MR-20), passes in 1; ";
        assert!(flaky.starts_with(&format!("::error title=mirror/a fail%2C flaky::{tally}")), "{flaky}");
        assert_eq!(short, "::warning title=mirror/c pass::passes in 2 of 3 runs, is skipped in 1");
    }

    #[test]
    fn annotations_have_the_weight_of_their_stage() {
        let report = report(&[
            (Stage::Core, Outcome::Pass),
            (Stage::Core, Outcome::Fail),
            (Stage::Core, Outcome::Skip),
            (Stage::Extended, Outcome::Error),
            (Stage::Extended, Outcome::Disabled),
            (Stage::Provisional, Outcome::Fail),
        ]);
        let commands: Vec<String> =
            annotations(&report).lines().map(|it| it.split("::").nth(1).unwrap().to_owned()).collect();
        assert_eq!(
            commands,
            [
                "error title=mirror/s1 fail",
                "warning title=mirror/s2 skip",
                "warning title=mirror/s3 error",
                "notice title=mirror/s5 fail"
            ]
        );
    }

    #[test]
    fn the_text_of_others_is_no_command() {
        let mut report = report(&[(Stage::Core, Outcome::Skip)]);
        report.scenarios[0].id = "a,b::c".to_owned();
        report.scenarios[0].reason = "100%\n::error::forged\r\n".to_owned();
        let text = annotations(&report);
        assert_eq!(text, "::warning title=a%2Cb%3A%3Ac skip::100%25\\n::error::forged\\r\\n\n");
    }
}
