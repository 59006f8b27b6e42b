//! Reads inputs as one trace and judges it.

use jobcheck_model::{Req, Uid};
use jobcheck_traces::{Body, Input, Mark, MarkKind, ReadError, Reader, Record, Resource};
use rustc_hash::FxHashMap;

use super::build::{Read, build};
use super::types::{InputError, ReplayReport};
use crate::validate::{Options, Unreadable, Validator};

/// Records between two calls of the progress function.
const PROGRESS_EVERY: u32 = 512;

/// What is asked of a replay.
#[derive(Clone, Debug, Default)]
pub struct Judging {
    /// What the validation is told.
    pub options: Options,
    /// The requirements that count; all where this is empty.
    pub only: Vec<Req>,
    /// Whether warnings are violations.
    pub strict: bool,
    /// Whether documented deviations of the built-in are excused.
    pub allow_known: bool,
}

/// Judges inputs that are parts of one trace.
///
/// An input that cannot be read on ends there: what it showed before is judged, and if other inputs go on,
/// a gap is assumed, so that what depends on the missing part is inconclusive and not wrong.
///
/// `progress` is told now and then how many bytes were read, and how many there are.
pub fn judge(inputs: &[Input], judging: &Judging, progress: &mut dyn FnMut(u64, Option<u64>)) -> ReplayReport {
    let mut reader = Reader::open(inputs);
    let mut validator = Validator::new(judging.options.clone());
    let mut reading = Reading::new(inputs);
    let mut until_progress = PROGRESS_EVERY;
    loop {
        until_progress -= 1;
        if until_progress == 0 {
            let (read, total) = reader.progress();
            progress(read, total);
            until_progress = PROGRESS_EVERY;
        }
        match reader.next() {
            Ok(Some(record)) => reading.take(&record, &mut validator),
            Ok(None) => break,
            Err(error) => reading.failed(of_reading(&error), None),
        }
    }
    let files = reader.files().cloned().collect();
    let Reading { names, origins, errors, .. } = reading;
    build(validator.finish(), judging, Read { names, files, origins, errors })
}

/// What is remembered while inputs are read.
struct Reading {
    names: Vec<String>,
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
            origins: FxHashMap::default(),
            errors: Vec::new(),
            broken: vec![false; inputs.len()],
            gap: None,
        }
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
            let name = self.names.get(file as usize).cloned().unwrap_or_default();
            let (expected, found) = sides(&problem);
            self.failed(InputError { file: name, line: Some(place.line), message: problem, expected, found }, Some(file));
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
