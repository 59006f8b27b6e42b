//! Runs of `jobcheck fuzz` in forms with less information. A conforming run still conforms or becomes inconclusive.
//!
//! An audit log does not show the reads of the controllers. A watch does not show the actors of writes either.

use std::fmt::Write as _;

use jobcheck_adapter::mutations::is_of_the_plan;
use jobcheck_explorer::mutants::MUTANTS;
use jobcheck_explorer::mutations::Mutations;
use jobcheck_judge::replay::{Assumption, Judging};
use jobcheck_judge::report::Exit;
use jobcheck_scenario::read;
use jobcheck_sim::fuzz::{Draft, Menu};
use jobcheck_tests::traces::{described, parsed, replayed, watch_of};
use serde_json::Value;

/// Without faults of the controllers: only a whole native trace shows lost responses and restarts.
const MENU: Menu = Menu { faults: false, real_time: false };

const SEEDS: u64 = 1000;

/// Steps that only a native trace shows. With `deny`, a user writes the status first, so the judge treats it as the
/// manager.
const NOT_IN_A_LOG: [&str; 3] = ["rollout:", "expire:", "deny:"];
/// Steps of users that a watch attributes to the controller.
const NOT_IN_A_WATCH: [&str; 2] = ["relabel:", "disown:"];

fn has(text: &str, steps: &[&str]) -> bool {
    steps.iter().any(|step| text.contains(step))
}

fn number(text: &str) -> i64 {
    text.trim_end_matches("ms").parse().unwrap()
}

/// A run in the reduced forms.
struct Forms {
    log: Vec<Value>,
    /// `None` if a watch attributes a step of the run to the controller.
    watch: Option<Vec<Value>>,
    /// The constants of the run, which a watch does not show.
    assume: Vec<Assumption>,
}

/// Returns the run of a seed, by controllers with these mutations. Returns `None` if an audit log does not show a step
/// of the run, or if the API server refuses the drawn Job.
fn drawn(seed: u64, mutations: &Mutations) -> Option<Forms> {
    let text = Draft::of(seed, MENU).text("fuzz", "drawn");
    if has(&text, &NOT_IN_A_LOG) {
        return None;
    }
    let outcome = jobcheck_sim::run(&read(&text).unwrap(), seed, mutations).ok()?;
    let lines = parsed(&String::from_utf8(outcome.trace).unwrap());
    let assumed = |name: &str| number(lines[0]["assume"][name].as_str().unwrap());
    let is_logged = |line: &&Value| !line["request"].is_null() || !line["format"].is_null();
    Some(Forms {
        log: lines.iter().filter(is_logged).cloned().collect(),
        watch: (!has(&text, &NOT_IN_A_WATCH)).then(|| watch_of(&lines)),
        assume: vec![
            Assumption::PodFailureBackoff(assumed("pod-failure-backoff")),
            Assumption::MaxUncountedPods(usize::try_from(assumed("max-uncounted-pods")).unwrap()),
        ],
    })
}

/// Returns the violations of a trace, or `None` if there are none.
fn wrong(lines: &[Value], assume: Vec<Assumption>) -> Option<String> {
    let report = replayed(lines, &Judging { assume, ..Judging::default() });
    (report.exit_code == Exit::Violates).then(|| format!("{:?}", described(&report)))
}

#[test]
fn drawn_runs_conform_as_a_log_and_as_a_watch() {
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
    assert_eq!((found, logs, watches), (String::new(), 707, 532));
}

/// Runs the same scenarios with known defects of the plan. Both forms show those that need few steps and no fault.
#[test]
fn known_defects_are_found_in_a_log_and_in_a_watch() {
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
    assert_eq!((in_logs, in_watches), (20, 17));
}
