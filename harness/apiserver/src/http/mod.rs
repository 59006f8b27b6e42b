//! The server over HTTP: as a [`tower::Service`] in the process of its client, and on a socket.

mod clock;
mod discovery;
mod held;
mod lines;
mod media;
mod route;
mod service;
mod shared;
mod show;
mod stream;
mod table;
mod table_cells;

pub use clock::{Clock, SystemClock, TokioClock};
pub use service::{ApiService, Auth, BoxError, ResponseBody};
pub use shared::SharedServer;
