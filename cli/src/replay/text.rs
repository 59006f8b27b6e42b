//! The report for people. Its text may change; the JSON report is stable.

use std::fmt::Write;

use anstyle::AnsiColor;
use jobcheck_judge::report::{Exit, Finding, JobReport, Line, ReplayReport, TraceReport, View};
use jobcheck_judge::validate::Outcome;

use super::ids;
use crate::global::Global;
use crate::output::{clean, count, width};
use crate::styles::{BAD, BOLD, DIM, OPEN};

/// The number of Jobs up to which all of them are shown without `-v`, those that conform included.
const FEW_JOBS: usize = 20;
/// The number of pending obligations that are shown without `-v`.
const FEW_PENDING: usize = 3;
/// The columns that a list of ids fills on a wide terminal.
const WIDTH: usize = 100;

/// The level of detail of the report.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    explain: bool,
    verbose: bool,
    quiet: bool,
}

impl Style {
    /// The style that the flags choose.
    pub fn new(explain: bool, global: &Global) -> Style {
        Style { explain, verbose: global.verbose, quiet: global.quiet }
    }
}

/// The report as text.
pub fn render(report: &ReplayReport, style: Style) -> String {
    let many = report.traces.len() > 1;
    let concerns_none = report.requirements.judged.is_empty() && !report.doubts.is_empty();
    let mut text = Text { out: String::new(), style, many, concerns_none };
    // The first line agrees with the exit code.
    let comes_first = report.exit_code == Exit::Inconclusive;
    if comes_first {
        text.reasons(report);
    }
    for trace in &report.traces {
        text.trace(report, trace);
    }
    if text.many {
        text.total(report);
    }
    if !comes_first {
        text.reasons(report);
    }
    if !style.quiet && report.events > 0 {
        text.summary(report);
    }
    text.out
}

struct Text {
    out: String,
    style: Style,
    /// True if there are several traces. Then a trace that conforms takes one line.
    many: bool,
    /// True if no write concerns the requirements of `--requirement`. Then nothing conforms, either.
    concerns_none: bool,
}

impl Text {
    /// The word for a verdict.
    fn verdict(&self, outcome: Outcome) -> String {
        if self.concerns_none && outcome == Outcome::Conforms {
            return format!("{OPEN}{:<12}{OPEN:#}", "not judged");
        }
        verdict(outcome)
    }

    fn line(&mut self, line: &str) {
        self.out.push_str(line);
        self.out.push('\n');
    }

    /// The reasons why the report as a whole is inconclusive.
    fn reasons(&mut self, report: &ReplayReport) {
        for reason in &report.doubts {
            self.line(&format!("{}  {}", verdict(Outcome::Inconclusive), clean(reason)));
        }
    }

    fn trace(&mut self, report: &ReplayReport, trace: &TraceReport) {
        self.headline(report, trace);
        if self.style.quiet {
            return;
        }
        for reason in &trace.doubts {
            self.line(&format!("  {}", clean(reason)));
        }
        let is_settled = self.many && trace.verdict == Outcome::Conforms;
        if !is_settled || self.style.verbose {
            self.jobs(report.jobs_of(trace), trace.files.len() > 1);
        }
    }

    fn headline(&mut self, report: &ReplayReport, trace: &TraceReport) {
        let files = match &trace.files[..] {
            [one] => clean(one),
            several => format!("{} files", several.len()),
        };
        let mut forms: Vec<&str> = report.inputs_of(trace).iter().filter_map(|input| input.form).collect();
        forms.sort_unstable();
        forms.dedup();
        let forms = if forms.is_empty() { String::new() } else { format!(" ({})", forms.join(", ")) };
        let errors = report.errors_of(trace).count();
        let unread = match errors {
            0 => String::new(),
            _ if trace.files.len() == 1 => {
                format!("; not read to its end: the part that was read {}", predicate(trace.verdict))
            }
            unread => format!(
                "; {} not read to the end: the part that was read {}",
                count(unread, "file"),
                predicate(trace.verdict)
            ),
        };
        let head = if errors == 0 { self.verdict(trace.verdict) } else { unreadable() };
        let excused = if trace.verdict == Outcome::Violates && trace.exit_code == Exit::Conforms {
            "; known deviations only, which --allow-known excuses"
        } else {
            ""
        };
        let rules = if trace.kubernetes == "1.36" {
            String::new()
        } else {
            format!(", rules of {}", trace.kubernetes)
        };
        self.line(&format!(
            "{head}  {files}{forms}: {}, {}, {}{rules}{unread}{excused}",
            count(report.jobs_of(trace).len(), "Job"),
            judged(trace.judged_writes),
            count(trace.events, "event"),
        ));
    }

