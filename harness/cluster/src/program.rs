//! The control plane as a program. It is built once with Go from the sources of `harness/controlplane`, which are
//! embedded in this program.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use ring::digest::{Context, SHA256};
use rustix::process::Signal;
use tokio::process::Command;

use crate::Version;
use crate::error::{Error, Log};
use crate::files;
use crate::lock::Lock;
use crate::process::{MARK, marked};

const MAIN: &str = include_str!("../controlplane/main.go");
const PROGRAM: &str = "controlplane";
/// The number of bytes of the digest in the name of a build folder.
const DIGEST: usize = 8;
/// The interval of checks for the end of another process's build.
const LOOK: Duration = Duration::from_millis(200);

/// Returns the program of the control plane for this version, and builds it in this folder if it does not exist.
/// `say` receives a message before a long build. A build of the same program by another process is awaited.
///
/// # Errors
/// Go is missing, or the build fails.
pub async fn built(builds: &Path, version: Version, say: &mut dyn FnMut(&str)) -> Result<PathBuf, Error> {
    let name = digest(version);
    let folder = builds.join(&name);
    let program = folder.join(PROGRAM);
    if program.is_file() {
        return Ok(program);
    }
    files::make_folder(&folder)?;
    let log = folder.join("build.log");
    say(&format!(
        "building the control plane (Kubernetes {version}) with Go, once: minutes; log: {}",
        log.display()
    ));
    let _lock = lock(&builds.join(format!("{name}.lock"))).await?;
    if program.is_file() {
        return Ok(program);
    }
    // A build continues after its parent process was killed.
    marked(&folder).iter().for_each(|it| it.signal(Signal::KILL));
    build(version, &folder, &log).await?;
    Ok(program)
}

async fn lock(path: &Path) -> Result<Lock, Error> {
    loop {
        if let Some(lock) = Lock::try_take(path)? {
            return Ok(lock);
        }
        tokio::time::sleep(LOOK).await;
    }
}

async fn build(version: Version, folder: &Path, log: &Path) -> Result<(), Error> {
    let source = folder.join("source");
    files::make_folder(&source)?;
    for (name, text) in sources(version) {
        files::write(&source.join(name), text.as_bytes())?;
    }
    let partial = folder.join(format!("{PROGRAM}.partial"));
    let said = fs::File::create(log).map_err(Error::file("write", log))?;
    let both = said.try_clone().map_err(Error::file("write", log))?;
    let mut go = Command::new("go");
    go.args(["build", "-trimpath", "-buildvcs=false", "-mod=readonly", "-ldflags", &linked(version), "-o"])
        .arg(&partial);
    // Without cgo no C compiler is required.
    go.arg(".").current_dir(&source).env("CGO_ENABLED", "0").env("GOWORK", "off").env(MARK, folder);
    go.stdin(Stdio::null()).stdout(said).stderr(both).kill_on_drop(true);
    let status = go.status().await.map_err(|source| match source.kind() {
        ErrorKind::NotFound => Error::NoGo,
        _ => Error::Start { program: "go".to_owned(), source },
    })?;
    if !status.success() {
        return Err(Error::Build(Log::end_of(log)));
    }
    let program = folder.join(PROGRAM);
    fs::rename(&partial, &program).map_err(Error::file("write", &program))
}

/// The source files of the build, with their contents.
fn sources(version: Version) -> [(&'static str, &'static str); 3] {
    let (module, sums) = module(version);
    [("go.mod", module), ("go.sum", sums), ("main.go", MAIN)]
}

/// The Go module of the control plane, and the digests of its dependencies: `go.mod` and `go.sum`.
const fn module(version: Version) -> (&'static str, &'static str) {
    match version {
        Version::V1_35 => {
            (include_str!("../controlplane/go-1.35.mod"), include_str!("../controlplane/go-1.35.sum"))
        }
        Version::V1_36 => (include_str!("../controlplane/go.mod"), include_str!("../controlplane/go.sum")),
        Version::V1_37 => {
            (include_str!("../controlplane/go-1.37.mod"), include_str!("../controlplane/go-1.37.sum"))
        }
    }
}

/// The linker flags, as in upstream's build. Without them the server reports v0.0.0, which clients cannot parse. `-s
/// -w` makes the program small.
fn linked(version: Version) -> String {
    let minor = version.rules().minor;
    let set = "-X k8s.io/component-base/version";
    format!("-s -w {set}.gitVersion=v{version} {set}.gitMajor=1 {set}.gitMinor={minor}")
}

/// The digest of the sources, by which a folder is named. Builds of other sources stay next to it.
fn digest(version: Version) -> String {
    let mut digest = Context::new(&SHA256);
    let linked = linked(version);
    let others = [std::env::consts::OS, std::env::consts::ARCH, &*linked];
    let sources = sources(version);
    let sources = sources.iter().flat_map(|(name, text)| [*name, *text]);
    for part in others.into_iter().chain(sources) {
        digest.update(part.as_bytes());
        digest.update(&[0]);
    }
    digest.finish().as_ref().iter().take(DIGEST).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_version_has_its_own_build_folder_and_reports_its_version() {
        let folders: BTreeSet<String> = Version::ALL.map(digest).into();
        assert_eq!(folders.len(), Version::ALL.len());
        for version in Version::ALL {
            assert!(linked(version).contains(&format!(".gitVersion=v{version} ")));
        }
    }

    #[test]
    fn the_module_is_that_of_the_release() {
        for version in Version::ALL {
            let (module, sums) = module(version);
            let (_, patch) = version.release().split_once('.').unwrap();
            assert!(module.contains(&format!("k8s.io/kubernetes v{version}\n")));
            assert!(module.contains(&format!("k8s.io/api => k8s.io/api v0.{patch}\n")));
            assert!(sums.contains(&format!("k8s.io/kubernetes v{version} h1:")));
        }
    }
}
