//! Refused requests that no rule of the specification explains (`docs/reference/judging.md`, *Refusals without a
//! reason*).
//!
//! A webhook, a quota, or missing permissions may refuse a write that the rules allow. The environment does that, and not
//! the manager, so an obligation that stays open because of it is no violation. The verdict names the refusal.

use std::collections::BTreeMap;

use jobcheck_spec::Uid;
use jobcheck_spec::job::Text;
use jobcheck_spec::obligations::Obligation;
use jobcheck_traces::Verb;
use serde::{Deserialize, Serialize};

use super::event::Event;
use super::setbacks::is_of_terminating_namespace;
use super::track::Track;
use super::verdict::{Note, Owed};

/// Number of equal refusals in a row after which the verdict is inconclusive, even if a later one is accepted.
const MANY: u32 = 5;

/// The last refusals without a reason.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Refusals {
    last: Option<Refusal>,
    /// Pods that the API server did not find.
    pub missing: BTreeMap<Uid, Note>,
    /// The same request was refused [`MANY`] times.
    repeated: Option<Refusal>,
}

/// A request that was refused, perhaps several times in a row.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Refusal {
    request: Request,
    code: u16,
    message: Option<String>,
    at: Note,
    times: u32,
}

/// The verb, the object, and whether the request concerns its status.
type Request = (Verb, Text, bool);

fn request(event: &Event) -> Option<Request> {
    // One sync creates many pods without a name.
    let name = if event.verb == Some(Verb::Create) { "".into() } else { event.name.clone() };
    Some((event.verb?, name, event.is_status))
}

/// Returns `true` for a response after which a client tries again, or that another write explains.
fn is_transient(code: u16) -> bool {
    matches!(code, 404 | 408 | 409 | 410 | 429) || code >= 500
}

impl Refusals {
    /// Notes a refused request of the manager.
    pub fn refused(&mut self, event: &Event, message: Option<&str>) {
        let is_explained = is_transient(event.code)
            || event.delivery.injected
            || message.is_some_and(is_of_terminating_namespace);
        let Some(request) = request(event).filter(|_| !is_explained) else { return };
        let before = self.last.take().filter(|it| it.request == request && it.code == event.code);
        let times = before.map_or(0, |it| it.times) + 1;
        let message = message.filter(|text| !text.is_empty()).map(str::to_owned);
        let refusal =
            Refusal { request, code: event.code, message, at: Note::on(event, String::new()), times };
        if times >= MANY {
            self.repeated = Some(refusal.clone());
        }
        self.last = Some(refusal);
    }

    /// Notes an accepted request of the manager.
    pub fn accepted(&mut self, event: &Event) {
        if self.last.as_ref().is_some_and(|last| Some(&last.request) == request(event).as_ref()) {
            self.last = None;
        }
    }

    /// Returns `true` if a request was refused again and again without which this obligation cannot be met.
    #[must_use]
    pub fn excuses(&self, owed: &Owed) -> bool {
        self.last.as_ref().is_some_and(|last| last.times > 1 && last.hinders(owed.obligation))
    }

    /// The refusal because of which something is left undone, or that came too often.
    #[must_use]
    pub fn reason(&self, pending: &[Owed]) -> Option<Note> {
        let hinders = |it: &&Refusal| pending.iter().any(|owed| it.hinders(owed.obligation));
        let refusal = self.last.as_ref().filter(hinders).or(self.repeated.as_ref())?;
        Some(Note { text: refusal.to_string(), ..refusal.at.clone() })
    }
}

