//! The arguments of `jobcheck rule`.

use clap::Args;

use crate::format::Format;

/// Arguments of `jobcheck rule`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct RuleArgs {
    /// Ids of requirements, such as FT-03, or the letters of a family, such as FT. Without an id, list all
    /// requirements.
    #[arg(value_name = "ID")]
    pub ids: Vec<String>,
    /// Form of the report. Schema: rule.schema.json in docs/reference/schemas.
    #[arg(short, long, value_name = "FORM", value_parser = Format::without_junit(), default_value = "text")]
    pub output: Format,
}

const AFTER_HELP: &str = "\
Examples:
  jobcheck rule                         lists all requirements
  jobcheck rule BI                      lists a family
  jobcheck rule FT-03                   prints a requirement
  jobcheck rule ft03 tc4 kd5            prints several; case, hyphen, and leading zero are optional
  jobcheck rule 123775                  prints the requirements that an upstream issue concerns

Exit codes:
  0  the rules are printed
  2  wrong usage, or an unknown requirement
  4  the output cannot be written
  5  internal error: please report it";
