//! `jobcheck redact`: takes what may be secret out of recorded traces.

mod args;

use std::fs::File;
use std::hash::RandomState;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use jobcheck_judge::report::Exit;
use jobcheck_traces::{Input, Originals, Redactor, files};

pub use self::args::RedactArgs;
use crate::memory::{self, Output};
use crate::output;
use crate::replay::Limit;
use crate::text::{in_json, of_path, quoted};

/// Why a file was not redacted.
enum Problem {
    Input(String),
    Output(String),
    /// A limit was reached.
    Limit(String),
    /// The output failed, which has been reported.
    Reported(Exit),
}

/// The output.
enum Out {
    File(BufWriter<File>),
    Stdout,
}

impl Out {
    /// Writes a line of JSON.
    fn line(&mut self, line: String) -> Result<(), Problem> {
        let line = in_json(line) + "\n";
        match self {
            Out::File(file) => file.write_all(line.as_bytes()).map_err(not_written),
            Out::Stdout => match output::print(&line, Exit::Conforms) {
                Exit::Conforms => Ok(()),
                exit => Err(Problem::Reported(exit)),
            },
        }
    }

    fn end(self) -> Result<(), Problem> {
        match self {
            Out::File(mut file) => file.flush().map_err(not_written),
            Out::Stdout => Ok(()),
        }
    }
}

/// The limits of `--max-memory` and `--budget`.
struct Limits {
    /// The most bytes of memory.
    most: Option<u64>,
    limit: Limit,
}

impl Limits {
    /// The members of a document need more room than its text.
    const BYTES_OF_A_BYTE: u64 = 20;

    /// Returns an error if a limit is reached, or the record needs too much memory.
    fn has_room_for(&self, record: &str) -> Result<(), String> {
        if let Some(reached) = self.limit.reached() {
            return Err(reached.to_owned());
        }
        let needed = (record.len() as u64).saturating_mul(Limits::BYTES_OF_A_BYTE);
        match self.most.filter(|most| needed > *most) {
            Some(most) => Err(format!(
                "a record of {} bytes needs more than the limit of {} MB of memory; raise it with --max-memory",
                record.len(),
                most / 1_000_000
            )),
            None => Ok(()),
        }
    }

    /// The limit that was reached, or else this problem of an input.
    fn problem_or(&self, message: String) -> Problem {
        self.limit.reached().map_or(Problem::Input(message), |reached| Problem::Limit(reached.to_owned()))
    }
}

fn not_written(error: io::Error) -> Problem {
    Problem::Output(format!("the output cannot be written: {error}"))
}

/// Redacts the files. Returns the exit code.
pub fn run(args: &RedactArgs) -> Exit {
    match redact(args) {
        Ok(()) => Exit::Conforms,
        Err(Problem::Input(message)) => {
            output::error(message);
            Exit::Unreadable
        }
        Err(Problem::Output(message)) => {
            output::error(message);
            Exit::Environment
        }
        Err(Problem::Limit(message)) => {
            output::error(message);
            Exit::Inconclusive
        }
        Err(Problem::Reported(exit)) => exit,
    }
}

fn redact(args: &RedactArgs) -> Result<(), Problem> {
    let redactor = Redactor::new(RandomState::new());
    let most = memory::limit(args.max_memory);
    let limits = Limits { most, limit: Limit::new(most, Output::Records, args.budget) };
    let Some(folder) = &args.to else {
        let [file] = &args.files[..] else {
            return Err(Problem::Input("several files need --to DIR".to_owned()));
        };
        return of_file(file, &redactor, &limits, Out::Stdout);
    };
    std::fs::create_dir_all(folder).map_err(|error| not_made(folder, &error))?;
    for file in &args.files {
        let name = file.file_name().filter(|_| file.as_os_str() != "-").ok_or_else(|| {
            Problem::Input(format!("{} has no name for a file in {}", of_path(file), of_path(folder)))
        })?;
        let target = folder.join(name);
        let new = files::create_new(&target).map_err(|error| not_made(&target, &error))?;
        let done = of_file(file, &redactor, &limits, Out::File(BufWriter::new(new)));
        if done.is_err() {
            // The part has no secret, but nobody must take it for the whole.
            let _ = std::fs::remove_file(&target);
        }
        done?;
        output::note(format!(
            "{} is written; judge it: jobcheck replay {}",
            of_path(&target),
            quoted(&target.to_string_lossy())
        ));
    }
    Ok(())
}

fn not_made(file: &Path, error: &io::Error) -> Problem {
    Problem::Output(format!("cannot write {}: {error}", of_path(file)))
}

/// Writes one record a line.
fn of_file(file: &Path, redactor: &Redactor, limits: &Limits, mut out: Out) -> Result<(), Problem> {
    let input = match file.as_os_str() == "-" {
        true => Input::Stdin,
        false => Input::Path(file.to_owned()),
    };
    let name = of_path(file);
    let mut originals = Originals::open_until(&input, &limits.limit.stop());
    let (mut number, mut bytes) = (0u64, 0u64);
    while let Some(record) = originals.next().map_err(|error| limits.problem_or(error.to_string()))? {
        number += 1;
        limits
            .has_room_for(record)
            .map_err(|why| Problem::Limit(format!("{name}: record {number}: {why}")))?;
        bytes += record.len() as u64;
        limits.limit.look(bytes, None);
        let redacted = redactor.line(record);
        out.line(redacted.map_err(|error| Problem::Input(format!("{name}: record {number}: {error}")))?)?;
    }
    if let Some(why) = limits.limit.reached() {
        return Err(Problem::Limit(format!("{name}: {why}")));
    }
    if let Some(why) = originals.info().incomplete() {
        // The records alone do not show it, so that they would be judged as the whole.
        return Err(Problem::Input(format!("{why}; export all rows")));
    }
    let left_out = originals.info().skipped.total();
    if left_out > 0 {
        let what = output::count(left_out, "document");
        output::note(format!(
            "{name}: left out {what} that no trace needs, such as reads and other resources"
        ));
    }
    out.end()
}
