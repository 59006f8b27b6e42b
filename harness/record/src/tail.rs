//! The part of an audit log that a run adds to it.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The part of an audit log from a position on. A log that is written meanwhile has more at each look.
#[derive(Clone, Debug)]
pub struct AuditTail {
    file: PathBuf,
    from: u64,
}

impl AuditTail {
    /// The name of a pod that does not exist. The refusal to delete it marks the end of a run in the log.
    pub const END: &str = "jobcheck-end-of-recording";

    /// The part that is written from now on.
    ///
    /// # Errors
    ///
    /// The log does not exist, or cannot be looked at.
    pub fn begin(file: &Path) -> io::Result<AuditTail> {
        Ok(AuditTail { file: file.to_owned(), from: std::fs::metadata(file)?.len() })
    }

    /// The log.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The complete lines so far that may be about a namespace, each with its line break.
    ///
    /// # Errors
    ///
    /// The log cannot be read.
    pub fn lines_of(&self, namespace: &str) -> io::Result<Vec<String>> {
        let mut file = File::open(&self.file)?;
        file.seek(SeekFrom::Start(self.from))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let mark = format!("\"namespace\":\"{namespace}\"");
        let text = String::from_utf8_lossy(&bytes);
        let complete = text.split_inclusive('\n').filter(|line| line.ends_with('\n') && line.contains(&mark));
        Ok(complete.map(str::to_owned).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn only_complete_lines_about_the_namespace_since_the_beginning_are_read() {
        let line = |namespace: &str| format!("{{\"objectRef\":{{\"namespace\":\"{namespace}\"}}}}");
        let mut file = tempfile::NamedTempFile::new().unwrap();
        writeln!(file, "{}", line("a")).unwrap();
        let tail = AuditTail::begin(file.path()).unwrap();
        write!(file, "{}\n{}\n{}", line("a"), line("b"), line("a")).unwrap();
        assert_eq!(tail.lines_of("a").unwrap(), [format!("{}\n", line("a"))]);
        assert!(AuditTail::begin(Path::new("/nowhere/audit.log")).is_err());
    }
}
