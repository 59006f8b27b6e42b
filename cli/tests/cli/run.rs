//! `jobcheck run`.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::schema;
use crate::support::{Folder, Run, binary, finish, jobcheck, root};

pub fn run(arguments: &[&str], scenario: &str) -> Run {
    finish(binary().arg("run").args(arguments).arg("-"), scenario.as_bytes())
}

const HEAD: &str = "\
apiVersion: jobcheck.dev/v1
kind: Scenario
name: x
about: y
jobs:
- name: job
  spec: {completions: 1}
";

fn with(tail: &str) -> String {
    format!("{HEAD}{tail}")
}

#[test]
fn the_library_holds_and_its_reports_fit_their_schema() {
    let library = root().join("tests/scenarios");
    let library = library.to_str().unwrap();
    let run = jobcheck(["run", library, "-o", "json"]);
    assert_eq!(run.code, 0, "{run:?}");
    schema::check(&run.json());
    let yaml = |directory: &Path| {
        let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.extension().is_some_and(|it| it == "yaml")).count()
    };
    let folders = ["", "defects", "findings"].map(|folder| Path::new(library).join(folder));
    let left_out = run.err.matches("is not run on model").count();
    let count = folders.iter().map(|folder| yaml(folder)).sum::<usize>() - left_out;
    assert_eq!(run.json()["scenarios"].as_array().unwrap().len(), count);
    let junit = jobcheck(["run", library, "-o", "junit"]);
    assert_eq!(junit.out.matches("<testcase ").count(), count, "{}", junit.out);
    let yaml: Value = serde_saphyr::from_str(&jobcheck(["run", library, "-oyaml"]).out).unwrap();
    schema::check(&yaml);
    let text = jobcheck(["run", library]);
    assert!(text.out.contains("not run on sim, live, builtin, external"), "{}", text.out);
}

