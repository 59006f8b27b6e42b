//! Restarts of parts of the control plane while scenarios run there.

use std::time::Duration;

use jobcheck_cluster::{Cluster, Ended, Error};
use jobcheck_live::Site;
use tokio_util::sync::CancellationToken;

use super::super::args::FuzzArgs;

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

/// Restarts what is asked for, one part after the other, until it is over. Where the control plane does not come back,
/// that is over, too. A restart that was begun is finished.
pub async fn until(
    over: &CancellationToken,
    args: &FuzzArgs,
    own: Option<&mut Cluster>,
    site: &Site,
) -> Restarts {
    let mut restarts = Restarts::default();
    let Some(cluster) = own else { return restarts };
    for part in args.disturb.iter().cycle() {
        let next = over.run_until_cancelled(tokio::time::sleep(args.disturb_every));
        if next.await.is_none() {
            break;
        }
        let program = part.program();
        let trouble = site.trouble(&format!("{program} is restarted"));
        match cluster.restart(program, WELL).await {
            Ok(Ended::Asked) => restarts.made += 1,
            Ok(Ended::Killed) => {
                trouble.leaves_gap(&format!("{program} had to be killed"));
                restarts.made += 1;
            }
            Err(error) => {
                restarts.error = Some(error);
                over.cancel();
                break;
            }
        }
    }
    restarts
}
