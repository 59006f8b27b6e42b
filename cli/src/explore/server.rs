//! The HTTP server of the page and its API.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::{Method, Request, Response};
use jobcheck_judge::report::Exit;
use jobcheck_look::digest;
use jobcheck_rulebook::section;
use jobcheck_serve::{HttpServer, Limits, origin};
use jobcheck_spec::Req;
use serde_json::{Value, json};

use super::show::Explorer;
use crate::output;
use crate::signals;

/// Styles after those of all pages, the script, and the parts of the page that the script fills.
const STYLE: &str = include_str!("assets/page.css");
const SCRIPT: &str = include_str!("assets/page.js");
const FRAME: &str = include_str!("assets/frame.html");

/// The page, with its styles and script.
static PAGE: LazyLock<String> = LazyLock::new(|| {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>jobcheck explore</title>\n<style>{}{STYLE}</style>\n</head>\n<body>\n{FRAME}<script>{SCRIPT}</script>\n\
         </body>\n</html>\n",
        jobcheck_look::STYLE
    )
});

/// The policy of the page: its own style and script, and requests to this server.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let style = digest(&format!("{}{STYLE}", jobcheck_look::STYLE));
    format!(
        "default-src 'none'; script-src '{}'; style-src '{style}'; img-src data:; connect-src 'self'",
        digest(SCRIPT)
    )
});

/// The longest time for the head of a request, so that a silent client does not keep its connection.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// The response to a request.
struct Reply {
    code: u16,
    kind: &'static str,
    body: Vec<u8>,
}

/// Serves until Ctrl-C. Returns the exit code if that is not possible.
pub fn serve(explorer: Explorer, address: SocketAddr) -> Exit {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            output::error(format!("cannot start the server: {error}"));
            return Exit::Environment;
        }
    };
    runtime.block_on(listen(Arc::new(explorer), address))
}