    fn jobs(&mut self, jobs: &[JobReport], with_files: bool) {
        let all = self.style.verbose || jobs.len() <= FEW_JOBS;
        let shown = |job: &&JobReport| all || job.verdict != Outcome::Conforms;
        for job in jobs.iter().filter(shown) {
            self.job(job, with_files);
        }
        let hidden = jobs.iter().filter(|job| !shown(job)).count();
        if hidden > 0 {
            self.line(&format!("  {DIM}… and {} that conform; -v shows them{DIM:#}", count(hidden, "Job")));
        }
    }

    fn job(&mut self, job: &JobReport, with_files: bool) {
        let manager = job.managed_by.as_deref().map(|name| format!(", managed by {}", clean(name)));
        let files = if with_files && !job.files.is_empty() {
            format!("  {}", clean(&job.files.join(", ")))
        } else {
            String::new()
        };
        self.line(&format!(
            "  {}  {BOLD}{}{BOLD:#}  {DIM}{}{}, {}{files}{DIM:#}",
            self.verdict(job.verdict),
            clean(&job.job),
            job.profile,
            manager.unwrap_or_default(),
            judged(job.judged_writes),
        ));
        for reason in &job.doubts {
            self.line(&format!("    {}", clean(reason)));
        }
        let every = self.style.verbose || self.style.explain;
        let listed = if every { job.violations.len() } else { 1 };
        for finding in job.violations.iter().take(listed) {
            self.finding(finding);
        }
        self.consequences(job.violations.get(listed..).unwrap_or_default());
        if every {
            for warning in &job.warnings {
                self.line(&format!("    warning  {}{}", place(warning), clean(&warning.text)));
            }
        }
    }

    fn consequences(&mut self, findings: &[Finding]) {
        if findings.is_empty() {
            return;
        }
        let mut ids: Vec<String> = findings.iter().map(id).collect();
        ids.dedup();
        ids.truncate(8);
        self.line(&format!(
            "    {DIM}{} after it, possibly consequences: {}; -v shows them{DIM:#}",
            count(findings.len(), "violation"),
            ids.join(", ")
        ));
    }

    fn finding(&mut self, finding: &Finding) {
        let also = if finding.also.is_empty() {
            String::new()
        } else {
            format!(" (also {})", finding.also.join(", "))
        };
        let known =
            finding.known.map(|known| format!(", KNOWN deviation {known} of the built-in controller"));
        self.line(&format!(
            "    {BAD}{}{BAD:#}{also}  {}{}{}",
            id(finding),
            at(finding.file.as_deref(), finding.line),
            if finding.level == "MUST" { "" } else { ", advice" },
            known.unwrap_or_default()
        ));
        let sides = [
            ("write", clean(&finding.write)),
            ("what", clean(&finding.what)),
            ("expected", clean(&finding.expected)),
            ("found", clean(&finding.found)),
            ("rule", finding.sentence.to_owned()),
            ("source", finding.source.to_owned()),
        ];
        let more = finding.known.or(finding.requirement).map(|it| ("more", format!("jobcheck rule {it}")));
        for (name, value) in sides.into_iter().chain(more) {
            self.line(&format!("      {DIM}{name:<8}{DIM:#}  {value}"));
        }
        if self.style.explain {
            self.explanation(finding);
        }
    }

    fn explanation(&mut self, finding: &Finding) {
        if !finding.story.is_empty() {
            self.line(&format!("      {DIM}before it{DIM:#}"));
        }
        for line in &finding.story {
            self.line(&format!("        {}{}", nearby(line, finding), clean(&line.text)));
        }
        if !finding.world.is_empty() {
            self.line(&format!("      {DIM}the state before it{DIM:#}"));
        }
        for line in &finding.world {
            self.line(&format!("        {}", clean(line)));
        }
        if !finding.views.is_empty() {
            self.line(&format!("      {DIM}no view of the caches allows it; the closest ones{DIM:#}"));
        }
        for view in &finding.views {
            self.view(view);
        }
    }

    fn view(&mut self, view: &View) {
        let lag = |behind: u64, what: &str| match behind {
            0 => format!("{what} cache up to date"),
            _ => format!("{what} cache {} behind", count(behind, "event")),
        };
        self.line(&format!("        {}, {}", lag(view.job_lag, "Job"), lag(view.pod_lag, "Pod")));
        for guard in &view.broken {
            self.line(&format!(
                "          {}  {}: expected {}, found {}",
                guard.requirement,
                clean(&guard.what),
                clean(&guard.expected),
                clean(&guard.found)
            ));
        }
    }

    fn summary(&mut self, report: &ReplayReport) {
        self.requirements(report);
        self.pending(report);
        let warnings: usize = report.jobs.iter().map(|job| job.warnings.len()).sum();
        if warnings > 0 && !self.style.verbose {
            self.line(&format!("{:<12}  {warnings}; -v shows them, --strict counts them", "warnings"));
        }
    }

