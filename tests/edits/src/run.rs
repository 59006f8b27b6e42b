//! Makes edits, judges them, and collects the verdicts.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use jobcheck_judge::replay::{Judging, judge};
use jobcheck_judge::report::{Exit, ReplayReport};
use jobcheck_traces::Input;
use serde_json::Value;

use crate::class::{Class, Edited, Oracle};
use crate::forms::Shape;
use crate::recording::{Form, Recording, Resource};

/// A recording with more lines than this is long: judging one edit of it takes as long as judging fifty others.
pub const LONG: usize = 100;
/// The number of positions at which each class is applied to a long recording. A sample leaves long recordings out.
pub const POSITIONS: usize = 12;
/// In a sample, the number of edits in a row that a form may hide before it counts as one that hides the class.
const HIDDEN: usize = 4;

/// The edits of a run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// A part of the name of the classes.
    pub class: String,
    /// A part of the name of the recordings.
    pub recording: String,
    /// The forms.
    pub shapes: Vec<Shape>,
    /// The maximum number of edits of each class in each form; all if unset.
    pub sample: Option<usize>,
    /// The seed of the sample.
    pub seed: u64,
    /// The number of threads.
    pub threads: usize,
}

impl Default for Plan {
    fn default() -> Plan {
        let text = String::new();
        let shapes = crate::forms::SHAPES.to_vec();
        Plan { class: text.clone(), recording: text, shapes, sample: None, seed: 0, threads: 2 }
    }
}

/// An edit with its verdict.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The number of the class.
    pub class: usize,
    /// The number of the recording.
    pub recording: usize,
    /// The form.
    pub shape: Shape,
    /// The line, from 0.
    pub at: usize,
    /// The expected verdict.
    pub oracle: Oracle,
    /// The verdict. Warnings count as a violation where the oracle expects one.
    pub exit: Exit,
    /// The rule of the oracle is named, or the rule is not of family MR.
    pub names_rule: bool,
    /// The judge's reasons.
    pub reasons: Vec<String>,
}

impl Judged {
    /// Returns true if the verdict is not one that the oracle accepts. An inconclusive verdict on a wrong edit is weak,
    /// but not a miss.
    #[must_use]
    pub fn is_missed(&self) -> bool {
        match self.oracle {
            Oracle::Wrong(_) | Oracle::Partial(_) | Oracle::Advice(_) => {
                matches!(self.exit, Exit::Conforms | Exit::Unreadable)
            }
            Oracle::Legal(_) => matches!(self.exit, Exit::Violates | Exit::Unreadable),
            Oracle::Undecidable(_) => false,
        }
    }
}

/// Judges the files of a trace. Known deviations are excused.
#[must_use]
pub fn replay(files: &[Vec<Value>]) -> ReplayReport {
    let text =
        |lines: &Vec<Value>| lines.iter().map(|line| format!("{line}\n")).collect::<String>().into_bytes();
    let name = |at: usize| format!("{at}.jsonl");
    let inputs = files.iter().enumerate().map(|(at, lines)| Input::Bytes(name(at), text(lines))).collect();
    judge(&[inputs], &Judging { allow_known: true, ..Judging::default() }, &mut |_, _| {})
}

/// The findings of a report, one line for each.
#[must_use]
pub fn reasons(report: &ReplayReport) -> Vec<String> {
    let mut lines = Vec::new();
    for job in &report.jobs {
        for it in &job.violations {
            let id = it.requirement.map_or("-", |id| id.0.id());
            let known = it.known.map_or(String::new(), |id| format!(" KNOWN {}", id.0.id()));
            lines.push(format!(
                "{id}{known} line {}: {}: {}, not {}",
                it.place.line.unwrap_or(0),
                it.difference.what,
                it.difference.found,
                it.difference.expected
            ));
        }
        lines.extend(job.doubts.iter().map(|it| format!("inconclusive: {it}")));
        lines.extend(job.pending.iter().map(|it| format!("pending: {} {}", it.requirement.0.id(), it.what)));
        lines.extend(job.warnings.iter().map(|it| format!("warning: {}", it.text)));
    }
    lines.extend(report.doubts.iter().map(|it| format!("inconclusive: {it}")));
    lines.extend(
        report.errors.iter().map(|it| format!("unreadable: {} {}", it.line.unwrap_or(0), it.message)),
    );
    lines
}

/// The positions of a recording at which classes are applied: all, or some that are evenly spread over a long one.
#[must_use]
pub fn positions(recording: &Recording) -> Vec<usize> {
    let all = 0..recording.lines.len();
    if recording.lines.len() <= LONG {
        return all.collect();
    }
    let (jobs, others): (Vec<usize>, Vec<usize>) =
        all.partition(|at| recording.events[*at].resource == Resource::Job);
    let spread = |lines: Vec<usize>| {
        let step = lines.len().div_ceil(POSITIONS / 2).max(1);
        lines.into_iter().step_by(step)
    };
    let mut chosen: Vec<usize> = spread(jobs).chain(spread(others)).collect();
    chosen.sort_unstable();
    chosen
}

/// The answer for a right trace that lacks some of its evidence.
pub const LESS: Oracle = Oracle::Legal("less evidence");

