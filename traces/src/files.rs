//! Files for traces. A trace has the templates of pods, with the values of environment variables and arguments, so that
//! only its owner may read it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// Opens a file to read it. A pipe would be waited for without end, and a device has none.
///
/// # Errors
///
/// It is no regular file, or cannot be opened.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let data = fs::metadata(path)?;
    match () {
        () if data.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        () if data.is_file() => File::open(path),
        () => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file")),
    }
}

/// Creates a file that only its owner can read.
///
/// # Errors
///
/// Something has this name already, or the file cannot be created.
pub fn create_new(path: &Path) -> io::Result<File> {
    private().write(true).create_new(true).open(path)
}

/// Creates a file that only its owner can read, in the place of another one. A link is replaced, not followed. A device
/// or a pipe is opened as it is.
///
/// # Errors
///
/// The file cannot be created, or the other one cannot be removed.
pub fn create(path: &Path) -> io::Result<File> {
    match fs::symlink_metadata(path) {
        Ok(found)
            if found.is_file()
                || found.is_symlink() && fs::metadata(path).map_or(true, |it| it.is_file()) =>
        {
            fs::remove_file(path)?;
            create_new(path)
        }
        Ok(_) => OpenOptions::new().write(true).open(path),
        Err(_) => create_new(path),
    }
}

/// Writes a file that only its owner can read, in the place of another one ([`create`]).
///
/// # Errors
///
/// The file cannot be created or written.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    create(path)?.write_all(bytes)
}

#[cfg(unix)]
fn private() -> OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;

    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

#[cfg(not(unix))]
fn private() -> OpenOptions {
    OpenOptions::new()
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path) -> io::Result<u32> {
        fs::symlink_metadata(path).map(|it| it.permissions().mode() & 0o777)
    }

    #[test]
    fn only_the_owner_reads_a_trace() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("trace.jsonl");
        write(&file, b"first").unwrap();
        assert_eq!(mode(&file).unwrap(), 0o600);
        assert!(create_new(&file).is_err());
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        write(&file, b"second").unwrap();
        assert_eq!((mode(&file).unwrap(), fs::read(&file).unwrap()), (0o600, b"second".to_vec()));
    }

    #[test]
    fn a_link_is_replaced_and_what_it_names_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let (victim, link) = (folder.path().join("victim"), folder.path().join("link"));
        fs::write(&victim, "kept").unwrap();
        symlink(&victim, &link).unwrap();
        write(&link, b"trace").unwrap();
        assert_eq!(
            (fs::read(&victim).unwrap(), fs::read(&link).unwrap()),
            (b"kept".to_vec(), b"trace".to_vec())
        );
        assert_eq!(mode(&link).unwrap(), 0o600);
        let dangling = folder.path().join("dangling");
        symlink(folder.path().join("nowhere"), &dangling).unwrap();
        write(&dangling, b"trace").unwrap();
        assert!(!folder.path().join("nowhere").exists());
    }

    #[test]
    fn a_device_stays_a_device() {
        let null = Path::new("/dev/null");
        write(null, b"trace").unwrap();
        assert!(!fs::metadata(null).unwrap().is_file());
    }
}
