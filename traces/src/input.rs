//! Opens files, standard input, and bytes in memory.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::error::Problem;
use crate::unpack::{Packing, unpack};

const BUFFER: usize = 128 * 1024;

/// The source of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A file. gzip and zstd are recognised by the content.
    Path(PathBuf),
    /// Standard input.
    Stdin,
    /// Bytes in memory, with a name for messages.
    Bytes(String, Vec<u8>),
}

impl Input {
    /// The input that a command line argument names. `-` is standard input.
    #[must_use]
    pub fn from_argument(argument: &str) -> Input {
        if argument == "-" { Input::Stdin } else { Input::Path(PathBuf::from(argument)) }
    }

    /// The name of the input in messages.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Input::Path(path) => path.display().to_string(),
            Input::Stdin => "standard input".to_owned(),
            Input::Bytes(name, _) => name.clone(),
        }
    }
}

/// An open input, uncompressed.
pub(crate) struct Opened {
    pub text: Box<dyn BufRead + Send>,
    pub packing: Packing,
    /// Number of bytes read so far, before decompression.
    pub read: Arc<AtomicU64>,
    /// Size in bytes, before decompression; `None` for a pipe.
    pub total: Option<u64>,
}

impl Opened {
    /// Opens an input. Compressed data end with an error once `stop` is true.
    pub(crate) fn open(input: &Input, stop: &Arc<AtomicBool>) -> Result<Opened, Problem> {
        let (raw, total): (Box<dyn Read + Send>, _) = match input {
            Input::Stdin => (Box::new(io::stdin()), None),
            Input::Bytes(_, bytes) => (Box::new(Cursor::new(bytes.clone())), Some(bytes.len() as u64)),
            Input::Path(path) => {
                let file = File::open(path).map_err(Problem::of_opening)?;
                let meta = file.metadata().map_err(Problem::of_opening)?;
                if meta.is_dir() {
                    return Err(Problem::Directory);
                }
                (Box::new(file), meta.is_file().then_some(meta.len()))
            }
        };
        let read = Arc::new(AtomicU64::new(0));
        let counted = BufReader::with_capacity(BUFFER, Counted { raw, read: Arc::clone(&read) });
        let (text, packing) = unpack(counted, stop)?;
        Ok(Opened { text, packing, read, total })
    }

    /// A text that was taken out of another input.
    pub(crate) fn of_text(text: String) -> Opened {
        let text = Box::new(Cursor::new(text.into_bytes()));
        Opened { text, packing: Packing::None, read: Arc::default(), total: None }
    }
}

struct Counted<R> {
    raw: R,
    read: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.raw.read(buffer)?;
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}
