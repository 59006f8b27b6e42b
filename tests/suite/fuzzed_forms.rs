//! What `jobcheck fuzz` draws, in traces that show less: as an audit log, which does not tell what the controllers saw, and
//! as a watch, which does not tell who wrote. What conforms does so still, or it cannot be told.

use std::fmt::Write as _;

use jobcheck_adapter::mutations::is_of_the_plan;
use jobcheck_explorer::mutants::MUTANTS;
use jobcheck_explorer::mutations::Mutations;
use jobcheck_judge::replay::Assumption;
use jobcheck_judge::report::Exit;
use jobcheck_scenario::read;
use jobcheck_sim::fuzz::{Draft, Menu};
use serde_json::Value;

use crate::lesser_forms::{judged_assuming, watch};
use crate::rendered::told;

/// Without what happens to the controllers: only a whole native trace says who was not answered, and who was started again.
const MENU: Menu = Menu { faults: false, real_time: false };

const SEEDS: u64 = 1000;

/// What only a native trace tells; or, of a user who writes the status first, who manages the Job (judging.md 1).
const NOT_IN_A_LOG: [&str; 3] = ["rollout:", "expire:", "deny:"];
/// What a controller does not do, and a watch shows without its name.
const NOT_IN_A_WATCH: [&str; 2] = ["relabel:", "disown:"];

fn has(text: &str, steps: &[&str]) -> bool {
    steps.iter().any(|step| text.contains(step))
}

fn number(text: &str) -> i64 {
    text.trim_end_matches("ms").parse().unwrap()
}

/// A run in its lesser forms.
struct Forms {
    log: Vec<Value>,
    /// None where a watch shows what a controller does not do.
    watch: Option<Vec<Value>>,
    /// The constants of the run, which a watch does not tell.
    assume: Vec<Assumption>,
}

/// The run of a seed, by controllers with these departures. None where a log does not tell enough of it, or the API server
/// refuses the Job that is drawn.
fn drawn(seed: u64, mutations: &Mutations) -> Option<Forms> {
    let text = Draft::of(seed, MENU).text("fuzz", "drawn");
    if has(&text, &NOT_IN_A_LOG) {
        return None;
    }
    let outcome = jobcheck_sim::run(&read(&text).unwrap(), seed, mutations).ok()?;
    let lines = outcome.trace.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let lines: Vec<Value> = lines.map(|line| serde_json::from_slice(line).unwrap()).collect();
    let assumed = |name: &str| number(lines[0]["assume"][name].as_str().unwrap());
    let is_logged = |line: &&Value| !line["request"].is_null() || !line["format"].is_null();
    Some(Forms {
        log: lines.iter().filter(is_logged).cloned().collect(),
        watch: (!has(&text, &NOT_IN_A_WATCH)).then(|| watch(&lines)),
        assume: vec![
            Assumption::PodFailureBackoff(assumed("pod-failure-backoff")),
            Assumption::MaxUncountedPods(usize::try_from(assumed("max-uncounted-pods")).unwrap()),
        ],
    })
}

/// What is wrong with a trace.
fn wrong(lines: &[Value], assume: Vec<Assumption>) -> Option<String> {
    let report = judged_assuming(assume, "drawn", lines);
    (report.exit_code == Exit::Violates).then(|| format!("{:?}", told(&report)))
}

#[test]
fn what_is_drawn_conforms_as_a_log_and_as_a_watch() {
    let (mut found, mut logs, mut watches) = (String::new(), 0, 0);
    for seed in 0..SEEDS {
        let Some(Forms { log, watch, assume }) = drawn(seed, &Mutations::default()) else { continue };
        logs += 1;
        if let Some(why) = wrong(&log, Vec::new()) {
            writeln!(found, "log of seed {seed}: {why}").unwrap();
        }
        let Some(watch) = watch else { continue };
        watches += 1;
        if let Some(why) = wrong(&watch, assume) {
            writeln!(found, "watch of seed {seed}: {why}").unwrap();
        }
    }
    assert!(found.is_empty() && logs > 400 && watches > 400, "{logs} logs, {watches} watches: {found}");
}

/// The same runs with known defects of the plan: those that need no fault, and show early, show in both forms.
#[test]
fn known_defects_show_in_a_log_and_in_a_watch() {
    let (mut in_logs, mut in_watches) = (0, 0);
    for mutant in MUTANTS.iter().filter(|mutant| is_of_the_plan(mutant)) {
        let mutations = Mutations::of(mutant.mutations);
        let (mut in_log, mut in_watch) = (false, false);
        for it in (0..60).filter_map(|seed| drawn(seed, &mutations)) {
            in_log = in_log || wrong(&it.log, Vec::new()).is_some();
            in_watch = in_watch || it.watch.is_some_and(|watch| wrong(&watch, it.assume).is_some());
            if in_log && in_watch {
                break;
            }
        }
        in_logs += u32::from(in_log);
        in_watches += u32::from(in_watch);
    }
    assert!(in_logs >= 15 && in_watches >= 15, "{in_logs} in logs, {in_watches} in watches");
}
