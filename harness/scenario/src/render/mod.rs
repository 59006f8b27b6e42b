//! The inverse of [`project`](jobcheck_projection): from a way through a scope of the model to a native trace, so that
//! a counterexample is judged by `jobcheck replay` as any recording is.
//!
//! Guarantees: what is rendered projects back onto the model's object, but for names (those of pods are made as the
//! API server makes them), digests of the template, which the model has none of, and the epoch of its clock.
//!
//! # Caveats
//!
//! The server's answers are those of the model. A request that fails is answered with 429, the one failure that
//! is never committed; a request of a dead process is received before the restart and answered after it.

mod asked;
mod job;
mod names;
mod pod;
mod scribe;
mod walk;

use std::io;

use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::step::Step;
use jobcheck_spec::Time;
use jobcheck_spec::job::{Job, JobSpec};
use jobcheck_traces::Expected;
use serde_json::{Map, Value, json};

/// When the model's clock shows 0: 2026-11-21T00:00:00Z.
pub const EPOCH: i64 = 1_795_219_200;

/// The native trace of a way through a scope, with the verdict that its author expects.
///
/// # Errors
///
/// Never in practice: nothing but memory is written to.
pub fn native(scope: &Scope, path: &[Step], expected: Option<&Expected>) -> io::Result<Vec<u8>> {
    walk::walk(scope, path, expected)
}

/// What a user sends to create a Job with this specification.
#[must_use]
pub fn job_request(job: &Job, sent: &JobSpec) -> Value {
    job::request(job, sent)
}

/// A time of the model as the API writes it.
fn stamp(time: Time) -> String {
    time.plus(EPOCH).to_string()
}

/// Members of an object, without those that the API omits.
fn members(fields: impl IntoIterator<Item = (&'static str, Option<Value>)>) -> Value {
    let present = fields.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    Value::Object(present.collect::<Map<_, _>>())
}

/// A value that the API writes, unless it is empty.
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

/// Something that may be absent.
fn given(value: Option<impl Into<Value>>) -> Option<Value> {
    value.map(Into::into)
}

/// A map of texts.
fn pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Value {
    Value::Object(pairs.into_iter().map(|(key, value)| (key.to_owned(), json!(value))).collect())
}
