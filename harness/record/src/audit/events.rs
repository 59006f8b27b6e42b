//! The audit events of the recorded namespaces, each once.

use std::collections::BTreeSet;

use jobcheck_traces::{Body, Input, Reader, Request};

use crate::error::Error;
use crate::recent::Recent;

/// The number of event ids that are remembered. API servers resend a batch soon.
const REMEMBERED: usize = 100_000;
/// The maximum length of such an id. It is a UUID unless a client has sent its own.
const LONGEST_ID: usize = 64;
/// The annotation of an event whose objects the API server has omitted because of their size.
const TRUNCATED: &str = "\"audit.k8s.io/truncated\":\"true\"";

/// The filter of audit events.
#[derive(Debug)]
pub(super) struct Events {
    namespaces: BTreeSet<String>,
    seen: Recent<String>,
}

impl Events {
    /// Returns a filter for these namespaces, or for all if there are none.
    pub(super) fn of(namespaces: &[String]) -> Events {
        Events { namespaces: namespaces.iter().cloned().collect(), seen: Recent::new(REMEMBERED) }
    }

    /// Returns true if a write belongs to a recorded namespace and was not recorded before.
    pub(super) fn takes(&mut self, request: &Request<'_>) -> bool {
        if !self.namespaces.is_empty() && !self.namespaces.contains(request.namespace) {
            return false;
        }
        let Some(id) = request.id.filter(|id| id.len() <= LONGEST_ID) else { return true };
        let is_new = !self.seen.contains(id);
        self.seen.insert(id.to_owned());
        is_new
    }
}

/// Parses a document of an audit log, and passes on its writes to Jobs and pods. The inner error is the reason why
/// the document is invalid.
///
/// # Errors
///
/// Every error of `each`.
pub(super) fn read(
    document: &str,
    each: &mut dyn FnMut(&Request<'_>) -> Result<(), Error>,
) -> Result<Result<(), String>, Error> {
    let mut reader = Reader::open(&[Input::Bytes("an audit event".to_owned(), document.as_bytes().to_vec())]);
    loop {
        match reader.next() {
            Ok(Some(record)) => match record.body {
                Body::Request(request) => each(&request)?,
                Body::Header(_)
                | Body::Watched(_)
                | Body::Mark(_)
                | Body::Fault(_)
                | Body::Observed(_)
                | Body::Expected(_) => return Ok(Err("it is not an audit event".to_owned())),
            },
            Ok(None) => return Ok(Ok(())),
            Err(error) => return Ok(Err(error.problem.to_string())),
        }
    }
}

/// Returns true if the API server has omitted objects because of their size.
pub(super) fn is_truncated(document: &str) -> bool {
    document.contains(TRUNCATED)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(id: &str, namespace: &str) -> String {
        format!(
            r#"{{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"{id}","stage":"ResponseComplete","verb":"update","user":{{"username":"admin"}},"objectRef":{{"resource":"jobs","apiGroup":"batch","namespace":"{namespace}","name":"a"}},"responseStatus":{{"code":200}},"requestReceivedTimestamp":"2026-01-01T00:00:00Z","stageTimestamp":"2026-01-01T00:00:00Z"}}"#
        )
    }

    #[test]
    fn each_event_of_the_namespaces_is_taken_once() {
        let mut events = Events::of(&["a".to_owned()]);
        let mut takes = |text: &str| {
            let mut taken = 0;
            let read = read(text, &mut |request| {
                taken += usize::from(events.takes(request));
                Ok(())
            });
            assert!(read.unwrap().is_ok(), "{text}");
            taken
        };
        let list = format!(
            r#"{{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":[{},{}]}}"#,
            event("1", "a"),
            event("2", "a")
        );
        assert_eq!([takes(&event("1", "a")), takes(&event("1", "a")), takes(&event("3", "b"))], [1, 0, 0]);
        assert_eq!(takes(&list), 1);
    }

    #[test]
    fn a_document_without_an_audit_event_is_reported() {
        let mut ignore = |_: &Request<'_>| Ok(());
        for wrong in ["", "{", "{\"kind\":\"Pod\"}", r#"{"format":"jobcheck.dev/trace","version":"1.0"}"#] {
            assert!(read(wrong, &mut ignore).unwrap().is_err(), "{wrong}");
        }
    }
}
