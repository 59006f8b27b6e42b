//! A real control plane: its programs and their flags.

use std::ffi::OsString;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::files;
use crate::health::TOKEN;
use crate::kubeconfig::{self, Kubeconfig};
use crate::launch::Launch;
use crate::name::Name;
use crate::own::Own;
use crate::secrets;
use crate::state::Endpoint;
use crate::up::{Controllers, Programs};

/// The garbage collectors and the namespace controller.
const COLLECTORS: &str = "garbage-collector-controller,namespace-controller,pod-garbage-collector-controller";
/// The controllers of Jobs, and the CronJob controller (MB-08).
const OF_JOBS: &str = "job-controller,ttl-after-finished-controller,cronjob-controller";
/// The audit policy: all writes of Jobs and Pods, including refused ones.
const AUDIT_POLICY: &str = include_str!("../audit-policy.yaml");
/// The group whose users may do everything, and the users.
const MASTERS: &str = "system:masters";
const ADMIN: &str = "admin";
const CONTROLLER_MANAGER: &str = "system:kube-controller-manager";
/// The sockets of etcd, which does not authenticate clients. They are files in the cluster's folder, which only this
/// user can read, and need no port.
const ETCD: &str = "unix://etcd:1";
const ETCD_PEER: &str = "unix://etcd:2";
/// Files in the cluster's folder.
const AUDIT_LOG: &str = "audit.log";
const POLICY: &str = "audit-policy.yaml";
const TOKENS: &str = "tokens.csv";
const MANAGER_TOKEN: &str = "controller-manager.token";
const PRIVATE_KEY: &str = "service-accounts.key";
const PUBLIC_KEY: &str = "service-accounts.pub";
/// The certificate that kube-apiserver generates.
const CERTIFICATES: &str = "certificates/apiserver.crt";

/// The settings of a control plane.
pub(crate) struct ControlPlane<'a> {
    /// The programs.
    pub programs: &'a Programs,
    /// The name of the cluster.
    pub name: &'a Name,
    /// The port of kube-apiserver. `None`: a free port.
    pub port: Option<u16>,
    /// The controllers of kube-controller-manager.
    pub controllers: Controllers,
}

