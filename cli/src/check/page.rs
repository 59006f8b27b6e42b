//! The report as a page: counterexamples, states by depth, the properties, and graphs of small scopes.

use jobcheck_explorer::narrative::{CYCLE_FOLLOWS, NOTHING_FOLLOWS};
use jobcheck_judge::report::Exit;
use jobcheck_look::escape::html;
use jobcheck_look::plot::{Columns, Mark, bar};

use super::args::CheckArgs;
use super::json::{BrokenReport, CheckReport, CounterexampleReport, ScopeReport, StoryLine};
use crate::page::{document, head, number, row, rule, table};

/// The page. `graphs` are sections that follow the table of scopes.
pub fn html_page(report: &CheckReport, args: &CheckArgs, exit: Exit, graphs: &str) -> String {
    let result = match exit {
        Exit::Conforms => "holds",
        Exit::Inconclusive => "not finished",
        _ => "broken",
    };
    let title = match &report.scopes[..] {
        [one] => format!("Scope {}", one.scope),
        several => format!("{} scopes", several.len()),
    };
    let states: usize = report.scopes.iter().map(|it| it.states).sum();
    let below = format!("{} states in {:.1} s", number(states as u64), report.seconds);
    let body = head(exit, result, &title, &below)
        + &counterexamples(report, args)
        + &scopes(report)
        + graphs
        + &properties(report)
        + &steps(report);
    document(&format!("{result}: {title}"), &body)
}

/// The counterexamples of all scopes.
pub fn counterexamples(report: &CheckReport, args: &CheckArgs) -> String {
    let broken = report.scopes.iter().filter_map(|scope| Some((scope, scope.counterexample.as_ref()?)));
    let shown = broken.map(|(scope, found)| {
        counterexample(&format!("scope {}", scope.scope), command(scope, args).as_deref(), found)
    });
    shown.collect()
}

/// The command that steps through a counterexample. Managers that write status alone have none.
fn command(scope: &ScopeReport, args: &CheckArgs) -> Option<String> {
    let subject = match scope.subject {
        "mirror" | "kueue" | "contract" | "aggregate" => return None,
        "controller" => " --subject controller",
        _ => "",
    };
    if let Some(mutant) = args.mutant().filter(|_| args.scopes.is_empty()) {
        return Some(format!("jobcheck explore --mutant {}", mutant.id));
    }
    if args.mutant.is_some() {
        return None;
    }
    let without: String = args.without.iter().map(|req| format!(" --without {}", req.id())).collect();
    Some(format!("jobcheck explore {}{subject}{without} --counterexample", scope.scope))
}

/// A counterexample in a place such as `scope non-indexed`, and the command that steps through it.
pub fn counterexample(place: &str, command: Option<&str>, found: &CounterexampleReport) -> String {
    let command = command.map_or(String::new(), |command| {
        format!("<p class=\"key\">Step through it: <code>{}</code></p>\n", html(command))
    });
    let id = found.requirement.map_or(String::new(), |id| format!("{id}: "));
    let world: String =
        found.world.iter().map(|line| format!("<p class=\"dim\">{}</p>\n", html(line))).collect();
    let mut lines = String::new();
    for (at, line) in found.story.iter().enumerate() {
        if found.turn == Some(at) {
            lines += &turn(CYCLE_FOLLOWS);
        }
        lines += &step(line, found.requirement);
    }
    if found.turn == Some(found.story.len()) {
        lines += &turn(NOTHING_FOLLOWS);
    }
    format!(
        "<section>\n<div class=\"alarm\">\n<h2>{}{}</h2>\n<p>In {}: {}</p>\n{}</div>\n{world}\
         <h3>The shortest way to it</h3>\n<ol class=\"steps\">\n{lines}</ol>\n<p class=\"bad\">{}</p>\n\
         {command}</section>\n",
        html(&id),
        html(found.property),
        html(place),
        html(&found.why),
        found.requirement.map_or(String::new(), rule),
        html(&found.end),
    )
}

fn turn(words: &str) -> String {
    format!("<li class=\"turn\">{}</li>\n", html(words))
}

/// A step with its notes, in the words of the report for people. The text of the rule that is `shown` is not repeated.
fn step(line: &StoryLine, shown: Option<&str>) -> String {
    let note = |text: String| format!("<span class=\"dim\">{}</span>", html(&text));
    let broken = |words: &str, it: &BrokenReport| {
        format!(
            "<span class=\"note bad\">{words}, {}: {} ({})</span>{}",
            html(it.requirement),
            html(it.sentence),
            html(&it.found),
            if shown == Some(it.requirement) { String::new() } else { rule(it.requirement) }
        )
    };
    let others: Vec<&str> = line.objections.iter().skip(1).map(|it| it.requirement).collect();
    let notes = [
        line.stale.as_ref().map(|text| note(format!("although {text}"))),
        line.decides.as_ref().map(|text| note(format!("decides: {text}"))),
        line.refusal.as_ref().map(|it| broken("refused (422)", it)),
        line.objections.first().map(|it| broken("not admitted", it)),
        (!others.is_empty()).then(|| note(format!("also not admitted: {}", others.join(", ")))),
    ];
    let notes: String = notes.into_iter().flatten().collect();
    let events: String = line.events.iter().cloned().map(note).collect();
    let (who, what) = (html(line.who), html(&line.what));
    format!("<li><span class=\"who\">{who}</span> {what}{notes}{events}</li>\n")
}

