//! The table of `jobcheck check`, printed row by row: a search that is broken off has told what it finished.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use jobcheck_judge::report::Exit;

use super::progress::Progress;
use crate::output;

/// Rows that are printed in the order of the scopes, each as soon as all before it are there.
#[derive(Default)]
pub struct Rows {
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    /// The place of the row that is printed next.
    next: usize,
    rows: BTreeMap<usize, String>,
}

impl Rows {
    /// Prints the head of the table.
    pub fn begin(head: &str) -> Rows {
        print(head);
        Rows::default()
    }

    /// Takes the row of a place, and prints what can be printed now, above the line of progress.
    pub fn put(&self, place: usize, row: String, progress: &Progress) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.rows.insert(place, row);
        let text = waiting.ready();
        if !text.is_empty() {
            progress.above(|| print(&text));
        }
    }
}

impl Waiting {
    /// The rows that wait for no other.
    fn ready(&mut self) -> String {
        let mut text = String::new();
        while let Some(row) = self.rows.remove(&self.next) {
            text += &row;
            self.next += 1;
        }
        text
    }
}

/// Where a row cannot be written, neither can the summary, which says so.
fn print(text: &str) {
    let _ = output::print(text, Exit::Conforms);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_in_order_and_as_soon_as_they_can() {
        let mut waiting = Waiting::default();
        waiting.rows.insert(1, "b\n".to_owned());
        assert_eq!(waiting.ready(), "");
        waiting.rows.insert(0, "a\n".to_owned());
        assert_eq!(waiting.ready(), "a\nb\n");
        waiting.rows.insert(2, "c\n".to_owned());
        assert_eq!(waiting.ready(), "c\n");
    }
}
