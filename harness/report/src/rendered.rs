//! Holds the files beside `report.yaml` against it. A reader opens the page, and CI systems read the cases, so that each of
//! them could hide a failure that the report states.
//!
//! [`files`] makes all of them from the report alone. The same version of jobcheck makes the same bytes again. Another one
//! may have written another form, which proves nothing about the content. Then the page and the cases are undecided, and
//! the JSON is read.
//!
//! Any other file is named as not compared, such as the log of the run, which the suite writes in its own words.

use std::collections::BTreeSet;

use crate::folder::{Folder, JUNIT, PAGE, REPORT, RESULTS, files};
use crate::profile::is_own;
use crate::read::{LARGEST, parse};
use crate::types::ConformanceReport;
use crate::verify::{Objection, State};

/// The files of a folder, held against its report.
pub(crate) struct Rendered {
    /// The objections to files.
    pub objections: Vec<Objection>,
    /// The files that were not compared, by their names in the folder.
    pub not_compared: Vec<String>,
}

/// Compares the files of a folder with its report. A missing file states nothing.
pub(crate) fn rendered(folder: &Folder, report: &ConformanceReport) -> Result<Rendered, String> {
    let traces = report.scenarios.iter().flat_map(|it| &it.traces).map(|it| &*it.file);
    let mut compared: BTreeSet<&str> = traces.chain([REPORT]).collect();
    let mut objections = Vec::new();
    for (name, text) in files(report).map_err(|error| error.to_string())? {
        if ![RESULTS, JUNIT, PAGE].contains(&name) {
            continue;
        }
        let objection = objection(folder, report, name, text.as_bytes());
        if objection.as_ref().is_none_or(|it| it.state != State::Undecided) {
            compared.insert(name);
        }
        objections.extend(objection);
    }
    Ok(Rendered { objections, not_compared: folder.files_but(&compared) })
}

/// The objection to a file that has this text if the present version writes it.
fn objection(folder: &Folder, report: &ConformanceReport, name: &str, text: &[u8]) -> Option<Objection> {
    let no = |why: &str| Some(Objection::new(State::NotConfirmed, format!("{name} {why}")));
    let found = match folder.bytes_of(name, LARGEST.max(text.len() as u64)) {
        Ok(found) => found?,
        Err(why) => return no(&format!("cannot be compared with {REPORT}: {why}")),
    };
    if found == text {
        return None;
    }
    let line = line_of_difference(&found, text);
    if is_own(report) {
        return no(&format!("does not follow from {REPORT}: line {line} differs"));
    }
    if name == RESULTS {
        return match parse(&found) {
            Ok(same) if same == *report => None,
            Ok(_) => no(&format!("is not the report of {REPORT}")),
            Err(why) => no(&format!("is not the report of {REPORT}: {why}")),
        };
    }
    let by = &report.run.jobcheck_version;
    let why = format!("was not compared with {REPORT}: jobcheck {by} may have written it in another form");
    Some(Objection::new(State::Undecided, format!("{name} {why}")))
}

