//! The explorer, in a process of its own.

use std::process::Command;
use std::time::Instant;

use jobcheck_explorer::check::{Bounds, Outcome, explore};
use jobcheck_explorer::scope::Scope;

use crate::measure::{Measured, peak_memory};

/// The argument that makes a process search, and print what it found.
pub const ONE: &str = "--one";

/// Searches, and tells what it found as [`read`] reads it.
pub fn search(scope: &Scope, threads: usize) -> Result<String, String> {
    let begun = Instant::now();
    let found = explore(scope, &Bounds::none(threads));
    let seconds = begun.elapsed().as_secs_f64();
    match found.outcome {
        Outcome::Holds => {}
        other => return Err(format!("{}: {other:?}", scope.name)),
    }
    let peak = peak_memory("self").map_or("-".to_owned(), |bytes| bytes.to_string());
    let (states, steps, depth, bytes) = (found.states, found.generated, found.depth, found.bytes);
    Ok(format!("{states} {steps} {depth} {seconds} {bytes} {peak}"))
}

/// Starts this program again, to search.
pub fn measure(name: &str, threads: usize) -> Result<Measured, String> {
    let program = std::env::current_exe().map_err(|error| format!("this program is gone: {error}"))?;
    let begun = Instant::now();
    let output = Command::new(program).args([ONE, name, &threads.to_string()]).output();
    let whole = begun.elapsed().as_secs_f64();
    let output = output.map_err(|error| format!("cannot start this program again: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    read(&said, whole).ok_or_else(|| format!("{name}: {said}{}", String::from_utf8_lossy(&output.stderr)))
}

fn read(said: &str, whole: f64) -> Option<Measured> {
    let mut words = said.split_whitespace();
    let mut next = || words.next();
    let (states, steps, depth) = (next()?.parse().ok()?, next()?.parse().ok()?, next()?.parse().ok()?);
    let seconds: f64 = next()?.parse().ok()?;
    let (bytes, peak) = (next()?.parse().ok()?, next()?.parse().ok());
    Some(Measured { states, steps, depth, start: whole - seconds, seconds, bytes, peak, disk: 0 })
}
