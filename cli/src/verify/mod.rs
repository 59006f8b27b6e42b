//! `jobcheck verify`: the main job, offline.

mod args;
mod corpus;
mod text;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anstream::eprintln;
use anyhow::Context;
use jobcheck_judge::report::{API_VERSION, Exit};
use serde::Serialize;
use serde_json::Value;

use self::args::Format;
pub use self::args::VerifyArgs;
use crate::args::Global;
use crate::check::{self, Subject};
use crate::output;

/// Where counterexamples go, in the report folder.
const COUNTEREXAMPLES: &str = "counterexamples";

/// A part of the job, and what it came to.
pub struct Part {
    /// What was looked at.
    pub name: &'static str,
    /// How much of it.
    pub extent: String,
    /// What it comes to.
    pub exit: Exit,
    /// What is wrong, or why it was not run.
    pub wrong: Vec<String>,
    /// The report for programs; none of a part that was not run.
    pub report: Option<Value>,
}

impl Part {
    fn not_run(name: &'static str, why: String) -> Part {
        let extent = "not run".to_owned();
        Part { name, extent, exit: Exit::Inconclusive, wrong: vec![why], report: None }
    }

    /// The file of its report.
    fn file(&self) -> String {
        format!("{}.json", self.name.replace(' ', "-"))
    }
}

/// A part with the time that it took.
struct Timed {
    part: Part,
    elapsed: Duration,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct VerifyReport<'a> {
    api_version: &'static str,
    kind: &'static str,
    exit_code: u8,
    parts: Vec<PartReport<'a>>,
    seconds: f64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PartReport<'a> {
    name: &'a str,
    extent: &'a str,
    exit_code: u8,
    wrong: &'a [String],
    report: Option<String>,
    seconds: f64,
}

/// Verifies, prints the summary, writes the report, and returns what it comes to.
pub fn run(args: &VerifyArgs, global: &Global) -> Exit {
    let begun = Instant::now();
    let kept = args.report.join(COUNTEREXAMPLES);
    let parts: [&dyn Fn() -> Part; 5] = [
        &|| of_check("specification", Subject::All, args, global, &kept),
        &|| of_check("shipped controllers", Subject::Controller, args, global, &kept),
        &|| of_scenarios(args, &kept),
        &|| corpus::recordings(&args.corpus.join("recordings")),
        &|| corpus::invalid(&args.corpus.join("invalid")),
    ];
    let timed = |part: &&dyn Fn() -> Part| {
        let begun = Instant::now();
        Timed { part: part(), elapsed: begun.elapsed() }
    };
    let parts: Vec<Timed> = parts.iter().map(timed).collect();
    let exit = worst(parts.iter().map(|it| it.part.exit));
    let report = whole(&parts, exit, begun.elapsed());
    let rendered = check::to_json(&report).and_then(|json| {
        let printed = match args.output {
            Format::Text => text::render(&parts, exit, begun.elapsed(), &args.report),
            Format::Json => json.clone(),
            Format::Yaml => check::to_yaml(&report)?,
        };
        Ok((json, printed))
    });
    let (json, printed) = match rendered {
        Ok(rendered) => rendered,
        Err(error) => {
            eprintln!("internal error, please report it: {error:#}");
            return Exit::Internal;
        }
    };
    let exit = output::print(&printed, exit);
    match write(&args.report, &parts, &json) {
        Ok(()) => exit,
        Err(error) => {
            eprintln!("error: {error:#}");
            Exit::Environment
        }
    }
}

fn of_check(name: &'static str, subject: Subject, args: &VerifyArgs, global: &Global, kept: &Path) -> Part {
    let quick = check::quick(subject, args.threads, kept, global);
    let extent = format!("{} scopes, {} states", quick.scopes, quick.states);
    match quick.report {
        Ok(report) => Part { name, extent, exit: quick.exit, wrong: quick.wrong, report: Some(report) },
        Err(error) => Part {
            name,
            extent,
            exit: Exit::Internal,
            wrong: vec![format!("the report: {error:#}")],
            report: None,
        },
    }
}

fn of_scenarios(args: &VerifyArgs, kept: &Path) -> Part {
    let name = "scenarios";
    if !args.scenarios.is_dir() {
        return Part::not_run(name, format!("{} is no directory: --scenarios DIR", args.scenarios.display()));
    }
    let all = crate::run::on_sim(&args.scenarios, args.runs, kept);
    let extent = format!("{} scenarios, {} runs, {} requests", all.scenarios, all.runs, all.requests);
    Part { name, extent, exit: all.exit, wrong: all.wrong, report: all.report.ok() }
}

/// Of several, the first of 5, 4, 2, 1, 3, 0 (judging.md 5).
fn worst(exits: impl Iterator<Item = Exit>) -> Exit {
    let order = [
        Exit::Internal,
        Exit::Environment,
        Exit::Unreadable,
        Exit::Violates,
        Exit::Inconclusive,
        Exit::Conforms,
    ];
    let rank = |exit: &Exit| order.iter().position(|it| it == exit);
    exits.min_by_key(rank).unwrap_or(Exit::Conforms)
}

fn whole(parts: &[Timed], exit: Exit, elapsed: Duration) -> VerifyReport<'_> {
    VerifyReport {
        api_version: API_VERSION,
        kind: "VerifyReport",
        exit_code: exit.code(),
        parts: parts
            .iter()
            .map(|it| PartReport {
                name: it.part.name,
                extent: &it.part.extent,
                exit_code: it.part.exit.code(),
                wrong: &it.part.wrong,
                report: it.part.report.is_some().then(|| it.part.file()),
                seconds: it.elapsed.as_secs_f64(),
            })
            .collect(),
        seconds: elapsed.as_secs_f64(),
    }
}

fn write(directory: &Path, parts: &[Timed], summary: &str) -> anyhow::Result<()> {
    fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))?;
    let put = |name: &str, text: &str| {
        let file = directory.join(name);
        fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))
    };
    for Timed { part, .. } in parts {
        if let Some(report) = &part.report {
            put(&part.file(), &check::to_json(report)?)?;
        }
    }
    put("verify.json", summary)
}
