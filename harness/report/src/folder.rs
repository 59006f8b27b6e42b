//! The folder of a report.
//!
//! | file | content | written by |
//! | --- | --- | --- |
//! | `report.yaml` | the report | [`Folder::write`] |
//! | `results.json` | the same as JSON | [`Folder::write`] |
//! | `junit.xml` | the outcomes for CI systems | [`Folder::write`] |
//! | `index.html` | the report as a page | [`Folder::write`] |
//! | `e2e.log` | the log of the run | the suite |
//! | `traces/` | what was recorded | the suite, which then adds each file with [`Folder::seal`] |

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::digest;
use crate::forms::{FormError, json, yaml};
use crate::types::{ConformanceReport, TraceFile};

/// The report.
pub const REPORT: &str = "report.yaml";
/// The report as JSON.
pub const RESULTS: &str = "results.json";
/// The outcomes as JUnit XML.
pub const JUNIT: &str = "junit.xml";
/// The page.
pub const PAGE: &str = "index.html";
/// The log of the run.
pub const LOG: &str = "e2e.log";
/// The folder of the traces.
pub const TRACES: &str = "traces";
/// The size of the largest trace of a scenario that is read or copied. A file with holes may be larger than the disk.
const LARGEST_TRACE: u64 = 4 << 30;