    /// The requirements by how the traces concern them: with `-v` their ids, otherwise their number.
    fn requirements(&mut self, report: &ReplayReport) {
        let requirements = &report.requirements;
        let judged = requirements.judged.keys().copied();
        let never = requirements.premise_never_met.iter().copied();
        let hidden = requirements.not_decidable.iter().copied();
        if self.style.verbose {
            self.ids("judged", judged.len(), &ids::compact(judged));
            self.ids("no premise", never.len(), &ids::compact(never));
            self.ids("not shown", hidden.len(), &ids::compact(hidden));
            return;
        }
        let mut line = format!("{:<12}  {}", "judged", count(judged.len(), "requirement"));
        for (number, what) in [(never.len(), "had no premise here"), (hidden.len(), "need a fuller log")] {
            if number > 0 {
                let _ = write!(line, ", {number} {what}");
            }
        }
        self.line(&format!("{line}; -v lists them"));
    }

    /// A list of ids, in lines of readable length.
    fn ids(&mut self, title: &str, count: usize, words: &str) {
        if count == 0 {
            return;
        }
        let columns = width().map_or(WIDTH, |columns| columns.min(WIDTH));
        let mut line = format!("{title:<12}  {count}: ");
        let mut used = line.len();
        for (position, word) in words.split(' ').enumerate() {
            if used + word.len() + 1 > columns {
                line.push_str("\n              ");
                used = 14;
            } else if position > 0 {
                line.push(' ');
                used += 1;
            }
            line.push_str(word);
            used += word.chars().count();
        }
        self.line(&line);
    }

    fn pending(&mut self, report: &ReplayReport) {
        let items: Vec<String> = report
            .jobs
            .iter()
            .flat_map(|job| job.pending.iter().map(move |item| (job, item)))
            .map(|(job, item)| format!("{} {} ({})", item.requirement, clean(&item.what), clean(&job.job)))
            .collect();
        let shown = if self.style.verbose { items.len() } else { items.len().min(FEW_PENDING) };
        for (position, item) in items[..shown].iter().enumerate() {
            self.line(&format!("{:<12}  {item}", if position == 0 { "pending" } else { "" }));
        }
        if items.len() > shown {
            self.line(&format!("{:<12}  … and {} more; -v shows them", "", items.len() - shown));
        }
    }

    fn total(&mut self, report: &ReplayReport) {
        let of = |outcome: Outcome| report.traces.iter().filter(|trace| trace.verdict == outcome).count();
        let outcomes = [
            (Outcome::Violates, "violating"),
            (Outcome::Inconclusive, "inconclusive"),
            (Outcome::Conforms, "conforming"),
        ];
        let mut parts = String::new();
        for (outcome, word) in outcomes.into_iter().filter(|(outcome, _)| of(*outcome) > 0) {
            let _ = write!(parts, ", {} {word}", of(outcome));
        }
        if !report.errors.is_empty() {
            let _ = write!(parts, ", {} not read to the end", count(report.errors.len(), "file"));
        }
        let traces = count(report.traces.len(), "trace");
        let jobs = count(report.jobs.len(), "Job");
        let head = if report.errors.is_empty() { self.verdict(report.verdict) } else { unreadable() };
        self.line(&format!("{head}  {traces}{parts}; {jobs}, {}", judged(report.judged_writes)));
    }
}

/// A verdict in its colour, padded to the width of the longest one.
fn verdict(outcome: Outcome) -> String {
    let color = match outcome {
        Outcome::Conforms => AnsiColor::Green,
        Outcome::Inconclusive => AnsiColor::Yellow,
        Outcome::Violates => AnsiColor::Red,
    };
    let paint = color.on_default().bold();
    format!("{paint}{outcome:<12}{paint:#}")
}

/// The word in place of the verdict if an input could not be read to its end.
fn unreadable() -> String {
    format!("{BAD}{:<12}{BAD:#}", "unreadable")
}

fn predicate(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Conforms => "conforms",
        Outcome::Inconclusive => "is inconclusive",
        Outcome::Violates => "violates",
    }
}

fn id(finding: &Finding) -> String {
    finding.requirement.map_or_else(|| "warning".to_owned(), |id| id.to_string())
}

fn at(file: Option<&str>, line: Option<u64>) -> String {
    match (file, line) {
        (Some(file), Some(line)) => format!("{}:{line}", clean(file)),
        _ => "at the end of the trace".to_owned(),
    }
}

fn place(line: &Line) -> String {
    match (&line.file, line.line) {
        (Some(_), Some(_)) => format!("{}  ", at(line.file.as_deref(), line.line)),
        _ => String::new(),
    }
}

/// The place of a line before a finding. The file is left out if it is the finding's own.
fn nearby(line: &Line, finding: &Finding) -> String {
    match line.line {
        Some(number) if line.file == finding.file => format!("{number:>6}  "),
        _ => place(line),
    }
}

fn judged(writes: u64) -> String {
    format!("{} judged", count(writes, "write"))
}
