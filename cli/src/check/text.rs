//! The report for people. It is no interface: its JSON is.

use std::fmt::Write;

use anstyle::Style;
use jobcheck_adapter::CONTROLLER;
use jobcheck_explorer::check::{Coverage, Cut, Exploration, Outcome};
use jobcheck_explorer::counterexample::Counterexample;
use jobcheck_explorer::narrative::user::action_text;
use jobcheck_explorer::narrative::{CYCLE_FOLLOWS, NOTHING_FOLLOWS, Narrative};
use jobcheck_explorer::properties::PROPERTIES;
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::step::StepKind;
use jobcheck_spec::{Req, Time};

use super::{Report, Run};
use crate::args::Global;
use crate::styles::{BAD, BOLD, DIM, GOOD, OPEN};

/// Why two leaders are apart from all else.
const TWO_LEADERS: &str = "no specification allows two leaders (SY-01)";

/// The scopes with what bounds them.
pub fn list(scopes: &[Scope]) -> String {
    let mut out = String::new();
    for scope in scopes {
        let _ = writeln!(out, "{BOLD}{:<36}{BOLD:#} {}", scope.name, scope.about);
        let _ = writeln!(out, "{:<36} {DIM}{}{DIM:#}", "", bounds(scope));
    }
    out
}

/// The scopes that only a name asks for.
pub fn list_apart(scopes: &[Scope]) -> String {
    if scopes.is_empty() {
        return String::new();
    }
    let shows = "jobcheck check two-leaders shows what comes of them, such as a pod that is counted twice";
    format!("\n{BOLD}of no size, since {TWO_LEADERS}; {shows}{BOLD:#}\n{}", list(scopes))
}

/// What bounds a scope.
pub fn bounds(scope: &Scope) -> String {
    let mut parts = vec![format!("at most {}", pods(scope.pods))];
    let mut add = |holds: bool, text: String| {
        if holds {
            parts.push(text);
        }
    };
    add(scope.jobs.len() > 1, format!("{} Jobs", scope.jobs.len()));
    let behind =
        |count: usize, what: &str| format!("{count} {what}{} behind", if count == 1 { "" } else { "s" });
    add(scope.lag > 0, format!("Pod cache {}", behind(scope.lag, "change")));
    add(scope.job_lag > 0, format!("Job cache {}", behind(scope.job_lag, "version")));
    add(scope.ticks > 0, format!("{} s", scope.ticks));
    let moves: Vec<String> = scope.user.iter().map(|action| action_text(*action)).collect();
    add(!moves.is_empty(), format!("user: {}", moves.join(", ")));
    let others: Vec<String> = scope.disruptions.iter().map(|step| format!("{step:?}")).collect();
    add(!others.is_empty(), format!("others: {}", others.join(", ")));
    add(!scope.found.is_empty(), format!("{} of them there before", scope.found.len()));
    let faults = &scope.faults;
    let times = |count: u8, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    add(faults.failures > 0, times(faults.failures, "failed request"));
    add(faults.losses > 0, times(faults.losses, "lost answer"));
    add(faults.crashes > 0, times(faults.crashes, "crash"));
    add(scope.delayed_requests, "a request of the dead process may still be handled".to_owned());
    add(faults.second_leaders > 0, "two leaders for a while".to_owned());
    scope.refused.iter().for_each(|refusal| add(true, format!("refused for ever: {refusal}")));
    add(!scope.not_checked.is_empty(), format!("all is asked but {}", ids(scope.not_checked)));
    add(scope.progress, "progress is asked for, and nothing reduced".to_owned());
    let ahead = scope.ttl_clock(Time(0)).0;
    add(ahead != 0, format!("TTL controller's clock {ahead:+} s"));
    parts.join(", ")
}

/// Requirements by their ids.
pub fn ids(reqs: &[Req]) -> String {
    reqs.iter().map(|req| req.id()).collect::<Vec<_>>().join(", ")
}

fn pods(count: usize) -> String {
    if count == 1 { "1 pod".to_owned() } else { format!("{count} pods") }
}

