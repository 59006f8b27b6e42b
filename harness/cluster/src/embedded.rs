//! The background process of the embedded API server over HTTP.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::future::Future;
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use jobcheck_apiserver::audit::AuditSink;
use jobcheck_apiserver::http::{ApiService, Auth, SharedServer, SystemClock};
use jobcheck_apiserver::{Config, Server};
use jobcheck_serve::HttpServer;
use jobcheck_serve::tls::{Authority, Tls, TlsError};

use crate::Version;
use crate::control_plane::audit_log;
use crate::error::Error;
use crate::kubeconfig::{self, Kubeconfig};
use crate::launch::Launch;
use crate::state::Endpoint;
use crate::up::Spec;
use crate::{audit_file, files, health, secrets};

/// The file in a cluster's folder with the address of its server.
const ADDRESS: &str = "address";
/// The name of the component.
const COMPONENT: &str = "embedded-apiserver";
/// The user of every request, or the one with the token. kubectl sends no credentials over plain HTTP.
const EVERYONE: &str = "admin";
/// The file in a cluster's folder with the certificate of the authority, if the server demands a token.
const AUTHORITY: &str = "authority.crt";
/// The interval of the garbage collector.
const COLLECT_EVERY: Duration = Duration::from_millis(500);
/// The number of these intervals between two rounds of the pod garbage collector: 20 s, as upstream.
const POD_ROUNDS: u64 = 40;

/// The settings of a server.
#[derive(Clone, Copy, Debug)]
pub struct Serve<'a> {
    /// The folder of the cluster.
    pub folder: &'a Path,
    /// The port; 0 for a free one.
    pub port: u16,
    /// The version of Kubernetes that the server imitates.
    pub version: Version,
    /// Demands a token, over TLS.
    pub with_token: bool,
}

/// Serves an API server until `stop` is done. Writes its address, its audit log, and the token and the authority that its
/// clients need, to the folder of the cluster.
///
/// # Errors
/// The port is not free, or a file cannot be written.
pub async fn serve(what: Serve<'_>, stop: impl Future<Output = ()>) -> Result<(), Error> {
    let Serve { folder, port, version, with_token } = what;
    let local = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let socket = |error| Error::file("listen on", Path::new(&local.to_string()))(error);
    let http = HttpServer::bind(local).await.map_err(socket)?;
    let address = http.address();
    let server = server(&audit_log(folder), version)?;
    let collecting = tokio::spawn(collect(server.clone()));
    let ended = if with_token {
        let (token, tls) = credentials(folder)?;
        let users = BTreeMap::from([(token, EVERYONE.to_owned())]);
        let service = ApiService::new(server, Auth::Tokens(Arc::new(users)));
        files::write(&folder.join(ADDRESS), address.to_string().as_bytes())?;
        service.serve_over(move |stream| tls.clone().accept(stream), http, stop).await
    } else {
        let service = ApiService::new(server, Auth::Everyone(EVERYONE.to_owned()));
        files::write(&folder.join(ADDRESS), address.to_string().as_bytes())?;
        service.serve(http, stop).await
    };
    collecting.abort();
    ended.map_err(socket)
}

/// Makes a token and a certificate, and writes what clients need.
fn credentials(folder: &Path) -> Result<(String, Tls), Error> {
    let made = |error: TlsError| Error::Internal(error.to_string());
    let (token, authority) = (secrets::token()?, Authority::new().map_err(made)?);
    files::write(&folder.join(health::TOKEN), token.as_bytes())?;
    files::write(&folder.join(AUTHORITY), authority.pem().as_bytes())?;
    Ok((token, authority.certificate().map_err(made)?))
}

fn server(audit: &Path, version: Version) -> Result<SharedServer, Error> {
    let now = Timestamp::now();
    // UIDs and names must differ from those of other clusters.
    let seed = u64::from(now.subsec_nanosecond().unsigned_abs());
    let mut server = Server::new(Config { seed, rules: version.rules(), ..Config::default() }, now);
    let mut log = audit_file::open(audit)?;
    server.set_audit(Some(AuditSink::new(false, move |event| log.line(event.to_string(), &mut report))));
    Ok(SharedServer::new(server, SystemClock))
}

/// Writes a line to the log of the process. That may fail as well: it is on the same disk as the audit log.
fn report(words: &str) {
    let _ = io::stderr().write_all(format!("{words}\n").as_bytes());
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
pub(crate) async fn start(
    launch: &mut Launch<'_>,
    spec: &Spec,
    command: &[OsString],
    with_token: bool,
) -> Result<(), Error> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(Error::Internal("no program to serve with".to_owned()));
    };
    let port = spec.port.unwrap_or_default();
    let of_it =
        ["--port".into(), port.to_string().into(), "--kubernetes".into(), spec.version.release().into()];
    let token: &[OsString] = if with_token { &["--token".into()] } else { &[] };
    let more = [&of_it[..], &["--folder".into(), launch.folder.into()], token].concat();
    launch.start(COMPONENT, Path::new(program), &[arguments, &more].concat())?;
    let address = launch.file(&launch.folder.join(ADDRESS)).await?;
    let scheme = if with_token { "https" } else { "http" };
    let server = format!("{scheme}://{}", String::from_utf8_lossy(&address));
    let authority = with_token.then(|| AUTHORITY.to_owned());
    launch
        .well(COMPONENT, Endpoint { server: server.clone(), path: "/readyz".to_owned(), authority })
        .await?;
    let cluster = format!("jobcheck-{}", spec.name);
    let credentials = match with_token {
        true => {
            let token = launch.file(&launch.folder.join(health::TOKEN)).await?;
            Some((
                launch.file(&launch.folder.join(AUTHORITY)).await?,
                String::from_utf8_lossy(&token).into_owned(),
            ))
        }
        false => None,
    };
    let (authority, token) = credentials.as_ref().map(|(it, token)| (&it[..], &token[..])).unzip();
    let kubeconfig = Kubeconfig { cluster: &cluster, user: EVERYONE, server: &server, authority, token };
    kubeconfig.write(&kubeconfig::path(launch.folder), &launch.state.kubernetes)?;
    launch.state.server = Some(server);
    Ok(())
}
