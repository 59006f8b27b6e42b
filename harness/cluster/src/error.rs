//! What can go wrong with a cluster.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;

/// Why something could not be done with a cluster.
#[derive(Debug, Error)]
pub enum Error {
    /// A file or a folder cannot be used.
    #[error("cannot {what} {}: {source}", .path.display())]
    File {
        /// What was tried: "write", "make".
        what: &'static str,
        /// The file or the folder.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A program cannot be started.
    #[error("cannot start {program}: {source}")]
    Start {
        /// The program.
        program: String,
        /// Why not.
        source: io::Error,
    },
    /// There is no folder for state.
    #[error("no folder for the state of clusters: set JOBCHECK_HOME, or HOME")]
    NoHome,
    /// There is no `/proc`.
    #[error("clusters need /proc, by which their processes are found, and so Linux")]
    NoProc,
    /// Go is missing.
    #[error(
        "the control plane is built with Go, and there is no `go` on the path: install Go 1.26 or newer, or use \
         --embedded, which needs none"
    )]
    NoGo,
    /// The control plane could not be built.
    #[error("the control plane could not be built{}", .0)]
    Build(Log),
    /// A component ended while it was waited for.
    #[error("{component} ended ({status}) before it was ready{log}")]
    Exited {
        /// The component.
        component: String,
        /// How: `exit status: 1`.
        status: String,
        /// What it said.
        log: Log,
    },
    /// A component was not ready in time.
    #[error("{component} was not ready within {within:?}: {why}{log}")]
    NotReady {
        /// The component.
        component: String,
        /// The time that it had.
        within: Duration,
        /// What it answered last.
        why: String,
        /// What it said.
        log: Log,
    },
    /// Another process is starting, or has, the cluster of this name.
    #[error("cluster {name} is being started by another process{}", pid(.owner))]
    Busy {
        /// The cluster.
        name: String,
        /// The process, if it is known.
        owner: Option<u32>,
    },
    /// A cluster of this name runs, and does not answer.
    #[error("cluster {name} runs, and is not ready: {why}; jobcheck cluster down --name {name} ends it")]
    Silent {
        /// The cluster.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// A cluster of this name runs, and is another one.
    #[error(
        "cluster {name} already runs, with other settings ({found}): stop it first, or choose another --name"
    )]
    Differs {
        /// The cluster.
        name: String,
        /// What it is.
        found: String,
    },
    /// A process does not end.
    #[error("process {0} does not end")]
    Survives(u32),
    /// Something that only a bug of this program makes happen.
    #[error("{0}")]
    Internal(String),
}

fn pid(owner: &Option<u32>) -> String {
    owner.map(|pid| format!(" ({pid})")).unwrap_or_default()
}

impl Error {
    /// An error of a file, for `map_err`.
    pub(crate) fn file(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::File { what, path, source }
    }
}

/// The end of a log, and where all of it is or was.
#[derive(Debug)]
pub struct Log {
    /// The file; it is gone with the cluster's folder, unless it is that of the build.
    pub path: PathBuf,
    /// Its last lines.
    pub tail: Vec<String>,
}

/// Lines of a log that a message shows.
const TAIL: usize = 12;

impl Log {
    /// The end of this file; nothing where it cannot be read.
    #[must_use]
    pub fn end_of(path: &Path) -> Log {
        let text = std::fs::read(path).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let from = lines.len().saturating_sub(TAIL);
        Log { path: path.to_owned(), tail: lines[from..].iter().map(|&line| line.to_owned()).collect() }
    }

    /// Whether it says this.
    #[must_use]
    pub fn says(&self, words: &str) -> bool {
        self.tail.iter().any(|line| line.contains(words))
    }
}

impl std::fmt::Display for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.tail.is_empty() {
            return write!(f, "; {} says nothing", self.path.display());
        }
        write!(f, "; {} ends with:", self.path.display())?;
        self.tail.iter().try_for_each(|line| write!(f, "\n  {line}"))
    }
}

/// An error with its causes, which alone say what is wrong.
#[must_use]
pub fn told(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}
