//! Programs of others in the place of ours: a build of kube-apiserver or kube-controller-manager.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The time in which a program must print its version.
const WITHIN: Duration = Duration::from_secs(20);
/// The interval of checks for the end of a program.
const LOOK: Duration = Duration::from_millis(20);
/// The number of bytes of a version that are read.
const MOST: u64 = 4096;

/// A program that someone else has built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Own {
    /// The program, as an absolute path.
    pub path: PathBuf,
    /// The version that it prints, such as `v1.36.3-dirty`.
    pub version: String,
}

impl Own {
    /// Looks at a program: it exists, can be executed, and prints its version.
    ///
    /// # Errors
    ///
    /// The reason, and what to do about it.
    pub fn at(path: &Path) -> Result<Own, String> {
        let shown = path.display();
        let path = path.canonicalize().map_err(|error| format!("{shown}: {error}"))?;
        if !path.is_file() {
            return Err(format!("{shown} is no file; give the path of the program"));
        }
        let said = version(&path).map_err(|why| format!("{shown} --version: {why}"))?;
        let found = said.split_whitespace().find(|word| is_version(word));
        match found {
            Some(version) => Ok(Own { path, version: version.to_owned() }),
            None => Err(format!(
                "{shown} --version prints no version of Kubernetes, such as \"Kubernetes v1.36.3\"; build it with \
                 make, which sets the version"
            )),
        }
    }
}

/// Returns whether a word is a version, such as `v1.36.3-dirty`. `v0.0.0` is that of a build without one.
fn is_version(word: &str) -> bool {
    let mut parts = word.strip_prefix('v').unwrap_or_default().splitn(3, '.');
    let is_number = |part: Option<&str>| {
        part.is_some_and(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let is_one = parts.next() == Some("1");
    is_one && is_number(parts.next()) && parts.next().is_some()
}

/// The output of `PROGRAM --version`. A program that does not end is killed.
fn version(path: &Path) -> Result<String, String> {
    let mut command = Command::new(path);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| match error.kind() {
        std::io::ErrorKind::PermissionDenied => format!("{error}; make it executable with chmod +x"),
        _ => format!("{error}; it must be a program for this machine"),
    })?;
    let end = Instant::now() + WITHIN;
    let status = loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => break status,
            None if Instant::now() >= end => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("it does not end within {WITHIN:?}"));
            }
            None => std::thread::sleep(LOOK),
        }
    };
    if !status.success() {
        return Err(format!("it fails ({status})"));
    }
    let mut said = Vec::new();
    if let Some(out) = child.stdout.take() {
        out.take(MOST).read_to_end(&mut said).map_err(|error| error.to_string())?;
    }
    Ok(String::from_utf8_lossy(&said).into_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn script(folder: &Path, text: &str, mode: u32) -> PathBuf {
        let path = folder.join("program");
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    #[test]
    fn a_program_that_prints_its_version_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let path = script(
            folder.path(),
            "test $# = 1 -a \"$1\" = --version && echo Kubernetes v1.36.3-dirty",
            0o755,
        );
        assert_eq!(Own::at(&path).unwrap().version, "v1.36.3-dirty");
    }

    #[test]
    fn everything_else_is_rejected_with_a_reason() {
        let folder = tempfile::tempdir().unwrap();
        let why = |text: &str, mode| Own::at(&script(folder.path(), text, mode)).unwrap_err();
        assert!(why("echo Kubernetes v1.36.3", 0o644).ends_with("make it executable with chmod +x"));
        assert!(why("exit 3", 0o755).contains("it fails (exit status: 3)"));
        for said in ["", "hello", "Kubernetes v0.0.0-master+$Format:%H$", "v1", "v1.x.3", "1.36.3"] {
            assert!(why(&format!("echo '{said}'"), 0o755).contains("prints no version"), "{said}");
        }
        assert!(Own::at(folder.path()).unwrap_err().ends_with("is no file; give the path of the program"));
        assert!(Own::at(&folder.path().join("none")).unwrap_err().contains("No such file"));
    }
}
