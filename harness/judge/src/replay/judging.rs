//! Reads inputs as one trace and judges it.

use jobcheck_spec::apiserver::RuleSet;
use jobcheck_spec::{Req, Uid};
use jobcheck_traces::{Body, Input, Mark, MarkKind, Place, ReadError, Reader, Record, Resource};
use rustc_hash::FxHashMap;

use super::PROGRESS_EVERY;
use super::assume::{Assumption, Subject, assumed};
use crate::report::{InputError, JudgedTrace, Read, ReplayReport, Selection, build};
use crate::validate::{Options, Role, Unreadable, Validator};

/// What is asked of a replay.
#[derive(Clone, Debug, Default)]
pub struct Judging {
    /// The API server's rules; unless given, those of a native trace's header, else 1.36's.
    pub kubernetes: Option<RuleSet>,
    /// Constants of the subject, before those of a header.
    pub assume: Vec<Assumption>,
    /// Who plays which role.
    pub actors: Vec<(Role, String)>,
    /// The requirements that count; all where this is empty.
    pub only: Vec<Req>,
    /// Whether each violation tells what stood before it.
    pub keeps_story: bool,
    /// Whether warnings are violations.
    pub strict: bool,
    /// Whether documented deviations of the built-in are excused.
    pub allow_known: bool,
}

/// Judges traces; the inputs of each are merged.
///
/// An input that cannot be read on ends there: what it showed before is judged, and if other inputs go on,
/// a gap is assumed, so that what depends on the missing part is inconclusive and not wrong.
///
/// `progress` is told now and then of how many bytes of a trace were read, and how many there are.
pub fn judge(
    traces: &[Vec<Input>],
    judging: &Judging,
    progress: &mut dyn FnMut(u64, Option<u64>),
) -> ReplayReport {
    let judged = traces.iter().map(|inputs| judge_one(inputs, judging, progress)).collect();
    let Judging { ref only, strict, allow_known, .. } = *judging;
    build(judged, &Selection { only, strict, allow_known })
}

fn judge_one(inputs: &[Input], judging: &Judging, progress: &mut dyn FnMut(u64, Option<u64>)) -> JudgedTrace {
    let mut reader = Reader::open(inputs);
    let mut reading = Reading::new(inputs);
    let mut validator = None;
    let mut records: u32 = 0;
    loop {
        records = records.wrapping_add(1);
        if records.is_multiple_of(PROGRESS_EVERY) {
            let (read, total) = reader.progress();
            progress(read, total);
        }
        match reader.next() {
            Ok(Some(record)) => {
                let validator = validator.get_or_insert_with(|| reading.validator(&record, judging));
                reading.take(&record, validator);
            }
            Ok(None) => break,
            Err(error) => reading.failed(of_reading(&error), None),
        }
    }
    let files = reader.files().cloned().collect();
    let minor = reading.rules.minor;
    let summary = validator.unwrap_or_else(|| Validator::new(Options::default())).finish();
    let Reading { names, origins, errors, .. } = reading;
    JudgedTrace { summary, kubernetes: format!("1.{minor}"), read: Read { names, files, origins, errors } }
}

/// What is remembered while inputs are read.
struct Reading {
    names: Vec<String>,
    rules: RuleSet,
    origins: FxHashMap<Uid, Vec<u32>>,
    errors: Vec<InputError>,
    /// Inputs that hold something unreadable: what follows in them is passed over.
    broken: Vec<bool>,
    /// An input ended too early, and the validator does not know yet.
    gap: Option<String>,
}

impl Reading {
    fn new(inputs: &[Input]) -> Reading {
        Reading {
            names: inputs.iter().map(Input::name).collect(),
            rules: RuleSet::default(),
            origins: FxHashMap::default(),
            errors: Vec::new(),
            broken: vec![false; inputs.len()],
            gap: None,
        }
    }

    /// The validator of a trace that begins with this record.
    fn validator(&mut self, first: &Record<'_>, judging: &Judging) -> Validator {
        let header = if let Body::Header(header) = first.body { Some(header) } else { None };
        let subject = assumed(header, judging.kubernetes, &judging.assume).unwrap_or_else(|problem| {
            let file = first.place.file;
            self.failed(self.unreadable(first.place, problem), Some(file));
            Subject::default()
        });
        self.rules = subject.rules;
        Validator::new(Options {
            rules: subject.rules,
            constants: subject.constants,
            gates: subject.gates,
            actors: judging.actors.clone(),
            keeps_story: judging.keeps_story,
        })
    }

    fn unreadable(&self, place: Place, problem: String) -> InputError {
        let file = self.names.get(place.file as usize).cloned().unwrap_or_default();
        let (expected, found) = sides(&problem);
        InputError { file, line: Some(place.line), message: problem, expected, found }
    }

    fn take(&mut self, record: &Record<'_>, validator: &mut Validator) {
        let file = record.place.file;
        if self.broken.get(file as usize).copied().unwrap_or(false) {
            return;
        }
        if let Some(reason) = self.gap.take() {
            let mark = Mark { at: None, kind: MarkKind::Gap { resource: None, reason } };
            // A mark holds no object, so that nothing in it can be unreadable.
            let _ = validator.feed(&Record { body: Body::Mark(&mark), ..*record });
        }
        if let Some(job) = job_of(record) {
            let files = self.origins.entry(job).or_default();
            if !files.contains(&file) {
                files.push(file);
            }
        }
        if let Err(Unreadable { place, problem }) = validator.feed(record) {
            self.failed(self.unreadable(place, problem), Some(file));
        }
    }

    fn failed(&mut self, error: InputError, file: Option<u32>) {
        if let Some(broken) = file.and_then(|file| self.broken.get_mut(file as usize)) {
            *broken = true;
        }
        let line = error.line.map(|line| format!(":{line}")).unwrap_or_default();
        self.gap = Some(format!("{}{line} could not be read on, and other inputs go on", error.file));
        self.errors.push(error);
    }
}

/// The Job that a record is about.
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
    InputError { file: error.file.clone(), line: error.line, message, expected, found }
}

/// The two sides of a message of the shape "expected X, found Y".
fn sides(message: &str) -> (Option<String>, Option<String>) {
    let sides = message.strip_prefix("expected ").and_then(|rest| rest.split_once(", found "));
    match sides {
        Some((expected, found)) => (Some(expected.to_owned()), Some(found.to_owned())),
        None => (None, None),
    }
}
