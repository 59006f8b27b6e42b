//! Invalid traces, each made from a recording by a few edits (see `traces/corpus/README.md`).
//!
//! The edits are text, so that a reader sees "this recording, but …", and the trace can be made again.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// A trace that must be rejected for one requirement.
#[derive(Clone, Debug)]
pub struct Case {
    /// The requirement, as in `FT-03`.
    pub requirement: String,
    /// The subject of the edits, as words with dashes.
    pub slug: String,
    /// The recording, without `.jsonl`.
    pub from: String,
    /// The edits in order.
    pub edits: Vec<String>,
    /// The expected label: `true` for a known deviation, `false` for a plain violation, `None` if the case
    /// does not state it.
    pub known: Option<bool>,
}

impl Case {
    /// The name of the trace's file.
    #[must_use]
    pub fn file_name(&self) -> String {
        let form = self.from.rsplit('.').next().unwrap_or_default();
        format!("{}--{}.{form}.jsonl", self.requirement, self.slug)
    }
}

/// The folder of the workspace.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default()
}

/// The folder of the corpus.
#[must_use]
pub fn folder() -> PathBuf {
    root().join("traces/corpus")
}

/// Reads every case of `traces/corpus/edits/`.
///
/// # Errors
///
/// A file cannot be read, or a line is no part of a case.
pub fn cases() -> Result<Vec<Case>, String> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder().join("edits"))
        .map_err(|error| error.to_string())?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .collect();
    files.sort();
    let mut cases = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        parse(&text, &mut cases).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(cases)
}

fn parse(text: &str, cases: &mut Vec<Case>) -> Result<(), String> {
    for (number, line) in text.lines().enumerate() {
        let line = line.trim_end();
        if let Some(title) = line.strip_prefix("## ") {
            let (requirement, slug) = title.split_once(' ').ok_or("a case is `## ID slug`")?;
            let (requirement, slug) = (requirement.to_owned(), slug.trim().to_owned());
            cases.push(Case { requirement, slug, from: String::new(), edits: Vec::new(), known: None });
        } else if line.is_empty() || line.starts_with('#') {
            continue;
        } else {
            let case = cases.last_mut().ok_or_else(|| format!("line {}: no case yet", number + 1))?;
            match (line, line.strip_prefix("from ")) {
                (_, Some(from)) => from.trim().clone_into(&mut case.from),
                ("known" | "plain", None) => case.known = Some(line == "known"),
                (_, None) => case.edits.push(line.to_owned()),
            }
        }
    }
    Ok(())
}

/// Makes the trace of a case.
///
/// # Errors
///
/// The recording is missing, or an edit does not fit it.
pub fn make(case: &Case) -> Result<String, String> {
    let file = format!("{}.jsonl", case.from);
    let [conforming, known] = ["recordings", "known"].map(|of| folder().join(of).join(&file));
    let path = if known.exists() { known } else { conforming };
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let lines: Result<Vec<Value>, _> = text.lines().map(serde_json::from_str).collect();
    // Lines keep their numbers from the recording, whatever was dropped or inserted before.
    let mut trace: Vec<(usize, Value)> = lines
        .map_err(|error| error.to_string())?
        .into_iter()
        .enumerate()
        .map(|(at, line)| (at + 1, line))
        .collect();
    for edit in &case.edits {
        apply(edit, &mut trace).map_err(|error| format!("{}: `{edit}`: {error}", case.file_name()))?;
    }
    let mut out = String::new();
    for (_, line) in trace {
        writeln!(out, "{line}").map_err(|error| error.to_string())?;
    }
    Ok(out)
}

type Trace = Vec<(usize, Value)>;

fn apply(edit: &str, trace: &mut Trace) -> Result<(), String> {
    let (verb, rest) = edit.split_once(' ').ok_or("an edit is a verb and its operands")?;
    let words: Vec<&str> = rest.split(' ').collect();
    match verb {
        "drop" => {
            let (from, to) = range(words[0])?;
            trace.retain(|(number, _)| *number < from || *number > to);
            Ok(())
        }
        "set" | "unset" => set(verb == "unset", rest, trace),
        "copy" | "move" => insert(verb == "move", &words, trace),
        "shift" => shift(&words, trace),
        "version" => version(&words, trace),
        "actor" => actor(&words, rest, trace),
        "refuse" => refuse(&words, rest, trace),
        "uids" => uids(&words, trace),
        other => Err(format!("no edit is called {other}")),
    }
}

