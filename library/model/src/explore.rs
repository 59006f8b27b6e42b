//! Checking a subject in scopes.

use std::sync::Arc;
use std::thread::available_parallelism;

use jobcheck_explorer::check::{Bounds, Exploration, Outcome, explore as search, symmetry_is_sound};
use jobcheck_explorer::mutations::{Mutation, Mutations};
use jobcheck_explorer::properties::PROPERTIES;
use jobcheck_explorer::scope::{Algorithm, Scope as Explored};
use jobcheck_spec::catalogue::Req;

use crate::failure::Failure;
use crate::replay::Replay;
use crate::scope::Scope;
use crate::subject::{self, Subject};

/// The environment variable that widens every scope: `JOBCHECK_SCOPE=wide`.
pub const SCOPE: &str = "JOBCHECK_SCOPE";

/// The environment variable with a replay string, which takes the story of an earlier failure again. A check to which the
/// string does not apply explores its scopes; if it fails, its message says why.
pub const REPLAY: &str = "JOBCHECK_REPLAY";

/// The most states of a scope, unless [`Explore::max_states`] says otherwise.
const MOST_STATES: usize = 2_000_000;

/// A check that is being put together. [`explore`] begins one.
pub struct Explore {
    scopes: Vec<Scope>,
    subject: Option<Arc<dyn Subject>>,
    accepted: Vec<Req>,
    allows_vacuous: bool,
    progress: bool,
    max_states: usize,
    threads: Option<usize>,
}

/// Begins a check: every behaviour of a controller in small clusters.
///
/// ```no_run
/// use jobcheck_model::{Api, Scope, Seen, Stop, explore};
///
/// fn sync(seen: &Seen, api: &mut Api) -> Result<(), Stop> {
///     // Your controller.
/// #   Ok(())
/// }
///
/// explore().scope(Scope::indexed(2).faults(1)).subject(sync).check();
/// ```
#[must_use]
pub fn explore() -> Explore {
    Explore {
        scopes: Vec::new(),
        subject: None,
        accepted: Vec::new(),
        allows_vacuous: false,
        progress: true,
        max_states: MOST_STATES,
        threads: None,
    }
}

/// The scopes that a check has explored.
#[derive(Clone, Debug)]
pub struct Report {
    /// The scopes, in order.
    pub scopes: Vec<Explorations>,
}

/// The exploration of one scope in which every property holds.
#[derive(Clone, Debug)]
pub struct Explorations {
    /// The name of the scope.
    pub name: String,
    /// The number of states; with symmetry reduction, of classes of states.
    pub states: usize,
    /// The number of steps to the most distant state.
    pub depth: usize,
    /// The requirements of the properties whose premise was met.
    pub met: Vec<Req>,
}

impl Explore {
    /// Adds a scope. Without one, [`Scope::smoke`] is checked.
    #[must_use]
    pub fn scope(mut self, scope: Scope) -> Explore {
        self.scopes.push(scope);
        self
    }

    /// Adds scopes.
    #[must_use]
    pub fn scopes(mut self, scopes: impl IntoIterator<Item = Scope>) -> Explore {
        self.scopes.extend(scopes);
        self
    }

    /// The controller.
    #[must_use]
    pub fn subject(mut self, subject: impl Subject) -> Explore {
        self.subject = Some(Arc::new(subject));
        self
    }

    /// Accepts that the controller breaks these requirements.
    #[must_use]
    pub fn accept(mut self, requirements: &[Req]) -> Explore {
        self.accepted.extend_from_slice(requirements);
        self
    }

    /// Accepts that the premise of a property is never met, although the reference algorithm meets it in the same scope.
    #[must_use]
    pub fn allow_vacuous(mut self) -> Explore {
        self.allows_vacuous = true;
        self
    }

    /// Checks safety alone, and not that every Job ends. Larger scopes are then possible.
    #[must_use]
    pub fn safety_only(mut self) -> Explore {
        self.progress = false;
        self
    }

    /// The most states of a scope. A search that is cut fails the check, because it proves nothing.
    #[must_use]
    pub fn max_states(mut self, most: usize) -> Explore {
        self.max_states = most;
        self
    }