impl ControlPlane<'_> {
    /// Starts all components, and waits until they are ready.
    pub(crate) async fn start_all(&self, launch: &mut Launch<'_>) -> Result<(), Error> {
        self.etcd(launch)?;
        let server = self.api_server(launch).await?;
        match self.controllers {
            Controllers::None => Ok(()),
            Controllers::Collectors => self.controller_manager(launch, &server, COLLECTORS).await,
            Controllers::BuiltIn => {
                self.controller_manager(launch, &server, &format!("{OF_JOBS},{COLLECTORS}")).await
            }
        }
    }

    /// Starts a component: a program of someone else, or ours, which has the components as commands.
    fn start(
        &self,
        launch: &mut Launch<'_>,
        name: &str,
        own: &Option<Own>,
        flags: &[OsString],
    ) -> Result<(), Error> {
        let (program, arguments) = self.programs.command(name, own, flags);
        launch.start(name, program, &arguments)
    }

    /// The name of the cluster in kubeconfigs.
    fn context(&self) -> String {
        format!("jobcheck-{}", self.name)
    }

    fn etcd(&self, launch: &mut Launch<'_>) -> Result<(), Error> {
        let flags = [
            "etcd".into(),
            flag("data-dir", "etcd"),
            // The data need not survive a crash of the machine.
            "--unsafe-no-fsync".into(),
            flag("log-level", "warn"),
            flag("listen-client-urls", ETCD),
            flag("advertise-client-urls", ETCD),
            flag("listen-peer-urls", ETCD_PEER),
            flag("initial-advertise-peer-urls", ETCD_PEER),
            flag("initial-cluster", &format!("default={ETCD_PEER}")),
        ];
        launch.start("etcd", &self.programs.built, &flags)
    }

    async fn api_server(&self, launch: &mut Launch<'_>) -> Result<String, Error> {
        let admin = credentials(launch.folder)?;
        let port = self.port.map_or_else(free_port, Ok)?;
        let flags = [
            flag("etcd-servers", ETCD),
            flag("bind-address", "127.0.0.1"),
            flag("secure-port", &port.to_string()),
            flag("cert-dir", "certificates"),
            flag("token-auth-file", TOKENS),
            flag("authorization-mode", "RBAC"),
            // No controller creates the service account that this plugin requires of every pod.
            flag("disable-admission-plugins", "ServiceAccount"),
            flag("service-account-issuer", "https://kubernetes.default.svc"),
            flag("service-account-key-file", PUBLIC_KEY),
            flag("service-account-signing-key-file", PRIVATE_KEY),
            flag("service-cluster-ip-range", "10.0.0.0/24"),
            // Without this flag open watches delay the shutdown by a minute.
            flag("shutdown-watch-termination-grace-period", "2s"),
            flag("audit-policy-file", POLICY),
            flag("audit-log-path", AUDIT_LOG),
            // In megabytes. The log must not be rotated, because missing events make verdicts
            // inconclusive.
            flag("audit-log-maxsize", "100000"),
        ];
        self.start(launch, "kube-apiserver", &self.programs.api_server, &flags)?;
        let server = format!("https://127.0.0.1:{port}");
        self.api_server_ready(launch, &server, &admin).await?;
        Ok(server)
    }

    async fn api_server_ready(
        &self,
        launch: &mut Launch<'_>,
        server: &str,
        token: &str,
    ) -> Result<(), Error> {
        let authority = launch.file(&launch.folder.join(CERTIFICATES)).await?;
        let asked = |path: &str| Endpoint {
            server: server.to_owned(),
            path: path.to_owned(),
            authority: Some(CERTIFICATES.to_owned()),
        };
        launch.well("kube-apiserver", asked("/readyz")).await?;
        launch.well("etcd", asked("/readyz/etcd")).await?;
        // kube-apiserver creates this namespace after it has reported that it is ready.
        launch.until(&asked("/api/v1/namespaces/default")).await?;
        launch.state.server = Some(server.to_owned());
        let (authority, token) = (Some(&*authority), Some(token));
        let kubeconfig = Kubeconfig { cluster: &self.context(), user: ADMIN, server, authority, token };
        kubeconfig.write(&kubeconfig::path(launch.folder), &launch.state.kubernetes)
    }

    async fn controller_manager(
        &self,
        launch: &mut Launch<'_>,
        server: &str,
        controllers: &str,
    ) -> Result<(), Error> {
        let authority = launch.file(&launch.folder.join(CERTIFICATES)).await?;
        let token = launch.file(&launch.folder.join(MANAGER_TOKEN)).await?;
        let token = String::from_utf8_lossy(&token);
        let file = launch.folder.join("controller-manager.kubeconfig");
        let (authority, token) = (Some(&*authority), Some(&*token));
        Kubeconfig { cluster: &self.context(), user: CONTROLLER_MANAGER, server, authority, token }
            .write(&file, &launch.state.kubernetes)?;
        let port = free_port()?;
        let flags = [
            flag("kubeconfig", "controller-manager.kubeconfig"),
            flag("controllers", controllers),
            flag("leader-elect", "false"),
            // As on most clusters. The audit log then shows which controller has sent a request.
            flag("use-service-account-credentials", "true"),
            flag("bind-address", "127.0.0.1"),
            flag("secure-port", &port.to_string()),
            flag("cert-dir", "controller-manager-certificates"),
            // Without a token, as on a cluster of one machine that others cannot reach.
            flag("authorization-always-allow-paths", "/healthz,/livez,/metrics"),
        ];
        self.start(launch, "kube-controller-manager", &self.programs.controller_manager, &flags)?;
        let certificates = "controller-manager-certificates/kube-controller-manager.crt";
        launch.file(&launch.folder.join(certificates)).await?;
        let server = format!("https://127.0.0.1:{port}");
        let authority = Some(certificates.to_owned());
        launch
            .well("kube-controller-manager", Endpoint { server, path: "/healthz".to_owned(), authority })
            .await
    }
}

/// Writes the files with users, keys, and the audit policy that kube-apiserver reads. Returns the administrator's
/// token.
fn credentials(folder: &Path) -> Result<String, Error> {
    let (admin, manager, key) = (secrets::token()?, secrets::token()?, secrets::key()?);
    let line = |token: &str, user: &str| format!("{token},{user},{user},{MASTERS}\n");
    let tokens = line(&admin, ADMIN) + &line(&manager, CONTROLLER_MANAGER);
    for (name, text) in [
        (TOKEN, &*admin),
        (MANAGER_TOKEN, &manager),
        (TOKENS, &tokens),
        (PRIVATE_KEY, &key.private),
        (PUBLIC_KEY, &key.public),
        (POLICY, AUDIT_POLICY),
    ] {
        files::write(&folder.join(name), text.as_bytes())?;
    }
    Ok(admin)
}

/// The audit log of a cluster.
#[must_use]
pub(crate) fn audit_log(folder: &Path) -> PathBuf {
    folder.join(AUDIT_LOG)
}

fn flag(name: &str, value: &str) -> OsString {
    format!("--{name}={value}").into()
}

/// Returns a port that is free now. Another process may take it, so that callers try another one then.
fn free_port() -> Result<u16, Error> {
    let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
    bound.map(|address| address.port()).map_err(Error::file("listen on", Path::new("127.0.0.1")))
}
