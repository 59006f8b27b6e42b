//! Sends the same requests to the embedded API server and to a real one, and prints the differences of their responses.
//!
//! ```text
//! cargo run -p jobcheck-differential --bin against_apiserver -- https://127.0.0.1:6443 TOKEN
//! ```
//!
//! The real server is a kube-apiserver without controllers (`harness/controlplane`). The embedded server uses the
//! rules of its version. TOKEN is the token of an administrator. All objects are in a new namespace, which is deleted
//! at the end.
//!
//! | part of the response | a difference |
//! | --- | --- |
//! | HTTP code, object, reason of a refusal, fields in a refusal | is printed and makes the program fail |
//! | message of a refusal | is printed |
//! | times, UIDs, versions, generated names, managed fields | is ignored: any two servers differ in it |

mod requests;
mod shape;

use std::io::{self, Write};
use std::process::ExitCode;

use http::Request;
use http_body_util::BodyExt;
use jobcheck_apiserver::http::{ApiService, Auth, SharedServer, SystemClock};
use jobcheck_apiserver::{Config, Server};
use jobcheck_spec::apiserver::RuleSet;
use kube::client::Body;
use kube::{Client, config::AuthInfo};
use requests::{Step, steps};
use serde_json::Value;
use shape::{Known, difference, named, shape};

/// The response of one server, without the parts that differ between any two servers.
struct Answer {
    code: u16,
    body: Value,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [server, token] = &arguments[..] else {
        eprintln!("usage: against_apiserver SERVER TOKEN");
        return ExitCode::from(2);
    };
    match compare(server, token).await {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("against_apiserver: {error}");
            ExitCode::from(4)
        }
    }
}

type Failure = Box<dyn std::error::Error>;

/// Sends all requests to both servers. Returns the number of different responses. A difference in a message does not
/// count.
///
/// # Errors
///
/// A server gives no response, or the rules of the real server's version are unknown.
async fn compare(server: &str, token: &str) -> Result<usize, Failure> {
    let real = real(server, token)?;
    let version = real.apiserver_version().await?;
    let rules = version.minor.parse().ok().and_then(RuleSet::of);
    let rules = rules.ok_or_else(|| format!("the rules of {} are not known", version.git_version))?;
    let mut arms = [(embedded(rules), Known::default()), (real, Known::default())];
    let namespace = format!("two-arms-{}", std::process::id());
    let (mut asked, mut differing, mut words) = (0, 0, 0);
    for step in steps() {
        let mut answers = Vec::new();
        for (client, known) in &mut arms {
            let answer = ask(client, known, &step, &namespace).await?;
            known.learn(&step.name, &answer.body);
            answers.push(Answer { code: answer.code, body: shape(&answer.body) });
        }
        let [ours, theirs] = &answers[..] else { continue };
        asked += 1;
        if let Some(what) = departs(ours, theirs) {
            differing += 1;
            writeln!(io::stdout(), "{}: {} {}: {what}", step.name, step.method, step.path)?;
        } else if let Some(what) = difference("", &ours.body, &theirs.body) {
            words += 1;
            writeln!(io::stdout(), "  message only: {}: {what}", step.name)?;
        }
    }
    for (client, known) in &arms {
        let path = format!("/api/v1/namespaces/{namespace}");
        let step = Step { name: "end".into(), method: "DELETE", path, kind: "", body: String::new() };
        ask(client, known, &step, &namespace).await?;
    }
    writeln!(
        io::stdout(),
        "{asked} requests: {differing} responses differ; {words} refusals differ only in their messages"
    )?;
    Ok(differing)
}

/// Returns the first difference in the code, the object, the reason of a refusal, or the fields in a refusal.
fn departs(ours: &Answer, theirs: &Answer) -> Option<String> {
    if ours.code != theirs.code {
        let message = |body: &Value| body["message"].as_str().unwrap_or_default().to_owned();
        let (our, their) = (message(&ours.body), message(&theirs.body));
        return Some(format!("ours {} {our}, theirs {} {their}", ours.code, theirs.code));
    }
    if ours.code < 300 {
        return difference("", &ours.body, &theirs.body);
    }
    let reason = |body: &Value| body["reason"].clone();
    if reason(&ours.body) != reason(&theirs.body) {
        return Some(format!("ours {}, theirs {}", reason(&ours.body), reason(&theirs.body)));
    }
    let (our, their) = (named(&ours.body), named(&theirs.body));
    (our != their).then(|| format!("ours names {our:?}, theirs {their:?}"))
}

fn embedded(rules: RuleSet) -> Client {
    let server = Server::new(Config { rules, ..Config::default() }, jiff::Timestamp::now());
    let shared = SharedServer::new(server, SystemClock);
    Client::new(ApiService::new(shared, Auth::Everyone("admin".to_owned())), "default")
}

fn real(server: &str, token: &str) -> Result<Client, Failure> {
    let mut config = kube::Config::new(server.parse()?);
    config.accept_invalid_certs = true;
    // A 504 is one of the compared responses, so the client must not retry.
    config.default_retry = false;
    config.auth_info = AuthInfo { token: Some(token.to_owned().into()), ..AuthInfo::default() };
    Ok(Client::try_from(config)?)
}

async fn ask(client: &Client, known: &Known, step: &Step, namespace: &str) -> Result<Answer, Failure> {
    let fill = |text: &str| known.fill(&text.replace("{ns}", namespace));
    let mut request = Request::builder().method(step.method).uri(fill(&step.path));
    if !step.kind.is_empty() {
        request = request.header("Content-Type", step.kind);
    }
    let response = client.send(request.body(Body::from(fill(&step.body).into_bytes()))?).await?;
    let code = response.status().as_u16();
    let bytes = response.into_body().collect().await?.to_bytes();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    // The response to a watch has one object per line.
    let lines: Result<Vec<Value>, _> = serde_json::Deserializer::from_str(&text).into_iter().collect();
    let body = match lines {
        Ok(lines) if lines.len() == 1 => lines.into_iter().next().unwrap_or_default(),
        Ok(lines) => Value::Array(lines),
        Err(_) => Value::String(text),
    };
    Ok(Answer { code, body })
}
