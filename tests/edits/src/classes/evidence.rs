//! The same behaviour with less evidence, or recorded in another way. No right trace becomes wrong by that.

use serde_json::{Value, json};

use crate::class::{Class, Oracle};
use crate::draft::{Draft, walk};
use crate::forms::at_level;
use crate::recording::{Actor, Form, Recording, Resource, TRACKING};
use crate::run::LESS;

/// The classes of this module.
pub fn classes(all: &mut Vec<Class>) {
    truncated(all);
    levels(all);
    thinned(all);
    files(all);
    duplicates(all);
    answers(all);
}

const SAME: Oracle = Oracle::Legal("the same events");

fn truncated(all: &mut Vec<Class>) {
    all.push(Class::new("truncated", "head", |base, at| {
        let mut draft = Draft::of(base);
        draft.lines.truncate(at);
        if at == 0 { None } else { draft.done(LESS) }
    }));
}

fn is_pod(line: &Value) -> bool {
    line["objectRef"]["resource"] == "pods"
}

fn whole(base: &Recording, at: usize) -> bool {
    at == 0 && base.form == Form::Audit
}

type Choice = fn(usize, &Value) -> Option<&'static str>;

fn levels(all: &mut Vec<Class>) {
    for level in ["Request", "Metadata"] {
        all.push(Class::new("one line at a lower level", level, move |base, at| {
            let mut draft = Draft::of(base);
            draft.lines[at] = at_level(&base.lines[at], level);
            if base.form == Form::Audit { draft.done(LESS) } else { None }
        }));
    }
    let choices: [(&str, Choice); 9] = [
        ("pods-Request", |_, line| is_pod(line).then_some("Request")),
        ("pods-Metadata", |_, line| is_pod(line).then_some("Metadata")),
        ("jobs-Request", |_, line| (!is_pod(line)).then_some("Request")),
        ("jobs-Metadata", |_, line| (!is_pod(line)).then_some("Metadata")),
        ("all-Request", |_, _| Some("Request")),
        ("all-Metadata", |_, _| Some("Metadata")),
        ("patches-Request", |_, line| (line["verb"] == "patch").then_some("Request")),
        ("nodes-Metadata", |_, line| {
            line["userAgent"].as_str()?.starts_with("kubelet").then_some("Metadata")
        }),
        ("mixed", |at, _| [None, Some("Request"), None, Some("Metadata"), None][at % 5]),
    ];
    for (name, choose) in choices {
        all.push(Class::new("levels", name, move |base, at| {
            let mut draft = Draft::of(base);
            for (number, line) in draft.lines.iter_mut().enumerate() {
                if let Some(level) = choose(number, line) {
                    *line = at_level(line, level);
                }
            }
            if whole(base, at) { draft.done(LESS) } else { None }
        }));
    }
}

/// Lines that an audit policy leaves out. Only writes that the controller does not send are left out.
fn thinned(all: &mut Vec<Class>) {
    all.push(Class::new("policy leaves out pod statuses", "one", |base, at| {
        let event = &base.events[at];
        let mut draft = Draft::of(base);
        draft.lines.remove(at);
        let is_status = event.resource == Resource::Pod && event.subresource == "status";
        if base.form == Form::Audit && is_status { draft.done(LESS) } else { None }
    }));
    all.push(Class::new("policy leaves out pod statuses", "all", |base, at| {
        let mut draft = Draft::of(base);
        draft.lines.retain(|line| !(is_pod(line) && line["objectRef"]["subresource"] == "status"));
        if whole(base, at) { draft.done(LESS) } else { None }
    }));
    all.push(Class::new("policy leaves out kubelets", "all", |base, at| {
        let mut draft = Draft::of(base);
        draft.lines.retain(|line| !line["userAgent"].as_str().unwrap_or_default().starts_with("kubelet"));
        if whole(base, at) { draft.done(LESS) } else { None }
    }));
    all.push(Class::new("policy leaves out users", "deletions", |base, at| {
        let event = &base.events[at];
        let mut draft = Draft::of(base);
        draft.lines.remove(at);
        let is_users =
            event.actor == Actor::User && event.verb == "delete" && event.resource == Resource::Pod;
        if base.form == Form::Audit && is_users { draft.done(LESS) } else { None }
    }));
}

