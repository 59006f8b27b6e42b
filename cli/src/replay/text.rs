//! The report for people. Its text may change; the JSON report is stable.

use std::fmt::Write;

use anstyle::AnsiColor;
use jobcheck_judge::report::{Exit, Finding, JobReport, Line, Pending, ReplayReport, TraceReport};
use jobcheck_judge::validate::{Outcome, Unlisted};

use super::args::{Explain, ReplayArgs};
use super::fold::{Folded, fold};
use super::ids;
use super::life;
use super::unread::Unread;
use super::violation;
use crate::global::Global;
use crate::output::count;
use crate::styles::{BAD, BOLD, DIM, OPEN};
use crate::text::clean;

/// The number of Jobs up to which all of them are shown without `-v`, those that conform included.
const FEW_JOBS: usize = 20;
/// The number of kinds of violations that are shown in full without `-v`, each for the first Job with it.
const FULL_JOBS: usize = 5;
/// The number of different reasons, warnings, and pending obligations that are shown without `-v`.
const FEW_LINES: usize = 3;

/// The level of detail of the report.
#[derive(Clone, Debug)]
pub struct Style {
    pub(super) explain: Explain,
    pub(super) verbose: bool,
    quiet: bool,
    allow_known: bool,
    /// The Jobs of a manager were compared with their copies.
    has_workers: bool,
}

impl Style {
    /// The style that the flags choose.
    pub fn new(args: &ReplayArgs, global: &Global) -> Style {
        Style {
            explain: args.explain(),
            verbose: global.verbose,
            quiet: global.quiet,
            allow_known: args.judge.allow_known,
            has_workers: !args.cluster.is_empty(),
        }
    }

    /// Returns `true` if every violation is shown in full.
    fn shows_all(&self) -> bool {
        self.verbose || self.explain.is_unbounded()
    }
}

