//! Reads recorded Kubernetes traces: audit logs, watch streams, and jobcheck's own format.
//!
//! [`Reader`] takes any number of inputs of any form and lends one [`Record`] at a time, in memory bounded by
//! the longest line of each input. Objects stay the text that was recorded ([`Object`]). [`Writer`] writes the
//! native format, which `docs/reference/trace-format.md` describes.
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

mod audit;
mod documents;
mod error;
mod form;
mod held;
mod input;
mod lines;
mod native;
mod object;
mod parsed;
mod reader;
mod record;
mod request;
mod source;
mod text;
mod time;
mod watch;
mod writer;

pub use error::{Problem, ReadError};
pub use input::Input;
pub use native::{
    Expected, ExpectedVerdict, FORMAT, Fault, FaultKind, Header, Mark, MarkKind, Observed, VERSION, Version,
};
pub use object::{Answer, Object};
pub use parsed::Skipped;
pub use reader::{MOST_FILES, Reader};
pub use record::{Body, Form, Place, Record, Resource, WatchKind, Watched};
pub use request::{Actor, Interval, Level, Request, Subresource, Verb};
pub use source::FileInfo;
pub use writer::Writer;
