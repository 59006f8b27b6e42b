//! Answers that never arrive: the trace says that one was lost, or its sender was replaced meanwhile.

use jobcheck_traces::{Fault, FaultKind, Mark, MarkKind, Request};

/// Restarts that are remembered: a request is not held back for longer than so many.
const REMEMBERED: usize = 16;

/// What happened to controllers that send requests.
#[derive(Debug, Default)]
pub struct Mishaps {
    /// Controllers whose next request is not answered; `None` is any.
    lost: Vec<Option<String>>,
    /// The latest restarts: which controller, and when.
    restarts: Vec<(String, i64)>,
}

impl Mishaps {
    /// The trace marks something.
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

    /// The trace says that a fault was injected.
    pub fn faulted(&mut self, fault: &Fault) {
        if fault.kind == FaultKind::LostResponse {
            self.lost.push(fault.actor.clone());
        }
    }

    /// Whether this is the request whose answer is lost.
    pub fn loses_answer(&mut self, request: &Request<'_>) -> bool {
        let is_meant = |actor: &Option<String>| actor.as_deref().is_none_or(|actor| sends(actor, request));
        let Some(position) = self.lost.iter().position(is_meant) else { return false };
        self.lost.remove(position);
        true
    }

    /// Whether the process that sent this was replaced before the server had handled it.
    pub fn outlives_its_sender(&self, request: &Request<'_>) -> bool {
        let between = |at: i64| request.interval.received < at && at < request.interval.done;
        self.restarts.iter().any(|(actor, at)| between(*at) && sends(actor, request))
    }
}

/// Whether a controller that the trace names is the client: by its user, or by the end of either name.
fn sends(actor: &str, request: &Request<'_>) -> bool {
    is_called(actor, request.actor.user, request.actor.agent)
}

/// Whether a trace that names this controller means the client with this user and agent.
#[must_use]
pub fn is_called(actor: &str, user: &str, agent: &str) -> bool {
    let ends = |name: &str| name.rsplit(['/', ':']).next() == Some(actor);
    user == actor || ends(user) || ends(agent)
}

#[cfg(test)]
mod tests {
    use jobcheck_traces::{Body, Input, Reader};

    use super::*;

    /// A DELETE of a pod, in microseconds of 2026.
    fn request(received: u32, done: u32, user: &str) -> String {
        format!(
            r#"{{"request":{{"received":"2026-11-21T00:00:00.{received:06}Z","done":"2026-11-21T00:00:00.{done:06}Z",
            "level":"Metadata","user":"{user}","verb":"delete","resource":"pods","namespace":"n","name":"p","code":200}}}}"#
        )
        .replace('\n', "")
    }

    /// For each request, whether its answer is lost, and whether its sender is dead.
    fn mishaps(lines: &[String]) -> Vec<(bool, bool)> {
        let header = r#"{"format":"jobcheck.dev/trace","version":"1.0"}"#.to_owned();
        let text = std::iter::once(&header).chain(lines).map(String::as_str).collect::<Vec<_>>().join("\n");
        let mut reader = Reader::open(&[Input::Bytes("test".to_owned(), text.into_bytes())]);
        let (mut mishaps, mut met) = (Mishaps::default(), Vec::new());
        while let Some(record) = reader.next().unwrap() {
            match record.body {
                Body::Mark(mark) => mishaps.marked(mark),
                Body::Fault(fault) => mishaps.faulted(fault),
                Body::Request(request) => {
                    met.push((mishaps.loses_answer(&request), mishaps.outlives_its_sender(&request)));
                }
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