/// The end of a scenario with an error, its place, and its message.
const WRONG: &[(&str, &str, &str)] = &[
    ("steps:\n- suceed: {pod: 1}\n", ":9:3:", "unknown field `suceed`: did you mean `succeed`?"),
    (
        "steps:\n- succeed: {pod: 1}\n  run: {pod: 1}\n",
        ":9:3:",
        "this one has run and succeed: write a step for each",
    ),
    ("steps:\n- when: {active: 1}\n", ":9:3:", "the step has no event"),
    ("steps:\n- succeed: {pod: 1, index: 2}\n", ":9:3:", "either `pod` or `index`"),
    ("steps:\n- succeed: {pod: 0}\n", ":9:3:", "numbered from 1"),
    ("steps:\n- advance: 1500ms\n", ":9:3:", "only whole seconds"),
    ("steps:\n- advance: 11000s\n", ":9:3:", "at most 10000"),
    ("steps:\n- advance: soon\n", ":9:12:", "expected a duration such as 100ms"),
    ("requirements: [FT-999]\n", ":8:16:", "there is no requirement \"FT-999\""),
    ("expect:\n- active: many\n", ":9:11:", "expected a number such as 2"),
    ("expect:\n- active: -1\n", ":9:11:", "a count is not negative"),
    ("expect:\n- conditions: [Completed]\n", ":9:16:", "expected one of Complete, Failed"),
    ("expect:\n- {}\n", ":9:3:", "there is no claim"),
    ("expect:\n- pods: {}\n", ":9:3:", "there is no claim"),
    ("expect:\n- completedIndexes: 3-1\n", ":9:3:", "not a list of indexes"),
    ("steps:\n- pause: {}\n", ":9:3:", "no step follows"),
    (
        "steps:\n- request: {verb: patch, resource: pods, outcome: held}\n- succeed: {pod: 1}\n",
        ":9:3:",
        "write a step `heldRequest` after it",
    ),
    ("steps:\n- heldRequest: {}\n", ":9:3:", "no request is held here"),
    ("steps:\n- succeed: {pod: 1}\n  until: {active: 1}\n", ":9:3:", "`until` is for a `request`"),
    ("steps:\n- succeed: {pod: 1, count: 2}\n", ":9:3:", "write either `count`, or `pod` or `index`"),
    ("steps:\n- succeed: {count: 2}\n", ":9:3:", "a step of the model affects one pod"),
    ("steps:\n- expire: {watch: pods, leader: second}\n", ":9:3:", "remove `leader`"),
    (
        "steps:\n- hold: {watch: pods, leader: second}\n- succeed: {pod: 1}\n",
        ":9:3:",
        "the model does not distinguish two leaders",
    ),
    (
        "steps:\n- request: {verb: patch, resource: pods, outcome: fails}\n  until: {active: 0}\n- succeed: {}\n",
        ":9:3:",
        "the model has no request that fails repeatedly",
    ),
    ("deviations:\n- on: builtin\n", ":9:3:", "or what holds `instead`"),
    ("deviations:\n- {on: builtin, known: S-05, breaks: FT-02}\n", ":9:3:", "a deviation for each"),
    ("deviations:\n- {on: bultin, known: S-05}\n", ":9:8:", "expected one of model, sim, live"),
    (
        "controller: {podFailureBackoff: 10s, podFailureBackoffMax: 5s}\n",
        ": podFailureBackoffMax",
        "is less than",
    ),
    ("expect:\n- job: other\n  active: 1\n", ":9:3:", "there is no Job \"other\": write one of job"),
    ("steps:\n- edit: {suspend: true, parallelism: 2}\n", ":9:3:", "one field at a time"),
    ("steps:\n- edit: {completions: 2}\n", ":9:3:", "immutable"),
    ("steps:\n- edit: {}\n", ":9:3:", "the edit changes nothing"),
    ("steps:\n- deny: {condition: Complete}\n", ":9:3:", "only FailureTarget or Failed"),
    ("steps:\n- request: {verb: create, resource: pods}\n", ":9:3:", "write the `outcome`"),
    ("steps:\n- request: {verb: create, resource: jobs, outcome: fails}\n", ":9:3:", "no controller sends"),
    ("steps:\n- request: {verb: create, resource: pods, pod: 1, outcome: fails}\n", ":9:3:", "no number yet"),
    (
        "steps:\n- request: {verb: update, resource: jobs/status, pod: 1, outcome: fails}\n",
        ":9:3:",
        "concerns no pod",
    ),
    (
        "steps:\n- request: {verb: patch, resource: pods, outcome: fails, code: 404}\n",
        ":9:3:",
        "404 for this request means that its object was removed, which is not true",
    ),
    (
        "steps:\n- request: {verb: get, resource: jobs, outcome: fails, code: 422}\n",
        ":9:3:",
        "no API server answers `get` with 409 or 422",
    ),
    (
        "steps:\n- request: {verb: create, resource: pods, outcome: fails, code: 410}\n",
        ":9:",
        "write 403, 404, 409",
    ),
    (
        "steps:\n- request: {verb: create, resource: pods, outcome: handled, code: 409}\n",
        ":9:3:",
        "`outcome: fails`",
    ),
    (
        "steps:\n- crash: {controller: ttl, during: {verb: get, resource: jobs}}\n",
        ":9:3:",
        "delayed requests of the TTL controller",
    ),
    ("steps:\n- await: {job: job, active: 1}\n", ":9:3:", "at the step itself"),
    ("controller: {maxUncountedPods: 0}\n", ": maxUncountedPods", "1 or more"),
    ("controller: {featureGates: {JobFoo: true}}\n", ":8:29:", "expected one of JobManagedBy"),
    ("name: again\n", ":8:1:", "duplicate mapping key: name"),
    ("steps: [\n", ":8:", "bracket"),
];

#[test]
fn an_error_in_a_scenario_has_its_place_and_the_correction() {
    for (tail, place, message) in WRONG {
        let run = run(&[], &with(tail));
        assert_eq!(run.code, 2, "{tail}: {run:?}");
        assert!(run.err.contains(&format!("-{place}")), "{tail}: {place:?} is not in {}", run.err);
        assert!(run.err.contains(message), "{tail}: {message:?} is not in {}", run.err);
    }
    let refused = run(&[], &HEAD.replace("completions: 1", "completions: 1, maxFailedIndexes: 2"));
    assert!(refused.code == 2 && refused.err.contains("-:7:9: the API server refuses this Job (BI-12)"));
    let old = run(&[], &HEAD.replace("dev/v1", "dev/v2"));
    assert!(old.code == 2 && old.err.contains("expected one of jobcheck.dev/v1"), "{old:?}");
    let nameless = run(&[], &HEAD.replace("name: x", "name: X Y"));
    assert!(nameless.code == 2 && nameless.err.contains("lower case"), "{nameless:?}");
}

