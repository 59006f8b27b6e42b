//! Builds the report from the summaries of the traces.

use std::collections::{BTreeMap, BTreeSet};

use jobcheck_spec::catalogue::CATALOGUE;
use jobcheck_spec::job::Text;
use jobcheck_spec::{Judged, Req, Uid};
use jobcheck_traces::FileInfo;
use rustc_hash::FxHashMap;

use super::finding::{Context, finding, life, line, pending, requirement_of, strict_finding};
use super::id::Id;
use super::list::List;
use super::since::Since;
use super::types::{
    API_VERSION, Exit, Finding, InputError, InputReport, JobReport, Line, ReplayReport, Requirements,
    TraceReport,
};
use crate::validate::actor::Actors;
use crate::validate::{JobVerdict, Others, Outcome, Summary, Unlisted, Violation, Wanted};

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
    /// Assumptions that differ from the defaults of this version.
    pub assumed: BTreeMap<String, String>,
    pub read: Read,
}

/// The violations that count, as the options of a replay select them.
pub(crate) struct Selection<'a> {
    /// The requirements that count; all of them if the list is empty.
    pub only: &'a [Req],
    /// The Jobs that are reported.
    pub wanted: &'a Wanted,
    /// The time from which on violations and warnings count.
    pub since: Option<Since>,
    /// Counts warnings as violations.
    pub strict: bool,
    /// Excuses known deviations in the exit code.
    pub allow_known: bool,
    /// The Jobs that the report lists.
    pub list: List,
    /// The Jobs of a manager were compared with their copies.
    pub has_workers: bool,
}

/// The report on all traces.
pub(crate) fn build(traces: Vec<JudgedTrace>, selection: &Selection<'_>) -> ReplayReport {
    let requirements = requirements(&traces, selection);
    let mut doubts = unmatched(&traces, selection);
    doubts.extend(absent_managers(&traces));
    // Filters that select no Job say more than premises that no Job met.
    if doubts.is_empty() {
        doubts = premise_doubts(selection, &requirements);
    }
    let mut report = ReplayReport {
        api_version: API_VERSION,
        kind: "ReplayReport",
        verdict: Outcome::Conforms,
        exit_code: if doubts.is_empty() { Exit::Conforms } else { Exit::Inconclusive },
        judged_writes: 0,
        events: 0,
        traces: Vec::new(),
        jobs: Vec::new(),
        unlisted: Unlisted::default(),
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
    let JudgedTrace { mut summary, kubernetes, assumed, read } = trace;
    let since = selection.since.and_then(|since| since.time(summary.last));
    let last = summary.last;
    summary.jobs.retain(|job| has_event_since(job, since, last));
    if selection.is_filtering()
        && summary.jobs.is_empty()
        && summary.unlisted.jobs() == 0
        && read.errors.is_empty()
    {
        return;
    }
    let mut doubts = summary.doubts.clone();
    doubts.extend(nothing_judged(&summary, &read));
    let (judged_writes, events, shows_actors) = (summary.judged, summary.events, summary.has_actors);
    let mut unlisted = summary.unlisted;
    let mut jobs: Vec<JobReport> = Vec::new();
    for job in summary.jobs {
        let job = job_report(job, selection, since, &read, &summary.actors);
        if selection.list.has(&job) {
            jobs.push(job);
        } else {
            unlisted.count(job.verdict, job.doubts.iter().map(String::as_str));
        }
    }
    let doubted = if doubts.is_empty() { Exit::Conforms } else { Exit::Inconclusive };
    let unread = if read.errors.is_empty() { Exit::Conforms } else { Exit::Unreadable };
    let listed = jobs.iter().map(|job| job.verdict).max();
    let worst = listed.max(unlisted.worst()).unwrap_or(Outcome::Inconclusive);
    let of_unlisted = if unlisted.inconclusive > 0 { Exit::Inconclusive } else { Exit::Conforms };
    report.traces.push(TraceReport {
        files: read.names,
        kubernetes,
        assumed,
        verdict: if doubts.is_empty() { worst } else { worst.max(Outcome::Inconclusive) },
        exit_code: Exit::of_all(jobs.iter().map(|job| job.exit).chain([doubted, unread, of_unlisted])),
        judged_writes,
        events,
        shows_actors,
        doubts,
        unlisted: unlisted.clone(),
        jobs: (report.jobs.len(), jobs.len()),
        inputs: (report.inputs.len(), read.files.len()),
    });
    report.judged_writes += judged_writes;
    report.events += events;
    report.jobs.extend(jobs);
    report.unlisted.join(&unlisted);
    report.inputs.extend(read.files.iter().map(input_report));
    report.errors.extend(read.errors);
}

impl Selection<'_> {
    /// Returns `true` if some Jobs may be left out.
    fn is_filtering(&self) -> bool {
        !self.wanted.is_everything() || self.since.is_some()
    }
}

