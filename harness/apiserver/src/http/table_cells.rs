//! The columns and cells of the tables of each resource (`pkg/printers/internalversion`).

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::object::{at, meta, parse_time, text};
use crate::resource::Resource;

/// The definitions of the columns. Only `-o wide` shows those with priority 1.
pub(super) fn columns(resource: Resource) -> Value {
    let narrow: &[&str] = match resource {
        Resource::Jobs => &["Name", "Status", "Completions", "Duration", "Age"],
        Resource::Pods => &["Name", "Ready", "Status", "Restarts", "Age"],
        Resource::Events | Resource::NewEvents => &["Last Seen", "Type", "Reason", "Object", "Message"],
        Resource::Leases => &["Name", "Holder", "Age"],
        Resource::Namespaces => &["Name", "Status", "Age"],
        Resource::Nodes => &["Name", "Status", "Age"],
        Resource::ServiceAccounts => &["Name", "Age"],
    };
    let wide: &[&str] = match resource {
        Resource::Jobs => &["Containers", "Images", "Selector"],
        Resource::Pods => &["IP", "Node"],
        _ => &[],
    };
    let column = |name: &&str, priority: i32| {
        let format = if *name == "Name" { "name" } else { "" };
        json!({"name": name, "type": "string", "format": format, "description": "", "priority": priority})
    };
    let narrow = narrow.iter().map(|name| column(name, 0));
    narrow.chain(wide.iter().map(|name| column(name, 1))).collect()
}

/// The cells of an object, in the order of the columns.
pub(super) fn cells(now: Timestamp, resource: Resource, object: &Value) -> Vec<Value> {
    let name = meta(object, "name").to_owned();
    let age = since(now, meta(object, "creationTimestamp"));
    let texts = match resource {
        Resource::Jobs => {
            let mut texts =
                vec![name, job_status(object).to_owned(), completions(object), duration(now, object), age];
            texts.extend(job_wide(object));
            texts
        }
        Resource::Pods => {
            let (ready, total, restarts) = containers(object);
            let ip = or_none(text(object, &["status", "podIP"]));
            let node = or_none(text(object, &["spec", "nodeName"]));
            vec![name, format!("{ready}/{total}"), pod_status(object), restarts.to_string(), age, ip, node]
        }
        Resource::Events | Resource::NewEvents => event_cells(now, object),
        Resource::Leases => vec![name, text(object, &["spec", "holderIdentity"]).to_owned(), age],
        Resource::Namespaces => vec![name, text(object, &["status", "phase"]).to_owned(), age],
        Resource::Nodes => vec![name, node_status(object).to_owned(), age],
        Resource::ServiceAccounts => vec![name, age],
    };
    texts.into_iter().map(Value::String).collect()
}

fn or_none(text: &str) -> String {
    if text.is_empty() { "<none>".to_owned() } else { text.to_owned() }
}

fn has_condition(object: &Value, kind: &str) -> bool {
    let conditions = object["status"]["conditions"].as_array();
    conditions.into_iter().flatten().any(|it| it["type"] == kind && it["status"] == "True")
}

fn job_status(job: &Value) -> &'static str {
    for (kind, shown) in [("Complete", "Complete"), ("Failed", "Failed")] {
        if has_condition(job, kind) {
            return shown;
        }
    }
    if !meta(job, "deletionTimestamp").is_empty() {
        return "Terminating";
    }
    for (kind, shown) in [
        ("Suspended", "Suspended"),
        ("FailureTarget", "FailureTarget"),
        ("SuccessCriteriaMet", "SuccessCriteriaMet"),
    ] {
        if has_condition(job, kind) {
            return shown;
        }
    }
    "Running"
}

fn completions(job: &Value) -> String {
    let succeeded = job["status"]["succeeded"].as_i64().unwrap_or(0);
    match (job["spec"]["completions"].as_i64(), job["spec"]["parallelism"].as_i64().unwrap_or(0)) {
        (Some(completions), _) => format!("{succeeded}/{completions}"),
        (None, parallelism) if parallelism > 1 => format!("{succeeded}/1 of {parallelism}"),
        (None, _) => format!("{succeeded}/1"),
    }
}

fn duration(now: Timestamp, job: &Value) -> String {
    let Some(start) = parse_time(text(job, &["status", "startTime"])) else { return String::new() };
    let end = parse_time(text(job, &["status", "completionTime"])).unwrap_or(now);
    human(end.duration_since(start).as_secs())
}

fn job_wide(job: &Value) -> [String; 3] {
    let containers = job.pointer("/spec/template/spec/containers").and_then(Value::as_array);
    let of = |key: &str| {
        let texts = containers.into_iter().flatten().map(|it| it[key].as_str().unwrap_or_default());
        texts.collect::<Vec<_>>().join(",")
    };
    let labels = at(job, &["spec", "selector", "matchLabels"]).and_then(Value::as_object);
    let pairs = labels
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()));
    [of("name"), of("image"), or_none(&pairs.collect::<Vec<_>>().join(","))]
}

fn containers(pod: &Value) -> (usize, usize, i64) {
    let statuses = || pod["status"]["containerStatuses"].as_array().into_iter().flatten();
    let ready = statuses().filter(|it| it["ready"] == true).count();
    let restarts = statuses().filter_map(|it| it["restartCount"].as_i64()).sum();
    (ready, pod["spec"]["containers"].as_array().map_or(0, Vec::len), restarts)
}

