//! The profile aggregate, with the example `sum_of_clusters`. The suite plays the Job controllers of the members.

use super::{Restartable, Site, assert_found, each, example, start};

const PROFILE: [&str; 10] = [
    "--profile",
    "aggregate",
    "--cluster",
    "manager=hub",
    "--cluster",
    "member=one",
    "--cluster",
    "member=two",
    "--skew",
    "0",
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
        ("counts-twice", "member-replaced", "MR-30"),
        ("fails-at-once", "failure", "MR-31"),
        ("ignores-terminating", "terminating", "MR-31"),
        ("imitates-older", "older-members", "MR-32"),
        ("ends-when-empty", "no-members", "MR-33"),
        ("forgets", "member-replaced", "MR-03"),
        ("moves-start", "order", "MR-05"),
        ("leaves-out-interim", "failure", "MR-07"),
    ];
    each(&cases, |(defect, scenario, broken)| {
        let managed_by = format!("example.com/{defect}");
        let _wrong = start("sum_of_clusters", &[&own[..], &[&managed_by, "--defect", defect]].concat());
        let more = ["--managed-by", &managed_by, "--patience", "8s", scenario];
        let run = site.conform(defect, &[&PROFILE[..], &more].concat());
        assert_found(&run, &site.report(defect), broken);
    });
}
