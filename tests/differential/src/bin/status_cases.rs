//! Prints random cases for the API server's rules with the decisions of the specification. The oracle compares them
//! with Kubernetes' own decisions.
//!
//! ```text
//! cargo run -p jobcheck-differential --bin status_cases -- KIND COUNT SEED [GATES-OFF [MINOR]] | oracle -compare
//! ```
//!
//! KIND is `status` (old and new status), `spec` (old and new specification), or `stored` (one object). Each line is a
//! question for `harness/controlplane/oracle`, with the decision of the specification and the ids of the broken rules.
//! MINOR is the minor version of the rules, by default 36. The oracle must have the same version.

use jobcheck_differential::{json, specs, statuses};
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;
use std::sync::Arc;

use jobcheck_spec::apiserver::{
    RuleSet, created, validate_create, validate_spec_update, validate_status_update, would_refuse_create,
    would_refuse_spec, would_refuse_status,
};
use jobcheck_spec::job::{Job, Selector};
use jobcheck_spec::{Findings, Operand, Req};

use jobcheck_differential::pod::Pod;
use jobcheck_differential::random::Random;

/// One question: the objects as JSON, and the decision of the specification with the broken rules.
struct Case {
    kind: &'static str,
    old: Option<String>,
    new: String,
    refused: bool,
    broken: Vec<Req>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let numbers: Vec<u64> = arguments.iter().skip(1).take(2).filter_map(|text| text.parse().ok()).collect();
    let (make, [count, seed]) = match (arguments.first().map(String::as_str), &numbers[..]) {
        (Some("status"), &[count, seed]) => (status_case as fn(&mut Random, &RuleSet) -> Case, [count, seed]),
        (Some("spec"), &[count, seed]) => (spec_case as fn(&mut Random, &RuleSet) -> Case, [count, seed]),
        (Some("stored"), &[count, seed]) => (stored_case as fn(&mut Random, &RuleSet) -> Case, [count, seed]),
        _ => return ExitCode::from(2),
    };
    let minor = arguments.get(4).map_or(Ok(36), |minor| minor.parse());
    let Some(usual) = minor.ok().and_then(RuleSet::of) else { return ExitCode::from(2) };
    let rules = without_gates(usual, arguments.get(3).map_or("", String::as_str));
    let mut out = BufWriter::new(io::stdout().lock());
    let mut random = Random::seeded(seed);
    for _ in 0..count {
        if writeln!(out, "{}", line(&make(&mut random, &rules))).is_err() {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// Returns the rules with the named feature gates off. The oracle needs the same gates in its flag `-gates`.
fn without_gates(usual: RuleSet, off: &str) -> RuleSet {
    let on = |gate: &str| !off.split(',').any(|name| name == gate);
    RuleSet {
        job_managed_by: on("JobManagedBy"),
        pod_replacement_policy: on("JobPodReplacementPolicy"),
        mutable_scheduling_directives: usual.mutable_scheduling_directives
            && on("MutableSchedulingDirectivesForSuspendedJobs"),
        mutable_pod_resources: usual.mutable_pod_resources && on("MutablePodResourcesForSuspendedJobs"),
        ..usual
    }
}

fn line(case: &Case) -> String {
    let ours = json::Object::default()
        .raw("accepted", &(!case.refused).to_string())
        .raw("broken", &json::list(case.broken.iter().map(|req| json::text(req.id()))));
    json::Object::default()
        .raw("kind", &json::text(case.kind))
        .raw("ours", &ours.end())
        .maybe("old", case.old.clone())
        .raw("new", &case.new)
        .end()
}

fn status_case(random: &mut Random, rules: &RuleSet) -> Case {
    let mut old = specs::base(rules);
    statuses::vary_spec(random, Arc::make_mut(&mut old.spec));
    old.status = statuses::arbitrary(random, &old);
    let mut new = old.clone();
    if random.one_in(2) {
        statuses::advance(random, &mut new.status);
    }
    for _ in 0..random.below(4) {
        statuses::vary(random, &mut new.status);
    }
    let mut findings = Findings::new();
    validate_status_update(rules, &old, &new, &mut findings);
    let pod = Pod::plain();
    Case {
        kind: "status",
        old: Some(json::job(&old, &pod)),
        new: json::job(&new, &pod),
        refused: would_refuse_status(rules, &old, &new).is_some(),
        broken: ids(&findings, &[Req::SS36]),
    }
}

fn spec_case(random: &mut Random, rules: &RuleSet) -> Case {
    let (mut old, mut old_pod) = (specs::base(rules), Pod::plain());
    specs::choose_kind(random, Arc::make_mut(&mut old.spec));
    old.status = statuses::arbitrary(random, &old);
    for _ in 0..random.below(4) {
        old_pod.vary(random);
    }
    for _ in 0..random.below(2) {
        specs::vary(random, &mut old);
    }
    let suspend = random.pick(&[Some(true), Some(false)]);
    Arc::make_mut(&mut old.spec).suspend = suspend;
    let (mut new, mut new_pod) = (old.clone(), old_pod.clone());
    for _ in 0..random.below(3) {
        specs::vary(random, &mut new);
    }
    for _ in 0..random.below(3) {
        new_pod.vary(random);
    }
    for (job, pod) in [(&mut old, &old_pod), (&mut new, &new_pod)] {
        let spec = Arc::make_mut(&mut job.spec);
        spec.template = pod.template(&spec.template);
    }
    new.generation = old.generation + i64::from(new.spec != old.spec);
    let mut findings = Findings::new();
    validate_spec_update(rules, &old, &new, &mut findings);
    Case {
        kind: "spec",
        old: Some(json::job(&old, &old_pod)),
        new: json::job(&new, &new_pod),
        refused: would_refuse_spec(rules, &old, &new).is_some(),
        broken: ids(&findings, &[Req::SP10]),
    }
}

fn stored_case(random: &mut Random, rules: &RuleSet) -> Case {
    let (mut job, mut pod) = (specs::base(rules), Pod::plain());
    specs::choose_kind(random, Arc::make_mut(&mut job.spec));
    for _ in 0..random.below(4) {
        specs::vary(random, &mut job);
    }
    if random.one_in(4) {
        pod.vary(random);
    }
    if random.one_in(6) {
        rename(random, rules, &mut job);
    }
    let spec = Arc::make_mut(&mut job.spec);
    spec.template = pod.template(&spec.template);
    let mut findings = Findings::new();
    validate_create(rules, &job, &mut findings);
    // The server generates the selector of a new Job, so a selector without the UID is no reason for a refusal.
    findings.broken.retain(|broken| broken.found != Operand::Words("a selector without it"));
    let refused = would_refuse_create(&job).is_some();
    Case { kind: "stored", old: None, new: json::job(&job, &pod), refused, broken: ids(&findings, &[]) }
}

/// Gives the Job a name near the limits of its length and grammar, with the labels and the selector for this name.
fn rename(random: &mut Random, rules: &RuleSet, job: &mut Job) {
    let length = random.pick(&[57, 58, 61, 62, 63, 64]);
    let name = random.pick(&[
        "a.b".to_owned(),
        "A".to_owned(),
        "-a".to_owned(),
        "a".repeat(length),
        "a".repeat(length),
    ]);
    let mut sent = Job { name: name.into(), ..job.clone() };
    let spec = Arc::make_mut(&mut sent.spec);
    (spec.template.labels, spec.selector) = (Vec::new(), Selector::default());
    *job = created(rules, &sent);
}

fn ids(findings: &Findings, without: &[Req]) -> Vec<Req> {
    let mut ids: Vec<Req> = findings.broken.iter().map(|broken| broken.req).collect();
    ids.retain(|req| !without.contains(req));
    ids.sort_unstable();
    ids.dedup();
    ids
}
