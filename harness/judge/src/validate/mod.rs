//! Validation: is there a behaviour of the specification that explains a recorded trace?
//!
//! Records become events ([`normalize`]), events are put in order ([`sequence`]), and each Job is judged on its
//! own ([`track`]): what etcd held as it was, decisions by the views that the manager may have had
//! ([`frontier`]). Memory is bounded by living objects, sixteen bytes for each pod UID of a living Job, and the
//! reorder window, and the ids of the latest events.

pub mod actor;
mod backoff;
mod bindings;
mod birth;
mod births;
mod clock;
pub mod counted;
pub mod event;
mod explain;
pub mod frontier;
mod gaps;
mod hidden_active;
pub mod history;
mod idle;
mod job_writes;
mod known;
mod known_pods;
mod late;
mod managers;
mod mishaps;
pub mod normalize;
pub mod observed;
mod owed;
mod owed_work;
pub mod own_write;
mod ownerless;
mod pod_api;
mod pod_routes;
mod pod_writes;
mod refused_pods;
mod relists;
mod repetitions;
pub mod router;
pub mod sequence;
pub mod setbacks;
mod settings;
mod standing;
mod story;
mod times;
pub mod track;
mod unannounced;
pub mod verdict;

pub use actor::Role;
pub use router::{Options, Summary, Validator};
pub use verdict::{JobVerdict, Obligation, Outcome, Unreadable, Violation};
