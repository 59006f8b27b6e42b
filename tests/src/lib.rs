//! What the integration tests share: the corpus of invalid traces.

pub mod corpus;
pub mod evidence;