/// The table of scopes, with the number of states at each depth.
pub fn scopes(report: &CheckReport) -> String {
    if let ([one], true) = (&report.scopes[..], report.not_run.is_empty()) {
        return format!(
            "<section>\n<h2>States by depth</h2>\n{}{}</section>\n",
            by_depth(one, true),
            scope_table(report)
        );
    }
    let not_run = if report.not_run.is_empty() {
        String::new()
    } else {
        let names = html(&report.not_run.join(", "));
        let number = report.not_run.len();
        format!("<details>\n<summary>Not run: {number} scopes</summary>\n<p>{names}</p>\n</details>\n")
    };
    format!(
        "<section>\n<h2>Scopes</h2>\n{not_run}{}<p class=\"key\">The bars of states are logarithmic. The columns are the numbers of states at \
         each depth.</p>\n</section>\n",
        scope_table(report)
    )
}

fn scope_table(report: &CheckReport) -> String {
    let most = report.scopes.iter().map(|it| it.states).max().unwrap_or(1);
    let rows: Vec<String> = report.scopes.iter().map(|scope| scope_row(scope, most)).collect();
    let head = ["scope", "result", "states", "", "steps", "depth", "time", "states by depth"];
    table("numbers", &head, &rows)
}

fn scope_row(scope: &ScopeReport, most: usize) -> String {
    let (class, result) = match (scope.result, scope.limit) {
        ("holds", _) if scope.rests.is_some() => ("conforms", "gets there".to_owned()),
        ("holds", _) => ("conforms", "holds".to_owned()),
        ("broken", _) if scope.counterexample.as_ref().is_some_and(|it| it.turn.is_some()) => {
            ("violates", "is stuck".to_owned())
        }
        ("broken", _) => ("violates", "broken".to_owned()),
        (_, limit) => ("inconclusive", format!("cut: {}", limit.unwrap_or_default())),
    };
    let share = (scope.states.max(1) as f64).log10() / (most.max(10) as f64).log10();
    let states = number(scope.states as u64);
    row(&[
        format!("{}<span class=\"about dim\">{}</span>", html(scope.scope), html(&scope.bounds)),
        format!("<span class=\"{class}\">{result}</span>"),
        states.clone(),
        bar(share, &format!("{states} states")),
        number(scope.generated),
        number(scope.depth as u64),
        format!("{:.2} s", scope.seconds),
        by_depth(scope, false),
    ])
}

/// The number of states at each depth: small in a row of the table, or with axes.
fn by_depth(scope: &ScopeReport, is_large: bool) -> String {
    let most = scope.widest_layer.max(1);
    let mark = |(depth, states): (usize, &usize)| Mark {
        share: *states as f64 / most as f64,
        text: format!("depth {depth}: {} states", number(*states as u64)),
    };
    let marks: Vec<Mark> = scope.layers.iter().enumerate().map(mark).collect();
    let last = marks.len().saturating_sub(1);
    let axes = is_large.then(|| [number(most as u64), "depth 0".to_owned(), last.to_string()]);
    let name = format!("States by depth, at most {} at one of {last}", number(most as u64));
    Columns { name: &name, marks: &marks, size: if is_large { (640, 140) } else { (160, 24) }, axes }.svg()
}

fn properties(report: &CheckReport) -> String {
    let most = report.scopes.len().max(1);
    let rows: Vec<String> = report
        .properties
        .iter()
        .filter_map(|it| {
            let reached = it.scopes_reached?;
            let is_broken = report.scopes.iter().filter_map(|scope| scope.counterexample.as_ref());
            let is_broken = is_broken.into_iter().any(|found| found.property == it.name);
            let class = if is_broken { "violates" } else { "" };
            Some(row(&[
                html(it.requirement.unwrap_or("–")),
                format!("{reached}"),
                bar(reached as f64 / most as f64, &format!("{reached} of {most} scopes")),
                format!("<span class=\"{class}\">{}</span>", html(it.name)),
            ]))
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let table = table("numbers", &["rule", "scopes", "", "property"], &rows);
    format!(
        "<section>\n<h2>Properties</h2>\n<p class=\"dim\">Each is checked in every state. The scopes are those in which \
         its premise holds somewhere, so that it was put to the test.</p>\n{table}</section>\n"
    )
}

fn steps(report: &CheckReport) -> String {
    let mut kinds: Vec<(&str, u64, u64)> = Vec::new();
    for it in report.scopes.iter().flat_map(|scope| &scope.steps) {
        match kinds.iter_mut().find(|(kind, ..)| *kind == it.kind) {
            Some((_, count, fresh)) => {
                *count += it.count;
                *fresh += it.fresh;
            }
            None => kinds.push((it.kind, it.count, it.fresh)),
        }
    }
    kinds.retain(|(_, count, _)| *count > 0);
    let most = kinds.iter().map(|(_, count, _)| *count).max().unwrap_or(1);
    let rows: Vec<String> = kinds
        .iter()
        .map(|(kind, count, fresh)| {
            let text = format!("{} steps", number(*count));
            let share = (*count as f64).log10() / (most.max(10) as f64).log10();
            row(&[html(kind), number(*count), number(*fresh), bar(share, &text)])
        })
        .collect();
    let table = table("numbers", &["kind of step", "taken", "led to a new state", ""], &rows);
    format!("<section>\n<h2>Steps</h2>\n{table}</section>\n")
}
