//! Drawn inputs, and those that once failed.

use std::fs;
use std::path::Path;

use jobcheck_inputs::attempt::attempt;
use jobcheck_inputs::search::bounded;
use jobcheck_inputs::{Target, targets};
use serde_json::Value;

/// The seed of the drawn inputs. `cargo run -p jobcheck-inputs` draws others.
const SEED: u64 = 1;

/// About a minute on two cores. The number of inputs is the bound, so that a slow machine tries the same ones.
#[test]
fn no_drawn_input_fails() {
    let mut failed = Vec::new();
    for target in targets::all() {
        match bounded(target, SEED, target.share) {
            Ok((found, line)) => {
                eprintln!("{line}");
                for it in found {
                    let input = String::from_utf8_lossy(&it.input).into_owned();
                    failed.push(format!("{} seed {SEED}: {}\n{input}", target.name, it.failure.what));
                }
            }
            Err(input) => {
                let input = String::from_utf8_lossy(&input).into_owned();
                failed.push(format!("{} seed {SEED}: an input does not end:\n{input}", target.name));
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

/// `findings/TARGET/NAME` failed once.
#[test]
fn inputs_that_once_failed_fail_no_more() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("findings");
    let mut read = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let target = targets::all().into_iter().find(|target| target.name == name);
        let target = target.unwrap_or_else(|| panic!("findings/{name}: there is no such target"));
        for file in fs::read_dir(entry.path()).unwrap() {
            let file = file.unwrap().path();
            let input = fs::read(&file).unwrap();
            if let Err(failure) = attempt(&target, &input) {
                panic!("{}: {}", file.display(), failure.what);
            }
            read += 1;
        }
    }
    assert!(read > 0, "there is no finding");
}

#[test]
fn a_planted_panic_is_found_and_shortened() {
    let (found, line) = bounded(targets::planted(), SEED, 20_000).unwrap();
    assert_eq!(found.len(), 1, "{line}");
    assert!(found[0].failure.what.contains("too many failed pods"), "{}", found[0].failure.what);
    let input: Value = serde_json::from_slice(&found[0].input).unwrap();
    let short = [r#"{"object":{"status":{"failed":N}}}"#, r#"{"responseObject":{"status":{"failed":N}}}"#];
    let text = input.to_string();
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    assert!(short.contains(&text.replace(&digits, "N").as_str()), "{text}");
}

#[test]
fn a_contradiction_is_a_failure() {
    let target = Target { run: |_| Err("differs".to_owned()), ..targets::planted() };
    assert_eq!(attempt(&target, b"").unwrap_err().what, "differs");
}
