//! Recordings in the envelopes of log systems get the verdict that they get without.

use std::fs;

use jobcheck_judge::replay::{Grouping, Judging, group, judge};
use jobcheck_judge::report::{Exit, List, ReplayReport};
use jobcheck_judge::validate::Outcome;
use jobcheck_tests::corpus::folder;
use jobcheck_tests::envelopes::{in_docker_parts, in_parts, wrappings};
use jobcheck_tests::traces::described;
use jobcheck_traces::Input;
use serde_json::{Value, json};

/// Recordings of several kinds.
const RECORDINGS: [&str; 3] =
    ["recordings/nonindexed-success", "recordings/recreate-same-name", "recordings/completions-zero"];

fn lines(name: &str) -> Vec<String> {
    let text = fs::read_to_string(folder().join(format!("{name}.jsonl"))).unwrap();
    text.lines().map(str::to_owned).collect()
}

fn judged(text: impl Into<Vec<u8>>) -> ReplayReport {
    let input = Input::Bytes("trace".to_owned(), text.into());
    judge(&[vec![input]], &Judging::default(), &mut |_, _| {})
}

/// The facts that do not depend on the envelope.
fn verdict(report: &ReplayReport) -> (Exit, u64, u64, Vec<(String, u64)>, Vec<String>) {
    let jobs = report.jobs.iter().map(|job| (job.job.clone(), job.judged_writes)).collect();
    let without_lines = |line: &String| match line.split_once(" line ") {
        Some((before, after)) => format!("{before} {}", after.split_once(':').map_or("", |it| it.1)),
        None => line.clone(),
    };
    let found = described(report).iter().map(without_lines).collect();
    (report.exit_code, report.judged_writes, report.events, jobs, found)
}

#[test]
fn a_recording_in_an_envelope_gets_the_verdict_of_the_recording() {
    let mut compared = 0;
    for name in RECORDINGS {
        for form in ["audit", "watch"] {
            let lines = lines(&format!("{name}.{form}"));
            let expected = verdict(&judged(lines.join("\n")));
            assert!(expected.1 > 0, "{name}");
            let mut check = |envelope: &str, text: String| {
                assert_eq!(verdict(&judged(text)), expected, "{name}.{form} in {envelope}");
                compared += 1;
            };
            for wrapping in wrappings().iter().filter(|it| form == "audit" || !it.is_for_audit_events()) {
                check(&wrapping.name, wrapping.around(&lines));
            }
            check("parts of a container runtime", in_parts(&lines, 1000));
            check("parts of Docker", in_docker_parts(&lines, 1000));
        }
    }
    assert_eq!(compared, 3 * (2 * (wrappings().len() + 2) - 2));
}

/// The lines in another order: those of one second are exchanged.
fn exchanged_within_a_second(lines: &[String]) -> Vec<String> {
    let second = |line: &String| {
        let event: Value = serde_json::from_str(line).unwrap();
        event["stageTimestamp"].as_str().unwrap().split('.').next().unwrap().to_owned()
    };
    let mut seconds: Vec<Vec<String>> = Vec::new();
    for line in lines {
        match seconds.last_mut() {
            Some(group) if second(&group[0]) == second(line) => group.insert(0, line.clone()),
            _ => seconds.push(vec![line.clone()]),
        }
    }
    seconds.concat()
}

