//! Panics: each one is a bug of this program. The message says so, and the exit code is 5.

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use jobcheck_judge::report::Exit;

use crate::output;
use crate::text::quoted;

/// The message of the last panic. The hook runs before the stack is unwound.
static MESSAGE: Mutex<Option<String>> = Mutex::new(None);

/// Runs the program. A panic becomes a message on standard error, and [`Exit::Internal`].
pub fn guard(arguments: &[OsString], run: impl FnOnce() -> Exit) -> Exit {
    std::panic::set_hook(Box::new(|info| {
        *MESSAGE.lock().unwrap_or_else(PoisonError::into_inner) = Some(info.to_string());
    }));
    let Ok(exit) = catch_unwind(AssertUnwindSafe(run)) else {
        let panic = MESSAGE.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default();
        output::print_to_stderr(&message(arguments, &panic));
        return Exit::Internal;
    };
    exit
}

fn message(arguments: &[OsString], panic: &str) -> String {
    let words: Vec<String> = arguments.iter().map(|word| quoted(&word.to_string_lossy())).collect();
    format!(
        "internal error, please report it: {panic}\n  version       {}\n  command line  {}\n\
         Please attach the input, or the smallest part of it that leads to this message.\n",
        env!("CARGO_PKG_VERSION"),
        words.join(" ")
    )
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
        let words = ["jobcheck".into(), "replay".into(), "it's here.jsonl".into()];
        let text = message(&words, "boom");
        assert!(text.starts_with("internal error, please report it: boom"));
        let line = text.lines().find_map(|line| line.trim().strip_prefix("command line  ")).unwrap();
        assert_eq!(shlex::split(line).unwrap(), ["jobcheck", "replay", "it's here.jsonl"]);
    }
}
