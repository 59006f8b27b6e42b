//! Aggregators: managers whose Job sums up several copies, its members (MR-30 to MR-33).
//!
//! [`protocol`] is the smallest protocol of an aggregator, a pure function. [`explore_aggregate`] explores it: members run on two
//! clusters, somebody deletes them, caches lag, and the manager crashes. The guards of the contract and the rules of the
//! API server judge each write. The counters are compared with what the members have really counted.
//! [`defects`] has mutations of the protocol, and each breaks a requirement.
//!
//! # Progress
//!
//! From every reachable state the Job ends, and no member keeps the finalizer. Requests with up-to-date caches and due
//! writes of executors are strongly fair.

pub mod defects;
mod narrative;
pub mod protocol;
pub mod world;

use jobcheck_explorer::engine::{Limits, System, explore};
use jobcheck_spec::apiserver::RuleSet;
use jobcheck_spec::catalogue::Req;

use self::defects::Defect;
pub use self::narrative::steps;
use self::world::{CLUSTERS, Call, State, Step};
use crate::check::{Counterexample, Exploration};
use crate::executor::Move;
use crate::progress::{Fair, Settling, check_progress};
use crate::scope::{Budget, NOTHING};

/// A bounded configuration.
#[derive(Clone, Debug)]
pub struct Scope {
    /// The name in options and reports.
    pub name: &'static str,
    /// The description that a list shows.
    pub about: &'static str,
    /// `completions` and `parallelism` of the Job.
    pub completions: u8,
    /// The largest number of pods of all members.
    pub pods: u8,
    /// The largest number of crashes, and of deletions of a member by somebody else.
    pub most: Budget,
    /// True if the members are of a Kubernetes without interim conditions and `terminating`.
    pub older: bool,
    /// The mutation of the protocol.
    pub defect: Option<Defect>,
    /// The rules of the API server of the manager cluster.
    pub rules: RuleSet,
    /// The requirements that are checked; all of them if it is `None`.
    pub asked: Option<Vec<Req>>,
}

impl Scope {
    /// Returns true if a finding of this requirement counts.
    #[must_use]
    pub fn asks(&self, req: Req) -> bool {
        self.asked.as_ref().is_none_or(|asked| asked.contains(&req))
    }

    /// The scope with a defect.
    #[must_use]
    pub fn with(self, defect: Defect) -> Scope {
        Scope { defect: Some(defect), ..self }
    }

    /// The bounds in words.
    #[must_use]
    pub fn bounds(&self) -> String {
        let mut parts = vec![format!("clusters {CLUSTERS}"), format!("pods {}", self.pods)];
        parts.extend(self.most.bounds());
        parts.join(", ")
    }
}

/// The first part of the names of all scopes.
pub const FAMILY: &str = "aggregate";

const PLAIN: Scope = Scope {
    name: "aggregate/plain",
    about: "two members at a time, and nothing that happens to them",
    completions: 2,
    pods: 2,
    most: NOTHING,
    older: false,
    defect: None,
    rules: RuleSet::V1_36,
    asked: None,
};

/// A crash of the manager.
const CRASH: Budget = Budget { crashes: 1, ..NOTHING };

/// A deletion of a member by somebody else.
const DELETION: Budget = Budget { copy_deletions: 1, ..NOTHING };

/// The default scopes: two members at a time, or one member and one kind of trouble.
#[must_use]
pub fn scopes() -> Vec<Scope> {
    let one = Scope { completions: 1, ..PLAIN };
    vec![
        PLAIN,
        Scope {
            name: "aggregate/crash",
            about: "one member at a time, and the manager crashes",
            most: CRASH,
            ..one.clone()
        },
        Scope {
            name: "aggregate/deletion",
            about: "one member at a time, and somebody deletes it",
            most: DELETION,
            ..one.clone()
        },
        Scope {
            name: "aggregate/older",
            about: "the same with members of a Kubernetes without interim conditions and `terminating`",
            most: DELETION,
            older: true,
            ..one
        },
    ]
}

