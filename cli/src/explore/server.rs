//! The HTTP server: one page, and what it asks for.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anstream::eprintln;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::HOST;
use hyper::{Method, Request, Response};
use jobcheck_judge::report::Exit;
use jobcheck_serve::{HttpServer, Limits};
use serde_json::{Value, json};

use super::show::Explorer;
use crate::output;

/// Everything that the browser needs.
const PAGE: &str = include_str!("page.html");

/// The time in which a browser must send the head of a request.
const HEAD_TIME: Duration = Duration::from_secs(10);

/// What is answered to a request.
struct Reply {
    code: u16,
    kind: &'static str,
    body: Vec<u8>,
}

/// Serves until the process is interrupted.
pub fn serve(explorer: Explorer, address: SocketAddr) -> Exit {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: cannot start the server: {error}");
            return Exit::Environment;
        }
    };
    runtime.block_on(listen(Arc::new(explorer), address))
}

async fn listen(explorer: Arc<Explorer>, address: SocketAddr) -> Exit {
    let server = match HttpServer::bind(address).await {
        Ok(server) => server.limited_to(Limits { head_time: Some(HEAD_TIME), ..Limits::default() }),
        Err(error) => {
            eprintln!("error: cannot listen on {address}: {error}");
            return Exit::Environment;
        }
    };
    let address = server.address();
    let start = explorer.start();
    let fragment = if start.is_empty() { String::new() } else { format!("#{start}") };
    let printed = output::print(&format!("http://{address}/{fragment}\n"), Exit::Conforms);
    if printed != Exit::Conforms {
        return printed;
    }
    let handler = move |request| {
        let response = response(replied(&explorer, &request));
        async { Ok::<_, Infallible>(response) }
    };
    match server.serve(handler, std::future::pending()).await {
        Ok(()) => Exit::Conforms,
        Err(error) => {
            eprintln!("error: cannot listen on {address} any longer: {error}");
            Exit::Environment
        }
    }
}

/// The reply to a request. No body is read: only GET is answered.
fn replied(explorer: &Explorer, request: &Request<Incoming>) -> Reply {
    let target = request.uri().path_and_query().map_or("/", |it| it.as_str());
    let host = request.headers().get(HOST).map(|host| host.to_str().unwrap_or("?"));
    if host.is_none_or(is_this_machine) {
        answer(explorer, request.method(), target)
    } else {
        failed(403, "this page is for this machine alone: ask for it by its address")
    }
}

fn response(reply: Reply) -> Response<Full<Bytes>> {
    let policy =
        "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'";
    Response::builder()
        .status(reply.code)
        .header("Content-Type", reply.kind)
        .header("Cache-Control", "no-store")
        .header("Connection", "close")
        .header("Content-Security-Policy", policy)
        .body(Full::from(reply.body))
        .expect("the headers are constants, and the codes are three digits")
}

/// Whether a Host header names an address, or this machine: a name of somebody else's may be made to lead here.
fn is_this_machine(host: &str) -> bool {
    let name = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|it| it.is_ascii_digit()));
    let name = name.map_or(host, |(name, _)| name);
    let address = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || address.parse::<IpAddr>().is_ok()
}

/// The answer to a request for this address.
fn answer(explorer: &Explorer, method: &Method, url: &str) -> Reply {
    if method != Method::GET {
        return failed(405, "only GET is answered");
    }
    let (resource, query) = url.split_once('?').unwrap_or((url, ""));
    let path = query.split('&').find_map(|pair| pair.strip_prefix("path=")).unwrap_or_default();
    match resource {
        "/" => Reply { code: 200, kind: "text/html; charset=utf-8", body: PAGE.into() },
        "/api/scope" => found(&explorer.about()),
        "/api/state" => match explorer.state(path) {
            Some(state) => found(&state),
            None => failed(404, "there is no such way through this scope"),
        },
        "/api/trace" => match explorer.trace(path) {
            Some(body) => Reply { code: 200, kind: "application/x-ndjson", body },
            None => failed(404, "there is no such way through this scope"),
        },
        _ => failed(404, "there is no such page"),
    }
}

