//! Helpers that several integration tests share.
//!
//! | module | content |
//! | --- | --- |
//! | [`corpus`] | the corpus of traces, and the edits that make its invalid traces |
//! | [`envelopes`] | puts recordings into the envelopes of log systems |
//! | [`evidence`] | the code, mutants, traces, and scenarios for each requirement |
//! | [`checks`] | the tests, benchmarks, pages, and steps of the environment that name each requirement |
//! | [`expected`] | expected outputs in files, and the one way to accept them |
//! | [`traces`] | reads, edits, and judges traces |
//! | [`scopes`] | states and random walks of scopes |
//! | [`log`] | builds audit logs of small histories |
//! | [`library`] | the library of scenarios |

pub mod checks;
pub mod corpus;
pub mod envelopes;
pub mod evidence;
pub mod expected;
pub mod library;
pub mod log;
pub mod scopes;
pub mod traces;