/// The report as text.
pub fn render(report: &ReplayReport, style: Style) -> String {
    let many = report.traces.len() > 1;
    let concerns_none = report.requirements.judged.is_empty() && !report.doubts.is_empty();
    let mut text = Text {
        out: String::new(),
        style,
        many,
        concerns_none,
        in_full: Vec::new(),
        hidden_warnings: Vec::new(),
    };
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
    if !text.style.quiet && report.events > 0 {
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
    /// The violations that were shown in full, as requirement and compared quantity.
    in_full: Vec<(String, String)>,
    /// Warnings of Jobs that are not shown.
    hidden_warnings: Vec<Line>,
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
        self.assumed(trace);
        self.folded("  ", "", &fold(trace.doubts.iter().map(|doubt| (&**doubt, None))));
        self.unlisted(&trace.unlisted);
        let is_settled = self.many && trace.verdict == Outcome::Conforms;
        if !is_settled || self.style.verbose {
            self.jobs(report.jobs_of(trace), trace.files.len() > 1);
        } else {
            self.hides(report.jobs_of(trace).iter());
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
        let unread = Unread::of(report.errors_of(trace));
        let head = if unread.is_nothing() { self.verdict(trace.verdict) } else { unreadable() };
        let unread = match unread {
            Unread { files: 0, lines: 0 } => String::new(),
            Unread { files: 1, lines: 0 } if trace.files.len() == 1 => {
                format!("; not read to its end: the part that was read {}", predicate(trace.verdict))
            }
            unread => format!("; {unread}: the part that was read {}", predicate(trace.verdict)),
        };
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
            count(report.jobs_of(trace).len() as u64 + trace.unlisted.jobs(), "Job"),
            judged(trace.judged_writes),
            count(trace.events, "event"),
        ));
    }

    /// The assumptions that relax the rules or make them stricter.
    fn assumed(&mut self, trace: &TraceReport) {
        if !trace.assumed.is_empty() {
            let all = trace.assumed.iter().map(|(key, value)| format!("{key}={value}"));
            let all = clean(&all.collect::<Vec<_>>().join(", "));
            self.line(&format!("  assumed, by --assume or the header of the trace: {all}"));
        }
    }

    /// The Jobs that are counted only.
    fn unlisted(&mut self, unlisted: &Unlisted) {
        let conform = if unlisted.conforming == 1 { "that conforms" } else { "that conform" };
        for (jobs, what) in
            [(unlisted.conforming, conform), (unlisted.inconclusive, "without a verdict (inconclusive)")]
        {
            if jobs > 0 {
                self.line(&format!("  {DIM}{} {what}, not listed{DIM:#}", count(jobs, "Job")));
            }
        }
        let reasons = unlisted.doubts.iter().map(|(reason, jobs)| (reason, *jobs));
        for (reason, jobs) in reasons {
            self.line(&format!("    {DIM}{}: {}{DIM:#}", count(jobs, "Job"), clean(reason)));
        }
    }

    fn jobs(&mut self, jobs: &[JobReport], with_files: bool) {
        let all = self.style.verbose || jobs.len() <= FEW_JOBS;
        let is_of_interest = |job: &&JobReport| all || job.verdict != Outcome::Conforms;
        let listed = jobs.iter().filter(is_of_interest);
        let shown = if all { jobs.len() } else { FEW_JOBS };
        for job in listed.clone().take(shown) {
            self.job(job, with_files);
        }
        self.hides(jobs.iter().filter(|job| !is_of_interest(job)).chain(listed.clone().skip(shown)));
        for (outcome, what) in [
            (Outcome::Violates, "with a violation"),
            (Outcome::Inconclusive, "inconclusive"),
            (Outcome::Conforms, "that conform"),
        ] {
            let hidden = match outcome {
                Outcome::Conforms => jobs.iter().filter(|job| !is_of_interest(job)).count(),
                _ => listed.clone().skip(shown).filter(|job| job.verdict == outcome).count(),
            };
            if hidden > 0 {
                self.line(&format!("  {DIM}… and {} {what}; -v shows them{DIM:#}", count(hidden, "Job")));
            }
        }
    }

    /// Keeps the warnings of Jobs that are not shown for the summary.
    fn hides<'a>(&mut self, jobs: impl Iterator<Item = &'a JobReport>) {
        self.hidden_warnings.extend(jobs.flat_map(|job| &job.warnings).cloned());
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
            profile(job),
            manager.unwrap_or_default(),
            judged(job.judged_writes),
        ));
        if is_partly_judged(job) {
            self.line(&format!("    {PARTLY}"));
        }
        self.folded("    ", "", &fold(job.doubts.iter().map(|doubt| (&**doubt, None))));
        self.violations(job);
        let warnings = job.warnings.iter().map(|warning| (&*warning.text, Some(warning)));
        self.folded("    ", "warning  ", &fold(warnings));
        self.out.push_str(&life::text(job, &self.style));
    }

    /// The violations of a Job. Those that `--allow-known` excuses come last.
    fn violations(&mut self, job: &JobReport) {
        let allows = self.style.allow_known;
        let excused = |finding: &&Finding| allows && finding.known.is_some();
        let (last, first): (Vec<&Finding>, Vec<&Finding>) = job.violations.iter().partition(excused);
        let excuses = !first.is_empty();
        let ordered: Vec<&Finding> = first.iter().chain(&last).copied().collect();
        let listed = match () {
            () if self.style.shows_all() => ordered.len(),
            () if self.is_new(ordered.first()) || self.style.explain.names(&job.job) => ordered.len().min(1),
            () => 0,
        };
        for (position, finding) in ordered[..listed].iter().enumerate() {
            let block = violation::block(finding, job, position == 0, &self.style);
            self.out.push_str(&block);
        }
        let rest = &ordered[listed..];
        let (known, others): (Vec<&Finding>, Vec<&Finding>) =
            rest.iter().copied().partition(|finding| excuses && excused(finding));
        let what = if listed == 0 { "" } else { " after it, possibly consequences" };
        self.others(&others, what);
        self.others(&known, " that --allow-known excuses");
    }

    /// Returns `true` if a violation is of another kind than those before it, and they are few.
    fn is_new(&mut self, finding: Option<&&Finding>) -> bool {
        let Some(finding) = finding else { return false };
        let kind = (violation::id(finding), finding.difference.what.clone());
        if self.in_full.contains(&kind) || self.in_full.len() >= FULL_JOBS {
            return false;
        }
        self.in_full.push(kind);
        true
    }

    /// A line about violations that are not shown in full.
    fn others(&mut self, findings: &[&Finding], what: &str) {
        let Some(first) = findings.first() else { return };
        let mut ids: Vec<String> = findings.iter().map(|finding| violation::id(finding)).collect();
        ids.dedup();
        let more = if ids.len() > 8 { ", …" } else { "" };
        ids.truncate(8);
        self.line(&format!(
            "    {DIM}{}{what}: {}{more}; the first at {}; -v shows them{DIM:#}",
            count(findings.len(), "violation"),
            ids.join(", "),
            violation::at(first.place.file.as_deref(), first.place.line),
        ));
    }

    /// Lines that are equal but for names and numbers, as one line each.
    fn folded(&mut self, margin: &str, label: &str, lines: &[Folded<'_>]) {
        let shown = if self.style.verbose { lines.len() } else { lines.len().min(FEW_LINES) };
        for line in &lines[..shown] {
            let places = match &line.lines[..] {
                [] => String::new(),
                [first, ..] => violation::place(first),
            };
            let again = match line.count {
                1 => String::new(),
                more => format!("  {DIM}({} like it; -v shows them){DIM:#}", more - 1),
            };
            self.line(&format!("{margin}{label}{places}{}{again}", clean(line.text)));
            if self.style.verbose {
                for other in line.lines.iter().skip(1) {
                    self.line(&format!("{margin}{label}{}{}", violation::place(other), clean(&other.text)));
                }
                for other in &line.others {
                    self.line(&format!("{margin}{label}{}", clean(other)));
                }
            }
        }
        if lines.len() > shown {
            let more: usize = lines[shown..].iter().map(|line| line.count).sum();
            self.line(&format!("{margin}{label}{DIM}… and {more} more; -v shows them{DIM:#}"));
        }
    }

    fn summary(&mut self, report: &ReplayReport) {
        self.requirements(report);
        self.mirrors(report);
        self.pending(report);
        let warnings: usize = report.jobs.iter().map(|job| job.warnings.len()).sum();
        if warnings > 0 {
            self.line(&format!("{:<12}  {warnings}; --strict counts them as violations", "warnings"));
        }
        let hidden = std::mem::take(&mut self.hidden_warnings);
        let margin = " ".repeat(14);
        self.folded(&margin, "", &fold(hidden.iter().map(|warning| (&*warning.text, Some(warning)))));
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

    fn ids(&mut self, name: &str, number: usize, list: &str) {
        if number > 0 {
            self.line(&format!("{name:<12}  {number}: {list}"));
        }
    }

    /// The rules that are not judged of mirrors.
    fn mirrors(&mut self, report: &ReplayReport) {
        let mirrors = report.jobs.iter().filter(|job| !job.profile.starts_with("executor")).count();
        if mirrors > 0 {
            let place = if self.style.has_workers { "beside their copies" } else { "on this cluster alone" };
            self.line(&format!(
                "{:<12}  {}: judged by family MR {place}, and not by the rules about pods (docs/reference/managers.md)",
                "mirrors",
                count(mirrors, "Job")
            ));
        }
        let aggregates = report.jobs.iter().filter(|job| job.profile.starts_with("aggregate")).count();
        if aggregates > 0 && !self.style.has_workers {
            self.line(&format!(
                "{:<12}  {}: MR-30 to MR-33 need the traces of the members: --cluster manager=FILE --cluster member=FILE",
                "aggregates",
                count(aggregates, "Job")
            ));
        }
    }

    fn pending(&mut self, report: &ReplayReport) {
        let mut items: Vec<(String, Vec<String>)> = Vec::new();
        let all = report.jobs.iter().flat_map(|job| job.pending.iter().map(move |item| (job, item)));
        for (job, item) in all {
            let text = format!("{} {}", item.requirement, clean(&item.what));
            match items.iter_mut().find(|(known, _)| *known == text) {
                Some((_, jobs)) => jobs.push(with_pods(&job.job, item)),
                None => items.push((text, vec![with_pods(&job.job, item)])),
            }
        }
        let shown = if self.style.verbose { items.len() } else { items.len().min(FEW_LINES) };
        for (position, (text, jobs)) in items[..shown].iter().enumerate() {
            let few = if self.style.verbose { jobs.len() } else { jobs.len().min(FEW_LINES) };
            let names = jobs[..few].iter().map(|job| clean(job)).collect::<Vec<_>>().join("; ");
            let more = jobs.len() - few;
            let more = if more > 0 { format!("; and {more} more") } else { String::new() };
            self.line(&format!("{:<12}  {text} ({names}{more})", if position == 0 { "pending" } else { "" }));
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
        let unread = Unread::of(report.errors.iter());
        if !unread.is_nothing() {
            let _ = write!(parts, ", {unread}");
        }
        let traces = count(report.traces.len(), "trace");
        let jobs = count(report.jobs.len() as u64 + report.unlisted.jobs(), "Job");
        let head = if unread.is_nothing() { self.verdict(report.verdict) } else { unreadable() };
        self.line(&format!("{head}  {traces}{parts}; {jobs}, {}", judged(report.judged_writes)));
    }
}

/// The note about a Job that the trace shows from mid-life on.
const PARTLY: &str = "in part: the trace begins after the Job was created, so that its counts and decisions are not \
                      judged. Record from before the creation of the Job.";

/// Returns `true` if the trace shows the Job from mid-life on.
fn is_partly_judged(job: &JobReport) -> bool {
    job.profile.contains("mid-life")
}

fn profile(job: &JobReport) -> &str {
    job.profile.split(',').next().unwrap_or_default()
}

/// The Job of an open obligation, with the pods that it concerns.
fn with_pods(job: &str, item: &Pending) -> String {
    let pods: Vec<&str> = item.pods.iter().map(|pod| &*pod.name).collect();
    match pods[..] {
        [] => job.to_owned(),
        [one] => format!("{job}, pod {one}"),
        _ => format!("{job}, pods {}", pods.join(" ")),
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

/// The word in place of the verdict if a part of an input could not be read.
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

fn judged(writes: u64) -> String {
    format!("{} judged", count(writes, "write"))
}
