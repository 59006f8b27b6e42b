//! Shortens a failing input.

use serde_json::Value;

use crate::Target;
use crate::attempt::{Failure, attempt};
use crate::json::{pointers, remove};

/// The most inputs that are tried.
const ATTEMPTS: usize = 3_000;

struct Shortening<'a> {
    target: &'a Target,
    kind: String,
    left: usize,
    best: Vec<u8>,
}

/// Returns the shortest input found that fails in the same way.
#[must_use]
pub fn shortened(target: &Target, input: &[u8], failure: &Failure) -> Vec<u8> {
    let best = input.to_vec();
    let mut shortening = Shortening { target, kind: failure.kind(), left: ATTEMPTS, best };
    loop {
        let before = shortening.best.len();
        shortening.pieces(b"\n");
        shortening.members();
        shortening.pieces(b"");
        if shortening.best.len() >= before || shortening.left == 0 {
            return shortening.best;
        }
    }
}

impl Shortening<'_> {
    /// Keeps a shorter input if it fails in the same way.
    fn takes(&mut self, shorter: Vec<u8>) -> bool {
        if self.left == 0 || shorter.len() >= self.best.len() {
            return false;
        }
        self.left -= 1;
        let fails = attempt(self.target, &shorter).is_err_and(|failure| failure.kind() == self.kind);
        if fails {
            self.best = shorter;
        }
        fails
    }

    /// Leaves out runs of lines, or of bytes, first long ones.
    fn pieces(&mut self, between: &[u8]) {
        let split = |bytes: &[u8]| -> Vec<Vec<u8>> {
            match between.first() {
                Some(end) => bytes.split(|byte| byte == end).map(<[u8]>::to_vec).collect(),
                None => bytes.iter().map(|byte| vec![*byte]).collect(),
            }
        };
        let mut size = split(&self.best).len() / 2;
        while size > 0 && self.left > 0 {
            let mut at = 0;
            loop {
                let parts = split(&self.best);
                if at >= parts.len() || self.left == 0 {
                    break;
                }
                let end = (at + size).min(parts.len());
                let rest: Vec<Vec<u8>> = parts[..at].iter().chain(&parts[end..]).cloned().collect();
                if !self.takes(rest.join(between)) {
                    at = end;
                }
            }
            // Bytes one by one would take too many attempts on a long input.
            size = if between.is_empty() && self.best.len() > 2_000 && size < 64 { 0 } else { size / 2 };
        }
    }

    /// Removes members and elements of lines that are JSON, parents first.
    fn members(&mut self) {
        let count = self.best.split(|byte| *byte == b'\n').count();
        for number in 0..count {
            let mut tried = 0;
            while self.left > 0 {
                let lines: Vec<Vec<u8>> =
                    self.best.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
                let Some(mut whole) =
                    lines.get(number).and_then(|line| serde_json::from_slice::<Value>(line).ok())
                else {
                    break;
                };
                let places = pointers(&whole);
                let Some(place) = places.iter().rev().nth(tried) else { break };
                remove(&mut whole, place);
                let mut shorter = lines;
                shorter[number] = whole.to_string().into_bytes();
                if !self.takes(shorter.join(&b'\n')) {
                    tried += 1;
                }
            }
        }
    }
}
