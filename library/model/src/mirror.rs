//! Checking a manager that writes status alone, between two clusters.

use std::sync::Arc;

use jobcheck_explorer::engine::Limits;
use jobcheck_managers::check::{Exploration, Outcome, explore_within};
use jobcheck_managers::narrative::lines;
pub use jobcheck_managers::protocol::{Base, CopyView, LocalView, Memory, Request, WorkerView};
use jobcheck_managers::scope::{self, Scope};
use jobcheck_managers::subject;
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::time::Time;

use crate::explore::{Explorations, Report, SCOPE, processors};
use crate::failure::Failure;

/// The input of a decision: the caches of the manager cluster and of the workers.
#[derive(Clone, Copy, Debug)]
pub struct Views<'a> {
    /// The Job on the manager cluster. `None` if that cache is not filled yet, and `Some(None)` if it shows no Job.
    pub local: Option<Option<&'a LocalView>>,
    /// The Job of this name on each worker. The number of a worker is its place.
    pub workers: &'a [WorkerView],
    /// The creations that were sent, and that no cache has shown since.
    pub memory: &'a Memory,
    /// The time, in seconds.
    pub now: Time,
}

/// A manager that copies the status of a Job on a worker cluster to the Job on the manager cluster. Only
/// [`Mirror::decide`] is required. A closure with its argument is a mirror, too.
///
/// `decide` is level-triggered, and depends on nothing but its argument. Its requests are sent in any order, and each of
/// them may be the last one before a crash.
pub trait Mirror: Send + Sync + 'static {
    /// The requests to send, given what the caches show.
    fn decide(&self, views: &Views<'_>) -> Vec<Request>;

    /// False if copies have no finalizer of the manager, so that a deleted copy is gone at once.
    fn keeps_copies(&self) -> bool {
        true
    }
}

