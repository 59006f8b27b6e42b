//! The copies of a Job, if it was given to workers more than once: who created each of them, and who removed it.

use jobcheck_look::escape;

use crate::page::{Page, Step, Turn};
use crate::standing::{clock, name, standing};

/// A sentence for each copy, in the order of their creation; none for a Job with a single copy.
pub fn copies(page: &Page, job: usize) -> Option<String> {
    let own = &page.jobs[job];
    if own.trace > 0 || own.beside.len() < 2 {
        return None;
    }
    let mut lives: Vec<(Option<i64>, String)> =
        own.beside.iter().filter_map(|copy| life(page, *copy)).collect();
    if lives.len() < 2 {
        return None;
    }
    lives.sort_by_key(|(begun, _)| *begun);
    let lives: Vec<String> = lives.into_iter().map(|(_, words)| escape::html(&words)).collect();
    Some(format!("{}. Each copy counts its own pods, from 0.", lives.join(". Then ")))
}

/// The beginning and the end of a copy, with their senders: `kueue creates copy 1 on worker 1 at 10:00:01, and alice deletes it
/// at 10:00:07 (succeeded 0, failed 1)`. A watch shows no senders, and the first record may not be the creation.
fn life(page: &Page, copy: usize) -> Option<(Option<i64>, String)> {
    let object = page.object_of(copy)?;
    let accepted = || page.steps.iter().filter(move |it| it.object == Some(object) && it.refusal.is_none());
    let begin = accepted().next()?;
    let copy_name = name(page, &page.jobs[copy]);
    let mut words = match page.sender(begin).filter(|_| begin.what.starts_with("creates")) {
        Some(sender) => format!("{sender} creates {copy_name}{}", place(begin)),
        None => format!("{copy_name} appears{}", place(begin)),
    };
    let is_deletion = |step: &Step| step.what.starts_with("deletes");
    if let Some(end) = accepted().find(|step| is_deletion(step) || step.life == Some(Turn::Gone)) {
        match page.sender(end).filter(|_| is_deletion(end)) {
            Some(sender) => words.push_str(&format!(", and {sender} deletes it{}", place(end))),
            None => words.push_str(&format!(", and it is removed{}", place(end))),
        }
    } else {
        words.push_str(", and it is there at the end of the trace");
    }
    let counted = standing(page, copy)?.counted();
    Some((begin.at, format!("{words} ({counted})")))
}

fn place(step: &Step) -> String {
    let at = step.at.map(|at| format!(" at {}", clock(at))).unwrap_or_default();
    format!("{at} (line {})", step.line)
}
