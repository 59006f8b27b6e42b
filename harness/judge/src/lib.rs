//! Judges recorded traces of Jobs against the specification.
//!
//! A trace is an audit log, a watch stream, or a native trace of `jobcheck-traces`. The verdict on each Job
//! is *conforms*, *violates*, or *inconclusive*; `docs/reference/judging.md` defines the three. The crate
//! needs neither the explorer nor a cluster.
//!
//! ```
//! use jobcheck_judge::replay::{Grouping, Judging, group, judge};
//! use jobcheck_judge::validate::Outcome;
//! use jobcheck_spec::Req;
//! use jobcheck_traces::Input;
//!
//! let log = Input::Path("../../traces/corpus/known/s05-readopted.audit.jsonl".into());
//! let traces = group(vec![log], Grouping::Auto, &mut |_, _| {});
//! let report = judge(&traces, &Judging::default(), &mut |_, _| {});
//!
//! let job = &report.jobs[0];
//! assert_eq!(job.verdict, Outcome::Violates);
//! let finding = &job.violations[0];
//! assert_eq!(finding.requirement.map(|id| id.0), Some(Req::S05));
//! assert_eq!(finding.also[0], "KD-05");
//! ```
//!
//! | module | content |
//! | --- | --- |
//! | [`replay`] | reads inputs and judges them: the entry point |
//! | [`transition`] | would API servers accept this status? |
//! | [`threads`] | work on several threads |
//! | [`report`] | the result as data, and requirements by their ids |
//! | [`validate`] | the validator: is there a behaviour of the specification that explains the trace? |
//!
//! `examples/audit_log.rs` prints the verdict on each Job of an audit log.

pub(crate) mod clusters;
pub mod replay;
pub mod report;
pub mod threads;
pub mod transition;
pub mod validate;
