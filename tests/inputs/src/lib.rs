//! Draws inputs for everything that reads what others have written: traces, objects, scenarios, requests.
//!
//! A *target* is a function of the program with an oracle. An input is drawn: an input of the pool is changed at a few
//! places, as bytes, as lines, as words, or as JSON. The pool begins with seeds of the corpus. An input that makes the
//! target say something new, such as another error, joins the pool.
//!
//! An input *fails* if the target
//!
//! - panics,
//! - needs longer than [`attempt::PATIENCE`],
//! - needs more memory than [`attempt::MOST_MEMORY`],
//! - or contradicts itself, as each target defines it.
//!
//! A failing input is shortened, and saved with the command that repeats it. Once its cause is mended, it moves to
//! `findings/TARGET/`, and a test reads it again for ever.
//!
//! | module | content |
//! | --- | --- |
//! | [`targets`] | the targets, with their seeds and their oracles |
//! | [`change`] | the changes of an input |
//! | [`attempt`] | one input on a target |
//! | [`search`] | draws inputs, and keeps the pool |
//! | [`shorten`] | shortens a failing input |
//!
//! Coverage of the code does not guide the search: no tool measures it on the stable compiler without a second build.

pub mod attempt;
pub mod change;
mod json;
mod rng;
pub mod search;
pub mod shorten;
pub mod targets;

pub use rng::Rng;

use std::collections::BTreeSet;

/// The answer of a target to an input: verdicts, codes, and errors. Numbers and names in them do not matter.
pub type Signs = BTreeSet<String>;

/// Something that reads inputs of others.
#[derive(Clone, Copy)]
pub struct Target {
    /// Its name in commands and folders.
    pub name: &'static str,
    /// The inputs that it reads, and the demands of its oracle.
    pub about: &'static str,
    /// The inputs with which the pool begins.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Reads an input. An error is a contradiction.
    pub run: fn(&[u8]) -> Result<Signs, String>,
    /// The number of inputs that the test draws.
    pub share: u64,
}

/// A text without what differs between inputs: digits, and what is in quotes.
#[must_use]
pub fn sign(text: &str) -> String {
    let mut out = String::new();
    let mut quoted = false;
    for letter in text.chars().take(400) {
        match letter {
            '"' | '`' | '\'' => quoted = !quoted,
            _ if quoted || letter.is_ascii_digit() => {}
            _ => out.push(letter),
        }
    }
    out.chars().take(120).collect()
}
