//! Faults in single requests.

use std::sync::{Arc, Mutex};

use jobcheck_faultproxy::{Handling, Match, Refusal, Verb, hold};
use serde_json::Value;

use crate::support::{PODS, Upstream, create, pod, proxied, send, until};

fn creations() -> Match {
    Match { verb: Some(Verb::Create), kind: Some("pods".to_owned()), ..Match::default() }
}

#[tokio::test]
async fn without_rules_requests_and_responses_pass() {
    let upstream = Upstream::new().await;
    let (_proxy, _, client) = proxied(&upstream).await;
    assert_eq!(create(&client, "a").await, Some(201));
    assert_eq!(create(&client, "a").await, Some(409));
    let (code, list) = send(&client, "GET", PODS, &Value::Null).await.unwrap();
    assert_eq!((code, list["items"][0]["metadata"]["name"].as_str()), (200, Some("a")));
    assert_eq!(send(&client, "GET", "/version", &Value::Null).await.unwrap().0, 200);
    assert_eq!(send(&client, "DELETE", &format!("{PODS}/a"), &Value::Null).await.unwrap().0, 200);
    assert_eq!(upstream.pods(), Vec::<String>::new());
}

#[tokio::test]
async fn a_refused_request_never_reaches_the_api_server() {
    let upstream = Upstream::new().await;
    let (_proxy, rules, client) = proxied(&upstream).await;
    let all = [
        (Refusal::Forbidden, 403),
        (Refusal::NotFound, 404),
        (Refusal::Conflict, 409),
        (Refusal::Invalid, 422),
        (Refusal::TooManyRequests, 429),
        (Refusal::InternalError, 500),
        (Refusal::Timeout, 504),
    ];
    for (refusal, code) in all {
        let rule = rules.push(creations(), 0, 1, move |_| Handling::Refuse(refusal));
        let (answered, status) = send(&client, "POST", PODS, &pod("a")).await.unwrap();
        assert_eq!((answered, status["code"].as_u64()), (code, Some(u64::from(code))));
        assert_eq!(status["reason"], refusal.reason());
        assert_eq!(rule.hits(), 1);
    }
    assert_eq!(upstream.pods(), Vec::<String>::new());
    assert_eq!(create(&client, "a").await, Some(201));
}

#[tokio::test]
async fn a_response_is_lost_after_the_write_is_committed() {
    let upstream = Upstream::new().await;
    let (_proxy, rules, client) = proxied(&upstream).await;
    rules.push(creations(), 0, 1, |_| Handling::LoseResponse);
    rules.push(creations(), 0, 1, |_| Handling::RespondWith(Refusal::Timeout));
    rules.push(creations(), 0, 1, |_| Handling::Cut);
    assert_eq!(create(&client, "lost").await, None);
    assert_eq!(create(&client, "late").await, Some(504));
    assert_eq!(create(&client, "never").await, None);
    assert_eq!(upstream.pods(), ["late", "lost"]);
}

#[tokio::test]
async fn a_rule_applies_to_the_requests_that_match() {
    let upstream = Upstream::new().await;
    let (_proxy, rules, client) = proxied(&upstream).await;
    let is_special = |asked: &jobcheck_faultproxy::RequestInfo| {
        asked.json().is_some_and(|pod| pod["metadata"]["labels"]["special"] == "yes")
    };
    let meant =
        Match { predicate: Some(Arc::new(is_special)), namespace: Some("default".to_owned()), ..creations() };
    let rule = rules.push(meant, 1, 1, |_| Handling::Refuse(Refusal::InternalError));
    let special = |name: &str| {
        let mut pod = pod(name);
        pod["metadata"]["labels"] = serde_json::json!({"special": "yes"});
        pod
    };
    let mut codes = Vec::new();
    for pod in [pod("a"), special("b"), pod("c"), special("d"), special("e")] {
        codes.push(send(&client, "POST", PODS, &pod).await.unwrap().0);
    }
    assert_eq!(codes, [201, 201, 201, 500, 201]);
    assert_eq!(rule.hits(), 1);
    rule.remove();
    let named = Match { name: Some("a".to_owned()), agent: Some("nobody".to_owned()), ..Match::default() };
    rules.push(named, 0, 9, |_| Handling::Cut);
    assert_eq!(send(&client, "GET", &format!("{PODS}/a"), &Value::Null).await.unwrap().0, 200);
}

#[tokio::test]
async fn a_held_request_is_delivered_after_its_sender_has_disconnected() {
    let upstream = Upstream::new().await;
    let (_proxy, rules, client) = proxied(&upstream).await;
    let waiting = Arc::new(Mutex::new(Vec::new()));
    let held = Arc::clone(&waiting);
    rules.push(creations(), 0, 2, move |_| {
        let (hold, request) = hold();
        held.lock().unwrap().push(request);
        Handling::Hold(hold)
    });
    let senders = ["late", "forgotten"].map(|name| {
        let client = client.clone();
        tokio::spawn(async move { create(&client, name).await })
    });
    until(|| waiting.lock().unwrap().len() == 2).await;
    senders.iter().for_each(tokio::task::JoinHandle::abort);
    assert_eq!(upstream.pods(), Vec::<String>::new());
    let (first, second) = {
        let mut waiting = waiting.lock().unwrap();
        (waiting.remove(0), waiting.remove(0))
    };
    assert_eq!(first.deliver().await, Some(201));
    drop(second);
    assert_eq!(upstream.pods().len(), 1);
}
