//! Explores every behaviour of a small cluster and checks properties in every state.
//!
//! A [`scope`] bounds a cluster: its Jobs, the number of pods, the lag of caches, the actions of users, the
//! faults. The explorer takes every possible step from every reachable state. It reports a shortest path to a
//! state that breaks a property, or a cycle in which a Job never finishes.
//!
//! The subject of an exploration manages the Jobs. It is the specification itself, the [`mod@reference`]
//! algorithm, or the shipped controllers (crate `jobcheck-adapter`).
//!
//! ```
//! use jobcheck_explorer::check::{Bounds, explore};
//! use jobcheck_explorer::mutations::{Mutation, Mutations};
//! use jobcheck_explorer::narrative::Narrative;
//! use jobcheck_explorer::scopes;
//!
//! // The specification satisfies every property of a small scope.
//! let scope = scopes::named("non-indexed").expect("the scope exists");
//! assert!(explore(&scope, &Bounds::none(1)).holds());
//!
//! // The reference algorithm does too. One mutation makes it wrong.
//! let scope = scopes::reference::run_by_the_algorithm(scope, 0);
//! let wrong = scope.with_mutations(Mutations::of(&[Mutation::IgnoresBackoffLimit]));
//! let exploration = explore(&wrong, &Bounds::none(1));
//! let counterexample = exploration.found().expect("a property is broken");
//! let narrative = Narrative::of(&wrong, counterexample, None);
//! assert!(narrative.end.starts_with("broken, TC-01: "));
//! ```
//!
//! # Modules
//!
//! | modules | content |
//! |---|---|
//! | [`world`], [`knowledge`], [`ghost`] | a state: stored objects, knowledge of managers, history variables |
//! | [`step`], [`transition`] | the steps, and the enabled steps of a state |
//! | [`alphabet`], [`mod@env`], [`ttl`] | the writes of the specification, and the steps of its environment |
//! | [`process`], [`mod@reference`] | a process that runs an algorithm, and the decisions of the reference algorithm |
//! | [`properties`], [`obligations`], [`progress`] | safety, obligations at quiescence, and progress |
//! | [`scope`], [`scopes`], [`script`] | bounds, the named scopes, and scopes with a fixed order of events |
//! | [`mutations`], [`mutants`] | deliberate changes, and the known defects that they make |
//! | [`sensitivity`] | what breaks if one guard is switched off |
//! | [`mod@check`], [`exploration`], [`counterexample`] | explorations and their results |
//! | [`engine`], [`compact`], [`liveness`] | breadth-first search, states as numbers, fair cycles |
//! | [`narrative`] | counterexamples as text |

pub mod alphabet;
pub mod check;
pub mod compact;
pub mod counterexample;
pub mod engine;
pub mod env;
pub mod exploration;
pub mod ghost;
pub mod knowledge;
pub mod liveness;
pub mod mutants;
pub mod mutations;
pub mod narrative;
pub mod obligations;
pub mod process;
pub mod progress;
pub mod properties;
pub mod reference;
pub mod scope;
pub mod scopes;
pub mod script;
pub mod sensitivity;
pub mod step;
pub mod transition;
pub mod ttl;
pub mod world;
