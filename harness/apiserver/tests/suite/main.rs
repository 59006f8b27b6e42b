//! The server as its clients see it.

mod audit;
mod cluster;
mod collector;
mod deletes;
mod jobs;
mod lists;
mod socket;
mod transport;
mod watches;
mod writes;
