//! The search: that it sees what others see, with and without the reduction, however many threads there are.

mod engine;
mod memory;
mod partial_order;
mod second_opinion;
mod symmetry;
