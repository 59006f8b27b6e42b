//! Reads the inputs of a trace and feeds the validator.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use jobcheck_spec::apiserver::RuleSet;
use jobcheck_spec::guards::sums::FailsWhen;
use jobcheck_spec::time::CLOCK_SKEW;
use jobcheck_spec::{Req, Uid};
use jobcheck_traces::{
    Body, FileInfo, Input, MOST_UNREADABLE, Mark, MarkKind, Place, ReadError, Record, Resource,
};
use rustc_hash::FxHashMap;

use super::assume::{Assumption, Subject, assumed};
use super::ends::{CUT, Streams};
use super::stages::{self, Item};
use crate::clusters::{Clusters, compare};
use crate::report::{InputError, JudgedTrace, List, Read, ReplayReport, Selection, Since, build};
use crate::threads::on_threads;
use crate::validate::{
    Content, Kept, Kinds, Log, Options, Profile, Reported, Role, Unreadable, Validator, Wanted,
};

/// Options of a replay.
#[derive(Clone, Debug, Default)]
pub struct Judging {
    /// The rules of the API server. If unset, those in the header of a native trace; otherwise those of 1.36.
    pub kubernetes: Option<RuleSet>,
    /// Assumptions, which take precedence over those in a header.
    pub assume: Vec<Assumption>,
    /// The users that play a role, for roles that their names do not show.
    pub actors: Vec<(Role, String)>,
    /// The requirements that count; all of them if the list is empty.
    pub only: Vec<Req>,
    /// The Jobs that are reported.
    pub wanted: Wanted,
    /// The Jobs whose lives are reported.
    pub explained: Wanted,
    /// The time from which on violations and warnings count.
    pub since: Option<Since>,
    /// Times at which the Job controller restarted, in microseconds since 1970.
    pub restarted: Vec<i64>,
    /// The kinds of requests that the log has shown of the trace's namespace; `None` if the trace is no part of a log.
    pub logged: Option<Kinds>,
    /// The kind of the managers of Jobs without `spec.managedBy`. If unset, they are the built-in controller.
    pub profile: Option<Profile>,
    /// The rule by which the members of an aggregator fail a Job.
    pub fails_when: FailsWhen,
    /// Seconds by which the clocks of two clusters may differ; 5 if unset.
    pub skew: Option<i64>,
    /// Adds the preceding lines of the trace to each violation.
    pub keeps_story: bool,
    /// Counts warnings as violations.
    pub strict: bool,
    /// Excuses known deviations of the built-in controller in the exit code.
    pub allow_known: bool,
    /// The Jobs that the report lists. It counts the others.
    pub list: List,
    /// Number of threads; the caller's alone if unset. The report does not depend on it.
    pub threads: Option<NonZeroUsize>,
    /// Number of finished Jobs of each trace that are kept as they are, and not as bytes. The report does not depend on
    /// it.
    pub finished_at_hand: Option<usize>,
    /// Ends the reading, and each search for an explanation, once it is true. The report then is one of what was read, and
    /// does not show that more follows.
    pub stop: Arc<AtomicBool>,
}

/// Judges traces. The inputs of each trace are merged.
///
/// A line that cannot be read is a gap, so that whatever depends on the missing part is inconclusive. Other errors, and too many
/// such lines, end the input. Its records before the error are judged. If other inputs continue, a gap is assumed as well. If
/// an export states that rows are missing, its whole trace is inconclusive.
///
/// `progress` is called from time to time with the number of bytes read, and the size of the inputs if it is known.
pub fn judge(traces: &[Vec<Input>], judging: &Judging, progress: ShowProgress<'_>) -> ReplayReport {
    report(judge_all(traces, &OfEach::same(judging), judging.kept(), progress), judging, false)
}

