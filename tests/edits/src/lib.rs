//! Measures the judge with edits of recordings.
//!
//! A class changes a recording at a line, for example: *counters, `succeeded` one too high*. An oracle of its own states
//! whether the result breaks a rule. The judge's verdicts are then counted by class.
//!
//! | module | task |
//! | --- | --- |
//! | [`recording`] | the lines of a trace, and an index of the writes and pods in them |
//! | [`draft`] | consistent changes: a field persists in later versions until it is written again |
//! | [`class`] | classes and the oracle's answers |
//! | [`classes`] | the classes |
//! | [`mirrors`] | managers that write status alone: right traces, and classes for family MR |
//! | [`sums`] | managers that sum up members: right traces of all clusters, and classes for MR-30 to MR-33 |
//! | [`forms`] | the same edit as a native trace and at lower audit levels |
//! | [`run`] | judges every class at every line of every recording |
//! | [`table`] | counts the verdicts and checks the aims |
//!
//! The oracle uses the recording, the edit, and the rules of the API and the KEPs. It uses neither the specification nor
//! the judge, so that both are tested from outside.

pub mod class;
pub mod classes;
pub mod draft;
pub mod forms;
pub mod mirrors;
pub mod recording;
pub mod run;
pub mod sums;
pub mod table;
pub mod time;
