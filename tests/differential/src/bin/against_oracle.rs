//! Whole requests through the embedded API server against Kubernetes' own strategies (`harness/controlplane/oracle`).
//!
//! ```text
//! cargo run -p jobcheck-differential --bin against_oracle -- MINOR ORACLE COUNT SEED [RECORD]
//! ```
//!
//! COUNT questions of each kind, which are `status` (PUT of `/status`), `spec` (PUT), and `create` (POST), with objects
//! near the edges of the rules: the generator is the one of the model's example `status_cases`. Compared are whether
//! the request is accepted, what is stored, and which fields a refusal names. It fails if the first or the second
//! differ anywhere. MINOR is the minor version whose rules the embedded server has, 36 or 35: that of the ORACLE. RECORD is
//! a file for Kubernetes' verdicts, one a line: the test `oracle` holds the server against `tests/oracle/verdicts-1.MINOR.txt`,
//! which is that of COUNT 1000 and SEED 1.

use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc;
use std::thread;

use jobcheck_differential::compare::{Kind, Ours, Server, Tally};
use jobcheck_differential::random::Random;
use jobcheck_spec::apiserver::RuleSet;
use serde_json::Value;

/// Questions that may be under way at a time.
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

/// What is asked.
#[derive(Clone, Copy)]
struct Asking {
    rules: RuleSet,
    count: u64,
    seed: u64,
}

/// Asks both, and says whether they agree.
fn run(asking: Asking, oracle: &str, record: Option<&String>) -> io::Result<bool> {
    let mut agreed = true;
    let mut verdicts = Vec::new();
    for kind in [Kind::Status, Kind::Spec, Kind::Create] {
        let mut child = Command::new(oracle).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let outcome = compare_kind(&mut child, kind, asking, &mut verdicts);
        // It has nothing more to read; after an error it may still wait for questions.
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