#[test]
fn readable_scenarios_are_run_beside_unreadable_ones() {
    let folder = Folder::new();
    let good =
        folder.write_lines("good.yaml", &[with("steps:\n- succeed: {pod: 1}\nexpect:\n- finished: true\n")]);
    let bad = folder.write_lines("bad.yaml", &[with("stepps: []\n")]);
    let run = jobcheck([Path::new("run"), &good, &bad, Path::new("nowhere.yaml"), Path::new("-ojson")]);
    assert_eq!(run.code, 2, "{run:?}");
    schema::check(&run.json());
    assert_eq!(run.json()["scenarios"][0]["result"], "holds");
    assert_eq!(run.json()["errors"][0]["line"], 8);
    assert_eq!(run.json()["errors"].as_array().unwrap().len(), 2);
}

#[test]
fn the_scenarios_of_the_library_are_listed() {
    let all = jobcheck(["run", "--list"]);
    assert_eq!(all.code, 0, "{all:?}");
    assert!(all.out.lines().any(|line| line.starts_with("backoff-limit  ")), "{}", all.out);
    assert!(all.out.contains("defects/b18 ") && all.out.contains("findings/j-03 "), "{}", all.out);
    let unknown = jobcheck(["run", "backof-limit"]);
    assert!(unknown.code == 2 && unknown.err.contains("jobcheck run --list"), "{unknown:?}");
}

#[test]
fn a_step_that_is_never_possible_is_reported_and_not_skipped() {
    let stuck = run(&[], &with("steps:\n- succeed: {pod: 2}\n"));
    assert_eq!(stuck.code, 1, "{stuck:?}");
    assert!(
        stuck.out.contains("step 1 (line 9) waits forever: no such pod is in a suitable state"),
        "{}",
        stuck.out
    );
    let optional = run(&[], &with("steps:\n- succeed: {pod: 2}\n  optional: true\n"));
    assert_eq!(optional.code, 0, "{optional:?}");
    let waits = run(&[], &with("steps:\n- await: {active: 7}\n"));
    assert!(waits.out.contains("step 1 (line 9) waits forever: active is 1, not 7"), "{}", waits.out);
}

#[test]
fn a_bound_that_is_reached_is_no_pass() {
    let mut steps = String::from("controller: {podFailureBackoff: 0s}\nsteps:\n");
    for pod in 1..=10 {
        steps.push_str(&format!("- fail: {{pod: {pod}}}\n"));
    }
    let many = HEAD.replace("completions: 1", "completions: 1, backoffLimit: 20");
    let cut = run(&[], &format!("{many}{steps}"));
    assert_eq!(cut.code, 3, "{cut:?}");
    assert!(cut.out.contains("the default bound on pods"), "{}", cut.out);
    let own = run(&[], &format!("{many}bounds: {{pods: 10}}\n{steps}"));
    assert!(own.code == 0 && own.out.contains("bound on pods reached"), "{own:?}");
    let few = run(&["--max-states", "5"], &format!("{many}bounds: {{pods: 10}}\n{steps}"));
    assert_eq!(few.code, 3, "{few:?}");
}

#[test]
fn a_missing_argument_of_a_target_is_reported_before_anything_is_run() {
    for (args, part) in [
        (&["--target", "external"][..], "needs --managed-by"),
        (&["--target", "external", "--managed-by", "example.com/x"], "needs --cluster"),
        (&["--target", "builtin", "--mutant", "B18"], "builtin runs the controllers as they are"),
        (&["--target", "sim,sim"], "given twice"),
        (&["--target", "lived"], "write one of model, sim, live, builtin, external"),
        (&["--cluster", "x"], "give --target"),
        (&["--kubernetes", "1.35"], "the target model is 1.36"),
        (&["--target", "live", "--cluster", "x", "--kubernetes", "1.35"], "clusters that the run starts"),
        (
            &["--target", "builtin", "--kubernetes", "1.34"],
            "expected one of 1.36 (1.36.3), 1.35 (1.35.4), 1.37 (1.37.2)",
        ),
        (&["--target", "live", "--cluster", "x", "--kubeconfig", "y"], "cannot be used with"),
    ] {
        let run = run(args, HEAD);
        assert!(run.code == 2 && run.err.contains(part), "{args:?}: {run:?}");
    }
}