fn found(value: &Value) -> Reply {
    Reply { code: 200, kind: "application/json", body: value.to_string().into_bytes() }
}

fn failed(code: u16, why: &str) -> Reply {
    Reply { code, ..found(&json!({ "error": why })) }
}

#[cfg(test)]
mod tests {
    use jobcheck_explorer::mutants::{MUTANTS, Mutant};
    use jobcheck_explorer::progress::PROGRESS;
    use jobcheck_explorer::scopes;
    use jobcheck_spec::Req;

    use super::*;

    #[test]
    fn names_of_somebody_elses_are_not_answered() {
        for host in ["127.0.0.1:8080", "localhost", "LOCALHOST:1", "[::1]:80", "10.0.0.1"] {
            assert!(is_this_machine(host), "{host}");
        }
        for host in ["evil.example:80", "127.0.0.1.evil.example", "localhost.evil", "", "?"] {
            assert!(!is_this_machine(host), "{host}");
        }
    }

    fn get(explorer: &Explorer, url: &str) -> (u16, Value) {
        let reply = answer(explorer, &Method::GET, url);
        (reply.code, serde_json::from_slice(&reply.body).unwrap_or_default())
    }

    fn plain() -> Explorer {
        Explorer::new(scopes::named("non-indexed").unwrap(), None, None)
    }

    #[test]
    fn the_start_offers_steps_and_each_leads_on() {
        let explorer = plain();
        let (code, state) = get(&explorer, "/api/state?path=");
        assert_eq!((code, state["story"].as_array().unwrap().len()), (200, 0));
        assert_eq!(state["jobs"][0]["name"], "job-0");
        let steps = state["next"].as_array().unwrap();
        assert!(!steps.is_empty());
        for step in steps {
            let path = step["path"].as_str().unwrap();
            let (code, next) = get(&explorer, &format!("/api/state?path={path}"));
            assert_eq!((code, &next["story"][0]["what"]), (200, &step["what"]));
            assert_eq!(next["path"], path);
        }
    }

    #[test]
    fn the_counterexample_of_a_defect_ends_where_something_is_broken() {
        let mutant = Mutant::named("B18").unwrap();
        let found = mutant.hunt().found().unwrap().clone();
        let length = found.path.len();
        let explorer = Explorer::new(mutant.scope(), Some(mutant), Some(&found));
        let (_, about) = get(&explorer, "/api/scope");
        assert_eq!((&about["mutant"], &about["breaks"]), (&json!("B18"), &json!("TC-04")));
        let start = about["start"].as_str().unwrap();
        let (_, end) = get(&explorer, &format!("/api/state?path={start}"));
        assert_eq!(end["story"].as_array().unwrap().len(), length);
        assert!(!end["broken"].as_array().unwrap().is_empty());
        // The step before the last offers it, and says what it breaks.
        let (before, _) = start.rsplit_once('.').unwrap();
        let (_, state) = get(&explorer, &format!("/api/state?path={before}"));
        let last = state["next"].as_array().unwrap().iter().find(|step| step["path"] == start).unwrap();
        assert_eq!(
            (&last["verdict"]["kind"], &last["verdict"]["requirement"]),
            (&json!("breaks"), &json!("TC-04"))
        );
        let process = &state["jobs"][0]["processes"][0];
        assert_eq!((&process["syncing"], &process["next"]), (&json!(true), &json!([last["what"]])));
    }