#[test]
fn the_order_of_lines_and_files_changes_no_verdict() {
    let names = RECORDINGS.into_iter().chain(["recordings/exponential-backoff", "recordings/suspend-resume"]);
    for name in names {
        let lines = lines(&format!("{name}.audit"));
        let expected = verdict(&judged(lines.join("\n")));
        let newest_first: Vec<String> = lines.iter().rev().cloned().collect();
        assert_eq!(verdict(&judged(newest_first.join("\n"))), expected, "{name}, newest first");
        let rows = &wrappings()[8];
        assert_eq!(verdict(&judged(rows.around(&newest_first))), expected, "{name} in {}", rows.name);
        let exchanged = exchanged_within_a_second(&lines);
        assert_eq!(verdict(&judged(exchanged.join("\n"))), expected, "{name}, exchanged");
        let part = |rest: usize| {
            let chosen = exchanged.iter().skip(rest).step_by(2).cloned().collect::<Vec<_>>();
            Input::Bytes(format!("part {rest}"), chosen.join("\n").into_bytes())
        };
        for inputs in [vec![part(0), part(1)], vec![part(1), part(0)]] {
            let report = judge(&[inputs], &Judging::default(), &mut |_, _| {});
            assert_eq!(verdict(&report), expected, "{name}, two files");
        }
    }
}

#[test]
fn an_empty_file_beside_a_recording_changes_nothing() {
    let lines = lines("recordings/completions-zero.watch");
    let expected = verdict(&judged(lines.join("\n")));
    let inputs = [("pods", String::new()), ("jobs", lines.join("\n"))];
    let inputs = inputs.map(|(name, text)| Input::Bytes(name.to_owned(), text.into_bytes())).to_vec();
    for grouping in [Grouping::Auto, Grouping::One] {
        let traces = group(inputs.clone(), grouping, &mut |_, _| {});
        assert_eq!(traces.len(), 1);
        assert_eq!(verdict(&judge(&traces, &Judging::default(), &mut |_, _| {})), expected);
    }
}

#[test]
fn the_version_in_the_answer_to_a_deletion_changes_no_verdict() {
    // kubernetes/kubernetes#138724, in 1.38. The version may be later than the removal.
    for name in ["job-deleted-background", "recreate-same-name"] {
        let lines = lines(&format!("recordings/{name}.audit"));
        let newer: Vec<String> = lines
            .iter()
            .map(|line| {
                let mut event: Value = serde_json::from_str(line).unwrap();
                if event["verb"] == "delete" && event["responseObject"]["kind"] == "Status" {
                    event["responseObject"]["metadata"]["resourceVersion"] = json!("999999");
                }
                event.to_string()
            })
            .collect();
        assert_ne!(newer.iter().filter(|line| line.contains("999999")).count(), 0, "{name}");
        assert_eq!(verdict(&judged(newer.join("\n"))), verdict(&judged(lines.join("\n"))), "{name}");
    }
}

#[test]
fn an_envelope_in_an_envelope_is_opened() {
    let lines = lines("recordings/completions-zero.audit");
    let expected = verdict(&judged(lines.join("\n")));
    let all = wrappings();
    let mut compared = 0;
    // Text behind a prefix is an object or a list.
    let is_inner = |name: &str| !matches!(name, "aws logs tail" | "JSON strings");
    for outer in all.iter().filter(|it| !it.is_for_audit_events()) {
        for inner in all.iter().filter(|it| is_inner(&it.name)) {
            let inner: Vec<String> = lines
                .iter()
                .map(|line| inner.around(std::slice::from_ref(line)).replace('\n', " "))
                .collect();
            // A template without a string keeps JSON alone.
            if inner.iter().any(|text| serde_json::from_str::<Value>(text).is_err()) {
                continue;
            }
            let report = judged(outer.around(&inner));
            assert_eq!(verdict(&report), expected, "{} around {}", outer.name, inner[0]);
            compared += 1;
        }
    }
    assert!(compared > 400, "{compared}");
}

/// Audit events as `gcloud logging read --format=json` prints those of GKE.
fn in_cloud_logging(lines: &[String]) -> String {
    let entries = lines.iter().map(|line| entry(&serde_json::from_str(line).unwrap()));
    format!("{:#}\n", Value::from_iter(entries))
}

