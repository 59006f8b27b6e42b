//! The report of the service: findings and verdicts.

use std::path::PathBuf;

use jobcheck_judge::report::{API_VERSION, Finding};
use jobcheck_judge::validate::Outcome;
use serde::Serialize;

/// A line of the report. `docs/reference/schemas/watch.schema.json` describes its JSON.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "camelCase")]
pub enum News {
    /// A violation, as soon as it is found. Each is reported once.
    #[serde(rename_all = "camelCase")]
    Finding {
        /// `NAMESPACE/NAME`.
        job: String,
        /// UID.
        uid: String,
        /// The violation.
        finding: Box<Finding>,
    },
    /// The last verdict on a Job, which is then forgotten.
    #[serde(rename_all = "camelCase")]
    Verdict {
        /// `NAMESPACE/NAME`.
        job: String,
        /// UID.
        uid: String,
        /// The verdict.
        verdict: Outcome,
        /// Number of writes on which a guard was evaluated.
        judged_writes: u64,
        /// Reasons why it is inconclusive.
        doubts: Vec<String>,
        /// The file with its records, if it violates: `jobcheck replay FILE` explains it.
        trace: Option<PathBuf>,
    },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    api_version: &'static str,
    kind: &'static str,
    #[serde(flatten)]
    news: &'a News,
}

impl News {
    /// The line, without the end of the line.
    #[must_use]
    pub fn line(&self) -> String {
        let line = Line { api_version: API_VERSION, kind: "WatchReport", news: self };
        serde_json::to_string(&line).expect("the report has text keys")
    }
}