/// The files that follow from a report, by their names. Nothing is written.
///
/// # Errors
///
/// The report cannot be serialized.
pub fn files(report: &ConformanceReport) -> Result<[(&'static str, String); 4], FormError> {
    Ok([
        (REPORT, yaml(report)?),
        (RESULTS, json(report)?),
        (JUNIT, crate::junit::Report::from(report).render()),
        (PAGE, crate::page::html(report)),
    ])
}

/// A folder with a report.
#[derive(Clone, Debug)]
pub struct Folder {
    root: PathBuf,
}

/// A folder that cannot be written.
#[derive(Debug, Error)]
pub enum WriteError {
    /// A form.
    #[error(transparent)]
    Form(#[from] FormError),
    /// A file.
    #[error("cannot write {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
}

/// The right of one run to write to a folder, until it is dropped or the program ends.
#[derive(Debug)]
pub struct Claim {
    _lock: fs::File,
}

/// A folder to which a run may not write.
#[derive(Debug, Error)]
pub enum ClaimError {
    /// Another run writes to it.
    #[error("another run writes to {}; choose another folder", .0.display())]
    InUse(PathBuf),
    /// It has a report that this run would not replace.
    #[error("{} has {found}; choose another folder, or remove that", folder.display())]
    Other {
        /// The folder.
        folder: PathBuf,
        /// The report that it has.
        found: String,
    },
    /// A file.
    #[error("cannot use {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
}

/// A trace of a report that is not what was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The scenario, with the number of its run if there are several.
    pub scenario: String,
    /// The trace.
    pub file: String,
    /// The problem.
    pub problem: String,
}

impl Folder {
    /// A folder for a new report: it and `traces` are created if they are missing.
    ///
    /// # Errors
    ///
    /// A folder cannot be created.
    pub fn create(root: impl Into<PathBuf>) -> Result<Folder, WriteError> {
        let folder = Folder::at(root);
        let traces = folder.root.join(TRACES);
        fs::create_dir_all(&traces).map_err(|source| WriteError::Io { path: traces, source })?;
        Ok(folder)
    }

    /// Takes the folder for a run. A report on the same controller and profile is removed, with its traces: the run replaces it.
    ///
    /// # Errors
    ///
    /// Another run writes to the folder, or it has another report.
    pub fn claim(&self, profile: &str, managed_by: Option<&str>) -> Result<Claim, ClaimError> {
        let failed = |path: &Path, source| ClaimError::Io { path: path.to_owned(), source };
        let lock = fs::File::open(&self.root).map_err(|source| failed(&self.root, source))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => return Err(ClaimError::InUse(self.root.clone())),
            Err(fs::TryLockError::Error(source)) => return Err(failed(&self.root, source)),
        }
        let other = |found: String| ClaimError::Other { folder: self.root.clone(), found };
        if fs::symlink_metadata(self.root.join(REPORT)).is_ok() {
            let old = crate::read(&self.root)
                .map_err(|error| other(format!("a {REPORT} that is not readable as a report ({error})")))?;
            let (name, manager) = (&old.run.profile.name, &old.run.implementation.managed_by);
            if name != profile || manager.as_deref() != managed_by {
                let of = manager.as_ref().map_or(String::new(), |it| format!(" on {it}"));
                return Err(other(format!("a report of the profile {name}{of}")));
            }
            let traces = old.scenarios.iter().flat_map(|it| &it.traces).map(|it| &*it.file);
            for file in traces.chain([RESULTS, JUNIT, PAGE, LOG, REPORT]) {
                if self.no_file(file).is_none() {
                    let path = self.path(file);
                    fs::remove_file(&path).map_err(|source| failed(&path, source))?;
                }
            }
        }
        Ok(Claim { _lock: lock })
    }

    /// A folder that exists.
    pub fn at(root: impl Into<PathBuf>) -> Folder {
        Folder { root: root.into() }
    }

    /// The path of a file of the folder.
    #[must_use]
    pub fn path(&self, file: &str) -> PathBuf {
        file.split('/').fold(self.root.clone(), |path, part| path.join(part))
    }

    /// Adds a trace that is complete: its name for the report, and its digest.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn seal(&self, file: &str, cluster: &str) -> io::Result<TraceFile> {
        let digest = digest::of_file(&self.path(file))?;
        Ok(TraceFile { file: file.to_owned(), cluster: cluster.to_owned(), digest })
    }

    /// Writes the files that follow from a report. An interrupted program leaves none of them half written.
    ///
    /// # Errors
    ///
    /// A file cannot be written.
    pub fn write(&self, report: &ConformanceReport) -> Result<(), WriteError> {
        for (name, text) in files(report)? {
            let path = self.root.join(name);
            write_whole(&path, &text).map_err(|source| WriteError::Io { path, source })?;
        }
        Ok(())
    }

    /// Compares the traces with their digests. A link is not followed: it may lead out of the folder.
    #[must_use]
    pub fn differences(&self, report: &ConformanceReport) -> Vec<Difference> {
        let traces = report.scenarios.iter().flat_map(|it| it.traces.iter().map(move |trace| (it, trace)));
        let differing = traces.filter_map(|(scenario, trace)| {
            let problem = self.problem(trace)?;
            Some(Difference { scenario: scenario.name(), file: trace.file.clone(), problem })
        });
        differing.collect()
    }

    fn problem(&self, trace: &TraceFile) -> Option<String> {
        if let Some(why) = self.no_file(&trace.file) {
            return Some(why);
        }
        let path = self.path(&trace.file);
        if fs::metadata(&path).is_ok_and(|data| data.len() > LARGEST_TRACE) {
            return Some(format!("it is larger than {} GiB", LARGEST_TRACE >> 30));
        }
        match digest::of_file(&path) {
            Ok(found) if found == trace.digest => None,
            Ok(found) => Some(format!("the report has the digest {}, the file has {found}", trace.digest)),
            Err(why) => Some(format!("it cannot be read: {why}")),
        }
    }

    /// The bytes of a file, at most one more than `most`; none if the file is missing.
    ///
    /// # Errors
    ///
    /// It is a link or no file, or cannot be read.
    pub(crate) fn bytes_of(&self, file: &str, most: u64) -> Result<Option<Vec<u8>>, String> {
        let path = self.path(file);
        if let Err(why) = fs::symlink_metadata(&path)
            && why.kind() == ErrorKind::NotFound
        {
            return Ok(None);
        }
        // A pipe would be waited for.
        self.no_file(file).map_or(Ok(()), Err)?;
        let mut bytes = Vec::new();
        let read = fs::File::open(&path).and_then(|it| it.take(most + 1).read_to_end(&mut bytes));
        read.map(|_| Some(bytes)).map_err(|why| format!("it cannot be read: {why}"))
    }

    /// The names of all files of the folder but these, in order. A link counts as a file, and so does a folder that cannot
    /// be listed.
    pub(crate) fn files_but(&self, known: &BTreeSet<&str>) -> Vec<String> {
        let (mut open, mut found) = (vec![String::new()], Vec::new());
        while let Some(folder) = open.pop() {
            let Ok(entries) = fs::read_dir(self.path(&folder)) else {
                found.push(folder);
                continue;
            };
            for entry in entries.flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                let name = if folder.is_empty() { name } else { format!("{folder}/{name}") };
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => open.push(name),
                    _ if known.contains(&*name) => {}
                    _ => found.push(name),
                }
            }
        }
        found.sort_unstable();
        found
    }

    /// Why a name of a report is no plain file below the folder.
    fn no_file(&self, file: &str) -> Option<String> {
        let mut path = self.root.clone();
        let parts: Vec<&str> = file.split('/').collect();
        for (at, part) in parts.iter().enumerate() {
            path.push(part);
            let is_last = at + 1 == parts.len();
            match fs::symlink_metadata(&path) {
                Err(why) if why.kind() == ErrorKind::NotFound => return Some("it is missing".to_owned()),
                Err(why) => return Some(format!("it cannot be read: {why}")),
                Ok(data) if data.is_symlink() => return Some("it is a link".to_owned()),
                Ok(data) if is_last && !data.is_file() => return Some("it is no file".to_owned()),
                Ok(_) => {}
            }
        }
        None
    }
}

fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    let part = path.with_extension("part");
    // Something that is there already may be a link, or a pipe.
    match fs::remove_file(&part) {
        Err(why) if why.kind() != ErrorKind::NotFound => return Err(why),
        _ => {}
    }
    fs::File::create_new(&part)?.write_all(text.as_bytes())?;
    fs::rename(&part, path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::tests::report;
    use crate::types::{Outcome, Stage};

    fn folder() -> (tempfile::TempDir, Folder, ConformanceReport) {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::create(root.path()).unwrap();
        fs::write(folder.path("traces/a.jsonl"), "one\n").unwrap();
        let mut report = report(&[(Stage::Core, Outcome::Pass)]);
        report.scenarios[0].traces = vec![folder.seal("traces/a.jsonl", "manager").unwrap()];
        (root, folder, report)
    }

    #[test]
    fn a_written_folder_is_read_again_and_has_no_differences() {
        let (root, folder, report) = folder();
        folder.write(&report).unwrap();
        let mut names: Vec<String> = fs::read_dir(root.path())
            .unwrap()
            .map(|it| it.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort_unstable();
        assert_eq!(names, [PAGE, JUNIT, REPORT, RESULTS, TRACES]);
        assert_eq!(crate::read(root.path()).unwrap(), report);
        assert_eq!(crate::read(&root.path().join(RESULTS)).unwrap(), report);
        assert_eq!(folder.differences(&report), []);
    }

    #[test]
    fn a_changed_or_missing_trace_is_named() {
        let (_root, folder, report) = folder();
        fs::write(folder.path("traces/a.jsonl"), "two\n").unwrap();
        let [changed] = &folder.differences(&report)[..] else { panic!("one difference") };
        assert_eq!((&*changed.scenario, &*changed.file), ("mirror/s0", "traces/a.jsonl"));
        assert!(changed.problem.starts_with("the report has the digest sha256:2c8b08da"), "{changed:?}");
        fs::File::create(folder.path("traces/a.jsonl")).unwrap().set_len(LARGEST_TRACE + 1).unwrap();
        assert_eq!(folder.differences(&report)[0].problem, "it is larger than 4 GiB");
        fs::remove_file(folder.path("traces/a.jsonl")).unwrap();
        assert_eq!(folder.differences(&report)[0].problem, "it is missing");
        fs::create_dir(folder.path("traces/a.jsonl")).unwrap();
        assert_eq!(folder.differences(&report)[0].problem, "it is no file");
    }

    #[test]
    fn a_run_replaces_a_report_of_its_own_kind_alone() {
        let (root, folder, mut report) = folder();
        (report.run.profile.name, report.run.implementation.managed_by) =
            ("mirror".to_owned(), Some("example.com/a".to_owned()));
        folder.write(&report).unwrap();
        fs::write(folder.path("traces/other"), "kept").unwrap();
        let refused = |profile: &str, manager: Option<&str>| {
            folder.claim(profile, manager).map(drop).unwrap_err().to_string()
        };
        let name = root.path().display();
        let text = format!(
            "{name} has a report of the profile mirror on example.com/a; choose another folder, or remove that"
        );
        assert_eq!(refused("executor", Some("example.com/a")), text);
        assert_eq!(refused("mirror", None), text);
        assert_eq!(crate::read(root.path()).unwrap(), report);
        let claim = folder.claim("mirror", Some("example.com/a")).unwrap();
        assert_eq!(folder.files_but(&BTreeSet::new()), ["traces/other"]);
        let text = format!("another run writes to {name}; choose another folder");
        assert_eq!(refused("mirror", Some("example.com/a")), text);
        drop(claim);
        fs::write(folder.path(REPORT), "kind: Other").unwrap();
        assert!(refused("mirror", None).contains("is not readable as a report"));
    }

    #[cfg(unix)]
    #[test]
    fn a_planted_link_is_not_written_through() {
        let (root, folder, report) = folder();
        let outside = tempfile::NamedTempFile::new().unwrap();
        for name in ["report.part", "index.part"] {
            std::os::unix::fs::symlink(outside.path(), root.path().join(name)).unwrap();
        }
        folder.write(&report).unwrap();
        assert_eq!(fs::read(outside.path()).unwrap(), b"");
        assert!(root.path().join(PAGE).symlink_metadata().unwrap().is_file());
        assert_eq!(crate::read(root.path()).unwrap(), report);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_not_followed() {
        let (root, folder, mut report) = folder();
        let outside = tempfile::NamedTempFile::new().unwrap();
        std::os::unix::fs::symlink(outside.path(), root.path().join("traces/link")).unwrap();
        report.scenarios[0].traces[0].file = "traces/link".to_owned();
        assert_eq!(folder.differences(&report)[0].problem, "it is a link");
        std::os::unix::fs::symlink(root.path().join(TRACES), root.path().join("more")).unwrap();
        report.scenarios[0].traces[0].file = "more/a.jsonl".to_owned();
        assert_eq!(folder.differences(&report)[0].problem, "it is a link");
    }
}