impl Judging {
    /// The verdicts that the report may need. With `since`, the end of the trace decides which Jobs count. A report on some
    /// Jobs says which names fit none.
    fn kept(&self) -> Kept {
        match self.list {
            _ if self.since.is_some() || !self.wanted.is_everything() => Kept::All,
            List::All => Kept::All,
            List::Findings => Kept::Findings,
            List::Violations => Kept::Violations { noted: self.strict },
        }
    }
}

/// Judges a manager beside its workers.
///
/// The trace of each cluster is judged as [`judge`] does. The Jobs of the manager are then compared with their copies
/// (MR-20 to MR-27), or with the sum of their members (MR-30 to MR-33).
pub fn judge_clusters(clusters: &Clusters, judging: &Judging, progress: ShowProgress<'_>) -> ReplayReport {
    // The comparison adds findings to Jobs that conform by themselves.
    let mut judged = judge_all(&clusters.traces(), &OfEach::beside_workers(judging), Kept::All, progress);
    let compared = compare(clusters, &judged, judging, progress);
    if let Some(manager) = judged.first_mut() {
        compared.add_to(&mut manager.summary);
    }
    report(judged, judging, true)
}

fn report(mut judged: Vec<JudgedTrace>, judging: &Judging, has_workers: bool) -> ReplayReport {
    doubt_incomplete(&mut judged, has_workers);
    let Judging { ref only, ref wanted, since, strict, allow_known, list, .. } = *judging;
    build(judged, &Selection { only, wanted, since, strict, allow_known, list, has_workers })
}

/// Makes traces with an incomplete input inconclusive. The Jobs of a manager depend on the traces of its workers, too.
fn doubt_incomplete(judged: &mut [JudgedTrace], has_workers: bool) {
    let lacks = |trace: &JudgedTrace| trace.read.files.iter().filter_map(FileInfo::incomplete).collect();
    let reasons: Vec<Vec<String>> = judged.iter().map(lacks).collect();
    for (position, trace) in judged.iter_mut().enumerate() {
        let last = if has_workers && position == 0 { reasons.len() } else { position + 1 };
        for reason in reasons[position..last].iter().flatten() {
            trace.summary.lacks_rows(reason);
        }
    }
}

/// The options for each trace.
struct OfEach<'a> {
    first: &'a Judging,
    others: Judging,
}

impl<'a> OfEach<'a> {
    fn same(judging: &'a Judging) -> OfEach<'a> {
        OfEach { first: judging, others: judging.clone() }
    }

    /// A profile of managers that write status alone concerns the cluster of the manager.
    fn beside_workers(judging: &'a Judging) -> OfEach<'a> {
        let profile = judging.profile.filter(|profile| *profile == Profile::Executor);
        OfEach { first: judging, others: Judging { profile, ..judging.clone() } }
    }

    fn at(&self, position: usize) -> &Judging {
        if position == 0 { self.first } else { &self.others }
    }
}

fn judge_all(
    traces: &[Vec<Input>],
    of_each: &OfEach<'_>,
    kept: Kept,
    progress: ShowProgress<'_>,
) -> Vec<JudgedTrace> {
    let judging = of_each.first;
    let threads = judging.threads.map_or(1, NonZeroUsize::get);
    let for_each = threads / threads.min(traces.len()).max(1);
    let shared = Mutex::new(Progress { show: progress, traces: vec![(0, Some(0)); traces.len()] });
    on_threads(threads, traces.iter().collect(), &|position, inputs: &Vec<Input>| {
        judge_one(inputs, (of_each.at(position), kept), for_each, &mut |read, total| {
            shared.lock().unwrap_or_else(PoisonError::into_inner).at(position, (read, total));
            !judging.stop.load(Ordering::Relaxed)
        })
    })
}

/// Shows the number of bytes read, and the size of the inputs if it is known.
pub type ShowProgress<'a> = &'a mut (dyn FnMut(u64, Option<u64>) + Send);

/// The progress of several traces.
struct Progress<'a> {
    show: ShowProgress<'a>,
    /// Bytes read and size of each trace, as far as it was opened.
    traces: Vec<(u64, Option<u64>)>,
}

impl Progress<'_> {
    fn at(&mut self, position: usize, progress: (u64, Option<u64>)) {
        self.traces[position] = progress;
        let read = self.traces.iter().map(|(read, _)| read).sum();
        (self.show)(read, self.traces.iter().map(|(_, total)| *total).sum());
    }
}