#[test]
fn a_missing_cluster_is_reported_with_the_command_that_starts_it() {
    let home = Folder::new();
    let folder = home.path("");
    let on = |args: &[&str]| {
        let mut command = binary();
        command.env("JOBCHECK_HOME", &folder).args(["run", "--target", "live"]).args(args).arg("-");
        finish(&mut command, HEAD.as_bytes())
    };
    let named = on(&["--cluster", "nowhere", "-ojson"]);
    assert_eq!(named.code, 4, "{named:?}");
    schema::check(&named.json());
    let scenario = &named.json()["scenarios"][0];
    assert_eq!(scenario["result"], "failed");
    assert!(scenario["why"].as_str().unwrap().contains("jobcheck cluster up --name nowhere"), "{scenario}");
    let file = on(&["--kubeconfig", "/nowhere/kubeconfig"]);
    assert!(file.code == 4 && file.out.contains("no cluster: "), "{file:?}");
}

#[test]
fn targets_are_compared_scenario_by_scenario() {
    let file = root().join("tests/scenarios/suspend-resume.yaml");
    let file = file.to_str().unwrap();
    let run = jobcheck(["run", "--target", "model,sim", "--runs", "1", "-ojson", file]);
    assert_eq!(run.code, 0, "{run:?}");
    schema::check(&run.json());
    let compared = &run.json()["comparisons"][0];
    assert_eq!(
        compared["verdicts"][1],
        serde_json::json!({"target": "sim", "verdict": "holds"}),
        "{compared}"
    );
    let text = jobcheck(["run", "--target", "model", "--target", "sim", "--runs", "1", file]).out;
    assert!(text.contains("1 scenario on sim: 1 hold; not run on live, builtin, external"), "{text}");
    let junit = jobcheck(["run", "--target", "model,sim", "--runs", "1", "-ojunit", file]).out;
    assert_eq!(junit.matches("<testsuite ").count(), 2, "{junit}");
}

#[test]
fn on_sim_the_shipped_controllers_run_with_one_seed_after_the_other() {
    let file = root().join("tests/scenarios/suspend-resume.yaml");
    let file = file.to_str().unwrap();
    let args = ["run", "--target", "sim", "--runs", "3", "-ojson", file];
    let run = jobcheck(args);
    assert_eq!(run.code, 0, "{run:?}");
    schema::check(&run.json());
    let scenario = &run.json()["scenarios"][0];
    assert_eq!((&scenario["runs"], &scenario["result"]), (&3.into(), &"holds".into()), "{scenario}");
    assert!(scenario["requests"].as_u64().unwrap() > 30, "{scenario}");
    assert_eq!(scenario.get("states"), None);
    let text = jobcheck(["run", "--target", "sim", "--runs", "2", file]);
    assert!(text.out.contains("1 scenario on sim: 1 hold; not run on model"), "{}", text.out);
    let mutant = jobcheck(["run", "--target", "sim", "--mutant", "B39", "--runs", "2", file]);
    assert!(mutant.code == 0 || mutant.code == 1, "{mutant:?}");
    let last = jobcheck(["run", "--target", "sim", "--runs", "2", "--seed", "18446744073709551615", file]);
    assert_eq!(last.code, 0, "{last:?}");
    let other = jobcheck(["run", "--target", "sim", "--mutant", "B49", file]);
    assert!(other.code == 2 && other.err.contains("not in the plan"), "{other:?}");
}

/// A failure is reported with its seed, and its trace is written.
#[test]
fn the_trace_of_a_failure_on_sim_is_written() {
    let folder = Folder::new();
    let unmet = folder.write("unmet.yaml", format!("{HEAD}expect: [{{active: 7}}]"));
    let (unmet, kept) = (unmet.to_str().unwrap(), folder.path("kept"));
    let args = ["run", "--target", "sim", "--seed", "4", "--save", kept.to_str().unwrap(), unmet];
    let run = jobcheck(args);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.out.contains("--runs 1 --seed 4"), "{}", run.out);
    let trace = fs::read_dir(&kept).unwrap().next().unwrap().unwrap().path();
    assert_eq!(jobcheck(["replay", trace.to_str().unwrap()]).code, 0);
}

#[test]
fn a_run_on_sim_is_of_the_version_that_is_asked_for() {
    let folder = Folder::new();
    let unmet = folder.write("unmet.yaml", format!("{HEAD}expect: [{{active: 7}}]"));
    let (unmet, kept) = (unmet.to_str().unwrap(), folder.path("kept"));
    let args = ["run", "--target", "sim", "--kubernetes", "v1.35", "--save", kept.to_str().unwrap(), unmet];
    let run = jobcheck(args);
    assert!(run.out.contains("1 scenario on sim of 1.35: 0 hold, 1 broken"), "{}", run.out);
    assert!(run.out.contains("--target sim --kubernetes 1.35.4 --runs 1"), "{}", run.out);
    let trace = fs::read_dir(&kept).unwrap().next().unwrap().unwrap().path();
    let header: Value =
        serde_json::from_str(fs::read_to_string(trace).unwrap().lines().next().unwrap()).unwrap();
    assert_eq!(header["kubernetes"], "1.35");
    let report = jobcheck(["run", "--target", "sim", "--kubernetes", "1.35", "-ojson", unmet]).json();
    schema::check(&report);
    assert_eq!(report["scenarios"][0]["kubernetes"], "1.35");
}

