//! The background process of the embedded API server over HTTP.

use std::ffi::OsString;
use std::fs::File;
use std::future::Future;
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use jobcheck_apiserver::audit::AuditSink;
use jobcheck_apiserver::http::{ApiService, Auth, SharedServer, SystemClock};
use jobcheck_apiserver::{Config, Server};
use jobcheck_serve::HttpServer;

use crate::Version;
use crate::control_plane::audit_log;
use crate::error::Error;
use crate::files;
use crate::kubeconfig::{self, Kubeconfig};
use crate::launch::Launch;
use crate::state::Endpoint;
use crate::up::Spec;

/// The file in a cluster's folder with the address of its server.
const ADDRESS: &str = "address";
/// The name of the component.
const COMPONENT: &str = "embedded-apiserver";
/// The user of every request: kubectl sends no credentials over plain HTTP.
const EVERYONE: &str = "admin";
/// The interval of the garbage collector.
const COLLECT_EVERY: Duration = Duration::from_millis(500);
/// The number of these intervals between two rounds of the pod garbage collector: 20 s, as upstream.
const POD_ROUNDS: u64 = 40;

/// Serves an API server of this version until `stop` is done. Writes its address and its audit log to the folder of
/// the cluster.
///
/// # Errors
/// The port is not free, or a file cannot be written.
pub async fn serve(
    folder: &Path,
    port: u16,
    version: Version,
    stop: impl Future<Output = ()>,
) -> Result<(), Error> {
    let local = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let socket = |error| Error::file("listen on", Path::new(&local.to_string()))(error);
    let http = HttpServer::bind(local).await.map_err(socket)?;
    let address = http.address();
    let server = server(&audit_log(folder), version)?;
    let collecting = tokio::spawn(collect(server.clone()));
    files::write(&folder.join(ADDRESS), address.to_string().as_bytes())?;
    let service = ApiService::new(server, Auth::Everyone(EVERYONE.to_owned()));
    let ended = service.serve(http, stop).await;
    collecting.abort();
    ended.map_err(socket)
}

fn server(audit: &Path, version: Version) -> Result<SharedServer, Error> {
    let now = Timestamp::now();
    // UIDs and names must differ from those of other clusters.
    let seed = u64::from(now.subsec_nanosecond().unsigned_abs());
    let mut server = Server::new(Config { seed, rules: version.rules(), ..Config::default() }, now);
    let mut log = files::log(audit)?;
    server.set_audit(Some(AuditSink::new(false, move |event| {
        // An event that cannot be logged is reported in the log of the process.
        if let Err(error) = line(&mut log, &event.to_string()) {
            let _ = writeln!(io::stderr(), "cannot write the audit log: {error}");
        }
    })));
    Ok(SharedServer::new(server, SystemClock))
}

/// Writes a line with one call, so that no reader finds half a line.
fn line(log: &mut File, text: &str) -> io::Result<()> {
    log.write_all(format!("{text}\n").as_bytes())
}

/// Runs the garbage collectors and the namespace controller.
async fn collect(server: SharedServer) {
    for round in 1_u64.. {
        tokio::time::sleep(COLLECT_EVERY).await;
        server.with(|server, now| {
            server.collect_garbage(now);
            server.finish_namespaces(now);
            if round.is_multiple_of(POD_ROUNDS) {
                server.collect_pods(now);
            }
        });
    }
}

/// Starts the background process, and waits until it is ready.
pub(crate) async fn start(launch: &mut Launch<'_>, spec: &Spec, command: &[OsString]) -> Result<(), Error> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(Error::Internal("no program to serve with".to_owned()));
    };
    let port = spec.port.unwrap_or_default();
    let of_it =
        ["--port".into(), port.to_string().into(), "--kubernetes".into(), spec.version.release().into()];
    let more = [&of_it[..], &["--folder".into(), launch.folder.into()]].concat();
    launch.start(COMPONENT, Path::new(program), &[arguments, &more].concat())?;
    let address = launch.file(&launch.folder.join(ADDRESS)).await?;
    let server = format!("http://{}", String::from_utf8_lossy(&address));
    launch
        .well(COMPONENT, Endpoint { server: server.clone(), path: "/readyz".to_owned(), authority: None })
        .await?;
    let cluster = format!("jobcheck-{}", spec.name);
    let kubeconfig =
        Kubeconfig { cluster: &cluster, user: EVERYONE, server: &server, authority: None, token: None };
    kubeconfig.write(&kubeconfig::path(launch.folder), &launch.state.kubernetes)?;
    launch.state.server = Some(server);
    Ok(())
}