fn entry(event: &Value) -> Value {
    let target = &event["objectRef"];
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let group = target["apiGroup"].as_str().unwrap_or("core");
    let (resource, verb) = (word(&target["resource"]), word(&event["verb"]));
    let (name, namespace) = (word(&target["name"]), word(&target["namespace"]));
    let (method, path) = match target["subresource"].as_str() {
        Some(sub) => (format!("{resource}.{sub}"), format!("{resource}/{name}/{sub}")),
        None => (resource.clone(), format!("{resource}/{name}")),
    };
    // The numbers of google.rpc.Code; only codes in recordings are here.
    let status = match event["responseStatus"]["code"].as_i64() {
        Some(200..300) => json!({}),
        Some(404) => json!({ "code": 5, "message": "Not found" }),
        Some(403) => json!({ "code": 7, "message": "Forbidden" }),
        Some(422) => json!({ "code": 3, "message": "Invalid" }),
        _ => json!({ "code": 10, "message": "Conflict" }),
    };
    let mut payload = json!({
        "@type": "type.googleapis.com/google.cloud.audit.AuditLog",
        "authenticationInfo": { "principalEmail": event["user"]["username"] },
        "methodName": format!("io.k8s.{group}.v1.{method}.{verb}"),
        "requestMetadata": { "callerIp": "10.0.0.1", "callerSuppliedUserAgent": event["userAgent"] },
        "resourceName": format!("{group}/v1/namespaces/{namespace}/{path}"),
        "serviceName": "k8s.io",
        "status": status,
    });
    for (from, to) in [("requestObject", "request"), ("responseObject", "response")] {
        if let Some(object) = event.get(from) {
            payload[to] = object.clone();
            // The type of the encoding is in each body.
            let is_patch = to == "request" && verb == "patch";
            payload[to]["@type"] = json!(if is_patch { "k8s.io/Patch" } else { "batch.k8s.io/v1.Job" });
        }
    }
    json!({
        "insertId": event["auditID"],
        "logName": "projects/p/logs/cloudaudit.googleapis.com%2Factivity",
        "operation": { "first": true, "id": event["auditID"], "last": true, "producer": "k8s.io" },
        "protoPayload": payload,
        "receiveTimestamp": event["stageTimestamp"],
        "resource": { "type": "k8s_cluster" },
        "timestamp": event["requestReceivedTimestamp"],
    })
}

/// An entry shows no query, so what such a deletion asked for is unknown.
fn has_a_policy_in_a_query(lines: &[String]) -> bool {
    lines.iter().any(|line| line.contains("?propagationPolicy") && !line.contains("\"DeleteOptions\""))
}

#[test]
fn an_audit_log_of_gke_gets_the_verdict_of_the_recording() {
    let folder = fs::read_dir(folder().join("recordings")).unwrap();
    let names = folder.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let (mut compared, mut unknown) = (0, 0);
    for name in names.filter(|name| name.ends_with(".audit.jsonl")) {
        let lines = lines(&format!("recordings/{}", name.trim_end_matches(".jsonl")));
        let (plain, report) = (judged(lines.join("\n")), judged(in_cloud_logging(&lines)));
        if has_a_policy_in_a_query(&lines) {
            assert!(matches!(report.exit_code, Exit::Inconclusive | Exit::Conforms), "{name}");
            unknown += 1;
            continue;
        }
        let facts = |report: &ReplayReport| (report.exit_code, report.judged_writes, report.events);
        assert_eq!(facts(&report), facts(&plain), "{name}: {:#?}", described(&report));
        compared += 1;
    }
    assert!(compared > 25 && unknown > 0, "{compared} and {unknown}");
}

/// An export of these lines by a search that has found so many rows.
fn searched(lines: &[String], total: usize) -> String {
    let hits = lines.iter().map(|line| json!({ "_source": { "message": line } }));
    json!({ "took": 1, "hits": { "total": { "value": total, "relation": "eq" }, "hits": Value::from_iter(hits) } })
        .to_string()
}

/// An export of these lines by a query in this state.
fn queried(lines: &[String], status: &str) -> String {
    let rows = lines.iter().map(|line| json!([{ "field": "@message", "value": line }]));
    json!({ "results": Value::from_iter(rows), "status": status }).to_string()
}

