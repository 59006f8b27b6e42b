//! Recognises compressed data by their first bytes, and unpacks them.

use std::error::Error as _;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::error::Problem;

const BUFFER: usize = 128 * 1024;
/// The length of the longest mark below.
const LONGEST_MARK: usize = 6;

/// The compression of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    None,
    Gzip,
    Zstd,
}

impl Packing {
    /// The name in messages; `None` for plain data.
    pub(crate) fn name(self) -> Option<&'static str> {
        match self {
            Packing::None => None,
            Packing::Gzip => Some("gzip"),
            Packing::Zstd => Some("zstd"),
        }
    }
}

/// First bytes of compressed data that are read.
const READ: [(&[u8], Packing); 2] = [(b"\x1f\x8b", Packing::Gzip), (b"\x28\xb5\x2f\xfd", Packing::Zstd)];

/// First bytes of compressed data that are not read: name, and the command that unpacks them.
const OTHERS: [(&[u8], &str, &str); 3] = [
    (b"\xfd7zXZ\0", "xz", "xz -dc FILE | jobcheck replay -"),
    (b"BZh", "bzip2", "bzip2 -dc FILE | jobcheck replay -"),
    (b"PK\x03\x04", "zip", "unzip -p FILE | jobcheck replay -"),
];

/// Compressed data that end with an error once `stop` is true. They may have no content, without an end.
struct Until<R> {
    raw: R,
    stop: Arc<AtomicBool>,
}

impl<R: BufRead> Read for Until<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Until<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(io::Error::other("the input is to end"));
        }
        self.raw.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        self.raw.consume(count);
    }
}

/// Adds a decompressor if the first bytes ask for one. A pipe may deliver the bytes one by one.
pub(crate) fn unpack<R: BufRead + Send + 'static>(
    mut raw: R,
    stop: &Arc<AtomicBool>,
) -> Result<(Box<dyn BufRead + Send>, Packing), Problem> {
    let mut start = Vec::with_capacity(LONGEST_MARK);
    raw.by_ref().take(LONGEST_MARK as u64).read_to_end(&mut start).map_err(Problem::of_opening)?;
    if let Some((_, name, command)) = OTHERS.iter().find(|(mark, ..)| start.starts_with(mark)) {
        return Err(Problem::Packing { name, command });
    }
    let found = READ.iter().find(|(mark, _)| start.starts_with(mark));
    let packing = found.map_or(Packing::None, |(_, packing)| *packing);
    let whole = Cursor::new(start).chain(raw);
    let until = |raw| Until { raw, stop: Arc::clone(stop) };
    let text: Box<dyn BufRead + Send> = match packing {
        Packing::None => Box::new(whole),
        Packing::Gzip => Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(until(whole)))),
        Packing::Zstd => Box::new(BufReader::with_capacity(BUFFER, Zstd::new(until(whole)))),
    };
    Ok((text, packing))
}

/// Reads the frames of zstd data one after another. Frames with a window of more than 128 MiB are refused.
struct Zstd<R> {
    raw: R,
    decoder: FrameDecoder,
    is_in_frame: bool,
}

impl<R: BufRead> Zstd<R> {
    fn new(raw: R) -> Zstd<R> {
        Zstd { raw, decoder: FrameDecoder::new(), is_in_frame: false }
    }

    /// Begins the next frame with data. Returns `false` at the end.
    fn begin(&mut self) -> io::Result<bool> {
        while !self.raw.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.raw) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let skipped = io::copy(&mut self.raw.by_ref().take(u64::from(length)), &mut io::sink())?;
                    if skipped < u64::from(length) {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(io_error(error)),
            }
        }
        Ok(false)
    }

    fn check(&self) -> io::Result<()> {
        let (stored, computed) =
            (self.decoder.get_checksum_from_data(), self.decoder.get_calculated_checksum());
        if stored.is_some() && stored != computed {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the checksum differs"));
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.is_in_frame && !self.begin()? {
                return Ok(0);
            }
            self.is_in_frame = true;
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let blocks = BlockDecodingStrategy::UptoBlocks(1);
                self.decoder.decode_blocks(&mut self.raw, blocks).map_err(io_error)?;
            }
            if self.decoder.can_collect() > 0 {
                return self.decoder.read(buffer);
            }
            self.check()?;
            self.is_in_frame = false;
        }
    }
}

/// An error of the decoder. The end of the data stays an `UnexpectedEof`, however deep it is.
fn io_error(error: FrameDecoderError) -> io::Error {
    let mut cause = error.source();
    while let Some(inner) = cause {
        if inner.downcast_ref::<io::Error>().is_some_and(|io| io.kind() == io::ErrorKind::UnexpectedEof) {
            return io::ErrorKind::UnexpectedEof.into();
        }
        cause = inner.source();
    }
    io::Error::new(io::ErrorKind::InvalidData, error.to_string())
}
