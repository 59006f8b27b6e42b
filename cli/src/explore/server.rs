//! The HTTP server: one page, and what it asks for.

use std::net::SocketAddr;

use anstream::eprintln;
use jobcheck_harness::report::Exit;
use serde_json::{Value, json};
use tiny_http::{Header, Method, Request, Response, Server};

use super::show::Explorer;
use crate::output;

/// Everything that the browser needs.
const PAGE: &str = include_str!("page.html");

/// What is answered to a request.
struct Reply {
    code: u16,
    kind: &'static str,
    body: Vec<u8>,
}

/// Serves until the process is interrupted.
pub fn serve(explorer: &Explorer, address: SocketAddr) -> Exit {
    let server = match Server::http(address) {
        Ok(server) => server,
        Err(error) => {
            eprintln!("error: cannot listen on {address}: {error}");
            return Exit::Environment;
        }
    };
    let Some(address) = server.server_addr().to_ip() else { return Exit::Environment };
    let start = explorer.start();
    let fragment = if start.is_empty() { String::new() } else { format!("#{start}") };
    let printed = output::print(&format!("http://{address}/{fragment}\n"), Exit::Conforms);
    if printed != Exit::Conforms {
        return printed;
    }
    for request in server.incoming_requests() {
        let reply = answer(explorer, request.method(), request.url());
        // A browser that has gone away is no error.
        let _ = send(request, reply);
    }
    Exit::Conforms
}

fn send(request: Request, reply: Reply) -> std::io::Result<()> {
    let policy =
        "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'";
    let headers =
        [("Content-Type", reply.kind), ("Cache-Control", "no-store"), ("Content-Security-Policy", policy)];
    let mut response = Response::from_data(reply.body).with_status_code(reply.code);
    for (name, value) in headers {
        if let Ok(header) = Header::from_bytes(name, value) {
            response.add_header(header);
        }
    }
    request.respond(response)
}

/// The answer to a request for this address.
fn answer(explorer: &Explorer, method: &Method, url: &str) -> Reply {
    if *method != Method::Get {
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
    use jobcheck_model::mutants::Mutant;
    use jobcheck_model::{Req, scopes};

    use super::*;

    fn get(explorer: &Explorer, url: &str) -> (u16, Value) {
        let reply = answer(explorer, &Method::Get, url);
        (reply.code, serde_json::from_slice(&reply.body).unwrap_or_default())
    }

    fn plain() -> Explorer {
        Explorer::new(scopes::named("non-indexed").unwrap(), None, Vec::new())
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
        let path = mutant.hunt().found().unwrap().path.clone();
        let length = path.len();
        let explorer = Explorer::new(mutant.scope(), Some(mutant), path);
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

    #[test]
    fn a_step_that_the_specification_forbids_is_marked_where_its_guard_is_off() {
        let scope = scopes::named("non-indexed").unwrap().without(Req::PC04);
        let explorer = Explorer::new(scope, None, Vec::new());
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
        let reply = answer(&plain(), &Method::Get, "/api/trace?path=0");
        let text = String::from_utf8(reply.body).unwrap();
        assert!(text.starts_with("{\"format\":\"jobcheck.dev/trace\""), "{text}");
    }

    #[test]
    fn what_does_not_exist_is_not_found() {
        let explorer = plain();
        for url in ["/api/state?path=99999", "/api/state?path=x", "/api/trace?path=-1", "/favicon.ico"] {
            assert_eq!(get(&explorer, url).0, 404, "{url}");
        }
        assert_eq!(answer(&explorer, &Method::Post, "/").code, 405);
    }

    #[test]
    fn the_page_needs_no_network() {
        for word in ["http://", "https://", "//cdn", "@import", "src="] {
            assert!(!PAGE.contains(word), "{word}");
        }
    }
}
