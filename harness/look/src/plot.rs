//! Plots as SVG. Each is a picture with a name, and its marks have texts that appear beside the pointer.

use std::fmt::Write as _;

use crate::escape;

/// A mark of a plot: its height, from 0 to 1, and its text.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// The height.
    pub share: f64,
    /// The text, such as `depth 3: 12 states`.
    pub text: String,
}

/// A plot of columns side by side, such as a number for each depth.
#[derive(Clone, Debug)]
pub struct Columns<'a> {
    /// The name of the picture.
    pub name: &'a str,
    /// The columns, from left to right.
    pub marks: &'a [Mark],
    /// The width and the height of the columns in pixels.
    pub size: (u32, u32),
    /// The texts at the axes: the greatest value, and the first and the last column. Without them, the plot has no axes.
    pub axes: Option<[String; 3]>,
}

impl Columns<'_> {
    /// The plot as SVG.
    #[must_use]
    pub fn svg(&self) -> String {
        let (width, height) = (f64::from(self.size.0), f64::from(self.size.1));
        let (left, top, below) = if self.axes.is_some() { (64.0, 8.0, 20.0) } else { (0.0, 1.0, 0.0) };
        let (all_width, all_height) = (left + width, top + height + below);
        let mut out = format!(
            "<svg class=\"plot\" role=\"img\" aria-label=\"{}\" width=\"{all_width:.0}\" height=\"{all_height:.0}\" \
             viewBox=\"0 0 {all_width:.0} {all_height:.0}\">",
            escape::html(self.name)
        );
        let step = width / self.marks.len().max(1) as f64;
        let gap = if step > 4.0 { 1.0 } else { 0.0 };
        for (number, mark) in self.marks.iter().enumerate() {
            // A small number differs visibly from zero.
            let tall = if mark.share > 0.0 { (mark.share.min(1.0) * height).max(1.0) } else { 0.0 };
            let _ = write!(
                out,
                "<rect x=\"{:.2}\" y=\"{:.2}\" width=\"{:.2}\" height=\"{tall:.2}\"><title>{}</title></rect>",
                left + number as f64 * step,
                top + height - tall,
                (step - gap).max(0.5),
                escape::html(&mark.text)
            );
        }
        if let Some([most, first, last]) = &self.axes {
            let base = top + height;
            let _ = write!(
                out,
                "<path d=\"M{left} {top}V{base}H{all_width}\"/><text x=\"{x}\" y=\"{y}\" text-anchor=\"end\">{}</text>\
                 <text x=\"{x}\" y=\"{base}\" text-anchor=\"end\">0</text>\
                 <text x=\"{left}\" y=\"{under}\">{}</text><text x=\"{all_width}\" y=\"{under}\" text-anchor=\"end\">{}</text>",
                escape::html(most),
                escape::html(first),
                escape::html(last),
                x = left - 6.0,
                y = top + 9.0,
                under = base + 15.0,
            );
        }
        out.push_str("</svg>");
        out
    }
}

/// A bar for a cell of a table, of a length from 0 to 1. Without a name, the cell states the value, too.
#[must_use]
pub fn bar(share: f64, name: &str) -> String {
    const WIDTH: f64 = 120.0;
    let long = (share.clamp(0.0, 1.0) * WIDTH).max(if share > 0.0 { 1.0 } else { 0.0 });
    if name.is_empty() {
        return format!(
            "<svg class=\"plot\" aria-hidden=\"true\" width=\"{WIDTH:.0}\" height=\"10\" viewBox=\"0 0 {WIDTH:.0} 10\" \
             preserveAspectRatio=\"none\"><rect class=\"whole\" x=\"0\" y=\"0\" width=\"{WIDTH:.0}\" height=\"10\"/>\
             <rect x=\"0\" y=\"0\" width=\"{long:.1}\" height=\"10\"/></svg>"
        );
    }
    format!(
        "<svg class=\"plot\" role=\"img\" aria-label=\"{name}\" width=\"{WIDTH:.0}\" height=\"10\" viewBox=\"0 0 {WIDTH:.0} 10\">\
         <rect x=\"0\" y=\"0\" width=\"{long:.1}\" height=\"10\"><title>{name}</title></rect></svg>",
        name = escape::html(name)
    )
}

/// One bar of several parts: the number, the class, and the text of each.
#[must_use]
pub fn parts(name: &str, parts: &[(usize, String, String)]) -> String {
    const WIDTH: f64 = 320.0;
    let whole = parts.iter().map(|(number, ..)| *number).sum::<usize>().max(1) as f64;
    let mut out = format!(
        "<svg class=\"plot\" role=\"img\" aria-label=\"{}\" width=\"{WIDTH:.0}\" height=\"14\" viewBox=\"0 0 {WIDTH:.0} 14\">",
        escape::html(name)
    );
    let mut at = 0.0;
    for (number, class, text) in parts {
        let long = *number as f64 / whole * WIDTH;
        let _ = write!(
            out,
            "<rect class=\"{}\" x=\"{at:.1}\" y=\"0\" width=\"{:.1}\" height=\"14\"><title>{}</title></rect>",
            escape::html(class),
            (long - 1.0).max(0.5),
            escape::html(text)
        );
        at += long;
    }
    out.push_str("</svg>");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_tall_as_their_share() {
        let marks = [0.5, 1.0, 0.0001, 0.0].map(|share| Mark { share, text: "<b>".to_owned() });
        let plot = Columns { name: "\"x\"", marks: &marks, size: (40, 20), axes: None };
        let svg = plot.svg();
        for part in [
            "y=\"11.00\" width=\"9.00\" height=\"10.00\"",
            "height=\"20.00\"",
            "height=\"1.00\"",
            "height=\"0.00\"",
        ] {
            assert!(svg.contains(part), "{part}: {svg}");
        }
        assert!(svg.contains("aria-label=\"&quot;x&quot;\"") && !svg.contains("<b>"), "{svg}");
        let axes = Some(["9".to_owned(), "0".to_owned(), "depth 3".to_owned()]);
        let svg = Columns { axes, ..plot }.svg();
        assert!(svg.contains(">9</text>") && svg.contains(">depth 3</text>"), "{svg}");
    }

    #[test]
    fn parts_share_the_bar() {
        let svg =
            parts("x", &[(3, "pass".to_owned(), "<3>".to_owned()), (1, "fail".to_owned(), "1".to_owned())]);
        assert!(svg.contains("class=\"pass\" x=\"0.0\" y=\"0\" width=\"239.0\""), "{svg}");
        assert!(
            svg.contains("class=\"fail\" x=\"240.0\" y=\"0\" width=\"79.0\"") && !svg.contains("<3>"),
            "{svg}"
        );
        assert!(!parts("x", &[]).contains("<rect"));
    }

    #[test]
    fn a_bar_is_as_long_as_its_share() {
        assert!(bar(0.25, "x").contains("width=\"30.0\""));
        assert!(bar(2.0, "x").contains("<rect x=\"0\" y=\"0\" width=\"120.0\""));
        assert!(bar(0.0, "x").contains("width=\"0.0\""));
    }
}