impl<F> Mirror for F
where
    F: Fn(&Views<'_>) -> Vec<Request> + Send + Sync + 'static,
{
    fn decide(&self, views: &Views<'_>) -> Vec<Request> {
        self(views)
    }
}

struct Explored(Arc<dyn Mirror>);

impl subject::Mirror for Explored {
    fn decide(
        &self,
        local: Option<Option<&LocalView>>,
        workers: &[WorkerView],
        memory: &Memory,
        now: Time,
    ) -> Vec<Request> {
        self.0.decide(&Views { local, workers, memory, now })
    }
}

/// A manager cluster and its workers, with one kind of trouble.
#[derive(Clone, Debug)]
pub struct MirrorScope(Scope);

impl MirrorScope {
    /// The scope of `jobcheck check --subject mirror` with this name, such as `managers/lost-copy`; `None` if there is
    /// none.
    #[must_use]
    pub fn named(name: &str) -> Option<MirrorScope> {
        scope::named(name).map(MirrorScope)
    }

    /// A crash, a deleted copy, and a Job of somebody else. They take seconds together.
    #[must_use]
    pub fn smoke() -> Vec<MirrorScope> {
        let names = ["managers/plain", "managers/lost-copy", "managers/stranger"];
        names.into_iter().filter_map(MirrorScope::named).collect()
    }

    /// Every scope that is explored in seconds.
    #[must_use]
    pub fn all() -> Vec<MirrorScope> {
        scope::all().into_iter().map(MirrorScope).collect()
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.name
    }

    fn of(&self, mirror: Arc<dyn Mirror>) -> Scope {
        let mutations: &[subject::Mutation] =
            if mirror.keeps_copies() { &[] } else { &[subject::Mutation::HasNoFinalizer] };
        let subject = subject::Subject { name: "your manager", mutations };
        // Recommendations bind the protocol alone.
        Scope { subject, mirror: Some(Arc::new(Explored(mirror))), advice: false, ..self.0.clone() }
    }
}

/// A check of a mirror that is being put together. [`explore_mirror`] begins one.
pub struct ExploreMirror {
    scopes: Vec<MirrorScope>,
    mirror: Option<Arc<dyn Mirror>>,
    allows_vacuous: bool,
}

/// Begins a check of a manager between two clusters.
///
/// ```
/// use jobcheck_model::{MirrorScope, Views, explore_mirror};
///
/// // It never does anything.
/// let scope = MirrorScope::named("managers/plain").expect("the scope exists");
/// let failure = explore_mirror().scope(scope).mirror(|_: &Views| Vec::new()).run();
/// println!("{}", failure.expect_err("the Job never ends"));
/// ```
#[must_use]
pub fn explore_mirror() -> ExploreMirror {
    ExploreMirror { scopes: Vec::new(), mirror: None, allows_vacuous: false }
}

impl ExploreMirror {
    /// Adds a scope. Without one, [`MirrorScope::smoke`] is checked.
    #[must_use]
    pub fn scope(mut self, scope: MirrorScope) -> ExploreMirror {
        self.scopes.push(scope);
        self
    }

    /// Adds scopes.
    #[must_use]
    pub fn scopes(mut self, scopes: impl IntoIterator<Item = MirrorScope>) -> ExploreMirror {
        self.scopes.extend(scopes);
        self
    }

    /// The manager.
    #[must_use]
    pub fn mirror(mut self, mirror: impl Mirror) -> ExploreMirror {
        self.mirror = Some(Arc::new(mirror));
        self
    }

    /// Accepts that a premise is never met, although the mirror protocol meets it in the same scope.
    #[must_use]
    pub fn allow_vacuous(mut self) -> ExploreMirror {
        self.allows_vacuous = true;
        self
    }

    /// Explores every scope.
    ///
    /// # Panics
    ///
    /// As [`Explore::check`](crate::Explore::check) does.
    #[track_caller]
    #[expect(clippy::must_use_candidate, reason = "the check is the panic")]
    pub fn check(self) -> Report {
        match self.run() {
            Ok(report) => report,
            Err(failure) => panic!("{failure}"),
        }
    }

    /// Explores every scope, without a panic.
    ///
    /// # Errors
    ///
    /// The first scope that fails.
    ///
    /// # Panics
    ///
    /// No mirror was given.
    pub fn run(self) -> Result<Report, Box<Failure>> {
        let wide = std::env::var(SCOPE).is_ok_and(|size| size == "wide");
        let chosen = if self.scopes.is_empty() { MirrorScope::smoke() } else { self.scopes };
        let scopes = if wide { MirrorScope::all() } else { chosen };
        let mirror = self.mirror.expect("a check needs a mirror: explore_mirror().mirror(MyManager)");
        let vacuous = self.allows_vacuous;
        let checked: Result<Vec<Explorations>, Box<Failure>> =
            scopes.iter().map(|scope| checked(scope, mirror.clone(), vacuous)).collect();
        Ok(Report { scopes: checked? })
    }
}

fn checked(
    scope: &MirrorScope,
    mirror: Arc<dyn Mirror>,
    allows_vacuous: bool,
) -> Result<Explorations, Box<Failure>> {
    let with = scope.of(mirror);
    let exploration = search(&with);
    match &exploration.outcome {
        Outcome::Holds => {}
        Outcome::Broken(found) => {
            return Err(Box::new(Failure::of_a_mirror(scope.name(), found.req, &lines(&with, found))));
        }
        Outcome::NotFinished(_) => return Err(Box::new(Failure::cut(scope.name(), exploration.states))),
    }
    if !allows_vacuous {
        let protocol = search(&scope.0);
        let missed = |req: &&Req| !exploration.premises.contains(req);
        let missed: Vec<Req> = protocol.premises.iter().filter(missed).copied().collect();
        if !missed.is_empty() {
            return Err(Box::new(Failure::of_missed_premises(scope.name(), &missed)));
        }
    }
    let Exploration { states, depth, premises: met, .. } = exploration;
    Ok(Explorations { name: scope.name().to_owned(), states, depth, met })
}

fn search(scope: &Scope) -> Exploration {
    explore_within(scope, &Limits::none(processors()))
}
