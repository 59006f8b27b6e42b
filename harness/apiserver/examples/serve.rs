//! Serves an embedded API server on a socket, with its garbage collectors, until interrupted.
//!
//! ```text
//! cargo run -p jobcheck-apiserver --example serve -- 127.0.0.1:8001 [AUDIT-LOG]
//! kubectl --server http://127.0.0.1:8001 get pods
//! ```

use std::io::Write;
use std::time::Duration;

use jobcheck_apiserver::audit::AuditSink;
use jobcheck_apiserver::http::{ApiService, Auth, Limits, SharedServer, SystemClock, serve};
use jobcheck_apiserver::{Config, Server};
use tokio::net::TcpListener;

/// How often the collectors look.
const COLLECT_EVERY: Duration = Duration::from_millis(500);
/// How many of their rounds one of the pod garbage collector is.
const POD_ROUNDS: u64 = 40;

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let now = jiff::Timestamp::now();
    let seed = u64::from(now.subsec_nanosecond().unsigned_abs());
    let shared = SharedServer::new(Server::new(Config { seed, ..Config::default() }, now), SystemClock);
    if let Some(path) = std::env::args().nth(2) {
        let mut log = std::fs::File::create(path)?;
        let sink = AuditSink::new(false, move |event| {
            if let Err(error) = writeln!(log, "{event}") {
                eprintln!("audit log: {error}");
            }
        });
        shared.with(|server, _| server.set_audit(Some(sink)));
    }
    let collected = shared.clone();
    let collecting = tokio::spawn(async move {
        for round in 1_u64.. {
            tokio::time::sleep(COLLECT_EVERY).await;
            collected.with(|server, now| {
                server.collect_garbage(now);
                server.finish_namespaces(now);
                if round.is_multiple_of(POD_ROUNDS) {
                    server.collect_pods(now);
                }
            });
        }
    });
    let listener = TcpListener::bind(&address).await?;
    eprintln!("listening on http://{}", listener.local_addr()?);
    let service = ApiService::new(shared, Auth::Everyone("admin".to_owned()));
    let shutdown = async { drop(tokio::signal::ctrl_c().await) };
    let ended = serve(listener, service, Limits::default(), shutdown).await;
    collecting.abort();
    ended
}
