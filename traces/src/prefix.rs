//! Lines of text with an event behind a prefix.
//!
//! | line | source |
//! | --- | --- |
//! | `TIME stdout F {…}` | a container runtime ("Kubernetes CRI logging", kubernetes/design-proposals-archive) |
//! | `TIME STREAM {…}` | `aws logs tail` ("tail", AWS CLI Command Reference) |
//! | `TIME {LABELS} {…}` | `logcli query` ("LogCLI", Grafana Loki) |
//! | `… {…}` | `kubectl logs --timestamps`, `docker logs -t`, syslog |

use crate::envelope::{Opening, Origin, is_other_component};

/// Maximum length of the text before an event.
const LONGEST: usize = 1024;

/// Looks into a line that does not begin as JSON.
pub(crate) fn open(line: &str, remedy: &'static str) -> Opening {
    let mut words = line.trim_start().splitn(4, ' ');
    let (time, second, third) = (words.next(), words.next(), words.next());
    let is_timed = time.is_some_and(is_time);
    if let (true, Some(stream @ ("stdout" | "stderr")), Some(tag)) = (is_timed, second, third)
        && let Some(is_last) = is_last(tag)
    {
        let origin = Origin { name: "a line of a container", remedy };
        let text = words.next().unwrap_or_default().to_owned();
        return if stream == "stderr" {
            Opening::Other
        } else {
            Opening::Piece { text, is_last: Some(is_last), origin }
        };
    }
    if is_timed && second.is_some_and(is_other_component) {
        return Opening::Other;
    }
    match json_in(line) {
        Some(json) => Opening::Holds(json.to_owned(), Origin { name: "a line of text", remedy }),
        None => Opening::Unknown,
    }
}

/// The JSON behind a prefix. An object has a name in quotes behind its bracket; a set of labels has none.
fn json_in(line: &str) -> Option<&str> {
    let is_blank_or_open = |byte: &u8| matches!(byte, b' ' | b'\t' | b'[' | b'{');
    let begins = |at: usize| {
        let next = line.as_bytes()[at..].iter().take(LONGEST).find(|byte| !is_blank_or_open(byte));
        next == Some(&b'"')
    };
    let brackets = line.bytes().take(LONGEST).enumerate().filter(|(_, byte)| matches!(byte, b'{' | b'['));
    brackets.map(|(at, _)| at).find(|at| begins(*at)).and_then(|at| line.get(at..))
}

/// `F` marks the last part of a line, `P` any other. More tags may follow behind a colon.
fn is_last(tag: &str) -> Option<bool> {
    match tag.split(':').next() {
        Some("F") => Some(true),
        Some("P") => Some(false),
        _ => None,
    }
}

/// Returns `true` for a word that begins with a date and a time.
fn is_time(word: &str) -> bool {
    let bytes = word.as_bytes();
    bytes.len() > 10
        && bytes[..10].iter().enumerate().all(|(at, byte)| match at {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        })
        && bytes[10] == b'T'
}

/// Describes the first line of YAML; `None` if it is none.
pub(crate) fn yaml(line: &str) -> Option<&'static str> {
    let line = line.trim_end();
    let is_field = |name: &str| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(':'));
    let events = "YAML; convert it: yq -o=json -I=0 . FILE | jobcheck replay -";
    if line.starts_with("apiVersion: audit.k8s.io/") || is_field("object") || is_field("type") {
        return Some(events);
    }
    let is_state = ["apiVersion", "kind", "items", "metadata"].into_iter().any(is_field);
    if is_state || line.starts_with("- apiVersion:") {
        return Some(
            "YAML of an object, which shows a state and no change; record with `kubectl get -w --output-watch-events -o json`",
        );
    }
    (line == "---").then_some(events)
}
