//! The loosest manager that writes status alone: it writes every status that the contract admits.
//!
//! The contract is what the objects of the manager cluster decide (`docs/reference/managers.md`, section 2), with the
//! validation of the API server. The exploration asks whether the headline invariants follow from it, whatever the
//! manager does otherwise. [`Rules`] can leave rules out, which shows what depends on them.
//!
//! # Assumptions
//!
//! - The manager counts and records only pods that have ended, each in one of both ways. The cluster of the Job cannot decide
//!   this; MR-30 compares the status with the copies.
//! - A pod has one end: the even pods succeed, and the odd ones fail.
//!
//! # Caveats
//!
//! - A write changes at most two parts of the status at once ([`Change`]). An end with all that belongs to it is one part.
//! - `ready` is 0, and the Job is NonIndexed.

mod alphabet;
mod narrative;

use jobcheck_explorer::engine::{Limits, System, explore};
use jobcheck_spec::apiserver::status_refusals;
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::guards::contract::judge_contract;
use jobcheck_spec::guards::mirror::{MirrorWrite, Past, judge_mirror};
use jobcheck_spec::job::{Job, JobStatus, Uncounted};
use jobcheck_spec::requirement::Findings;
use jobcheck_spec::time::Time;
use jobcheck_spec::uid::Uid;

pub use self::alphabet::{Change, Told, written};
pub use self::narrative::steps;
use crate::check::{Counterexample, Exploration};
use crate::flat::{COMPLETE, FAILED, Instant, times_of};
use crate::scope::{Budget, NOTHING, SMALL, Scope};
use crate::world::Local;

/// The most pods of a Job.
pub const PODS: u8 = 8;

/// The rules that a write must satisfy.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The size of the Job, the steps of the user, and the validation of the API server.
    pub scope: Scope,
    /// Requirements that bind the manager and the API server no longer.
    pub without: Vec<Req>,
}

/// A state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// The status of the Job.
    pub told: Told,
    /// `spec.suspend`.
    pub suspended: bool,
    /// The clock, which advances when the user does something.
    pub now: Instant,
    /// The creation of the Job.
    pub created: Instant,
    /// The number of Jobs that had its name before.
    pub incarnation: u8,
    /// The pods that have ended, a bit for each.
    pub ended: u8,
    /// The pods whose UIDs were recorded, and are not any more.
    pub left_lists: u8,
    /// The times in the last status of the previous Job with this name.
    pub former: u32,
    /// The Job has been suspended since its creation.
    pub never_ran: bool,
    /// The idle writes in a row, at most 2.
    pub idle: u8,
    /// The first end of the Job, [`COMPLETE`] or [`FAILED`].
    pub end: Option<u8>,
    /// The steps of the user that may still happen.
    pub left: Budget,
}

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// The manager writes the status, with one change or two.
    Write(Change, Option<Change>),
    /// A pod ends.
    EndPod(u8),
    /// The user changes `spec.suspend`.
    Suspend(bool),
    /// The user deletes the Job, and creates it again under its name.
    Recreate,
}

/// The headline invariants: the requirement that names each, and its failure.
const HEADLINES: [(Req, &str); 4] = [
    (Req::MR30, "the status counts a pod twice"),
    (Req::TC04, "a finished Job has an active, terminating or recorded pod"),
    (Req::TC05, "completionTime without Complete, or Complete without completionTime"),
    (Req::TC06, "a Job has two ends, or its end is taken back"),
];

/// The pods of a set, which have a bit each.
fn pods(bits: u8) -> impl Iterator<Item = u8> {
    (0..PODS).filter(move |pod| bits >> pod & 1 == 1)
}

/// The first part of the names of all scopes.
pub const FAMILY: &str = "contract";

/// One cluster, one pod, and nothing that happens to the Job.
const PLAIN: Scope = Scope { workers: 0, pods: 1, progress: false, ..SMALL };

