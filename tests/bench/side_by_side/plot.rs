//! The plot: three bar charts of both controllers.

use std::fmt::Write as _;

use crate::measure::Figures;
use crate::report::{self, Pair, Report};

const WIDTH: f64 = 860.0;
/// The height of a pair of bars.
const ROW: f64 = 44.0;
/// The height of the title of a chart.
const TITLE: f64 = 34.0;
/// The left end of the bars.
const LEFT: f64 = 220.0;
/// The length of the longest bar.
const LONGEST: f64 = 540.0;
/// The height of a bar.
const BAR: f64 = 15.0;
const SHIPPED: &str = "#2f6db3";
const BUILT_IN: &str = "#b9bec6";

/// The title of a chart, and the figure that it shows.
type Chart = (&'static str, fn(&Pair, Figures) -> f64);

const CHARTS: [Chart; 3] = [
    ("Pods per minute: longer is better", |pair, it| pair.pods_per_minute(it)),
    ("CPU of the controller's process, ms per pod: shorter is better", |pair, it| {
        it.cpu_seconds * 1_000.0 / f64::from(pair.case.pods)
    }),
    ("Peak memory of the process, MB: shorter is better", |_, it| it.peak_mb),
];

/// The plot in SVG.
pub fn svg(report: &Report) -> String {
    let pairs = report.pairs();
    let height = 40.0 + CHARTS.len() as f64 * (TITLE + ROW * pairs.len() as f64);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" \
         font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for (at, color, name) in
        [(LEFT, SHIPPED, "shipped controllers"), (LEFT + 180.0, BUILT_IN, "kube-controller-manager")]
    {
        rect(&mut text, at, 10.0, BAR, color);
        label(&mut text, at + 22.0, 22.0, "start", name);
    }
    let mut top = 40.0;
    for (title, figure) in CHARTS {
        let _ = writeln!(text, "<text x=\"10\" y=\"{:.0}\" font-weight=\"bold\">{title}</text>", top + 20.0);
        top += TITLE;
        let values = pairs.iter().flat_map(|pair| [figure(pair, pair.shipped), figure(pair, pair.built_in)]);
        let most = values.fold(f64::MIN_POSITIVE, f64::max);
        for pair in &pairs {
            label(&mut text, LEFT - 8.0, top + BAR + 4.0, "end", &report::label(pair.case));
            for (row, (it, color)) in
                [(pair.shipped, SHIPPED), (pair.built_in, BUILT_IN)].into_iter().enumerate()
            {
                let (value, y) = (figure(pair, it), top + row as f64 * (BAR + 1.0));
                let length = value / most * LONGEST;
                rect(&mut text, LEFT, y, length, color);
                let digits = if value < 10.0 { format!("{value:.2}") } else { format!("{value:.0}") };
                label(&mut text, LEFT + length + 6.0, y + 12.0, "start", &digits);
            }
            top += ROW;
        }
    }
    text + "</svg>\n"
}

fn rect(text: &mut String, x: f64, y: f64, width: f64, color: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{BAR}\" fill=\"{color}\"/>"
    );
}

fn label(text: &mut String, x: f64, y: f64, anchor: &str, words: &str) {
    let _ = writeln!(text, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>");
}