fn judge_one(
    inputs: &[Input],
    (judging, kept): (&Judging, Kept),
    threads: usize,
    progress: &mut dyn FnMut(u64, Option<u64>) -> bool,
) -> JudgedTrace {
    let mut reading = Interpretation::new(inputs);
    let mut validator = None;
    let mut take = |item: Item| match item {
        Ok((detached, content)) => {
            let record = detached.record();
            let validator = validator.get_or_insert_with(|| reading.validator(&record, judging, kept));
            reading.compare_header(&record, judging);
            reading.take(&record, content, validator);
        }
        Err(error) => reading.failed(of_reading(&error)),
    };
    let files = stages::read(inputs, (threads, &judging.stop), &mut take, progress);
    let mut summary = validator.unwrap_or_else(|| Validator::new(Options::default())).finish();
    let Interpretation { names, origins, errors, subject, contradiction, streams, .. } = reading;
    summary.doubts.extend(contradiction);
    streams.ends(&names).iter().for_each(|end| summary.withdraw_behind(end));
    JudgedTrace {
        summary,
        kubernetes: format!("1.{}", subject.rules.minor),
        assumed: subject.departures(),
        read: Read { names, files, origins, errors },
    }
}

/// State of reading one trace.
struct Interpretation {
    names: Vec<String>,
    /// The API server and the Job controller that the trace is judged with.
    subject: Subject,
    /// A header that states something else.
    contradiction: Option<String>,
    origins: FxHashMap<Uid, Vec<u32>>,
    errors: Vec<InputError>,
    /// Numbers of unreadable records of the inputs. Further records are skipped if there are too many.
    unreadable: Vec<u32>,
    streams: Streams,
    /// Records are missing, and the validator has not been informed yet.
    gap: Option<String>,
}

impl Interpretation {
    fn new(inputs: &[Input]) -> Interpretation {
        Interpretation {
            names: inputs.iter().map(Input::name).collect(),
            subject: Subject::default(),
            contradiction: None,
            origins: FxHashMap::default(),
            errors: Vec::new(),
            unreadable: vec![0; inputs.len()],
            streams: Streams::new(inputs.len()),
            gap: None,
        }
    }

    /// The validator of a trace with this first record.
    fn validator(&mut self, first: &Record<'_>, judging: &Judging, kept: Kept) -> Validator {
        let header = if let Body::Header(header) = first.body { Some(header) } else { None };
        let subject = assumed(header, judging.kubernetes, &judging.assume).unwrap_or_else(|problem| {
            let error = self.refused(first.place, problem);
            // The records behind an unusable header would be judged by the rules of something else.
            if let Some(count) = self.unreadable.get_mut(first.place.file as usize) {
                *count = MOST_UNREADABLE + 1;
            }
            self.failed(InputError { reads_on: false, ..error });
            Subject::default()
        });
        self.subject = subject;
        Validator::new(Options {
            rules: subject.rules,
            constants: subject.constants,
            gates: subject.gates,
            actors: judging.actors.clone(),
            reported: Reported {
                wanted: judging.wanted.clone(),
                explained: judging.explained.clone(),
                kept,
                keeps_story: judging.keeps_story,
            },
            restarted: judging.restarted.clone(),
            log: match judging.logged {
                _ if subject.logs_all => Log::Complete,
                Some(elsewhere) => Log::PartOf(elsewhere),
                None => Log::Alone,
            },
            profile: judging.profile,
            skew: judging.skew.unwrap_or(CLOCK_SKEW),
            finished_at_hand: judging.finished_at_hand.unwrap_or(Options::default().finished_at_hand),
            stop: Arc::clone(&judging.stop),
        })
    }

