//! Classes of edits, and the expected verdict on each edit.

use serde_json::Value;

use crate::draft::Draft;
use crate::recording::Recording;

/// The answer of the oracle to one edit. It follows from the rules of the API and the KEPs and from the edit alone; the
/// judge and the specification are not asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Oracle {
    /// The trace breaks a rule of this family: it must be rejected.
    Wrong(&'static str),
    /// The trace breaks a rule, or lacks a part, and the part that shows does not decide it. The verdict may be
    /// inconclusive, but the trace must not conform.
    Partial(&'static str),
    /// The trace leaves a recommendation of this family: it must give a warning.
    Advice(&'static str),
    /// The trace breaks no rule: it must not be rejected.
    Legal(&'static str),
    /// The edit alone does not decide it, for this reason. Such an edit counts for neither aim.
    Undecidable(&'static str),
}

/// An edited recording.
#[derive(Clone, Debug)]
pub struct Edited {
    /// The lines of each file.
    pub files: Vec<Vec<Value>>,
    /// The expected verdict.
    pub oracle: Oracle,
}

/// Edits a recording at a line. Returns `None` where the class makes no sense.
pub type Apply = Box<dyn Fn(&Recording, usize) -> Option<Edited> + Send + Sync>;

/// A named kind of edit.
pub struct Class {
    /// The row of the table.
    pub group: &'static str,
    /// The name, unique among all classes.
    pub name: String,
    /// The edit.
    pub apply: Apply,
}

impl Class {
    /// Returns a class.
    pub fn new<F>(group: &'static str, name: impl Into<String>, apply: F) -> Class
    where
        F: Fn(&Recording, usize) -> Option<Edited> + Send + Sync + 'static,
    {
        Class { group, name: format!("{group}/{}", name.into()), apply: Box::new(apply) }
    }
}

impl Draft<'_> {
    /// The edited trace as one file. Returns `None` if nothing was changed.
    #[must_use]
    pub fn done(self, oracle: Oracle) -> Option<Edited> {
        (self.lines != self.base.lines).then(|| Edited { files: vec![self.lines], oracle })
    }

    /// The edited trace in two files, the first of them with the lines for which a function holds.
    #[must_use]
    pub fn split(self, oracle: Oracle, is_first: &dyn Fn(usize, &Value) -> bool) -> Option<Edited> {
        let (first, second): (Vec<_>, Vec<_>) =
            self.lines.into_iter().enumerate().partition(|(at, line)| is_first(*at, line));
        let files: Vec<Vec<Value>> = [first, second]
            .into_iter()
            .map(|part| part.into_iter().map(|(_, line)| line).collect())
            .collect();
        files.iter().all(|file| !file.is_empty()).then_some(Edited { files, oracle })
    }
}
