//! Cleanup of the objects that killed processes have left on clusters.
//!
//! During its runs, each process has a folder with its id, its cluster, and its label. If the process has died, the
//! next one removes everything: controllers, namespaces, the Node, and the folder.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

use jobcheck_cluster::process::{Process, boot, marked, wait};
use jobcheck_record::Access;
use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::error::Error;
use crate::test_cluster::{empty, gone, labelled, send};

const FILE: &str = "run.json";
/// The time in which killed processes must end.
const ENDS: Duration = Duration::from_secs(20);
/// The time in which a cluster must respond. It may not exist any longer.
const ANSWERS: Duration = Duration::from_secs(10);

/// The owner of runs, and their cluster.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OwnerRecord {
    id: String,
    owner: Process,
    boot: String,
    access: Access,
}

/// Creates a folder, and the one of all runs, so that only this user can read them: their logs quote objects.
fn make_private(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    // An older version made it readable for all.
    folder.parent().map_or(Ok(()), |runs| fs::set_permissions(runs, Permissions::from_mode(0o700)))
}

impl OwnerRecord {
    /// Returns the record of this process.
    pub(crate) fn of(id: &str, access: &Access) -> Result<OwnerRecord, Error> {
        let mut access = access.clone();
        // The next process may have another current folder.
        let absolute = access.kubeconfig.as_ref().map(std::path::absolute).transpose();
        access.kubeconfig = absolute.map_err(Error::file(Path::new(".")))?;
        Ok(OwnerRecord { id: id.to_owned(), owner: Process::this()?, boot: boot(), access })
    }

    /// Writes the record to a new folder.
    pub(crate) fn write(&self, folder: &Path) -> Result<(), Error> {
        make_private(folder).map_err(Error::file(folder))?;
        let text = serde_json::to_vec_pretty(self).map_err(|error| Error::Internal(error.to_string()))?;
        fs::write(folder.join(FILE), text).map_err(Error::file(folder))
    }

    fn read(folder: &Path) -> Option<OwnerRecord> {
        serde_json::from_slice(&fs::read(folder.join(FILE)).ok()?).ok()
    }

    fn lives(&self) -> bool {
        self.boot == boot() && self.owner.lives()
    }
}

/// Removes the folder of finished runs.
pub(crate) fn forget(folder: &Path) -> Result<(), Error> {
    fs::remove_dir_all(folder).map_err(Error::file(folder))
}

/// Removes the objects of dead processes.
pub(crate) async fn clear(runs: &Path) -> Result<(), Error> {
    let folders = fs::read_dir(runs).into_iter().flatten().flatten().map(|entry| entry.path());
    for folder in folders {
        // A folder without a readable record is being created, or is of another version of this program.
        let Some(record) = OwnerRecord::read(&folder).filter(|record| !record.lives()) else { continue };
        let processes = marked(&folder);
        processes.iter().for_each(|it| it.signal(Signal::KILL));
        let _ = wait(processes, ENDS);
        if on_the_cluster(&record).await? {
            forget(&folder)?;
        }
    }
    Ok(())
}

/// Removes the objects on the cluster. Returns true if nothing remains to be done. A cluster that does not respond
/// may return, but not one whose kubeconfig was removed.
async fn on_the_cluster(record: &OwnerRecord) -> Result<bool, Error> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_user_reads_the_folder_of_a_run() {
        let home = tempfile::tempdir().unwrap();
        let runs = home.path().join("runs");
        fs::create_dir(&runs).unwrap();
        fs::set_permissions(&runs, Permissions::from_mode(0o755)).unwrap();
        make_private(&runs.join("x")).unwrap();
        for folder in [runs.clone(), runs.join("x")] {
            assert_eq!(
                fs::metadata(&folder).unwrap().permissions().mode() & 0o777,
                0o700,
                "{}",
                folder.display()
            );
        }
    }
}
