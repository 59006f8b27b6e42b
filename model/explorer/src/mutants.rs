//! Known defects of Job controllers, made from the algorithm by switching single lines of it.
//!
//! Every one has the smallest scope that shows it. With its switches off the same scope holds, so that what is
//! found there is the defect.

mod cycles;
mod environment;
mod gates;
mod older;
mod recreation;
mod table;
mod ttl;
mod worlds;

use crate::check::{Bounds, Exploration, explore_for};
use crate::counterexample::Counterexample;
use crate::mutations::{Mutation, Mutations};
use crate::narrative::cause;
use crate::progress;
use crate::properties::PROPERTIES;
use crate::scope::Scope;
use jobcheck_spec::catalogue::Req;

/// The departures of 1.36, what was found with this model, and the known defects in the order of their numbers; then
/// those around TTLs and feature gates, those that need more of the environment, and last those that break no single
/// write.
pub const MUTANTS: &[Mutant] = &joined::<COUNT>(TABLES);

const TABLES: &[&[Mutant]] = &[
    table::JOBS,
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

/// One table of several.
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
    /// Its name in the collection of known defects: `B01`, `S-04`, `L2`, `H1`.
    pub id: &'static str,
    /// The upstream issues that report it; none where only its source was read or a cluster showed it.
    pub issues: &'static [&'static str],
    /// What is wrong, in one line.
    pub title: &'static str,
    /// What makes it.
    pub mutations: &'static [Mutation],
    /// The smallest world that shows it.
    pub world: fn() -> Scope,
    /// How it shows.
    pub shows: Shows,
}

/// How a defect shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shows {
    /// It breaks this requirement after so many steps.
    Breaks(Req, usize),
    /// After so many steps the Job comes to where it stays away from its end for ever, be it in circles or at rest; this
    /// requirement asks for more. Only a search for progress sees it ([`crate::progress`]).
    NoProgress(Req, usize),
}

/// What a search for a defect found.
#[derive(Debug)]
pub struct Hunt {
    /// The search.
    pub exploration: Exploration,
    /// The requirement that was broken; `None` where nothing was, or no requirement asks for what is missing.
    pub requirement: Option<Req>,
}

/// Worlds that a search of a mutant may look at.
const MAX_STATES: usize = 2_000_000;

impl Mutant {
    /// The mutant of this name.
    #[must_use]
    pub fn named(id: &str) -> Option<&'static Mutant> {
        MUTANTS.iter().find(|mutant| mutant.id.eq_ignore_ascii_case(id))
    }

    /// The requirement that it breaks.
    #[must_use]
    pub fn requirement(&self) -> Req {
        match self.shows {
            Shows::Breaks(req, _) | Shows::NoProgress(req, _) => req,
        }
    }

    /// Returns true if it shows in one world: then reductions keep it.
    #[must_use]
    pub fn breaks_a_safety_property(&self) -> bool {
        !matches!(self.shows, Shows::NoProgress(..))
    }

    /// Its world with the defect.
    #[must_use]
    pub fn scope(&self) -> Scope {
        self.scope_with(Mutations::of(self.mutations))
    }

    /// Its world without the defect.
    #[must_use]
    pub fn sound_scope(&self) -> Scope {
        self.scope_with(Mutations::default())
    }

    fn scope_with(&self, mutations: Mutations) -> Scope {
        let scope = (self.world)();
        let rules = mutations.on_server(scope.rules);
        Scope { rules, progress: !self.breaks_a_safety_property(), ..scope }.with_mutations(mutations)
    }

    /// Searches for it: where a property states its requirement, by that alone, so that no lesser consequence
    /// hides it; else by all. Where it is progress that is missing, by that alone.
    #[must_use]
    pub fn hunt(&self) -> Hunt {
        self.hunt_of(&|scope| scope)
    }

    /// Searches where it is not.
    #[must_use]
    pub fn hunt_without(&self) -> Hunt {
        self.hunt_without_of(&|scope| scope)
    }

    /// Searches for it where others decide in the place of the reference algorithm: for its requirement first, else for
    /// whatever breaks.
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

    /// Searches its world without the defect, where others decide.
    #[must_use]
    pub fn hunt_without_of(&self, with: &dyn Fn(Scope) -> Scope) -> Hunt {
        Hunt::of(&with(self.sound_scope()), &|_| true)
    }

    /// Returns true if a search found what was to be found.
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

    /// What was found.
    #[must_use]
    pub fn found(&self) -> Option<&Counterexample> {
        self.exploration.found()
    }

    /// Returns true if everything was seen, and nothing is wrong.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.exploration.holds()
    }
}
