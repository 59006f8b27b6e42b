//! `jobcheck fuzz`.

use crate::schema;
use crate::support::{Folder, jobcheck};

#[test]
fn random_scenarios_hold_and_a_seed_repeats_them() {
    let runs =
        |threads: &str| jobcheck(["fuzz", "--seed", "0", "--runs", "40", "--threads", threads, "-ojson"]);
    let run = runs("1");
    assert_eq!(run.code, 0, "{run:?}");
    schema::check(&run.json());
    let sums = |json: serde_json::Value| (json["runs"].clone(), json["requests"].clone());
    assert_eq!(sums(run.json()), sums(runs("2").json()));
    assert!(run.json()["requests"].as_u64().unwrap() > 400, "{}", run.out);
    let none = jobcheck(["fuzz", "--runs", "0"]);
    assert!(none.code == 3 && none.out.contains("0 runs"), "{none:?}");
}

#[test]
fn without_faults_the_report_says_so() {
    let run = jobcheck(["fuzz", "--faults", "none", "--seed", "0", "--runs", "20", "-ojson"]);
    assert_eq!(run.code, 0, "{run:?}");
    let report = run.json();
    schema::check(&report);
    assert!(report["faults"] == false && report["target"] == "sim", "{report}");
}

/// An older version has another API server and other rules. A failure is reported with the version.
#[test]
fn random_scenarios_hold_on_an_older_version() {
    let on =
        |more: &[&str]| jobcheck([&["fuzz", "--kubernetes", "1.35", "--seed", "0", "-ojson"], more].concat());
    let run = on(&["--runs", "20"]);
    assert_eq!(run.code, 0, "{run:?}");
    schema::check(&run.json());
    assert_eq!(run.json()["kubernetes"], "1.35");
    let wrong = on(&["--runs", "60", "--threads", "1", "--mutant", "B12"]);
    let scenario = wrong.json()["found"][0]["scenario"].as_str().unwrap_or_default().to_owned();
    assert!(wrong.code == 1 && scenario.contains(", --kubernetes 1.35 and --mutant B12"), "{wrong:?}");
}

#[test]
fn arguments_that_exclude_each_other_are_rejected() {
    let rejected = |arguments: &[&str], part: &str| {
        let run = jobcheck([&["fuzz"], arguments].concat());
        assert!(run.code == 2 && run.err.contains(part), "{run:?}");
    };
    rejected(&["--target", "model"], "write one of sim, live, builtin");
    rejected(&["--target", "live", "--mutant", "B12"], "live runs the controllers as they are");
    rejected(&["--target", "builtin", "--threads", "2"], "use --parallel");
    rejected(&["--target", "live", "--disturb", "etcd", "--disturb-every", "3s"], "give 15s or more");
    rejected(&["--disturb", "etcd"], "sim has nothing to restart");
    rejected(&["--target", "live", "--generated"], "cannot be used with");
    rejected(&["--kubernetes", "1.35", "--generated"], "cannot be used with");
    rejected(&["--kubernetes", "1.20"], "expected one of 1.36");
    let run = jobcheck(["fuzz", "--target", "live", "--save", "/dev/full/kept"]);
    assert!(run.code == 4 && run.err.contains("is not a directory"), "{run:?}");
}

/// A failure is reported with the shortest scenario that breaks the same requirement, here because of a known defect.
#[test]
fn a_failure_is_a_scenario() {
    let folder = Folder::new();
    let kept = folder.path("kept");
    let find = ["fuzz", "--mutant", "B12", "--seed", "0", "--runs", "1", "-ojson", "--save"];
    let run = jobcheck([&find[..], &[kept.to_str().unwrap()]].concat());
    assert_eq!(run.code, 1, "{run:?}");
    schema::check(&run.json());
    let found = &run.json()["found"][0];
    let (requirement, seed) = (found["requirement"].as_str().unwrap(), found["shortestSeed"].to_string());
    let scenario = kept.join("fuzz-0.yaml");
    let again = jobcheck([
        "run",
        "--target",
        "sim",
        "--mutant",
        "B12",
        "--runs",
        "1",
        "--seed",
        &seed,
        "-ojson",
        scenario.to_str().unwrap(),
    ]);
    assert_eq!(again.code, 1, "{again:?}");
    assert_eq!(again.json()["scenarios"][0]["requirement"], requirement);
    assert!(kept.join("fuzz-0.jsonl").is_file());
    let other = jobcheck(["fuzz", "--mutant", "B49", "--runs", "1"]);
    assert!(other.code == 2 && other.err.contains("not in the plan"), "{other:?}");
}

