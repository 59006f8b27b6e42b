//! Records of pods in a status: the uncounted lists and the texts of indexes.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::class::{Class, Edited, Oracle};
use crate::draft::{Draft, count, counter};
use crate::recording::{Pod, Recording, has_true};

const LISTS: [&str; 2] = ["succeeded", "failed"];
const FOREIGN: &str = "00000000-0000-4000-8000-000000000001";

/// The classes of this module.
pub fn classes(all: &mut Vec<Class>) {
    uncounted(all);
    never_counted(all);
    indexes(all);
}

fn list(status: &Value, of: &str) -> Vec<String> {
    let entries = status["uncountedTerminatedPods"][of].as_array();
    entries.into_iter().flatten().filter_map(|it| it.as_str().map(str::to_owned)).collect()
}

fn pointer(of: &str) -> String {
    format!("/status/uncountedTerminatedPods/{of}")
}

fn put_list(draft: &mut Draft, at: usize, of: &str, uids: &[String]) {
    draft.set(at, &pointer(of), (!uids.is_empty()).then(|| json!(uids)).as_ref());
}

/// The UIDs that a status write records first.
fn added(base: &Recording, at: usize, of: &str) -> Vec<String> {
    let before = base.previous(at).map_or_else(Vec::new, |line| list(base.status(line), of));
    list(base.status(at), of).into_iter().filter(|uid| !before.contains(uid)).collect()
}

fn pod<'a>(base: &'a Recording, uid: &str) -> Option<&'a Pod> {
    base.pods.iter().find(|pod| pod.uid == uid)
}

fn is_released_after(base: &Recording, uid: &str, at: usize) -> bool {
    pod(base, uid).and_then(|pod| pod.released).is_some_and(|line| base.precedes(at, line))
}

fn is_executor_write(base: &Recording, at: usize) -> bool {
    base.is_status_write(at) && !base.is_mirror()
}

fn uncounted(all: &mut Vec<Class>) {
    for of in LISTS {
        let other = if of == "failed" { "succeeded" } else { "failed" };
        all.push(Class::new("uncounted lists", format!("{of}-drop"), move |base, at| drop_one(base, at, of)));
        all.push(Class::new("uncounted lists", format!("{of}-twice"), move |base, at| {
            add(base, at, of, list(base.status(at), of).first()?, Oracle::Wrong("FT-27"))
        }));
        all.push(Class::new("uncounted lists", format!("{of}-in-both"), move |base, at| {
            add(base, at, other, list(base.status(at), of).first()?, Oracle::Wrong("FT-27"))
        }));
        all.push(Class::new("uncounted lists", format!("{of}-moved-to-{other}"), move |base, at| {
            let uid = added(base, at, of).first()?.clone();
            let (mut from, mut to) = (list(base.status(at), of), list(base.status(at), other));
            from.retain(|it| *it != uid);
            to.push(uid);
            let mut draft = Draft::of(base);
            put_list(&mut draft, at, of, &from);
            put_list(&mut draft, at, other, &to);
            is_executor_write(base, at).then_some(draft)?.done(Oracle::Wrong("FT-13"))
        }));
        all.push(Class::new("uncounted lists", format!("{of}-foreign-uid"), move |base, at| {
            add(base, at, of, FOREIGN, Oracle::Wrong("FT-02"))
        }));
        all.push(Class::new("uncounted lists", format!("{of}-empty-uid"), move |base, at| {
            add(base, at, of, "", Oracle::Wrong("SS-02"))
        }));
        all.push(Class::new("uncounted lists", format!("{of}-counted-again"), move |base, at| {
            let job = &base.events[at].uid;
            let recorded = list(base.status(at), of);
            let gone = |pod: &&Pod| {
                pod.released.is_some_and(|line| base.precedes(line, at)) && !recorded.contains(&pod.uid)
            };
            let uid = base.pods_of(job).find(gone)?.uid.clone();
            add(base, at, of, &uid, Oracle::Wrong("FT-02"))
        }));
        all.push(Class::new("uncounted lists", format!("{of}-running-pod"), move |base, at| {
            running(base, at, of)
        }));
        all.push(Class::new("uncounted lists", format!("{of}-kept-after-counting"), move |base, at| {
            let before = base.previous(at)?;
            let (old, new) = (list(base.status(before), of), list(base.status(at), of));
            if old == new || count(base.status(before), of) == count(base.status(at), of) {
                return None;
            }
            let mut draft = Draft::of(base);
            put_list(&mut draft, at, of, &[old, new].concat());
            is_executor_write(base, at).then_some(draft)?.done(Oracle::Wrong("FT-02"))
        }));
    }
    all.push(Class::new("uncounted lists", "null", |base, at| {
        base.previous_status(at).filter(|_| is_executor_write(base, at))?;
        let mut draft = Draft::of(base);
        let same = base.status(at)["uncountedTerminatedPods"].clone();
        draft.carry(at, &|object| object["status"]["uncountedTerminatedPods"] == same, &|object| {
            crate::draft::put(object, "/status/uncountedTerminatedPods", None);
        });
        draft.done(Oracle::Wrong("FT-30"))
    }));
}