    /// What is said of progress at the end of a way.
    fn cycles(explorer: &Explorer, way: &[&str]) -> (Value, Value, Vec<String>) {
        let (code, state) = get(explorer, &format!("/api/state?path={}", way.join(".")));
        assert_eq!(code, 200, "{way:?}");
        let of_progress = |it: &&Value| it["property"] == PROGRESS;
        let broken = state["broken"].as_array().unwrap().iter().find(of_progress).cloned();
        let next = state["next"].as_array().unwrap().iter().filter(|step| step["goesOn"] == true);
        let next = next.map(|step| step["path"].as_str().unwrap().to_owned()).collect();
        (broken.unwrap_or_default(), state["mark"].clone(), next)
    }

    /// Of each defect that breaks no single write: the way, the mark, and the round, which is gone twice.
    #[test]
    fn where_a_job_strays_the_round_is_marked_and_can_be_gone() {
        let (mut rounds, mut rests) = (0, 0);
        for mutant in MUTANTS.iter().filter(|mutant| !mutant.shows_in_a_world()) {
            let found = mutant.hunt().found().unwrap().clone();
            let turn = found.turn.unwrap();
            let explorer = Explorer::new(mutant.scope(), Some(mutant), Some(&found));
            let start = explorer.start();
            let start: Vec<&str> = start.split('.').collect();
            assert_eq!(start.len(), found.path.len(), "{}", mutant.id);
            let (prefix, round) = start.split_at(turn);
            let twice = [prefix, round, round].concat();
            for length in turn..=twice.len() {
                let (broken, mark, next) = cycles(&explorer, &twice[..length]);
                assert_eq!(broken["requirement"], mutant.requirement().id(), "{}", mutant.id);
                assert_eq!(mark["after"], turn, "{}", mutant.id);
                let goes_on = twice.get(..=length).map(|way| way.join("."));
                assert!(goes_on.is_none_or(|way| next == [way]), "{}: {next:?}", mutant.id);
                assert_eq!(next.is_empty(), round.is_empty(), "{}", mutant.id);
            }
            let nothing = (Value::Null, Value::Null, Vec::new());
            assert_eq!(cycles(&explorer, &prefix[..turn - 1]), nothing, "{}", mutant.id);
            if round.is_empty() { rests += 1 } else { rounds += 1 }
        }
        assert!(rounds > 0 && rests > 0, "{rounds} rounds, {rests} rests");
    }

    #[test]
    fn a_step_that_the_specification_forbids_is_marked_where_its_guard_is_off() {
        let scope = scopes::named("non-indexed").unwrap().without(Req::PC04);
        let explorer = Explorer::new(scope, None, None);
        let mut path = String::new();
        for _ in 0..4 {
            let (_, state) = get(&explorer, &format!("/api/state?path={path}"));
            let creation = |step: &&Value| step["what"].as_str().unwrap().starts_with("creates");
            let steps = state["next"].as_array().unwrap();
            let Some(step) = steps.iter().find(creation) else { break };
            if step["verdict"]["kind"] == "breaks" {
                assert_eq!(step["verdict"]["requirement"], "PC-04");
                return;
            }
            path = step["path"].as_str().unwrap().to_owned();
        }
        panic!("no creation beyond parallelism is offered after {path}");
    }

    #[test]
    fn a_way_is_saved_as_a_trace() {
        let reply = answer(&plain(), &Method::GET, "/api/trace?path=0");
        let text = String::from_utf8(reply.body).unwrap();
        assert!(text.starts_with("{\"format\":\"jobcheck.dev/trace\""), "{text}");
    }

    #[test]
    fn what_does_not_exist_is_not_found() {
        let explorer = plain();
        for url in ["/api/state?path=99999", "/api/state?path=x", "/api/trace?path=-1", "/favicon.ico"] {
            assert_eq!(get(&explorer, url).0, 404, "{url}");
        }
        assert_eq!(answer(&explorer, &Method::POST, "/").code, 405);
    }

    #[test]
    fn the_page_needs_no_network() {
        for word in ["http://", "https://", "//cdn", "@import", "src="] {
            assert!(!PAGE.contains(word), "{word}");
        }
    }
}
