//! Builds the report from the summaries of the traces.

use jobcheck_spec::catalogue::CATALOGUE;
use jobcheck_spec::{Judged, Req, Uid};
use jobcheck_traces::FileInfo;
use rustc_hash::FxHashMap;

use super::finding::{Context, finding, line, pending, requirement_of, strict_finding};
use super::id::Id;
use super::types::{
    API_VERSION, Exit, Finding, InputError, InputReport, JobReport, Line, ReplayReport, Requirements,
    TraceReport,
};
use crate::validate::actor::Actors;
use crate::validate::{JobVerdict, Outcome, Summary};

/// Facts about the inputs of a trace.
pub(crate) struct Read {
    pub names: Vec<String>,
    pub files: Vec<FileInfo>,
    pub origins: FxHashMap<Uid, Vec<u32>>,
    pub errors: Vec<InputError>,
}

/// A judged trace.
pub(crate) struct JudgedTrace {
    pub summary: Summary,
    /// The minor version of the rules, such as `1.36`.
    pub kubernetes: String,
    pub read: Read,
}

/// The violations that count, as the options of a replay select them.
pub(crate) struct Selection<'a> {
    /// The requirements that count; all of them if the list is empty.
    pub only: &'a [Req],
    /// Counts warnings as violations.
    pub strict: bool,
    /// Excuses known deviations in the exit code.
    pub allow_known: bool,
}

/// The report on all traces.
pub(crate) fn build(traces: Vec<JudgedTrace>, selection: &Selection<'_>) -> ReplayReport {
    let requirements = requirements(&traces, selection);
    let doubts = premise_doubts(selection, &requirements);
    let mut report = ReplayReport {
        api_version: API_VERSION,
        kind: "ReplayReport",
        verdict: Outcome::Conforms,
        exit_code: if doubts.is_empty() { Exit::Conforms } else { Exit::Inconclusive },
        judged_writes: 0,
        events: 0,
        traces: Vec::new(),
        jobs: Vec::new(),
        requirements,
        doubts,
        inputs: Vec::new(),
        errors: Vec::new(),
    };
    for trace in traces {
        add(&mut report, trace, selection);
    }
    report.exit_code =
        Exit::of_all(report.traces.iter().map(|trace| trace.exit_code).chain([report.exit_code]));
    let worst = report.traces.iter().map(|trace| trace.verdict).max().unwrap_or(Outcome::Inconclusive);
    report.verdict = if report.doubts.is_empty() { worst } else { worst.max(Outcome::Inconclusive) };
    report
}

fn add(report: &mut ReplayReport, trace: JudgedTrace, selection: &Selection<'_>) {
    let JudgedTrace { summary, kubernetes, read } = trace;
    let mut doubts = summary.doubts.clone();
    doubts.extend(nothing_judged(&summary, &read));
    let (judged_writes, events, shows_actors) = (summary.judged, summary.events, summary.has_actors);
    let jobs: Vec<JobReport> =
        summary.jobs.into_iter().map(|job| job_report(job, selection, &read, &summary.actors)).collect();
    let doubted = if doubts.is_empty() { Exit::Conforms } else { Exit::Inconclusive };
    let unread = if read.errors.is_empty() { Exit::Conforms } else { Exit::Unreadable };
    let worst = jobs.iter().map(|job| job.verdict).max().unwrap_or(Outcome::Inconclusive);
    report.traces.push(TraceReport {
        files: read.names,
        kubernetes,
        verdict: if doubts.is_empty() { worst } else { worst.max(Outcome::Inconclusive) },
        exit_code: Exit::of_all(jobs.iter().map(|job| job.exit).chain([doubted, unread])),
        judged_writes,
        events,
        shows_actors,
        doubts,
        jobs: (report.jobs.len(), jobs.len()),
        inputs: (report.inputs.len(), read.files.len()),
    });
    report.judged_writes += judged_writes;
    report.events += events;
    report.jobs.extend(jobs);
    report.inputs.extend(read.files.iter().map(input_report));
    report.errors.extend(read.errors);
}

/// The reason why a trace without a judged write is inconclusive.
fn nothing_judged(summary: &Summary, read: &Read) -> Option<String> {
    let is_unread = summary.events == 0 && !read.errors.is_empty();
    if summary.judged > 0 || is_unread {
        return None;
    }
    let skipped: u64 = read.files.iter().map(|file| file.skipped.total()).sum();
    Some(match () {
        () if summary.hidden > 0 => format!(
            "no write could be judged: the audit level hides the responses to {} requests; record Jobs and Pods at level \
             RequestResponse",
            summary.hidden
        ),
        () if summary.events == 0 && skipped > 0 => {
            format!("no write to a Job or a Pod in the trace, only {skipped} other records")
        }
        () if summary.events == 0 => "no write to a Job or a Pod in the trace".to_owned(),
        () if summary.jobs.is_empty() => {
            format!("no write could be judged: none of the {} events shows a Job", summary.events)
        }
        () => "no write could be judged: no Job was seen from its creation".to_owned(),
    })
}

