//! The block of a violation: the sentence first, then the evidence, then help.

use jobcheck_judge::report::{Finding, JobReport, Line, View};

use super::clock::{date, time};
use super::text::Style;
use crate::output::count;
use crate::styles::{BAD, DIM};
use crate::text::{clean, short};

/// The number of lines of an explanation that are shown without `-v` and `--explain=all`.
const LINES_EXPLAINED: usize = 60;
/// The number of pods whose UIDs are shown without `-v`.
const FEW_PODS: usize = 3;

/// The block of a violation, with its explanation if the flags ask for one.
///
/// The first block of a Job has the counts that the pods do not justify.
pub fn block(finding: &Finding, job: &JobReport, is_first: bool, style: &Style) -> String {
    let mut block = Block { out: String::new() };
    block.line(&headline(finding));
    block.evidence(finding, style);
    if is_first {
        block.rows("result", job.contradictions.iter().map(|it| short(it)));
    }
    block.rows("help", finding.help.iter().map(|it| short(it)));
    block.rows("next", finding.next.iter().map(|it| short(it)));
    block.row("page", &finding.page);
    if let Some(id) = finding.known.or(finding.requirement) {
        block.row("more", &format!("jobcheck rule {id}"));
    }
    if style.explain.is_asked() {
        block.explanation(finding, style);
    }
    block.out
}

/// The broken requirement and its sentence.
fn headline(finding: &Finding) -> String {
    let also = match &finding.also[..] {
        [] => String::new(),
        also => format!(" (also {})", also.join(", ")),
    };
    let advice = if finding.level == "MUST" { "" } else { ", advice" };
    let known = finding
        .known
        .map_or(String::new(), |id| format!(", KNOWN deviation {id} of the built-in controller"));
    format!("    {BAD}violates {}{BAD:#}{also}{advice}{known}: {}", id(finding), finding.sentence)
}

/// The id of a finding, or the word for a warning without one.
pub fn id(finding: &Finding) -> String {
    finding.requirement.map_or_else(|| "warning".to_owned(), |id| id.to_string())
}

/// The place of a finding.
pub fn at(file: Option<&str>, line: Option<u64>) -> String {
    match (file, line) {
        (Some(file), Some(line)) => format!("{}:{line}", clean(file)),
        _ => "the end of the trace".to_owned(),
    }
}

/// The place and the time of a line, before its text.
pub fn place(line: &Line) -> String {
    let time = time(line.time.as_deref()).map(|time| format!("{time}  ")).unwrap_or_default();
    match (&line.file, line.line) {
        (Some(_), Some(_)) => format!("{}  {time}", at(line.file.as_deref(), line.line)),
        _ => time,
    }
}

/// The place of a line before a finding. The file is left out if it is the finding's own.
fn nearby(line: &Line, finding: &Finding) -> String {
    let clock = time(line.time.as_deref()).map(|time| format!("{time}  ")).unwrap_or_default();
    match line.line {
        Some(number) if line.file == finding.place.file => format!("{number:>6}  {clock}"),
        _ => place(line),
    }
}

struct Block {
    out: String,
}

impl Block {
    fn line(&mut self, line: &str) {
        self.out.push_str(line);
        self.out.push('\n');
    }

    fn row(&mut self, name: &str, value: &str) {
        self.line(&format!("      {DIM}{name:<8}{DIM:#}  {value}"));
    }

    /// Rows of which the first has the name.
    fn rows(&mut self, name: &str, values: impl Iterator<Item = String>) {
        for (position, value) in values.enumerate() {
            self.row(if position == 0 { name } else { "" }, &value);
        }
    }

    fn evidence(&mut self, finding: &Finding, style: &Style) {
        self.row("write", &short(&finding.difference.write));
        self.row("what", &short(&finding.difference.what));
        self.row("expected", &short(&finding.difference.expected));
        self.row("found", &short(&finding.difference.found));
        let place = at(finding.place.file.as_deref(), finding.place.line);
        let when = time(finding.place.time.as_deref()).zip(date(finding.place.time.as_deref()));
        let when = when.map(|(time, date)| format!(", at {time} UTC on {date}")).unwrap_or_default();
        self.row("where", &format!("{place}{when}"));
        if let Some(actor) = &finding.place.actor {
            let agent = actor.agent.as_deref().map(|agent| format!(", {}", clean(agent))).unwrap_or_default();
            self.row("by", &format!("{}{agent}", clean(&actor.user)));
        }
        let shown = if style.verbose { finding.pods.len() } else { finding.pods.len().min(FEW_PODS) };
        let pods = finding.pods[..shown].iter();
        self.rows("pods", pods.map(|pod| clean(&format!("{}/{}  UID {}", pod.namespace, pod.name, pod.uid))));
        if shown < finding.pods.len() {
            self.row("", &format!("… and {} more; -v shows them", finding.pods.len() - shown));
        }
        if style.verbose || style.explain.is_asked() {
            self.row("source", finding.source);
        }
    }

    fn explanation(&mut self, finding: &Finding, style: &Style) {
        let lines = explanation(finding);
        let all = style.verbose || style.explain.is_unbounded();
        let shown = if all { lines.len() } else { lines.len().min(LINES_EXPLAINED) };
        lines[..shown].iter().for_each(|line| self.line(line));
        if shown < lines.len() {
            let more = count(lines.len() - shown, "line");
            self.line(&format!("      {DIM}… and {more} more; --explain=all shows them{DIM:#}"));
        }
    }
}

fn explanation(finding: &Finding) -> Vec<String> {
    let mut lines = Vec::new();
    if !finding.evidence.story.is_empty() {
        lines.push(format!("      {DIM}before it{DIM:#}"));
    }
    for line in &finding.evidence.story {
        lines.push(format!("        {}{}", nearby(line, finding), short(&line.text)));
    }
    if !finding.evidence.world.is_empty() {
        lines.push(format!("      {DIM}the state before it{DIM:#}"));
    }
    lines.extend(finding.evidence.world.iter().map(|line| format!("        {}", short(line))));
    if !finding.evidence.views.is_empty() {
        lines.push(format!("      {DIM}no view of the caches allows it; the closest ones{DIM:#}"));
    }
    lines.extend(finding.evidence.views.iter().flat_map(view));
    lines
}

fn view(view: &View) -> Vec<String> {
    let lag = |behind: u64, what: &str| match behind {
        0 => format!("{what} cache up to date"),
        _ => format!("{what} cache {} behind", count(behind, "event")),
    };
    let head = format!("        {}, {}", lag(view.job_lag, "Job"), lag(view.pod_lag, "Pod"));
    let guards = view.broken.iter().map(|guard| {
        format!(
            "          {}  {}: expected {}, found {}",
            guard.requirement,
            short(&guard.what),
            short(&guard.expected),
            short(&guard.found)
        )
    });
    [head].into_iter().chain(guards).collect()
}
