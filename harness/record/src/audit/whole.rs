//! An audit log that is complete, in each form that `jobcheck replay` reads.

use std::path::Path;

use jobcheck_traces::{Body, DetachedRecord, FileInfo, Input, MarkKind, ReadError, Reader};
use tokio::task::yield_now;
use tokio_util::sync::CancellationToken;

use super::events::Events;
use crate::error::Error;
use crate::sink::Sink;

/// The number of records after which signals are looked at.
const TURN: u64 = 1_000;

/// Records the events of these namespaces, or of all, from the beginning of an audit log to its end. The log may be
/// compressed, a list, or in the envelopes of a log system. If `stop` is cancelled, the rest is a gap. So is each line that cannot
/// be read, whose error is returned.
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
) -> Result<Vec<ReadError>, Error> {
    let inputs = [Input::Path(path.to_owned())];
    refuse_incomplete(path, &inputs)?;
    let mut reader = Reader::open(&inputs);
    let mut recording = Recording { path, events: Events::of(namespaces), trace };
    let (mut count, mut unread) = (0_u64, Vec::new());
    loop {
        match reader.next_detached() {
            Ok(Some(record)) => recording.take(&record)?,
            Ok(None) => {
                recording.trace.flush()?;
                return lacks(&reader).map_or(Ok(unread), Err);
            }
            Err(error) if error.reads_on => {
                recording.trace.gap(error.to_string())?;
                unread.push(error);
            }
            Err(error) => return Err(Error::NoAuditLog(error.to_string())),
        }
        count += 1;
        if count.is_multiple_of(TURN) {
            recording.trace.flush()?;
            yield_now().await;
            if stop.is_cancelled() {
                recording.trace.gap("the audit log was not read to its end".to_owned())?;
                return Ok(unread);
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
    while reader.next_readable().is_some() {}
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

    async fn read(bytes: &[u8]) -> (Names, Result<Vec<ReadError>, Error>) {
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
            assert!(result.unwrap().is_empty());
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
        for (text, found) in
            [("[hello]\nworld\n", "JSON"), ("", "empty"), (watch, "a watch; judge it: jobcheck replay ")]
        {
            let (names, result) = read(text.as_bytes()).await;
            let error = result.unwrap_err().to_string();
            assert!(error.starts_with("cannot read ") && error.contains(found), "{error}");
            assert!(names.0.is_empty(), "{text}");
        }
    }

    /// A killed API server leaves half an event, to which its successor adds.
    #[tokio::test]
    async fn a_line_that_cannot_be_read_is_a_gap() {
        let (a, b) = (event("a"), event("b"));
        let torn = format!("{a}\n{}{a}\n{b}\n", &a[..90]);
        let (names, result) = read(torn.as_bytes()).await;
        let unread: Vec<String> = result.unwrap().iter().map(ToString::to_string).collect();
        assert!(unread.len() == 1 && unread[0].contains(":2: "), "{unread:?}");
        assert_eq!((names.0, names.1), (vec!["a".to_owned(), "b".to_owned()], unread));
    }
}