fn files(all: &mut Vec<Class>) {
    all.push(Class::new("rotated files", "two", |base, at| {
        if at == 0 { None } else { Draft::of(base).split(SAME, &|number, _| number < at) }
    }));
    all.push(Class::new("rotated files", "two-in-reverse", |base, at| {
        if at == 0 { None } else { Draft::of(base).split(SAME, &|number, _| number >= at) }
    }));
    for parts in [2, 3] {
        all.push(Class::new("several API servers", format!("every-{parts}"), move |base, at| {
            if !whole(base, at) {
                None
            } else {
                Draft::of(base).split(SAME, &|number, _| number % parts == 0)
            }
        }));
    }
    for (name, first) in [("pods-first", true), ("jobs-first", false)] {
        all.push(Class::new("a file for each resource", name, move |base, at| {
            let is_first = move |number: usize| (base.events[number].resource == Resource::Pod) == first;
            if at > 0 { None } else { Draft::of(base).split(SAME, &|number, _| is_first(number)) }
        }));
    }
    all.push(Class::new("lines in another order", "pods-before-jobs", |base, at| {
        let mut draft = Draft::of(base);
        let mut order: Vec<usize> = (0..base.lines.len()).collect();
        order.sort_by_key(|it| base.events[*it].resource != Resource::Pod);
        draft.lines = order.into_iter().map(|it| base.lines[it].clone()).collect();
        if at > 0 { None } else { draft.done(SAME) }
    }));
    all.push(Class::new("lines in another order", "neighbours-within-a-second", |base, at| {
        let other = at + 1;
        if other >= base.lines.len() || base.form == Form::Watch {
            return None;
        }
        let near = base.events[other].interval.1 - base.events[at].interval.1 < crate::time::SECOND;
        let mut draft = Draft::of(base);
        draft.lines.swap(at, other);
        if near { draft.done(SAME) } else { None }
    }));
    all.push(Class::new("lines in another order", "each-second-reversed", |base, at| {
        let mut order: Vec<usize> = (0..base.lines.len()).collect();
        order.sort_by_key(|it| (base.events[*it].interval.1 / crate::time::SECOND, std::cmp::Reverse(*it)));
        let mut draft = Draft::of(base);
        draft.lines = order.into_iter().map(|it| base.lines[it].clone()).collect();
        if whole(base, at) { draft.done(SAME) } else { None }
    }));
}

fn duplicates(all: &mut Vec<Class>) {
    for (name, distance) in [("adjacent", 1), ("later", 4)] {
        all.push(Class::new("duplicate lines", name, move |base, at| {
            let mut draft = Draft::of(base);
            let to = (at + distance).min(draft.lines.len());
            draft.lines.insert(to, base.lines[at].clone());
            if base.form == Form::Audit { draft.done(SAME) } else { None }
        }));
    }
    all.push(Class::new("duplicate lines", "each", |base, at| {
        let mut draft = Draft::of(base);
        draft.lines = base.lines.iter().flat_map(|line| [line.clone(), line.clone()]).collect();
        if whole(base, at) { draft.done(SAME) } else { None }
    }));
    all.push(Class::new("other stages", "RequestReceived", |base, at| {
        let mut draft = Draft::of(base);
        draft.lines = base.lines.iter().flat_map(|line| [received(line), line.clone()]).collect();
        if whole(base, at) { draft.done(SAME) } else { None }
    }));
    all.push(Class::new("other lines", "reads-and-other-resources", |base, at| {
        let mut draft = Draft::of(base);
        draft.lines =
            base.lines.iter().flat_map(|line| others(line).into_iter().chain([line.clone()])).collect();
        if whole(base, at) { draft.done(SAME) } else { None }
    }));
}

fn received(line: &Value) -> Value {
    let mut line = at_level(line, "Request");
    line["stage"] = json!("RequestReceived");
    line["stageTimestamp"] = line["requestReceivedTimestamp"].clone();
    if let Some(fields) = line.as_object_mut() {
        fields.remove("responseStatus");
    }
    line
}

