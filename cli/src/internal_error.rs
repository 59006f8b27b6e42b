//! A panic is a bug of this program: it is told as one, and exits with 5.

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use anstream::eprintln;
use jobcheck_judge::report::Exit;

/// What the last panic said; the hook runs before the stack is unwound.
static SAID: Mutex<Option<String>> = Mutex::new(None);

/// Runs the program; a panic becomes a message.
pub fn guard(arguments: &[OsString], run: impl FnOnce() -> Exit) -> Exit {
    std::panic::set_hook(Box::new(|info| {
        *SAID.lock().unwrap_or_else(PoisonError::into_inner) = Some(info.to_string());
    }));
    let Ok(exit) = catch_unwind(AssertUnwindSafe(run)) else {
        let said = SAID.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default();
        eprintln!("{}", message(arguments, &said));
        return Exit::Internal;
    };
    exit
}

fn message(arguments: &[OsString], said: &str) -> String {
    let words: Vec<String> = arguments.iter().map(|word| quoted(&word.to_string_lossy())).collect();
    format!(
        "internal error, please report it: {said}\n  version       {}\n  command line  {}\n\
         The input, or the part of it that leads to this message, is what helps most.",
        env!("CARGO_PKG_VERSION"),
        words.join(" ")
    )
}

/// A word as a shell would take it.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_internal_error() {
        let exit = guard(&["jobcheck".into()], || panic!("on purpose"));
        let _ = std::panic::take_hook();
        assert_eq!(exit, Exit::Internal);
    }

    #[test]
    fn the_message_holds_the_command_line_as_it_can_be_pasted() {
        let text = message(&["jobcheck".into(), "replay".into(), "it's here.jsonl".into()], "boom");
        assert!(text.starts_with("internal error, please report it: boom"));
        assert!(text.contains("jobcheck replay 'it'\\''s here.jsonl'"), "{text}");
    }
}
