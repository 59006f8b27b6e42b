//! The trace of one cluster: a part of its audit log, or what the watches show.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use jobcheck_record::AuditTail;
use jobcheck_record::watch::WatchUpdate;
use jobcheck_traces::{
    Body, FORMAT, Fault, Header, Input, Mark, MarkKind, Reader, Resource, VERSION, Writer,
};
use serde_json::{Value, json};

use crate::cluster::{Cluster, Played, pods};
use crate::error::Error;
use crate::faults::Injected;

/// The time in which the mark of the end must appear in the audit log.
const PATIENCE: Duration = Duration::from_secs(20);
/// The interval at which the audit log is read.
const LOOK: Duration = Duration::from_millis(50);

/// The program that writes the traces.
const PRODUCER: &str = concat!("jobcheck ", env!("CARGO_PKG_VERSION"), ", conform");

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
            "producer": PRODUCER,
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

    /// Adds the faults to the lines, for readers.
    fn note(&self, faults: &[Injected]) {
        let lines = faults.iter().map(|it| json!({ "fault": it.fault }));
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).extend(lines);
    }

    /// Ends the recording, and writes it to a file.
    pub(crate) async fn write(&self, cluster: &Cluster, namespace: &str, file: &Path) -> Result<(), Error> {
        let faults = cluster.faults.as_ref().map(|faults| faults.end(namespace)).unwrap_or_default();
        let bytes = match &self.audit {
            Some(audit) => {
                cluster.send(Played::Suite, "DELETE", &pods(namespace, AuditTail::END), &Value::Null).await?;
                let (lines, is_whole) = until_the_end(audit, namespace).await?;
                if is_whole && faults.is_empty() {
                    lines
                } else {
                    converted(lines, &cluster.kubernetes, faults, is_whole)
                }
            }
            None => {
                self.note(&faults);
                let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone();
                lines.push(json!({"mark": {"at": time(), "kind": "end"}}));
                lines.iter().map(|line| format!("{line}\n")).collect()
            }
        };
        jobcheck_traces::files::write(file, bytes.as_bytes()).map_err(Error::file(file))
    }
}

/// The lines of an audit log about a namespace, up to the end of the run, and whether they reach it.
async fn until_the_end(audit: &AuditTail, namespace: &str) -> Result<(String, bool), Error> {
    let end = tokio::time::Instant::now() + PATIENCE;
    loop {
        let lines = audit.lines_of(namespace).map_err(Error::file(audit.file()))?;
        let last = lines.iter().position(|line| line.contains(AuditTail::END));
        match last {
            // The request that marks the end is a record, too, so that no trace is empty.
            Some(last) => return Ok((lines[..=last].concat(), true)),
            None if tokio::time::Instant::now() >= end => return Ok((lines.concat(), false)),
            None => tokio::time::sleep(LOOK).await,
        }
    }
}

/// The events of an audit log as a native trace, with these faults, and with a gap unless it reaches the end. Events that
/// cannot be read stay as they are, and the judge reports them.
fn converted(events: String, kubernetes: &str, mut faults: Vec<Injected>, is_whole: bool) -> String {
    let header = Header {
        kubernetes: Some(kubernetes.to_owned()),
        producer: Some(PRODUCER.to_owned()),
        ..Header::new()
    };
    let mut convert = || -> Option<String> {
        let mut writer = Writer::new(Vec::new(), &header).ok()?;
        let mut reader = Reader::open(&[Input::Bytes("audit log".to_owned(), events.clone().into_bytes())]);
        while let Some(record) = reader.next().ok()? {
            for fault in before(&record.body, &mut faults) {
                writer.write(&Body::Fault(&fault)).ok()?;
            }
            writer.write(&record.body).ok()?;
        }
        // A request that is not in the log has not arrived, so that its response is not lost.
        let rest = faults.iter().filter(|it| it.request.is_none());
        rest.map(|it| &it.fault).try_for_each(|fault| writer.write(&Body::Fault(fault)).ok())?;
        if !is_whole {
            let reason = "the audit log does not show the end of the run".to_owned();
            let kind = MarkKind::Gap { resource: None, reason, gone: Vec::new() };
            writer.write(&Body::Mark(&Mark { at: None, kind })).ok()?;
        }
        String::from_utf8(writer.finish().ok()?).ok()
    };
    convert().unwrap_or(events)
}