/// `N`, `N-M`, or `N-` for all from N on.
fn range(text: &str) -> Result<(usize, usize), String> {
    let number = |text: &str| text.parse::<usize>().map_err(|_| format!("`{text}` is no line number"));
    match text.split_once('-') {
        None => number(text).map(|number| (number, number)),
        Some((from, "")) => Ok((number(from)?, usize::MAX)),
        Some((from, to)) => Ok((number(from)?, number(to)?)),
    }
}

fn in_range<'a>(text: &str, trace: &'a mut Trace) -> Result<Vec<&'a mut Value>, String> {
    let (from, to) = range(text)?;
    let lines: Vec<&mut Value> =
        trace.iter_mut().filter(|(number, _)| (from..=to).contains(number)).map(|(_, line)| line).collect();
    if lines.is_empty() { Err(format!("there is no line {text}")) } else { Ok(lines) }
}

/// `set LINES POINTER JSON [if POINTER JSON]`. Lines without the parent of the pointer are left alone.
fn set(remove: bool, rest: &str, trace: &mut Trace) -> Result<(), String> {
    let (body, condition) = match rest.split_once(" if ") {
        Some((body, condition)) => (body, Some(condition)),
        None => (rest, None),
    };
    let mut words = body.splitn(3, ' ');
    let lines = words.next().unwrap_or_default();
    let pointer = words.next().ok_or("a pointer is missing")?;
    let value = match (remove, words.next()) {
        (true, _) => None,
        (false, Some(json)) => Some(serde_json::from_str(json).map_err(|error| error.to_string())?),
        (false, None) => return Err("a value is missing".to_owned()),
    };
    let mut changed = 0;
    for line in in_range(lines, trace)? {
        if condition.is_none_or(|condition| holds(condition, line)) && put(line, pointer, value.as_ref()) {
            changed += 1;
        }
    }
    if changed == 0 { Err("nothing was changed".to_owned()) } else { Ok(()) }
}

fn holds(condition: &str, line: &Value) -> bool {
    let Some((pointer, json)) = condition.split_once(' ') else { return false };
    serde_json::from_str::<Value>(json).is_ok_and(|wanted| line.pointer(pointer) == Some(&wanted))
}

fn put(line: &mut Value, pointer: &str, value: Option<&Value>) -> bool {
    let Some((parent, key)) = pointer.rsplit_once('/') else { return false };
    let key = key.replace("~1", "/").replace("~0", "~");
    match (line.pointer_mut(parent), value) {
        (Some(Value::Object(map)), Some(value)) => {
            map.insert(key, value.clone());
            true
        }
        (Some(Value::Object(map)), None) => map.remove(&key).is_some(),
        (Some(Value::Array(list)), value) => match (key.parse::<usize>(), value) {
            (Ok(at), None) if at < list.len() => {
                list.remove(at);
                true
            }
            (Ok(at), Some(value)) if at < list.len() => {
                list[at] = value.clone();
                true
            }
            (_, Some(value)) if key == "-" => {
                list.push(value.clone());
                true
            }
            _ => false,
        },
        _ => false,
    }
}

/// `copy N after M [as K]`, `move N after M`. A copy gets number K for later edits.
fn insert(take: bool, words: &[&str], trace: &mut Trace) -> Result<(), String> {
    let number = |at: usize| words.get(at).and_then(|word| word.parse::<usize>().ok());
    let (Some(from), Some("after"), Some(to)) = (number(0), words.get(1).copied(), number(2)) else {
        return Err("expected `N after M`".to_owned());
    };
    let position = |trace: &Trace, wanted: usize| trace.iter().position(|(number, _)| *number == wanted);
    let at = position(trace, from).ok_or("there is no such line")?;
    let line = if take { trace.remove(at).1 } else { trace[at].1.clone() };
    let to = if to == 0 { 0 } else { position(trace, to).ok_or("there is no such line")? + 1 };
    trace.insert(to, (if take { from } else { number(4).unwrap_or(from) }, line));
    Ok(())
}

