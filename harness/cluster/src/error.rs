//! Errors of starting, reading, and stopping clusters.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;

/// An error of an operation on a cluster.
#[derive(Debug, Error)]
pub enum Error {
    /// A file or a folder cannot be used.
    #[error("cannot {what} {}: {source}", .path.display())]
    File {
        /// The attempted operation, such as "write" or "make".
        what: &'static str,
        /// The file or the folder.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A program cannot be started.
    #[error("cannot start {program}: {source}")]
    Start {
        /// The program.
        program: String,
        /// The reason.
        source: io::Error,
    },
    /// There is no folder for the state of clusters.
    #[error("no folder for the state of clusters: set JOBCHECK_HOME, or HOME")]
    NoHome,
    /// There is no `/proc`.
    #[error("clusters require Linux: their processes are found in /proc")]
    NoProc,
    /// Go is not installed.
    #[error(
        "the control plane is built with Go, and `go` is not on the path: install Go 1.26 or newer, or use \
         --embedded, which needs no Go"
    )]
    NoGo,
    /// The control plane could not be built.
    #[error("the control plane could not be built{}", .0)]
    Build(Log),
    /// A component ended before it was ready.
    #[error("{component} ended ({status}) before it was ready{log}")]
    Exited {
        /// The component.
        component: String,
        /// Its exit status, such as `exit status: 1`.
        status: String,
        /// The end of its log.
        log: Log,
    },
    /// A component was not ready in time.
    #[error("{component} was not ready within {within:?}: {why}{log}")]
    NotReady {
        /// The component.
        component: String,
        /// The limit.
        within: Duration,
        /// The result of the last health check.
        why: String,
        /// The end of its log.
        log: Log,
    },
    /// Another process starts or owns the cluster of this name.
    #[error("cluster {name} is being started by another process{}", pid(.owner))]
    Busy {
        /// The cluster.
        name: String,
        /// The process id, if it is known.
        owner: Option<u32>,
    },
    /// A cluster of this name runs, but does not respond.
    #[error("cluster {name} runs, but is not ready: {why}; jobcheck cluster down --name {name} ends it")]
    Silent {
        /// The cluster.
        name: String,
        /// The reason.
        why: String,
    },
    /// A cluster of this name runs with other settings.
    #[error(
        "cluster {name} already runs, with other settings ({found}): stop it first, or choose another --name"
    )]
    Differs {
        /// The cluster.
        name: String,
        /// The settings of the running cluster.
        found: String,
    },
    /// There is no cluster of this name.
    #[error("there is no cluster {0}: start it with jobcheck cluster up --name {0}")]
    NoCluster(String),
    /// A cluster has no such component.
    #[error("cluster {name} has no component {component}; it has {known}")]
    NoComponent {
        /// The cluster.
        name: String,
        /// The component.
        component: String,
        /// Its components.
        known: String,
    },
    /// A component does not run.
    #[error("{0} does not run")]
    NotRunning(String),
    /// A process does not end.
    #[error("process {0} does not end")]
    Survives(u32),
    /// A defect of this program.
    #[error("{0}")]
    Internal(String),
}

fn pid(owner: &Option<u32>) -> String {
    owner.map(|pid| format!(" ({pid})")).unwrap_or_default()
}

impl Error {
    /// Returns a function for `map_err` that adds the operation and the path.
    pub(crate) fn file(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::File { what, path, source }
    }
}

/// The end of a log, and the path of the whole log.
#[derive(Debug)]
pub struct Log {
    /// The path of the log. The log is removed with the cluster's folder, except the log of a build.
    pub path: PathBuf,
    /// The last lines.
    pub tail: Vec<String>,
}

/// The number of lines of a log that a message shows.
const TAIL: usize = 12;

impl Log {
    /// The end of this file. Empty if it cannot be read.
    #[must_use]
    pub fn end_of(path: &Path) -> Log {
        let text = std::fs::read(path).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let from = lines.len().saturating_sub(TAIL);
        Log { path: path.to_owned(), tail: lines[from..].iter().map(|&line| line.to_owned()).collect() }
    }

    /// Returns true if one of the last lines contains a text.
    #[must_use]
    pub fn says(&self, words: &str) -> bool {
        self.tail.iter().any(|line| line.contains(words))
    }
}

impl std::fmt::Display for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.tail.is_empty() {
            return write!(f, "; {} is empty", self.path.display());
        }
        write!(f, "; {} ends with:", self.path.display())?;
        self.tail.iter().try_for_each(|line| write!(f, "\n  {line}"))
    }
}
