//! Descriptions of steps, in a few words.

use jobcheck_traces::Verb;

use crate::fields::is_quiet;
use crate::page::{Change, Turn};
use crate::reading::Read;

/// The number of changes that the words name.
const NAMED: usize = 5;
const JOB: &str = "the Job";
const FINALIZERS: &str = "metadata.finalizers";
const TRACKING: &str = "batch.kubernetes.io/job-tracking";

/// The words for a step, and the same without names and times.
pub fn words(read: &Read, changes: &[Change], life: Option<Turn>, names: &[String]) -> (String, String) {
    if let Some(words) = &read.words {
        return (words.clone(), words.clone());
    }
    let Some((is_pod, _, name)) = &read.object else { return Default::default() };
    let named = if *is_pod { format!("pod {name}") } else { JOB.to_owned() };
    let unnamed = if *is_pod { "a pod" } else { JOB };
    let of = |object: &str, with_times: bool| {
        let action = action(read, changes, life, names, object);
        let refusal = read.refusal.as_ref().map(|it| it.message.as_str()).unwrap_or_default();
        let details = details(&named_first(changes, names, refusal), names, with_times, life.is_none());
        let is_idle = changes.is_empty() && read.refusal.is_none() && life.is_none();
        let details = match (is_idle, details.is_empty()) {
            (true, _) if read.verb != Some(Verb::Delete) => " – nothing changes".to_owned(),
            (_, true) => String::new(),
            (_, false) => format!(": {details}"),
        };
        match &read.refusal {
            Some(refusal) => format!("{action} – refused with {}{details}", refusal.code),
            None => format!("{action}{details}"),
        }
    };
    (of(&named, true), of(unnamed, false))
}

fn action(read: &Read, changes: &[Change], life: Option<Turn>, names: &[String], object: &str) -> String {
    let of = |field: &str| changes.iter().find(|Change(it, ..)| names[*it] == field);
    let tracks = |value: &Option<String>| value.as_deref().is_some_and(|it| it.contains(TRACKING));
    let releases = of(FINALIZERS).is_some_and(|Change(_, was, is)| tracks(was) && !tracks(is));
    let phase = of("status.phase").and_then(|Change(_, _, is)| is.as_deref());
    let status = read.subresource == "status";
    match (read.verb, read.subresource.as_str()) {
        (None, _) if read.gone => format!("{object} is gone"),
        (None, _) if life == Some(Turn::New) => format!("{object} appears"),
        (_, _) if releases && read.refusal.is_none() => format!("removes the tracking finalizer of {object}"),
        (Some(Verb::Create), "") => format!("creates {object}"),
        (Some(Verb::Create), "eviction") => format!("evicts {object}"),
        (Some(Verb::Create), "binding") => format!("binds {object}"),
        (Some(Verb::Delete | Verb::DeleteCollection), _) => format!("deletes {object}"),
        (Some(_), _) if status && phase.is_some() => {
            format!("reports that {object} is {}", phase.unwrap_or_default())
        }
        (Some(_), _) if status && object == JOB => "writes the status".to_owned(),
        (Some(_), _) if status => format!("writes the status of {object}"),
        (Some(Verb::Patch), _) => format!("patches {object}"),
        (Some(_), _) => format!("updates {object}"),
        (None, _) if phase.is_some() => format!("{object} is {}", phase.unwrap_or_default()),
        (None, _) => format!("{object} changes"),
    }
}

/// The changes, those first that the message of a refusal names.
fn named_first(changes: &[Change], names: &[String], message: &str) -> Vec<Change> {
    let mut sorted = changes.to_vec();
    sorted.sort_by_key(|Change(field, ..)| !message.contains(&format!("{}:", names[*field])));
    sorted
}

/// Counters that the API omits when they are 0.
const COUNTERS: [&str; 3] = ["active", "succeeded", "failed"];

/// The changes that rules are about.
fn details(changes: &[Change], names: &[String], with_times: bool, with_spec: bool) -> String {
    let of_interest = changes.iter().filter(|Change(field, ..)| {
        let name = &names[*field];
        let is_spec = name.starts_with("spec.") || name == "metadata.controller";
        !is_quiet(name) && name != "status.phase" && (with_spec || !is_spec)
    });
    let mut parts: Vec<String> =
        of_interest.filter_map(|change| detail(&names[change.0], change, with_times)).collect();
    let more = parts.len().saturating_sub(NAMED);
    parts.truncate(NAMED);
    if more > 0 {
        parts.push(format!("{more} more"));
    }
    parts.join(", ")
}

fn detail(field: &str, Change(_, was, is): &Change, with_times: bool) -> Option<String> {
    let short = field.split_once('.').map_or(field, |(_, rest)| rest);
    let first = |value: &str| value.split(" (").next().unwrap_or_default().to_owned();
    if let Some(kind) = short.strip_prefix("condition ") {
        let status = is.as_deref().map_or("removed".to_owned(), first);
        return Some(if status == "True" { kind.to_owned() } else { format!("{kind} {status}") });
    }
    let is_list = short.starts_with("uncounted");
    match (short, was, is) {
        ("finalizers", Some(_), None) => None,
        ("finalizers", ..) => None,
        (_, _, Some(_)) if short.ends_with("Time") && !with_times => Some(short.to_owned()),
        ("deletionTimestamp", _, Some(_)) => Some("marked for deletion".to_owned()),
        (_, _, Some(is)) if short.ends_with("Time") => Some(format!("{short} {is}")),
        (_, _, Some(is)) if is_list => {
            let count = is.split(' ').count();
            Some(if with_times { format!("{short} = {is}") } else { format!("{short}: {count}") })
        }
        (_, None, Some(is)) => Some(format!("{short} {is}")),
        (_, Some(was), Some(is)) => Some(format!("{short} {was} → {is}")),
        (_, Some(was), None) if is_list => Some(format!("{short}: {} removed", was.split(' ').count())),
        (_, Some(was), None) if COUNTERS.contains(&short) => Some(format!("{short} {was} → 0")),
        (_, Some(was), None) => Some(format!("{short} {was} → none")),
        (_, None, None) => None,
    }
}
