//! The first lines of a page: for each Job what is wrong, how often, how it ends, and what is right. They need no script.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use jobcheck_judge::validate::Outcome;
use jobcheck_look::escape;
use jobcheck_spec::Req;

use crate::copies::copies;
use crate::page::{Found, Job, Page, Step};
use crate::rich::rich;
use crate::standing::{clock, duration, name, standing};

/// The number of Jobs that are described.
const JOBS: usize = 3;
/// The number of rules that are named for one Job.
const RULES: usize = 8;
/// The number of rules for which the right behaviour is shown.
const INSTEAD: usize = 2;

/// Describes the first Jobs with a violation, and counts the others.
pub fn brief(page: &Page) -> String {
    let wrong: Vec<usize> =
        (0..page.jobs.len()).filter(|job| page.jobs[*job].verdict == Outcome::Violates).collect();
    let mut shown = BTreeSet::new();
    let mut out: String = wrong.iter().take(JOBS).map(|job| of_job(page, *job, &mut shown)).collect();
    if wrong.is_empty() {
        return out;
    }
    if let Some(more @ 1..) = wrong.len().checked_sub(JOBS) {
        let jobs = if more == 1 { "1 more Job has" } else { &format!("{more} more Jobs have") };
        let _ = writeln!(out, "<p>{jobs} a violation; see the findings below.</p>");
    }
    format!("<section id=\"story\" aria-label=\"In short\">\n{out}</section>\n")
}

/// One Job. The sentences of rules are there for the first Job, and each text about the right behaviour once.
fn of_job(page: &Page, number: usize, shown: &mut BTreeSet<String>) -> String {
    let job = &page.jobs[number];
    let Some(first) = job.findings.first() else { return String::new() };
    let role = &page.traces[job.trace].role;
    let place = match (job.label.is_empty(), role.is_empty()) {
        (_, true) => String::new(),
        (true, false) => format!(" on the {role}"),
        (false, false) => format!(" ({} on {role})", job.label),
    };
    let paragraphs = [
        Some(("First violation", first_words(page, job, first))),
        copies(page, number).map(|text| ("Its copies", text)),
        Some(("Broken rules", rules(job, shown.is_empty()))),
        Some(("The end", end_words(page, number, first))),
    ];
    let mut out = format!(
        "<h2 data-job=\"{number}\">Job {}{}</h2>\n<div class=\"brief\">\n<dl>\n",
        escape::html(&job.job),
        escape::html(&place)
    );
    for (title, text) in paragraphs.into_iter().flatten() {
        let _ = writeln!(out, "<dt>{title}</dt><dd>{text}</dd>");
    }
    let _ = writeln!(out, "</dl>\n{}</div>", instead(page, job, first, shown));
    out
}

/// The moment, the sender, the request, and the difference.
fn first_words(page: &Page, job: &Job, first: &Found) -> String {
    let finding = &first.finding;
    let step = first.step.map(|step| &page.steps[step]);
    let what = match step {
        Some(step) => match page.sender(step) {
            Some(sender) => format!("{sender} {}", step.what),
            None => step.what.clone(),
        },
        None => finding.difference.write.clone(),
    };
    let day = finding
        .place
        .time
        .as_deref()
        .and_then(|time| Some(format!("{} {} UTC", time.get(..10)?, time.get(11..19)?)));
    let line = finding.place.line.filter(|_| !finding.is_of_the_end()).map(|line| format!("line {line}"));
    let place: Vec<String> = day.into_iter().chain(line).collect();
    let place = if place.is_empty() { String::new() } else { format!("{}: ", place.join(", ")) };
    let mut out = format!("{}<strong>{}</strong>.", escape::html(&place), escape::html(&what));
    let difference = &finding.difference;
    let _ = write!(
        out,
        " Expected: <span class=\"admitted\">{}</span>. Found: <span class=\"found\">{}</span>.",
        escape::html(&difference.expected),
        escape::html(&difference.found)
    );
    if let Some(step) = step {
        out.push_str(&repeats(page, job, step));
    }
    out
}

/// Counts the refusals that are like the first one.
fn repeats(page: &Page, job: &Job, first: &Step) -> String {
    let Some(refusal) = &first.refusal else { return String::new() };
    let is_alike = |step: &&Step| {
        let same = step
            .refusal
            .as_ref()
            .is_some_and(|it| (it.code, &it.message) == (refusal.code, &refusal.message));
        same && step.object == first.object
    };
    let alike: Vec<&Step> = page.steps.iter().filter(is_alike).collect();
    let Some(last) = alike.last().filter(|_| alike.len() > 1) else { return String::new() };
    let until = last.at.map(|at| format!(" at {}", clock(at))).unwrap_or_default();
    let bound = if job.steps.0 > job.steps.1 { " or more" } else { "" };
    format!(
        " <strong>{}{bound} requests</strong> get this answer, the last{until} (line {}).",
        alike.len(),
        last.line
    )
}

