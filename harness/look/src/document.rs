//! A page that asks for nothing.

use base64::Engine as _;
use sha2::{Digest, Sha256};

use crate::{STYLE, escape};

/// A page whose policy admits its own styles and script, and nothing else. It opens from a disk, as an artefact of a CI
/// system, and in a sandbox.
#[derive(Clone, Copy, Debug, Default)]
pub struct Document<'a> {
    /// The title, as text.
    pub title: &'a str,
    /// Styles after those of [`STYLE`].
    pub style: &'a str,
    /// The content of the body, as HTML.
    pub body: &'a str,
    /// The script behind the body; empty for none.
    pub script: &'a str,
}

impl Document<'_> {
    /// The page as HTML.
    #[must_use]
    pub fn html(&self) -> String {
        let style = format!("{STYLE}{}", self.style);
        let (policy, script) = match self.script {
            "" => (String::new(), String::new()),
            script => (format!(" script-src '{}';", digest(script)), format!("<script>{script}</script>\n")),
        };
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src '{digest}';{policy} \
             base-uri 'none'; form-action 'none'\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n<style>{style}</style>\n\
             </head>\n<body>\n{body}{script}</body>\n</html>\n",
            digest = digest(&style),
            title = escape::html(self.title),
            body = self.body,
        )
    }
}

/// The digest of a style or a script, by which a content security policy knows it.
#[must_use]
pub fn digest(text: &str) -> String {
    format!("sha256-{}", base64::engine::general_purpose::STANDARD.encode(Sha256::digest(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_asks_for_nothing_and_its_title_is_text() {
        let page =
            Document { title: "</title><script>", style: ".x { color: red; }", ..Document::default() }.html();
        assert!(page.contains("<title>&lt;/title&gt;&lt;script&gt;</title>"), "{page}");
        let style = page.split("<style>").nth(1).unwrap().split("</style>").next().unwrap();
        assert!(style.ends_with(".x { color: red; }") && page.contains(&digest(style)));
        for word in ["<script", "http://", "https://", "src=", "@import", "url("] {
            assert!(!page.contains(word), "{word}");
        }
    }

    #[test]
    fn a_script_is_known_by_its_digest() {
        let page = Document { title: "x", script: "run();", ..Document::default() }.html();
        assert!(page.contains(&format!("; script-src '{}'; base-uri", digest("run();"))), "{page}");
        assert!(page.contains("<script>run();</script>\n</body>"), "{page}");
    }
}
