//! The folder of all clusters.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::files;
use crate::lock::Lock;
use crate::name::Name;

/// Cargo puts this file into its target folder.
const CACHE_TAG: &str = "CACHEDIR.TAG";
/// Folders above a program in which the target folder may be: `target/PLATFORM/PROFILE/deps/PROGRAM`.
const ABOVE: usize = 4;

/// Where clusters are kept.
#[derive(Clone, Debug)]
pub struct Home(PathBuf);

impl Home {
    /// `$JOBCHECK_HOME`; else `jobcheck` in `$XDG_STATE_HOME`, which is `~/.local/state` where it is not set.
    ///
    /// # Errors
    /// None of them is set.
    pub fn find() -> Result<Home, Error> {
        let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        // Relative paths are to be ignored there, says the XDG base directory specification.
        let state = || set("XDG_STATE_HOME").filter(|path| path.is_absolute());
        let local = || set("HOME").map(|home| home.join(".local/state"));
        let home = set("JOBCHECK_HOME").or_else(|| Some(state().or_else(local)?.join("jobcheck")));
        Home::at(&home.ok_or(Error::NoHome)?)
    }

    /// This folder.
    ///
    /// # Errors
    /// A relative path, and there is no current folder.
    pub fn at(path: &Path) -> Result<Home, Error> {
        // Processes are marked with it, and run elsewhere.
        std::path::absolute(path).map(Home).map_err(Error::file("use", path))
    }

    /// The folder of a cluster.
    #[must_use]
    pub fn cluster(&self, name: &Name) -> PathBuf {
        self.clusters().join(name.as_str())
    }

    /// The folder of all runs of scenarios on clusters: each has one of its own there while it lasts.
    #[must_use]
    pub fn runs(&self) -> PathBuf {
        self.0.join("runs")
    }

    /// Where control planes are built: `controlplane/` in Cargo's target folder if this program lies in one, so that
    /// `cargo clean` takes them; else in this folder.
    #[must_use]
    pub fn builds(&self) -> PathBuf {
        let program = env::current_exe().unwrap_or_default();
        target_folder(&program).unwrap_or(&self.0).join("controlplane")
    }

    /// Names of the clusters that have a folder, in order.
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

    /// Takes the name for this process; `None` if another has it.
    pub(crate) fn try_lock(&self, name: &Name) -> Result<Option<Lock>, Error> {
        files::make_folder(&self.clusters())?;
        // No name has a dot.
        Lock::try_take(&self.clusters().join(format!("{name}.lock")))
    }

    fn clusters(&self) -> PathBuf {
        self.0.join("clusters")
    }
}

fn target_folder(program: &Path) -> Option<&Path> {
    program.ancestors().skip(1).take(ABOVE).find(|folder| folder.join(CACHE_TAG).is_file())
}