/// The broken rules with their numbers. Those after the first may be consequences.
fn rules(job: &Job, with_sentences: bool) -> String {
    let groups = job.by_rule();
    let first = job.findings[0].step;
    let mut items = Vec::new();
    for all in groups.iter().take(RULES) {
        let id = all[0].id();
        let times = if all.len() == 1 { String::new() } else { format!(", {} times", all.len()) };
        let known = all[0].finding.known.map(|id| format!(", the known deviation {id}")).unwrap_or_default();
        let later =
            if all[0].step == first { "" } else { " <span class=\"dim\">(possibly a consequence)</span>" };
        let sentence = if with_sentences {
            format!(": {}", escape::html(all[0].finding.sentence))
        } else {
            String::new()
        };
        items.push(format!("<strong>{}</strong>{times}{known}{sentence}{later}", escape::html(&id)));
    }
    if let Some(more @ 1..) = groups.len().checked_sub(RULES) {
        items.push(format!("{more} more"));
    }
    if with_sentences {
        format!("<ul>\n<li>{}</li>\n</ul>", items.join("</li>\n<li>"))
    } else {
        items.join("; ")
    }
}

/// The state in which the trace leaves the Job and its copies.
fn end_words(page: &Page, number: usize, first: &Found) -> String {
    let job = &page.jobs[number];
    if job.steps.0 > job.steps.1 {
        return "The page leaves out a part of this Job.".to_owned();
    }
    let is_record = |step: &&Step| step.job == Some(number) && step.object.is_some();
    let last = page.steps.iter().filter(is_record).filter_map(|step| step.at).max();
    let start = first.step.filter(|_| !first.finding.is_of_the_end()).and_then(|step| page.steps[step].at);
    let later = match (start, last) {
        (Some(start), Some(last)) if last > start => format!(", {} later", duration(last - start)),
        _ => String::new(),
    };
    let state = |it: usize| {
        let words = standing(page, it)?.words();
        let is_alone = page.traces[job.trace].role.is_empty();
        Some(if is_alone { words } else { format!("{}: {words}", name(page, &page.jobs[it])) })
    };
    let mut beside = job.beside.clone();
    beside.sort_by_key(|copy| &page.jobs[*copy].label);
    let all = std::iter::once(number).chain(beside);
    let states: Vec<String> = all.filter_map(state).collect();
    let copies = if job.beside.is_empty() || job.trace > 0 {
        ""
    } else {
        " <span class=\"dim\">A copy is a Job on a worker cluster that does the work of the Job on the manager.</span>"
    };
    format!("At the last record of the Job{later}: {}.{copies}", escape::html(&states.join("; ")))
}

/// The right behaviour: that of the rules that the first request breaks, and of a rule that a finding cites.
fn instead(page: &Page, job: &Job, first: &Found, shown: &mut BTreeSet<String>) -> String {
    let same = job.findings.iter().filter(|found| found.step == first.step);
    let cited = same.clone().filter_map(|found| cited(&found.finding.difference.found));
    let ids: Vec<String> = same.map(Found::id).chain(cited.map(|req| req.id().to_owned())).collect();
    let mut texts: Vec<(String, &str)> = Vec::new();
    for id in ids {
        let text = page.rules.get(&id).map(|rule| rule.instead.as_str()).unwrap_or_default();
        if !text.is_empty() && texts.len() < INSTEAD && texts.iter().all(|(known, _)| *known != id) {
            texts.push((id, text));
        }
    }
    let all = texts.iter().map(|(id, _)| id.clone()).collect::<Vec<_>>();
    texts.retain(|(id, _)| shown.insert(id.clone()));
    if texts.is_empty() && !all.is_empty() {
        let words = format!("As above: {}.", escape::html(&all.join(", ")));
        return format!(
            "<div class=\"instead\">\n<h3>What it should have done</h3>\n<p>{words}</p>\n</div>\n"
        );
    }
    if texts.is_empty() {
        return String::new();
    }
    let several = all.len() > 1;
    let mut out = String::from("<div class=\"instead\">\n<h3>What it should have done</h3>\n");
    for (id, text) in texts {
        if several {
            let _ = writeln!(out, "<p><strong>{}</strong></p>", escape::html(&id));
        }
        out.push_str(&rich(text));
    }
    out + "</div>\n"
}

/// The rule that the text of a finding begins with, such as that of a validation.
pub fn cited(found: &str) -> Option<Req> {
    Req::parse(found.split_once(": ")?.0)
}
