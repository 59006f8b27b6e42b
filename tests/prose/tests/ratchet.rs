//! The ratchet: no area has more problems than `ratchet.txt` allows, and the allowed number may only fall.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use jobcheck_prose::{check, files, root};

/// Counts the problems of each area, which `ratchet.txt` has as lines `AREA COUNT`. A failure shows the first five
/// problems of each area with too many.
#[test]
fn no_area_has_more_problems_than_the_ratchet_allows() {
    let table = root().join("tests/prose/ratchet.txt");
    let allowed = fs::read_to_string(&table).expect("the ratchet is there");
    let (mut counted, mut wrong) = (String::new(), String::new());
    for line in allowed.lines() {
        let (area, limit) = line.rsplit_once(' ').expect("a line is an area and a count");
        let limit: usize = limit.parse().expect("a line ends with a count");
        let sources = files(Path::new(area)).expect("the area can be read");
        assert!(!sources.is_empty(), "{area} has no page and no source");
        let problems: Vec<_> =
            sources.iter().flat_map(|file| check(file).expect("a file can be read")).collect();
        writeln!(counted, "{area} {}", problems.len()).expect("a string takes text");
        for problem in problems.iter().take(if problems.len() > limit { 5 } else { 0 }) {
            writeln!(wrong, "{problem}").expect("a string takes text");
        }
    }
    if env::var_os("JOBCHECK_BLESS").is_some() && wrong.is_empty() {
        fs::write(&table, &counted).expect("the ratchet can be written");
    }
    assert!(wrong.is_empty(), "`cargo run -p jobcheck-prose -- AREA` lists all:\n{wrong}");
    let stored = fs::read_to_string(&table).expect("the ratchet is there");
    assert!(
        stored == counted,
        "fewer problems than allowed: `JOBCHECK_BLESS=1 cargo test -p jobcheck-prose` lowers the ratchet"
    );
}
