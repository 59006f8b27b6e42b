//! The folder of all clusters.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::files;
use crate::lock::Lock;
use crate::name::Name;

/// The file by which Cargo's target folder is recognised.
const CACHE_TAG: &str = "CACHEDIR.TAG";
/// The number of folders above a program in which the target folder is searched:
/// `target/PLATFORM/PROFILE/deps/PROGRAM`.
const ABOVE: usize = 4;

/// The folder of all clusters, runs, and builds.
#[derive(Clone, Debug)]
pub struct Home(PathBuf);

impl Home {
    /// Returns `$JOBCHECK_HOME` or, if it is not set, `$XDG_STATE_HOME/jobcheck`. The default of
    /// `$XDG_STATE_HOME` is `~/.local/state`.
    ///
    /// # Errors
    /// Neither these variables nor `$HOME` are set.
    pub fn find() -> Result<Home, Error> {
        let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        // The XDG base directory specification requires relative paths to be ignored.
        let state = || set("XDG_STATE_HOME").filter(|path| path.is_absolute());
        let local = || set("HOME").map(|home| home.join(".local/state"));
        let home = set("JOBCHECK_HOME").or_else(|| Some(state().or_else(local)?.join("jobcheck")));
        Home::at(&home.ok_or(Error::NoHome)?)
    }

    /// Returns this folder as the home.
    ///
    /// # Errors
    /// The path is relative, and there is no current folder.
    pub fn at(path: &Path) -> Result<Home, Error> {
        // Processes are marked with the path, and run in other folders.
        std::path::absolute(path).map(Home).map_err(Error::file("use", path))
    }

    /// The folder of a cluster.
    #[must_use]
    pub fn cluster(&self, name: &Name) -> PathBuf {
        self.clusters().join(name.as_str())
    }

    /// The folder of the processes that run scenarios on clusters. Each has a folder of its own in it.
    #[must_use]
    pub fn runs(&self) -> PathBuf {
        self.0.join("runs")
    }

    /// The folder in which control planes are built. For a program in Cargo's target folder it is `controlplane/`
    /// there, so that `cargo clean` removes it. Otherwise it is in this folder.
    #[must_use]
    pub fn builds(&self) -> PathBuf {
        let program = env::current_exe().unwrap_or_default();
        target_folder(&program).unwrap_or(&self.0).join("controlplane")
    }

    /// The names of the clusters that have a folder, sorted.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn names(&self) -> Result<Vec<Name>, Error> {
        let folder = self.clusters();
        if !folder.exists() {
            return Ok(Vec::new());
        }
        let entries = fs::read_dir(&folder).map_err(Error::file("read", &folder))?.flatten();
        let folders = entries.filter(|entry| entry.path().is_dir());
        let mut names: Vec<Name> =
            folders.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        names.sort();
        Ok(names)
    }

    /// Locks a name for this process. Returns `None` if another process has the lock.
    pub(crate) fn try_lock(&self, name: &Name) -> Result<Option<Lock>, Error> {
        files::make_folder(&self.clusters())?;
        // The name of a cluster contains no dot.
        Lock::try_take(&self.clusters().join(format!("{name}.lock")))
    }

    fn clusters(&self) -> PathBuf {
        self.0.join("clusters")
    }
}

fn target_folder(program: &Path) -> Option<&Path> {
    program.ancestors().skip(1).take(ABOVE).find(|folder| folder.join(CACHE_TAG).is_file())
}
