//! The audit events of the recorded namespaces, each once.

use std::collections::BTreeSet;
use std::fmt::{self, Write};
use std::hash::{BuildHasher, Hasher, RandomState};

use jobcheck_traces::{Body, Input, Mark, MarkKind, Reader, Request};

use crate::error::Error;
use crate::recent::Recent;

/// The number of events that are remembered. API servers resend a batch soon.
const REMEMBERED: usize = 100_000;

/// The filter of audit events.
#[derive(Debug)]
pub(super) struct Events {
    namespaces: BTreeSet<String>,
    /// The digests of events. An id alone identifies no event, since a client may choose it (`Audit-ID`).
    seen: Recent<u64>,
    digests: RandomState,
}

impl Events {
    /// Returns a filter for these namespaces, or for all if there are none.
    pub(super) fn of(namespaces: &[String]) -> Events {
        Events {
            namespaces: namespaces.iter().cloned().collect(),
            seen: Recent::new(REMEMBERED),
            digests: RandomState::new(),
        }
    }

    /// Returns true if a write belongs to a recorded namespace and was not recorded before.
    pub(super) fn takes(&mut self, request: &Request<'_>) -> bool {
        if !self.namespaces.is_empty() && !self.namespaces.contains(request.namespace) {
            return false;
        }
        if request.id.is_none() {
            return true;
        }
        let digest = self.digest(request);
        let is_new = !self.seen.contains(&digest);
        self.seen.insert(digest);
        is_new
    }

    /// A digest of everything in the event. Its key is random, so that nobody can make two events with one digest.
    fn digest(&self, request: &Request<'_>) -> u64 {
        let mut hashed = Hashed(self.digests.build_hasher());
        // A hasher takes every text.
        let _ = write!(hashed, "{request:?}");
        hashed.0.finish()
    }
}

/// A hasher of text.
struct Hashed<H>(H);

impl<H: Hasher> Write for Hashed<H> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
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
                // The address of the sender shows another leader, too.
                Body::Mark(Mark { kind: MarkKind::Leader { .. }, .. }) => {}
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
    fn other_events_with_the_id_of_one_are_taken() {
        let mut events = Events::of(&[]);
        let mut takes = |text: &str| {
            let mut taken = false;
            read(text, &mut |request| {
                taken = events.takes(request);
                Ok(())
            })
            .unwrap()
            .unwrap();
            taken
        };
        let first = event("1", "a");
        let later = first.replace("00:00:00Z", "00:00:01Z");
        let refused = first.replace("\"code\":200", "\"code\":409");
        assert_eq!(
            [&first, &later, &refused, &first, &later].map(|it| takes(it)),
            [true, true, true, false, false]
        );
    }

    #[test]
    fn a_document_without_an_audit_event_is_reported() {
        let mut ignore = |_: &Request<'_>| Ok(());
        for wrong in ["", "{", "{\"kind\":\"Pod\"}", r#"{"format":"jobcheck.dev/trace","version":"1.0"}"#] {
            assert!(read(wrong, &mut ignore).unwrap().is_err(), "{wrong}");
        }
    }
}
