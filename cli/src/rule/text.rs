//! The text report of `jobcheck rule`.

use std::fmt::Write as _;

use jobcheck_judge::report::aliases;
use jobcheck_rulebook::{Evidence, Kind, Rule, numbered};
use jobcheck_spec::{Binds, Judged, Level, Req, Requirement};

use crate::styles::{BOLD, DIM};

/// The maximum number of columns of a line.
const WIDTH: usize = 100;
/// The number of columns before the text of a labelled part.
const INDENT: usize = 11;
/// The maximum number of functions, mutants, traces, and scenarios in a list. The requirement's page lists all of them.
const SHOWN: usize = 4;

/// Returns the id and the sentence of each requirement, one requirement per line.
pub fn list(reqs: &[Req]) -> String {
    let line = |req: &Req| wrapped(req.entry().sentence, &format!("{:<8}", req.id()), 8);
    reqs.iter().map(line).collect()
}

/// Returns the full text about one requirement.
pub fn one(rule: &Rule) -> String {
    let entry = rule.requirement;
    let mut out = String::new();
    let also: Vec<&str> = aliases(entry.req).collect();
    let also = if also.is_empty() { String::new() } else { format!(" (also {})", also.join(", ")) };
    let _ = writeln!(out, "{BOLD}{}{also}{BOLD:#}", entry.id);
    out.push_str(&wrapped(entry.sentence, "", 0));
    for paragraph in rule.section.details.split("\n\n").filter(|it| !it.is_empty()) {
        out.push('\n');
        out.push_str(&paragraph_text(paragraph));
    }
    out.push('\n');
    let section = &rule.section;
    for (label, text) in
        [("reason", section.reason), ("example", section.example), ("instead", section.instead)]
    {
        for (number, item) in listed(text).iter().enumerate() {
            out.push_str(&labelled(if number == 0 { label } else { "" }, &plain(item)));
        }
    }
    out.push_str(&labelled("source", &plain(section.source)));
    out.push_str(&labelled("binds", &bound(entry)));
    out.push_str(&labelled("decided", &decided(entry)));
    out.push_str(&evidence(rule));
    out.push_str(&labelled(
        "page",
        &format!("docs/reference/requirements/{}.md", jobcheck_rulebook::page(entry.req)),
    ));
    out
}

fn evidence(rule: &Rule) -> String {
    let mut out = String::new();
    let of = |wanted: &dyn Fn(Kind) -> bool| {
        rule.evidence.iter().copied().filter(|it| wanted(it.kind)).collect::<Vec<_>>()
    };
    let code = of(&Kind::decides);
    let function = |it: &Evidence| format!("{}  {DIM}{}{DIM:#}", it.name, it.file);
    out.push_str(&items("code", &code, usize::MAX, function));
    let reports = of(&|kind| kind == Kind::Reports);
    out.push_str(&items("reported", &reports, SHOWN, function));
    let ids = |reqs: &[Req]| reqs.iter().map(|req| req.id()).collect::<Vec<_>>().join(", ");
    if !rule.reported_as.is_empty() {
        out.push_str(&labelled("under", &format!("reported as a violation of {}", ids(&rule.reported_as))));
    }
    let also = rule.requirement.req.also();
    if !also.is_empty() {
        out.push_str(&labelled("with", &format!("a violation is one of {} too", ids(&also))));
    }
    for (label, kind) in [("shipped", Kind::Controller), ("reference", Kind::Algorithm)] {
        let functions = of(&|it| it == kind);
        out.push_str(&items(label, &functions, SHOWN, |it| format!("{}  {DIM}{}{DIM:#}", it.name, it.file)));
    }
    let property = of(&|kind| kind == Kind::Property);
    out.push_str(&items("property", &property, usize::MAX, |it| it.name.to_owned()));
    let mutants = of(&|kind| kind == Kind::Mutant);
    out.push_str(&items("mutants", &mutants, SHOWN, |it| format!("jobcheck mutants {}", it.name)));
    let traces = of(&|kind| kind == Kind::InvalidTrace);
    out.push_str(&items("traces", &traces, SHOWN, |it| format!("jobcheck replay {}", it.file)));
    let scenarios = of(&|kind| kind == Kind::Scenario);
    out.push_str(&items("scenarios", &scenarios, SHOWN, |it| format!("jobcheck run {}", it.file)));
    out
}

/// Returns one line per item, the first line with the label, and the number of items beyond `shown`.
fn items(label: &str, all: &[Evidence], shown: usize, line: impl Fn(&Evidence) -> String) -> String {
    let mut out = String::new();
    for (number, it) in all.iter().take(shown).enumerate() {
        let label = if number == 0 { label } else { "" };
        let _ = writeln!(out, "{label:<INDENT$}{}", line(it));
    }
    if all.len() > shown {
        let _ = writeln!(out, "{:<INDENT$}and {} more", "", all.len() - shown);
    }
    out
}

