//! Random requests near the edges of the API server's rules. Programs and a test compare the decisions about them with
//! Kubernetes' own.
//!
//! | program | compares | with |
//! | --- | --- | --- |
//! | `status_cases` | the rules of the specification | the strategies of Kubernetes (`harness/controlplane/oracle`) |
//! | `against_oracle` | the embedded API server, by random requests | the same |
//! | `against_apiserver` | the embedded API server, by a fixed list of requests | a running kube-apiserver |
//!
//! The test `recorded` compares the embedded API server with recorded verdicts of the oracle for each version.

pub mod cases;
pub mod compare;
pub mod json;
pub mod pod;
pub mod random;
pub mod specs;
pub mod statuses;
