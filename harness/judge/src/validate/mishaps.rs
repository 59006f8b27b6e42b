//! Lost responses, refusals by an injected fault, and requests whose sender was replaced in flight. Only fault lines
//! and marks of a native trace show them.

use jobcheck_traces::{Fault, FaultKind, Mark, MarkKind, Request};

use super::delivery::{Delivery, Response, Sender};
use super::event::CONFLICT;

/// Number of restarts that are kept. No request is delayed for longer.
const REMEMBERED: usize = 16;

/// Faults and restarts of the senders.
#[derive(Debug, Default)]
pub struct Mishaps {
    /// Controllers whose next response is lost; `None` for any controller.
    lost: Vec<Option<String>>,
    /// Controllers whose next request is refused by a fault of this kind.
    refused: Vec<(Option<String>, FaultKind)>,
    /// The latest restarts: controller and time.
    restarts: Vec<(String, i64)>,
}

impl Mishaps {
    /// Notes a mark.
    pub fn marked(&mut self, mark: &Mark) {
        let (MarkKind::Restart { actor, .. } | MarkKind::Leader { actor }, Some(at)) = (&mark.kind, mark.at)
        else {
            return;
        };
        if self.restarts.len() == REMEMBERED {
            self.restarts.remove(0);
        }
        self.restarts.push((actor.clone(), at));
    }

    /// Notes an injected fault.
    pub fn faulted(&mut self, fault: &Fault) {
        match fault.kind {
            FaultKind::LostResponse => self.lost.push(fault.actor.clone()),
            FaultKind::Conflict | FaultKind::Rejected => {
                self.refused.push((fault.actor.clone(), fault.kind));
            }
            FaultKind::StaleRead
            | FaultKind::Dropped
            | FaultKind::Delay
            | FaultKind::Crash
            | FaultKind::Relist => {}
        }
    }

    /// The agreement between sender and server about this request.
    pub fn delivery(&mut self, request: &Request<'_>) -> Delivery {
        let is_replaced = self.outlives_its_sender(request);
        let injected = self.refuses(request);
        let is_lost = self.loses_answer(request) || is_replaced;
        Delivery {
            response: if is_lost { Response::Lost } else { Response::Heard },
            sender: if is_replaced { Sender::Replaced } else { Sender::Alive },
            injected,
            observer: None,
        }
    }

    /// Returns `true` if the response to this request was lost.
    pub fn loses_answer(&mut self, request: &Request<'_>) -> bool {
        let Some(position) = self.lost.iter().position(|actor| may_send(actor.as_deref(), request)) else {
            return false;
        };
        self.lost.remove(position);
        true
    }

    /// Returns `true` if an injected fault refused this request. It must be the next request of the controller in a
    /// fault line, with a code that fits the fault. With another code the fault did not take effect.
    pub fn refuses(&mut self, request: &Request<'_>) -> bool {
        let Some(position) = self.refused.iter().position(|(actor, _)| may_send(actor.as_deref(), request))
        else {
            return false;
        };
        let (_, kind) = self.refused.remove(position);
        !request.is_accepted() && (kind == FaultKind::Conflict) == (request.code == CONFLICT)
    }

    /// Returns `true` if the sender was replaced before the server had handled the request.
    pub fn outlives_its_sender(&self, request: &Request<'_>) -> bool {
        let between = |at: i64| request.interval.received < at && at < request.interval.done;
        self.restarts.iter().any(|(actor, at)| between(*at) && sends(actor, request))
    }
}

/// Returns `true` if `actor` is the sender, or any sender.
fn may_send(actor: Option<&str>, request: &Request<'_>) -> bool {
    actor.is_none_or(|actor| sends(actor, request))
}

/// Returns `true` if `actor` is the user of the sender, or the last part of its user or user agent.
fn sends(actor: &str, request: &Request<'_>) -> bool {
    is_called(actor, request.actor.user, request.actor.agent)
}

/// Returns `true` if a trace that names `actor` means the sender with this user and user agent.
#[must_use]
pub fn is_called(actor: &str, user: &str, agent: &str) -> bool {
    let ends = |name: &str| name.rsplit(['/', ':']).next() == Some(actor);
    user == actor || ends(user) || ends(agent)
}

