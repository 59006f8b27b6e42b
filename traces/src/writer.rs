//! Writes native traces.

use std::borrow::Cow;
use std::io::{self, Write};

use serde_json::value::RawValue;

use crate::lines::{Line, RequestLine, WatchedLine};
use crate::native::{FORMAT, Header};
use crate::object::Object;
use crate::record::{Body, Watched};
use crate::request::Request;
use crate::text::Text;
use crate::time::format_micros;

/// Writes a native trace, one line per record.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
}

impl<W: Write> Writer<W> {
    /// Begins a trace with this header.
    ///
    /// # Errors
    ///
    /// The header cannot be written.
    pub fn new(out: W, header: &Header) -> io::Result<Writer<W>> {
        let mut writer = Writer { out };
        writer.header(header)?;
        Ok(writer)
    }

    /// Continues a trace that has a header already.
    pub fn continuing(out: W) -> Writer<W> {
        Writer { out }
    }

    /// Appends a record. A header begins another trace.
    ///
    /// # Errors
    ///
    /// The record cannot be written, or has a time outside the years 0 to 9999.
    pub fn write(&mut self, body: &Body<'_>) -> io::Result<()> {
        match body {
            Body::Header(header) => self.header(header),
            Body::Request(request) => self.request(request),
            Body::Watched(watched) => self.watched(watched),
            Body::Mark(mark) => {
                self.line(&Line { mark: Some(Object::from_raw(&raw_of(mark)?)), ..Line::default() })
            }
            Body::Fault(fault) => {
                self.line(&Line { fault: Some(Object::from_raw(&raw_of(fault)?)), ..Line::default() })
            }
            Body::Observed(seen) => {
                self.line(&Line { observed: Some(Object::from_raw(&raw_of(seen)?)), ..Line::default() })
            }
            Body::Expected(hint) => {
                self.line(&Line { expected: Some(Object::from_raw(&raw_of(hint)?)), ..Line::default() })
            }
        }
    }

    /// The output, to change what was written to it.
    pub fn get_mut(&mut self) -> &mut W {
        &mut self.out
    }

    /// The output.
    pub fn get_ref(&self) -> &W {
        &self.out
    }

    /// Flushes the output. It ends with a complete line.
    ///
    /// # Errors
    ///
    /// The output cannot be flushed.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Ends the trace and returns the flushed output.
    ///
    /// # Errors
    ///
    /// The output cannot be flushed.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn header(&mut self, header: &Header) -> io::Result<()> {
        let version = header.version.to_string();
        self.line(&Line {
            format: Some(FORMAT.into()),
            version: Some(version.as_str().into()),
            kubernetes: header.kubernetes.as_deref().map(Text::from),
            assume: header.assume.clone(),
            producer: header.producer.as_deref().map(Text::from),
            ..Line::default()
        })
    }

    fn request(&mut self, request: &Request<'_>) -> io::Result<()> {
        let (received, done) = (time(request.interval.received)?, time(request.interval.done)?);
        let (request_body, response_body) = (one_line(request.request), one_line(request.response));
        let given = |text| Some(text).filter(|text: &&str| !text.is_empty()).map(Text::from);
        self.line(&Line {
            request: Some(RequestLine {
                received: Some(received.as_str().into()),
                done: Some(done.as_str().into()),
                level: Some(request.level.name().into()),
                user: Some(request.actor.user.into()),
                agent: given(request.actor.agent),
                address: given(request.actor.address),
                verb: Some(request.verb.name().into()),
                resource: Some(request.resource),
                subresource: given(request.subresource.name()),
                namespace: Some(request.namespace.into()),
                name: given(request.name),
                uid: request.uid.map(Text::from),
                code: Some(request.code),
                reason: request.reason.map(Text::from),
                message: request.message.map(Text::from),
                dry_run: request.dry_run,
                patch_type: request.patch_type.map(Text::from),
                propagation_policy: request.propagation_policy.map(Text::from),
                request: request_body.as_deref().map(raw).transpose()?,
                response: response_body.as_deref().map(raw).transpose()?,
            }),
            ..Line::default()
        })
    }

    fn watched(&mut self, watched: &Watched<'_>) -> io::Result<()> {
        let object = one_line(Some(watched.object)).unwrap_or_default();
        self.line(&Line {
            watched: Some(WatchedLine {
                at: watched.at,
                kind: watched.kind.name().into(),
                object: raw(&object)?,
            }),
            ..Line::default()
        })
    }

    fn line(&mut self, line: &Line<'_>) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, line)?;
        self.out.write_all(b"\n")
    }
}

/// The text of an object on one line. A JSON string contains no line break, so each line break is layout.
fn one_line(object: Option<Object<'_>>) -> Option<Cow<'_, str>> {
    let text = object?.text();
    let is_broken = text.contains(['\n', '\r']);
    Some(if is_broken { Cow::Owned(text.replace(['\n', '\r'], "")) } else { Cow::Borrowed(text) })
}

fn raw(text: &str) -> io::Result<Object<'_>> {
    Ok(Object::new(text)?)
}

fn raw_of(value: &impl serde::Serialize) -> io::Result<Box<RawValue>> {
    Ok(serde_json::value::to_raw_value(value)?)
}

fn time(micros: i64) -> io::Result<String> {
    let problem = "a time outside the years 0 to 9999";
    format_micros(micros).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, problem))
}
