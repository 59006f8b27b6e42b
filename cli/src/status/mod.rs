//! `jobcheck status`: would API servers accept this status, and what would the built-in controller have written?

mod args;

use std::io::Read;
use std::path::Path;

use jobcheck_judge::report::Exit;
use jobcheck_judge::transition::{Difference, TransitionReport, transition};
use jobcheck_spec::apiserver::RuleSet;
use serde_json::Value;

pub use self::args::StatusArgs;
use crate::output;
use crate::text::{Text, clean, of_path};

/// Maximum size of a file in bytes. A Job has at most 1.5 MiB in etcd.
const LARGEST: u64 = 16 << 20;

/// Judges the transition, and prints the report. Returns the exit code.
pub fn run(args: &StatusArgs) -> Exit {
    let report = match judged(args) {
        Ok(report) => report,
        Err(message) => {
            output::error(message);
            return Exit::Unreadable;
        }
    };
    output::print_report(args.output.render(|| text(&report), || &report), args.output, report.exit())
}

fn judged(args: &StatusArgs) -> Result<TransitionReport, String> {
    let is_stdin = |path: &Path| path.as_os_str() == "-";
    if is_stdin(&args.old) && is_stdin(&args.new) {
        return Err("standard input is named twice, and can be read once".to_owned());
    }
    let [old, new] = [job(&args.old)?, job(&args.new)?];
    transition(&old, &new, &args.kubernetes.0).map_err(|error| error.to_string())
}

/// The Job in a file, as JSON.
fn job(path: &Path) -> Result<String, String> {
    let name = of_path(path);
    let problem = |what: String| format!("{name}: {what}");
    let text = text_of(path).map_err(|error| problem(format!("cannot read it: {error}")))?;
    if text.len() as u64 > LARGEST {
        return Err(problem(format!("longer than {LARGEST} bytes; expected one Job")));
    }
    let object: Value = if text.trim_start().starts_with('{') {
        serde_json::from_str(&text).map_err(|error| problem(format!("no JSON: {error}")))?
    } else {
        serde_saphyr::from_str(&text).map_err(|error| {
            let why = error.without_snippet().to_string();
            // The library advises programmers.
            match why.split_once("; use from_str_multiple") {
                Some((why, _)) => problem(format!("{why}; expected one Job")),
                None => problem(format!("neither JSON nor YAML: {why}")),
            }
        })?
    };
    match (object["apiVersion"].as_str(), object["kind"].as_str()) {
        (Some("batch/v1"), Some("Job")) => Ok(object.to_string()),
        (version, kind) => {
            let found = match (version, kind) {
                (Some(version), Some(kind)) => format!("{version} {kind}"),
                (Some(version), None) => format!("{version} without a kind"),
                (None, Some(kind)) => format!("{kind} without an apiVersion"),
                (None, None) => "no apiVersion and no kind".to_owned(),
            };
            Err(problem(format!("expected a batch/v1 Job, found {}", clean(&found))))
        }
    }
}

fn text_of(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    if path.as_os_str() == "-" {
        std::io::stdin().lock().take(LARGEST + 1).read_to_string(&mut text)?;
    } else {
        std::fs::File::open(path)?.take(LARGEST + 1).read_to_string(&mut text)?;
    }
    Ok(text)
}

fn text(report: &TransitionReport) -> String {
    let mut out = Text::default();
    for version in &report.versions {
        let word = match version.accepted {
            Some(true) => "accepts",
            Some(false) => "refuses",
            None => "unknown",
        };
        let release = version.kubernetes.strip_prefix("1.").and_then(|minor| minor.parse().ok());
        let release = release.and_then(RuleSet::of).map_or_else(
            || "no rules for this version; known are 1.34 to 1.38".to_owned(),
            |rules| format!("by the rules of {}", rules.release()),
        );
        line(&mut out, format_args!("{word:<10}  {:<5} {release}", version.kubernetes));
        version.refusals.iter().for_each(|it| difference(&mut out, it));
    }
    if !report.advice.is_empty() {
        line(
            &mut out,
            format_args!(
                "advice      the built-in controller does not write this, even where it is accepted"
            ),
        );
        report.advice.iter().for_each(|it| difference(&mut out, it));
    }
    for (number, write) in report.built_in.iter().enumerate() {
        let word = if number == 0 { "built-in" } else { "" };
        line(&mut out, format_args!("{word:<10}  write {}: {write}", number + 1));
    }
    out.finish()
}

fn difference(out: &mut Text, it: &Difference) {
    let Difference { requirement, what, expected, found, sentence } = it;
    let (expected, found) = (clean(expected), clean(found));
    line(out, format_args!("  {requirement:<8}  {what}: expected {expected}, found {found}"));
    line(out, format_args!("            {sentence}"));
}

fn line(out: &mut Text, text: std::fmt::Arguments<'_>) {
    writeln!(out, "{text}").expect("writing to a string succeeds");
}
