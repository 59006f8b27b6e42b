//! Prints the table of verdicts on edited recordings: `cargo run -p jobcheck-edits -- [OPTION...]`.
#![expect(clippy::print_stdout, reason = "a tool prints what it finds")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::{env, fs};

use jobcheck_edits::class::Oracle;
use jobcheck_edits::class::{Class, Edited};
use jobcheck_edits::forms::SHAPES;
use jobcheck_edits::recording::{Recording, recordings};
use jobcheck_edits::run::{Judged, Plan, conforming, run};
use jobcheck_edits::{classes, mirrors, table};
use jobcheck_judge::report::Exit;

const HELP: &str = "\
Judge edits of the recordings in traces/corpus, and count the verdicts by class.

  --class TEXT       only classes whose name contains TEXT
  --recording TEXT   only recordings whose name contains TEXT
  --known            also edit the recordings of known deviations
  --form NAME        only this form: audit, watch, native, request, pods-metadata, metadata
  --sample N         at most N edits of each class in each form (default: all)
  --seed S           the seed of the sample (default: 0)
  --threads N        the number of threads (default: 2)
  --keep DIR         write the trace of each wrong verdict to DIR, at most 3 of each class and form
  --mirrors          edit managers that write status alone, and print a table of the rules MR-01 to MR-15
  --by-class         a row for each class instead of each group
  --missed           list the wrong verdicts
  --output FORMAT    text or json (default: text)

Exit code 0: the aims are reached; 1: an aim is missed; 2: an option or the corpus cannot be read.";

/// The number of kept traces of each class and form.
const KEPT: usize = 3;

#[derive(Default)]
struct Options {
    plan: Plan,
    keep: Option<PathBuf>,
    by_class: bool,
    missed: bool,
    known: bool,
    json: bool,
    mirrors: bool,
}

fn main() -> ExitCode {
    let options = match options(env::args().skip(1)) {
        Ok(Some(options)) => options,
        Ok(None) => {
            println!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(problem) => {
            eprintln!("edits: {problem}");
            return ExitCode::from(2);
        }
    };
    match measure(&options) {
        Ok(reached) => ExitCode::from(u8::from(!reached)),
        Err(problem) => {
            eprintln!("edits: {problem}");
            ExitCode::from(2)
        }
    }
}

fn options(mut words: impl Iterator<Item = String>) -> Result<Option<Options>, String> {
    let mut options = Options::default();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--help" | "-h" => return Ok(None),
            "--mirrors" => options.mirrors = true,
            "--by-class" => options.by_class = true,
            "--missed" => options.missed = true,
            "--known" => options.known = true,
            _ => {
                let value = words.next().ok_or_else(|| format!("{word} needs a value; see --help"))?;
                set(&mut options, &word, value)?;
            }
        }
    }
    Ok(Some(options))
}

fn set(options: &mut Options, word: &str, value: String) -> Result<(), String> {
    let number = || value.parse::<u64>().map_err(|_| format!("{word} needs a number, not {value}"));
    match word {
        "--class" => options.plan.class = value,
        "--recording" => options.plan.recording = value,
        "--form" => {
            let shape = SHAPES.into_iter().find(|it| it.name() == value);
            options.plan.shapes = vec![shape.ok_or_else(|| format!("no form is called {value}"))?];
        }
        "--sample" => options.plan.sample = Some(usize::try_from(number()?).unwrap_or(usize::MAX)),
        "--seed" => options.plan.seed = number()?,
        "--threads" => options.plan.threads = usize::try_from(number()?).unwrap_or(1),
        "--keep" => options.keep = Some(PathBuf::from(value)),
        "--output" if value == "json" || value == "text" => options.json = value == "json",
        _ => return Err(format!("{word} {value} is no option; see --help")),
    }
    Ok(())
}

fn measure(options: &Options) -> Result<bool, String> {
    let (classes, recordings) = if options.mirrors {
        (mirrors::classes(), mirrors::sources::traces()?)
    } else {
        (classes::all(), conforming(recordings()?, options.known))
    };
    let kept = Mutex::new(BTreeMap::new());
    let keep = |judged: &Judged, edited: &Edited| {
        let Some(folder) = options.keep.as_deref().filter(|_| judged.is_missed()) else { return };
        let mut kept = kept.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let number: &mut usize = kept.entry((judged.class, judged.shape)).or_default();
        *number += 1;
        if *number <= KEPT
            && let Err(error) = write(folder, &name(judged, &classes, &recordings), edited)
        {
            eprintln!("edits: {error}");
        }
    };
    if let Some(folder) = &options.keep {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let judged = run(&options.plan, &classes, &recordings, &keep);
    if options.mirrors && !options.json && !options.by_class {
        print!("{}", table::markdown(&judged, &classes));
    } else if options.json {
        println!("{}", table::machine(&judged, &classes));
    } else {
        print!("{}", table::text(&judged, &classes, options.by_class));
    }
    if options.missed {
        for it in judged.iter().filter(|it| it.is_missed() || is_weak(it, options.mirrors)) {
            println!("{} {:?} {:?}", name(it, &classes, &recordings), it.exit, it.oracle);
            it.reasons.iter().take(4).for_each(|reason| println!("    {reason}"));
        }
    }
    Ok(table::is_reached(&judged))
}

/// Returns true for an inconclusive verdict on a wrong edit. For mirrors, the report must also name the rule.
fn is_weak(it: &Judged, with_names: bool) -> bool {
    let must_fail = matches!(it.oracle, Oracle::Wrong(_) | Oracle::Advice(_));
    must_fail && (it.exit == Exit::Inconclusive || with_names && !it.names_rule)
}

fn name(judged: &Judged, classes: &[Class], recordings: &[Recording]) -> String {
    let class = classes[judged.class].name.replace(['/', ' '], "-");
    let recording = recordings[judged.recording].name.split('.').next().unwrap_or_default();
    format!("{class}--{recording}-{}.{}", judged.at + 1, judged.shape.name())
}

fn write(folder: &Path, name: &str, edited: &Edited) -> Result<(), String> {
    for (number, lines) in edited.files.iter().enumerate() {
        let part = if edited.files.len() > 1 { format!(".{number}") } else { String::new() };
        let path = folder.join(format!("{name}{part}.jsonl"));
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}
