//! Audit events of the namespaces that are recorded, each once.

use std::collections::{BTreeSet, VecDeque};

use jobcheck_traces::{Body, Input, Reader, Request};

use crate::error::Error;

/// Ids of events that are remembered: whoever sends a batch again does so soon.
const REMEMBERED: usize = 100_000;
/// An annotation: the API server has left the objects out, since the event was too long.
const TRUNCATED: &str = "\"audit.k8s.io/truncated\":\"true\"";

/// Which audit events are recorded.
#[derive(Debug)]
pub(super) struct Events {
    namespaces: BTreeSet<String>,
    seen: BTreeSet<String>,
    order: VecDeque<String>,
}

impl Events {
    /// Those of these namespaces; of all if there are none.
    pub(super) fn of(namespaces: &[String]) -> Events {
        Events {
            namespaces: namespaces.iter().cloned().collect(),
            seen: BTreeSet::new(),
            order: VecDeque::new(),
        }
    }

    /// Whether a write is recorded, and was not before.
    pub(super) fn takes(&mut self, request: &Request<'_>) -> bool {
        if !self.namespaces.is_empty() && !self.namespaces.contains(request.namespace) {
            return false;
        }
        let Some(id) = request.id.map(str::to_owned) else { return true };
        if !self.seen.insert(id.clone()) {
            return false;
        }
        if self.order.len() == REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.seen.remove(&oldest);
        }
        self.order.push_back(id);
        true
    }
}

/// Reads a document of an audit log, and passes on the writes to Jobs and pods that it tells of. The inner result is what is
/// wrong with the document.
///
/// # Errors
///
/// What `each` says.
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
                | Body::Expected(_) => return Ok(Err("it is no audit event".to_owned())),
            },
            Ok(None) => return Ok(Ok(())),
            Err(error) => return Ok(Err(error.problem.to_string())),
        }
    }
}

/// Whether the API server has left out what was too long.
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
    fn what_is_no_audit_event_is_told() {
        let mut ignore = |_: &Request<'_>| Ok(());
        for wrong in ["", "{", "{\"kind\":\"Pod\"}", r#"{"format":"jobcheck.dev/trace","version":"1.0"}"#] {
            assert!(read(wrong, &mut ignore).unwrap().is_err(), "{wrong}");
        }
    }
}
