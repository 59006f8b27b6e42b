//! The trace of one cluster: a part of its audit log, or what the watches show.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use jobcheck_record::watch::WatchUpdate;
use jobcheck_traces::{FORMAT, Resource, VERSION};
use serde_json::{Value, json};

use crate::cluster::{Cluster, Played, pods};
use crate::error::Error;

/// The name of a pod that does not exist. The refusal to delete it marks the end of a run in the audit log.
const LAST: &str = "jobcheck-end-of-recording";
/// The time in which this mark must appear in the audit log.
const PATIENCE: Duration = Duration::from_secs(20);
/// The interval at which the audit log is read.
const LOOK: Duration = Duration::from_millis(50);

/// A recording in progress.
#[derive(Debug)]
pub(crate) struct Recording {
    /// The audit log, and the position in it at which the run begins.
    audit: Option<(PathBuf, u64)>,
    /// Without an audit log: the lines so far.
    lines: Mutex<Vec<Value>>,
}

impl Recording {
    /// Begins the recording of a cluster.
    pub(crate) fn begin(cluster: &Cluster) -> Result<Recording, Error> {
        let begun = |file: &PathBuf| {
            let from = std::fs::metadata(file).map_err(Error::file(file))?.len();
            Ok::<_, Error>((file.clone(), from))
        };
        let header = json!({
            "format": FORMAT, "version": VERSION.to_string(), "kubernetes": cluster.kubernetes,
            "producer": concat!("jobcheck ", env!("CARGO_PKG_VERSION"), ", conform"),
        });
        let start = json!({"mark": {"at": time(), "kind": "start"}});
        let audit = cluster.audit_log.as_ref().map(begun).transpose()?;
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
            Some((log, from)) => {
                cluster.send(Played::Suite, "DELETE", &pods(namespace, LAST), &Value::Null).await?;
                until_the_end(log, *from, namespace).await?
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
async fn until_the_end(log: &Path, from: u64, namespace: &str) -> Result<String, Error> {
    let end = tokio::time::Instant::now() + PATIENCE;
    loop {
        let text = tail(log, from)?;
        let lines = lines_of(&text, namespace);
        let last = lines.iter().position(|line| line.contains(LAST));
        match last {
            Some(last) => return Ok(lines[..last].concat()),
            None if tokio::time::Instant::now() >= end => return Ok(lines.concat()),
            None => tokio::time::sleep(LOOK).await,
        }
    }
}

fn tail(log: &Path, from: u64) -> Result<String, Error> {
    let mut file = File::open(log).map_err(Error::file(log))?;
    file.seek(SeekFrom::Start(from)).map_err(Error::file(log))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(Error::file(log))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The complete lines about a namespace.
fn lines_of<'a>(text: &'a str, namespace: &str) -> Vec<&'a str> {
    let mark = format!("\"namespace\":\"{namespace}\"");
    text.split_inclusive('\n').filter(|line| line.ends_with('\n') && line.contains(&mark)).collect()
}

fn time() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_complete_lines_about_the_namespace_are_taken() {
        let line = |namespace: &str| format!("{{\"objectRef\":{{\"namespace\":\"{namespace}\"}}}}");
        let text = format!("{}\n{}\n{}", line("a"), line("b"), line("a"));
        assert_eq!(lines_of(&text, "a"), [format!("{}\n", line("a"))]);
    }
}