/// `shift LINES SECONDS`: the audit timestamps.
fn shift(words: &[&str], trace: &mut Trace) -> Result<(), String> {
    let seconds: f64 = words.get(1).and_then(|word| word.parse().ok()).ok_or("seconds are missing")?;
    for line in in_range(words[0], trace)? {
        for field in ["requestReceivedTimestamp", "stageTimestamp"] {
            let Some(text) = line.get(field).and_then(Value::as_str) else { continue };
            let moved = moved(text, seconds)?;
            line[field] = Value::String(moved);
        }
    }
    Ok(())
}

/// Moves a time of the day by some seconds. No recording crosses midnight.
fn moved(text: &str, seconds: f64) -> Result<String, String> {
    let (date, clock) = text.split_once('T').ok_or("no timestamp")?;
    let mut micros: i64 = 0;
    let (whole, fraction) = clock.trim_end_matches('Z').split_once('.').unwrap_or((clock, "0"));
    for part in whole.trim_end_matches('Z').split(':') {
        micros = micros * 60 + part.parse::<i64>().map_err(|error| error.to_string())?;
    }
    let fraction: i64 = format!("{fraction:0<6}").parse().map_err(|_| "no fraction")?;
    #[expect(clippy::cast_possible_truncation, reason = "seconds of an edit are few")]
    let micros = micros * 1_000_000 + fraction + (seconds * 1e6).round() as i64;
    let second = micros.div_euclid(1_000_000);
    let (h, m, s) = (second / 3600, second / 60 % 60, second % 60);
    Ok(format!("{date}T{h:02}:{m:02}:{s:02}.{:06}Z", micros.rem_euclid(1_000_000)))
}

/// `version LINE NUMBER`: the `resourceVersion` of the response, or of the watched object.
fn version(words: &[&str], trace: &mut Trace) -> Result<(), String> {
    let number = words.get(1).ok_or("a version is missing")?;
    for line in in_range(words[0], trace)? {
        for pointer in ["/responseObject/metadata/resourceVersion", "/object/metadata/resourceVersion"] {
            put(line, pointer, Some(&Value::String((*number).to_owned())));
        }
    }
    Ok(())
}

/// `uids LINES POINTER COUNT`: a list of invented UIDs.
fn uids(words: &[&str], trace: &mut Trace) -> Result<(), String> {
    let pointer = words.get(1).ok_or("a pointer is missing")?;
    let count: u32 = words.get(2).and_then(|word| word.parse().ok()).ok_or("a count is missing")?;
    let list: Vec<String> =
        (1..=count).map(|number| format!("00000000-0000-4000-8000-{number:012}")).collect();
    for line in in_range(words[0], trace)? {
        if !put(line, pointer, Some(&serde_json::json!(list))) {
            return Err("nothing was changed".to_owned());
        }
    }
    Ok(())
}

/// `actor LINES USER [AGENT]`.
fn actor(words: &[&str], rest: &str, trace: &mut Trace) -> Result<(), String> {
    let user = words.get(1).ok_or("a user is missing")?;
    let agent = rest.splitn(3, ' ').nth(2);
    for line in in_range(words[0], trace)? {
        line["user"]["username"] = Value::String((*user).to_owned());
        if let Some(agent) = agent {
            line["userAgent"] = Value::String(agent.to_owned());
        }
    }
    Ok(())
}

/// `refuse LINE CODE MESSAGE`: the response is a Status.
fn refuse(words: &[&str], rest: &str, trace: &mut Trace) -> Result<(), String> {
    let code: u16 = words.get(1).and_then(|word| word.parse().ok()).ok_or("a code is missing")?;
    let message = rest.splitn(3, ' ').nth(2).unwrap_or_default();
    for line in in_range(words[0], trace)? {
        let status = serde_json::json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": message, "code": code
        });
        line["responseStatus"] =
            serde_json::json!({"metadata": {}, "status": "Failure", "message": message, "code": code});
        line["responseObject"] = status;
    }
    Ok(())
}
