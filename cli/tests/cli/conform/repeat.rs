//! `--repeat`: a scenario whose runs differ is flaky, and each run can be judged again.

use std::fs;

use jobcheck_report::types::Outcome;
use jobcheck_report::{ConformanceReport, Folder};

use super::{Site, start};
use crate::schema;
use crate::support::{Controller, Run, controller, jobcheck};

const MANAGED_BY: &str = "example.com/mirror";

/// Two clusters with a mirror that breaks a rule in every second Job.
struct Flaky {
    site: Site,
    _programs: [Controller; 2],
}

impl Flaky {
    fn new() -> Flaky {
        let site = Site::new(&["hub", "one"]);
        let executor = controller(&site.kubeconfigs[1]);
        let clusters = ["--manager", &*site.kubeconfigs[0], "--worker", &*site.kubeconfigs[1]];
        let wrong = ["--managed-by", MANAGED_BY, "--defect", "starts-in-the-past", "--every-second"];
        let mirror = start("between_clusters", &[&clusters[..], &wrong].concat());
        Flaky { site, _programs: [executor, mirror] }
    }

    fn conform(&self, more: &[&str]) -> (Run, ConformanceReport) {
        let profile = ["--profile", "mirror", "--cluster", "manager=hub", "--cluster", "worker=one"];
        let of_mirror = ["--managed-by", MANAGED_BY, "--patience", "15s", "--skew", "0"];
        let run = self.site.conform("out", &[&profile[..], &of_mirror, more].concat());
        (run, self.site.report("out"))
    }
}

#[test]
fn a_mirror_that_breaks_a_rule_in_every_second_job_is_flaky() {
    let flaky = Flaky::new();
    let (run, report) = flaky.conform(&["--repeat", "4", "success"]);
    assert_eq!(run.code, 1, "{run:?}");
    let tally = "flaky: fails in 2 of 4 runs (MR-04";
    assert!(run.out.lines().any(|it| it.starts_with("mirror/success") && it.contains(tally)), "{run:?}");
    let summary = "1 scenario of mirror, 4 runs each: failure, 1 fail, 1 flaky;";
    assert!(run.out.contains("passes in 2\n") && run.out.contains(summary), "{run:?}");
    assert_eq!(
        (report.run.repeat, &report.core.flaky_tests[..]),
        (Some(4), &["mirror/success".to_owned()][..])
    );
    let numbers: Vec<u32> = report.scenarios.iter().filter_map(|it| it.repetition).collect();
    assert_eq!(numbers, [1, 2, 3, 4]);
    let failed = report.scenarios.iter().filter(|it| it.outcome == Outcome::Fail).count();
    assert_eq!((failed, report.core.statistics.fail, report.core.failed_tests.len()), (2, 1, 1));
    let out = flaky.site.folder.path("out");
    for number in numbers {
        assert!(out.join(format!("traces/mirror-success/{number}/manager.jsonl")).is_file(), "{number}");
    }
    let log = fs::read_to_string(out.join("e2e.log")).unwrap();
    assert!(log.contains(tally) && fs::read_to_string(out.join("index.html")).unwrap().contains(tally));
    schema::check(&jobcheck(["report", "show", "-o", "json", out.to_str().unwrap()]).json());

    let verify = || jobcheck(["report", "verify", out.to_str().unwrap()]);
    let verified = verify();
    assert!(verified.code == 0 && verified.out.starts_with("4 runs: 4 confirmed"), "{verified:?}");
    // The traces of a run that passed do not serve one that failed.
    let mut scenarios = report.scenarios.clone();
    let (wrong, right) = (Outcome::Fail, Outcome::Pass);
    let at = |outcome| report.scenarios.iter().position(|it| it.outcome == outcome).unwrap();
    let repetition = report.scenarios[at(wrong)].repetition;
    scenarios[at(wrong)] = report.scenarios[at(right)].clone();
    scenarios[at(wrong)].repetition = repetition;
    Folder::at(&out).write(&ConformanceReport::new(report.run.clone(), scenarios)).unwrap();
    let verified = verify();
    assert!(
        verified.code == 1 && verified.out.contains("its trace is that of mirror/success (run "),
        "{verified:?}"
    );
}

#[test]
fn a_run_that_is_ended_early_has_the_runs_that_are_left_out() {
    let flaky = Flaky::new();
    let dry = ["--repeat", "20", "--dry-run", "success", "restart"];
    let profile = ["--profile", "mirror", "--cluster", "manager=hub", "--cluster", "worker=one"];
    let dry = flaky.site.conform("dry", &[&profile[..], &["--managed-by", MANAGED_BY], &dry].concat());
    assert!(
        dry.code == 0 && dry.out.contains("  run 20 times\n") && dry.out.contains("  skip: the hook"),
        "{dry:?}"
    );

    // Both are run before one of them is repeated.
    let (run, report) =
        flaky.conform(&["--repeat", "20", "--parallel", "1", "--fail-fast", "success", "failure"]);
    assert_eq!((run.code, report.scenarios.len()), (1, 40), "{run:?}");
    let count = |wanted: Outcome| report.scenarios.iter().filter(|it| it.outcome == wanted).count();
    assert!(count(Outcome::Fail) > 0 && count(Outcome::Skip) >= 30, "{run:?}");
    let left = report.scenarios.iter().filter(|it| it.outcome == Outcome::Skip);
    assert!(left.map(|it| &it.reason).all(|why| why == "the run was ended before"));
    let verified = jobcheck(["report", "verify", flaky.site.folder.path("out").to_str().unwrap()]);
    assert!(verified.code == 0 && verified.out.starts_with("40 runs: "), "{verified:?}");
}

#[test]
fn runs_that_no_report_could_hold_are_rejected_before_a_cluster_is_reached() {
    let refused = |profile: &str, repeat: &str, more: &[&str], why: &str| {
        let clusters = ["--cluster", "manager=hub"];
        let run =
            jobcheck([&["conform", "--profile", profile, "--repeat", repeat][..], &clusters, more].concat());
        assert!(run.code == 2 && run.err.contains(why), "{run:?}");
    };
    let mirror = ["--cluster", "worker=one", "--managed-by", "a.b/c"];
    let why = "22 scenarios with --repeat 1000 are 22000 runs, and a report has at most 2000";
    refused("mirror", "1000", &mirror, why);
    let why = "--repeat is for the profiles mirror, aggregate and field";
    refused("executor", "2", &["--managed-by", "a.b/c"], why);
    refused("ttl", "2", &["--managed-by", "a.b/c"], why);
    for number in ["0", "1001"] {
        refused("mirror", number, &mirror, "1..=1000");
    }
}
