//! The readers of traces: all forms, packings, and envelopes.

use std::fmt::Write as _;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use jobcheck_traces::{Body, Input, Reader, Record};

use super::seeds;
use crate::{Signs, Target, sign};

#[path = "../../../src/envelopes.rs"]
#[allow(dead_code, reason = "one file for three crates; this one needs a part of it")]
mod envelopes;

/// Separates the files of one input.
pub(super) const NEXT_FILE: &[u8] = b"\n==> next file <==\n";

/// The most errors after which reading continues. Each input reports one.
const MOST_ERRORS: usize = 1_000;

pub(super) fn target() -> Target {
    Target {
        name: "readers",
        about: "files of a trace; reading again gives the same records, an error names its file, and each ends",
        seeds: all_seeds,
        run,
        share: 6_000,
    }
}

fn all_seeds() -> Vec<Vec<u8>> {
    let mut found = seeds::traces();
    let audit = seeds::files("traces/corpus/recordings", "ttl-zero.audit.jsonl", 1 << 20);
    let watch = seeds::files("traces/corpus/recordings", "ttl-zero.watch.jsonl", 1 << 20);
    let text = String::from_utf8_lossy(&audit[0]).into_owned();
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    found.extend(envelopes::wrappings().iter().map(|it| it.around(&lines).into_bytes()));
    found.push(envelopes::in_parts(&lines, 700).into_bytes());
    found.push([&audit[0][..], &watch[0][..]].join(NEXT_FILE));
    found.push(packed(&audit[0]));
    found
}

fn packed(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    // A vector takes all bytes.
    let _ = encoder.write_all(text);
    encoder.finish().unwrap_or_default()
}

/// The files of an input, without a trace of the separator.
pub(super) fn inputs(bytes: &[u8]) -> Vec<Input> {
    let mut files = Vec::new();
    let mut rest = bytes;
    while let Some(at) = rest.windows(NEXT_FILE.len()).position(|it| it == NEXT_FILE) {
        files.push(rest[..at].to_vec());
        rest = &rest[at + NEXT_FILE.len()..];
    }
    files.push(rest.to_vec());
    files
        .into_iter()
        .take(8)
        .enumerate()
        .map(|(number, bytes)| Input::Bytes(format!("file{number}"), bytes))
        .collect()
}

fn run(bytes: &[u8]) -> Result<Signs, String> {
    let inputs = inputs(bytes);
    let first = read(&inputs, false)?;
    for detached in [false, true] {
        let again = read(&inputs, detached)?;
        if again.0 != first.0 {
            let at = first.0.lines().zip(again.0.lines()).position(|(one, other)| one != other);
            return Err(format!("read again (detached: {detached}), record {at:?} differs"));
        }
    }
    Ok(first.1)
}

/// The records and errors as text, and what they show.
fn read(inputs: &[Input], detached: bool) -> Result<(String, Signs), String> {
    let mut reader = Reader::open(inputs);
    let (mut text, mut signs, mut errors) = (String::new(), Signs::new(), 0);
    loop {
        let read = if detached {
            reader.next_detached().map(|record| record.map(|record| shown(&record.record(), &mut signs)))
        } else {
            reader.next().map(|record| record.map(|record| shown(&record, &mut signs)))
        };
        match read {
            Ok(None) => break,
            Ok(Some(record)) => text.push_str(&record),
            Err(error) => {
                if !error.file.starts_with("file") || error.to_string().contains('\n') {
                    return Err(format!("an error without a file, or of several lines: {error}"));
                }
                signs.insert(sign(&error.problem.to_string()));
                let _ = writeln!(text, "{error}");
                errors += 1;
                if errors > MOST_ERRORS {
                    return Err("an input reports one error after the other".to_owned());
                }
            }
        }
    }
    for file in reader.files() {
        signs.insert(format!("{:?}", file.form));
    }
    Ok((text, signs))
}

fn shown(record: &Record<'_>, signs: &mut Signs) -> String {
    let kind = match &record.body {
        Body::Header(_) => "header".to_owned(),
        Body::Mark(mark) => {
            format!("mark {}", format!("{:?}", mark.kind).split([' ', '{', '(']).next().unwrap_or(""))
        }
        Body::Fault(_) => "fault".to_owned(),
        Body::Observed(_) => "observed".to_owned(),
        Body::Expected(_) => "expected".to_owned(),
        Body::Watched(it) => format!("watched {:?} {:?}", it.kind, it.resource),
        Body::Request(it) => {
            format!("request {:?} {:?} {:?} {}", it.verb, it.resource, it.subresource, it.response.is_some())
        }
    };
    signs.insert(kind);
    format!("{record:?}\n")
}