    /// The number of threads; one for each processor by default. The result does not depend on it.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Explore {
        self.threads = Some(threads.max(1));
        self
    }

    /// Explores every scope.
    ///
    /// # Panics
    ///
    /// A property is broken, a premise is never met, or a search was cut. The message has the requirement, the shortest
    /// story, and a replay string.
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
    /// No subject was given.
    pub fn run(self) -> Result<Report, Box<Failure>> {
        let environment = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
        let wide = environment(SCOPE).is_some_and(|size| size == "wide");
        self.run_with(wide, environment(REPLAY).as_deref())
    }

    pub(crate) fn run_with(mut self, wide: bool, replay: Option<&str>) -> Result<Report, Box<Failure>> {
        let scopes = std::mem::take(&mut self.scopes);
        let mut scopes = if scopes.is_empty() { Scope::smoke() } else { scopes };
        let unused = match replay.map(|text| self.replayed(&scopes, text)) {
            Some(Ok(failure)) => return Err(Box::new(failure)),
            other => other.and_then(Result::err),
        };
        if wide {
            self.max_states = usize::MAX;
            scopes = scopes.into_iter().map(Scope::widened).collect();
        }
        let checked: Result<Vec<Explorations>, Box<Failure>> =
            scopes.iter().map(|scope| self.checked(scope)).collect();
        let noted = |failure: Box<Failure>| match &unused {
            Some(reason) => Box::new(failure.after(reason)),
            None => failure,
        };
        Ok(Report { scopes: checked.map_err(noted)? })
    }

    /// The failure at the end of a replay string, or the reason why there is none. The story may be one of a wide scope.
    fn replayed(&self, scopes: &[Scope], text: &str) -> Result<Failure, String> {
        let replay = Replay::read(text).ok_or_else(|| format!("{text:?} is no replay string"))?;
        let widened = scopes.iter().cloned().map(Scope::widened);
        let scope = scopes.iter().cloned().chain(widened).find(|scope| scope.name() == replay.scope);
        let scope = scope.ok_or_else(|| format!("this check has no scope {}", replay.scope))?;
        let gone = || format!("the story {text} cannot be taken any more, or breaks nothing");
        replay.follow(&self.explored(&scope)).ok_or_else(gone)
    }

    fn checked(&self, scope: &Scope) -> Result<Explorations, Box<Failure>> {
        let explored = self.explored(scope);
        // Safety has reductions, so it is faster, and its stories are shorter.
        let exploration = self.searched(&explored)?;
        if !self.allows_vacuous {
            let reference = self.searched(&self.accepting(scope.run_by(Algorithm::reference())))?;
            let missed = missed(&exploration, &reference);
            if !missed.is_empty() {
                return Err(Box::new(Failure::vacuous(scope.name(), &missed)));
            }
        }
        if self.progress {
            self.searched(&Explored { progress: true, ..explored })?;
        }
        let met = (0..PROPERTIES.len()).filter(|number| exploration.reached[*number]);
        Ok(Explorations {
            name: scope.name().to_owned(),
            states: exploration.states,
            depth: exploration.depth,
            met: met.map(|number| PROPERTIES[number].req).collect(),
        })
    }

    /// The scope with the subject, as the explorer takes it.
    pub(crate) fn explored(&self, scope: &Scope) -> Explored {
        let subject = self.subject.clone().expect("a check needs a subject: explore().subject(MyController)");
        let blind = (!subject.waits_for_own_writes()).then_some(Mutation::SyncsBeforeOwnWritesAreSeen);
        let mutations = Mutations::of(blind.as_slice());
        let algorithm = Algorithm::of(Arc::new(subject::Explored(subject)));
        self.accepting(scope.run_by(Algorithm { mutations, ..algorithm }))
    }

    fn accepting(&self, mut explored: Explored) -> Explored {
        explored.without.extend_from_slice(&self.accepted);
        // Static in the explorer, and a handful in a test.
        explored.not_checked = Box::leak(self.accepted.clone().into_boxed_slice());
        explored
    }

    fn searched(&self, explored: &Explored) -> Result<Exploration, Box<Failure>> {
        let threads = self.threads.unwrap_or_else(processors);
        let bounds = Bounds {
            max_states: Some(self.max_states),
            symmetry: !explored.progress && symmetry_is_sound(explored),
            partial_order: true,
            ..Bounds::none(threads)
        };
        let exploration = search(explored, &bounds);
        match &exploration.outcome {
            Outcome::Holds => Ok(exploration),
            Outcome::Broken(found) => Err(Box::new(Failure::broken(explored, found))),
            Outcome::NotFinished(_) => Err(Box::new(Failure::cut(explored.name, exploration.states))),
        }
    }
}

/// The number of processors.
pub(crate) fn processors() -> usize {
    available_parallelism().map_or(1, Into::into)
}

/// The properties whose premise the reference algorithm has met, and the subject has not.
fn missed(exploration: &Exploration, reference: &Exploration) -> Vec<usize> {
    let reached = |number: &usize| reference.reached[*number] && !exploration.reached[*number];
    (0..PROPERTIES.len()).filter(reached).collect()
}
