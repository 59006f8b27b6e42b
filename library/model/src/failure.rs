//! The message of a check that fails.

use std::fmt::{self, Display, Formatter, Write as _};

use jobcheck_explorer::counterexample::Counterexample;
use jobcheck_explorer::narrative::{CYCLE_FOLLOWS, NOTHING_FOLLOWS, Narrative, cause};
use jobcheck_explorer::properties::PROPERTIES;
use jobcheck_explorer::scope::Scope as Explored;
use jobcheck_spec::catalogue::Req;

use crate::replay::Replay;

/// The reason why a check fails. Its text has everything that a person needs.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The kind of failure.
    pub kind: FailureKind,
    /// The string that takes the story again, for the environment variable `JOBCHECK_REPLAY`.
    pub replay: Option<String>,
    text: String,
}

/// The kind of failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The controller breaks this requirement; `None` if it gets stuck.
    Broken(Option<Req>),
    /// The premises of these requirements are never met, so that nothing is shown about them.
    Vacuous(Vec<Req>),
    /// The search was cut, so that nothing is proved.
    Cut,
}

impl Failure {
    pub(crate) fn broken(explored: &Explored, found: &Counterexample) -> Failure {
        let narrative = Narrative::of(explored, found, None);
        let replay = Replay::of(explored, found).to_string();
        let mut text = format!("your controller breaks the specification in the scope {}\n", explored.name);
        tell(&narrative, &mut text);
        let _ = writeln!(
            text,
            "\nsee this story alone: {}={replay} cargo test{}",
            crate::explore::REPLAY,
            this_test()
        );
        let kind = FailureKind::Broken(cause(explored, found));
        Failure { kind, replay: Some(replay), text }
    }

    /// The failure, below the reason why a replay string was not used.
    pub(crate) fn after(mut self, reason: &str) -> Failure {
        self.text = format!("{} was not used: {reason}\n{}", crate::explore::REPLAY, self.text);
        self
    }

    /// A story of two clusters. It has no replay string: its scopes take seconds.
    pub(crate) fn of_a_mirror(scope: &str, req: Req, lines: &[String]) -> Failure {
        let mut text = format!("your manager breaks {req} in the scope {scope}\n");
        let _ = writeln!(text, "  {req}: {}", req.entry().sentence);
        for (number, line) in lines.iter().enumerate() {
            let _ = writeln!(text, "{:>4}. {line}", number + 1);
        }
        Failure { kind: FailureKind::Broken(Some(req)), replay: None, text }
    }

    pub(crate) fn of_missed_premises(scope: &str, missed: &[Req]) -> Failure {
        let rows = missed.iter().map(|req| (*req, req.entry().sentence));
        Failure::unmet(scope, "mirror protocol", rows.collect())
    }

    pub(crate) fn vacuous(scope: &str, missed: &[usize]) -> Failure {
        let rows = missed.iter().map(|number| (PROPERTIES[*number].req, PROPERTIES[*number].name));
        Failure::unmet(scope, "reference algorithm", rows.collect())
    }

    fn unmet(scope: &str, model: &str, rows: Vec<(Req, &'static str)>) -> Failure {
        let mut text = format!(
            "the scope {scope} shows nothing about these requirements, because their premise is never met:\n"
        );
        for (req, sentence) in &rows {
            let _ = writeln!(text, "  {:<6} {sentence}", req.id());
        }
        let _ = write!(
            text,
            "the {model} meets them in this scope, so a behaviour is missing; allow_vacuous() accepts that"
        );
        let reqs = rows.into_iter().map(|(req, _)| req).collect();
        Failure { kind: FailureKind::Vacuous(reqs), replay: None, text }
    }

    pub(crate) fn cut(scope: &str, states: usize) -> Failure {
        let text = format!(
            "the scope {scope} has more than {states} states; the search was cut, and proves nothing\n\
             make the scope smaller, use safety_only(), or raise max_states()"
        );
        Failure { kind: FailureKind::Cut, replay: None, text }
    }
}

impl Display for Failure {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl std::error::Error for Failure {}

/// The name of the running test behind a space, by which `cargo test` runs it alone. Its thread has this name.
fn this_test() -> String {
    let thread = std::thread::current();
    thread.name().filter(|name| *name != "main").map_or_else(String::new, |name| format!(" {name}"))
}

/// The head, the numbered steps, and the end of a counterexample.
fn tell(narrative: &Narrative, text: &mut String) {
    for line in &narrative.head {
        let _ = writeln!(text, "  {line}");
    }
    for (number, line) in narrative.lines.iter().enumerate() {
        if narrative.cycle_start == Some(number) {
            let _ = writeln!(text, "      {CYCLE_FOLLOWS}");
        }
        let _ = writeln!(text, "{:>4}. {} {}", number + 1, line.who, line.what);
        for note in line.notes(narrative.asked) {
            let _ = writeln!(text, "      {note}");
        }
    }
    if narrative.stutters() {
        let _ = writeln!(text, "      {NOTHING_FOLLOWS}");
    }
    let _ = writeln!(text, "  {}", narrative.end);
}