/// The head of the table.
pub fn head() -> String {
    format!(
        "{BOLD}{:<36} {:>9} {:>10} {:>6} {:>9} {:>7} {:>8}  {:<12} bounded by{BOLD:#}\n",
        "scope", "states", "steps", "depth", "states/s", "B/state", "time", "result"
    )
}

/// The row of a scope, or the name of one for which no time was left.
pub fn row(run: Result<&Run, &'static str>) -> String {
    run.map_or_else(|name| format!("{name:<36} {OPEN}not run{OPEN:#}\n"), explored)
}

/// What comes after the table.
pub fn render(report: &Report, global: &Global) -> String {
    let mut out = String::new();
    for run in &report.runs {
        if let Outcome::Broken(found) = &run.exploration.outcome {
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
        let _ = writeln!(out, "{TWO_LEADERS}: what is broken there is what comes of them");
    }
    out
}

fn explored(run: &Run) -> String {
    let it = &run.exploration;
    let seconds = run.elapsed.as_secs_f64();
    let rate = it.states as f64 / seconds.max(1e-6);
    let (paint, result) = result(it);
    let bytes = it.bytes as f64 / it.states.max(1) as f64;
    format!(
        "{:<36} {:>9} {:>10} {:>6} {rate:>9.0} {bytes:>7.0} {seconds:>7.2}s  {paint}{result:<12}{paint:#} \
         {DIM}{}{DIM:#}\n",
        run.scope.name,
        it.states,
        it.generated,
        it.depth,
        short_bounds(&run.scope, it.pods_bound_reached)
    )
}

/// The bounds in few words; the one on pods is marked where it held a creation back.
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
    add(scope.delayed_requests, "late request".to_owned());
    add(!scope.refused.is_empty(), "refused for ever".to_owned());
    add(faults.second_leaders > 0, format!("two leaders {}", faults.second_leaders));
    let ahead = scope.ttl_clock(Time(0)).0;
    add(ahead != 0, format!("TTL clock {ahead:+} s"));
    text
}

fn result(it: &Exploration) -> (Style, &'static str) {
    match &it.outcome {
        Outcome::Holds if it.quiescent_states.is_some() => (GOOD, "gets there"),
        Outcome::Holds => (GOOD, "holds"),
        Outcome::Broken(found) if found.cycle_start.is_some() => (BAD, "is stuck"),
        Outcome::Broken(_) => (BAD, "broken"),
        Outcome::NotFinished(Cut::States) => (OPEN, "cut: states"),
        Outcome::NotFinished(Cut::Memory) => (OPEN, "cut: memory"),
        Outcome::NotFinished(Cut::Time) => (OPEN, "cut: time"),
    }
}

/// The way to a broken property, as a numbered story.
pub fn counterexample(scope: &Scope, found: &Counterexample, out: &mut String) {
    let req = found.req.map_or(String::new(), |req| format!("{req} "));
    let shipped = scope.algorithm().is_some_and(|it| it.decisions == CONTROLLER);
    let of = if shipped { " (shipped controllers)" } else { "" };
    let _ = writeln!(out, "\n{BAD}{}{of}: {req}{}{BAD:#}: {}", scope.name, found.property, found.why);
    let _ = writeln!(out, "  {DIM}{}{DIM:#}", scope.about);
    // A scope asks for everything: there is nothing besides.
    tell(&Narrative::of(scope, found, None), out);
}

/// The head, the steps, and the end of a counterexample.
pub fn tell(story: &Narrative, out: &mut String) {
    for line in &story.head {
        let _ = writeln!(out, "  {line}");
    }
    for (number, line) in (1..).zip(&story.lines) {
        if story.cycle_start == Some(number - 1) {
            let _ = writeln!(out, "      {BOLD}{CYCLE_FOLLOWS}{BOLD:#}");
        }
        let _ = writeln!(out, "{number:>4}. {BOLD}{}{BOLD:#} {}", line.who, line.what);
        for note in line.notes(story.asked) {
            let _ = writeln!(out, "      {DIM}{note}{DIM:#}");
        }
    }
    if story.stutters() {
        let _ = writeln!(out, "      {BOLD}{NOTHING_FOLLOWS}{BOLD:#}");
    }
    let _ = writeln!(out, "  {BAD}{}{BAD:#}", story.end);
}

