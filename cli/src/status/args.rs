//! The arguments of `jobcheck status`.

use std::path::PathBuf;

use clap::Args;
use jobcheck_spec::apiserver::minor_of;

use crate::format::Format;

/// Arguments of `jobcheck status`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct StatusArgs {
    /// The stored Job, in JSON or YAML; - is standard input.
    #[arg(value_name = "OLD")]
    pub old: PathBuf,
    /// The Job with the status that is written.
    #[arg(value_name = "NEW")]
    pub new: PathBuf,
    /// Ask these versions of Kubernetes: one, or a range such as 1.34..1.36. By default all whose rules are known.
    #[arg(long, value_name = "VERSIONS", value_parser = versions, default_value = "1.34..1.38")]
    pub kubernetes: Versions,
    /// Form of the report. Schema: status.schema.json in docs/reference/schemas.
    #[arg(short, long, value_name = "FORM", value_parser = Format::without_junit(), default_value = "text")]
    pub output: Format,
}

/// Minor versions of Kubernetes, such as 36.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versions(pub Vec<u32>);

/// Greatest minor version in a range.
const HIGHEST: u32 = 99;

fn versions(text: &str) -> Result<Versions, String> {
    let problem =
        || format!("expected a version such as 1.36, or a range such as 1.34..1.38, found {text:?}");
    let (first, last) = text.split_once("..").unwrap_or((text, text));
    let (first, last) =
        minor_of(first).zip(minor_of(last)).filter(|(_, last)| *last <= HIGHEST).ok_or_else(problem)?;
    if first > last {
        return Err(format!("{}; the range is empty", problem()));
    }
    Ok(Versions((first..=last).collect()))
}

const AFTER_HELP: &str = "\
Examples:
  jobcheck status old.json new.json     asks every version whose rules are known
  jobcheck status old.yaml new.yaml --kubernetes 1.34..1.36
  kubectl get job train -o json | jobcheck status - new.json
                                        could this status be written now?

The output has a line for each version, with all reasons for a refusal. Below
it are the writes that the built-in controller sends on its way to that end.
Only the status of NEW counts: the API server keeps the stored specification.

Exit codes:
  0  each version accepts the write
  1  a version refuses it
  2  wrong usage, or a file that is no Job; the message names it
  3  the rules of a version are not known, and no other version refuses
  4  the output cannot be written
  5  internal error: please report it";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_one_or_a_range() {
        assert_eq!(versions("1.36"), Ok(Versions(vec![36])));
        assert_eq!(versions("v1.34..1.36"), Ok(Versions(vec![34, 35, 36])));
        assert_eq!(versions("v1.36.3"), Ok(Versions(vec![36])));
        for wrong in
            ["", "1", "2.36", "1.x", "1.36..", "1.36..1.35", "1.+36", "1.36.3.1", "1.100", "1.999999999999"]
        {
            assert!(versions(wrong).is_err(), "{wrong}");
        }
    }
}