/// Requirements that were selected and that no trace reached, with the reason.
fn premise_doubts(selection: &Selection<'_>, requirements: &Requirements) -> Vec<String> {
    let why = |req: &Req| match req.entry().judged {
        _ if requirements.judged.contains_key(&Id(*req)) => None,
        Judged::Explored(reason) => Some(format!("{req} is not decided by traces: {reason}")),
        Judged::Not(reason) => Some(format!("{req} is not judged: {reason}")),
        Judged::Audit if requirements.not_decidable.contains(&Id(*req)) => Some(format!(
            "{req} cannot be decided from a watch stream, which shows neither actors nor refusals"
        )),
        Judged::Truth | Judged::View | Judged::Audit | Judged::Pending => {
            Some(format!("{req}: its premise was never met"))
        }
    };
    selection.only.iter().filter_map(why).collect()
}

fn requirements(traces: &[JudgedTrace], selection: &Selection<'_>) -> Requirements {
    let mut list = Requirements::default();
    let summaries = || traces.iter().map(|trace| &trace.summary);
    let is_watched_only = summaries().all(|it| !it.has_actors) && summaries().any(|it| it.events > 0);
    let mut met: FxHashMap<Req, u64> = FxHashMap::default();
    for (req, jobs) in summaries().flat_map(|summary| &summary.premises) {
        *met.entry(*req).or_default() += jobs;
    }
    for entry in
        CATALOGUE.iter().filter(|entry| selection.only.is_empty() || selection.only.contains(&entry.req))
    {
        match met.get(&entry.req) {
            Some(jobs) => {
                list.judged.insert(Id(entry.req), *jobs);
            }
            None if entry.judged == Judged::Audit && is_watched_only => {
                list.not_decidable.push(Id(entry.req))
            }
            None if entry.judged.by_trace() => list.premise_never_met.push(Id(entry.req)),
            None => {}
        }
    }
    list
}

fn job_report(job: JobVerdict, selection: &Selection<'_>, read: &Read, actors: &Actors) -> JobReport {
    let (namespace, name) = job.job.split_once('/').unwrap_or(("", &job.job));
    let context = Context { names: &read.names, actors, namespace, job: name };
    let wanted =
        |req: Option<Req>| selection.only.is_empty() || req.is_some_and(|req| is_asked_for(req, selection));
    let warnings: Vec<Line> = job
        .warnings
        .iter()
        .filter(|warning| wanted(requirement_of(&warning.text)))
        .map(|warning| line(warning.clone(), &read.names))
        .collect();
    let mut violations: Vec<Finding> = job
        .violations
        .into_iter()
        .filter(|violation| wanted(Some(violation.req())))
        .map(|violation| finding(violation, &context))
        .collect();
    if selection.strict {
        violations.extend(warnings.iter().map(|warning| strict_finding(warning, &context)));
    }
    let mut doubts = job.doubts;
    if job.judged == 0 && doubts.is_empty() {
        doubts.push("no write of this Job could be judged".to_owned());
    }
    let excused = |finding: &Finding| selection.allow_known && finding.known.is_some();
    JobReport {
        verdict: match () {
            () if !violations.is_empty() => Outcome::Violates,
            () if !doubts.is_empty() => Outcome::Inconclusive,
            () => Outcome::Conforms,
        },
        exit: match () {
            () if !violations.iter().all(excused) => Exit::Violates,
            () if !doubts.is_empty() => Exit::Inconclusive,
            () => Exit::Conforms,
        },
        files: origins(&job.uid, read),
        job: job.job,
        uid: job.uid,
        managed_by: job.managed_by,
        profile: job.profile,
        judged_writes: job.judged,
        contradictions: job.contradictions,
        violations,
        doubts,
        warnings,
        pending: job.owed.iter().filter(|owed| wanted(Some(owed.req))).map(pending).collect(),
    }
}

fn origins(uid: &str, read: &Read) -> Vec<String> {
    let files = read.origins.get(&Uid::parse(uid)).map(Vec::as_slice).unwrap_or_default();
    files.iter().filter_map(|file| read.names.get(*file as usize).cloned()).collect()
}

/// Returns `true` if a requirement, or another id of the same fact, was selected.
fn is_asked_for(req: Req, selection: &Selection<'_>) -> bool {
    selection.only.contains(&req) || req.also().iter().any(|other| selection.only.contains(other))
}

fn input_report(file: &FileInfo) -> InputReport {
    InputReport {
        file: file.name.clone(),
        form: file.form.map(|form| form.name()),
        lines: file.lines,
        bytes: file.bytes,
        records: file.records,
        skipped: file.skipped.total(),
    }
}
