//! The faults of `--faults`: the proxy before the API server of the manager, and the kubeconfig that leads to it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jobcheck_conform::{Cluster, Faults};
use jobcheck_judge::report::Exit;
use jobcheck_report::types::Outcome;
use jobcheck_report::{Folder, Scenario};
use tokio_util::sync::CancellationToken;

use super::Failure;
use super::args::ConformArgs;
use crate::output;
use crate::text::of_path;

/// The kubeconfig for the manager, in the folder of `--out`.
const KUBECONFIG: &str = "manager.kubeconfig";
/// The longest time until the manager connects.
const PATIENCE: Duration = Duration::from_secs(600);

/// The faults of a run, and the kubeconfig file. It has a token, and is removed at the end.
pub struct Injection {
    faults: Arc<Faults>,
    file: PathBuf,
}

impl Drop for Injection {
    fn drop(&mut self) {
        // Somebody may have removed it. Without the proxy it leads nowhere.
        let _ = std::fs::remove_file(&self.file);
    }
}

impl Injection {
    /// A pass without a fault shows nothing about faults: the manager may talk to its API server directly.
    pub fn judge(&self, scenarios: &mut [Scenario]) {
        let passed = scenarios.iter_mut().filter(|it| it.outcome == Outcome::Pass);
        for scenario in passed.filter(|_| !self.faults.is_used()) {
            scenario.outcome = Outcome::Inconclusive;
            scenario.reason = format!(
                "no write to a Job came through the proxy of --faults: the manager does not use {KUBECONFIG}"
            );
        }
    }
}

/// Starts the proxy, and waits until the manager has connected to it. The faults end with the clusters that are returned.
pub async fn begin(
    args: &ConformArgs,
    mut clusters: Vec<Arc<Cluster>>,
    folder: &Folder,
    stop: &CancellationToken,
) -> Result<(Vec<Arc<Cluster>>, Injection), Failure> {
    let failed = |why: String| (why, Exit::Environment);
    let Some(manager) = clusters.first_mut() else {
        return Err(failed("the cluster of the manager is missing".to_owned()));
    };
    let faults = Faults::start(manager, args.seed).await.map_err(|error| failed(error.to_string()))?;
    let (faults, file) = (Arc::new(faults), folder.path(KUBECONFIG));
    let name = of_path(&file);
    let unwritten = |error: std::io::Error| failed(format!("cannot write {name}: {error}"));
    jobcheck_traces::files::write(&file, faults.kubeconfig().as_bytes()).map_err(unwritten)?;
    let injection = Injection { faults: faults.clone(), file: file.clone() };
    output::note(format!("start the manager with {name}; the suite waits for it"));
    tokio::select! {
        biased;
        () = stop.cancelled() => return Err(failed("interrupted: nothing was run".to_owned())),
        () = faults.connected() => {}
        () = tokio::time::sleep(PATIENCE) => {
            let why = format!("no manager has connected with {name} in ten minutes");
            return Err(failed(why));
        }
    }
    *manager = Arc::new(manager.with_faults(faults));
    Ok((clusters, injection))
}
