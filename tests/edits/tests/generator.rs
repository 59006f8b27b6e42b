//! Tests of the generator itself: its edits are edits, its traces are consistent, and its oracle gives every answer.

use std::collections::{BTreeMap, BTreeSet};

use jobcheck_edits::class::{Class, Edited};
use jobcheck_edits::classes::{self, merging};
use jobcheck_edits::draft::{Draft, count};
use jobcheck_edits::forms::{SHAPES, Shape};
use jobcheck_edits::recording::{Recording, recordings, stored};
use jobcheck_edits::run::{Plan, conforming, positions, replay, run};
use jobcheck_edits::table::Side;
use jobcheck_judge::report::Exit;
use serde_json::Value;

fn all_recordings() -> Vec<Recording> {
    conforming(recordings().expect("the corpus can be read"), false)
}

fn recording(name: &str) -> Recording {
    all_recordings().into_iter().find(|it| it.name == name).expect("the recording is in the corpus")
}

fn class(name: &str) -> Class {
    classes::all().into_iter().find(|it| it.name == name).expect("the class has this name")
}

fn first(class: &Class, base: &Recording) -> (usize, Edited) {
    let mut places = (0..base.lines.len()).filter_map(|at| Some((at, (class.apply)(base, at)?)));
    places.next().expect("the class applies to the recording")
}

#[test]
fn recordings_conform_before_any_edit() {
    for it in all_recordings().iter().filter(|it| it.lines.len() < 100) {
        let exit = replay(std::slice::from_ref(&it.lines)).exit_code;
        assert_eq!(exit, Exit::Conforms, "{}", it.name);
        if it.name.ends_with(".audit") {
            assert_eq!(
                replay(&[Shape::Native.rewrite(&it.lines)]).exit_code,
                Exit::Conforms,
                "{} native",
                it.name
            );
        }
    }
}

/// The premise of the measurement: no class is empty, each of its traces is another one, and the oracle has examples of
/// each answer.
#[test]
fn each_class_applies_and_each_answer_of_the_oracle_occurs() {
    let recordings = all_recordings();
    let (mut answers, mut names) = (BTreeSet::new(), BTreeSet::new());
    for class in classes::all() {
        assert!(names.insert(class.name.clone()), "two classes are called {}", class.name);
        let places = recordings.iter().flat_map(|it| positions(it).into_iter().map(move |at| (it, at)));
        let mut edits =
            places.filter_map(|(base, at)| Some((base, (class.apply)(base, at)?))).take(5).peekable();
        assert!(edits.peek().is_some(), "{} applies nowhere", class.name);
        for (base, edited) in edits {
            answers.insert(Side::of(edited.oracle));
            assert!(edited.files != [base.lines.clone()], "{} changes nothing of {}", class.name, base.name);
        }
    }
    let expected: BTreeSet<Side> = [Side::Wrong, Side::Partial, Side::Right, Side::Open].into();
    assert_eq!(answers, expected);
}

#[test]
fn a_changed_field_persists_until_the_recording_writes_it_again() {
    let base = recording("nonindexed-success.audit");
    let (at, edited) = first(&class("counters/failed+1"), &base);
    let lines = &edited.files[0];
    let failed = |line: usize| count(&stored(&lines[line])["status"], "failed");
    let writes = base.status_writes(&base.events[at].uid);
    assert!(writes.len() > 3 && writes.iter().all(|line| failed(*line) == 1), "{writes:?}");
    assert!(writes.iter().all(|line| lines[*line]["requestObject"]["status"]["failed"] == 1));
    let (at, edited) = first(&class("counters/succeeded+1"), &base);
    let next = *base.status_writes(&base.events[at].uid).last().unwrap();
    let last = |lines: &[Value]| count(&stored(&lines[next])["status"], "succeeded");
    assert_eq!(last(&edited.files[0]), last(&base.lines), "the recording writes it again");
}

#[test]
fn an_inserted_write_has_its_own_version_and_is_known_to_later_requests() {
    let base = recording("nonindexed-success.audit");
    let (at, edited) = first(&class("controller writes spec or metadata/label-update"), &base);
    let lines = &edited.files[0];
    assert_eq!(lines.len(), base.lines.len() + 1);
    let version = |line: &Value| stored(line)["metadata"]["resourceVersion"].clone();
    let versions: BTreeSet<String> = lines.iter().map(|line| version(line).to_string()).collect();
    assert_eq!(versions.len(), lines.len(), "each write of this recording has a version of its own");
    let next = lines[at + 2..].iter().find(|line| line["verb"] == "update").unwrap();
    assert_eq!(next["requestObject"]["metadata"]["resourceVersion"], version(&lines[at + 1]));
    assert_eq!(next["requestObject"]["metadata"]["labels"]["team"], "a");
}

#[test]
fn a_moved_line_keeps_times_and_versions_in_order() {
    let base = recording("nonindexed-success.audit");
    let mut draft = Draft::of(&base);
    draft.move_before(10, 9);
    let moved = Recording::new("moved", false, draft.lines.clone());
    let versions: Vec<u64> = moved.events.iter().map(|it| it.version).collect();
    assert!(versions.is_sorted(), "{versions:?}");
    assert!(moved.events[9].interval.1 < moved.events[10].interval.0);
    assert_eq!(stored(&draft.lines[9])["metadata"]["uid"], stored(&base.lines[10])["metadata"]["uid"]);
}

#[test]
fn a_copy_shares_no_uid_and_no_namespace_with_its_original() {
    let base = recording("fail-index-action.audit");
    let mut lines = base.lines.clone();
    merging::rename(&mut lines, "other");
    let copy = Recording::new("copy", false, lines);
    assert!(copy.jobs.keys().all(|uid| !base.jobs.contains_key(uid)));
    let uids: BTreeSet<&String> = base.pods.iter().map(|pod| &pod.uid).collect();
    assert!(copy.pods.iter().all(|pod| !uids.contains(&pod.uid) && copy.jobs.contains_key(&pod.job)));
    assert_eq!((copy.pods.len(), copy.jobs.len()), (base.pods.len(), base.jobs.len()));
    let namespace = |it: &Recording| it.lines[0]["objectRef"]["namespace"].clone();
    assert_ne!(namespace(&copy), namespace(&base));
}

#[test]
fn a_form_that_does_not_show_an_edit_leaves_it_out() {
    let base = recording("nonindexed-success.audit");
    let (_, edited) = first(&class("counters/failed+1"), &base);
    assert!(Shape::Metadata.of(&edited, &base.lines).is_none());
    let shown = Shape::Request.of(&edited, &base.lines).unwrap();
    assert_eq!(Side::of(shown.oracle), Side::Partial);
    assert!(shown.files[0].iter().all(|line| line["responseObject"].is_null()));
}

#[test]
fn a_run_does_not_depend_on_the_number_of_threads() {
    let (classes, recordings) = (classes::all(), all_recordings());
    let text = |threads| {
        let (class, recording) = ("startTime".to_owned(), "resume".to_owned());
        let plan = Plan { class, recording, sample: Some(3), threads, ..Plan::default() };
        let judged = run(&plan, &classes, &recordings, &|_, _| {});
        judged
            .iter()
            .map(|it| format!("{} {} {} {:?}", it.class, it.recording, it.at, it.exit))
            .collect::<Vec<_>>()
    };
    assert_eq!(text(1), text(3));
}

#[test]
fn shapes_have_names_of_their_own() {
    let names: BTreeMap<&str, Shape> = SHAPES.into_iter().map(|it| (it.name(), it)).collect();
    assert_eq!(names.len(), SHAPES.len());
}
