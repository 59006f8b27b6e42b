//! The report for people. Its text may change; the JSON report is stable.

use std::time::Duration;

use anstyle::Style;
use jobcheck_adapter::Controller;
use jobcheck_explorer::check::{Coverage, Cut, Exploration, Outcome};
use jobcheck_explorer::counterexample::Counterexample;
use jobcheck_explorer::narrative::user::action_text;
use jobcheck_explorer::narrative::{CYCLE_FOLLOWS, NOTHING_FOLLOWS, Narrative};
use jobcheck_explorer::properties::PROPERTIES;
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::step::StepKind;
use jobcheck_spec::{Req, Time};

use super::exploration::{Report, Run};
use crate::global::Global;
use crate::interrupt::Interrupt;
use crate::output::{count, width};
use crate::styles::{BAD, BOLD, DIM, GOOD, OPEN};
use crate::text::Text;

/// The reason why scopes with two leaders belong to no size.
const TWO_LEADERS: &str = "no specification allows two leaders (SY-01)";

/// Columns below which a row of the table takes two lines.
const WIDE: usize = 120;

/// The scopes with their bounds.
pub fn list(scopes: &[Scope]) -> String {
    let mut out = Text::default();
    for scope in scopes {
        let _ = writeln!(out, "{BOLD}{:<36}{BOLD:#} {}", scope.name, scope.about);
        let _ = writeln!(out, "    {DIM}{}{DIM:#}", bounds(scope));
    }
    out.finish()
}

/// The scopes that are explored only by name.
pub fn list_by_name_only(scopes: &[Scope]) -> String {
    if scopes.is_empty() {
        return String::new();
    }
    let why = "jobcheck check two-leaders shows the consequences, such as a pod that is counted twice";
    format!("\n{BOLD}Explored only by name, because {TWO_LEADERS}; {why}:{BOLD:#}\n{}", list(scopes))
}

/// The bounds of a scope in words.
pub fn bounds(scope: &Scope) -> String {
    let mut parts = vec![format!("at most {}", count(scope.pods, "pod"))];
    let mut add = |holds: bool, text: String| {
        if holds {
            parts.push(text);
        }
    };
    add(scope.jobs.len() > 1, count(scope.jobs.len(), "Job"));
    add(scope.lag > 0, format!("Pod cache {} behind", count(scope.lag, "change")));
    add(scope.job_lag > 0, format!("Job cache {} behind", count(scope.job_lag, "version")));
    add(scope.ticks > 0, format!("{} s", scope.ticks));
    let actions: Vec<String> = scope.user.iter().map(|action| action_text(*action)).collect();
    add(!actions.is_empty(), format!("user: {}", actions.join(", ")));
    let others: Vec<String> = scope.disruptions.iter().map(|step| format!("{step:?}")).collect();
    add(!others.is_empty(), format!("others: {}", others.join(", ")));
    add(!scope.found.is_empty(), format!("{} of them before the first sync", scope.found.len()));
    let faults = &scope.faults;
    add(faults.failures > 0, count(faults.failures, "failed request"));
    add(faults.losses > 0, count(faults.losses, "lost response"));
    add(
        faults.crashes > 0,
        if faults.crashes == 1 { "1 crash".to_owned() } else { format!("{} crashes", faults.crashes) },
    );
    add(scope.delayed_requests, "a delayed request of the terminated process".to_owned());
    add(faults.second_leaders > 0, "two leaders for a while".to_owned());
    scope.refused.iter().for_each(|refusal| add(true, format!("always refused: {refusal}")));
    add(!scope.not_checked.is_empty(), format!("not checked: {}", ids(scope.not_checked)));
    add(scope.progress, "progress is checked, without reductions".to_owned());
    let ahead = scope.ttl_clock(Time(0)).0;
    add(ahead != 0, format!("TTL controller's clock {ahead:+} s"));
    parts.join(", ")
}

/// The ids of requirements, separated by commas.
pub fn ids(reqs: &[Req]) -> String {
    reqs.iter().map(|req| req.id()).collect::<Vec<_>>().join(", ")
}

/// Returns whether a row of the table takes two lines, because the terminal is narrow.
fn is_narrow() -> bool {
    width().is_some_and(|columns| columns < WIDE)
}

/// The head of the table.
pub fn head() -> String {
    if is_narrow() {
        return format!(
            "{BOLD}{:<36} {:>9} {:>10} {:>8}  result{BOLD:#}\n",
            "scope", "states", "steps", "time"
        );
    }
    format!(
        "{BOLD}{:<36} {:>9} {:>10} {:>6} {:>9} {:>7} {:>8}  {:<12} bounded by{BOLD:#}\n",
        "scope", "states", "steps", "depth", "states/s", "B/state", "time", "result"
    )
}

/// The row of a scope. The argument is the name of a scope for which no time was left, or its exploration.
pub fn row(run: Result<&Run, &'static str>, interrupt: &Interrupt) -> String {
    let run = match run {
        Ok(run) => run,
        Err(name) => return format!("{name:<36} {OPEN}not run{OPEN:#}\n"),
    };
    let it = &run.exploration;
    let bounds = short_bounds(&run.scope, it.pods_bound_reached);
    let (states, steps, depth, bytes) = (it.states, it.generated, it.depth, it.bytes);
    let row = Row { scope: run.scope.name, states, steps, depth, bytes, elapsed: run.elapsed, bounds };
    row.render(result(it, interrupt))
}

