//! Tokens, and the key of service accounts.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};

use crate::error::Error;

/// Bytes of a token.
const TOKEN: usize = 16;
/// What stands before the point of a key on P-256 in a `SubjectPublicKeyInfo` (RFC 5480).
const P256_PUBLIC: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86,
    0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];
/// Characters of a line of PEM.
const LINE: usize = 64;

/// A bearer token that nobody can guess.
pub(crate) fn token() -> Result<String, Error> {
    let mut bytes = [0; TOKEN];
    SystemRandom::new().fill(&mut bytes).map_err(|_| no_randomness())?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The key with which kube-apiserver signs the tokens of service accounts, and the one that tells them, both as PEM.
pub(crate) struct KeyFiles {
    pub private: String,
    pub public: String,
}

/// A new key.
pub(crate) fn key() -> Result<KeyFiles, Error> {
    let (kind, random) = (&ECDSA_P256_SHA256_ASN1_SIGNING, SystemRandom::new());
    let private = EcdsaKeyPair::generate_pkcs8(kind, &random).map_err(|_| no_randomness())?;
    let pair = EcdsaKeyPair::from_pkcs8(kind, private.as_ref(), &random)
        .map_err(|error| Error::Internal(format!("a new key is refused: {error}")))?;
    let public = [&P256_PUBLIC, pair.public_key().as_ref()].concat();
    Ok(KeyFiles { private: pem("PRIVATE KEY", private.as_ref()), public: pem("PUBLIC KEY", &public) })
}

fn no_randomness() -> Error {
    Error::Internal("the operating system has no random numbers".to_owned())
}

fn pem(label: &str, der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    // Base64 is ASCII.
    let lines = text.as_bytes().chunks(LINE).map(|line| String::from_utf8_lossy(line).into_owned() + "\n");
    let lines: String = lines.collect();
    format!("-----BEGIN {label}-----\n{lines}-----END {label}-----\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_differ() {
        let (one, other) = (token().unwrap(), token().unwrap());
        assert!(one != other && one.len() == 32, "{one} {other}");
    }

    #[test]
    fn a_key_is_pem() {
        let key = key().unwrap();
        assert!(key.private.starts_with("-----BEGIN PRIVATE KEY-----\n"), "{}", key.private);
        assert!(key.public.ends_with("\n-----END PUBLIC KEY-----\n"), "{}", key.public);
    }
}
