//! Reports as text for people.

use anstyle::Style;
use jobcheck_report::diff::{Change, Diff, Direction};
use jobcheck_report::types::{ConformanceReport, JudgingOptions, Outcome, Scenario, Section, Stage, Verdict};
use jobcheck_report::verify::{State, Verification};
use jobcheck_spec::apiserver::{RuleSet, minor_of};

use crate::output::count;
use crate::styles::{BAD, BOLD, DIM, GOOD, OPEN};
use crate::text::{Text, clean, short};

/// The number of files that a line names.
const MOST_FILES: usize = 5;

/// The report: its numbers, and each scenario that did not pass. `all` adds those that did.
pub fn report(report: &ConformanceReport, all: bool) -> String {
    let mut out = Text::default();
    let (run, implementation) = (&report.run, &report.run.implementation);
    let name = clean(format!("{} {}", implementation.project, implementation.version).trim());
    let style = of_verdict(report.result);
    line(&mut out, format_args!("{style}{:<13}{style:#}{BOLD}{name}{BOLD:#}", report.result.to_string()));
    let managed_by = implementation.managed_by.as_ref().map(|it| format!(", managedBy {}", clean(it)));
    line(
        &mut out,
        format_args!(
            "             profile {} {}, rules of Kubernetes {}, seed {}{}",
            clean(&run.profile.name),
            clean(&run.profile.version),
            clean(&run.judging.rule_set),
            run.drawn(),
            managed_by.unwrap_or_default()
        ),
    );
    for (stage, section) in stages(report) {
        let result = section.result.map(|it| format!("{it}, ")).unwrap_or_default();
        line(&mut out, format_args!("{:<11}  {result}{}", stage.to_string(), numbers(section)));
    }
    if let Some(shards) = run.shards.as_ref().filter(|shards| !shards.are_complete()) {
        let missing = shards.missing();
        line(&mut out, format_args!("shards       {missing} of {} are missing", shards.of));
    }
    if !run.selection.is_empty() {
        line(&mut out, format_args!("chosen       {}", short(&run.selection.join(", "))));
    }
    if let Some(number) = run.repeat {
        line(&mut out, format_args!("repeated     {number} runs of each scenario"));
    }
    for it in report.folded().iter().filter(|it| all || !it.has_passed()) {
        scenario(&mut out, &it.scenario);
    }
    out.finish()
}

fn stages(report: &ConformanceReport) -> impl Iterator<Item = (Stage, &Section)> {
    let all = [
        (Stage::Core, &report.core),
        (Stage::Extended, &report.extended),
        (Stage::Provisional, &report.provisional),
    ];
    all.into_iter().filter(|(stage, _)| report.of_stage(*stage).next().is_some())
}

fn numbers(section: &Section) -> String {
    let some = Outcome::ALL.iter().filter(|outcome| section.statistics.of(**outcome) > 0);
    let flaky = Some(section.flaky_tests.len()).filter(|number| *number > 0);
    some.map(|outcome| format!("{} {outcome}", section.statistics.of(*outcome)))
        .chain(flaky.map(|number| format!("{number} flaky")))
        .collect::<Vec<_>>()
        .join(", ")
}

fn scenario(out: &mut Text, scenario: &Scenario) {
    let style = of_outcome(scenario.outcome);
    let outcome = scenario.outcome.to_string();
    let id = clean(&scenario.id);
    line(
        out,
        format_args!("\n{style}{outcome:<13}{style:#}{BOLD}{id}{BOLD:#}  {DIM}{}{DIM:#}", scenario.stage),
    );
    if !scenario.reason.is_empty() {
        line(out, format_args!("  {}", short(&scenario.reason)));
    }
    for evidence in &scenario.evidence {
        line(out, format_args!("  {:<9}  {}", clean(&evidence.requirement), short(&evidence.sentence)));
        if let Some(trace) = &evidence.trace {
            let lines: Vec<String> = evidence.lines.iter().map(u64::to_string).collect();
            let lines = if lines.is_empty() { String::new() } else { format!(":{}", lines.join(", ")) };
            line(out, format_args!("             {DIM}{}{lines}{DIM:#}", clean(trace)));
        }
    }
}

/// The outcomes that are not confirmed; `all` adds the others.
pub fn verification(verification: &Verification, all: bool) -> String {
    let mut out = Text::default();
    for it in &verification.objections {
        let (style, word) = (of_state(it.state), word(it.state));
        line(&mut out, format_args!("{style}{word}{style:#}: {}", clean(&it.reason)));
    }
    for it in &verification.scenarios {
        let (style, word) = (of_state(it.state), word(it.state));
        if all || matches!(it.state, State::NotConfirmed | State::Undecided) {
            let run = it.repetition.map(|number| format!(" (run {number})")).unwrap_or_default();
            let id = format!("{}{run}", clean(&it.id));
            line(&mut out, format_args!("{style}{word:<15}{style:#}{BOLD}{id}{BOLD:#}  {}", it.outcome));
            if !it.reason.is_empty() {
                line(&mut out, format_args!("  {}", short(&it.reason)));
            }
        }
    }
    let is_repeated = verification.scenarios.iter().any(|it| it.repetition.is_some());
    let number = |state| verification.scenarios.iter().filter(|it| it.state == state).count();
    line(
        &mut out,
        format_args!(
            "{}: {} confirmed, {} not confirmed, {} undecided, {} not run",
            count(verification.scenarios.len(), if is_repeated { "run" } else { "scenario" }),
            number(State::Confirmed),
            number(State::NotConfirmed),
            number(State::Undecided),
            number(State::NotRun)
        ),
    );
    if !verification.not_compared.is_empty() {
        line(&mut out, format_args!("not compared {}", first_names(&verification.not_compared, all)));
    }
    let judging = judging(&verification.judging);
    let usual = format!("1.{}", RuleSet::V1_36.minor);
    let is_usual = verification.judging.rule_set == usual && !judging.contains(", ");
    if all || !is_usual {
        line(&mut out, format_args!("judged with  {}", clean(&judging)));
    }
    if all && !verification.lacking.is_empty() {
        let (number, ids) = (count(verification.lacking.len(), "scenario"), verification.lacking.join(", "));
        line(&mut out, format_args!("{number} of the profile are not in the report: {ids}"));
    }
    if verification.written_by != verification.judged_by {
        let (by, own) = (clean(&verification.written_by), verification.judged_by);
        line(&mut out, format_args!("The report was written by jobcheck {by}, and judged again by {own}."));
    }
    out.finish()
}

