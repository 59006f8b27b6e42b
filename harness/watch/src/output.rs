//! The output of a service: a file to which lines are appended, or standard output.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jobcheck_traces::files;

/// A file to which lines are appended, or standard output.
pub struct Output {
    file: Option<(PathBuf, File)>,
    must_reopen: Arc<AtomicBool>,
}

impl Output {
    /// Opens the file, or standard output if there is none. Only its owner can read a new file.
    ///
    /// A line that a full disk has cut short is ended, so that the next one is whole.
    ///
    /// # Errors
    ///
    /// The file cannot be opened, or the end of such a line cannot be written.
    pub fn open(path: Option<PathBuf>) -> io::Result<Output> {
        let file = path.map(|path| appended(&path).map(|file| (path, file))).transpose();
        Ok(Output { file: file?, must_reopen: Arc::default() })
    }

    /// A function that makes the next line go to a new file of the same name, after a rotation.
    pub fn reopener(&self) -> impl Fn() + Send + 'static {
        let flag = Arc::clone(&self.must_reopen);
        move || flag.store(true, Ordering::Relaxed)
    }

    /// Writes whole lines. When it returns, they are in the file.
    ///
    /// # Errors
    ///
    /// The lines cannot be written, such as to a pipe that is closed. A part of them may be in the file.
    pub fn write(&mut self, lines: &str) -> io::Result<()> {
        self.write_all(lines.as_bytes()).map_err(|error| match error.kind() {
            ErrorKind::BrokenPipe => io::Error::new(ErrorKind::BrokenPipe, "it is closed"),
            _ => error,
        })
    }

    fn write_all(&mut self, lines: &[u8]) -> io::Result<()> {
        let Some((path, file)) = &mut self.file else {
            let mut out = io::stdout().lock();
            return out.write_all(lines).and_then(|()| out.flush());
        };
        if self.must_reopen.swap(false, Ordering::Relaxed) {
            *file = appended(path)?;
        }
        file.write_all(lines)?;
        sync(file)
    }
}

/// Waits until a file is on the disk. A network file system may report a full disk only then.
fn sync(file: &File) -> io::Result<()> {
    match file.sync_data() {
        // Pipes and devices cannot be synced.
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Ok(()),
        other => other,
    }
}

fn appended(path: &Path) -> io::Result<File> {
    match files::create_new(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    // Also a new file is opened for appending: others may truncate it, or write to it.
    let mut file = File::options().append(true).open(path)?;
    if has_incomplete_line(path, &file)? {
        file.write_all(b"\n")?;
    }
    Ok(file)
}

/// Returns true if a file does not end with a line break. Pipes and devices have no end.
fn has_incomplete_line(path: &Path, file: &File) -> io::Result<bool> {
    let data = file.metadata()?;
    if !data.is_file() || data.len() == 0 {
        return Ok(false);
    }
    // The file may be readable by others alone.
    let Ok(file) = File::open(path) else { return Ok(false) };
    let mut last = [0];
    file.read_exact_at(&mut last, data.len() - 1)?;
    Ok(last != *b"\n")
}