/// Larger scopes, which take minutes: two members at a time, with trouble.
#[must_use]
pub fn large() -> Vec<Scope> {
    vec![
        Scope {
            name: "aggregate/large-crash",
            about: "two members at a time, and the manager crashes",
            most: CRASH,
            ..PLAIN
        },
        Scope {
            name: "aggregate/large-deletion",
            about: "two members at a time, three pods, and somebody deletes a member",
            most: DELETION,
            pods: 3,
            ..PLAIN
        },
    ]
}

/// The scope with this name.
#[must_use]
pub fn named(name: &str) -> Option<Scope> {
    scopes().into_iter().chain(large()).find(|scope| scope.name == name)
}

impl System for Scope {
    type State = State;
    type Step = Step;
    type Scratch = ();

    const KINDS: usize = Step::KINDS.len();

    fn scratch(&self) {}

    fn initial(&self, (): &mut ()) -> Vec<State> {
        vec![State::initial(self)]
    }

    fn steps(&self, (): &mut (), state: &State, steps: &mut Vec<Step>) {
        if state.broken.is_none() {
            state.enabled(self, steps);
        }
    }

    fn apply(&self, (): &mut (), state: &State, step: &Step) -> State {
        state.after(*step, self).0
    }

    fn look(&self, (): &mut (), state: &State, _: &[Step]) -> Option<usize> {
        state.broken.map(|req| req as usize)
    }

    fn kind(&self, step: &Step) -> usize {
        step.kind()
    }
}

impl Settling for Scope {
    type Action = Action;

    fn open_obligation(&self, (): &mut (), state: &State) -> Option<(Req, String)> {
        state.open_obligation().map(|(req, why)| (req, why.to_owned()))
    }

    fn actions(&self, (): &mut (), state: &State, steps: &mut dyn Iterator<Item = &Step>) -> Vec<Action> {
        let due = state.due(self);
        steps.map(|step| action(step, state, &due, self)).collect()
    }

    fn fairness(action: Action) -> Fair {
        if action == Action::Unfair { Fair::Never } else { Fair::Strongly }
    }
}

/// Explores a scope, with progress.
#[must_use]
pub fn explore_aggregate(scope: &Scope, limits: &Limits<'_>) -> Exploration<Step> {
    let run = explore(scope, limits);
    let mut exploration = Exploration::of(scope, &run, |_, path| broken(scope, path));
    if exploration.holds() {
        check_progress(scope, &run, &mut exploration);
    }
    exploration
}

/// Steps that share one fairness assumption.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Action {
    Unfair,
    Request(Call),
    Execute(usize, Move),
}

fn action(step: &Step, state: &State, due: &[Call], scope: &Scope) -> Action {
    match step {
        Step::Request(_, call) if due.contains(call) => Action::Request(*call),
        Step::Execute(cluster, it) => {
            let member = state.members[*cluster];
            let is_due = member.is_some_and(|member| it.is_due(&state.task(&member, scope), &member.shown()));
            if is_due { Action::Execute(*cluster, *it) } else { Action::Unfair }
        }
        Step::Request(..) | Step::Delete(_) | Step::Crash => Action::Unfair,
    }
}

/// The counterexample at the end of a path, which is taken again.
fn broken(scope: &Scope, path: Vec<Step>) -> Counterexample<Step> {
    let (last, before) = path.split_last().expect("the first state is not broken");
    let state = before.iter().fold(State::initial(scope), |state, step| state.after(*step, scope).0);
    let (state, findings) = state.after(*last, scope);
    let req = state.broken.expect("the search ended because a requirement is broken");
    let why = findings.broken.iter().find(|it| it.req == req).map_or_else(String::new, ToString::to_string);
    Counterexample { req, why, path, cycle_start: None }
}