#[test]
fn an_export_that_states_missing_rows_is_inconclusive() {
    let whole = lines("recordings/nonindexed-success.audit");
    let expected = verdict(&judged(whole.join("\n")));
    for complete in [searched(&whole, whole.len()), queried(&whole, "Complete")] {
        assert_eq!(verdict(&judged(complete)), expected);
    }
    let mut withdrawn = 0;
    for missing in 0..whole.len() {
        let part: Vec<String> = [&whole[..missing], &whole[missing + 1..]].concat();
        withdrawn += u64::from(judged(searched(&part, part.len())).exit_code == Exit::Violates);
        let cases = [
            (
                searched(&part, whole.len()),
                format!("hits.total.value is {}, and the file has {} rows", whole.len(), part.len()),
            ),
            (queried(&part, "Timeout"), "status is Timeout".to_owned()),
        ];
        for (text, member) in cases {
            for (strict, list) in [(false, List::All), (true, List::Findings), (false, List::Violations)] {
                let judging = Judging { strict, list, ..Judging::default() };
                let input = Input::Bytes("export.json".to_owned(), text.clone().into_bytes());
                let report = judge(&[vec![input]], &judging, &mut |_, _| {});
                let trace = &report.traces[0];
                assert_eq!((report.exit_code, report.verdict), (Exit::Inconclusive, Outcome::Inconclusive));
                assert!(
                    trace.doubts.contains(&format!("export.json is incomplete: {member}")),
                    "{:?}",
                    trace.doubts
                );
                assert!(
                    report
                        .jobs
                        .iter()
                        .all(|job| job.verdict == Outcome::Inconclusive && job.violations.is_empty())
                );
                assert_eq!(report.unlisted.conforming, 0);
            }
        }
    }
    assert!(withdrawn > 0);
}

/// Rows of an export of Splunk with these lines.
fn exported(lines: &[String], is_preview: bool) -> String {
    let row = |(at, line): (usize, &String)| {
        let is_last = at + 1 == lines.len();
        let row =
            json!({ "preview": is_preview, "offset": at, "lastrow": is_last, "result": { "_raw": line } });
        format!("{row}\n")
    };
    lines.iter().enumerate().map(row).collect()
}

#[test]
fn previews_of_an_export_get_no_verdict() {
    let whole = lines("recordings/nonindexed-success.audit");
    let expected = verdict(&judged(whole.join("\n")));
    let mut withdrawn = 0;
    for missing in 0..whole.len() {
        let part: Vec<String> = [&whole[..missing], &whole[missing + 1..]].concat();
        withdrawn += u64::from(judged(exported(&part, false)).exit_code == Exit::Violates);
        // The rows of a running search come again.
        let (preview, last) = (exported(&part, true), exported(&whole, false));
        assert_eq!(verdict(&judged(preview.clone() + &last)), expected);
        for unfinished in [preview.clone(), exported(&part, false) + &preview] {
            let report = judged(unfinished);
            assert_eq!((report.exit_code, report.verdict), (Exit::Inconclusive, Outcome::Inconclusive));
            let why = "trace is incomplete: preview is true in its last row";
            assert!(
                report.traces[0].doubts.iter().any(|doubt| doubt == why),
                "{:?}",
                report.traces[0].doubts
            );
        }
    }
    assert!(withdrawn > 0);
}

#[test]
fn an_incomplete_file_concerns_its_own_trace() {
    let whole = lines("recordings/nonindexed-success.audit");
    let input = |name: &str, text: String| Input::Bytes(name.to_owned(), text.into_bytes());
    let other = lines("recordings/completions-zero.audit").join("\n");
    let part = queried(&whole[..12], "Running");
    let traces = [vec![input("other", other)], vec![input("export", part)]];
    let report = judge(&traces, &Judging::default(), &mut |_, _| {});
    let exits: Vec<Exit> = report.traces.iter().map(|trace| trace.exit_code).collect();
    assert_eq!(exits, [Exit::Conforms, Exit::Inconclusive]);
}
