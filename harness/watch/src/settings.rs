//! The settings of the service, and its limits.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use jobcheck_judge::replay::Judging;

use crate::shares::Share;

/// The settings of the service.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The folder with its files.
    pub folder: PathBuf,
    /// Seconds for which a Job must be finished or gone before it is judged for the last time.
    pub settle: i64,
    /// Seconds between two judgements of a Job that lives and changes.
    pub every: i64,
    /// The limits.
    pub limits: Limits,
    /// The options of the judge. The service itself sets `stop`.
    pub judging: Judging,
}

/// Limits. A Job that exceeds one is dropped, as inconclusive.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The most Jobs whose records are kept. Then the namespace with the most Jobs loses the one with the oldest record.
    pub jobs: usize,
    /// The most bytes of records of one Job.
    pub job_bytes: u64,
    /// The most bytes of all files in the folder. Half of them are for records of living Jobs: the namespace with the most
    /// bytes loses its largest Job. An eighth is for pods without a controller, and the rest for evidence.
    pub folder_bytes: u64,
    /// The most files of Jobs that violate.
    pub evidence: usize,
    /// The most time that one judgement of a Job takes.
    pub time: Duration,
    /// The most bytes of memory that the process uses while it judges a Job.
    pub memory: Option<u64>,
    /// The bytes of memory that the process uses now; `None` if this is not known.
    pub used_memory: fn() -> Option<u64>,
    /// Ends a judgement without a result once it is true: the process ends.
    pub ends: Arc<AtomicBool>,
}

impl Settings {
    /// The default settings, with this folder.
    #[must_use]
    pub fn at(folder: &Path) -> Settings {
        Settings {
            folder: folder.to_owned(),
            settle: 60,
            every: 60,
            limits: Limits::default(),
            judging: Judging::default(),
        }
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            jobs: 50_000,
            job_bytes: 256 << 20,
            folder_bytes: 8_000_000_000,
            evidence: 1_000,
            time: Duration::from_secs(60),
            memory: None,
            used_memory: || None,
            ends: Arc::default(),
        }
    }
}

/// The most pods without a controller whose records are kept.
const MOST_PODS: usize = 10_000;

impl Limits {
    /// The share of living Jobs.
    pub(crate) fn of_jobs(&self) -> Share {
        Share { count: self.jobs.max(1), bytes: self.folder_bytes / 2 }
    }

    /// The share of pods without a controller.
    pub(crate) fn of_pods(&self) -> Share {
        Share { count: MOST_PODS, bytes: self.folder_bytes / 8 }
    }

    /// The share of evidence.
    pub(crate) fn of_evidence(&self) -> Share {
        Share { count: self.evidence, bytes: self.folder_bytes / 8 * 3 }
    }
}
