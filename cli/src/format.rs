//! The forms of a report: the flag `-o`.

use anyhow::{Context, bail};
use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::Serialize;

use crate::text::{has_unsafe, in_json, in_yaml};

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
            Format::Yaml => yaml(&report()),
            Format::Junit => bail!("this report has no JUnit form"),
        }
    }
}

/// A report as indented JSON, which ends with a newline.
pub fn json(report: &impl Serialize) -> anyhow::Result<String> {
    let text = serde_json::to_string_pretty(report).context("cannot write the report as JSON")?;
    Ok(in_json(text) + "\n")
}

/// A report as YAML. If a plain scalar would contain an unsafe character, all are written as JSON, which is YAML, too.
fn yaml(report: &impl Serialize) -> anyhow::Result<String> {
    let text = serde_saphyr::to_string(report).context("cannot write the report as YAML")?;
    if !has_unsafe(&text) {
        return Ok(text);
    }
    let text = serde_json::to_string_pretty(report).context("cannot write the report as YAML")?;
    Ok(in_yaml(text) + "\n")
}
