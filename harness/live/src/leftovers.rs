//! What is known of the runs of each process, and what a killed one has left behind.
//!
//! As long as runs go on, a folder says of which process they are, on which cluster, and with which label. Where that
//! process is dead, the next one removes it all: processes, namespaces, the Node, and the folder.

use std::fs;
use std::path::Path;
use std::time::Duration;

use jobcheck_cluster::process::{Process, boot, marked, wait};
use jobcheck_record::Access;
use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::error::Error;
use crate::site::{empty, gone, labelled, send};

const FILE: &str = "run.json";
/// How long the operating system may take to end processes.
const ENDS: Duration = Duration::from_secs(20);
/// How long a cluster may take to answer, which may not be there any more.
const ANSWERS: Duration = Duration::from_secs(10);

/// Whose runs they are, and where.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Record {
    id: String,
    owner: Process,
    boot: String,
    access: Access,
}

impl Record {
    /// Of this process.
    pub(crate) fn of(id: &str, access: &Access) -> Result<Record, Error> {
        let mut access = access.clone();
        // The next process may be started elsewhere.
        let absolute = access.kubeconfig.as_ref().map(std::path::absolute).transpose();
        access.kubeconfig = absolute.map_err(Error::file(Path::new(".")))?;
        Ok(Record { id: id.to_owned(), owner: Process::this()?, boot: boot(), access })
    }

    /// Makes the folder.
    pub(crate) fn write(&self, folder: &Path) -> Result<(), Error> {
        fs::create_dir_all(folder).map_err(Error::file(folder))?;
        let text = serde_json::to_vec_pretty(self).map_err(|error| Error::Internal(error.to_string()))?;
        fs::write(folder.join(FILE), text).map_err(Error::file(folder))
    }

    fn read(folder: &Path) -> Option<Record> {
        serde_json::from_slice(&fs::read(folder.join(FILE)).ok()?).ok()
    }

    fn lives(&self) -> bool {
        self.boot == boot() && self.owner.lives()
    }
}

/// Removes the folder of runs that are over.
pub(crate) fn forget(folder: &Path) -> Result<(), Error> {
    fs::remove_dir_all(folder).map_err(Error::file(folder))
}

/// Removes what dead processes have left.
pub(crate) async fn clear(runs: &Path) -> Result<(), Error> {
    let folders = fs::read_dir(runs).into_iter().flatten().flatten().map(|entry| entry.path());
    for folder in folders {
        // One without a record that can be read is being made, or of another version.
        let Some(record) = Record::read(&folder).filter(|record| !record.lives()) else { continue };
        let processes = marked(&folder);
        processes.iter().for_each(|it| it.signal(Signal::KILL));
        let _ = wait(processes, ENDS);
        if on_the_cluster(&record).await? {
            forget(&folder)?;
        }
    }
    Ok(())
}

/// Removes what is left on the cluster; whether that is done for good: a cluster that gives no answer may come back, one
/// whose kubeconfig is gone will not.
async fn on_the_cluster(record: &Record) -> Result<bool, Error> {
    if record.access.kubeconfig.as_ref().is_some_and(|file| !file.exists()) {
        return Ok(true);
    }
    let Ok(client) = record.access.client().await else { return Ok(false) };
    let found = tokio::time::timeout(ANSWERS, labelled(&client, &record.id)).await;
    let Ok(Ok(namespaces)) = found else { return Ok(false) };
    for namespace in namespaces {
        empty(&client, &namespace).await?;
    }
    send(&client, "DELETE", &format!("/api/v1/nodes/{}", record.id), &json!({})).await?;
    gone(&client, &record.id).await?;
    Ok(true)
}
