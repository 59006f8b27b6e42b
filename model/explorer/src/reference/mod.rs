//! The algorithm of the KEPs as a function: one sync after another, one API call at a time.
//!
//! The specification says which writes are allowed; this is one way to choose among them, as requirements.md
//! 0.2 describes the built-in, and right where the built-in is not. It shows that the specification can be
//! implemented, and known defects are made from it ([`switches`]).
//!
//! It decides by what it reads ([`read`]) and shares no decision with [`jobcheck_spec::guards`], which judge every one
//! of its writes.

pub mod account;
pub mod claim;
pub mod decide;
pub mod manage;
pub mod orphan;
pub(crate) mod outlook;
pub mod read;
pub mod sync;
pub mod ttl;
