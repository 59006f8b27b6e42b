//! The specification of the Kubernetes Job and TTL-after-finished controllers: which writes to the API are allowed.
//!
//! The specification is a relation, not a controller. It never chooses the next write. It answers one question: does
//! this write satisfy every requirement, given what its sender may have read? The judge asks it about each recorded
//! write, the explorer about each step of a model. The crate has no clock, no input or output, and no dependencies.
//!
//! # From a requirement to a verdict
//!
//! | term | meaning | place |
//! | --- | --- | --- |
//! | requirement | one rule of a KEP or of Kubernetes' source, with a stable id such as RP-03 | [`catalogue`], [`requirement`] |
//! | guard | a function that compares a write with the requirements on this kind of write | [`guards`], [`apiserver`] |
//! | obligation | a write that must still be made | [`obligations`] |
//! | view | a state of the caches that the sender of the write may have read | [`view`] |
//! | truth | the objects that etcd held when it stored the write | arguments named `old` and `stored` |
//! | finding | a requirement that the write breaks, with the expected and the found value | [`Findings`] |
//! | verdict | the result for a whole trace: conforms, violates, or inconclusive | crate `jobcheck-judge` |
//!
//! A controller reads caches that lag behind etcd. A requirement on a *decision*, such as the creation of a pod, is
//! therefore judged against views. The write is admitted if it satisfies the guards in at least one allowed view. A
//! requirement on the *truth*, such as counting each pod once, is judged against what etcd held, and a stale cache
//! excuses nothing. [`Judged`] states for each requirement which of the two applies; `docs/reference/judging.md`,
//! section 1, gives the reasons.
//!
//! # Example
//!
//! A Job with `podReplacementPolicy: Failed` wants one pod. Its only pod is being deleted but still runs. RP-03
//! forbids a replacement until that pod has terminated.
//!
//! ```
//! use std::sync::Arc;
//!
//! use jobcheck_spec::guards::creation::judge_creation;
//! use jobcheck_spec::job::{Job, JobSpec, JobStatus, PodReplacementPolicy};
//! use jobcheck_spec::pod::{Phase, Pod};
//! use jobcheck_spec::pods::Pods;
//! use jobcheck_spec::view::View;
//! use jobcheck_spec::{Findings, Time, Uid};
//!
//! let spec = JobSpec {
//!     parallelism: Some(1),
//!     completions: Some(1),
//!     pod_replacement_policy: Some(PodReplacementPolicy::Failed),
//!     ..JobSpec::default()
//! };
//! let job = Job {
//!     uid: Uid(1),
//!     name: "pi".into(),
//!     namespace: "default".into(),
//!     generation: 1,
//!     created: Time(0),
//!     deleting: false,
//!     finalizers: Vec::new(),
//!     metadata: Arc::default(),
//!     probes_digest: 0,
//!     spec: Arc::new(spec),
//!     status: JobStatus::default(),
//! };
//! let mut pods = Pods::new();
//! pods.set(Uid(2), Some(Pod { finalizer: true, phase: Phase::Running, deleting: true, ..Pod::new(Uid(2)) }));
//!
//! let mut findings = Findings::new();
//! judge_creation(&View::of(&job, &pods), &Pod::new(Uid(3)), &mut findings);
//!
//! for broken in &findings.broken {
//!     println!("{broken}");
//! }
//! assert_eq!(
//!     findings.broken[0].to_string(),
//!     "RP-03: active and terminating pods before the creation: expected fewer than 1, found 1"
//! );
//! ```
//!
//! # Where things are
//!
//! | module | content |
//! | --- | --- |
//! | [`catalogue`] | the table of all requirements, one line each |
//! | [`requirement`] | the parts of a requirement, findings, and the requirements that a finding breaks as well |
//! | [`guards`] | the rules for controllers, one module for each kind of write |
//! | [`apiserver`] | the rules of the API server, and the effect of an accepted request |
//! | [`view`] | what a process may have read when it decided |
//! | [`job`], [`pod`], [`pods`], [`birth`] | Jobs and pods, reduced to the fields that a requirement names |
//! | [`failure_policy`], [`indexes`], [`backoff`] | evaluation of `podFailurePolicy`, index lists, and the delay after failures |
//! | [`constants`], [`gates`], [`apiserver::RuleSet`] | numbers, feature gates, and API server rules of a Kubernetes version |
//! | [`incarnation`], [`time`], [`uid`], [`words`] | recreated Jobs, times, UIDs, and values in messages |
//!
//! The text of each requirement, with its reason and an example, is in `docs/reference/requirements/`. The words of
//! this crate are defined in `docs/reference/glossary.md`.

pub mod apiserver;
pub mod backoff;
pub mod birth;
pub mod catalogue;
pub mod constants;
pub mod failure_policy;
pub mod gates;
pub mod guards;
pub mod incarnation;
pub mod indexes;
pub mod job;
mod listed;
pub mod obligations;
pub mod pod;
pub mod pods;
pub mod requirement;
pub mod time;
pub mod uid;
pub mod view;
pub mod words;

pub use catalogue::{CATALOGUE, Req};
pub use indexes::{Index, IndexSet};
pub use requirement::{Binds, Broken, Findings, Judged, Level, Operand, Requirement};
pub use time::Time;
pub use uid::Uid;
