//! The records of a test server.

use std::sync::{Arc, Mutex, PoisonError};

use jobcheck_traces::{Body, Fault, FaultKind, Header, Input, Reader, Writer};
use serde_json::Value;

/// The mark before a request whose response is lost.
const LOST_RESPONSE: Fault =
    Fault { at: None, kind: FaultKind::LostResponse, actor: None, resource: None, detail: None };

/// A record.
#[derive(Clone, Debug)]
pub(crate) enum Recorded {
    /// An event of the audit log.
    Request(Value),
    /// The response of the next request is lost.
    LostResponse,
}

/// The records of a test, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recording(Arc<Mutex<Vec<Recorded>>>);

impl Recording {
    pub(crate) fn add(&self, record: Recorded) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(record);
    }

    /// The refused writes of a user: their number, and the last refusal.
    pub(crate) fn refusals(&self, user: &str) -> Option<String> {
        let records = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let requests = records.iter().filter_map(|record| match record {
            Recorded::Request(event) => Some(event),
            Recorded::LostResponse => None,
        });
        let code = |event: &Value| event["responseStatus"]["code"].as_u64().unwrap_or_default();
        let refused: Vec<&Value> =
            requests.filter(|event| event["user"]["username"] == user && code(event) >= 400).collect();
        let last = refused.last()?;
        let message = last["responseStatus"]["message"].as_str().unwrap_or_default();
        Some(format!(
            "{} writes of the controller were refused, the last one with {}: {message}",
            refused.len(),
            code(last)
        ))
    }

    /// The records as a native trace, which says which responses were lost.
    pub(crate) fn trace(&self) -> String {
        let records = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let written = || -> Option<Vec<u8>> {
            let mut writer = Writer::new(Vec::new(), &Header::new()).ok()?;
            for record in records {
                match record {
                    Recorded::Request(event) => copy(event, &mut writer)?,
                    Recorded::LostResponse => writer.write(&Body::Fault(&LOST_RESPONSE)).ok()?,
                }
            }
            writer.finish().ok()
        };
        // The server has made the events itself, and memory takes all that is written.
        String::from_utf8(written().expect("the events are well-formed")).expect("JSON is UTF-8")
    }
}

fn copy(event: Value, writer: &mut Writer<Vec<u8>>) -> Option<()> {
    let mut reader = Reader::open(&[Input::Bytes("event".to_owned(), event.to_string().into_bytes())]);
    while let Some(record) = reader.next().ok()? {
        writer.write(&record.body).ok()?;
    }
    Some(())
}
