//! The table of `jobcheck check`, printed row by row, so that a search that is ended early has shown its results.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use jobcheck_judge::report::Exit;

use crate::output;
use crate::progress::Progress;

/// Rows that are printed in the order of the scopes, each as soon as all rows before it are printed.
#[derive(Default)]
pub struct Rows {
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    /// The position of the row that is printed next.
    next: usize,
    rows: BTreeMap<usize, String>,
}

impl Rows {
    /// Prints the head of the table.
    pub fn begin(head: &str) -> Rows {
        print(head);
        Rows::default()
    }

    /// Adds the row at a position, and prints every row that is next, above the line of progress.
    pub fn put(&self, position: usize, row: String, progress: &Progress) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.rows.insert(position, row);
        let text = waiting.take_ready();
        if !text.is_empty() {
            progress.above(|| print(&text));
        }
    }
}

impl Waiting {
    /// Removes and returns the rows that wait for no other row.
    fn take_ready(&mut self) -> String {
        let mut text = String::new();
        while let Some(row) = self.rows.remove(&self.next) {
            text += &row;
            self.next += 1;
        }
        text
    }
}

/// Prints a part of the table. If that fails, printing the summary fails, too, and reports it.
fn print(text: &str) {
    let _ = output::print_text(text, Exit::Conforms);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_in_order_and_as_soon_as_they_can() {
        let mut waiting = Waiting::default();
        waiting.rows.insert(1, "b\n".to_owned());
        assert_eq!(waiting.take_ready(), "");
        waiting.rows.insert(0, "a\n".to_owned());
        assert_eq!(waiting.take_ready(), "a\nb\n");
        waiting.rows.insert(2, "c\n".to_owned());
        assert_eq!(waiting.take_ready(), "c\n");
    }
}
