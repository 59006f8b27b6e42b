//! Switches off each guard alone, and compares the effects with the tables of `jobcheck_explorer::sensitivity`:
//! `cargo run --release -p jobcheck-explorer --example sensitivity -- [--states N] [--threads N] [ID...]`.
//!
//! Without ids, all guards are switched off in turn. Exit code 1: an effect differs from the tables.
#![expect(clippy::print_stdout, reason = "an example prints its result")]

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, thread};

use jobcheck_explorer::sensitivity::{Effect, NEEDED, REDUNDANT, Sensitivity, UNDECIDED, listed};
use jobcheck_spec::Req;

/// The most states of a scope. Without a guard, some scopes have no end.
const STATES: usize = 1_000_000;

struct Options {
    states: usize,
    threads: usize,
    reqs: Vec<Req>,
}

fn options() -> Result<Options, String> {
    let mut options = Options { states: STATES, threads: 1, reqs: Vec::new() };
    let mut words = env::args().skip(1);
    while let Some(word) = words.next() {
        let mut number =
            || words.next().and_then(|it| it.parse().ok()).ok_or(format!("{word} needs a number"));
        match word.as_str() {
            "--states" => options.states = number()?,
            "--threads" => options.threads = number()?,
            _ => options.reqs.push(Req::parse(&word).ok_or(format!("there is no requirement {word:?}"))?),
        }
    }
    if options.reqs.is_empty() {
        options.reqs.extend(listed());
        options.reqs.sort_unstable();
    }
    Ok(options)
}

/// The row of a guard, and whether it agrees with the tables.
fn row(req: Req, effect: &Effect) -> (String, bool) {
    let needed = NEEDED.iter().find(|row| row.0 == req);
    match effect {
        Effect::Breaks(scope, property, steps) => {
            let found = (req, *scope, *property, *steps);
            let broken = property.map_or("deadlock".to_owned(), |it| it.to_string());
            (format!("{req}\tneeded\t{scope}\t{broken}\t{steps}"), needed == Some(&found))
        }
        Effect::Holds(changed) => {
            let other = format!("{} scopes have other states", changed.len());
            (format!("{req}\tredundant\t\t{other}\t"), REDUNDANT.iter().any(|row| row.0 == req))
        }
        Effect::BoundReached(cut) => {
            let is_known = UNDECIDED.iter().any(|row| row.0 == req);
            (format!("{req}\tbound reached\t{}\t\t", cut.join(", ")), is_known)
        }
    }
}

fn main() -> ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(problem) => {
            eprintln!("sensitivity: {problem}");
            return ExitCode::from(2);
        }
    };
    let sensitivity = Sensitivity::new(options.states);
    println!("without\tverdict\tscope\tproperty\tsteps");
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..options.threads {
            scope.spawn(|| {
                while let Some(req) = options.reqs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (text, agrees) = row(*req, &sensitivity.without(&[*req]));
                    println!("{text}");
                    if !agrees {
                        wrong.lock().unwrap_or_else(|panic| panic.into_inner()).push(req.id());
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap_or_else(|panic| panic.into_inner());
    if !wrong.is_empty() {
        println!("{} guards differ from the tables: {}", wrong.len(), wrong.join(", "));
    }
    ExitCode::from(u8::from(!wrong.is_empty()))
}
