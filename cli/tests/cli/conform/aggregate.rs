//! The profile aggregate, with the example `sum_of_clusters`. The suite plays the Job controllers of the members.

use super::{Restartable, Site, assert_found, each, example, start};

/// The time by which clocks may differ is that of the default, as for a user.
const PROFILE: [&str; 8] = [
    "--profile",
    "aggregate",
    "--cluster",
    "manager=hub",
    "--cluster",
    "member=one",
    "--cluster",
    "member=two",
];

#[test]
fn an_aggregator_passes_if_it_is_right_and_fails_for_what_it_breaks() {
    let site = Site::new(&["hub", "one", "two"]);
    let [hub, one, two] = &site.kubeconfigs[..] else { panic!("three clusters") };
    let own = ["--manager", hub, "--member", one, "--member", two, "--managed-by"];
    let right = Restartable::start(
        &site.folder,
        &example("sum_of_clusters"),
        &[&own[..], &["example.com/sum"]].concat(),
    );
    let hook = right.hook();
    let arguments = ["--managed-by", "example.com/sum", "--patience", "15s", "--hook", &hook];
    let run = site.conform("out", &[&PROFILE[..], &arguments].concat());
    assert_eq!(run.code, 0, "{run:?}");
    site.assert_passes("out", &[]);
    // This one fails with its first member.
    let all = ["--managed-by", "example.com/sum", "--fails-when", "all", "failure"];
    let run = site.conform("all", &[&PROFILE[..], &all].concat());
    assert_found(&run, &site.report("all"), "MR-31");
    let cases = [
        ("doubles", "counts", "MR-30"),
        ("counts-twice", "member-replaced", "MR-30"),
        ("fails-at-once", "failure", "MR-31"),
        ("ignores-terminating", "terminating", "MR-31"),
        ("imitates-older", "older-members", "MR-32"),
        ("restless", "rest", "MR-10"),
        ("forgets", "member-replaced", "MR-03"),
        ("moves-start", "order", "MR-05"),
        ("leaves-out-interim", "failure", "MR-07"),
    ];
    let assert_caught = |(defect, scenario, broken): (&str, &str, &str), more: &[&str]| {
        let managed_by = format!("example.com/{defect}");
        let _wrong = start("sum_of_clusters", &[&own[..], &[&managed_by, "--defect", defect]].concat());
        let named = ["--managed-by", &managed_by, "--patience", "8s", scenario];
        let run = site.conform(defect, &[&PROFILE[..], &named, more].concat());
        assert_found(&run, &site.report(defect), broken);
    };
    each(&cases, |case| assert_caught(*case, &[]));
    // The members come back before the clocks could differ.
    assert_caught(("ends-when-empty", "no-members", "MR-33"), &["--skew", "0"]);
    // This one takes the Jobs of all others.
    assert_caught(("takes-strangers", "strangers", "MR-15"), &[]);
}