#[cfg(test)]
mod tests {
    use jobcheck_traces::{Body, Input, Reader};

    use super::*;

    /// A DELETE of a pod, with times in microseconds.
    fn request(received: u32, done: u32, user: &str) -> String {
        format!(
            r#"{{"request":{{"received":"2026-11-21T00:00:00.{received:06}Z","done":"2026-11-21T00:00:00.{done:06}Z",
            "level":"Metadata","user":"{user}","verb":"delete","resource":"pods","namespace":"n","name":"p","code":200}}}}"#
        )
        .replace('\n', "")
    }

    /// For each request: its response is lost, its sender is terminated.
    fn mishaps(lines: &[String]) -> Vec<(bool, bool)> {
        asked(lines, |mishaps, request| (mishaps.loses_answer(request), mishaps.outlives_its_sender(request)))
    }

    /// The result of `ask` for each request.
    fn asked<R>(lines: &[String], ask: impl Fn(&mut Mishaps, &Request<'_>) -> R) -> Vec<R> {
        let header = r#"{"format":"jobcheck.dev/trace","version":"1.0"}"#.to_owned();
        let text = std::iter::once(&header).chain(lines).map(String::as_str).collect::<Vec<_>>().join("\n");
        let mut reader = Reader::open(&[Input::Bytes("test".to_owned(), text.into_bytes())]);
        let (mut mishaps, mut met) = (Mishaps::default(), Vec::new());
        while let Some(record) = reader.next().unwrap() {
            match record.body {
                Body::Mark(mark) => mishaps.marked(mark),
                Body::Fault(fault) => mishaps.faulted(fault),
                Body::Request(request) => met.push(ask(&mut mishaps, &request)),
                Body::Header(_) | Body::Watched(_) | Body::Observed(_) | Body::Expected(_) => {}
            }
        }
        met
    }

    #[test]
    fn one_answer_is_lost_for_each_fault_and_to_the_controller_that_is_named() {
        let fault = r#"{"fault":{"kind":"lostResponse","actor":"job-controller"}}"#.to_owned();
        let ours = |at| request(at, at + 1, "system:serviceaccount:kube-system:job-controller");
        let lines = [ours(1), fault, request(3, 4, "admin"), ours(5), ours(7)];
        assert_eq!(mishaps(&lines), [(false, false), (false, false), (true, false), (false, false)]);
    }

    #[test]
    fn a_fault_refuses_the_next_request_of_its_controller_and_only_as_its_kind_says() {
        let fault = |kind: &str| format!(r#"{{"fault":{{"kind":"{kind}","actor":"job-controller"}}}}"#);
        let answered =
            |user: &str, code: &str| request(1, 2, user).replace("\"code\":200", &format!("\"code\":{code}"));
        let refused = |kind: &str, code| {
            let lines = [answered("job-controller", code), fault(kind), answered("admin", code)];
            let after = [answered("job-controller", code), answered("job-controller", code)];
            asked(&[&lines[..], &after].concat(), Mishaps::refuses)
        };
        for (kind, code, by_fault) in [
            ("conflict", "409", true),
            ("conflict", "422", false),
            ("rejected", "409", false),
            ("rejected", "422", true),
            ("rejected", "500", true),
            // The request was accepted, so the fault is over.
            ("rejected", "200", false),
            ("delay", "422", false),
        ] {
            assert_eq!(refused(kind, code), [false, false, by_fault, false], "{kind} {code}");
        }
    }

    #[test]
    fn a_request_that_spans_a_restart_has_a_dead_sender() {
        let mark =
            r#"{"mark":{"at":"2026-11-21T00:00:00.000005Z","kind":"restart","actor":"job-controller"}}"#;
        let lines = [
            mark.to_owned(),
            request(2, 8, "job-controller"),
            request(2, 8, "admin"),
            request(6, 8, "job-controller"),
        ];
        assert_eq!(mishaps(&lines), [(false, true), (false, false), (false, false)]);
    }
}
