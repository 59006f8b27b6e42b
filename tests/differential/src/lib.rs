//! Random requests near the edges of the API server's rules, for comparison with Kubernetes' own code.
//!
//! | program | holds | against |
//! | --- | --- | --- |
//! | `status_cases` | the rules of the specification | the strategies of Kubernetes (`harness/controlplane/oracle`) |
//! | `against_oracle` | whole requests to the embedded API server | the same |
//! | `against_apiserver` | one body of requests to the embedded API server | a running kube-apiserver |
//!
//! The test `recorded` holds the embedded API server against what the oracle said of each version.

pub mod cases;
pub mod compare;
pub mod json;
pub mod pod;
pub mod random;
pub mod specs;
pub mod statuses;