/// The default scopes.
#[must_use]
pub fn scopes() -> Vec<Scope> {
    vec![
        Scope {
            name: "contract/suspend",
            about: "every status that the contract admits, and a change of suspend",
            most: Budget { suspends: 1, ..NOTHING },
            ..PLAIN
        },
        Scope {
            name: "contract/recreation",
            about: "every status that the contract admits, for two Jobs of one name",
            most: Budget { recreations: 1, ..NOTHING },
            ..PLAIN
        },
        Scope {
            name: "contract/pods",
            about: "every status that the contract admits, for a pod that succeeds and one that fails",
            pods: 2,
            ..PLAIN
        },
    ]
}

/// Larger scopes, which take minutes.
#[must_use]
pub fn large() -> Vec<Scope> {
    vec![
        Scope {
            name: "contract/large-pods",
            about: "every status that the contract admits, for two pods and a change of suspend",
            pods: 2,
            most: Budget { suspends: 1, ..NOTHING },
            ..PLAIN
        },
        Scope {
            name: "contract/large-suspend",
            about: "every status that the contract admits, and two changes of suspend",
            most: Budget { suspends: 2, ..NOTHING },
            ..PLAIN
        },
    ]
}

impl Rules {
    /// The whole contract, with the validation of the API server.
    #[must_use]
    pub fn whole(scope: Scope) -> Rules {
        Rules { scope, without: Vec::new() }
    }

    /// The contract without some rules. The API server does not check them either.
    #[must_use]
    pub fn without(scope: Scope, without: &[Req]) -> Rules {
        Rules { scope, without: without.to_vec() }
    }

    /// The bounds in words.
    #[must_use]
    pub fn bounds(&self) -> String {
        let pods = format!("pods {}", self.scope.pods);
        std::iter::once(pods).chain(self.scope.most.bounds()).collect::<Vec<_>>().join(", ")
    }

    fn binds(&self, req: Req) -> bool {
        !self.without.contains(&req)
    }

    /// Returns true if the API server accepts this status, and the contract admits it.
    fn admit(&self, before: &Before, state: &State, new: &Told) -> bool {
        let Before { job: old, past } = before;
        let new = state.job(new, &self.scope);
        let is_refused = || status_refusals(&self.scope.rules, old, &new).iter().any(|it| self.binds(it.req));
        if old.status == new.status || is_refused() {
            return false;
        }
        let (mut findings, mut advice) = (Findings::new(), Findings::new());
        let until = Some(Time(i64::from(state.now)));
        let write = MirrorWrite { job: old, new: &new.status, until, skew: 0, past };
        judge_mirror(&write, &mut findings, &mut advice);
        judge_contract(&old.status, &new.status, false, &mut findings);
        !findings.broken.iter().any(|it| self.binds(it.req))
    }
}

/// The Job before a write, as the guards read it.
struct Before {
    job: Job,
    past: Past,
}

impl State {
    /// The first state: the user has just created the Job.
    #[must_use]
    pub fn initial(scope: &Scope) -> State {
        State {
            told: Told::default(),
            suspended: false,
            now: 1,
            created: 1,
            incarnation: 0,
            ended: 0,
            left_lists: 0,
            former: 0,
            never_ran: false,
            idle: 0,
            end: None,
            left: scope.most,
        }
    }

    fn job(&self, told: &Told, scope: &Scope) -> Job {
        let local = Local { suspended: self.suspended, ..Local::new(self.incarnation, self.created) };
        local.with_status(scope, self.status(told))
    }

    fn status(&self, told: &Told) -> JobStatus {
        let [succeeded, failed] = told.lists().map(|pods| self.uids(pods).collect());
        let is_empty = told.listed == 0;
        JobStatus { uncounted: (!is_empty).then_some(Uncounted { succeeded, failed }), ..told.flat.status() }
    }

    /// The UIDs of pods, which have a bit each.
    fn uids(&self, pods: u8) -> impl Iterator<Item = Uid> {
        let first = 1000 + 100 * u128::from(self.incarnation);
        self::pods(pods).map(move |pod| Uid(first + u128::from(pod)))
    }

    fn past(&self, scope: &Scope) -> Past {
        Past {
            former: times_of(self.former),
            never_ran: self.never_ran,
            parallelism: u32::from(scope.size.1),
            idle: u32::from(self.idle),
            counted: self.uids(self.left_lists).collect(),
            ..Past::default()
        }
    }