/// The first of these files; `all` adds the others.
fn first_names(files: &[String], all: bool) -> String {
    let shown = if all { files.len() } else { MOST_FILES.min(files.len()) };
    let names: Vec<String> = files[..shown].iter().map(|it| clean(it)).collect();
    match files.len() - shown {
        0 => names.join(", "),
        rest => format!("{}, and {rest} more", names.join(", ")),
    }
}

/// The rules, and the options that make the judge less strict or stricter, as flags of `replay`.
fn judging(options: &JudgingOptions) -> String {
    let JudgingOptions { rule_set, strict, allow_known, profile, actors, assume, fails_when, skew } = options;
    let flag = |name: &str, value: &dyn std::fmt::Display| format!("--{name} {value}");
    let mut all = vec![format!("rules of {rule_set}")];
    all.extend(strict.then(|| "--strict".to_owned()));
    all.extend(allow_known.then(|| "--allow-known".to_owned()));
    all.extend(profile.as_ref().map(|it| flag("profile", it)));
    all.extend(actors.iter().map(|it| flag("actor", it)));
    all.extend(assume.iter().map(|it| flag("assume", it)));
    all.extend(fails_when.as_ref().map(|it| flag("fails-when", it)));
    all.extend(skew.as_ref().map(|it| flag("skew", it)));
    all.join(", ")
}

/// The changes.
pub fn diff(diff: &Diff) -> String {
    let mut out = Text::default();
    for (name, before, after) in &diff.circumstances {
        line(&mut out, format_args!("{name:<16}  {} → {}", clean(before), clean(after)));
    }
    let (before, after) = diff.result;
    if before != after {
        line(&mut out, format_args!("{:<16}  {before} → {after}", "result"));
    }
    for (title, changes) in [("scenarios", &diff.scenarios), ("requirements", &diff.requirements)] {
        if !changes.is_empty() {
            line(&mut out, format_args!("{BOLD}{title}{BOLD:#}"));
            changes.iter().for_each(|it| change(&mut out, it));
        }
    }
    if diff.scenarios.is_empty() && diff.requirements.is_empty() {
        line(&mut out, format_args!("no scenario and no requirement changed"));
    }
    out.finish()
}

fn change(out: &mut Text, it: &Change) {
    let (style, word) = match it.direction {
        Direction::Better => (GOOD, "better"),
        Direction::Worse => (BAD, "worse"),
        Direction::Other => (DIM, "changed"),
    };
    let outcome = |it: Option<Outcome>| it.map_or_else(|| "none".to_owned(), |it| it.to_string());
    let text = if it.text_changed { ", with another text" } else { "" };
    let (before, after) = (outcome(it.before), outcome(it.after));
    line(out, format_args!("  {style}{word:<9}{style:#}{}  {before} → {after}{text}", clean(&it.id)));
}

/// Why a report is too old to be cited: it is valid for the two newest minor versions whose rules are known. A pre-release makes
/// no report old.
pub fn stale(report: &ConformanceReport) -> Option<String> {
    let is_released = |minor: &u32| RuleSet::of(*minor).is_some_and(|rules| !rules.release().contains('-'));
    let newest = (0..100).rev().find(is_released)?;
    let old =
        report.run.clusters.iter().find(|it| minor_of(&it.kubernetes).is_some_and(|it| it + 1 < newest))?;
    Some(format!(
        "the report is stale: {} ran Kubernetes {}, and reports count for 1.{} and 1.{newest}",
        old.name,
        old.kubernetes,
        newest - 1
    ))
}

fn of_verdict(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Success => GOOD,
        Verdict::Failure => BAD,
        Verdict::Partial | Verdict::Inconclusive => OPEN,
    }
}

/// The answer to an outcome as people read it.
pub fn word(state: State) -> &'static str {
    match state {
        State::Confirmed => "confirmed",
        State::NotConfirmed => "not confirmed",
        State::Undecided => "undecided",
        State::NotRun => "not run",
    }
}

fn of_state(state: State) -> Style {
    match state {
        State::Confirmed => GOOD,
        State::NotConfirmed => BAD,
        State::Undecided => OPEN,
        State::NotRun => DIM,
    }
}

fn of_outcome(outcome: Outcome) -> Style {
    match outcome {
        Outcome::Pass => GOOD,
        Outcome::Fail => BAD,
        Outcome::Skip | Outcome::Disabled | Outcome::Error | Outcome::Inconclusive => OPEN,
    }
}

fn line(out: &mut Text, text: std::fmt::Arguments<'_>) {
    writeln!(out, "{text}").expect("writing to a string succeeds");
}
