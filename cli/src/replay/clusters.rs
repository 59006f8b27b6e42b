//! The traces of several clusters: `--cluster manager=FILE --cluster worker=FILE`. The workers of an aggregator are
//! `member=FILE`.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use jobcheck_judge::replay::{Clusters, Grouping, Judging, ShowProgress, group_until};
use jobcheck_judge::validate::Profile;
use jobcheck_traces::Input;

use crate::text::of_path;

/// The trace of one cluster, or a part of it.
#[derive(Clone, Debug)]
pub struct ClusterFile {
    role: ClusterRole,
    path: PathBuf,
}

/// The role of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClusterRole {
    Manager,
    Worker,
    /// A worker whose Jobs are members of a sum.
    Member,
}

/// Parses `ROLE=FILE`.
pub fn cluster_file(text: &str) -> Result<ClusterFile, String> {
    let (role, path) = text.split_once('=').unwrap_or((text, ""));
    let role = match role {
        "manager" => ClusterRole::Manager,
        "worker" => ClusterRole::Worker,
        "member" => ClusterRole::Member,
        _ => return Err("expected manager=FILE, worker=FILE or member=FILE".to_owned()),
    };
    match path {
        "" => Err("expected a file behind the =, such as manager=audit.log".to_owned()),
        "-" => Err("expected a file, since it is read twice; standard input can be read once".to_owned()),
        path => Ok(ClusterFile { role, path: PathBuf::from(path) }),
    }
}

/// The paths of all files that a command reads.
pub fn paths<'a>(files: &'a [OsString], clusters: &'a [ClusterFile]) -> impl Iterator<Item = &'a Path> {
    files.iter().map(Path::new).chain(clusters.iter().map(|it| &*it.path))
}

/// The traces in these files. Files of workers that show the same Jobs are parts of one trace.
pub fn clusters(
    files: &[ClusterFile],
    judging: &Judging,
    show: ShowProgress<'_>,
) -> Result<Clusters, String> {
    let is_aggregate = judging.profile == Some(Profile::Aggregate);
    if files.iter().any(|file| file.role == ClusterRole::Member) && !is_aggregate {
        return Err("--cluster: the Jobs of a member are summed up; add --profile aggregate".to_owned());
    }
    let of = |is_manager: bool| {
        let files = files.iter().filter(move |file| (file.role == ClusterRole::Manager) == is_manager);
        files.map(|file| Input::Path(file.path.clone()))
    };
    let (manager, workers): (Vec<Input>, Vec<Input>) = (of(true).collect(), of(false).collect());
    let worker = if is_aggregate { "member" } else { "worker" };
    for (inputs, role) in [(&manager, "manager"), (&workers, worker)] {
        if inputs.is_empty() {
            return Err(format!("--cluster: the trace of a {role} is missing; add --cluster {role}=FILE"));
        }
    }
    if let Some(file) = named_twice(files) {
        let file = of_path(&file.path);
        return Err(format!("--cluster: {file} is named twice; each file is the trace of one cluster"));
    }
    if let Some(file) = files.iter().find(|file| is_pipe(&file.path)) {
        let file = of_path(&file.path);
        return Err(format!("--cluster: {file} is a pipe, and is read twice; write it to a file"));
    }
    Ok(Clusters { manager, workers: group_until(workers, Grouping::Auto, &judging.stop, show) })
}

/// A file that is also named before.
fn named_twice(files: &[ClusterFile]) -> Option<&ClusterFile> {
    let real = |file: &ClusterFile| file.path.canonicalize().unwrap_or_else(|_| file.path.clone());
    let mut met = HashSet::new();
    files.iter().find(|file| !met.insert(real(file)))
}

#[cfg(unix)]
fn is_pipe(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    std::fs::metadata(path).is_ok_and(|data| data.file_type().is_fifo())
}

#[cfg(not(unix))]
fn is_pipe(_: &Path) -> bool {
    false
}
