//! Compares the decisions of the embedded API server with those of Kubernetes' strategies
//! (`harness/controlplane/oracle`).
//!
//! ```text
//! cargo run -p jobcheck-differential --bin against_oracle -- MINOR ORACLE COUNT SEED [RECORD]
//! ```
//!
//! | argument | meaning |
//! | --- | --- |
//! | MINOR | the minor version of the embedded server's rules, 36 or 35; the oracle must have the same |
//! | ORACLE | the oracle's binary |
//! | COUNT | the number of random requests of each kind: a PUT of `/status`, a PUT, a POST, and a PUT of what the server generates |
//! | SEED | the seed of the requests, whose objects are near the edges of the rules |
//! | RECORD | a file for Kubernetes' verdicts, one per line |
//!
//! The program compares three parts of each answer: the decision, the stored object, and the fields in a refusal. It
//! fails if a decision or a stored object differs.
//!
//! The test `recorded` compares the embedded server with RECORD for COUNT 1000 and SEED 1, which is
//! `tests/differential/tests/verdicts-1.MINOR.txt`.

use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc;
use std::thread;

use jobcheck_differential::compare::{Kind, Ours, Server, Tally};
use jobcheck_differential::random::Random;
use jobcheck_spec::apiserver::RuleSet;
use serde_json::Value;

/// The maximum number of requests that wait for the oracle's answer.
const UNDER_WAY: usize = 1_000;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [minor, oracle, count, seed, record @ ..] = &arguments[..] else {
        eprintln!("usage: against_oracle MINOR ORACLE COUNT SEED [RECORD]");
        return ExitCode::from(2);
    };
    let (Ok(count), Ok(seed)) = (count.parse(), seed.parse()) else {
        eprintln!("against_oracle: COUNT and SEED are numbers");
        return ExitCode::from(2);
    };
    let Some(rules) = minor.parse().ok().and_then(RuleSet::of) else {
        eprintln!("against_oracle: MINOR is a minor version whose rules are known, such as 36");
        return ExitCode::from(2);
    };
    match run(Asking { rules, count, seed }, oracle, record.first()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("against_oracle: {oracle}: {error}");
            ExitCode::from(4)
        }
    }
}

/// The requests to compare.
#[derive(Clone, Copy)]
struct Asking {
    rules: RuleSet,
    count: u64,
    seed: u64,
}

/// Compares all requests. Returns true if all decisions and stored objects are equal.
fn run(asking: Asking, oracle: &str, record: Option<&String>) -> io::Result<bool> {
    let mut agreed = true;
    let mut verdicts = Vec::new();
    for kind in Kind::ALL {
        let mut child = Command::new(oracle).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let outcome = compare_kind(&mut child, kind, asking, &mut verdicts);
        // After an error, the oracle may still wait for requests.
        let _ = child.kill();
        child.wait()?;
        let tally = outcome?;
        writeln!(io::stdout(), "{tally}")?;
        agreed &= tally.agrees();
    }
    if let Some(path) = record {
        std::fs::write(path, verdicts.join("\n") + "\n")?;
    }
    Ok(agreed)
}

fn compare_kind(
    child: &mut Child,
    kind: Kind,
    asked: Asking,
    verdicts: &mut Vec<String>,
) -> io::Result<Tally> {
    let missing = || io::Error::other("the oracle has no pipe");
    let mut questions = BufWriter::new(child.stdin.take().ok_or_else(missing)?);
    let answers = BufReader::new(child.stdout.take().ok_or_else(missing)?);
    let (send, receive) = mpsc::sync_channel::<Ours>(UNDER_WAY);
    let asking = thread::spawn(move || -> io::Result<()> {
        let (mut random, mut server) = (Random::seeded(asked.seed), Server::new(asked.rules));
        for _ in 0..asked.count {
            let ours = server.ask(kind, &mut random);
            writeln!(questions, "{}", ours.question)?;
            if send.send(ours).is_err() {
                break;
            }
        }
        questions.flush()
    });
    let mut tally = Tally::of(kind);
    for (line, ours) in answers.lines().zip(receive) {
        let theirs: Value = serde_json::from_str(&line?).map_err(io::Error::other)?;
        verdicts.push(jobcheck_differential::compare::their_verdict(&theirs));
        tally.compare(&ours, &theirs);
    }
    asking.join().map_err(|_| io::Error::other("asking panicked"))??;
    Ok(tally)
}