/// Takes the faults before a request: the earlier ones, and last that of its own response.
fn before(body: &Body<'_>, faults: &mut Vec<Injected>) -> Vec<Fault> {
    let Body::Request(request) = body else { return Vec::new() };
    let precedes = |it: &mut Injected| match &it.request {
        Some(id) => request.id == Some(id),
        None => it.fault.at <= Some(request.interval.received),
    };
    let mut taken: Vec<Injected> = faults.extract_if(.., precedes).collect();
    taken.sort_by_key(|it| it.request.is_some());
    taken.into_iter().map(|it| it.fault).collect()
}

fn time() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

#[cfg(test)]
mod tests {
    use jobcheck_judge::replay::{Judging, judge};
    use jobcheck_judge::validate::Outcome;
    use jobcheck_traces::FaultKind;

    use super::*;

    #[test]
    fn a_log_without_the_end_of_the_run_decides_nothing() {
        let file = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../traces/corpus/recordings/managed-by-other.audit.jsonl"
        );
        let events = std::fs::read_to_string(file).unwrap();
        let verdict = |text: String| {
            let input = Input::Bytes("a".to_owned(), text.into_bytes());
            judge(&[vec![input]], &Judging::default(), &mut |_, _| {}).verdict
        };
        assert_eq!(verdict(events.clone()), Outcome::Conforms);
        let cut = converted(events.clone(), "1.36", Vec::new(), false);
        assert!(cut.starts_with("{\"format\""), "{cut}");
        assert_eq!(cut.lines().count(), events.lines().count() + 2);
        assert_eq!(verdict(cut), Outcome::Inconclusive);
    }

    #[test]
    fn a_lost_response_precedes_its_request() {
        let events = [1, 2, 3].map(|number| {
            json!({
                "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Metadata", "stage": "ResponseComplete",
                "auditID": format!("id-{number}"), "verb": "patch", "user": {"username": "u"}, "userAgent": "m/1",
                "objectRef": {"resource": "jobs", "namespace": "n", "name": "a", "apiGroup": "batch",
                    "apiVersion": "v1", "subresource": "status"},
                "responseStatus": {"code": 200},
                "requestReceivedTimestamp": format!("2026-01-01T00:00:0{number}.000000Z"),
                "stageTimestamp": format!("2026-01-01T00:00:0{number}.100000Z"),
            })
            .to_string()
        });
        let fault = |request: Option<&str>, at: &str, kind| Injected {
            request: request.map(str::to_owned),
            fault: Fault {
                at: jobcheck_traces::parse_micros(at),
                kind,
                actor: None,
                resource: None,
                detail: None,
            },
        };
        let faults = vec![
            fault(Some("id-2"), "2026-01-01T00:00:00Z", FaultKind::LostResponse),
            fault(None, "2026-01-01T00:00:01.5Z", FaultKind::Dropped),
            fault(Some("never"), "2026-01-01T00:00:02.5Z", FaultKind::LostResponse),
            fault(None, "2026-01-01T00:00:09Z", FaultKind::StaleRead),
        ];
        let text = converted(events.map(|it| it + "\n").concat(), "1.36", faults, true);
        let kinds = ["lostResponse", "dropped", "staleRead", "requestReceived"];
        let of = |line: &str| kinds.iter().find(|kind| line.contains(*kind)).map_or("request", |it| *it);
        let found: Vec<&str> = text.lines().skip(1).map(of).collect();
        assert_eq!(found, ["request", "dropped", "lostResponse", "request", "request", "staleRead"]);
    }
}
