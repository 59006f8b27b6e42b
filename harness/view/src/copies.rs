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
    Some(format!(
        "{}. <span class=\"dim\">Each copy counts its own pods, from 0.</span>",
        lives.join(". Then ")
    ))
}

/// The beginning and the end of a copy, with their senders: `kueue creates copy 1 on worker 1 at 10:00:01, and alice deletes it
/// at 10:00:07 (succeeded 0, failed 1)`.
fn life(page: &Page, copy: usize) -> Option<(Option<i64>, String)> {
    let object = page.objects.iter().position(|it| !it.pod && it.job == copy)?;
    let accepted = || page.steps.iter().filter(move |it| it.object == Some(object) && it.refusal.is_none());
    let begin = accepted().next()?;
    let who = |step: &Step, verb: &str, object: &str| match sender(page, step) {
        Some(sender) => format!("{sender} {verb} {object}"),
        None => format!("{object} {}", if verb == "creates" { "appears" } else { "is removed" }),
    };
    let copy_name = name(page, &page.jobs[copy]);
    let verb =
        if begin.life == Some(Turn::New) && begin.what.starts_with("creates") { "creates" } else { "uses" };
    let mut words = format!("{}{}", who(begin, verb, &copy_name), place(begin));
    if let Some(end) =
        accepted().find(|step| step.what.starts_with("deletes") || step.life == Some(Turn::Gone))
    {
        words.push_str(&format!(", and {}{}", who(end, "deletes", "it"), place(end)));
    }
    let counted = standing(page, copy)?.counted();
    Some((begin.at, format!("{words} ({counted})")))
}

fn sender<'a>(page: &'a Page, step: &Step) -> Option<&'a str> {
    let actor = page.actors[step.actor?].as_str();
    actor.split(" (").next().filter(|it| !it.is_empty())
}

fn place(step: &Step) -> String {
    let at = step.at.map(|at| format!(" at {}", clock(at))).unwrap_or_default();
    format!("{at} (line {})", step.line)
}
