//! Reads and writes recorded Kubernetes traces.
//!
//! A trace is what happened to Jobs and Pods, as one of three forms:
//!
//! | form | source |
//! | --- | --- |
//! | audit log | `kube-apiserver --audit-log-path`, `audit.k8s.io/v1` |
//! | watch stream | `kubectl get -w --output-watch-events -o json` |
//! | native trace | this project: `docs/reference/trace-format.md` |
//!
//! [`Reader`] recognises the form of each input, merges the inputs, and lends one [`Record`] at a time. Its
//! memory is bounded by the longest line or element of each input; an audit log with its newest events first is
//! sorted in 256 MiB. An [`Object`] stays the recorded text until somebody reads it, so that fields of a newer
//! Kubernetes survive.
//!
//! ```
//! use jobcheck_traces::{Body, Input, Reader};
//!
//! let line = r#"{"type":"ADDED","object":{"apiVersion":"batch/v1","kind":"Job",
//!     "metadata":{"name":"sum","namespace":"ns","uid":"u1","resourceVersion":"7"}}}"#;
//! let mut reader = Reader::open(&[Input::Bytes("example".to_owned(), line.as_bytes().to_vec())]);
//! while let Some(record) = reader.next()? {
//!     let Body::Watched(watched) = record.body else { continue };
//!     assert_eq!((watched.name, watched.version), ("sum", 7));
//! }
//! # Ok::<(), jobcheck_traces::ReadError>(())
//! ```
//!
//! [`Writer`] writes native traces:
//!
//! ```
//! use jobcheck_traces::{Body, Header, Mark, MarkKind, Writer};
//!
//! let mut writer = Writer::new(Vec::new(), &Header { kubernetes: Some("1.36".to_owned()), ..Header::new() })?;
//! writer.write(&Body::Mark(&Mark { at: Some(1_500_000), kind: MarkKind::Leader { actor: "job-controller".to_owned() } }))?;
//! let trace = String::from_utf8(writer.finish()?)?;
//! assert!(trace.contains(r#"{"mark":{"at":"1970-01-01T00:00:01.500000Z","kind":"leader","actor":"job-controller"}}"#));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | content |
//! | --- | --- |
//! | `input`, `unpack` | opens inputs and unpacks them |
//! | `documents`, `scan` | cuts inputs into JSON documents, and lists into their elements |
//! | `pages`, `exports` | finds what an export states about missing rows |
//! | `envelope`, `prefix`, `cloud_logging`, `columns`, `unwrap` | takes events out of what log systems put around them |
//! | `form`, `audit`, `watch`, `lines`, `cursor` | recognise and read the three forms |
//! | `record`, `request`, `native`, `object`, `detached` | the types of a record |
//! | `source`, `order`, `reader` | one input; its direction; all inputs, merged |
//! | `time`, [`parse_duration`] | times and durations as text |
//! | `redact` | takes secrets out of recorded objects |
//! | [`files`] | files that only their owner can read |

mod audit;
mod cloud_logging;
mod columns;
mod cursor;
mod detached;
mod documents;
mod duration;
mod envelope;
mod error;
mod exports;
pub mod files;
mod form;
mod input;
mod lines;
mod native;
mod object;
mod order;
mod originals;
mod owned;
mod pages;
mod parsed;
mod prefix;
mod reader;
mod record;
mod redact;
mod request;
mod scan;
mod source;
mod text;
mod time;
mod unpack;
mod unwrap;
mod watch;
mod writer;

pub use detached::DetachedRecord;
pub use duration::{DurationError, format_duration, parse_duration};
pub use error::{Problem, ReadError};
pub use input::Input;
pub use native::{
    Expected, ExpectedVerdict, FORMAT, Fault, FaultKind, Header, Mark, MarkKind, Observed, VERSION, Version,
};
pub use object::{Answer, Object};
pub use originals::Originals;
pub use parsed::Skipped;
pub use reader::{MOST_FILES, Reader};
pub use record::{Body, Form, Place, Record, Resource, WatchKind, Watched};
pub use redact::Redactor;
pub use request::{Actor, Interval, Level, Request, Subresource, Verb};
pub use source::{FileInfo, MOST_UNREADABLE};
pub use time::{format_micros, parse_micros};
pub use writer::Writer;
