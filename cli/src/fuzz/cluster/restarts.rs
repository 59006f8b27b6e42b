//! Restarts of components of the control plane while scenarios run there.

use std::time::Duration;

use jobcheck_cluster::{Cluster, Ended};
use jobcheck_live::{Error, TestCluster};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::super::args::FuzzArgs;
use crate::real_cluster;

/// The longest time that the control plane may take to become ready again.
const READY: Duration = Duration::from_secs(120);

/// The result of the restarts.
#[derive(Debug, Default)]
pub struct Restarts {
    /// The number of restarts.
    pub made: u64,
    /// The reason why the control plane is lost.
    pub error: Option<Error>,
}

/// Restarts the chosen components, one after the other, until `over` is cancelled.
///
/// Cancels `halt` if a component ends by itself, or does not become ready again. A restart that has begun is finished.
pub async fn until(
    over: &CancellationToken,
    halt: &CancellationToken,
    args: &FuzzArgs,
    mut own: Option<&mut Cluster>,
    site: &TestCluster,
) -> Restarts {
    let mut restarts = Restarts::default();
    let mut components = args.disturb.iter().cycle();
    loop {
        let lost = tokio::select! {
            () = over.cancelled() => return restarts,
            error = real_cluster::lost(own.as_deref_mut()) => Some(error),
            () = sleep(args.disturb_every), if !args.disturb.is_empty() => None,
        };
        let made = match (lost, own.as_deref_mut(), components.next()) {
            (Some(error), _, _) => Err(error),
            (None, Some(cluster), Some(component)) => restart(cluster, component.program(), site).await,
            (None, _, _) => Ok(()),
        };
        match made {
            Ok(()) => restarts.made += 1,
            Err(error) => {
                restarts.error = Some(error);
                halt.cancel();
                return restarts;
            }
        }
    }
}

async fn restart(cluster: &mut Cluster, program: &str, site: &TestCluster) -> Result<(), Error> {
    let trouble = site.disrupt(&format!("{program} is restarted"));
    if cluster.restart(program, READY).await? == Ended::Killed {
        trouble.leaves_gap(&format!("{program} had to be killed"));
    }
    Ok(())
}
