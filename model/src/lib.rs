//! The specification of the Kubernetes Job and TTL-after-finished controllers.

pub mod apiserver;
pub mod catalogue;
pub mod failure_policy;
pub mod indexes;
pub mod job;
pub mod pod;
pub mod requirement;
pub mod time;
pub mod uid;

pub use catalogue::{CATALOGUE, Req};
pub use indexes::{Index, IndexSet};
pub use requirement::{Binds, Broken, Findings, Judged, Level, Requirement, Said};
pub use time::Time;
pub use uid::Uid;
pub mod constants;
pub mod guards;
pub mod pods;
pub mod view;
