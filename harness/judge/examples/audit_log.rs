//! Prints the verdict on each Job of an audit log:
//! `cargo run -p jobcheck-judge --example audit_log -- traces/corpus/known/s05-readopted.audit.jsonl`.
#![expect(clippy::print_stdout, reason = "an example prints its result")]

use std::process::ExitCode;

use jobcheck_judge::replay::{Grouping, Judging, group, judge};
use jobcheck_traces::Input;

fn main() -> ExitCode {
    let inputs = std::env::args().skip(1).map(|file| Input::from_argument(&file)).collect();
    let traces = group(inputs, Grouping::Auto, &mut |_, _| {});
    let report = judge(&traces, &Judging::default(), &mut |_, _| {});
    for error in &report.errors {
        println!("{}: {}", error.file, error.message);
    }
    for job in &report.jobs {
        println!("{} {}", job.verdict, job.job);
        for finding in &job.violations {
            let id = finding.requirement.map_or("-", |id| id.0.id());
            println!(
                "  {id} line {:?}: expected {}, found {}",
                finding.place.line, finding.difference.expected, finding.difference.found
            );
        }
    }
    ExitCode::from(report.exit_code.code())
}