/// Names in the filters that fit no Job, or the reason why no Job is left.
fn unmatched(traces: &[JudgedTrace], selection: &Selection<'_>) -> Vec<String> {
    let mut found = BTreeSet::new();
    let mut others = Others::default();
    for summary in traces.iter().map(|trace| &trace.summary) {
        let names = summary.jobs.iter().filter_map(|job| job.job.split_once('/'));
        found.extend(names.map(|(namespace, name)| (Text::from(namespace), Text::from(name))));
        others.join(summary.others.clone());
    }
    let mut doubts = selection.wanted.unmatched(&found, &others);
    let Some(since) = selection.since.filter(|_| doubts.is_empty() && !found.is_empty()) else {
        return doubts;
    };
    let last = traces.iter().filter_map(|trace| trace.summary.last).max();
    let has_event = |trace: &JudgedTrace| {
        let time = since.time(trace.summary.last);
        let last = trace.summary.last;
        time.is_some() && trace.summary.jobs.iter().any(|job| has_event_since(job, time, last))
    };
    doubts.extend((!traces.iter().any(has_event)).then(|| since.nothing_after(last)));
    doubts
}

/// Users that the options name as managers of Jobs, and that no trace shows.
fn absent_managers(traces: &[JudgedTrace]) -> Vec<String> {
    let mut absent = traces.iter().map(|trace| trace.summary.actors.absent_managers());
    let Some(mut users) = absent.next() else { return Vec::new() };
    absent.for_each(|others| users.retain(|user| others.contains(user)));
    let doubt = |user| format!("no request is sent by {user:?}, which --actor names as a manager of Jobs");
    users.into_iter().map(doubt).collect()
}

/// Returns `true` if the Job has an event from this time on, or at no known time. A Job that hangs has no events, so that anything
/// that is still open at the end of the trace counts as one.
fn has_event_since(job: &JobVerdict, since: Option<i64>, end: Option<i64>) -> bool {
    let is_open = || !job.owed.is_empty() || job.violations.iter().any(|it| it.write == Violation::END);
    is_since(job.last, since) || (is_since(end, since) && is_open())
}

/// Returns `true` if a time is not before another, as far as both are known.
fn is_since(time: Option<i64>, since: Option<i64>) -> bool {
    time.zip(since).is_none_or(|(time, since)| time >= since)
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
        () if summary.jobs.is_empty() && summary.unlisted.jobs() == 0 => {
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
        Judged::Clusters if selection.has_workers => Some(format!("{req}: its premise was never met")),
        Judged::Clusters => Some(format!(
            "{req} needs the traces of the manager and of its workers: --cluster manager=FILE --cluster worker=FILE"
        )),
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
            // Without the trace of a worker nobody expects a premise.
            None if entry.judged == Judged::Clusters => {}
            None if entry.judged.by_trace() => list.premise_never_met.push(Id(entry.req)),
            None => {}
        }
    }
    list
}

fn job_report(
    job: JobVerdict,
    selection: &Selection<'_>,
    since: Option<i64>,
    read: &Read,
    actors: &Actors,
) -> JobReport {
    let full = job.job.clone();
    let (namespace, name) = full.split_once('/').unwrap_or(("", &full));
    let context = Context { names: &read.names, actors, namespace, job: name };
    let wanted =
        |req: Option<Req>| selection.only.is_empty() || req.is_some_and(|req| is_asked_for(req, selection));
    let warnings: Vec<Line> = job
        .warnings
        .iter()
        .filter(|warning| wanted(requirement_of(&warning.text)) && is_since(warning.time, since))
        .map(|warning| line(warning.clone(), &read.names))
        .collect();
    let mut violations: Vec<Finding> = job
        .violations
        .into_iter()
        .filter(|violation| wanted(Some(violation.req())) && is_since(violation.done, since))
        .map(|violation| finding(violation, &context))
        .collect();
    let reservations: Vec<Line> = job.reservations.into_iter().map(|note| line(note, &read.names)).collect();
    if selection.strict {
        let noted = warnings.iter().chain(&reservations);
        violations.extend(noted.map(|note| strict_finding(note, &context)));
    }
    let mut doubts = job.doubts;
    doubts.extend(reservations.into_iter().map(|it| it.text));
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
        life: job.life.map(|it| life(*it, &read.names)),
        contradictions: job.contradictions,
        violations,
        doubts,
        warnings,
        pending: job
            .owed
            .iter()
            .filter(|owed| wanted(Some(owed.req)))
            .map(|owed| pending(owed, &job.holding, &context))
            .collect(),
    }
}

fn origins(uid: &str, read: &Read) -> Vec<String> {
    if let [name] = &read.names[..] {
        return vec![name.clone()];
    }
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
