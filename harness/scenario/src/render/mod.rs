//! Rendering of a path through a scope of the model as a native trace, so that `jobcheck replay` judges a counterexample
//! like a recording. It is the inverse of [`jobcheck_projection`].
//!
//! # Guarantees
//!
//! A rendered object projects back onto the model's object, with three exceptions. The names of pods are generated,
//! the digest of the template is computed, and times start at [`EPOCH`].
//!
//! # Caveats
//!
//! The responses of the server are those of the model. A failed request gets 429, the one failure that is never committed.
//! A delayed request is received before the restart of its sender, and completed after it.

mod clusters;
mod job;
mod names;
mod pod;
mod requests;
mod trace_writer;
mod walk;

use std::io;

use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::step::Step;
use jobcheck_spec::Time;
use jobcheck_spec::job::{Job, JobSpec};
use jobcheck_traces::Expected;
use serde_json::{Map, Value, json};

pub use clusters::{ClusterTraces, native_clusters};

/// The Unix time at which the model's clock shows 0: 2026-11-21T00:00:00Z.
pub const EPOCH: i64 = 1_795_219_200;

/// Returns the native trace of a path through a scope, with the verdict that its author expects.
///
/// # Errors
///
/// Never in practice: the trace is written to memory.
pub fn native(scope: &Scope, path: &[Step], expected: Option<&Expected>) -> io::Result<Vec<u8>> {
    walk::walk(scope, path, expected)
}

/// Returns the body with which a user creates a Job with this specification.
#[must_use]
pub fn job_request(job: &Job, sent: &JobSpec) -> Value {
    job::request(job, sent)
}

/// A time of the model, in the format of the API.
fn stamp(time: Time) -> String {
    time.plus(EPOCH).to_string()
}

/// Returns an object with the present members.
fn members(fields: impl IntoIterator<Item = (&'static str, Option<Value>)>) -> Value {
    let present = fields.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    Value::Object(present.collect::<Map<_, _>>())
}

/// Returns the value, or `None` if it is empty and the API omits it.
fn unless_empty(value: Value) -> Option<Value> {
    let empty = match &value {
        Value::Null => true,
        Value::Number(number) => number.as_i64() == Some(0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) => false,
    };
    (!empty).then_some(value)
}

/// Converts an optional value to JSON.
fn given(value: Option<impl Into<Value>>) -> Option<Value> {
    value.map(Into::into)
}

/// Returns a map of texts.
fn pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Value {
    Value::Object(pairs.into_iter().map(|(key, value)| (key.to_owned(), json!(value))).collect())
}
