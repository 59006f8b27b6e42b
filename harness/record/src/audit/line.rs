//! The lines of an audit log that is followed.
//!
//! A line that may be a piece of an event, or may hide one, is a gap. The event may have been about a Job.

use jobcheck_traces::Body;
use serde::de::IgnoredAny;

use super::events::{Events, read};
use super::part::Piece;
use crate::error::Error;
use crate::sink::Sink;

/// The API group of audit events. Each line has it, also in an envelope.
const GROUP: &str = "audit.k8s.io";
/// The resources of the lines that are parsed. An envelope has them as a text in a text.
const RESOURCES: [&str; 4] = ["\"jobs\"", "\"pods\"", "\\\"jobs\\\"", "\\\"pods\\\""];
const ADVICE: &str =
    "each line must be one; jobcheck watch-audit --once and jobcheck replay read other forms of a log, too";

/// The lines of a log so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub readable: u64,
    pub unreadable: u64,
}

/// Records a piece of the log. Returns the reason if events may be missing.
pub(super) fn take(
    piece: &Piece,
    events: &mut Events,
    counts: &mut Counts,
    trace: &mut impl Sink,
) -> Result<Option<String>, Error> {
    let line = match piece {
        Piece::Gap(why) => return Ok(Some(why.clone())),
        Piece::Line(line) => line,
    };
    // A hole in a file, as after a loss of power. An event may follow it in the same line.
    let event = line.trim_start_matches('\0');
    let hole = (event.len() < line.len()).then(|| "the file has a hole of zero bytes".to_owned());
    let problem = if event.is_empty() { None } else { take_event(event, events, counts, trace)? };
    Ok(hole.or(problem))
}

/// Records the event of a line. Returns the reason if it may have been another one.
fn take_event(
    line: &str,
    events: &mut Events,
    counts: &mut Counts,
    trace: &mut impl Sink,
) -> Result<Option<String>, Error> {
    if !line.contains(GROUP) {
        counts.unreadable += 1;
        // Other text counts once: nobody knows what it is.
        let is_piece = line.starts_with('{') || line.trim_end().ends_with('}') || line.contains('\0');
        let counts_it = counts.unreadable == 1 || is_piece;
        return Ok(counts_it.then(|| format!("a line is no audit event of {GROUP}; {ADVICE}")));
    }
    counts.readable += 1;
    // Most lines concern other resources. They need to be whole, and are not read.
    let problem = match RESOURCES.iter().any(|it| line.contains(it)) {
        false => is_whole(line).err(),
        true => read(line, &mut |request| match events.takes(request) {
            true => trace.write(&Body::Request(*request)),
            false => Ok(()),
        })?
        .err(),
    };
    if problem.is_some() {
        counts.readable -= 1;
        counts.unreadable += 1;
    }
    Ok(problem.map(|why| format!("a line cannot be parsed: {why}")))
}

/// The error in the JSON of a line, which may begin with other text.
fn is_whole(line: &str) -> Result<(), String> {
    let json = line.find('{').map_or(line, |at| &line[at..]);
    serde_json::from_str::<IgnoredAny>(json).map(drop).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The events that were taken.
    #[derive(Default)]
    struct Taken(usize);

    impl Sink for Taken {
        fn write(&mut self, _: &Body<'_>) -> Result<(), Error> {
            self.0 += 1;
            Ok(())
        }

        fn gap(&mut self, _: String) -> Result<(), Error> {
            Ok(())
        }
    }

    fn event(resource: &str) -> String {
        format!(
            r#"{{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"a","stage":"ResponseComplete","verb":"create","user":{{"username":"u"}},"objectRef":{{"resource":"{resource}","namespace":"n","name":"a","apiVersion":"v1"}},"responseStatus":{{"code":201}},"requestReceivedTimestamp":"2026-01-01T00:00:00.000000Z","stageTimestamp":"2026-01-01T00:00:00.000000Z"}}"#
        )
    }

    /// The number of events that these lines have, and of gaps.
    fn of(lines: &[&str]) -> (usize, usize) {
        let (mut events, mut counts, mut taken) = (Events::of(&[]), Counts::default(), Taken::default());
        let mut gap = |line: &&str| {
            let piece = Piece::Line((*line).to_owned());
            take(&piece, &mut events, &mut counts, &mut taken).unwrap().is_some()
        };
        let gaps = lines.iter().filter(|line| gap(line)).count();
        (taken.0, gaps)
    }

    #[test]
    fn each_cut_event_is_a_gap() {
        for resource in ["pods", "secrets"] {
            let whole = event(resource);
            assert_eq!(of(&[&whole]).1, 0, "{resource}");
            for at in 1..whole.len() {
                assert_eq!(of(&["Started", &whole[..at]]), (0, 2), "{resource}: {at}");
                assert_eq!(of(&["Started", &whole[at..]]), (0, 2), "{resource}: from {at}");
                assert_eq!(of(&[&format!("{}{whole}", &whole[..at])]), (0, 1), "{resource}: {at}, merged");
            }
        }
    }

    #[test]
    fn an_event_after_zero_bytes_is_read_and_a_gap() {
        let whole = format!("\0\0\0{}", event("pods"));
        assert_eq!(of(&[&whole]), (1, 1));
        assert_eq!(of(&["\0\0"]), (0, 1));
    }

    #[test]
    fn of_other_text_only_the_first_line_is_a_gap() {
        assert_eq!(of(&["I0101 started", "I0101 ready", &event("pods")]), (1, 1));
    }

    #[test]
    fn events_in_an_envelope_are_whole() {
        let text = serde_json::json!({ "log": event("secrets") + "\n", "stream": "stdout" }).to_string();
        let container = format!("2026-01-01T00:00:00.0Z stdout F {}", event("secrets"));
        assert_eq!(of(&[&text, &container]), (0, 0));
    }
}