fn properties(report: &Report, out: &mut String) {
    let _ = writeln!(out, "\n{BOLD}properties{BOLD:#} (and in how many scopes they could have been broken)");
    for (number, property) in PROPERTIES.iter().enumerate() {
        let broken = report.runs.iter().any(|run| match &run.exploration.outcome {
            Outcome::Broken(found) => found.number == Some(number),
            Outcome::Holds | Outcome::NotFinished(_) => false,
        });
        let paint = if broken { BAD } else { Style::new() };
        let reached = report.reached(number);
        let _ = writeln!(out, "{reached:>4}  {:<6} {paint}{}{paint:#}", property.req.id(), property.name);
    }
}

fn steps(report: &Report, out: &mut String) {
    let kinds = StepKind::ALL.iter().copied().filter(|kind| report.taken(*kind) > 0);
    let taken = kinds.map(|kind| format!("{} {}", kind.name(), report.taken(kind)));
    let _ = writeln!(out, "\n{DIM}steps: {}{DIM:#}", taken.collect::<Vec<_>>().join(", "));
}

/// How often steps of each kind were taken in each scope, and how often they led to a new state.
fn coverage(report: &Report, out: &mut String) {
    let _ = writeln!(out, "\n{BOLD}steps that were taken{BOLD:#} (and those that led to a new state)");
    for run in &report.runs {
        let kinds = StepKind::ALL.iter().map(|kind| (*kind, run.exploration.steps[*kind as usize]));
        let told = |(kind, Coverage { taken, fresh }): (StepKind, Coverage)| {
            format!("{} {taken} ({fresh})", kind.name())
        };
        let taken: Vec<String> = kinds.filter(|(_, it)| it.taken > 0).map(told).collect();
        let _ = writeln!(out, "  {:<36} {}", run.scope.name, taken.join(", "));
    }
}

fn summary(report: &Report, out: &mut String) {
    let states: usize = report.runs.iter().map(|run| run.exploration.states).sum();
    let seconds = report.elapsed.as_secs_f64();
    let scopes = match report.runs.len() {
        1 => "1 scope".to_owned(),
        count => format!("{count} scopes"),
    };
    let shipped = report
        .runs
        .iter()
        .filter(|run| run.scope.algorithm().is_some_and(|it| it.decisions == CONTROLLER))
        .count();
    let scopes = if shipped > 0 { format!("{scopes} with the shipped controllers") } else { scopes };
    let reduced = report.runs.iter().any(|run| run.exploration.symmetry);
    let names = if reduced { " (but for names)" } else { "" };
    let _ = write!(out, "{scopes}, {states} states{names} in {seconds:.1} s: ");
    let (empty, never) = (report.empty(), report.never_taken());
    let _ = match () {
        () if report.is_broken() => writeln!(out, "{BAD}a property is broken{BAD:#}"),
        () if !never.is_empty() => {
            let kinds: Vec<&str> = never.into_iter().map(StepKind::name).collect();
            writeln!(out, "{BAD}in no scope was this step ever possible: {}{BAD:#}", kinds.join(", "))
        }
        () if report.is_unfinished() => {
            writeln!(out, "{OPEN}not finished, nothing is proved about the rest{OPEN:#}")
        }
        () if !empty.is_empty() => {
            let names: Vec<&str> = empty.iter().map(|number| PROPERTIES[*number].name).collect();
            writeln!(out, "{OPEN}never put to the test: {}{OPEN:#}", names.join("; "))
        }
        () => {
            let tested = (0..PROPERTIES.len()).filter(|number| report.reached(*number) > 0).count();
            let all = PROPERTIES.len();
            let _ = write!(out, "{GOOD}every property holds{GOOD:#}, {tested} of {all} were put to the test");
            let _ = match report.rested() {
                0 => Ok(()),
                rested => write!(out, "; in {rested} scopes every Job comes to its end"),
            };
            writeln!(out)
        }
    };
}