/// Paths through the scopes of the model: their number, the kinds of steps that none took, and a difference due to a defect.
#[test]
fn replayed_paths_are_reported_with_their_steps_and_differences() {
    let generated = |more: &[&str]| {
        let all = ["fuzz", "--seed", "1", "-ojson", "--generated", "stale-caches/suspend"];
        jobcheck([&all[..], more].concat())
    };
    let part = generated(&["--steps", "300"]);
    assert_eq!(part.code, 0, "{part:?}");
    schema::check(&part.json());
    assert!(
        part.json()["scopes"][0]["graph"].is_null() && part.json()["steps"].as_u64().unwrap() <= 300,
        "{}",
        part.out
    );
    let listed = |name: &str| part.json()["notTaken"].as_array().unwrap().contains(&name.into());
    assert!(listed("TTL sync deleted the Job") && !listed("status written"), "{}", part.out);
    let defect = generated(&["--steps", "3000", "--mutant", "B12"]);
    assert_eq!(defect.code, 1, "{defect:?}");
    schema::check(&defect.json());
    let difference = &defect.json()["scopes"][0]["difference"];
    assert!(!difference["path"].as_array().unwrap().is_empty(), "{difference}");
    let unknown = jobcheck(["fuzz", "--generated", "suspended"]);
    assert!(unknown.code == 2 && unknown.err.contains("no scope"), "{unknown:?}");
    let none = jobcheck(["fuzz", "--generated", "crash/non-indexed", "--budget", "0s"]);
    assert!(none.code == 3 && none.out.contains("not begun"), "{none:?}");
}

#[test]
fn memory_has_a_limit() {
    let run = jobcheck(["fuzz", "--runs", "100", "--max-memory", "1MB"]);
    assert!(run.code == 3 && run.out.contains("the limit of 1 MB of memory was reached"), "{run:?}");
    let run = jobcheck(["fuzz", "--generated", "--steps", "100", "--max-memory", "1MB"]);
    assert!(run.code == 3 && run.out.contains("the limit of 1 MB of memory was reached"), "{run:?}");
    let run = jobcheck(["fuzz", "--runs", "1", "--redact"]);
    assert!(run.code == 2 && run.err.contains("--save"), "{run:?}");
}

/// Runs are deterministic, so that the requests of the parts add up to those of the whole.
#[test]
fn the_shards_of_a_search_run_each_seed_once() {
    let numbers = |more: &[&str]| {
        let all = ["fuzz", "--seed", "7", "--runs", "5", "-ojson"];
        let report = jobcheck([&all[..], more].concat()).json();
        [report["runs"].as_u64().unwrap(), report["requests"].as_u64().unwrap()]
    };
    let (whole, parts) = (numbers(&[]), ["0/2", "1/2"].map(|shard| numbers(&["--shard", shard])));
    assert_eq!([parts[0][0], parts[1][0]], [3, 2]);
    assert_eq!(whole, [parts[0][0] + parts[1][0], parts[0][1] + parts[1][1]]);
    let scopes = |more: &[&str]| {
        let all = ["fuzz", "--seed", "7", "--steps", "20", "-ojson", "--generated"];
        let report = jobcheck([&all[..], more].concat()).json();
        let scopes = report["scopes"].as_array().unwrap().clone();
        scopes.iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let (mut whole, mut parts) =
        (scopes(&[]), ["0/2", "1/2"].map(|shard| scopes(&["--shard", shard])).concat());
    whole.sort_unstable();
    parts.sort_unstable();
    assert!(whole.len() > 2 && whole == parts, "{whole:?} {parts:?}");
    let unseeded = jobcheck(["fuzz", "--shard", "0/2"]);
    assert!(unseeded.code == 2 && unseeded.err.contains("--seed"), "{unseeded:?}");
}
