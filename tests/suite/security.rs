//! The tests of the security review (`docs/results/security.md`), and how documents install the program.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The words in backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn each_finding_names_tests_that_exist() {
    let page = fs::read_to_string(root().join("docs/results/security.md")).unwrap();
    let rows = page.lines().filter_map(|line| {
        let mut cells = line.split(" | ");
        let id = cells.next()?.strip_prefix("| ").filter(|id| id.starts_with(['M', 'L']))?;
        Some((id, cells.nth(1)?))
    });
    let mut found = Vec::new();
    for (id, tests) in rows {
        let (mut source, mut count) = (String::new(), 0);
        for word in quoted(tests) {
            if word.ends_with(".rs") {
                source =
                    fs::read_to_string(root().join(word)).unwrap_or_else(|error| panic!("{word}: {error}"));
            } else {
                assert!(source.contains(&format!("fn {word}(")), "{id}: there is no {word}");
                count += 1;
            }
        }
        assert!(count > 0, "{id} names no test");
        found.push(id.to_owned());
    }
    let all = (1..=7).map(|number| format!("M{number}")).chain((1..=17).map(|number| format!("L{number}")));
    assert_eq!(found, all.collect::<Vec<_>>());
}

#[test]
fn documents_install_with_the_lock_file() {
    let mut count = 0;
    for file in ["README.md", "CONTRIBUTING.md", "docs/results/cargo-mutants.md", "deploy/Containerfile"] {
        let text = fs::read_to_string(root().join(file)).unwrap();
        for line in text
            .lines()
            .filter(|line| line.contains("cargo install") || line.contains("cargo build --release"))
        {
            count += 1;
            assert!(line.contains("--locked"), "{file}: {line}");
        }
    }
    assert!(count >= 2, "the documents no longer say how to install");
}
