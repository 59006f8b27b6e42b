//! The scopes and the known defects of all subjects, for callers that treat them alike.
//!
//! | family of scopes | subject |
//! | --- | --- |
//! | `managers` | the mirror protocol, or Kueue's adapter |
//! | `contract` | the loosest manager |
//! | `aggregate` | the sum protocol |

use jobcheck_explorer::engine::Limits;
use jobcheck_spec::catalogue::Req;

use crate::aggregate::{self, explore_aggregate};
use crate::check::{Exploration, explore_within};
use crate::contract::{self, Rules, explore_contract};
use crate::mutants::{self, MAX_STATES};
use crate::scope::{self, Scope};
use crate::subject::Subject;
use crate::{narrative, step};

/// The families of scopes: the first parts of their names.
pub const FAMILIES: [&str; 3] = [scope::FAMILY, contract::FAMILY, aggregate::FAMILY];

/// A scope of any subject.
#[derive(Clone, Debug)]
pub enum AnyScope {
    /// A mirror.
    Mirror(Scope),
    /// The loosest manager.
    Contract(Rules),
    /// An aggregator.
    Aggregate(aggregate::Scope),
}

impl AnyScope {
    /// The name in options and reports.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            AnyScope::Mirror(scope) => scope.name,
            AnyScope::Contract(rules) => rules.scope.name,
            AnyScope::Aggregate(scope) => scope.name,
        }
    }

    /// The first part of the name.
    #[must_use]
    pub fn family(&self) -> &'static str {
        match self {
            AnyScope::Mirror(_) => scope::FAMILY,
            AnyScope::Contract(_) => contract::FAMILY,
            AnyScope::Aggregate(_) => aggregate::FAMILY,
        }
    }

    /// The description that a list shows.
    #[must_use]
    pub fn about(&self) -> &'static str {
        match self {
            AnyScope::Mirror(scope) => scope.about,
            AnyScope::Contract(rules) => rules.scope.about,
            AnyScope::Aggregate(scope) => scope.about,
        }
    }

    /// The bounds in words.
    #[must_use]
    pub fn bounds(&self) -> String {
        match self {
            AnyScope::Mirror(scope) => scope.bounds(),
            AnyScope::Contract(rules) => rules.bounds(),
            AnyScope::Aggregate(scope) => scope.bounds(),
        }
    }

    /// The name of the subject.
    #[must_use]
    pub fn subject(&self) -> &'static str {
        match self {
            AnyScope::Mirror(scope) => scope.subject.name,
            AnyScope::Contract(_) => contract::FAMILY,
            AnyScope::Aggregate(_) => aggregate::FAMILY,
        }
    }

    /// The names of the kinds of steps, in the order of [`Exploration::steps`].
    #[must_use]
    pub fn kinds(&self) -> &'static [&'static str] {
        match self {
            AnyScope::Mirror(_) => &step::Step::KINDS,
            AnyScope::Contract(_) => &contract::Step::KINDS,
            AnyScope::Aggregate(_) => &aggregate::world::Step::KINDS,
        }
    }

    /// A mirror's scope with another manager. Other scopes have one subject, and stay as they are.
    #[must_use]
    pub fn of(self, subject: Subject) -> AnyScope {
        match self {
            AnyScope::Mirror(scope) => AnyScope::Mirror(scope.of(subject)),
            AnyScope::Contract(_) | AnyScope::Aggregate(_) => self,
        }
    }

    /// The scope in which only these requirements are checked. The contract has its own properties.
    #[must_use]
    pub fn asking(self, asked: &[Req]) -> AnyScope {
        match self {
            AnyScope::Mirror(scope) => AnyScope::Mirror(scope.asking(asked)),
            AnyScope::Contract(_) => self,
            AnyScope::Aggregate(scope) => {
                AnyScope::Aggregate(aggregate::Scope { asked: Some(asked.to_vec()), ..scope })
            }
        }
    }

    /// Explores the scope. The steps of a counterexample are in words.
    #[must_use]
    pub fn explore(&self, limits: &Limits<'_>) -> Exploration<String> {
        match self {
            AnyScope::Mirror(scope) => {
                explore_within(scope, limits).in_words(|path| narrative::steps(scope, path))
            }
            AnyScope::Contract(rules) => {
                explore_contract(rules, limits).in_words(|path| contract::steps(rules, path))
            }
            AnyScope::Aggregate(scope) => {
                explore_aggregate(scope, limits).in_words(|path| aggregate::steps(scope, path))
            }
        }
    }
}

