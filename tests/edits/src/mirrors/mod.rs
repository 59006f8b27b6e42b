//! Managers that write status alone: right traces of one Job each, and edits that break one rule of family MR.
//!
//! | module | task |
//! | --- | --- |
//! | [`story`] | the steps of a trace of one Job, and its lines |
//! | [`sources`] | the right traces |
//! | `counts`, `times`, `ends`, `writers` | the classes of edits, by rule |
//! | `right` | the classes of edits that break no rule |

mod counts;
mod ends;
mod right;
pub mod sources;
pub mod story;
mod times;
mod writers;

use story::Story;

use crate::class::{Class, Edited, Oracle};
use crate::recording::Recording;

/// All classes, in the order of the table.
#[must_use]
pub fn classes() -> Vec<Class> {
    let mut all = Vec::new();
    counts::classes(&mut all);
    times::classes(&mut all);
    ends::classes(&mut all);
    writers::classes(&mut all);
    right::classes(&mut all);
    all
}

/// Adds a class. Its edit changes a story at the step of a status write, and returns `None` where it makes no sense.
fn class<F>(all: &mut Vec<Class>, group: &'static str, name: &'static str, edit: F)
where
    F: Fn(&mut Story, usize) -> Option<Oracle> + Send + Sync + 'static,
{
    all.push(Class::new(group, name, move |base: &Recording, at: usize| {
        let mut story = Story::read(&base.lines);
        if !story.is_status_write(at) {
            return None;
        }
        let oracle = edit(&mut story, at)?;
        let lines = story.lines();
        (lines != base.lines).then_some(Edited { files: vec![lines], oracle })
    }));
}