/// A row of the table.
pub struct Row<'a> {
    /// The name of the scope.
    pub scope: &'a str,
    /// The number of states.
    pub states: usize,
    /// The number of steps.
    pub steps: u64,
    /// The number of steps to the farthest state.
    pub depth: usize,
    /// The bytes of the states.
    pub bytes: usize,
    /// The time that the search took.
    pub elapsed: Duration,
    /// The bounds in few words.
    pub bounds: String,
}

impl Row<'_> {
    /// The row with a result in its colour.
    pub fn render(self, (paint, result): (Style, &str)) -> String {
        let Row { scope, states, steps, depth, bytes, elapsed, bounds } = self;
        let seconds = elapsed.as_secs_f64();
        let rate = states as f64 / seconds.max(1e-6);
        let bytes = bytes as f64 / states.max(1) as f64;
        if is_narrow() {
            return format!(
                "{scope:<36} {states:>9} {steps:>10} {seconds:>7.2}s  {paint}{result}{paint:#}\n    \
                 {DIM}depth {depth}, {rate:.0} states/s, {bytes:.0} B/state; {bounds}{DIM:#}\n"
            );
        }
        format!(
            "{scope:<36} {states:>9} {steps:>10} {depth:>6} {rate:>9.0} {bytes:>7.0} {seconds:>7.2}s  \
             {paint}{result:<12}{paint:#} {DIM}{bounds}{DIM:#}\n"
        )
    }
}

/// The part of the report after the table.
pub fn render(report: &Report, global: &Global) -> String {
    let mut out = Text::default();
    for run in &report.runs {
        if let Some(found) = run.found() {
            counterexample(&run.scope, found, &mut out);
        }
    }
    if global.verbose {
        properties(report, &mut out);
        coverage(report, &mut out);
    }
    if !global.quiet {
        steps(report, &mut out);
    }
    summary(report, &mut out);
    if report.runs.iter().any(|run| run.scope.faults.second_leaders > 0 && run.found().is_some()) {
        let _ = writeln!(out, "{TWO_LEADERS}: the broken properties are consequences");
    }
    out.finish()
}

/// The bounds in few words. The bound on pods is marked if it has prevented a creation.
fn short_bounds(scope: &Scope, pods_bound_reached: bool) -> String {
    let mut text = format!("{} pods{}", scope.pods, if pods_bound_reached { " (reached)" } else { "" });
    let mut add = |holds: bool, part: String| {
        if holds {
            text.push_str(", ");
            text.push_str(&part);
        }
    };
    add(scope.lag > 0, format!("lag {}", scope.lag));
    add(scope.ticks > 0, format!("{} s", scope.ticks));
    add(!scope.user.is_empty(), format!("user {}", scope.user.len()));
    add(!scope.disruptions.is_empty(), format!("others {}", scope.disruptions.len()));
    let faults = &scope.faults;
    add(faults.failures > 0, format!("failed {}", faults.failures));
    add(faults.losses > 0, format!("lost {}", faults.losses));
    add(faults.crashes > 0, format!("crash {}", faults.crashes));
    add(scope.delayed_requests, "delayed request".to_owned());
    add(!scope.refused.is_empty(), "always refused".to_owned());
    add(faults.second_leaders > 0, format!("two leaders {}", faults.second_leaders));
    let ahead = scope.ttl_clock(Time(0)).0;
    add(ahead != 0, format!("TTL clock {ahead:+} s"));
    text
}

fn result(it: &Exploration, interrupt: &Interrupt) -> (Style, &'static str) {
    match &it.outcome {
        Outcome::Holds if it.quiescent_states.is_some() => (GOOD, "gets there"),
        Outcome::Holds => (GOOD, "holds"),
        Outcome::Broken(found) if found.cycle_start.is_some() => (BAD, "is stuck"),
        Outcome::Broken(_) => (BAD, "broken"),
        Outcome::NotFinished(cut) => (OPEN, limit(*cut, interrupt)),
    }
}

/// The limit that ended a search.
pub fn limit(cut: Cut, interrupt: &Interrupt) -> &'static str {
    match cut {
        Cut::States => "cut: states",
        Cut::Memory => "cut: memory",
        Cut::Time if interrupt.is_set() => "interrupted",
        Cut::Time => "cut: time",
    }
}

/// A counterexample: the scope, the property, and the numbered steps.
pub fn counterexample(scope: &Scope, found: &Counterexample, out: &mut Text) {
    let req = found.req.map_or(String::new(), |req| format!("{req} "));
    let of =
        if scope.algorithm().is_some_and(|it| it.runs(&Controller)) { " (shipped controllers)" } else { "" };
    let _ = writeln!(out, "\n{BAD}{}{of}: {req}{}{BAD:#}: {}", scope.name, found.property, found.why);
    let _ = writeln!(out, "  {DIM}{}{DIM:#}", scope.about);
    // An exploration checks every requirement, so that none is the one that is looked for.
    narrative(&Narrative::of(scope, found, None), out);
}

