//! Classes of traces that the judge once got wrong, each with an example in `traces/corpus/cases/`.
//!
//! Right traces in odd forms must conform, and wrong traces must not. `tests/edits` makes many more of each class.

use std::fs;
use std::path::PathBuf;

use jobcheck_judge::replay::{Judging, judge};
use jobcheck_judge::report::Exit;
use jobcheck_tests::corpus::folder;
use jobcheck_traces::Input;

/// The files of a list, with the exit code of each.
fn exits(list: &str) -> Vec<(String, Exit)> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder().join("cases").join(list)).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let judged = |path: PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let judging = Judging { allow_known: true, ..Judging::default() };
        (name, judge(&[vec![Input::Path(path)]], &judging, &mut |_, _| {}).exit_code)
    };
    files.into_iter().map(judged).collect()
}

#[test]
fn right_traces_in_odd_forms_conform() {
    let judged = exits("conforming");
    assert_eq!(judged.len(), 12);
    let wrong: Vec<_> = judged.iter().filter(|(_, exit)| *exit != Exit::Conforms).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn wrong_traces_do_not_conform() {
    let judged = exits("wrong");
    assert_eq!(judged.len(), 11);
    let wrong: Vec<_> =
        judged.iter().filter(|(_, exit)| !matches!(exit, Exit::Violates | Exit::Inconclusive)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}
