//! The forms of a report: the flag `-o`.

use anyhow::bail;
use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use jobcheck_report::forms;
use serde::Serialize;

/// The form of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people; may change between versions
    Text,
    /// For programs; its schema is stable
    Json,
    /// The same report as YAML
    Yaml,
    /// JUnit XML, for CI systems
    Junit,
}

impl Format {
    /// The parser of `-o` for the commands that have no JUnit report.
    pub fn without_junit() -> impl TypedValueParser<Value = Format> {
        let forms = [Format::Text, Format::Json, Format::Yaml];
        PossibleValuesParser::new(forms.iter().filter_map(Format::to_possible_value))
            .map(|name| Format::from_str(&name, false).expect("the parser accepts only these names"))
    }

    /// A report in this form.
    ///
    /// # Errors
    ///
    /// The report cannot be serialized, or the form is JUnit, which its commands write themselves.
    pub fn render<R: Serialize>(
        self,
        text: impl FnOnce() -> String,
        report: impl FnOnce() -> R,
    ) -> anyhow::Result<String> {
        match self {
            Format::Text => Ok(text()),
            Format::Json => json(&report()),
            Format::Yaml => Ok(forms::yaml(&report())?),
            Format::Junit => bail!("this report has no JUnit form"),
        }
    }
}

/// A report as indented JSON, which ends with a newline.
pub fn json(report: &impl Serialize) -> anyhow::Result<String> {
    Ok(forms::json(report)?)
}
