//! The trace of one cluster: a part of its audit log, or what the watches show.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use jobcheck_record::AuditTail;
use jobcheck_record::watch::WatchUpdate;
use jobcheck_traces::{FORMAT, Resource, VERSION};
use serde_json::{Value, json};

use crate::cluster::{Cluster, Played, pods};
use crate::error::Error;

/// The time in which the mark of the end must appear in the audit log.
const PATIENCE: Duration = Duration::from_secs(20);
/// The interval at which the audit log is read.
const LOOK: Duration = Duration::from_millis(50);

/// A recording in progress.
#[derive(Debug)]
pub(crate) struct Recording {
    /// The audit log, from the beginning of the run on.
    audit: Option<AuditTail>,
    /// Without an audit log: the lines so far.
    lines: Mutex<Vec<Value>>,
}

impl Recording {
    /// Begins the recording of a cluster.
    pub(crate) fn begin(cluster: &Cluster) -> Result<Recording, Error> {
        let header = json!({
            "format": FORMAT, "version": VERSION.to_string(), "kubernetes": cluster.kubernetes,
            "producer": concat!("jobcheck ", env!("CARGO_PKG_VERSION"), ", conform"),
        });
        let start = json!({"mark": {"at": time(), "kind": "start"}});
        let audit = cluster.audit_log.as_ref();
        let audit = audit.map(|log| AuditTail::begin(log).map_err(Error::file(log))).transpose()?;
        Ok(Recording { audit, lines: Mutex::new(vec![header, start]) })
    }

    /// Adds what a watch shows, unless there is an audit log, which has more information.
    pub(crate) fn watched(&self, resource: Resource, update: &WatchUpdate) {
        let line = match update {
            _ if self.audit.is_some() => return,
            WatchUpdate::Event { kind, object } => {
                json!({"watched": {"at": time(), "type": kind.name(), "object": object}})
            }
            WatchUpdate::Relisted { why, .. } => {
                json!({"mark": {"at": time(), "kind": "gap", "resource": resource.name(), "reason": why}})
            }
            WatchUpdate::Open | WatchUpdate::Ended | WatchUpdate::Reached(_) | WatchUpdate::Lost(_) => {
                return;
            }
        };
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }

    /// Ends the recording, and writes it to a file.
    pub(crate) async fn write(&self, cluster: &Cluster, namespace: &str, file: &Path) -> Result<(), Error> {
        let bytes = match &self.audit {
            Some(audit) => {
                cluster.send(Played::Suite, "DELETE", &pods(namespace, AuditTail::END), &Value::Null).await?;
                until_the_end(audit, namespace).await?
            }
            None => {
                let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone();
                lines.push(json!({"mark": {"at": time(), "kind": "end"}}));
                lines.iter().map(|line| format!("{line}\n")).collect()
            }
        };
        std::fs::write(file, bytes).map_err(Error::file(file))
    }
}

/// The lines of an audit log about a namespace, up to the end of the run.
async fn until_the_end(audit: &AuditTail, namespace: &str) -> Result<String, Error> {
    let end = tokio::time::Instant::now() + PATIENCE;
    loop {
        let lines = audit.lines_of(namespace).map_err(Error::file(audit.file()))?;
        let last = lines.iter().position(|line| line.contains(AuditTail::END));
        match last {
            Some(last) => return Ok(lines[..last].concat()),
            None if tokio::time::Instant::now() >= end => return Ok(lines.concat()),
            None => tokio::time::sleep(LOOK).await,
        }
    }
}

fn time() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}