/// The status as upstream's `printPod` shows it, without init containers. The reason of a container precedes the
/// pod's phase and reason.
fn pod_status(pod: &Value) -> String {
    let phase = text(pod, &["status", "phase"]);
    if !meta(pod, "deletionTimestamp").is_empty() && !matches!(phase, "Succeeded" | "Failed") {
        return "Terminating".to_owned();
    }
    let statuses = pod["status"]["containerStatuses"].as_array();
    let reported = statuses.into_iter().flatten().find_map(container_reason);
    let reason = text(pod, &["status", "reason"]);
    reported.unwrap_or_else(|| if reason.is_empty() { phase } else { reason }.to_owned())
}

/// The reason why a container does not run.
fn container_reason(status: &Value) -> Option<String> {
    let reason = |state: &str| Some(text(status, &["state", state, "reason"])).filter(|it| !it.is_empty());
    if let Some(reason) = reason("waiting").or_else(|| reason("terminated")) {
        return Some(reason.to_owned());
    }
    let ended = at(status, &["state", "terminated"])?;
    let number = |key: &str| ended[key].as_i64().unwrap_or_default();
    match number("signal") {
        0 => Some(format!("ExitCode:{}", number("exitCode"))),
        signal => Some(format!("Signal:{signal}")),
    }
}

fn node_status(node: &Value) -> &'static str {
    let conditions = node["status"]["conditions"].as_array();
    match conditions.into_iter().flatten().find(|it| it["type"] == "Ready") {
        Some(condition) if condition["status"] == "True" => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    }
}

fn event_cells(now: Timestamp, event: &Value) -> Vec<String> {
    let either = |old: &str, new: &str| {
        let old = text(event, &[old]);
        (if old.is_empty() { text(event, &[new]) } else { old }).to_owned()
    };
    let about = event.get("involvedObject").or_else(|| event.get("regarding")).cloned().unwrap_or_default();
    let member = |key: &str| about[key].as_str().unwrap_or_default().to_lowercase();
    let seen = either("lastTimestamp", "deprecatedLastTimestamp");
    let seen = if seen.is_empty() { text(event, &["eventTime"]).to_owned() } else { seen };
    vec![
        since(now, &seen),
        either("type", "type"),
        either("reason", "reason"),
        format!("{}/{}", member("kind"), member("name")),
        either("message", "note"),
    ]
}

fn since(now: Timestamp, time: &str) -> String {
    parse_time(time).map_or_else(|| "<unknown>".to_owned(), |time| human(now.duration_since(time).as_secs()))
}

/// A duration in kubectl's form (`duration.HumanDuration`).
fn human(seconds: i64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let pair = |big: i64, unit: &str, small: i64, lesser: &str| {
        if small == 0 { format!("{big}{unit}") } else { format!("{big}{unit}{small}{lesser}") }
    };
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1..=0 => "0s".to_owned(),
        1..=119 => format!("{seconds}s"),
        120..=599 => pair(minutes, "m", seconds % 60, "s"),
        600..=10_799 => format!("{minutes}m"),
        10_800..=28_799 => pair(hours, "h", minutes % 60, "m"),
        28_800..=172_799 => format!("{hours}h"),
        172_800..=691_199 => pair(days, "d", hours % 24, "h"),
        691_200..=63_071_999 => format!("{days}d"),
        63_072_000..=252_287_999 => pair(days / 365, "y", days % 365, "d"),
        _ => format!("{}y", days / 365),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_read_as_kubectl_writes_them() {
        for (seconds, shown) in [
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (121, "2m1s"),
            (700, "11m"),
            (10_860, "3h1m"),
            (30_000, "8h"),
            (176_400, "2d1h"),
            (700_000, "8d"),
            (-5, "<invalid>"),
        ] {
            assert_eq!(human(seconds), shown);
        }
    }

    #[test]
    fn a_pod_shows_the_reasons_of_its_containers() {
        let ended = |terminated: Value| json!([{"state": {"terminated": terminated}}]);
        for (status, shown) in [
            (json!({"phase": "Succeeded"}), "Succeeded"),
            (json!({"phase": "Failed", "reason": "Evicted"}), "Evicted"),
            (
                json!({"phase": "Succeeded", "containerStatuses": ended(json!({"reason": "Completed"}))}),
                "Completed",
            ),
            (json!({"phase": "Failed", "containerStatuses": ended(json!({"exitCode": 3}))}), "ExitCode:3"),
            (
                json!({"phase": "Failed", "containerStatuses": ended(json!({"exitCode": 137, "signal": 9}))}),
                "Signal:9",
            ),
        ] {
            assert_eq!(pod_status(&json!({"metadata": {}, "status": status})), shown);
        }
        let deleted = json!({"metadata": {"deletionTimestamp": "1970-01-01T00:00:00Z"}, "status": {"phase": "Running"}});
        assert_eq!(pod_status(&deleted), "Terminating");
    }

    #[test]
    fn every_row_has_a_cell_for_each_column() {
        let now = Timestamp::UNIX_EPOCH;
        for resource in Resource::ALL {
            let count = columns(resource).as_array().unwrap().len();
            assert_eq!(cells(now, resource, &json!({})).len(), count, "{resource:?}");
        }
        let job = json!({"metadata": {"name": "j"}, "spec": {"completions": 3},
            "status": {"succeeded": 1, "startTime": "1970-01-01T00:00:00Z", "conditions": [{"type": "Failed", "status": "True"}]}});
        let row = cells(now, Resource::Jobs, &job);
        assert_eq!(row[..4], [json!("j"), json!("Failed"), json!("1/3"), json!("0s")]);
    }
}