#[test]
fn the_counterexample_of_a_defect_is_a_scenario() {
    let folder = Folder::new();
    let file = folder.write_lines("b18.yaml", &[String::new()]);
    let file = file.to_str().unwrap();
    let written = jobcheck(["mutants", "B18", "--scenario", file]);
    assert!(written.code == 0 && written.err.contains("run --mutant B18: breaks TC-04"), "{written:?}");
    let broken = jobcheck(["run", "--mutant", "b18", "-ojson", file]);
    assert_eq!(broken.code, 1, "{broken:?}");
    schema::check(&broken.json());
    assert_eq!(broken.json()["scenarios"][0]["requirement"], "TC-04");
    let scenario: Value = serde_saphyr::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    schema::check(&scenario);
    assert_eq!(jobcheck(["run", file]).code, 0);
    let traces = folder.path("traces");
    let saved = jobcheck(["run", "--mutant", "B18", "--save", traces.to_str().unwrap(), file]);
    assert!(saved.code == 1 && saved.err.contains("replay: violates "), "{saved:?}");
    assert!(traces.join("b18.jsonl").exists());
    assert_eq!(jobcheck(["mutants", "B18", "B01", "--scenario", file]).code, 2);
    assert_eq!(jobcheck(["run", "--mutant", "B99", file]).code, 2);
}

#[test]
fn the_counterexample_of_a_scope_is_a_scenario() {
    let folder = Folder::new();
    let file = folder.write_lines("leaders.yaml", &[String::new()]);
    let file = file.to_str().unwrap();
    let written = jobcheck(["check", "two-leaders/backoff-limit", "--scenario", file]);
    assert!(written.code == 1 && written.err.contains("run: breaks "), "{written:?}");
    assert!(fs::read_to_string(file).unwrap().contains("secondLeader"));
    assert_eq!(jobcheck(["run", file]).code, 1);
    let none = jobcheck(["check", "non-indexed", "--without", "FT-03", "--scenario", file]);
    assert!(none.err.contains("one of the specification itself"), "{none:?}");
}

#[test]
fn the_example_of_the_documentation_holds() {
    let text = fs::read_to_string(root().join("docs/reference/scenario-format.md")).unwrap();
    let example = text.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let run = run(&[], example);
    assert_eq!(run.code, 0, "{run:?}");
}

