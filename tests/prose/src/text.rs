//! Splits Markdown pages and the comments of Rust sources into sentences.

/// A sentence with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence {
    /// The line on which the sentence begins, from 1.
    pub line: usize,
    /// The sentence as plain text. A code span is the word `CODE`, and a link is its text.
    pub text: String,
    /// The source lines of the sentence, with code spans and links.
    pub cited: String,
}

/// Returns the sentences of a Markdown page. Code blocks, tables, headings, quotes, and HTML comments have none.
#[must_use]
pub fn of_markdown(page: &str) -> Vec<Sentence> {
    of_lines(page.lines().enumerate().map(|(number, line)| (number + 1, line)))
}

/// Returns the sentences of all comments in a Rust source. A comment behind code on the same line has none.
#[must_use]
pub fn of_rust(source: &str) -> Vec<Sentence> {
    let mut sentences = Vec::new();
    let mut block: Vec<(usize, &str)> = Vec::new();
    let mut kind = "";
    for (number, line) in source.lines().enumerate() {
        let line = line.trim_start();
        let is = ["//!", "///", "//"].into_iter().find(|it| line.starts_with(it)).unwrap_or_default();
        if is != kind || is.is_empty() {
            sentences.extend(of_lines(block.drain(..)));
        }
        kind = is;
        if !is.is_empty() {
            let rest = &line[is.len()..];
            block.push((number + 1, rest.strip_prefix(' ').unwrap_or(rest)));
        }
    }
    sentences.extend(of_lines(block.drain(..)));
    sentences
}

fn of_lines<'a>(lines: impl Iterator<Item = (usize, &'a str)>) -> Vec<Sentence> {
    let mut sentences = Vec::new();
    let mut paragraph: Vec<(usize, String, String)> = Vec::new();
    let (mut fenced, mut commented) = (false, false);
    for (number, line) in lines {
        let trimmed = line.trim();
        if trimmed.starts_with("```") {
            fenced = !fenced;
            end(&mut paragraph, &mut sentences);
            continue;
        }
        commented |= trimmed.starts_with("<!--");
        let skipped = fenced || commented || is_no_prose(line, paragraph.is_empty());
        if trimmed.ends_with("-->") {
            commented = false;
        }
        if skipped || trimmed.is_empty() {
            end(&mut paragraph, &mut sentences);
            continue;
        }
        let item = list_item(trimmed);
        if item.is_some() {
            end(&mut paragraph, &mut sentences);
        }
        let text = item.unwrap_or(trimmed);
        paragraph.push((number, plain(text), text.to_owned()));
    }
    end(&mut paragraph, &mut sentences);
    sentences
}

/// Returns true for a line of a heading, table, quote, HTML tag, link definition, or indented code block. `starts` is
/// true for the first line of a paragraph: later lines may be indented.
fn is_no_prose(line: &str, starts: bool) -> bool {
    let trimmed = line.trim();
    let is_definition = trimmed.starts_with('[') && trimmed.contains("]: ");
    trimmed.starts_with('#')
        || trimmed.starts_with('|')
        || trimmed.starts_with('>')
        || trimmed.starts_with('<')
        || is_definition
        || (starts && line.starts_with("    ") && list_item(trimmed).is_none())
}

fn list_item(line: &str) -> Option<&str> {
    let bullet = ["- ", "* ", "+ "].into_iter().find_map(|it| line.strip_prefix(it));
    bullet.or_else(|| {
        let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
        if rest.len() < line.len() { rest.strip_prefix(". ") } else { None }
    })
}

/// Returns a line as plain text. A code span is the word `CODE`, a link is its text, and emphasis has no stars.
fn plain(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(['`', '[', ']', '*']) {
        out.push_str(&rest[..at]);
        let tail = &rest[at + 1..];
        match rest.as_bytes()[at] {
            b'`' => {
                let close = tail.find('`');
                // A code span over two lines is treated as if it ended with the first line.
                out.push_str("CODE");
                rest = close.map_or("", |close| &tail[close + 1..]);
                continue;
            }
            b']' if tail.starts_with('(') => {
                rest = tail.find(')').map_or("", |close| &tail[close + 1..]);
                continue;
            }
            _ => rest = tail,
        }
    }
    out.push_str(rest);
    out
}

/// Ends a paragraph, and appends its sentences. A sentence ends with `.`, `?`, `!`, `;`, or with its paragraph.
fn end(paragraph: &mut Vec<(usize, String, String)>, sentences: &mut Vec<Sentence>) {
    let (mut text, mut line) = (String::new(), None);
    let mut cited: Vec<String> = Vec::new();
    for (number, part, whole) in paragraph.drain(..) {
        cited.push(whole);
        for word in part.split_whitespace() {
            line.get_or_insert(number);
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(word);
            if ends_a_sentence(word) {
                let begun = line.take().unwrap_or(number);
                let cited = std::mem::take(&mut cited).join(" ");
                sentences.push(Sentence { line: begun, text: std::mem::take(&mut text), cited });
            }
        }
    }
    if let Some(line) = line {
        sentences.push(Sentence { line, text, cited: cited.join(" ") });
    }
}

fn ends_a_sentence(word: &str) -> bool {
    const ABBREVIATIONS: [&str; 5] = ["e.g.", "i.e.", "etc.", "vs.", "cf."];
    let word = word.trim_end_matches([')', '"', '\'']);
    (word.ends_with(['.', '?', '!']) && !ABBREVIATIONS.contains(&word)) || word.ends_with(';')
}

#[cfg(test)]
mod tests {
    use super::{of_markdown, of_rust};

    fn texts(page: &str) -> Vec<String> {
        of_markdown(page).into_iter().map(|it| it.text).collect()
    }

    #[test]
    fn a_page_is_split_into_its_sentences() {
        let page = "# Head\n\nOne *is* `a b`. Two [goes](x.md) on\nthere.\n\n- item one\n- item two.\n\n| a | b |\n\n    code here\n";
        assert_eq!(texts(page), ["One is CODE.", "Two goes on there.", "item one", "item two."]);
    }

    #[test]
    fn code_blocks_and_comments_have_no_sentences() {
        assert_eq!(texts("```\nOf this.\n```\n<!-- Of that.\nand more -->\nText."), ["Text."]);
    }

    #[test]
    fn comments_of_different_kinds_are_different_paragraphs() {
        let source =
            "//! Head line.\n\n/// Doc.\nfn a() {} // trailing is skipped\n    // Why. And\n    // more.\n";
        let found: Vec<(usize, String)> = of_rust(source).into_iter().map(|it| (it.line, it.text)).collect();
        let expected = [(1, "Head line."), (3, "Doc."), (5, "Why."), (5, "And more.")];
        assert_eq!(found, expected.map(|(line, text)| (line, text.to_owned())));
    }
}