fn add(base: &Recording, at: usize, of: &str, uid: &str, oracle: Oracle) -> Option<Edited> {
    if !is_executor_write(base, at) {
        return None;
    }
    let mut uids = list(base.status(at), of);
    uids.push(uid.to_owned());
    let mut draft = Draft::of(base);
    put_list(&mut draft, at, of, &uids);
    draft.done(oracle)
}

fn drop_one(base: &Recording, at: usize, of: &str) -> Option<Edited> {
    let uid = added(base, at, of).first().filter(|_| is_executor_write(base, at))?.clone();
    let mut uids = list(base.status(at), of);
    uids.retain(|it| *it != uid);
    let mut draft = Draft::of(base);
    put_list(&mut draft, at, of, &uids);
    let released = is_released_after(base, &uid, at);
    draft.done(if released {
        Oracle::Wrong("FT-03")
    } else {
        Oracle::Undecidable("the pod is released by nothing")
    })
}

/// A pod that runs, and that nobody has deleted, is recorded although its Job does not fail.
fn running(base: &Recording, at: usize, of: &str) -> Option<Edited> {
    let job = &base.events[at].uid;
    let runs = |pod: &&Pod| {
        let over = [pod.deleted, pod.ended.as_ref().map(|(line, _)| *line), pod.released];
        base.precedes(pod.created, at) && !over.into_iter().flatten().any(|line| base.precedes(line, at))
    };
    let uid = base.pods_of(job).find(runs)?.uid.clone();
    let fails = has_true(base.status(at), "FailureTarget") && of == "failed";
    if fails { None } else { add(base, at, of, &uid, Oracle::Wrong("FT-12")) }
}

/// A pod is left out of all lists and counters, in all versions.
fn never_counted(all: &mut Vec<Class>) {
    for of in LISTS {
        all.push(Class::new("pods never counted", of, move |base, at| {
            let uid = added(base, at, of).first().filter(|_| is_executor_write(base, at))?.clone();
            let job = base.events[at].uid.clone();
            let mut draft = Draft::of(base);
            let counted = base
                .status_writes(&job)
                .into_iter()
                .find(|line| base.precedes(at, *line) && !list(base.status(*line), of).contains(&uid));
            let from = counted.map(|line| count(base.status(line), of));
            draft.everywhere(&job, &|object| {
                let mut uids = list(&object["status"], of);
                if uids.contains(&uid) {
                    uids.retain(|it| *it != uid);
                    crate::draft::put(object, &pointer(of), (!uids.is_empty()).then(|| json!(uids)));
                } else if from.is_some_and(|from| count(&object["status"], of) >= from) {
                    let less = count(&object["status"], of) - 1;
                    crate::draft::put(object, &format!("/status/{of}"), counter(of, less));
                }
            });
            let released = is_released_after(base, &uid, at);
            draft.done(if released {
                Oracle::Wrong("FT-03")
            } else {
                Oracle::Undecidable("the pod is released by nothing")
            })
        }));
    }
}

