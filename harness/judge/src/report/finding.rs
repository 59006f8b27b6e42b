//! Makes findings of violations: with names in place of UIDs, times, senders, and help.

use jobcheck_spec::job::Text;
use jobcheck_spec::obligations::Obligation;
use jobcheck_spec::{Broken, Level, Req, Requirement, Time, Uid};

use super::help;
use super::id::{Id, aliases};
use super::types::{
    BrokenGuard, Difference, Evidence, Finding, FoundAt, Life, Line, Pending, PodFate, PodName, Sender, View,
    named,
};
use crate::validate::actor::{ActorId, Actors};
use crate::validate::verdict::{Owed, ViewRefusal};
use crate::validate::{Note, PodLife, Violation, replaced};

/// The names that the findings of one Job refer to.
pub(super) struct Context<'a> {
    /// The names of the inputs.
    pub names: &'a [String],
    /// The senders of the trace.
    pub actors: &'a Actors,
    /// The namespace of the Job.
    pub namespace: &'a str,
    /// The name of the Job.
    pub job: &'a str,
}

impl Context<'_> {
    fn sender(&self, actor: ActorId) -> Sender {
        let actor = self.actors.get(actor);
        Sender { user: actor.user.to_string(), agent: last_part(&actor.agent).map(str::to_owned) }
    }

    /// The text with `namespace/name` in place of the UIDs of pods.
    fn write(&self, text: &str, pods: &[(Uid, Text)]) -> String {
        replaced(text, |uid| {
            let (_, name) = pods.iter().find(|(known, _)| *known == uid)?;
            Some(format!("{}/{name}", self.namespace))
        })
    }
}

/// The last part of a user agent, which names the controller: `job-controller` of
/// `kube-controller-manager/v1.36.3 (linux/amd64) kubernetes/abc/system:serviceaccount:kube-system:job-controller`.
fn last_part(agent: &str) -> Option<&str> {
    let last = agent.rsplit(['/', ':']).next()?;
    let is_name = !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    if is_name { Some(last) } else { agent.split(['/', ' ']).next().filter(|first| !first.is_empty()) }
}

impl Finding {
    /// Returns `true` if this is about the end of the trace, and about no write. Its line then only names the last record of the
    /// Job.
    #[must_use]
    pub fn is_of_the_end(&self) -> bool {
        let ends = [Violation::END, Violation::BESIDE_COPIES];
        self.place.actor.is_none()
            && self.place.time.is_none()
            && ends.contains(&self.difference.write.as_str())
    }
}

/// The finding of a violation.
pub(super) fn finding(violation: Violation, context: &Context<'_>) -> Finding {
    let (file, number) = named(violation.place, context.names);
    let entry = violation.req().entry();
    let known = violation.known();
    let pods = &violation.names;
    let write = |text: &str| context.write(text, pods);
    Finding {
        requirement: Some(Id(entry.req)),
        also: also(entry),
        known: known.map(Id),
        level: level(entry.level),
        place: FoundAt {
            file,
            line: number,
            time: violation.done.map(precise),
            actor: violation.actor.map(|actor| context.sender(actor)),
        },
        difference: Difference {
            write: write(&violation.write),
            what: violation.broken.what.to_owned(),
            expected: write(&violation.broken.expected.to_string()),
            found: write(&violation.broken.found.to_string()),
        },
        sentence: entry.sentence,
        source: entry.source,
        pods: pods.iter().map(|(uid, name)| pod_name(*uid, name, context)).collect(),
        help: help::sentences(known),
        next: help::commands(known, context.namespace, context.job, pods),
        page: help::page(known.unwrap_or(entry.req)),
        evidence: Evidence {
            views: violation.views.iter().map(|refusal| view(refusal, &write)).collect(),
            story: violation.story.into_iter().map(|note| line(note, context.names)).collect(),
            world: violation.world,
        },
    }
}

/// The violation that `--strict` makes of a warning.
pub(super) fn strict_finding(warning: &Line, context: &Context<'_>) -> Finding {
    let entry = requirement_of(&warning.text).map(Req::entry);
    let text = match (entry, warning.text.split_once(": ")) {
        (Some(_), Some((_, text))) => text.to_owned(),
        _ => warning.text.clone(),
    };
    Finding {
        requirement: entry.map(|entry| Id(entry.req)),
        also: entry.map(|entry| entry.req.also().iter().map(|req| req.id()).collect()).unwrap_or_default(),
        known: None,
        level: "SHOULD",
        place: FoundAt {
            file: warning.file.clone(),
            line: warning.line,
            time: warning.time.clone(),
            actor: None,
        },
        difference: Difference {
            write: "a write with a warning, which --strict counts as a violation".to_owned(),
            what: "advice".to_owned(),
            expected: "no warning".to_owned(),
            found: text,
        },
        sentence: entry
            .map_or("A controller's writes are accepted, and follow the API's advice.", |it| it.sentence),
        source: entry.map_or("judging of refusals", |it| it.source),
        pods: Vec::new(),
        help: Vec::new(),
        next: help::commands(None, context.namespace, context.job, &[]),
        page: entry.map_or_else(help::judging, |entry| help::page(entry.req)),
        evidence: Evidence::default(),
    }
}

