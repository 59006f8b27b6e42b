//! Managers that write status alone, between two clusters: a protocol that satisfies the contract MR, and its exploration
//! (`docs/reference/managers.md`, section 3).
//!
//! [`protocol`] is the smallest protocol of a mirror: a pure function. [`check`] explores it in small clusters, where
//! caches lag, processes crash, workers are away, users suspend, delete and create again, and dispatchers change their
//! mind. The rules of the API server and the guards of the specification judge each step. [`subject`] has mutations from
//! the protocol, such as those of Kueue, and each breaks a requirement.
//!
//! ```
//! use jobcheck_managers::check::explore_scope;
//! use jobcheck_managers::scope;
//! use jobcheck_managers::subject::Subject;
//!
//! let scope = scope::named("managers/lost-copy").expect("the scope exists");
//! assert!(explore_scope(&scope, 1, None).holds());
//! assert!(!explore_scope(&scope.of(Subject::KUEUE), 1, None).holds());
//! ```
//!
//! | modules | content |
//! | --- | --- |
//! | [`protocol`] | the mirror protocol |
//! | [`subject`], [`mutants`] | mutations from it, and what each breaks |
//! | [`executor`], [`flat`] | the status of a copy, and how it changes |
//! | [`world`], [`history`], [`packed`], [`step`], [`transition`] | states and steps |
//! | [`contract`] | every write that the contract admits |
//! | [`aggregate`] | a sum of several copies, and its exploration |
//! | [`any`] | the scopes and the defects of all subjects |
//! | [`scope`], [`check`], `progress`, [`obligations`], [`narrative`] | bounds, exploration, progress, counterexamples as text |

pub mod aggregate;
pub mod any;
pub mod check;
pub mod contract;
pub mod executor;
pub mod flat;
pub mod history;
pub mod mutants;
pub mod narrative;
pub mod obligations;
pub mod packed;
mod progress;
pub mod protocol;
pub mod scope;
pub mod step;
pub mod subject;
pub mod transition;
pub mod world;
