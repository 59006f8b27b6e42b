//! The arguments of `jobcheck rule`.

use clap::{Args, ValueEnum};

/// Arguments of `jobcheck rule`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct RuleArgs {
    /// Ids of requirements, such as FT-03, or letters of a family, such as FT. Without any, list all requirements.
    #[arg(value_name = "ID")]
    pub ids: Vec<String>,
    /// Print as text, or for machines.
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    pub output: Format,
}

/// The form of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Text,
    /// docs/reference/schemas/rule.schema.json.
    Json,
    /// The same as YAML.
    Yaml,
}

const AFTER_HELP: &str = "\
Examples:
  jobcheck rule FT-03
  jobcheck rule ft03 tc4 s05
  jobcheck rule BI
  jobcheck rule FT-03 -o json

Exit codes:
  0  the rules are printed
  2  wrong usage, or no such requirement
  4  the output cannot be written
  5  internal error: please report it";