fn labelled(label: &str, text: &str) -> String {
    wrapped(text, &format!("{label:<INDENT$}"), INDENT)
}

/// Returns the items of a numbered list, each with its number, or else the text as it is.
fn listed(text: &str) -> Vec<String> {
    match numbered(text) {
        Some(items) => items.iter().zip(1..).map(|(item, number)| format!("{number}. {item}")).collect(),
        None => Some(text.to_owned()).into_iter().filter(|it| !it.is_empty()).collect(),
    }
}

/// Returns a Markdown paragraph as plain text. Tables and lists keep their lines; other text is wrapped.
fn paragraph_text(paragraph: &str) -> String {
    let keeps = paragraph
        .lines()
        .any(|line| line.starts_with('|') || line.starts_with("- ") || line.starts_with("1. "));
    let lines = || paragraph.lines().map(plain);
    if keeps {
        lines().map(|line| format!("  {line}\n")).collect()
    } else {
        wrapped(&plain(paragraph), "", 0)
    }
}

/// Returns Markdown without its syntax: no backticks, no stars, and no link targets but the pages of findings.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['`', '[', ']', '*']) {
        out.push_str(&rest[..at]);
        let tail = &rest[at + 1..];
        let is_target = rest.as_bytes()[at] == b']' && tail.starts_with('(');
        rest = if is_target {
            let (target, after) = tail.split_once(')').unwrap_or((tail, ""));
            if let Some((_, page)) = target.split_once("findings/") {
                let _ = write!(out, " (docs/findings/{page})");
            }
            after
        } else {
            tail
        };
    }
    out.push_str(rest);
    out
}

/// Returns the head and the text in lines of at most [`WIDTH`] columns. The head is `indent` columns wide, and all
/// later lines are indented by as many.
fn wrapped(text: &str, head: &str, indent: usize) -> String {
    let mut out = head.to_owned();
    let mut column = indent;
    for word in text.split_whitespace() {
        let width = word.chars().count();
        if column > indent && column + 1 + width > WIDTH {
            let _ = write!(out, "\n{:indent$}", "");
            column = indent;
        }
        if column > indent {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += width;
    }
    out.push('\n');
    out
}

/// Returns the components that a requirement binds, and its level.
pub fn bound(entry: &Requirement) -> String {
    let who = match entry.binds {
        Binds::Api => "the API server",
        Binds::Executor => "executors: controllers that create pods for a Job",
        Binds::Manager => "managers: every controller that writes a Job's status",
        Binds::Ttl => "the TTL-after-finished controller",
        Binds::Internal => {
            return "nobody: internal to a process, or an assumption about the environment".to_owned();
        }
    };
    let level = if entry.level == Level::Must { "MUST" } else { "SHOULD" };
    format!("{who} ({level})")
}

/// Returns the evidence by which `jobcheck` decides a requirement, or the reason why no trace decides it.
pub fn decided(entry: &Requirement) -> String {
    match entry.judged {
        Judged::Truth => "from what etcd held, whatever the caches showed".to_owned(),
        Judged::View => "from what some possible state of the caches showed".to_owned(),
        Judged::Audit => "from actors, requests or refusals, which a watch does not show".to_owned(),
        Judged::Pending => "from what is still outstanding when a trace ends".to_owned(),
        Judged::Clusters => "from the traces of the manager and of its workers (--cluster)".to_owned(),
        Judged::Explored(reason) => format!("by exploration and tests alone: {reason}"),
        Judged::Not(reason) => format!("not by jobcheck: {reason}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{listed, plain, wrapped};

    #[test]
    fn a_numbered_list_is_split_into_its_items() {
        assert_eq!(listed("1. Store it,\n   and wait.\n2. Go on."), ["1. Store it, and wait.", "2. Go on."]);
        assert_eq!((listed("Wait."), listed("")), (vec!["Wait.".to_owned()], Vec::new()));
    }

    #[test]
    fn markdown_becomes_plain_text() {
        assert_eq!(
            plain("see [FT-03](ft.md#ft-03) and `active: 0`, *finishing*"),
            "see FT-03 and active: 0, finishing"
        );
        assert_eq!(plain("[S-05](../../findings/S-05.md)."), "S-05 (docs/findings/S-05.md).");
    }

    #[test]
    fn long_text_is_wrapped_under_its_head() {
        let text = vec!["word"; 30].join(" ");
        let wrapped = wrapped(&text, "head  ", 6);
        assert!(wrapped.lines().all(|line| line.len() <= 100) && wrapped.lines().count() == 2, "{wrapped}");
        assert!(wrapped.lines().nth(1).is_some_and(|line| line.starts_with("      word")), "{wrapped}");
    }
}
