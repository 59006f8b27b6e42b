//! The cluster on which scenarios run: an existing one, or one that is started for the runs.

use std::path::PathBuf;
use std::time::Duration;

use jobcheck_cluster::down::sweep;
use jobcheck_cluster::status::{self, Health};
use jobcheck_cluster::{
    Cluster, Controllers, Home, Kind, Name, Plane, Programs, Spec, Up, audit_log, program, up,
};
use jobcheck_live::{Access, AccessError, Error};

use super::Request;
use crate::cluster::Progress;
use crate::output;
use crate::run::Target;

/// The longest time that a control plane may take to become ready.
const READY: Duration = Duration::from_secs(120);

/// A cluster that is ready.
pub struct Provisioned {
    /// The connection.
    pub access: Access,
    /// The audit log of its API server, if there is one.
    pub audit_log: Option<PathBuf>,
    /// The control plane that was started for the runs. It ends when this value is dropped.
    pub own: Option<Cluster>,
    /// The programs of that control plane.
    pub programs: Option<Programs>,
    /// True if no built-in Job and TTL controllers run there.
    pub has_no_controllers: bool,
}

/// Finds the cluster that the arguments name, or starts one.
pub async fn provision(request: &Request<'_>, progress: &Progress) -> Result<Provisioned, Error> {
    let connection = request.connection;
    if let Some(name) = &connection.cluster {
        return named(request.target, name).await;
    }
    if connection.is_given() {
        let access =
            Access { kubeconfig: connection.kubeconfig.clone(), context: connection.context.clone() };
        return Ok(Provisioned {
            access,
            audit_log: None,
            own: None,
            programs: None,
            has_no_controllers: false,
        });
    }
    started(request, progress).await
}

/// A cluster of `jobcheck cluster up`.
async fn named(target: Target, name: &Name) -> Result<Provisioned, Error> {
    let found = status::one(&Home::find()?, name).await;
    let ready = found.filter(|it| it.health == Health::Ready);
    let Some((status, state)) = ready.and_then(|it| it.state.clone().map(|state| (it, state))) else {
        let with = if target == Target::BuiltIn { "--with built-in " } else { "" };
        let up = format!("start it with jobcheck cluster up {with}--name {name}");
        return Err(
            AccessError::NoCluster(format!("cluster {name} does not exist or is not ready: {up}")).into()
        );
    };
    if target == Target::BuiltIn && state.kind != Kind::BuiltIn {
        let up = format!("jobcheck cluster up --with built-in --name {name}");
        let kind = state.kind;
        return Err(AccessError::NoCluster(format!(
            "cluster {name} is a {kind} without the Job controller: {up}"
        ))
        .into());
    }
    let access = Access { kubeconfig: Some(status.kubeconfig), context: None };
    let audit_log = Some(audit_log(&status.folder)).filter(|file| file.is_file());
    let has_no_controllers = state.kind != Kind::BuiltIn;
    Ok(Provisioned { access, audit_log, own: None, programs: None, has_no_controllers })
}

/// A control plane that ends with the runs.
async fn started(request: &Request<'_>, progress: &Progress) -> Result<Provisioned, Error> {
    let Request { target, controllers, version, .. } = *request;
    let home = Home::find()?;
    for name in sweep(&home)? {
        output::note(format!("cluster {name} was removed: the process that started it has ended"));
    }
    let built = program::built(&home.builds(), version, &mut |message| progress.note(message)).await?;
    let programs = request.own.beside(built);
    progress.show(&format!("{}: starting a control plane", target.name()));
    let is_alone = target == Target::BuiltIn && controllers == Controllers::Collectors;
    let suffix = if is_alone { "-alone" } else { "" };
    let name = format!("run-{}{suffix}-{}", target.name(), std::process::id());
    let name = name.parse().map_err(|_| Error::Internal(format!("the name {name}")))?;
    let spec = Spec {
        name,
        plane: Plane::Real { programs: programs.clone(), controllers },
        version,
        port: None,
        timeout: READY,
    };
    let Up::Started(cluster) = up(&home, &spec).await? else {
        return Err(Error::Internal(format!("cluster {} runs already", spec.name)));
    };
    let access = Access { kubeconfig: Some(cluster.kubeconfig()), context: None };
    let audit_log = Some(audit_log(cluster.folder()));
    let has_no_controllers = controllers == Controllers::Collectors;
    Ok(Provisioned { access, audit_log, own: Some(cluster), programs: Some(programs), has_no_controllers })
}