/// The default scopes of all families. A mirror is the protocol, and the contract is whole.
#[must_use]
pub fn all() -> Vec<AnyScope> {
    of_families(scope::all(), contract::scopes(), aggregate::scopes())
}

/// Larger scopes, which take minutes.
#[must_use]
pub fn large() -> Vec<AnyScope> {
    of_families(scope::large(), contract::large(), aggregate::large())
}

fn of_families(mirror: Vec<Scope>, contract: Vec<Scope>, aggregate: Vec<aggregate::Scope>) -> Vec<AnyScope> {
    let mirror = mirror.into_iter().map(AnyScope::Mirror);
    let contract = contract.into_iter().map(|scope| AnyScope::Contract(Rules::whole(scope)));
    mirror.chain(contract).chain(aggregate.into_iter().map(AnyScope::Aggregate)).collect()
}

/// A known defect of any subject. The contract has none: [`Rules::without`] leaves rules out.
#[derive(Clone, Copy, Debug)]
pub enum AnyMutant {
    /// A defect of a mirror.
    Mirror(&'static mutants::Mutant),
    /// A defect of an aggregator.
    Aggregate(&'static aggregate::defects::Mutant),
}

impl AnyMutant {
    /// All mutants.
    pub fn all() -> impl Iterator<Item = AnyMutant> {
        let mirror = mutants::MUTANTS.iter().map(AnyMutant::Mirror);
        mirror.chain(aggregate::defects::MUTANTS.iter().map(AnyMutant::Aggregate))
    }

    /// The mutant with this id. Case does not matter.
    #[must_use]
    pub fn named(id: &str) -> Option<AnyMutant> {
        AnyMutant::all().find(|mutant| mutant.id().eq_ignore_ascii_case(id))
    }

    /// The id.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            AnyMutant::Mirror(mutant) => mutant.id,
            AnyMutant::Aggregate(mutant) => mutant.id,
        }
    }

    /// The defect in one line.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            AnyMutant::Mirror(mutant) => mutant.title,
            AnyMutant::Aggregate(mutant) => mutant.title,
        }
    }

    /// The requirement that it is known for.
    #[must_use]
    pub fn req(self) -> Req {
        match self {
            AnyMutant::Mirror(mutant) => mutant.req,
            AnyMutant::Aggregate(mutant) => mutant.req,
        }
    }

    /// The family of the scopes that can have the defect.
    #[must_use]
    pub fn family(self) -> &'static str {
        match self {
            AnyMutant::Mirror(_) => scope::FAMILY,
            AnyMutant::Aggregate(_) => aggregate::FAMILY,
        }
    }

    /// The scope that shows the defect, without it.
    ///
    /// # Panics
    ///
    /// There is no such scope.
    #[must_use]
    pub fn place(self) -> AnyScope {
        let scope = match self {
            AnyMutant::Mirror(mutant) => scope::named(mutant.scope).map(AnyScope::Mirror),
            AnyMutant::Aggregate(mutant) => aggregate::named(mutant.scope).map(AnyScope::Aggregate),
        };
        scope.expect("each mutant names a scope")
    }

    /// A scope with the defect. A scope of another family cannot have it.
    #[must_use]
    pub fn put_into(self, scope: AnyScope) -> Option<AnyScope> {
        match (self, scope) {
            (AnyMutant::Mirror(mutant), AnyScope::Mirror(scope)) => {
                Some(AnyScope::Mirror(mutant.setting_of(scope, mutant.subject)))
            }
            (AnyMutant::Aggregate(mutant), AnyScope::Aggregate(scope)) => {
                Some(AnyScope::Aggregate(scope.with(mutant.defect)))
            }
            _ => None,
        }
    }

    /// Looks for the shortest counterexample to the requirement.
    ///
    /// # Panics
    ///
    /// There is no such scope.
    #[must_use]
    pub fn hunt(self) -> Exploration<String> {
        let scope = self.put_into(self.place()).expect("the scope is of the family");
        scope.asking(&[self.req()]).explore(&limits())
    }

    /// The scope without the defect, in which the requirements of all mutants with this place are checked.
    #[must_use]
    pub fn without(self) -> AnyScope {
        match self {
            AnyMutant::Mirror(mutant) => AnyScope::Mirror(mutant.scope_without_any()),
            AnyMutant::Aggregate(_) => self.place(),
        }
    }

    /// Returns true if nothing is broken without the defect.
    #[must_use]
    pub fn holds_without(self) -> bool {
        self.without().explore(&limits()).holds()
    }
}

/// The limits of a search for a defect.
fn limits() -> Limits<'static> {
    Limits { max_states: Some(MAX_STATES), ..Limits::none(1) }
}
