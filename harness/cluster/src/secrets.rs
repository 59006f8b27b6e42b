//! Tokens, and the key of service accounts.

use rcgen::KeyPair;
use ring::rand::{SecureRandom, SystemRandom};

use crate::error::Error;

/// The number of random bytes in a token.
const TOKEN_BYTES: usize = 16;

/// Returns a new bearer token: 128 random bits as 32 hexadecimal digits.
///
/// # Errors
///
/// [`Error::Internal`], if the operating system provides no random numbers.
pub fn token() -> Result<String, Error> {
    let mut bytes = [0; TOKEN_BYTES];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| Error::Internal("the operating system provides no random numbers".to_owned()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The key pair with which kube-apiserver signs and verifies the tokens of service accounts, as PEM.
pub(crate) struct KeyFiles {
    pub private: String,
    pub public: String,
}

/// Returns a new key pair (ECDSA on P-256).
pub(crate) fn key() -> Result<KeyFiles, Error> {
    let pair = KeyPair::generate()
        .map_err(|error| Error::Internal(format!("a key cannot be generated: {error}")))?;
    Ok(KeyFiles { private: pair.serialize_pem(), public: pair.public_key_pem() })
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
        assert!(key.private.starts_with("-----BEGIN PRIVATE KEY-----"), "{}", key.private);
        assert!(key.public.starts_with("-----BEGIN PUBLIC KEY-----"), "{}", key.public);
    }
}
