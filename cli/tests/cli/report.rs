//! `jobcheck report`: reports of conformance runs.

use std::fs;
use std::path::{Path, PathBuf};

use jobcheck_report::types::{
    Cluster, ConformanceReport, Implementation, JudgingOptions, Outcome, Profile, Run, Scenario, Shards,
    Stage,
};
use jobcheck_report::{Folder, forms, judge};
use serde_json::Value;

use crate::schema;
use crate::support::{self, recording};

const CONFORMS: &str = "completions-zero.audit";

/// A trace that violates, from the corpus of defects.
pub(crate) fn violating() -> PathBuf {
    recording(CONFORMS).parent().unwrap().join("../known/s05-readopted.audit.jsonl")
}

/// The text of a scenario of the profile executor.
fn text_of(id: &str) -> String {
    let name = id.strip_prefix("executor/").unwrap();
    let file = format!("{}/../tests/scenarios/{name}.yaml", env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// The requirements that a scenario of the profile executor is about.
fn requirements_of(id: &str) -> Vec<String> {
    let scenario: Value = serde_saphyr::from_str(&text_of(id)).unwrap();
    serde_json::from_value(scenario["requirements"].clone()).unwrap()
}

/// A report in the folder with a scenario for each trace, as a suite writes it if these are chosen. Scenarios of other
/// shards are skipped.
pub(crate) fn written(root: &Path, traces: &[(&str, &Path)], shard: Option<(u32, u32)>) -> ConformanceReport {
    let folder = Folder::create(root).unwrap();
    let judging = JudgingOptions { rule_set: "1.36".to_owned(), ..JudgingOptions::default() };
    let scenarios = traces.iter().zip(0..).map(|((id, trace), at)| {
        let mut scenario = Scenario::not_run(*id, Stage::Core, &text_of(id), "in another shard");
        scenario.requirements = requirements_of(id);
        scenario.shard = shard.map(|(_, of)| at % of);
        if shard.is_some_and(|(own, of)| at % of != own) {
            return scenario;
        }
        let file = format!("traces/{}.jsonl", id.replace('/', "-"));
        fs::copy(trace, folder.path(&file)).unwrap();
        scenario.traces = vec![folder.seal(&file, "manager").unwrap()];
        let judged = judge::judged(&folder, &scenario.traces, &judging).unwrap();
        (scenario.outcome, scenario.reason, scenario.evidence) =
            (judged.outcome, judged.reason, judged.evidence);
        scenario
    });
    let scenarios = scenarios.collect();
    let run = Run {
        implementation: Implementation {
            project: "runner".to_owned(),
            version: "v1".to_owned(),
            ..Implementation::default()
        },
        profile: Profile { name: "executor".to_owned(), version: "v1alpha1".to_owned() },
        clusters: vec![Cluster { name: "manager".to_owned(), kubernetes: "v1.36.3".to_owned() }],
        judging: judging.clone(),
        selection: traces.iter().map(|(id, _)| (*id).to_owned()).collect(),
        shards: shard.map(|(own, of)| Shards { of, run: vec![own] }),
        // The traces are of several days.
        start_time: "2000-01-01T00:00:00Z".to_owned(),
        end_time: "2100-01-01T00:00:00Z".to_owned(),
        ..Run::default()
    };
    let report = ConformanceReport::new(run, scenarios);
    folder.write(&report).unwrap();
    fs::write(folder.path("e2e.log"), format!("log of {}\n", root.file_name().unwrap().display())).unwrap();
    report
}

pub(crate) fn report(words: &[&str], files: &[&Path]) -> support::Run {
    let words = words.iter().map(std::ffi::OsString::from);
    let files = files.iter().map(std::ffi::OsString::from);
    support::jobcheck(["report".into()].into_iter().chain(words).chain(files))
}

fn good_and_bad(root: &Path) -> ConformanceReport {
    written(root, &[("executor/indexed", &recording(CONFORMS)), ("executor/adoption", &violating())], None)
}

#[test]
fn show_prints_what_did_not_pass_in_every_form() {
    let root = tempfile::tempdir().unwrap();
    let written = good_and_bad(root.path());
    let text = report(&["show"], &[root.path()]);
    assert_eq!(text.code, 1, "{text:?}");
    assert!(text.out.starts_with("failure      runner v1\n"), "{}", text.out);
    assert!(text.out.contains("core         failure, 1 pass, 1 fail"), "{}", text.out);
    assert!(
        text.out.contains("fail         executor/adoption") && !text.out.contains("pass         executor/"),
        "{}",
        text.out
    );
    assert!(text.out.contains("traces/executor-adoption.jsonl:"), "{}", text.out);
    assert!(report(&["show", "-v"], &[root.path()]).out.contains("pass         executor/indexed"));

    let json = report(&["show", "-o", "json"], &[root.path()]).json();
    schema::check(&json);
    assert_eq!(json, serde_json::to_value(&written).unwrap());
    let yaml: Value =
        serde_saphyr::from_str(&report(&["show", "-o", "yaml"], &[&root.path().join("results.json")]).out)
            .unwrap();
    assert_eq!(yaml, json);
    assert!(report(&["show", "-o", "junit"], &[root.path()]).out.contains("failures=\"1\""));
    let github = report(&["show", "-o", "markdown", "--github"], &[root.path()]);
    assert!(github.out.starts_with("## failure: runner v1\n"), "{}", github.out);
    assert!(github.err.contains("::error title=executor/adoption fail::"), "{}", github.err);
}

#[test]
fn a_report_of_an_old_kubernetes_is_stale() {
    let root = tempfile::tempdir().unwrap();
    let mut report = good_and_bad(root.path());
    for (version, is_stale) in [("v1.37.0", false), ("v1.36.3", false), ("v1.35.9", true), ("unknown", false)]
    {
        report.run.clusters[0].kubernetes = version.to_owned();
        fs::write(root.path().join("report.yaml"), forms::yaml(&report).unwrap()).unwrap();
        let run = self::report(&["show"], &[root.path()]);
        assert_eq!(run.err.contains("the report is stale: manager ran Kubernetes"), is_stale, "{}", run.err);
    }
}

#[test]
fn verify_confirms_what_was_recorded_and_nothing_else() {
    let root = tempfile::tempdir().unwrap();
    let mut written = good_and_bad(root.path());
    let run = report(&["verify"], &[root.path()]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(
        run.out,
        "2 scenarios: 2 confirmed, 0 not confirmed, 0 undecided, 0 not run\nnot compared e2e.log\nThe report was written by jobcheck , and judged again by 0.1.0.\n"
    );
    let run = report(&["verify", "-v"], &[root.path()]);
    assert!(
        run.out.contains(" of the profile are not in the report: ") && run.out.contains("\njudged with  "),
        "{run:?}"
    );
    let json = report(&["verify", "-o", "json"], &[root.path()]).json();
    schema::check(&json);
    assert_eq!(json["scenarios"][1]["state"], "confirmed");

    let mut invented = ConformanceReport::new(written.run.clone(), written.scenarios.clone());
    invented.scenarios[0].id = "executor/invented".to_owned();
    invented.run.judging.assume = vec!["pod-failure-backoff=1ms".to_owned()];
    Folder::at(root.path()).write(&invented).unwrap();
    let run = report(&["verify"], &[root.path()]);
    assert_eq!(run.code, 1, "{run:?}");
    let expected = "not confirmed  executor/invented  pass\n  the profile executor has no such scenario\n";
    assert!(run.out.starts_with(expected), "{}", run.out);
    assert!(
        run.out.contains("judged with  rules of 1.36, --assume pod-failure-backoff=1ms\n"),
        "{}",
        run.out
    );

    written.scenarios[1].outcome = Outcome::Pass;
    written.scenarios[1].evidence.clear();
    let forged = ConformanceReport::new(written.run, written.scenarios);
    Folder::at(root.path()).write(&forged).unwrap();
    let run = report(&["verify"], &[root.path()]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.out.starts_with("not confirmed  executor/adoption  pass\n  the judge finds "), "{}", run.out);
}

/// Replaces a text of a file of the folder.
fn edit(root: &Path, file: &str, from: &str, to: &str) {
    let path = root.join(file);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{file}: {text}");
    fs::write(path, text.replace(from, to)).unwrap();
}

/// The files that a reader opens, each with an edit that makes a failure a success.
const FORGERIES: [(&str, &str, &str); 3] = [
    ("index.html", "<td class=\"fail\">fail</td>", "<td class=\"pass\">pass</td>"),
    ("junit.xml", "failures=\"1\"", "failures=\"0\""),
    ("results.json", "\"outcome\": \"fail\"", "\"outcome\": \"pass\""),
];

#[test]
fn verify_confirms_no_file_that_contradicts_the_report() {
    for version in [env!("CARGO_PKG_VERSION"), "0.0.9"] {
        for (file, from, to) in FORGERIES {
            let root = tempfile::tempdir().unwrap();
            let mut written = good_and_bad(root.path());
            written.run.jobcheck_version = version.to_owned();
            Folder::at(root.path()).write(&written).unwrap();
            assert_eq!(report(&["verify"], &[root.path()]).code, 0, "{file} {version}");
            edit(root.path(), file, from, to);
            let run = report(&["verify"], &[root.path()]);
            // JSON is the same report in each version. The page and the cases may have had another form.
            let is_known = version != "0.0.9" || file == "results.json";
            let (code, word) = if is_known { (1, "not confirmed") } else { (3, "undecided") };
            assert!(run.code == code && run.out.starts_with(&format!("{word}: {file} ")), "{run:?}");
            let not_compared = if is_known { "e2e.log".to_owned() } else { format!("e2e.log, {file}") };
            assert!(run.out.contains(&format!("\nnot compared {not_compared}\n")), "{run:?}");
            let json = report(&["verify", "-o", "json"], &[root.path()]).json();
            schema::check(&json);
            assert_eq!(json["objections"][0]["state"], if is_known { "notConfirmed" } else { "undecided" });
        }
    }
}

#[test]
fn verify_names_the_files_that_it_does_not_compare() {
    let root = tempfile::tempdir().unwrap();
    good_and_bad(root.path());
    // A file that is missing states nothing.
    for file in ["index.html", "junit.xml", "results.json", "e2e.log"] {
        fs::remove_file(root.path().join(file)).unwrap();
    }
    let run = report(&["verify"], &[root.path()]);
    assert!(run.code == 0 && !run.out.contains("not compared"), "{run:?}");
    fs::write(root.path().join("summary.html"), "all passed").unwrap();
    fs::create_dir(root.path().join("traces/more")).unwrap();
    fs::write(root.path().join("traces/more/a.jsonl"), "").unwrap();
    let run = report(&["verify"], &[root.path()]);
    assert!(
        run.code == 0 && run.out.contains("\nnot compared summary.html, traces/more/a.jsonl\n"),
        "{run:?}"
    );
    let json = report(&["verify", "-o", "json"], &[root.path()]).json();
    schema::check(&json);
    assert_eq!(json["notCompared"], serde_json::json!(["summary.html", "traces/more/a.jsonl"]));
}

#[test]
fn verify_compares_the_manager_and_the_times_with_the_traces() {
    let root = tempfile::tempdir().unwrap();
    let written = good_and_bad(root.path());
    let verified = |change: &dyn Fn(&mut Run)| {
        let mut run = written.run.clone();
        change(&mut run);
        Folder::at(root.path()).write(&ConformanceReport::new(run, written.scenarios.clone())).unwrap();
        report(&["verify"], &[root.path()])
    };
    let other = verified(&|run| {
        run.implementation.managed_by = Some("example.com/a".to_owned());
        run.selection.clear();
    });
    let why = "not confirmed: no Job in the traces has the spec.managedBy example.com/a\n";
    assert!(other.code == 1 && other.out.contains(why), "{other:?}");
    let later = verified(&|run| {
        run.start_time = "2030-01-01T00:00:00Z".to_owned();
        run.end_time = "2030-01-01T01:00:00Z".to_owned();
    });
    assert_eq!(later.code, 3, "{later:?}");
    assert!(later.out.starts_with("undecided: executor/indexed: the traces are of 20"), "{later:?}");
}

#[test]
fn a_scenario_with_traces_was_run() {
    let root = tempfile::tempdir().unwrap();
    let mut written = good_and_bad(root.path());
    written.scenarios[1].outcome = Outcome::Skip;
    written.scenarios[1].reason = "a hook is missing".to_owned();
    written.scenarios[1].evidence.clear();
    let forged = ConformanceReport::new(written.run, written.scenarios);
    Folder::at(root.path()).write(&forged).unwrap();
    let run = report(&["verify"], &[root.path()]);
    assert!(run.code == 2 && run.err.contains("scenario executor/adoption: its outcome skip has"), "{run:?}");
}

/// Writes the report anew, as this version of jobcheck does if nothing is chosen.
fn forge(root: &Path, report: &ConformanceReport) {
    let run = Run {
        selection: Vec::new(),
        jobcheck_version: env!("CARGO_PKG_VERSION").to_owned(),
        ..report.run.clone()
    };
    Folder::at(root).write(&ConformanceReport::new(run, report.scenarios.clone())).unwrap();
}

#[test]
fn a_report_that_lacks_scenarios_of_its_profile_is_no_success() {
    let root = tempfile::tempdir().unwrap();
    let chosen = written(root.path(), &[("executor/indexed", &recording(CONFORMS))], None);
    let show = report(&["show"], &[root.path()]);
    assert!(show.code == 0 && show.out.contains("chosen       executor/indexed\n"), "{show:?}");
    assert_eq!(report(&["verify"], &[root.path()]).code, 0);

    forge(root.path(), &chosen);
    let verify = report(&["verify"], &[root.path()]);
    assert!(verify.code == 1 && verify.out.starts_with("not confirmed: the report lacks "), "{verify:?}");
    assert!(verify.out.contains(" scenarios of the profile\n"), "{verify:?}");
    let json = report(&["verify", "-o", "json"], &[root.path()]).json();
    schema::check(&json);
    assert_eq!(json["objections"][0]["state"], "notConfirmed");
    let show = report(&["show"], &[root.path()]);
    assert!(show.code == 3 && show.err.contains("not confirmed: the report lacks "), "{show:?}");

    // A selection excuses what is missing, but is no success.
    let mut claimed = serde_json::to_value(&chosen).unwrap();
    claimed["result"] = "success".into();
    claimed["core"]["result"] = "success".into();
    fs::write(root.path().join("report.yaml"), claimed.to_string()).unwrap();
    let verify = report(&["verify"], &[root.path()]);
    assert!(verify.code == 2 && verify.err.contains("the result is success, but"), "{verify:?}");
}

#[test]
fn requirements_that_the_profile_does_not_have_are_neither_confirmed_nor_counted() {
    let (old, new) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let good = recording(CONFORMS);
    written(old.path(), &[("executor/indexed", &good)], None);
    let mut exchanged = written(new.path(), &[("executor/indexed", &good)], None);
    exchanged.scenarios[0].requirements.extend(["FT-01".to_owned(), "MB-12".to_owned()]);
    Folder::at(new.path()).write(&exchanged).unwrap();
    let verify = report(&["verify"], &[new.path()]);
    assert_eq!(verify.code, 1, "{verify:?}");
    assert!(verify.out.contains("its requirements are not those of the profile"), "{verify:?}");
    let diff = report(&["diff"], &[old.path(), new.path()]);
    assert_eq!((diff.code, &*diff.out), (0, "no scenario and no requirement changed\n"));
    assert!(diff.err.contains("are not counted: 1 scenario, such as executor/indexed"), "{diff:?}");
}

#[test]
fn one_trace_does_not_serve_two_scenarios() {
    let root = tempfile::tempdir().unwrap();
    let good = recording(CONFORMS);
    let mut same = written(root.path(), &[("executor/conflicts", &good), ("executor/elastic", &good)], None);
    let refused = "not confirmed  executor/conflicts  pass\n  its trace is that of executor/elastic, too\n";
    for _ in ["a copy", "the same file"] {
        let verify = report(&["verify"], &[root.path()]);
        assert!(verify.code == 1 && verify.out.starts_with(refused), "{verify:?}");
        same.scenarios[1].traces = same.scenarios[0].traces.clone();
        Folder::at(root.path()).write(&same).unwrap();
    }
}

#[test]
fn a_trace_that_was_changed_is_named() {
    let root = tempfile::tempdir().unwrap();
    good_and_bad(root.path());
    let trace = root.path().join("traces/executor-indexed.jsonl");
    fs::write(&trace, fs::read_to_string(&trace).unwrap() + "\n").unwrap();
    let run = report(&["show"], &[root.path()]);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(
        run.err
            .contains("executor/indexed: traces/executor-indexed.jsonl: the report has the digest sha256:"),
        "{run:?}"
    );
    let run = report(&["verify"], &[root.path()]);
    assert!(run.code == 1 && run.out.contains("not confirmed  executor/indexed"), "{run:?}");
}

#[test]
fn what_is_no_report_exits_with_2_and_says_why() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("report.yaml");
    for (text, why) in [
        (
            "apiVersion: jobcheck.dev/v1\nkind: RunReport\n",
            "expected the kind JobConformanceReport, found RunReport",
        ),
        (
            "apiVersion: jobcheck.dev/v9\nkind: JobConformanceReport\n",
            "found jobcheck.dev/v9; a newer jobcheck may read it",
        ),
        ("a: [", "the report is not readable"),
    ] {
        fs::write(&file, text).unwrap();
        for command in ["show", "verify"] {
            let run = report(&[command], &[root.path()]);
            assert!(run.code == 2 && run.err.contains(why), "{command}: {run:?}");
        }
    }
    fs::remove_file(&file).unwrap();
    let run = report(&["show"], &[root.path()]);
    assert!(run.code == 2 && run.err.contains("report.yaml: No such file"), "{run:?}");
    let run = report(&["verify"], &[&file]);
    assert!(run.code == 2 && run.err.contains("is no folder"), "{run:?}");
}

#[test]
fn diff_exits_with_1_if_something_got_worse() {
    let (old, new) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let good = recording(CONFORMS);
    written(old.path(), &[("executor/conflicts", &good)], None);
    written(new.path(), &[("executor/conflicts", &violating())], None);
    let run = report(&["diff"], &[old.path(), new.path()]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.out.contains("result            partial → failure\n"), "{}", run.out);
    assert!(run.out.contains("  worse    executor/conflicts  pass → fail\n"), "{}", run.out);
    let json = report(&["diff", "-o", "json"], &[old.path(), new.path()]).json();
    schema::check(&json);
    assert!(json["requirements"].as_array().unwrap().iter().any(|it| it["direction"] == "worse"), "{json}");
    let run = report(&["diff"], &[new.path(), old.path()]);
    assert!(run.code == 0 && run.out.contains("  better   executor/conflicts  fail → pass\n"), "{run:?}");
    let run = report(&["diff"], &[old.path(), old.path()]);
    assert_eq!((run.code, &*run.out), (0, "no scenario and no requirement changed\n"));
}

#[test]
fn the_shards_of_a_run_become_one_report_with_their_traces() {
    let root = tempfile::tempdir().unwrap();
    let good = [CONFORMS, "nonindexed-success.audit", "indexed-success.audit"].map(recording);
    let ids = ["executor/conflicts", "executor/deadline", "executor/elastic"];
    let traces: Vec<(&str, &Path)> = ids.into_iter().zip(good.iter().map(|it| &**it)).collect();
    let folders: Vec<PathBuf> = (0..2).map(|own| root.path().join(format!("shard-{own}"))).collect();
    for (own, folder) in (0..2).zip(&folders) {
        assert_eq!(written(folder, &traces, Some((own, 2))).exit().code(), 3);
    }
    let (all, half) = (root.path().join("all"), root.path().join("half"));
    let into = |into: &Path, from: &[&Path]| report(&["merge", "--into", &into.to_string_lossy()], from);
    let run = into(&half, &[&folders[1]]);
    assert!(run.code == 3 && run.out.contains("shards       1 of 2 are missing"), "{run:?}");
    let run = into(&all, &[&folders[0], &half]);
    assert!(run.code == 0 && !run.out.contains("shards"), "{run:?}");
    assert!(run.out.contains("core         partial, 3 pass"), "{}", run.out);
    assert_eq!(report(&["verify"], &[&all]).code, 0);
    let log = fs::read_to_string(all.join("e2e.log")).unwrap();
    assert!(log.contains("log of shard-0\n") && log.contains("log of shard-1\n"), "{log}");

    let run = into(&all, &[&folders[0], &folders[1]]);
    assert!(run.code == 2 && run.err.contains("is not empty"), "{run:?}");
    let other = root.path().join("other");
    let mut foreign = written(&other, &traces, Some((1, 2)));
    foreign.run.seed = 7;
    Folder::at(&other).write(&foreign).unwrap();
    let run = into(&root.path().join("none"), &[&folders[0], &other]);
    assert!(run.code == 2 && run.err.contains("the seed is 0 and 7"), "{run:?}");
    assert!(!root.path().join("none").exists());
}

/// A shard may come from anywhere, and the merged folder has its own modes.
#[cfg(unix)]
#[test]
fn a_merge_keeps_no_mode_and_no_endless_log() {
    use std::os::unix::fs::PermissionsExt;
    let root = tempfile::tempdir().unwrap();
    let (shard, all) = (root.path().join("shard"), root.path().join("all"));
    let written = written(&shard, &[("executor/conflicts", &recording(CONFORMS))], Some((0, 2)));
    let trace = &written.scenarios[0].traces[0].file;
    fs::set_permissions(shard.join(trace), fs::Permissions::from_mode(0o6755)).unwrap();
    fs::File::create(shard.join("e2e.log")).unwrap().set_len(1 << 30).unwrap();
    let run = report(&["merge", "--into", &all.to_string_lossy()], &[&shard]);
    assert!(run.code == 0 && run.out.contains("1 of 2 are missing"), "{run:?}");
    for file in [trace, "e2e.log"] {
        let mode = fs::metadata(all.join(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o600, "{file}");
    }
    let length = fs::metadata(all.join("e2e.log")).unwrap().len();
    assert!(length < 65 << 20, "{length}");
    assert_eq!(fs::read(all.join(trace)).unwrap(), fs::read(shard.join(trace)).unwrap());
}