/// One step of SplitMix64.
fn mixed(value: u64) -> u64 {
    let mut it = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    it = (it ^ (it >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    it = (it ^ (it >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    it ^ (it >> 31)
}

/// A part of a run: one class in one form, at some places of recordings.
struct Unit {
    class: usize,
    shape: Shape,
    places: Vec<(usize, usize)>,
}

fn fits(shape: Shape, recording: &Recording) -> bool {
    (shape == Shape::Watch) == (recording.form == Form::Watch)
}

fn units(plan: &Plan, classes: &[Class], recordings: &[Recording]) -> Vec<Unit> {
    let chosen: Vec<usize> =
        (0..classes.len()).filter(|it| classes[*it].name.contains(&plan.class)).collect();
    let mut units = Vec::new();
    for shape in &plan.shapes {
        let is_meant =
            |it: &usize| fits(*shape, &recordings[*it]) && recordings[*it].name.contains(&plan.recording);
        let of_shape: Vec<usize> = (0..recordings.len()).filter(is_meant).collect();
        let places: Vec<(usize, usize)> = of_shape
            .iter()
            .flat_map(|it| positions(&recordings[*it]).into_iter().map(move |at| (*it, at)))
            .collect();
        for class in &chosen {
            let unit = |places| Unit { class: *class, shape: *shape, places };
            if plan.sample.is_some() {
                let mut places = places.clone();
                let key = |at: u64, of: u64| mixed(plan.seed ^ mixed(at ^ mixed(of)));
                places.sort_by_key(|(it, at)| {
                    (key(*at as u64, *it as u64 + ((*class as u64) << 32)), *it, *at)
                });
                units.push(unit(places));
            } else {
                units.extend(places.chunk_by(|a, b| a.0 == b.0).map(|part| unit(part.to_vec())));
            }
        }
    }
    units
}

/// Judges all edits of a plan. The result does not depend on the number of threads.
///
/// `keep` is called for each verdict, with the trace.
#[must_use]
pub fn run(
    plan: &Plan,
    classes: &[Class],
    recordings: &[Recording],
    keep: &(dyn Fn(&Judged, &Edited) + Sync),
) -> Vec<Judged> {
    let units = units(plan, classes, recordings);
    let next = AtomicUsize::new(0);
    let work = || {
        let mut found = Vec::new();
        while let Some(unit) = units.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (mut judged, mut hidden) = (0, 0);
            for (recording, at) in &unit.places {
                let base = &recordings[*recording];
                let Some(edited) = (classes[unit.class].apply)(base, *at) else { continue };
                let Some(edited) = shown(unit.shape, &edited, base) else {
                    hidden += 1;
                    if plan.sample.is_some() && hidden >= HIDDEN {
                        break;
                    }
                    continue;
                };
                found.push(verdict(unit, &edited, (*recording, *at), keep));
                judged += 1;
                if plan.sample == Some(judged) {
                    break;
                }
            }
        }
        found
    };
    let mut all: Vec<Judged> = thread::scope(|scope| {
        let workers: Vec<_> = (0..plan.threads.max(1)).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap_or_default()).collect()
    });
    all.sort_by_key(|it| (it.class, it.shape, it.recording, it.at));
    all
}

/// The edit in a form, with the answer of the oracle for it.
fn shown(shape: Shape, edited: &Edited, recording: &Recording) -> Option<Edited> {
    let mut edited = shape.of(edited, &recording.lines)?;
    if recording.is_known && edited.oracle == LESS {
        edited.oracle = Oracle::Undecidable("with less evidence the deviation has no label");
    }
    Some(edited)
}

fn verdict(
    unit: &Unit,
    edited: &Edited,
    (recording, at): (usize, usize),
    keep: &(dyn Fn(&Judged, &Edited) + Sync),
) -> Judged {
    let report = replay(&edited.files);
    let reasons = reasons(&report);
    let names = |start: &str| reasons.iter().any(|it| it.starts_with(start));
    let (exit, names_rule) = match edited.oracle {
        Oracle::Wrong(rule) => (report.exit_code, names(rule)),
        Oracle::Advice(rule) if report.exit_code == Exit::Conforms && names(&format!("warning: {rule}")) => {
            (Exit::Violates, true)
        }
        Oracle::Advice(_) | Oracle::Partial(_) | Oracle::Legal(_) | Oracle::Undecidable(_) => {
            (report.exit_code, false)
        }
    };
    let judged = Judged {
        class: unit.class,
        recording,
        shape: unit.shape,
        at,
        oracle: edited.oracle,
        exit,
        names_rule,
        reasons,
    };
    keep(&judged, edited);
    judged
}

/// The recordings whose verdict is right before any edit: those that conform, their known deviations excused. Those with a
/// known deviation are left out unless they are asked for, because an edit may be one of its consequences.
#[must_use]
pub fn conforming(recordings: Vec<Recording>, with_known: bool) -> Vec<Recording> {
    recordings
        .into_iter()
        .filter(|it| {
            !it.is_known || with_known && replay(std::slice::from_ref(&it.lines)).exit_code == Exit::Conforms
        })
        .collect()
}
