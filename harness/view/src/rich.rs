//! The short texts of the rules as HTML: paragraphs, numbered lists, code. Links become their words.

use std::fmt::Write as _;

use jobcheck_look::escape;
use jobcheck_rulebook::numbered;

/// Renders a text in Markdown.
pub fn rich(text: &str) -> String {
    let mut out = String::new();
    for block in text.split("\n\n") {
        let Some(items) = numbered(block) else {
            let _ = writeln!(out, "<p>{}</p>", inline(&block.replace('\n', " ")));
            continue;
        };
        let items: String = items.iter().map(|item| format!("<li>{}</li>\n", inline(item))).collect();
        let _ = writeln!(out, "<ol>\n{items}</ol>");
    }
    out
}

fn inline(text: &str) -> String {
    let mut out = String::new();
    for (number, part) in text.split('`').enumerate() {
        if number % 2 == 1 {
            let _ = write!(out, "<code>{}</code>", escape::html(part));
        } else {
            out.push_str(&escape::html(&without_links(part)));
        }
    }
    out
}

fn without_links(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        let link = after.split_once("](").and_then(|(words, tail)| Some((words, tail.split_once(')')?.1)));
        let (words, tail) = link.unwrap_or(("[", after));
        out.push_str(before);
        out.push_str(words);
        rest = tail;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_and_a_paragraph_become_elements() {
        let text = "1. Write `a<b`, and\n   wait.\n2. Go on ([FT-03](ft.md#ft-03)).\n\nThen [stop.";
        assert_eq!(
            rich(text),
            "<ol>\n<li>Write <code>a&lt;b</code>, and wait.</li>\n<li>Go on (FT-03).</li>\n</ol>\n<p>Then [stop.</p>\n"
        );
    }
}