fn others(line: &Value) -> Vec<Value> {
    let plain = at_level(line, "Metadata");
    let with = |pointer: &str, value: &str| {
        let mut line = plain.clone();
        crate::draft::put(&mut line, pointer, Some(json!(value)));
        line
    };
    vec![
        with("/verb", "get"),
        with("/verb", "list"),
        with("/verb", "watch"),
        with("/objectRef/resource", "events"),
        with("/objectRef/resource", "leases"),
        with("/objectRef/apiGroup", "example.com"),
        with("/objectRef/subresource", "log"),
    ]
}

/// Answers in other forms.
fn answers(all: &mut Vec<Class>) {
    for all_of_them in [false, true] {
        let name = if all_of_them { "all-finalizer-removals" } else { "one-finalizer-removal" };
        all.push(Class::new("PartialObjectMetadata answers", name, move |base, at| {
            let mut draft = Draft::of(base);
            for (number, line) in draft.lines.iter_mut().enumerate() {
                if (all_of_them || number == at) && removes(&base.lines[number]) {
                    line["responseObject"] = json!({
                        "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
                        "metadata": line["responseObject"]["metadata"],
                    });
                }
            }
            if !all_of_them || whole(base, at) { draft.done(SAME) } else { None }
        }));
    }
    for name in ["one", "all"] {
        all.push(Class::new("DELETE answered with a Status", name, move |base, at| {
            let mut draft = Draft::of(base);
            for (number, line) in draft.lines.iter_mut().enumerate() {
                let event = &base.events[number];
                let is_meant = event.verb == "delete" && event.resource == Resource::Pod && event.code < 300;
                if is_meant && (name == "all" || number == at) {
                    let details =
                        json!({"name": line["objectRef"]["name"], "kind": "pods", "uid": event.uid});
                    line["responseObject"] = json!({"kind": "Status", "apiVersion": "v1", "metadata": {},
                        "status": "Success", "details": details});
                }
            }
            // API servers answer the DELETE of a pod with the pod, whether it is gone or not.
            let oracle = Oracle::Undecidable("no API server gives this answer");
            if name == "one" || whole(base, at) { draft.done(oracle) } else { None }
        }));
    }
    all.push(Class::new("renamed", "bigger-versions", |base, at| {
        let mut draft = Draft::of(base);
        draft.renumber(&|version| version * 7 + 9_000_000_000);
        if at > 0 { None } else { draft.done(SAME) }
    }));
    all.push(Class::new("renamed", "uids-and-namespaces", |base, at| {
        let mut draft = Draft::of(base);
        super::merging::rename(&mut draft.lines, "other");
        if at > 0 { None } else { draft.done(SAME) }
    }));
    all.push(Class::new("renamed", "pods", |base, at| {
        let mut draft = Draft::of(base);
        let names: Vec<String> = base.pods.iter().filter_map(|pod| name_of(base, pod.created)).collect();
        for line in &mut draft.lines {
            walk(line, &mut |field, value| {
                let Some(text) = value.as_str() else { return };
                let is_name = names.iter().any(|it| it == text);
                if is_name || field == "requestURI" && names.iter().any(|it| text.ends_with(it.as_str())) {
                    *value = json!(with_another_end(text));
                }
            });
        }
        if at > 0 || base.lines.iter().any(|line| line.to_string().contains("for pod ")) {
            None
        } else {
            draft.done(SAME)
        }
    }));
}

fn name_of(base: &Recording, at: usize) -> Option<String> {
    crate::recording::stored(&base.lines[at])["metadata"]["name"].as_str().map(str::to_owned)
}

fn removes(line: &Value) -> bool {
    let request = line["requestObject"].to_string();
    is_pod(line)
        && line["verb"] == "patch"
        && request.contains("$deleteFromPrimitiveList")
        && request.contains(TRACKING)
}

/// Another name with the same beginning, as the API server may complete it.
fn with_another_end(name: &str) -> String {
    let end = if name.ends_with('z') { "x" } else { "z" };
    let cut = name.char_indices().next_back().map_or(0, |(place, _)| place);
    format!("{}{end}", &name[..cut])
}
