//! Claims of the documentation, compared with what was measured.

use std::error::Error;
use std::fmt;

/// Claims of a benchmark. They are listed with each run, and a run with `--gate` fails if one does not hold.
///
/// ```
/// use jobcheck_bench::Claims;
///
/// let mut claims = Claims::default();
/// claims.at_least("README.md", "ten times as fast as TLC", 15.2, 10.0);
/// claims.at_most("docs/results/side-by-side.md", "a quarter of the memory", 0.31, 0.25);
/// assert!(claims.verdict(false).is_ok());
/// assert_eq!(claims.verdict(true).unwrap_err().to_string(), "1 of 2 claims does not hold");
/// ```
#[derive(Debug, Default)]
pub struct Claims(Vec<Claim>);

#[derive(Debug)]
struct Claim {
    document: &'static str,
    text: String,
    measured: String,
    bound: String,
    holds: bool,
}

/// Claims that do not hold.
#[derive(Debug)]
pub struct Refuted {
    refuted: usize,
    all: usize,
}

impl Error for Refuted {}

impl fmt::Display for Refuted {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.refuted == 1 { "does" } else { "do" };
        write!(out, "{} of {} claims {verb} not hold", self.refuted, self.all)
    }
}

impl Claims {
    /// Compares a figure with the least value that a document claims.
    pub fn at_least(&mut self, document: &'static str, text: impl Into<String>, measured: f64, bound: f64) {
        self.add(document, text.into(), format!("{measured:.3}"), format!("≥ {bound}"), measured >= bound);
    }

    /// Compares a figure with the greatest value that a document claims.
    pub fn at_most(&mut self, document: &'static str, text: impl Into<String>, measured: f64, bound: f64) {
        self.add(document, text.into(), format!("{measured:.3}"), format!("≤ {bound}"), measured <= bound);
    }

    /// Adds a claim that was compared elsewhere.
    pub fn compared(&mut self, document: &'static str, text: impl Into<String>, measured: &str, holds: bool) {
        self.add(document, text.into(), measured.to_owned(), "as claimed".to_owned(), holds);
    }

    fn add(&mut self, document: &'static str, text: String, measured: String, bound: String, holds: bool) {
        self.0.push(Claim { document, text, measured, bound, holds });
    }

    /// The claims as a table in Markdown. Empty if there are none.
    #[must_use]
    pub fn table(&self) -> String {
        if self.0.is_empty() {
            return String::new();
        }
        let row = |claim: &Claim| {
            let Claim { document, text, measured, bound, holds } = claim;
            let holds = if *holds { "yes" } else { "no" };
            format!("| {text} | {document} | {measured} | {bound} | {holds} |\n")
        };
        let head = "| claim | document | measured | bound | holds |\n| --- | --- | --- | --- | --- |\n";
        head.to_owned() + &self.0.iter().map(row).collect::<String>()
    }

    /// The verdict of a run. Without a gate each run passes.
    ///
    /// # Errors
    ///
    /// A claim does not hold.
    pub fn verdict(&self, gate: bool) -> Result<(), Refuted> {
        let refuted = self.0.iter().filter(|claim| !claim.holds).count();
        if gate && refuted > 0 { Err(Refuted { refuted, all: self.0.len() }) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_that_is_not_a_number_refutes_its_claim() {
        let mut claims = Claims::default();
        claims.at_least("README.md", "fast", f64::NAN, 1.0);
        claims.at_most("README.md", "small", f64::NAN, 1.0);
        assert_eq!(claims.verdict(true).unwrap_err().to_string(), "2 of 2 claims do not hold");
    }

    #[test]
    fn the_table_has_a_row_for_each_claim() {
        let mut claims = Claims::default();
        assert_eq!(claims.table(), "");
        claims.at_most("README.md", "less memory", 0.15, 0.25);
        claims.compared("docs/results/scale.md", "SC-05", "500 UIDs", true);
        assert_eq!(
            claims.table().lines().skip(2).collect::<Vec<&str>>(),
            [
                "| less memory | README.md | 0.150 | ≤ 0.25 | yes |",
                "| SC-05 | docs/results/scale.md | 500 UIDs | as claimed | yes |"
            ]
        );
    }
}
