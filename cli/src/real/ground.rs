//! The cluster on which scenarios run: one that is there, or one of their own.

use std::path::PathBuf;
use std::time::Duration;

use anstream::eprintln;
use jobcheck_cluster::down::sweep;
use jobcheck_cluster::status::{self, Health};
use jobcheck_cluster::{Cluster, Controllers, Home, Kind, Name, Plane, Spec, Up, audit_log, program, up};
use jobcheck_live::{Access, AccessError, Error};

use super::Wish;
use crate::cluster::Progress;
use crate::run::Target;

/// How long a control plane may take to be ready.
const READY: Duration = Duration::from_secs(120);

/// Where the scenarios run.
pub struct Ground {
    /// The way there.
    pub access: Access,
    /// What it says of requests.
    pub audit_log: Option<PathBuf>,
    /// The control plane that was started for this; it ends with this value.
    pub own: Option<Cluster>,
    /// That control plane as a program.
    pub program: Option<PathBuf>,
    /// Whether no other controllers of Jobs and of TTLs are there.
    pub is_free: bool,
}

/// The cluster that was asked for, or one of its own.
pub async fn of(wish: &Wish<'_>, progress: &Progress) -> Result<Ground, Error> {
    let way = wish.way;
    if let Some(name) = &way.cluster {
        return known(wish.target, name).await;
    }
    if way.is_given() {
        let access = Access { kubeconfig: way.kubeconfig.clone(), context: way.context.clone() };
        return Ok(Ground { access, audit_log: None, own: None, program: None, is_free: false });
    }
    started(wish, progress).await
}

/// A cluster of `jobcheck cluster up`.
async fn known(target: Target, name: &Name) -> Result<Ground, Error> {
    let found = status::one(&Home::find()?, name).await;
    let there = found.filter(|it| it.health == Health::Ready);
    let Some((status, state)) = there.and_then(|it| it.state.clone().map(|state| (it, state))) else {
        let with = if target == Target::BuiltIn { "--with built-in " } else { "" };
        let up = format!("start it with jobcheck cluster up {with}--name {name}");
        return Err(AccessError::NoCluster(format!("{name} is not there, or not ready: {up}")).into());
    };
    if target == Target::BuiltIn && state.kind != Kind::BuiltIn {
        let up = format!("jobcheck cluster up --with built-in --name {name}");
        return Err(AccessError::NoCluster(format!(
            "cluster {name} is a {}, without the Job controller: {up}",
            state.kind
        ))
        .into());
    }
    let access = Access { kubeconfig: Some(status.kubeconfig), context: None };
    let audit_log = Some(audit_log(&status.folder)).filter(|file| file.is_file());
    let is_free = state.kind != Kind::BuiltIn;
    Ok(Ground { access, audit_log, own: None, program: None, is_free })
}

/// A control plane that lasts as long as the runs.
async fn started(wish: &Wish<'_>, progress: &Progress) -> Result<Ground, Error> {
    let Wish { target, controllers, version, .. } = *wish;
    let home = Home::find()?;
    for name in sweep(&home)? {
        eprintln!("note: cluster {name} was left by a process that is gone: it is cleared");
    }
    let program = program::built(&home.builds(), version, &mut |what| progress.say(what)).await?;
    progress.show(&format!("{}: starting a control plane", target.name()));
    let of = if target == Target::BuiltIn && controllers == Controllers::Collectors { "-alone" } else { "" };
    let name = format!("run-{}{of}-{}", target.name(), std::process::id());
    let name = name.parse().map_err(|_| Error::Internal(format!("the name {name}")))?;
    let spec = Spec {
        name,
        plane: Plane::Real { program: program.clone(), controllers },
        version,
        port: None,
        timeout: READY,
    };
    let Up::Started(cluster) = up(&home, &spec).await? else {
        return Err(Error::Internal(format!("cluster {} runs already", spec.name)));
    };
    let access = Access { kubeconfig: Some(cluster.kubeconfig()), context: None };
    let audit_log = Some(audit_log(cluster.folder()));
    let is_free = controllers == Controllers::Collectors;
    Ok(Ground { access, audit_log, own: Some(cluster), program: Some(program), is_free })
}