    /// Notes a header that is not the first record and states something else. The order of the inputs decides nothing.
    fn compare_header(&mut self, record: &Record<'_>, judging: &Judging) {
        let Body::Header(header) = record.body else { return };
        let own = assumed(Some(header), judging.kubernetes, &judging.assume);
        if self.contradiction.is_none() && own.is_ok_and(|own| own != self.subject) {
            let Place { file, line } = record.place;
            let name = self.names.get(file as usize).map_or("", String::as_str);
            self.contradiction = Some(format!(
                "the header at {name}:{line} assumes something else than the beginning of the trace; judge the inputs \
                 apart with --group each, or decide with --kubernetes and --assume"
            ));
        }
    }

    /// The error of a record that cannot be understood.
    fn refused(&mut self, place: Place, problem: String) -> InputError {
        let file = self.names.get(place.file as usize).cloned().unwrap_or_default();
        let (expected, found) = sides(&problem);
        let count = self.unreadable.get_mut(place.file as usize);
        let reads_on = count.is_some_and(|count| {
            *count += 1;
            *count <= MOST_UNREADABLE
        });
        InputError { file, line: Some(place.line), message: problem, expected, found, reads_on }
    }

    fn take(&mut self, record: &Record<'_>, content: Content, validator: &mut Validator) {
        let file = record.place.file;
        if self.unreadable.get(file as usize).is_some_and(|count| *count > MOST_UNREADABLE) {
            return;
        }
        self.streams.note(record);
        if let Some(reason) = self.gap.take() {
            let mark = Mark { at: None, kind: MarkKind::Gap { resource: None, reason, gone: Vec::new() } };
            // A mark contains no object, so it cannot be unreadable.
            let _ = validator.feed(&Record { body: Body::Mark(&mark), ..*record });
        }
        // With one input, it shows every Job.
        if let Some(job) = job_of(record).filter(|_| self.names.len() > 1) {
            let files = self.origins.entry(job).or_default();
            if !files.contains(&file) {
                files.push(file);
            }
        }
        if let Err(Unreadable { place, problem }) = validator.feed_with(record, content) {
            let error = self.refused(place, problem);
            self.failed(error);
        }
    }

    fn failed(&mut self, error: InputError) {
        let cut = self.names.iter().position(|name| *name == error.file && !error.reads_on);
        cut.into_iter().for_each(|file| self.streams.is_cut(file));
        self.gap = Some(match error.reads_on {
            true => format!("{} cannot be read, so that a request may be missing", error.place()),
            false => format!("{} {CUT}", error.place()),
        });
        self.errors.push(error);
    }
}

/// The UID of the Job in a record.
fn job_of(record: &Record<'_>) -> Option<Uid> {
    match record.body {
        Body::Request(request) if request.resource == Resource::Jobs => request.uid.map(Uid::parse),
        Body::Watched(watched) if watched.resource == Resource::Jobs => Some(Uid::parse(watched.uid)),
        Body::Request(_)
        | Body::Watched(_)
        | Body::Header(_)
        | Body::Mark(_)
        | Body::Fault(_)
        | Body::Observed(_)
        | Body::Expected(_) => None,
    }
}

fn of_reading(error: &ReadError) -> InputError {
    let message = error.problem.to_string();
    let (expected, found) = sides(&message);
    InputError {
        file: error.file.clone(),
        line: error.line,
        message,
        expected,
        found,
        reads_on: error.reads_on,
    }
}

/// The two parts of a message of the form "expected X, found Y".
fn sides(message: &str) -> (Option<String>, Option<String>) {
    let sides = message.strip_prefix("expected ").and_then(|rest| rest.split_once(", found "));
    match sides {
        Some((expected, found)) => (Some(expected.to_owned()), Some(found.to_owned())),
        None => (None, None),
    }
}