/// The first line that differs, from 1.
fn line_of_difference(one: &[u8], other: &[u8]) -> usize {
    let lines = |bytes| <[u8]>::split(bytes, |byte| *byte == b'\n');
    lines(one).zip(lines(other)).take_while(|(one, other)| one == other).count() + 1
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::result::tests::report;
    use crate::types::{Outcome, Stage};

    struct Sample {
        root: tempfile::TempDir,
        report: ConformanceReport,
    }

    impl Sample {
        /// The folder of a report that this version of jobcheck has written.
        fn by(version: &str) -> Sample {
            let root = tempfile::tempdir().unwrap();
            let mut report = report(&[(Stage::Core, Outcome::Pass), (Stage::Core, Outcome::Fail)]);
            report.run.jobcheck_version = version.to_owned();
            Folder::create(root.path()).unwrap().write(&report).unwrap();
            Sample { root, report }
        }

        fn own() -> Sample {
            Sample::by(env!("CARGO_PKG_VERSION"))
        }

        fn edit(&self, file: &str, change: &dyn Fn(&str) -> String) {
            let path = self.root.path().join(file);
            fs::write(&path, change(&fs::read_to_string(&path).unwrap())).unwrap();
        }

        /// The objections, and the files that were not compared.
        fn found(&self) -> (Vec<(State, String)>, String) {
            let found = rendered(&Folder::at(self.root.path()), &self.report).unwrap();
            let objections = found.objections.into_iter().map(|it| (it.state, it.reason));
            (objections.collect(), found.not_compared.join(" "))
        }
    }

    fn nothing() -> (Vec<(State, String)>, String) {
        (Vec::new(), String::new())
    }

    #[test]
    fn files_as_they_were_written_and_missing_ones_are_right() {
        for sample in [Sample::own(), Sample::by("0.0.9")] {
            assert_eq!(sample.found(), nothing());
            for file in [RESULTS, JUNIT, PAGE] {
                fs::remove_file(sample.root.path().join(file)).unwrap();
                assert_eq!(sample.found(), nothing());
            }
        }
    }

    #[test]
    fn a_changed_file_is_named_with_its_line() {
        for file in [RESULTS, JUNIT, PAGE] {
            let sample = Sample::own();
            sample.edit(file, &|text| text.to_owned() + "\n");
            let ([(State::NotConfirmed, why)], "") = (&sample.found().0[..], &*sample.found().1) else {
                panic!("{:?}", sample.found())
            };
            assert!(why.starts_with(&format!("{file} does not follow from report.yaml: line ")), "{why}");
            sample.edit(file, &|_| String::new());
            assert!(sample.found().0[0].1.ends_with(": line 1 differs"), "{:?}", sample.found());
        }
    }

    /// JSON is read, so that its content counts and its form does not.
    #[test]
    fn another_version_may_have_another_form_and_no_other_content() {
        let sample = Sample::by("0.0.9");
        sample.edit(RESULTS, &|text| text.replace("\n", " ").replacen('{', "{\"newer\": 1, ", 1));
        assert_eq!(sample.found(), nothing());
        sample.edit(RESULTS, &|text| text.replace("\"fail\": 1", "\"fail\": 0"));
        let why = "results.json is not the report of report.yaml: the report contradicts itself: core does not follow \
                   from the outcomes of its scenarios";
        assert_eq!(sample.found(), (vec![(State::NotConfirmed, why.to_owned())], String::new()));

        let sample = Sample::by("0.0.9");
        sample.edit(RESULTS, &|text| text.replace("\"seed\": 0", "\"seed\": 1"));
        let why = "results.json is not the report of report.yaml";
        assert_eq!(sample.found().0, [(State::NotConfirmed, why.to_owned())]);
        // Some readers believe the first member of a name, others the last.
        sample.edit(RESULTS, &|text| text.replace("\"seed\": 1", "\"seed\": 1, \"seed\": 0"));
        assert!(sample.found().0[0].1.contains("duplicate field"), "{:?}", sample.found());

        let sample = Sample::by("0.0.9");
        for file in [JUNIT, PAGE] {
            sample.edit(file, &|text| text.replace("mirror/s1", "mirror/s2"));
        }
        let (objections, not_compared) = sample.found();
        assert_eq!(not_compared, "index.html junit.xml");
        let why =
            "junit.xml was not compared with report.yaml: jobcheck 0.0.9 may have written it in another form";
        assert_eq!(objections[0], (State::Undecided, why.to_owned()));
        assert_eq!((objections.len(), objections[1].0), (2, State::Undecided));
    }

    #[test]
    fn other_files_are_named() {
        let sample = Sample::own();
        let write = |name: &str| fs::write(sample.root.path().join(name), "").unwrap();
        fs::create_dir(sample.root.path().join("traces/b")).unwrap();
        for name in ["e2e.log", "traces/b/manager.jsonl", "INDEX.HTML"] {
            write(name);
        }
        assert_eq!(sample.found(), (Vec::new(), "INDEX.HTML e2e.log traces/b/manager.jsonl".to_owned()));
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_file_is_neither_followed_nor_waited_for() {
        let sample = Sample::own();
        let path = |name: &str| sample.root.path().join(name);
        for name in [RESULTS, JUNIT, PAGE] {
            fs::remove_file(path(name)).unwrap();
        }
        fs::create_dir(path(RESULTS)).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(path(JUNIT)).status().unwrap().success());
        std::os::unix::fs::symlink("nowhere", path(PAGE)).unwrap();
        let why = |file: &str, why: &str| {
            (State::NotConfirmed, format!("{file} cannot be compared with report.yaml: it is {why}"))
        };
        let expected = vec![why(RESULTS, "no file"), why(JUNIT, "no file"), why(PAGE, "a link")];
        assert_eq!(sample.found(), (expected, String::new()));
    }
}
