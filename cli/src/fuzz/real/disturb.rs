//! Restarts of parts of the control plane while scenarios run there.

use std::time::Duration;

use jobcheck_cluster::{Cluster, Ended};
use jobcheck_live::{Error, TestCluster};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::super::args::FuzzArgs;
use crate::real;

/// How long the control plane may take to be well again.
const WELL: Duration = Duration::from_secs(120);

/// What came of the restarts.
#[derive(Debug, Default)]
pub struct Restarts {
    /// How many were made.
    pub made: u64,
    /// Why the control plane is not well any more.
    pub error: Option<Error>,
}

/// Restarts what is asked for, one part after the other, until it is `over`. Where a part of the control plane ends by
/// itself, or does not come back, `halt` is cancelled. A restart that was begun is finished.
pub async fn until(
    over: &CancellationToken,
    halt: &CancellationToken,
    args: &FuzzArgs,
    mut own: Option<&mut Cluster>,
    site: &TestCluster,
) -> Restarts {
    let mut restarts = Restarts::default();
    let mut parts = args.disturb.iter().cycle();
    loop {
        let lost = tokio::select! {
            () = over.cancelled() => return restarts,
            error = real::lost(own.as_deref_mut()) => Some(error),
            () = sleep(args.disturb_every), if !args.disturb.is_empty() => None,
        };
        let made = match (lost, own.as_deref_mut(), parts.next()) {
            (Some(error), _, _) => Err(error),
            (None, Some(cluster), Some(part)) => restart(cluster, part.program(), site).await,
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
    if cluster.restart(program, WELL).await? == Ended::Killed {
        trouble.leaves_gap(&format!("{program} had to be killed"));
    }
    Ok(())
}