    fn take(&mut self, step: Step, scope: &Scope) {
        match step {
            Step::Write(first, second) => {
                if let Some(new) = written(self, first, second) {
                    self.write(new, scope);
                }
            }
            Step::EndPod(pod) => self.ended |= 1 << pod,
            Step::Suspend(suspended) => {
                self.left.suspends -= 1;
                self.now += 1;
                self.suspended = suspended;
                self.never_ran &= suspended;
                self.idle = 0;
            }
            Step::Recreate => {
                let left = Budget { recreations: self.left.recreations - 1, ..self.left };
                let (now, former) = (self.now + 1, self.told.flat.all_times());
                let incarnation = self.incarnation + 1;
                *self = State { now, created: now, incarnation, former, left, ..State::initial(scope) };
            }
        }
    }

    fn write(&mut self, new: Told, scope: &Scope) {
        let mut past = self.past(scope);
        past.note_status(&self.status(&self.told), &self.status(&new));
        self.idle = u8::try_from(past.idle).unwrap_or(u8::MAX).min(2);
        self.left_lists |= self.told.listed & !new.listed;
        self.told = new;
        let ended = [COMPLETE, FAILED].into_iter().find(|kind| new.flat.is(*kind));
        self.end = self.end.or(ended.and_then(|kind| u8::try_from(kind).ok()));
    }

    /// The number of the first headline invariant that is broken.
    fn broken(&self) -> Option<usize> {
        let Told { flat, listed } = self.told;
        let [succeeded, failed] = Told { flat, listed: self.ended }.lists().map(u8::count_ones);
        let [recorded, recorded_failed] = self.told.lists().map(u8::count_ones);
        let is_end = |kind: usize| self.end.is_some_and(|end| usize::from(end) == kind);
        let holds = [
            u32::from(flat.succeeded) + recorded <= succeeded
                && u32::from(flat.failed) + recorded_failed <= failed,
            !flat.is_finished() || (flat.living() == 0 && listed == 0),
            (flat.end > 0) == flat.is(COMPLETE),
            [COMPLETE, FAILED].into_iter().all(|kind| flat.is(kind) == is_end(kind)),
        ];
        holds.iter().position(|holds| !holds)
    }
}

impl Step {
    /// The names of the kinds of steps.
    pub const KINDS: [&'static str; 4] = [
        "the manager writes the status",
        "a pod ends",
        "the user changes suspend",
        "the user deletes the Job and creates it again",
    ];
}

impl System for Rules {
    type State = State;
    type Step = Step;
    type Scratch = ();

    const KINDS: usize = Step::KINDS.len();

    fn scratch(&self) {}

    fn initial(&self, (): &mut ()) -> Vec<State> {
        vec![State::initial(&self.scope)]
    }

    fn steps(&self, (): &mut (), state: &State, steps: &mut Vec<Step>) {
        let before = Before { job: state.job(&state.told, &self.scope), past: state.past(&self.scope) };
        alphabet::writes(state, |first, second, new| {
            if self.admit(&before, state, new) {
                steps.push(Step::Write(first, second));
            }
        });
        steps.extend((0..self.scope.pods).filter(|pod| state.ended >> pod & 1 == 0).map(Step::EndPod));
        let Budget { suspends, recreations, .. } = state.left;
        steps.extend((suspends > 0).then_some(Step::Suspend(!state.suspended)));
        steps.extend((recreations > 0).then_some(Step::Recreate));
    }

    fn apply(&self, (): &mut (), state: &State, step: &Step) -> State {
        let mut state = *state;
        state.take(*step, &self.scope);
        state
    }

    fn look(&self, (): &mut (), state: &State, _: &[Step]) -> Option<usize> {
        state.broken()
    }

    fn kind(&self, step: &Step) -> usize {
        match step {
            Step::Write(..) => 0,
            Step::EndPod(_) => 1,
            Step::Suspend(_) => 2,
            Step::Recreate => 3,
        }
    }
}

/// Explores the statuses that these rules admit.
#[must_use]
pub fn explore_contract(rules: &Rules, limits: &Limits<'_>) -> Exploration<Step> {
    let run = explore(rules, limits);
    Exploration::of(rules, &run, |property, path| {
        let (req, why) = HEADLINES[property];
        Counterexample { req, why: why.to_owned(), path, cycle_start: None }
    })
}
