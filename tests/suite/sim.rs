//! The library of scenarios with the shipped controllers' decisions on the embedded API server.

use std::fs;

use jobcheck_harness::report::Exit;
use jobcheck_harness::scenario::{Scenario, read};
use jobcheck_model::algorithm::switches::Switches;
use jobcheck_tests::corpus::root;

fn library() -> Vec<Scenario> {
    let entries = fs::read_dir(root().join("scenarios")).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries.filter(|path| path.extension().is_some_and(|it| it == "yaml")).collect();
    files.sort();
    files.iter().map(|file| read(&fs::read_to_string(file).unwrap()).unwrap()).collect()
}

/// Step by step, and in orders that chance chooses, every scenario goes as it says, and its trace conforms.
#[test]
fn the_library_holds_with_every_seed() {
    let mut wrong = Vec::new();
    for scenario in library() {
        for seed in 0..8 {
            let outcome = jobcheck_sim::run(&scenario, seed, &Switches::default()).unwrap();
            if outcome.exit() != Exit::Conforms {
                wrong.push(format!("{}: {:?}", scenario.name, outcome.told()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A seed decides everything.
#[test]
fn a_seed_gives_the_same_trace_to_the_byte() {
    for scenario in library().into_iter().take(12) {
        for seed in [0, 7] {
            let trace = || jobcheck_sim::run(&scenario, seed, &Switches::default()).unwrap().trace;
            assert_eq!(trace(), trace(), "{} with seed {seed}", scenario.name);
        }
    }
}
