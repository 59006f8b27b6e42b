//! Parts of the pages that `check` and `verify` write: no script, no request, and the text of each rule on the page.

use std::time::Duration;

use jobcheck_judge::report::Exit;
use jobcheck_look::{Document, PLOT_STYLE, escape::html};
use jobcheck_rulebook::section;
use jobcheck_spec::Req;

/// Styles after those of all pages and of plots.
const STYLE: &str = include_str!("page.css");

/// A page with a title, as text, and a body, as HTML.
pub fn document(title: &str, body: &str) -> String {
    Document { title, style: &format!("{PLOT_STYLE}{STYLE}"), body, script: "" }.html()
}

/// The head of a page: the result in its colour, a title, and a line below it. The texts are no markup.
pub fn head(exit: Exit, result: &str, title: &str, below: &str) -> String {
    format!(
        "<header>\n<h1><span class=\"verdict {}\">{}</span> {}</h1>\n<p class=\"dim\">{}; made by jobcheck {}</p>\n</header>\n",
        class(exit),
        html(result),
        html(title),
        html(below),
        env!("CARGO_PKG_VERSION"),
    )
}

/// The class that colours a result.
pub fn class(exit: Exit) -> &'static str {
    match exit {
        Exit::Conforms => "conforms",
        Exit::Inconclusive => "inconclusive",
        Exit::Violates | Exit::Unreadable | Exit::Environment | Exit::Internal => "violates",
    }
}

/// A number with separators, as people read it.
pub fn number(value: impl TryInto<u64>) -> String {
    let digits = value.try_into().unwrap_or(u64::MAX).to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A time in seconds.
pub fn seconds(elapsed: Duration) -> String {
    format!("{:.1} s", elapsed.as_secs_f64())
}

/// A table with the class `wide`, which scrolls if it has no place. The cells are HTML.
pub fn table(class: &str, head: &[&str], rows: &[String]) -> String {
    let head: String = head.iter().map(|name| format!("<th scope=\"col\">{}</th>", html(name))).collect();
    format!(
        "<div class=\"wide\">\n<table class=\"{class}\">\n<thead><tr>{head}</tr></thead>\n<tbody>\n{}</tbody>\n</table>\n</div>\n",
        rows.concat()
    )
}

/// A row of a table. The first cell is the head of the row. The cells are HTML.
pub fn row(cells: &[String]) -> String {
    let cells: String = cells
        .iter()
        .enumerate()
        .map(
            |(at, cell)| {
                if at == 0 { format!("<th scope=\"row\">{cell}</th>") } else { format!("<td>{cell}</td>") }
            },
        )
        .collect();
    format!("<tr>{cells}</tr>\n")
}

/// The text of a requirement, which a reader can open; empty if there is none with this id.
pub fn rule(id: &str) -> String {
    let Some(section) = Req::parse(id).and_then(section) else { return String::new() };
    let parts = [
        ("", section.details),
        ("Why it exists", section.reason),
        ("An example of a violation", section.example),
        ("Source", section.source),
    ];
    let parts: String = parts
        .iter()
        .filter(|(_, text)| !text.is_empty())
        .map(|(title, text)| {
            let title = if title.is_empty() { String::new() } else { format!("<h3>{title}</h3>\n") };
            title + &prose(text)
        })
        .collect();
    format!(
        "<details>\n<summary>The rule {id}</summary>\n{}{parts}<p class=\"dim\">More: <code>jobcheck rule {id}</code></p>\n</details>\n",
        prose(section.sentence),
        id = html(section.id),
    )
}

/// Paragraphs of Markdown as HTML: code stays code, links become their words, and tables and lists keep their lines.
pub fn prose(text: &str) -> String {
    let paragraph = |part: &str| {
        if part.trim_start().starts_with(['|', '-']) {
            let lines: String = part.lines().map(|line| html(line) + "\n").collect();
            return format!("<pre>{lines}</pre>\n");
        }
        let words = part.split_whitespace().collect::<Vec<_>>().join(" ").replace("**", "");
        // Every second part is code.
        let parts = without_links(&words);
        let parts = parts
            .split('`')
            .enumerate()
            .map(|(at, part)| if at % 2 == 1 { format!("<code>{}</code>", html(part)) } else { html(part) });
        format!("<p>{}</p>\n", parts.collect::<String>())
    };
    text.split("\n\n").filter(|part| !part.trim().is_empty()).map(paragraph).collect()
}

/// Markdown with the words of links in place of links.
fn without_links(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find("](") {
        let (before, after) = rest.split_at(at);
        let (Some(open), Some(close)) = (before.rfind('['), after.find(')')) else { break };
        out.push_str(&before[..open]);
        out.push_str(&before[open + 1..]);
        rest = &after[close + 1..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_separators() {
        assert_eq!([0_u64, 999, 1_000, 1_234_567].map(number), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn markdown_becomes_paragraphs_and_markup_stays_text() {
        let text = "A [link](x.md#y) to `<b>`\nand **more**.\n\n- one\n- two";
        assert_eq!(
            prose(text),
            "<p>A link to <code>&lt;b&gt;</code> and more.</p>\n<pre>- one\n- two\n</pre>\n"
        );
    }

    #[test]
    fn a_rule_has_its_text_and_its_source() {
        let box_of = rule("FT-03");
        for part in ["The rule FT-03", "Why it exists", "KEP-2307", "jobcheck rule FT-03"] {
            assert!(box_of.contains(part), "{part}: {box_of}");
        }
        assert_eq!(rule("no rule"), "");
    }
}