/// The API server accepts edits of a finished Job. Its controller acts on none but the TTL.
#[test]
fn edits_of_a_finished_job_change_nothing_but_its_ttl() {
    let scenario = "\
apiVersion: jobcheck.dev/v1
kind: Scenario
name: edited-after-the-end
about: A Complete Job is suspended, scaled, and given limits that it would have broken.
jobs:
- name: job
  spec: {completions: 1, parallelism: 1}
steps:
- succeed: {pod: 1}
- settle: {conditions: [Complete], succeeded: 1}
- edit: {parallelism: 3}
- edit: {suspend: true}
- edit: {activeDeadlineSeconds: 1}
- edit: {backoffLimit: 0}
- advance: 1s
- settle: {conditions: [Complete], noConditions: [Suspended, Failed], active: 0, succeeded: 1, pods: {created: 1}}
- edit: {suspend: false}
- settle: {conditions: [Complete], noConditions: [Suspended, Failed], active: 0, pods: {created: 1}}
- edit: {ttlSecondsAfterFinished: 2}
- settle: {exists: true, deleting: false}
- advance: 1s
expect:
- requirement: TT-14
  exists: false
";
    let folder = Folder::new();
    let write = |name: &str, text: &str| {
        let file = folder.path(name);
        std::fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let file = write("edited.yaml", scenario);
    for target in ["model", "sim"] {
        let run = jobcheck(["run", "--target", target, &file]);
        assert!(run.code == 0 && run.out.contains("1 hold"), "{target}: {run:?}");
    }
    // An edit that the API server refuses stays impossible.
    let refused = scenario.replace("{parallelism: 3}", "{parallelism: -1}");
    let run = jobcheck(["run", &write("refused.yaml", &refused)]);
    assert!(run.code == 1 && run.out.contains("the API server would refuse the request"), "{run:?}");
    let kept = scenario.replace("- edit: {ttlSecondsAfterFinished: 2}\n", "");
    let run = jobcheck(["run", &write("kept.yaml", &kept)]);
    assert!(run.code == 1 && run.out.contains("TT-14"), "{run:?}");
}

/// Two files can have scenarios of the same name.
#[test]
fn counterexamples_of_the_same_name_are_all_written() {
    let folder = Folder::new();
    let wrong = with("steps:\n- succeed: {pod: 1}\nexpect:\n- conditions: [Failed]\n");
    let files = ["a.yaml", "b.yaml"].map(|name| folder.write(name, &wrong));
    let saved = folder.path("saved");
    let arguments = ["run".as_ref(), "--save".as_ref(), saved.as_os_str()];
    let run = jobcheck(arguments.into_iter().chain(files.iter().map(|file| file.as_os_str())));
    assert_eq!(run.code, 1, "{run:?}");
    assert_eq!(std::fs::read_dir(&saved).unwrap().count(), 2, "{run:?}");
}

#[test]
fn hours_can_pass_in_one_step_on_sim() {
    let text = with(
        "steps:\n- run: {pod: 1}\n- advance: 6h\n- succeed: {pod: 1}\n- settle: {conditions: [Complete]}\n",
    );
    let held = run(&["--target", "sim", "--runs", "3"], &text);
    assert_eq!(held.code, 0, "{held:?}");
}

/// The library is part of the binary: a name needs no checkout. A file of the same name takes precedence.
#[test]
fn a_scenario_of_the_library_is_run_by_its_name() {
    let folder = Folder::new();
    let in_folder =
        |arguments: &[&str]| finish(binary().current_dir(folder.path("")).arg("run").args(arguments), b"");
    let named = in_folder(&["backoff-limit", "b18", "-ojson"]);
    assert_eq!(named.code, 0, "{named:?}");
    let report = named.json();
    let files: Vec<_> = report["scenarios"].as_array().unwrap().iter().map(|it| &it["file"]).collect();
    assert_eq!(files, ["backoff-limit", "defects/b18"]);
    let unknown = in_folder(&["backof-limit"]);
    assert!(unknown.code == 2 && unknown.err.contains("similar: backoff-limit"), "{unknown:?}");
    folder.write("backoff-limit", "no: scenario\n");
    let file = in_folder(&["backoff-limit"]);
    assert!(file.code == 2 && file.err.contains("backoff-limit:1:1: unknown field"), "{file:?}");
}

#[test]
fn a_job_of_millions_of_pods_is_refused_on_sim() {
    let large = |tail: &str| HEAD.replace("{completions: 1}", tail);
    for spec in ["{parallelism: 100000}", "{completions: 2147483647}"] {
        let refused = run(&["--target=sim"], &large(spec));
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(
            refused.err.contains("-:7:") && refused.err.contains("at most 2000 completions"),
            "{refused:?}"
        );
    }
    let edited = run(&["--target=sim"], &with("steps:\n- edit: {parallelism: 100000}\n"));
    assert!(edited.code == 2 && edited.err.contains("-:9:3: too large to be run"), "{edited:?}");
}

#[test]
fn time_and_memory_on_sim_have_a_limit() {
    let late = run(&["--target=sim", "--budget=0ms"], HEAD);
    assert_eq!(late.code, 3, "{late:?}");
    assert!(late.out.contains("the time of --budget (0s) ended after 0 runs"), "{late:?}");
    let full = run(&["--target=sim", "--max-memory=1MB"], HEAD);
    assert!(full.code == 3 && full.out.contains("the limit of 1 MB of --max-memory was reached"), "{full:?}");
    assert_eq!(run(&["--target=sim", "--budget=10m", "--max-memory=64GB"], HEAD).code, 0);
}

#[test]
fn a_long_name_is_refused_before_it_is_the_name_of_a_file() {
    let named = |length: usize| run(&[], &HEAD.replace("name: x", &format!("name: {}", "x".repeat(length))));
    assert_eq!(named(63).code, 0);
    let long = named(64);
    assert_eq!(long.code, 2, "{long:?}");
    assert!(long.err.contains("the scenario has a name of 64 characters: write at most 63"), "{long:?}");
}
