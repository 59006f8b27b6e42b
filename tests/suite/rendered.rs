//! Ways through scopes, written as native traces: the trace says of them what the model says.

use std::fmt::Write as _;
use std::sync::Arc;

use jobcheck_explorer::alphabet::Write;
use jobcheck_explorer::check::{Walking, walk};
use jobcheck_explorer::env::user::UserAction;
use jobcheck_explorer::mutants::{MUTANTS, Mutant};
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::scopes as model_scopes;
use jobcheck_explorer::scopes::initial;
use jobcheck_explorer::scopes::reference;
use jobcheck_explorer::step::Step;
use jobcheck_judge::replay::{Judging, judge};
use jobcheck_judge::report::{Exit, ReplayReport};
use jobcheck_projection::Projector;
use jobcheck_scenario::render::{EPOCH, native};
use jobcheck_spec::job::{Job, JobSpec, Template};
use jobcheck_spec::pod::{Pod, PolicyMatch};
use jobcheck_spec::{Req, Time, Uid};
use jobcheck_traces::{Answer, Body, Input, Reader, Resource};

/// The way that is walked with a seed.
pub(crate) fn walked(scope: &Scope, seed: u64) -> Vec<Step> {
    let walking = Walking { walks: 1, depth: 150, seed, stop: Arc::new(|| false) };
    let walked = walk(scope, &walking);
    assert!(walked.found.is_none(), "{} with seed {seed}", scope.name);
    walked.last
}

fn replayed(scope: &Scope, path: &[Step]) -> ReplayReport {
    let trace = native(scope, path, None).unwrap();
    judge(&[vec![Input::Bytes(scope.name.to_owned(), trace)]], &Judging::default(), &mut |_, _| {})
}

/// The broken requirements, in order, with what was found.
pub(crate) fn told(report: &ReplayReport) -> Vec<String> {
    let findings = report.jobs.iter().flat_map(|job| &job.violations);
    let mut lines: Vec<String> = findings
        .map(|it| {
            let req = it.requirement.map_or("-", |id| id.0.id());
            format!(
                "{req} line {:?}: {} ({}: expected {}, found {})",
                it.line, it.write, it.what, it.expected, it.found
            )
        })
        .collect();
    lines.extend(report.jobs.iter().flat_map(|job| &job.doubts).map(|doubt| format!("doubt: {doubt}")));
    lines.extend(report.errors.iter().map(|error| format!("error: {error:?}")));
    lines
}

/// A trace has the times of one clock: by that, a controller whose clock is ahead deletes too early (EN-08).
fn has_one_clock(scope: &Scope) -> bool {
    scope.algorithm.ttl.is_none_or(|ahead| ahead <= 0)
}

/// Nothing that a trace holds was made before it by another version (UG-01).
pub fn begins_with_the_job(scope: &Scope) -> bool {
    scope.found.iter().all(|pod| !pod.controlled)
}

/// Whether a user writes the status. Where nothing tells actors apart, or the user is the first of them, that is taken for
/// a write of the manager.
pub fn has_a_user_of_the_status(scope: &Scope) -> bool {
    scope.user.iter().any(|it| matches!(it, UserAction::DenyFailureTarget | UserAction::DenyFailed))
}

#[test]
fn what_the_algorithm_does_conforms() {
    let (mut wrong, mut traces) = (String::new(), 0);
    let scopes =
        [reference::one_fault(), reference::ttl(), reference::rollouts(), reference::recreation()].concat();
    for scope in scopes.into_iter().filter(|scope| has_one_clock(scope) && begins_with_the_job(scope)) {
        for seed in 0..40 {
            let path = walked(&scope, seed);
            let report = replayed(&scope, &path);
            traces += 1;
            if report.exit_code != Exit::Conforms {
                writeln!(wrong, "{} seed {seed}: {:?} {:#?}", scope.name, report.exit_code, told(&report))
                    .unwrap();
            }
        }
    }
    assert!(wrong.is_empty() && traces > 500, "of {traces}: {wrong}");
}

/// Defects of which the trace says something else than the model, and why it may.
const TOLD_OTHERWISE: &[(&str, Option<Req>)] = &[
    // The TTL was raised within the window of a GET, and reads are in no trace (TT-06).
    ("B48a", None),
    // A trace has the times of one clock (EN-08).
    ("B48d", None),
    // The orphan path is known by what it does to strays, and has a label in a trace.
    ("J-05", Some(Req::J05)),
    ("S-25", Some(Req::S25)),
    // A trace shows the refusal, and with it the deviation.
    ("H2", Some(Req::H2)),
    // What is older than the trace is shown as if it were made in it.
    // SY-04 is a matter of one sync; and a condition that says False may go (TC-10).
    ("B02", None),
    // What a process remembers is in no trace: a Job that waits is nothing wrong before 120 s have passed.
    ("B43", None),
    ("J-07", None),
    ("J-08", None),
    ("J-09", None),
    ("B13c", None),
    // Expectations are internal to a process (PC-27); the creation is one too many.
    ("B38", Some(Req::PC04)),
];

