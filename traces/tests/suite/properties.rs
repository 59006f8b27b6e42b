//! Properties of reading that hold for any input.

use proptest::prelude::*;

use crate::native::as_native;
use crate::{AUDIT, WATCH, input, summary, summary_of};

/// One recording of each form.
fn recordings() -> [String; 3] {
    [AUDIT.to_owned(), WATCH.to_owned(), as_native(AUDIT)]
}

#[test]
fn a_truncated_recording_yields_its_whole_lines_and_one_error() {
    for text in recordings() {
        let whole = summary_of(&text);
        for length in 1..text.len() {
            let cut = &text[..length];
            let complete = cut.matches('\n').count();
            let rest = cut.rsplit('\n').next().unwrap_or_default();
            // The last line is complete without its line break.
            let is_whole = rest.is_empty() || text[length..].starts_with('\n');
            let result = summary_of(cut);
            let kept = if rest.is_empty() || !is_whole { complete } else { complete + 1 };
            assert_eq!(result[..kept], whole[..kept], "cut at {length}");
            let error = format!("trace:{}: expected the rest of a JSON document", complete + 1);
            assert_eq!(result.len(), kept + usize::from(!is_whole), "cut at {length}: {result:?}");
            assert!(is_whole || result[kept].starts_with(&error), "cut at {length}: {result:?}");
        }
    }
}

/// One edit: bytes are replaced, removed, or repeated.
fn damage(bytes: &mut Vec<u8>, (kind, at, length, byte): (u8, usize, usize, u8)) {
    let start = at % bytes.len().max(1);
    let end = (start + length).min(bytes.len());
    match kind {
        0 => bytes.splice(start..end, [byte]).for_each(drop),
        1 => bytes.drain(start..end).for_each(drop),
        2 => bytes.extend_from_within(start..end),
        _ => bytes.iter_mut().skip(start).take(1).for_each(|old| *old = byte),
    }
}

fn edits() -> impl Strategy<Value = Vec<(u8, usize, usize, u8)>> {
    proptest::collection::vec((0..4_u8, any::<usize>(), 0..40_usize, any::<u8>()), 1..6)
}

/// Bytes that occur in JSON, more often than others.
fn json_bytes() -> impl Strategy<Value = Vec<u8>> {
    let tokens = prop_oneof![
        Just("{"),
        Just("}"),
        Just("["),
        Just("]"),
        Just("\""),
        Just(":"),
        Just(","),
        Just("\n"),
        Just("\\u12"),
        Just("\"kind\":\"Event\","),
        Just("\"apiVersion\":\"audit.k8s.io/v1\""),
        Just("\"type\":\"ADDED\","),
        Just("\"object\":"),
        Just("1e999"),
        Just("null"),
        Just("\"format\":\"jobcheck.dev/trace\""),
        Just("é"),
    ];
    proptest::collection::vec(tokens, 0..40).prop_map(|tokens| tokens.concat().into_bytes())
}

proptest! {
    #[test]
    fn any_bytes_end_in_records_or_one_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        prop_assert_eq!(summary_of(&bytes).len(), 1);
    }

    #[test]
    fn anything_like_json_ends_in_records_or_one_error(bytes in json_bytes()) {
        summary_of(bytes);
    }

    #[test]
    fn anything_after_the_gzip_mark_ends_in_records_or_one_error(bytes in json_bytes()) {
        summary_of([&[0x1f, 0x8b, 8][..], &bytes].concat());
    }

    #[test]
    fn a_damaged_recording_is_read_up_to_the_damage((which, edits) in (0..3_usize, edits())) {
        let text = &recordings()[which];
        let mut bytes = text.clone().into_bytes();
        for edit in edits {
            damage(&mut bytes, edit);
        }
        let intact = bytes.iter().zip(text.as_bytes()).take_while(|(new, old)| new == old).count();
        let lines = text.as_bytes()[..intact].iter().filter(|byte| **byte == b'\n').count();
        let result = summary_of(&bytes);
        prop_assert_eq!(&result[..lines], &summary_of(text)[..lines]);
    }

    #[test]
    fn a_recording_given_in_pieces_is_the_recording(cut in 0..4_usize) {
        let lines: Vec<&str> = AUDIT.lines().collect();
        let (old, new) = lines.split_at(cut.min(lines.len() - 1).max(1));
        let result = summary(&[input("new", new.join("\n")), input("old", old.join("\n"))]);
        let plain = |result: &[String]| result.iter().map(|t| t.split_once(' ').unwrap().1.to_owned()).collect::<Vec<_>>();
        prop_assert_eq!(plain(&result), plain(&summary_of(AUDIT)));
    }
}
