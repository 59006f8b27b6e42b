//! Draws inputs without end, and saves those that fail: `cargo run --release -p jobcheck-inputs -- [OPTION...]`.
#![expect(clippy::print_stdout, reason = "a tool prints what it finds")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::{env, fs};

use jobcheck_inputs::attempt::attempt;
use jobcheck_inputs::search::{Found, Search};
use jobcheck_inputs::shorten::shortened;
use jobcheck_inputs::{Target, targets};

const HELP: &str = "\
Draw inputs for everything that reads what others have written, until Ctrl-C.

  --target NAME    only this target (default: all of them in turn)
  --seed S         the seed (default: from the clock)
  --count N        end after N inputs of each target
  --folder DIR     the folder of failing inputs (default: target/inputs)
  --repeat FILE    read one input, and show how it fails; needs --target
  --list           list the targets

If the program itself dies, DIR/TARGET.current is the input that it had begun.
Exit code 0: no input failed; 1: an input failed; 2: an option is wrong.";

/// The inputs of a target before the next one has its turn.
const TURN: u64 = 200;
/// The time between two lines about the search.
const BETWEEN_LINES: Duration = Duration::from_secs(60);

struct Options {
    targets: Vec<Target>,
    seed: u64,
    count: Option<u64>,
    folder: PathBuf,
    repeat: Option<PathBuf>,
}

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    if words.iter().any(|word| word == "--help" || word == "-h") {
        println!("{HELP}");
        return ExitCode::SUCCESS;
    }
    if words.iter().any(|word| word == "--list") {
        targets::all().iter().for_each(|it| println!("{:<12} {}", it.name, it.about));
        return ExitCode::SUCCESS;
    }
    let done = options(&words).and_then(|options| match &options.repeat {
        Some(file) => repeat(&options, file),
        None => search(&options),
    });
    match done {
        Ok(failed) => ExitCode::from(u8::from(failed)),
        Err(problem) => {
            eprintln!("inputs: {problem}");
            ExitCode::from(2)
        }
    }
}

fn options(words: &[String]) -> Result<Options, String> {
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut options = Options {
        targets: targets::all(),
        seed: clock.as_secs(),
        count: None,
        folder: PathBuf::from("target/inputs"),
        repeat: None,
    };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word} is unknown, or needs a value; see --help"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("{word}: expected a number, found {value}"));
        match word.as_str() {
            "--target" => options.targets.retain(|target| target.name == value),
            "--seed" => options.seed = number()?,
            "--count" => options.count = Some(number()?),
            "--folder" => options.folder = PathBuf::from(value),
            "--repeat" => options.repeat = Some(PathBuf::from(value)),
            _ => return Err(format!("{word} is unknown; see --help")),
        }
    }
    match options.targets.len() {
        0 => Err("there is no such target; see --list".to_owned()),
        1 => Ok(options),
        _ if options.repeat.is_some() => Err("--repeat needs --target".to_owned()),
        _ => Ok(options),
    }
}

/// Reads one input. Returns true if it fails.
fn repeat(options: &Options, file: &Path) -> Result<bool, String> {
    let input = fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let result = attempt(&options.targets[0], &input);
    match &result {
        Ok(signs) => signs.iter().for_each(|sign| println!("{sign}")),
        Err(failure) => println!("{}", failure.what),
    }
    Ok(result.is_err())
}

/// Draws inputs. Returns true if one failed.
fn search(options: &Options) -> Result<bool, String> {
    fs::create_dir_all(&options.folder).map_err(|error| format!("{}: {error}", options.folder.display()))?;
    println!("seed {}", options.seed);
    let mut searches: Vec<(Target, Search)> =
        options.targets.iter().map(|target| (*target, Search::new(*target, options.seed))).collect();
    let (mut failed, mut shown) = (false, Instant::now());
    loop {
        let mut is_done = true;
        for (target, search) in &mut searches {
            let current = options.folder.join(format!("{}.current", target.name));
            let end = options.count.map_or(u64::MAX, |count| count.min(search.tried + TURN));
            let end = end.min(search.tried + TURN);
            while search.tried < end {
                // The file shows which input ended the program, if one does. A search continues without it.
                let found = search.step(&mut |input| drop(fs::write(&current, input)));
                if let Some(found) = found {
                    failed = true;
                    report(options, target, &found)?;
                }
            }
            is_done &= options.count.is_some_and(|count| search.tried >= count);
            let _ = fs::remove_file(&current);
        }
        if is_done || shown.elapsed() > BETWEEN_LINES {
            shown = Instant::now();
            for (target, search) in &searches {
                let (pool, signs) = (search.pool(), search.signs());
                println!("{:<12} {} inputs, {pool} in the pool, {signs} signs", target.name, search.tried);
            }
        }
        if is_done {
            return Ok(failed);
        }
    }
}

/// Saves a failing input as it was drawn, then shortened, and prints the command that repeats it.
fn report(options: &Options, target: &Target, found: &Found) -> Result<(), String> {
    let name = format!("{}-{:016x}", target.name, digest(found.failure.kind().as_bytes()));
    let file = options.folder.join(name);
    let save = |input: &[u8]| fs::write(&file, input).map_err(|error| format!("{}: {error}", file.display()));
    save(&found.input)?;
    println!("{}: {}", target.name, found.failure.what);
    save(&shortened(target, &found.input, &found.failure))?;
    println!(
        "again: cargo run --release -p jobcheck-inputs -- --target {} --repeat {}",
        target.name,
        file.display()
    );
    Ok(())
}

/// FNV-1a, so that the same failure has the same file in each search.
fn digest(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}
