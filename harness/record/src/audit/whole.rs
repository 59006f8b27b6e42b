//! An audit log that is complete, in each form that `jobcheck replay` reads.

use std::path::Path;

use jobcheck_traces::{Body, DetachedRecord, FileInfo, Input, MarkKind, Reader};
use tokio::task::yield_now;
use tokio_util::sync::CancellationToken;

use super::events::Events;
use crate::error::Error;
use crate::sink::Sink;

/// The number of records after which signals are looked at.
const TURN: u64 = 1_000;

/// Records the events of these namespaces, or of all, from the beginning of an audit log to its end. The log may be
/// compressed, a list, or in the envelopes of a log system. If `stop` is cancelled, the rest is a gap.
///
/// # Errors
///
/// The log cannot be read to its end, or has other things than audit events, or the records cannot be kept. Everything
/// that was read before was recorded.
pub async fn whole_audit_log(
    path: &Path,
    namespaces: &[String],
    trace: &mut impl Sink,
    stop: &CancellationToken,
) -> Result<(), Error> {
    let inputs = [Input::Path(path.to_owned())];
    refuse_incomplete(path, &inputs)?;
    let mut reader = Reader::open(&inputs);
    let mut recording = Recording { path, events: Events::of(namespaces), trace };
    let mut count = 0_u64;
    loop {
        let record = reader.next_detached();
        let record = record.map_err(|error| Error::NoAuditLog(error.to_string()))?;
        let Some(record) = record else {
            recording.trace.flush()?;
            return lacks(&reader).map_or(Ok(()), Err);
        };
        recording.take(&record)?;
        count += 1;
        if count.is_multiple_of(TURN) {
            recording.trace.flush()?;
            yield_now().await;
            if stop.is_cancelled() {
                return recording.trace.gap("the audit log was not read to its end".to_owned());
            }
        }
    }
}

/// Reads a file once before it is judged. A Job that has ended gets its verdict at once, so that rows which are missing
/// must be known before. A pipe can be read once only.
fn refuse_incomplete(path: &Path, inputs: &[Input]) -> Result<(), Error> {
    if !path.is_file() {
        return Ok(());
    }
    let mut reader = Reader::open(inputs);
    // Whatever cannot be read is an error of the second reading.
    while let Ok(Some(_)) = reader.next_detached() {}
    lacks(&reader).map_or(Ok(()), Err)
}

/// The error for an export that states that rows are missing.
fn lacks(reader: &Reader) -> Option<Error> {
    let why = reader.files().find_map(FileInfo::incomplete)?;
    Some(Error::NoAuditLog(format!("{why}; export all rows")))
}

struct Recording<'a, S> {
    path: &'a Path,
    events: Events,
    trace: &'a mut S,
}

impl<S: Sink> Recording<'_, S> {
    fn take(&mut self, record: &DetachedRecord) -> Result<(), Error> {
        let place = record.record().place;
        let other = |found: &str| {
            let (file, line) = (self.path.display(), place.line);
            let why = format!("expected audit events, found {found}; judge it: jobcheck replay {file}");
            Err(Error::NoAuditLog(format!("{file}:{line}: {why}")))
        };
        match record.record().body {
            Body::Request(request) => {
                if !self.events.takes(&request) {
                    return Ok(());
                }
                self.trace.write(&Body::Request(request))
            }
            Body::Mark(mark) => match &mark.kind {
                MarkKind::Gap { reason, .. } => self.trace.gap(reason.clone()),
                _ => Ok(()),
            },
            Body::Watched(_) => other("the changes of a watch"),
            Body::Header(_) | Body::Fault(_) | Body::Observed(_) | Body::Expected(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// The names of the written objects.
    #[derive(Default)]
    struct Names(Vec<String>, Vec<String>);

    impl Sink for Names {
        fn write(&mut self, body: &Body<'_>) -> Result<(), Error> {
            let Body::Request(request) = body else { return Ok(()) };
            self.0.push(request.name.to_owned());
            Ok(())
        }

        fn gap(&mut self, reason: String) -> Result<(), Error> {
            self.1.push(reason);
            Ok(())
        }
    }

    fn event(name: &str) -> String {
        format!(
            r#"{{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"{name}","stage":"ResponseComplete","verb":"update","user":{{"username":"admin"}},"objectRef":{{"resource":"jobs","apiGroup":"batch","namespace":"ns","name":"{name}"}},"responseStatus":{{"code":200}},"requestReceivedTimestamp":"2026-01-01T00:00:00Z","stageTimestamp":"2026-01-01T00:00:00Z"}}"#
        )
    }

    async fn read(bytes: &[u8]) -> (Names, Result<(), Error>) {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        let mut names = Names::default();
        let result = whole_audit_log(file.path(), &[], &mut names, &CancellationToken::new()).await;
        (names, result)
    }

    #[tokio::test]
    async fn a_log_is_read_as_lines_as_an_array_and_in_envelopes() {
        let lines = format!("{}\n{}\n", event("a"), event("b"));
        let array = format!("[{},\n{}]\n", event("a"), event("b"));
        let docker =
            |name: &str| serde_json::json!({"log": event(name) + "\n", "stream": "stdout"}).to_string();
        let docker = format!("{}\n{}\n", docker("a"), docker("b"));
        for text in [lines, array, docker] {
            let (names, result) = read(text.as_bytes()).await;
            result.unwrap();
            assert_eq!((names.0, names.1.len()), (vec!["a".to_owned(), "b".to_owned()], 0), "{text}");
        }
    }

    /// Its first rows would otherwise get verdicts.
    #[tokio::test]
    async fn an_export_that_states_missing_rows_is_refused() {
        let row = serde_json::json!({"message": event("a")});
        let page = serde_json::json!({"events": [row], "nextToken": "more"}).to_string();
        let (names, result) = read(page.as_bytes()).await;
        let error = result.unwrap_err().to_string();
        assert!(error.contains("is incomplete") && error.contains("nextToken"), "{error}");
        assert_eq!(names.0, [""; 0]);
    }

    #[tokio::test]
    async fn what_is_no_audit_log_is_an_error_that_names_it() {
        let watch = r#"{"type":"ADDED","object":{"kind":"Job","apiVersion":"batch/v1","metadata":{"name":"j","namespace":"ns","uid":"u","resourceVersion":"1"}}}"#;
        let half = format!("{}\nhello\n", event("a"));
        for (text, found, written) in [
            ("hello\nworld\n", "JSON", 0),
            ("", "empty", 0),
            (watch, "a watch; judge it: jobcheck replay ", 0),
            (&half, "JSON", 1),
        ] {
            let (names, result) = read(text.as_bytes()).await;
            let error = result.unwrap_err().to_string();
            assert!(error.starts_with("cannot read ") && error.contains(found), "{error}");
            assert_eq!(names.0.len(), written, "{text}");
        }
    }
}