/// Reads a text of indexes.
#[must_use]
pub fn parse_indexes(text: &str) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.parse::<u32>(), last.parse::<u32>()) {
            found.extend(first..=last);
        }
    }
    found
}

/// Writes indexes in the canonical text: three or more consecutive ones are a range.
#[must_use]
pub fn canonical(indexes: &BTreeSet<u32>) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for index in indexes {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *index => *last = *index,
            _ => runs.push((*index, *index)),
        }
    }
    let text = |(first, last): &(u32, u32)| match last - first {
        0 => first.to_string(),
        1 => format!("{first},{last}"),
        _ => format!("{first}-{last}"),
    };
    runs.iter().map(text).collect::<Vec<_>>().join(",")
}

const COMPLETED: &str = "/status/completedIndexes";
const FAILED: &str = "/status/failedIndexes";

fn text<'a>(base: &'a Recording, at: usize, pointer: &str) -> Option<&'a str> {
    let status = base.is_status_write(at).then(|| base.status(at))?;
    status.pointer(pointer.strip_prefix("/status")?)?.as_str()
}

fn completions(base: &Recording, at: usize) -> u32 {
    let spec = &crate::recording::stored(&base.lines[at])["spec"];
    spec["completions"].as_u64().and_then(|it| u32::try_from(it).ok()).unwrap_or(0)
}

fn is_indexed(base: &Recording, at: usize) -> bool {
    crate::recording::stored(&base.lines[at])["spec"]["completionMode"] == "Indexed"
}

fn written(base: &Recording, at: usize, pointer: &str, value: &str, oracle: Oracle) -> Option<Edited> {
    let mut draft = Draft::of(base);
    draft.set(at, pointer, (!value.is_empty()).then(|| json!(value)).as_ref());
    draft.done(oracle)
}

fn succeeded(base: &Recording, at: usize, index: u32) -> bool {
    let won = |pod: &Pod| {
        let ended = pod.ended.as_ref().filter(|(_, phase)| phase == "Succeeded");
        pod.index == Some(index) && ended.is_some_and(|(line, _)| base.precedes(*line, at))
    };
    base.pods_of(&base.events[at].uid).any(won)
}

fn indexes(all: &mut Vec<Class>) {
    for with_counter in [false, true] {
        let how = if with_counter { "-with-counter" } else { "" };
        all.push(Class::new("indexes", format!("completed-add{how}"), move |base, at| {
            if !is_executor_write(base, at) || !is_indexed(base, at) {
                return None;
            }
            let mut found = parse_indexes(text(base, at, COMPLETED).unwrap_or(""));
            let missing =
                (0..completions(base, at)).find(|it| !found.contains(it) && !succeeded(base, at, *it))?;
            found.insert(missing);
            let mut draft = Draft::of(base);
            draft.set(at, COMPLETED, Some(&json!(canonical(&found))));
            if with_counter {
                draft.set(at, "/status/succeeded", Some(&json!(found.len())));
            }
            draft.done(Oracle::Wrong("FT-12"))
        }));
        all.push(Class::new("indexes", format!("completed-drop{how}"), move |base, at| {
            drop_index(base, at, with_counter)
        }));
    }
    all.push(Class::new("indexes", "overlap", |base, at| {
        let completed = text(base, at, COMPLETED).filter(|it| !it.is_empty())?;
        let first = parse_indexes(completed).into_iter().next()?;
        let mut failed = parse_indexes(text(base, at, FAILED)?);
        failed.insert(first);
        written(base, at, FAILED, &canonical(&failed), Oracle::Wrong("SS-17"))
    }));
    all.push(Class::new("indexes", "failed-add", |base, at| {
        let mut failed = parse_indexes(text(base, at, FAILED).filter(|_| !base.is_mirror())?);
        let completed = parse_indexes(text(base, at, COMPLETED).unwrap_or(""));
        let alive = (0..completions(base, at)).find(|it| !failed.contains(it) && !completed.contains(it))?;
        let failed_once =
            base.pods_of(&base.events[at].uid).any(|pod| pod.index == Some(alive) && pod.ended.is_some());
        failed.insert(alive);
        let oracle = if failed_once {
            Oracle::Undecidable("a pod of the index has ended")
        } else {
            Oracle::Wrong("BI-04")
        };
        written(base, at, FAILED, &canonical(&failed), oracle)
    }));
    all.push(Class::new("indexes", "failed-drop", |base, at| {
        let found = text(base, at, FAILED).filter(|it| !it.is_empty() && !base.is_mirror())?;
        let before = base.previous(at).and_then(|line| base.status(line)["failedIndexes"].as_str());
        let mut failed = parse_indexes(found);
        let last = failed.pop_last()?;
        let kept = before.is_some_and(|text| parse_indexes(text).contains(&last));
        let oracle = if kept || base.finishes(&base.events[at].uid) {
            Oracle::Wrong("BI-05")
        } else {
            Oracle::Undecidable("the index may fail later")
        };
        let mut draft = Draft::of(base);
        draft.set(at, FAILED, Some(&json!(canonical(&failed))));
        draft.done(oracle)
    }));
    forms_of_texts(all);
}

