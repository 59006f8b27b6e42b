//! Helpers that several integration tests share.
//!
//! | module | content |
//! | --- | --- |
//! | [`corpus`] | the corpus of traces, and the edits that make its invalid traces |
//! | [`evidence`] | the tests and code that stand for each requirement |
//! | [`traces`] | reads, edits, and judges traces |
//! | [`scopes`] | states and random walks of scopes |
//! | [`library`] | the library of scenarios |

pub mod corpus;
pub mod evidence;
pub mod library;
pub mod scopes;
pub mod traces;
