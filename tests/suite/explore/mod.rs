//! The search finds the same as other searches, with and without reductions, and with any number of threads.

mod engine;
mod memory;
mod partial_order;
mod second_opinion;
mod symmetry;