fn is_same(found: Req, expected: Req) -> bool {
    found == expected || found.also().contains(&expected) || expected.also().contains(&found)
}

/// What the model says of a way, in the order of preference: the first write that it does not admit, what the
/// server refuses, and what the mutant is known for.
fn said_by_the_model(mutant: &Mutant, path: &[Step]) -> Vec<Req> {
    let scope = mutant.scope();
    let end = path.iter().fold(initial(&scope), |world, step| world.apply(step, &scope));
    let ghost = &end.job_states[0].ghost;
    let refused = ghost.refused.into_iter().chain(ghost.refused.map(|_| Req::SS37));
    ghost.objection.into_iter().chain(refused).chain([mutant.requirement()]).collect()
}

fn first(report: &ReplayReport) -> Option<Req> {
    let violation = report.jobs.iter().flat_map(|job| &job.violations).next()?;
    violation.requirement.map(|id| id.0)
}

#[test]
fn replay_finds_each_defect_in_its_trace() {
    let (mut wrong, mut agree) = (String::new(), 0);
    for mutant in MUTANTS.iter().filter(|mutant| mutant.shows_in_a_world()) {
        let hunt = mutant.hunt();
        let path = &hunt.found().unwrap().path;
        let report = replayed(&mutant.scope(), path);
        let found = first(&report);
        let otherwise = TOLD_OTHERWISE.iter().find(|(id, _)| *id == mutant.id);
        let agrees = match otherwise {
            Some((_, told)) => found == *told,
            None => {
                said_by_the_model(mutant, path).iter().any(|req| found.is_some_and(|it| is_same(it, *req)))
            }
        };
        agree += usize::from(agrees && otherwise.is_none());
        if !agrees {
            let (id, shows) = (mutant.id, mutant.shows);
            writeln!(wrong, "{id}: {shows:?}: {:?} {:#?}", report.exit_code, told(&report)).unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(agree > 20, "{agree}");
}

/// The Job as it would read if its template had the digests that the model has none of.
fn without_digests(job: &Job) -> Job {
    let template = Template {
        container_names: job.spec.template.container_names.clone(),
        labels: job.spec.template.labels.clone(),
        restart_policy: job.spec.template.restart_policy,
        ..Template::default()
    };
    let spec = JobSpec { template, ..JobSpec::clone(&job.spec) };
    Job { spec: Arc::new(spec), ..job.clone() }
}

fn on_the_models_clock(time: Time) -> Time {
    time.plus(-EPOCH)
}

fn job_back(job: &Job) -> Job {
    let mut job = without_digests(job);
    let status = &mut job.status;
    if let Some(lists) = &mut status.uncounted {
        lists.succeeded.iter_mut().chain(&mut lists.failed).for_each(|uid| *uid = number(*uid));
    }
    job.created = on_the_models_clock(job.created);
    status.start_time = status.start_time.map(on_the_models_clock);
    status.completion_time = status.completion_time.map(on_the_models_clock);
    for condition in &mut status.conditions {
        condition.last_transition_time = condition.last_transition_time.map(on_the_models_clock);
        condition.message = "".into();
    }
    job
}

/// The UID of a pod without its first digits, which are for people.
fn number(uid: Uid) -> Uid {
    Uid(uid.0 & u128::from(u64::MAX))
}

fn without_messages(job: &Job) -> Job {
    let mut job = job.clone();
    job.status.conditions.iter_mut().for_each(|condition| condition.message = "".into());
    job
}

fn pod_back(pod: &Pod, scope: &Scope) -> Pod {
    let policy = without_message(&pod.policy);
    let clock = |time: Option<Time>| time.map(on_the_models_clock);
    // The deletion of a pod bears the time in every scope, and the model's pods only where something depends on it.
    let finished = clock(pod.finished).map(|time| scope.stamp(time));
    let ready_changed = clock(pod.ready_changed);
    // Whose pod it is a reader finds out by its owners and labels.
    let (uid, created) = (number(pod.uid), on_the_models_clock(pod.created));
    Pod { uid, created, ready_changed, finished, policy, ..owned(pod) }
}

/// The pod as if the Job controlled it.
fn owned(pod: &Pod) -> Pod {
    Pod { controlled: true, incarnation: 0, selected: true, ..pod.clone() }
}

fn without_message(policy: &PolicyMatch) -> PolicyMatch {
    match policy {
        PolicyMatch::FailJob(_) => PolicyMatch::FailJob("".into()),
        other => other.clone(),
    }
}

/// The Jobs and pods that the answers of a trace show, as the model would hold them.
fn shown(scope: &Scope, path: &[Step]) -> (Vec<Job>, Vec<Pod>) {
    let trace = native(scope, path, None).unwrap();
    let mut reader = Reader::open(&[Input::Bytes("trace".to_owned(), trace)]);
    let (mut projector, mut jobs, mut pods) = (Projector::new(), Vec::new(), Vec::new());
    while let Some(record) = reader.next().unwrap() {
        let Body::Request(request) = record.body else { continue };
        let Some(object) = request.response.filter(|_| request.answer == Answer::Whole) else { continue };
        match request.resource {
            Resource::Jobs => jobs.push(job_back(&projector.job(object.text()).unwrap().job)),
            Resource::Pods => {
                let policy = scope.jobs[0].pod_failure_policy.as_ref();
                pods.push(pod_back(&projector.pod(object.text(), policy).unwrap().pod, scope));
            }
        }
    }
    (jobs, pods)
}

#[test]
fn objects_read_back_as_the_model_holds_them() {
    let (mut jobs_met, mut pods_met) = (0, 0);
    let scopes =
        model_scopes::all().into_iter().chain(reference::one_fault()).filter(|scope| scope.jobs.len() == 1);
    for scope in scopes {
        for seed in 0..4 {
            let path = walked(&scope, seed);
            let (jobs, pods) = shown(&scope, &path);
            let (mut held_jobs, mut held_pods) = (Vec::new(), Vec::new());
            let mut world = initial(&scope);
            for step in std::iter::once(None).chain(path.iter().map(Some)) {
                if let Some(step) = step {
                    world = world.apply(step, &scope);
                }
                held_jobs.extend(world.job_states[0].job.as_deref().map(without_messages));
                let policy = |pod: &Pod| without_message(&pod.policy);
                held_pods.extend(
                    world.job_states[0].pods.iter().map(|pod| Pod { policy: policy(pod), ..owned(pod) }),
                );
            }
            // A Job or pod that goes is shown once more, with nothing that holds it.
            let goes = |job: &Job| job.deleting && job.finalizers.is_empty();
            for job in jobs.iter().filter(|job| !goes(job)) {
                assert!(held_jobs.contains(job), "{} seed {seed}: {job:#?}", scope.name);
            }
            let goes = |pod: &Pod| pod.forced && !pod.finalizer && !pod.other_finalizers;
            for pod in pods.iter().filter(|pod| !goes(pod)) {
                assert!(held_pods.contains(pod), "{} seed {seed}: {pod:#?}", scope.name);
            }
            for held in &held_jobs {
                assert!(jobs.contains(held), "{} seed {seed}: {held:#?}", scope.name);
            }
            (jobs_met, pods_met) = (jobs_met + jobs.len(), pods_met + pods.len());
        }
    }
    assert!(jobs_met > 500 && pods_met > 500, "{jobs_met} {pods_met}");
}

/// Whether the manager deletes a pod that has ended, which its cache does not show. In the model it knows the pod
/// by the answer from then on; a trace is judged by what the request asked for alone.
fn deletes_an_ended_pod(scope: &Scope, path: &[Step]) -> bool {
    let mut world = initial(scope);
    path.iter().any(|step| {
        let before = world.clone();
        world = world.apply(step, scope);
        let Step::Write(job, Write::DeletePod(uid)) = step else { return false };
        before.job_state(*job).pods.get(*uid).is_some_and(Pod::is_terminated)
    })
}

/// Whether all that is wrong is that the deadline had passed by what the writer had seen. Views of the specification have
/// no times, so that to it a deadline that is over now may have been to come when the write was decided (SU-08).
fn comes_after_the_deadline(report: &ReplayReport) -> bool {
    let told = told(report);
    let is_meant = |line: &String| line.contains("DeadlineExceeded") && line.starts_with("TC-");
    report.exit_code == Exit::Violates && told.iter().all(is_meant)
}

#[test]
fn what_the_specification_admits_conforms() {
    let (mut wrong, mut traces) = (String::new(), 0);
    let told_apart = |scope: &Scope| begins_with_the_job(scope) && !has_a_user_of_the_status(scope);
    for scope in model_scopes::all().into_iter().filter(told_apart) {
        for seed in 0..20 {
            let path = walked(&scope, seed);
            if deletes_an_ended_pod(&scope, &path) {
                continue;
            }
            let report = replayed(&scope, &path);
            traces += 1;
            if report.exit_code != Exit::Conforms && !comes_after_the_deadline(&report) {
                let exit = report.exit_code;
                writeln!(wrong, "{} seed {seed}: {exit:?} {:#?}", scope.name, told(&report)).unwrap();
            }
        }
    }
    assert!(wrong.is_empty() && traces > 500, "of {traces}: {wrong}");
}
