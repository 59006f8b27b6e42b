//! Digests: `sha256:` and 64 hexadecimal digits.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use ring::digest::{Context, Digest, SHA256};

const PREFIX: &str = "sha256:";

/// The digest of bytes.
#[must_use]
pub fn of(bytes: &[u8]) -> String {
    hex(&ring::digest::digest(&SHA256, bytes))
}

/// The digest of a file, which is read in pieces.
///
/// # Errors
///
/// The file cannot be read.
pub fn of_file(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut context = Context::new(&SHA256);
    let mut piece = vec![0; 1 << 16];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(hex(&context.finish())),
            count => context.update(&piece[..count]),
        }
    }
}

/// Returns whether a text has the form of a digest.
#[must_use]
pub fn is_digest(text: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    text.strip_prefix(PREFIX).is_some_and(|digits| digits.len() == 64 && digits.bytes().all(is_digit))
}

fn hex(digest: &Digest) -> String {
    let mut out = String::from(PREFIX);
    for byte in digest.as_ref() {
        let _ = write!(out, "{byte:02x}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first is the example of FIPS 180-4.
    #[test]
    fn a_file_and_its_bytes_have_one_digest() {
        let abc = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(of(b"abc"), abc);
        let file = tempfile::NamedTempFile::new().unwrap();
        let long = vec![b'x'; 200_000];
        std::fs::write(file.path(), &long).unwrap();
        assert_eq!(of_file(file.path()).unwrap(), of(&long));
        assert!(is_digest(abc));
        for wrong in [&abc[7..], &abc[..70], "sha256:", "md5:ba78", &abc.replace('b', "B")] {
            assert!(!is_digest(wrong), "{wrong}");
        }
    }
}
