//! A page of Markdown as HTML, and its sections for the search.

use std::collections::BTreeMap;

use jobcheck_look::{escape, plot};
use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

/// A page.
#[derive(Debug, Default)]
pub struct Page {
    /// The first heading.
    pub title: String,
    /// The content.
    pub html: String,
    /// The text before the first heading and below each heading, in order.
    pub sections: Vec<Section>,
}

/// The text below a heading, up to the next one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// 1 for the title; 0 for text before the first heading.
    pub level: u8,
    /// The heading.
    pub heading: String,
    /// The anchor of the heading.
    pub anchor: String,
    /// The words.
    pub text: String,
}

/// Renders a page. `address` maps the target of a link.
pub fn page(text: &str, address: &mut dyn FnMut(&str) -> String) -> Page {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut found = Rendered { sections: vec![Section::default()], ..Rendered::default() };
    for event in Parser::new_ext(text, options) {
        found.add(event, address);
    }
    let mut page = Page { sections: found.sections, ..Page::default() };
    pulldown_cmark::html::push_html(&mut page.html, found.events.into_iter());
    page.sections.retain(|section| section.level > 0 || !section.text.is_empty());
    let title = page.sections.iter().find(|section| section.level == 1);
    page.title = title.map(|section| section.heading.clone()).unwrap_or_default();
    page
}

#[derive(Default)]
struct Rendered<'a> {
    events: Vec<Event<'a>>,
    sections: Vec<Section>,
    /// The events of a heading that has begun.
    heading: Option<Vec<Event<'a>>>,
    /// The text of a cell of a table that has begun.
    cell: Option<String>,
    /// The number of headings with an anchor.
    anchors: BTreeMap<String, usize>,
}

impl<'a> Rendered<'a> {
    fn add(&mut self, event: Event<'a>, address: &mut dyn FnMut(&str) -> String) {
        let event = match event {
            Event::Start(Tag::Heading { .. }) => {
                self.heading = Some(Vec::new());
                return;
            }
            Event::End(TagEnd::Heading(level)) => return self.end_heading(level),
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                let dest_url = CowStr::from(address(&dest_url));
                Event::Start(Tag::Link { link_type, dest_url, title, id })
            }
            Event::Start(Tag::Image { link_type, dest_url, title, id }) => {
                let dest_url = CowStr::from(address(&dest_url));
                Event::Start(Tag::Image { link_type, dest_url, title, id })
            }
            // A wide table scrolls, and the page does not.
            Event::Start(Tag::Table(_)) => {
                self.events.push(Event::Html("<div class=\"wide\">".into()));
                event
            }
            Event::End(TagEnd::Table) => {
                self.events.push(event);
                Event::Html("</div>\n".into())
            }
            Event::Start(Tag::TableCell) => {
                self.cell = Some(String::new());
                event
            }
            Event::End(TagEnd::TableCell) => {
                let share = self.cell.take().and_then(|text| percentage(&text));
                let bar = share.map(|share| Event::Html(plot::bar(share, "").into()));
                self.events.extend(bar);
                event
            }
            // The pages hold no markup of their own but comments.
            Event::Html(text) | Event::InlineHtml(text) if text.trim_start().starts_with("<!--") => {
                drop(text);
                return;
            }
            Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
            event => event,
        };
        if let (Some(cell), Event::Text(text)) = (&mut self.cell, &event) {
            cell.push_str(text);
        }
        self.read(&event);
        match &mut self.heading {
            Some(heading) => heading.push(event),
            None => self.events.push(event),
        }
    }

    /// Adds the words of an event to the section.
    fn read(&mut self, event: &Event) {
        let Some(section) = self.sections.last_mut().filter(|_| self.heading.is_none()) else { return };
        match event {
            Event::Text(text) | Event::Code(text) => section.text.push_str(text),
            Event::SoftBreak
            | Event::HardBreak
            | Event::End(
                TagEnd::Paragraph | TagEnd::TableCell | TagEnd::Item | TagEnd::CodeBlock | TagEnd::TableHead,
            ) => section.text.push(' '),
            _ => {}
        }
    }

    fn end_heading(&mut self, level: HeadingLevel) {
        let inner = self.heading.take().unwrap_or_default();
        let words = inner.iter().map(|event| match event {
            Event::Text(text) | Event::Code(text) => &**text,
            _ => "",
        });
        let heading: String = words.collect();
        let slug = slug(&heading);
        let same = self.anchors.entry(slug.clone()).or_default();
        let anchor = if *same == 0 { slug } else { format!("{slug}-{same}") };
        *same += 1;
        let level = level as u8;
        let escaped = escape::html(&anchor);
        self.events.push(Event::Html(format!("<h{level} id=\"{escaped}\">").into()));
        self.events.extend(inner);
        let link =
            format!(" <a class=\"here\" href=\"#{escaped}\" aria-label=\"This section\">#</a></h{level}>\n");
        self.events.push(Event::Html(link.into()));
        self.sections.push(Section { level, heading, anchor, text: String::new() });
    }
}

/// The share that a cell such as `31.4 %` states. The page shows it as a bar, too.
fn percentage(text: &str) -> Option<f64> {
    let percent: f64 = text.strip_suffix('%')?.trim().parse().ok()?;
    (0.0..=100.0).contains(&percent).then_some(percent / 100.0)
}

/// The anchor of a heading, as GitHub makes it.
fn slug(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_have_anchors_and_sections_have_their_words() {
        let text = "# The `x`\n\nOne\ntwo.\n\n## A, b\n\n| a | b |\n| --- | --- |\n| c | `d` |\n\n## A b\n";
        let page = page(text, &mut |target| target.to_owned());
        let found: Vec<(u8, &str, &str, &str)> = page
            .sections
            .iter()
            .map(|it| (it.level, it.heading.as_str(), it.anchor.as_str(), it.text.trim()))
            .collect();
        assert_eq!(
            found,
            [(1, "The x", "the-x", "One two."), (2, "A, b", "a-b", "a b  c d"), (2, "A b", "a-b-1", "")]
        );
        assert_eq!(page.title, "The x");
        assert!(page.html.contains("<h1 id=\"the-x\">The <code>x</code> <a"), "{}", page.html);
        assert!(page.html.contains("<div class=\"wide\"><table>"), "{}", page.html);
    }

    #[test]
    fn percentages_in_tables_have_bars() {
        let text = "| a | b |\n| --- | --- |\n| 50 % | 101 % |\n\n20 %\n";
        let html = page(text, &mut |target| target.to_owned()).html;
        assert_eq!(html.matches("<svg").count(), 1, "{html}");
        assert!(html.contains("<td>50 %<svg") && html.contains("width=\"60.0\""), "{html}");
    }

    #[test]
    fn targets_are_mapped_and_markup_stays_text() {
        let text = "[a](b.md#c) ![d](e.png) <b>f</b>\n\n<!-- facts -->\n\n<script>g</script>\n";
        let page = page(text, &mut |target| format!("at/{target}"));
        for part in ["href=\"at/b.md#c\"", "src=\"at/e.png\"", "&lt;b&gt;f&lt;/b&gt;", "&lt;script&gt;"] {
            assert!(page.html.contains(part), "{part}: {}", page.html);
        }
        assert!(!page.html.contains("facts"));
    }
}
