//! The token that clients of an audit webhook must know.

use std::fs;
use std::path::Path;

use http::Request;
use http::header::AUTHORIZATION;

use crate::error::Error;

/// The minimum number of characters.
const SHORTEST: usize = 16;

/// A token. Its characters can be part of a URL.
#[derive(Clone)]
pub struct Token(String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

impl Token {
    /// Reads a token from a file. Whitespace around it is ignored.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or its content is no token.
    pub fn read(path: &Path) -> Result<Token, Error> {
        let failed = |why: String| Error::Token { path: path.to_owned(), why };
        let text = fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
        Token::parse(text.trim()).map_err(|why| failed(why.to_owned()))
    }

    fn parse(text: &str) -> Result<Token, &'static str> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        if text.len() < SHORTEST || !text.bytes().all(is_plain) {
            return Err("expected at least 16 letters, digits, and characters of -._~");
        }
        Ok(Token(text.to_owned()))
    }

    /// Returns whether a request has the token: as a bearer token, or as its path. kube-apiserver sends no bearer token
    /// over plain HTTP.
    pub(crate) fn is_in<B>(&self, request: &Request<B>) -> bool {
        let header = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let bearer = header.and_then(|value| value.strip_prefix("Bearer "));
        let path = request.uri().path().trim_matches('/');
        bearer.is_some_and(|given| self.is(given)) || self.is(path)
    }

    /// Compares in a time that does not depend on the number of equal characters.
    fn is(&self, given: &str) -> bool {
        let (own, given) = (self.0.as_bytes(), given.as_bytes());
        let differences = own.iter().zip(given).fold(0, |sum, (own, given)| sum | (own ^ given));
        own.len() == given.len() && std::hint::black_box(differences) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef";

    fn is_in(path: &str, authorization: Option<&str>) -> bool {
        let mut request = Request::post(path);
        if let Some(value) = authorization {
            request = request.header(AUTHORIZATION, value);
        }
        Token::parse(TOKEN).unwrap().is_in(&request.body(()).unwrap())
    }

    #[test]
    fn a_request_has_the_token_in_its_path_or_as_a_bearer_token() {
        for path in ["/0123456789abcdef", "/0123456789abcdef/", "/0123456789abcdef?timeout=30s"] {
            assert!(is_in(path, None), "{path}");
        }
        assert!(is_in("/", Some("Bearer 0123456789abcdef")));
        for path in
            ["/", "/0123456789abcde", "/0123456789abcdef0", "/audit/0123456789abcdef", "/0123456789abcdeF"]
        {
            assert!(!is_in(path, None), "{path}");
        }
        for value in ["Bearer ", "0123456789abcdef", "Basic 0123456789abcdef", "Bearer 0123456789abcdee"] {
            assert!(!is_in("/", Some(value)), "{value}");
        }
    }

    #[test]
    fn a_token_that_is_short_or_not_part_of_a_url_is_refused() {
        for text in ["", "short", "0123456789abcdef/", "0123456789 abcdef", "0123456789abcd\u{e9}"] {
            assert!(Token::parse(text).is_err(), "{text}");
        }
        let missing = Token::read(Path::new("/nonexistent/token")).unwrap_err().to_string();
        assert!(missing.starts_with("cannot use the token in /nonexistent/token: "), "{missing}");
        assert!(!format!("{:?}", Token::parse(TOKEN)).contains(TOKEN));
    }
}