/// The requirement at the beginning of a warning.
pub(super) fn requirement_of(warning: &str) -> Option<Req> {
    warning.split_once(':').and_then(|(id, _)| Req::parse(id))
}

/// An open obligation. `holding` are the pods whose finalizer must be removed, which some obligations concern.
pub(super) fn pending(owed: &Owed, holding: &[(Uid, Text)], context: &Context<'_>) -> Pending {
    let concerns_them = matches!(
        owed.obligation,
        Obligation::FinalizersOfDeletedJob | Obligation::FinalizersOfFinishedJob | Obligation::Count
    );
    let pods = holding.iter().filter(|_| concerns_them);
    let since = owed.since.map(|micros| Time(micros.div_euclid(1_000_000)).to_string());
    Pending {
        requirement: Id(owed.req),
        what: owed.obligation.to_string(),
        since,
        pods: pods.map(|(uid, name)| pod_name(*uid, name, context)).collect(),
    }
}

/// A line of an input, with a description.
pub(super) fn line(note: Note, names: &[String]) -> Line {
    let (file, line) = named(note.place, names);
    Line { file, line, time: note.time.map(precise), text: note.text }
}

/// The life of a Job.
pub(super) fn life(life: crate::validate::Life, names: &[String]) -> Life {
    let pod = |pod: PodLife| PodFate {
        pod: pod.name.map_or_else(|| pod.uid.to_string(), |name| name.to_string()),
        uid: pod.uid.to_string(),
        index: pod.index,
        phase: format!("{:?}", pod.phase),
        deleted: pod.deleted,
        gone: pod.gone,
        counted: pod.counted.into_iter().map(|note| line(note, names)).collect(),
    };
    Life {
        events: life.lines.into_iter().map(|note| line(note, names)).collect(),
        left_out: life.left_out,
        pods: life.pods.into_iter().map(pod).collect(),
    }
}

/// A time in microseconds as RFC 3339.
fn precise(micros: i64) -> String {
    let seconds = Time(micros.div_euclid(1_000_000)).to_string();
    format!("{}.{:06}Z", seconds.trim_end_matches('Z'), micros.rem_euclid(1_000_000))
}

fn pod_name(uid: Uid, name: &Text, context: &Context<'_>) -> PodName {
    PodName { namespace: context.namespace.to_owned(), name: name.to_string(), uid: uid.to_string() }
}

/// The aliases of a requirement, and the other ids of the same fact.
fn also(entry: &Requirement) -> Vec<&'static str> {
    aliases(entry.req).chain(entry.req.also().iter().map(|req| req.id())).collect()
}

fn level(level: Level) -> &'static str {
    match level {
        Level::Must => "MUST",
        Level::Should => "SHOULD",
    }
}

fn view(refusal: &ViewRefusal, write: &dyn Fn(&str) -> String) -> View {
    let guard = |broken: &Broken| BrokenGuard {
        requirement: Id(broken.req),
        what: broken.what.to_owned(),
        expected: write(&broken.expected.to_string()),
        found: write(&broken.found.to_string()),
    };
    View {
        job_lag: refusal.job_lag,
        pod_lag: refusal.pod_lag,
        broken: refusal.broken.iter().map(guard).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_part_of_a_user_agent_names_the_controller() {
        let shared = "kube-controller-manager/v1.36.3 (linux/amd64) kubernetes/abc";
        for (agent, part) in [
            (format!("{shared}/job-controller"), Some("job-controller")),
            (format!("{shared}/system:serviceaccount:kube-system:job-controller"), Some("job-controller")),
            ("kubectl/v1.36.3 (linux/amd64) kubernetes/0a1".to_owned(), Some("kubectl")),
            ("acme".to_owned(), Some("acme")),
            (String::new(), None),
        ] {
            assert_eq!(last_part(&agent), part, "{agent}");
        }
    }

    #[test]
    fn times_have_microseconds() {
        assert_eq!(precise(1_500_000), "1970-01-01T00:00:01.500000Z");
        assert_eq!(precise(-1), "1969-12-31T23:59:59.999999Z");
    }
}