fn drop_index(base: &Recording, at: usize, with_counter: bool) -> Option<Edited> {
    let completed = text(base, at, COMPLETED).filter(|it| !it.is_empty() && !base.is_mirror())?;
    let mut found = parse_indexes(completed);
    let last = found.pop_last()?;
    let mut draft = Draft::of(base);
    draft.set(at, COMPLETED, (!found.is_empty()).then(|| json!(canonical(&found))).as_ref());
    if !with_counter {
        return draft.done(Oracle::Wrong("PC-21"));
    }
    let value = i64::try_from(found.len()).unwrap_or(0);
    draft.set(at, "/status/succeeded", counter("succeeded", value).as_ref());
    let until = base.next_status(at);
    let is_released = |pod: &Pod| {
        let released = pod.released.filter(|line| until.is_none_or(|it| base.precedes(*line, it)));
        pod.index == Some(last) && released.is_some()
    };
    let lost = base.pods_of(&base.events[at].uid).any(is_released);
    draft.done(if lost {
        Oracle::Wrong("FT-03")
    } else {
        Oracle::Undecidable("an older view may lack the success")
    })
}

fn forms_of_texts(all: &mut Vec<Class>) {
    for (name, pointer) in [("completed", COMPLETED), ("failed", FAILED)] {
        all.push(Class::new("indexes", format!("{name}-out-of-range"), move |base, at| {
            let (found, beyond) = (text(base, at, pointer)?, completions(base, at));
            let joined = if found.is_empty() { beyond.to_string() } else { format!("{found},{beyond}") };
            written(base, at, pointer, &joined, Oracle::Wrong("SS-14"))
        }));
        all.push(Class::new("indexes", format!("{name}-malformed"), move |base, at| {
            let found = text(base, at, pointer).filter(|it| !it.is_empty())?;
            written(base, at, pointer, &format!("{found},"), Oracle::Wrong("SS-14"))
        }));
    }
    all.push(Class::new("indexes", "completed-not-canonical", |base, at| {
        let found = parse_indexes(text(base, at, COMPLETED)?);
        let plain: Vec<String> = found.iter().map(u32::to_string).collect();
        let neighbours = found.first().zip(found.last()).is_some_and(|(first, last)| first + 1 == *last);
        let other = if neighbours { plain.join("-") } else { plain.join(",") };
        if base.is_mirror() || other == canonical(&found) {
            return None;
        }
        written(base, at, COMPLETED, &other, Oracle::Wrong("PC-19"))
    }));
    all.push(Class::new("indexes", "of-a-NonIndexed-Job", |base, at| {
        if !base.is_status_write(at) || is_indexed(base, at) {
            return None;
        }
        written(base, at, COMPLETED, "0", Oracle::Wrong("SS-16"))
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_are_read_and_written_canonically() {
        let found = parse_indexes("0,1,3-5,7");
        assert_eq!(found.iter().copied().collect::<Vec<_>>(), [0, 1, 3, 4, 5, 7]);
        assert_eq!(canonical(&found), "0,1,3-5,7");
        assert_eq!(canonical(&BTreeSet::new()), "");
    }
}