async fn listen(explorer: Arc<Explorer>, address: SocketAddr) -> Exit {
    let server = match HttpServer::bind(address).await {
        Ok(server) => server.limited_to(Limits { head_time: Some(HEAD_TIMEOUT), ..Limits::default() }),
        Err(error) => {
            output::error(format!("cannot listen on {address}: {error}"));
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
    output::note("open this address in a browser; Ctrl-C ends the server");
    let handler = move |request| {
        let response = response(reply(&explorer, &request));
        async { Ok::<_, Infallible>(response) }
    };
    let stop = match signals::listen() {
        Ok(stop) => stop,
        Err(error) => {
            output::error(format!("cannot listen to signals: {error}"));
            return Exit::Environment;
        }
    };
    match server.serve(handler, stop.cancelled_owned()).await {
        Ok(()) => Exit::Conforms,
        Err(error) => {
            output::error(format!("cannot listen on {address} any longer: {error}"));
            Exit::Environment
        }
    }
}

/// The reply to a request. Only GET is accepted, so that no body is read.
fn reply(explorer: &Explorer, request: &Request<Incoming>) -> Reply {
    let target = request.uri().path_and_query().map_or("/", |it| it.as_str());
    if origin::is_for_another_host(request.headers()) {
        return failed(403, "this page is for this machine only; use its address");
    }
    answer(explorer, request.method(), target)
}

fn response(reply: Reply) -> Response<Full<Bytes>> {
    Response::builder()
        .status(reply.code)
        .header("Content-Type", reply.kind)
        .header("Cache-Control", "no-store")
        .header("Connection", "close")
        .header("Content-Security-Policy", POLICY.as_str())
        .body(Full::from(reply.body))
        .expect("the headers are constants, and the codes are three digits")
}

/// The response to a request for this URL.
fn answer(explorer: &Explorer, method: &Method, url: &str) -> Reply {
    if method != Method::GET {
        return failed(405, "only GET is allowed");
    }
    let (resource, query) = url.split_once('?').unwrap_or((url, ""));
    let argument = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name)).unwrap_or_default();
    let path = argument("path=");
    match resource {
        "/" => Reply { code: 200, kind: "text/html; charset=utf-8", body: PAGE.as_str().into() },
        "/api/scope" => found(&explorer.about()),
        "/api/state" => match explorer.state(path) {
            Some(state) => found(&state),
            None => failed(404, "there is no such path through this scope"),
        },
        "/api/trace" => match explorer.trace(path) {
            Some(body) => Reply { code: 200, kind: "application/x-ndjson", body },
            None => failed(404, "there is no such path through this scope"),
        },
        "/api/rule" => match Req::parse(argument("id=")).and_then(section) {
            Some(section) => found(&json!({
                "id": section.id,
                "sentence": section.sentence,
                "details": section.details,
                "reason": section.reason,
                "example": section.example,
                "source": section.source,
            })),
            None => failed(404, "there is no such rule"),
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

    fn get(explorer: &Explorer, url: &str) -> (u16, Value) {
        let reply = answer(explorer, &Method::GET, url);
        (reply.code, serde_json::from_slice(&reply.body).unwrap_or_default())
    }

    fn plain() -> Explorer {
        Explorer::new(scopes::named("non-indexed").unwrap(), None, None)
    }

    #[test]
    fn the_initial_state_offers_steps_and_each_of_them_can_be_taken() {
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
        // The state before the last one offers the last step, with the requirement that it breaks.
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

    /// The broken progress property at the end of a path, the mark, and the steps that continue the cycle.
    fn progress(explorer: &Explorer, path: &[&str]) -> (Value, Value, Vec<String>) {
        let (code, state) = get(explorer, &format!("/api/state?path={}", path.join(".")));
        assert_eq!(code, 200, "{path:?}");
        let of_progress = |it: &&Value| it["property"] == PROGRESS;
        let broken = state["broken"].as_array().unwrap().iter().find(of_progress).cloned();
        let next = state["next"].as_array().unwrap().iter().filter(|step| step["continues"] == true);
        let next = next.map(|step| step["path"].as_str().unwrap().to_owned()).collect();
        (broken.unwrap_or_default(), state["mark"].clone(), next)
    }

    /// For each defect that breaks no single write, the page marks the cycle, which can be taken twice.
    #[test]
    fn the_cycle_of_a_job_that_never_finishes_is_marked_and_can_be_taken() {
        let (mut cycles, mut quiescent) = (0, 0);
        for mutant in MUTANTS.iter().filter(|mutant| !mutant.breaks_a_safety_property()) {
            let found = mutant.hunt().found().unwrap().clone();
            let turn = found.cycle_start.unwrap();
            let explorer = Explorer::new(mutant.scope(), Some(mutant), Some(&found));
            let start = explorer.start();
            let start: Vec<&str> = start.split('.').collect();
            assert_eq!(start.len(), found.path.len(), "{}", mutant.id);
            let (prefix, cycle) = start.split_at(turn);
            let twice = [prefix, cycle, cycle].concat();
            for length in turn..=twice.len() {
                let (broken, mark, next) = progress(&explorer, &twice[..length]);
                assert_eq!(broken["requirement"], mutant.requirement().id(), "{}", mutant.id);
                assert_eq!(mark["after"], turn, "{}", mutant.id);
                let continued = twice.get(..=length).map(|path| path.join("."));
                assert!(continued.is_none_or(|path| next == [path]), "{}: {next:?}", mutant.id);
                assert_eq!(next.is_empty(), cycle.is_empty(), "{}", mutant.id);
            }
            let nothing = (Value::Null, Value::Null, Vec::new());
            assert_eq!(progress(&explorer, &prefix[..turn - 1]), nothing, "{}", mutant.id);
            if cycle.is_empty() { quiescent += 1 } else { cycles += 1 }
        }
        assert!(cycles > 0 && quiescent > 0, "{cycles} cycles, {quiescent} quiescent");
    }

    #[test]
    fn a_step_that_the_specification_forbids_is_marked_if_its_guard_is_off() {
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
    fn a_path_is_saved_as_a_trace() {
        let reply = answer(&plain(), &Method::GET, "/api/trace?path=0");
        let text = String::from_utf8(reply.body).unwrap();
        assert!(text.starts_with("{\"format\":\"jobcheck.dev/trace\""), "{text}");
    }

    #[test]
    fn unknown_paths_and_pages_are_not_found() {
        let explorer = plain();
        for url in ["/api/state?path=99999", "/api/state?path=x", "/api/trace?path=-1", "/favicon.ico"] {
            assert_eq!(get(&explorer, url).0, 404, "{url}");
        }
        assert_eq!(answer(&explorer, &Method::POST, "/").code, 405);
    }

    #[test]
    fn the_page_needs_no_network() {
        for word in ["http://", "https://", "//cdn", "@import", "src=", "innerHTML", "url("] {
            assert!(!PAGE.contains(word), "{word}");
        }
        assert!(!POLICY.contains("unsafe"));
    }

    #[test]
    fn a_rule_has_its_text() {
        let (code, rule) = get(&plain(), "/api/rule?id=ft-03");
        assert_eq!((code, &rule["id"]), (200, &json!("FT-03")));
        assert!(rule["source"].as_str().unwrap().contains("KEP-2307"), "{rule}");
        assert_eq!(get(&plain(), "/api/rule?id=<b>").0, 404);
        let (_, about) = get(&plain(), "/api/scope");
        assert!(about["rules"].as_array().unwrap().contains(&json!("FT-03")));
    }

    /// The page marks what the last step has changed.
    #[test]
    fn a_state_comes_with_the_jobs_before_the_last_step() {
        let (_, first) = get(&plain(), "/api/state?path=");
        assert_eq!(first["previous"], Value::Null);
        let (_, second) = get(&plain(), "/api/state?path=0");
        assert_eq!(second["previous"], first["jobs"]);
        assert_ne!(second["previous"], second["jobs"]);
    }
}
