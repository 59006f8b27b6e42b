//! The known defects of Job controllers. Mutations of the reference algorithm produce them.
//!
//! Each mutant has the smallest scope that shows its defect. Without the mutations the same scope satisfies
//! all properties, which proves that the mutations cause the counterexample.

mod cycles;
mod deviations;
mod environment;
mod gates;
mod jobs;
mod older;
mod recreation;
mod small_scopes;
mod ttl;

use crate::check::{Bounds, Exploration, explore_for};
use crate::counterexample::Counterexample;
use crate::mutations::{Mutation, Mutations};
use crate::narrative::cause;
use crate::progress;
use crate::properties::PROPERTIES;
use crate::scope::Scope;
use jobcheck_spec::catalogue::Req;

/// All mutants. The deviations of Kubernetes 1.36 and the defects that this model found come first, and then
/// the known defects by number. The other tables are about TTLs, feature gates, the environment, recreated
/// Jobs, and old versions. The last table contains the defects that break no single write.
pub const MUTANTS: &[Mutant] = &joined::<COUNT>(TABLES);

const TABLES: &[&[Mutant]] = &[
    deviations::DEVIATIONS,
    jobs::JOBS,
    ttl::TTL,
    gates::GATES,
    environment::ENVIRONMENT,
    recreation::RECREATION,
    older::OLDER,
    cycles::CYCLES,
];

const COUNT: usize = {
    let (mut table, mut count) = (0, 0);
    while table < TABLES.len() {
        count += TABLES[table].len();
        table += 1;
    }
    count
};

/// Concatenates the tables.
const fn joined<const N: usize>(tables: &[&[Mutant]]) -> [Mutant; N] {
    let mut all = [tables[0][0]; N];
    let (mut table, mut row, mut next) = (0, 0, 0);
    while table < tables.len() {
        while row < tables[table].len() {
            all[next] = tables[table][row];
            (row, next) = (row + 1, next + 1);
        }
        (table, row) = (table + 1, 0);
    }
    all
}

/// A known defect.
#[derive(Clone, Copy, Debug)]
pub struct Mutant {
    /// The id in the list of known defects: `B01`, `S-04`, `L2`, `H1`.
    pub id: &'static str,
    /// The upstream issues that report the defect. The list is empty if the defect was found in the source or
    /// on a cluster.
    pub issues: &'static [&'static str],
    /// The defect in one line.
    pub title: &'static str,
    /// The mutations that produce it.
    pub mutations: &'static [Mutation],
    /// The smallest scope that shows it, without the mutations.
    pub base: fn() -> Scope,
    /// The expected counterexample.
    pub shows: Shows,
}

/// The expected counterexample of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shows {
    /// A write breaks this requirement after this number of steps.
    Breaks(Req, usize),
    /// This number of steps leads to a cycle, or to a state that nothing leaves, in which the Job never
    /// finishes. The requirement forbids this. Only a check of progress finds it ([`crate::progress`]).
    NoProgress(Req, usize),
}

/// The result of a search for a defect.
#[derive(Debug)]
pub struct Hunt {
    /// The exploration.
    pub exploration: Exploration,
    /// The broken requirement. `None` if nothing is broken, or if no requirement covers it.
    pub requirement: Option<Req>,
}

/// The largest number of states that a search visits.
const MAX_STATES: usize = 2_000_000;

impl Mutant {
    /// The mutant with this id. Case does not matter.
    #[must_use]
    pub fn named(id: &str) -> Option<&'static Mutant> {
        MUTANTS.iter().find(|mutant| mutant.id.eq_ignore_ascii_case(id))
    }

    /// The requirement that the mutant breaks.
    #[must_use]
    pub fn requirement(&self) -> Req {
        match self.shows {
            Shows::Breaks(req, _) | Shows::NoProgress(req, _) => req,
        }
    }

    /// Returns true if a single state shows the defect. Reductions keep such states.
    #[must_use]
    pub fn breaks_a_safety_property(&self) -> bool {
        !matches!(self.shows, Shows::NoProgress(..))
    }

    /// The scope with the defect.
    #[must_use]
    pub fn scope(&self) -> Scope {
        self.scope_with(Mutations::of(self.mutations))
    }

    /// The scope without the defect.
    #[must_use]
    pub fn sound_scope(&self) -> Scope {
        self.scope_with(Mutations::default())
    }

    fn scope_with(&self, mutations: Mutations) -> Scope {
        let scope = (self.base)();
        let rules = mutations.on_server(scope.rules);
        Scope { rules, progress: !self.breaks_a_safety_property(), ..scope }.with_mutations(mutations)
    }

    /// Searches for the defect with the reference algorithm.
    #[must_use]
    pub fn hunt(&self) -> Hunt {
        self.hunt_of(&|scope| scope)
    }

    /// Searches the scope without the defect.
    #[must_use]
    pub fn hunt_without(&self) -> Hunt {
        self.hunt_without_of(&|scope| scope)
    }

    /// Searches for the defect with other decisions in the scope that `with` returns.
    ///
    /// The search checks only the property of the defect's requirement, so that no other consequence hides
    /// it. If it finds nothing, a second search checks all properties. A defect in progress is searched for
    /// with the check of progress alone.
    #[must_use]
    pub fn hunt_of(&self, with: &dyn Fn(Scope) -> Scope) -> Hunt {
        let scope = with(self.scope());
        if !self.breaks_a_safety_property() {
            return Hunt::of(&scope, &|_| false);
        }
        let own = |number: usize| PROPERTIES[number].req == self.requirement();
        let hunt = Hunt::of(&scope, &|number| number.is_some_and(own));
        if hunt.found().is_some() { hunt } else { Hunt::of(&scope, &|_| true) }
    }

    /// Searches the scope without the defect, with other decisions.
    #[must_use]
    pub fn hunt_without_of(&self, with: &dyn Fn(Scope) -> Scope) -> Hunt {
        Hunt::of(&with(self.sound_scope()), &|_| true)
    }

    /// Returns true if a search found the expected counterexample.
    #[must_use]
    pub fn is_caught_by(&self, hunt: &Hunt) -> bool {
        let Some(found) = hunt.found() else { return false };
        let steps = found.path.len();
        match self.shows {
            Shows::Breaks(req, expected) => hunt.requirement == Some(req) && steps == expected,
            Shows::NoProgress(req, expected) => {
                hunt.requirement == Some(req) && found.cycle_start == Some(expected)
            }
        }
    }
}

impl Hunt {
    fn of(scope: &Scope, wanted: &dyn Fn(Option<usize>) -> bool) -> Hunt {
        let bounds = Bounds { max_states: Some(MAX_STATES), ..Bounds::none(1) };
        let explore_for = if scope.progress { progress::explore_for } else { explore_for };
        let exploration = explore_for(scope, &bounds, wanted);
        let mut hunt = Hunt { exploration, requirement: None };
        hunt.requirement = hunt.found().and_then(|found| cause(scope, found));
        hunt
    }

    /// The counterexample.
    #[must_use]
    pub fn found(&self) -> Option<&Counterexample> {
        self.exploration.found()
    }

    /// Returns true if all states were visited and all properties hold.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.exploration.holds()
    }
}
