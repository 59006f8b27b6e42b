//! The control plane as a program, built once from the sources in `harness/controlplane`, which this program holds.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use ring::digest::{Context, SHA256};
use rustix::process::Signal;
use tokio::process::Command;

use crate::error::{Error, Log};
use crate::files;
use crate::lock::Lock;
use crate::process::{MARK, marked};

/// The version of Kubernetes that `go.mod` names.
pub const KUBERNETES: &str = "1.36.3";

const SOURCES: [(&str, &str); 3] = [
    ("go.mod", include_str!("../../controlplane/go.mod")),
    ("go.sum", include_str!("../../controlplane/go.sum")),
    ("main.go", include_str!("../../controlplane/main.go")),
];
const PROGRAM: &str = "controlplane";
/// As upstream builds: without them the server says that it is v0.0.0, which clients cannot read. And small.
const LINKED: &str = "-s -w -X k8s.io/component-base/version.gitVersion=v1.36.3 \
                      -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=36";
/// Bytes of the digest that a folder is named after.
const DIGEST: usize = 8;
/// Time between two looks at a build of another process.
const LOOK: Duration = Duration::from_millis(200);

/// The program, which is built in this folder if it is not there yet; `say` hears what takes long. Another process that
/// builds the same is waited for.
///
/// # Errors
/// Go is missing, or the build fails.
pub async fn built(builds: &Path, say: &mut dyn FnMut(&str)) -> Result<PathBuf, Error> {
    let name = digest();
    let folder = builds.join(&name);
    let program = folder.join(PROGRAM);
    if program.is_file() {
        return Ok(program);
    }
    files::make_folder(&folder)?;
    let log = folder.join("build.log");
    say(&format!(
        "building the control plane (Kubernetes {KUBERNETES}) with Go, once: minutes; log: {}",
        log.display()
    ));
    let _lock = lock(&builds.join(format!("{name}.lock"))).await?;
    if program.is_file() {
        return Ok(program);
    }
    // A build goes on when the process that began it is killed.
    marked(&folder).iter().for_each(|it| it.signal(Signal::KILL));
    build(&folder, &log).await?;
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

async fn build(folder: &Path, log: &Path) -> Result<(), Error> {
    let sources = folder.join("source");
    files::make_folder(&sources)?;
    for (name, text) in SOURCES {
        files::write(&sources.join(name), text.as_bytes())?;
    }
    let partial = folder.join(format!("{PROGRAM}.partial"));
    let said = fs::File::create(log).map_err(Error::file("write", log))?;
    let both = said.try_clone().map_err(Error::file("write", log))?;
    let mut go = Command::new("go");
    go.args(["build", "-trimpath", "-buildvcs=false", "-mod=readonly", "-ldflags", LINKED, "-o"])
        .arg(&partial);
    // Without cgo no C compiler is needed.
    go.arg(".").current_dir(&sources).env("CGO_ENABLED", "0").env("GOWORK", "off").env(MARK, folder);
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

/// What the build depends on, as a name: what was built from other sources stays beside it.
fn digest() -> String {
    let mut digest = Context::new(&SHA256);
    let others = [std::env::consts::OS, std::env::consts::ARCH, LINKED];
    let sources = SOURCES.iter().flat_map(|(name, text)| [*name, *text]);
    for part in others.into_iter().chain(sources) {
        digest.update(part.as_bytes());
        digest.update(&[0]);
    }
    digest.finish().as_ref().iter().take(DIGEST).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_that_of_the_module() {
        let (_, module) = SOURCES[0];
        assert!(module.contains(&format!("k8s.io/kubernetes v{KUBERNETES}\n")));
        assert!(LINKED.contains(&format!("gitVersion=v{KUBERNETES} ")));
    }
}