/// The head, the numbered steps, and the end of a counterexample. The cycle of a progress property is marked.
pub fn narrative(narrative: &Narrative, out: &mut Text) {
    for line in &narrative.head {
        let _ = writeln!(out, "  {line}");
    }
    for (number, line) in (1..).zip(&narrative.lines) {
        if narrative.cycle_start == Some(number - 1) {
            let _ = writeln!(out, "      {BOLD}{CYCLE_FOLLOWS}{BOLD:#}");
        }
        let _ = writeln!(out, "{number:>4}. {BOLD}{}{BOLD:#} {}", line.who, line.what);
        for note in line.notes(narrative.asked) {
            let _ = writeln!(out, "      {DIM}{note}{DIM:#}");
        }
    }
    if narrative.stutters() {
        let _ = writeln!(out, "      {BOLD}{NOTHING_FOLLOWS}{BOLD:#}");
    }
    let _ = writeln!(out, "  {BAD}{}{BAD:#}", narrative.end);
}

fn properties(report: &Report, out: &mut Text) {
    let _ = writeln!(out, "\n{BOLD}properties{BOLD:#} (with the number of scopes that reach the premise)");
    for (number, property) in PROPERTIES.iter().enumerate() {
        let is_broken = report.runs.iter().filter_map(Run::found).any(|it| it.number == Some(number));
        let paint = if is_broken { BAD } else { Style::new() };
        let reached = report.reached(number);
        let _ = writeln!(out, "{reached:>4}  {:<6} {paint}{}{paint:#}", property.req.id(), property.name);
    }
}

fn steps(report: &Report, out: &mut Text) {
    let kinds = StepKind::ALL.iter().copied().filter(|kind| report.taken(*kind) > 0);
    let taken = kinds.map(|kind| format!("{} {}", kind.name(), report.taken(kind)));
    let _ = writeln!(out, "\n{DIM}steps: {}{DIM:#}", taken.collect::<Vec<_>>().join(", "));
}

/// The number of steps of each kind in each scope, and of those that led to a new state.
fn coverage(report: &Report, out: &mut Text) {
    let _ = writeln!(out, "\n{BOLD}steps{BOLD:#} (with the number of those that led to a new state)");
    for run in &report.runs {
        let kinds = StepKind::ALL.iter().map(|kind| (*kind, run.exploration.steps[*kind as usize]));
        let shown = |(kind, Coverage { taken, fresh }): (StepKind, Coverage)| {
            format!("{} {taken} ({fresh})", kind.name())
        };
        let taken: Vec<String> = kinds.filter(|(_, it)| it.taken > 0).map(shown).collect();
        let _ = writeln!(out, "  {:<36}  {}", run.scope.name, taken.join(", "));
    }
}

fn summary(report: &Report, out: &mut Text) {
    let states: usize = report.runs.iter().map(|run| run.exploration.states).sum();
    let seconds = report.elapsed.as_secs_f64();
    let scopes = count(report.runs.len(), "scope");
    let shipped = report.runs.iter().any(|run| run.scope.algorithm().is_some_and(|it| it.runs(&Controller)));
    let scopes = if shipped { format!("{scopes} with the shipped controllers") } else { scopes };
    let is_reduced = report.runs.iter().any(|run| run.exploration.symmetry);
    let names = if is_reduced { " (but for names)" } else { "" };
    let _ = write!(out, "{scopes}, {states} states{names} in {seconds:.1} s: ");
    let (untested, never) = (report.untested(), report.never_taken());
    let _ = match () {
        () if report.is_broken() => writeln!(out, "{BAD}a property is broken{BAD:#}"),
        () if !never.is_empty() => {
            let kinds: Vec<&str> = never.into_iter().map(StepKind::name).collect();
            writeln!(out, "{BAD}no scope made these steps possible: {}{BAD:#}", kinds.join(", "))
        }
        () if report.is_interrupted => {
            let left = report.not_run.len();
            writeln!(out, "{OPEN}interrupted, {} not begun; nothing is proved{OPEN:#}", count(left, "scope"))
        }
        () if report.is_unfinished() => {
            writeln!(out, "{OPEN}not finished; nothing is proved about the rest{OPEN:#}")
        }
        () if !untested.is_empty() => {
            let names: Vec<&str> = untested.iter().map(|number| PROPERTIES[*number].name).collect();
            writeln!(out, "{OPEN}never put to the test: {}{OPEN:#}", names.join("; "))
        }
        () => {
            let tested = (0..PROPERTIES.len()).filter(|number| report.reached(*number) > 0).count();
            let all = PROPERTIES.len();
            let _ = write!(out, "{GOOD}every property holds{GOOD:#}, {tested} of {all} were put to the test");
            let _ = match report.with_progress() {
                0 => Ok(()),
                scopes => write!(out, "; in {scopes} scopes every Job finishes on every fair path"),
            };
            writeln!(out)
        }
    };
}