impl Refusal {
    /// Returns `true` if the obligation cannot be met without this request.
    fn hinders(&self, obligation: Obligation) -> bool {
        let (verb, _, is_status) = &self.request;
        match obligation {
            Obligation::Create => *verb == Verb::Create,
            Obligation::DeleteSurplus | Obligation::DeleteSuspended | Obligation::DeleteExpiredJob => {
                *verb == Verb::Delete
            }
            Obligation::FinalizersOfDeletedJob | Obligation::FinalizersOfFinishedJob => !is_status,
            Obligation::Adopt | Obligation::Release => !is_status && *verb == Verb::Patch,
            Obligation::Count => *is_status || *verb == Verb::Patch,
            Obligation::Report
            | Obligation::DropIndexes
            | Obligation::WriteFailed
            | Obligation::WriteComplete
            | Obligation::WriteInterim
            | Obligation::ReportSuspension
            | Obligation::FailAtDeadline => *is_status,
        }
    }
}

impl Track {
    /// Notes that a pod exists. An earlier 404 for it contradicts the log, unless the two requests overlap.
    pub(super) fn contradicts_refusal(&mut self, event: &Event, pod: Uid) {
        let Some(note) = self.trouble.refusal.missing.remove(&pod) else { return };
        let follows = note.time.zip(event.when).is_some_and(|(answered, when)| when.received >= answered);
        if follows {
            self.reserve(note);
        }
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (verb, name, is_status) = &self.request;
        let part = if *is_status { "the status of " } else { "" };
        let name = if name.is_empty() { "a pod" } else { name };
        let reason = self.message.as_deref().unwrap_or("no reason is given");
        let times = if self.times > 1 { format!(", {} times in a row", self.times) } else { String::new() };
        write!(
            f,
            "the API server refuses the {} of {part}{name} with {}{times}, and no rule of the specification says why: {reason}",
            verb.name(),
            self.code
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::delivery::Delivery;
    use super::super::fixtures::{job_write, pod_request};
    use super::*;

    fn refused(code: u16) -> Event {
        Event { code, is_status: true, ..job_write("job", (0, 1), 1) }
    }

    fn after(codes: &[u16]) -> Refusals {
        let mut refusals = Refusals::default();
        codes.iter().for_each(|code| refusals.refused(&refused(*code), Some("denied")));
        refusals
    }

    fn owed(obligation: Obligation) -> Owed {
        Owed { req: jobcheck_spec::Req::FT02, obligation, since: None }
    }

    #[test]
    fn many_equal_refusals_leave_the_verdict_open_and_a_few_only_while_something_is_owed() {
        assert!(after(&[422; 4]).reason(&[]).is_none());
        let reason = after(&[422; 5]).reason(&[]).unwrap().text;
        assert!(reason.contains("422, 5 times in a row") && reason.ends_with("denied"), "{reason}");
        assert!(after(&[403]).reason(&[owed(Obligation::Count)]).is_some());
        assert!(after(&[403]).reason(&[owed(Obligation::Create)]).is_none());
    }

    #[test]
    fn only_who_has_tried_again_is_excused() {
        let (count, create) = (owed(Obligation::Count), owed(Obligation::Create));
        assert!(!after(&[403]).excuses(&count));
        assert!(after(&[403, 403]).excuses(&count));
        assert!(!after(&[403, 403]).excuses(&create));
    }

    #[test]
    fn conflicts_overload_and_server_errors_have_a_reason() {
        for code in [404, 409, 429, 500, 504] {
            assert!(after(&[code; 9]).reason(&[]).is_none(), "{code}");
        }
        let injected = Event { delivery: Delivery { injected: true, ..Delivery::default() }, ..refused(422) };
        let mut refusals = Refusals::default();
        (0..9).for_each(|_| refusals.refused(&injected, None));
        assert!(refusals.reason(&[]).is_none());
    }

    #[test]
    fn an_accepted_request_of_the_same_kind_ends_a_refusal() {
        let mut refusals = after(&[403, 403]);
        refusals.accepted(&pod_request(Verb::Patch, "pod", (2, 3)));
        assert!(refusals.last.is_some());
        refusals.accepted(&Event { is_status: true, ..job_write("job", (2, 3), 2) });
        assert!(refusals.last.is_none());
    }
}
