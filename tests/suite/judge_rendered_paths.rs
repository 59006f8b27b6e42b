//! Paths through scopes as native traces: the judge agrees with the model.

use std::fmt::Write as _;
use std::sync::Arc;

use jobcheck_explorer::alphabet::Write;
use jobcheck_explorer::mutants::{MUTANTS, Mutant};
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::scopes as model_scopes;
use jobcheck_explorer::scopes::initial;
use jobcheck_explorer::scopes::reference;
use jobcheck_explorer::step::Step;
use jobcheck_judge::replay::Judging;
use jobcheck_judge::report::{Exit, ReplayReport};
use jobcheck_projection::Projector;
use jobcheck_scenario::render::EPOCH;
use jobcheck_spec::job::{Job, JobSpec, Template};
use jobcheck_spec::pod::{Pod, PolicyMatch};
use jobcheck_spec::{Req, Time, Uid};
use jobcheck_tests::scopes::{begins_with_the_job, has_a_user_of_the_status, walked};
use jobcheck_tests::traces::{described, input, rendered, replayed};
use jobcheck_traces::{Answer, Body, Reader, Resource};

fn judged(scope: &Scope, path: &[Step]) -> ReplayReport {
    replayed(&rendered(scope, path), &Judging::default())
}

/// Returns `true` if the clock of the TTL-after-finished controller is not ahead. A trace has the times of one clock,
/// by which a controller with a fast clock deletes Jobs too early (EN-08).
fn has_one_clock(scope: &Scope) -> bool {
    scope.ttl_clock(Time(0)) <= Time(0)
}

#[test]
fn walks_of_the_reference_algorithm_conform() {
    let (mut wrong, mut traces) = (String::new(), 0);
    let scopes =
        [reference::one_fault(), reference::ttl(), reference::rollouts(), reference::recreation()].concat();
    for scope in scopes.into_iter().filter(|scope| has_one_clock(scope) && begins_with_the_job(scope)) {
        for seed in 0..40 {
            let path = walked(&scope, seed);
            let report = judged(&scope, &path);
            traces += 1;
            if report.exit_code != Exit::Conforms {
                writeln!(
                    wrong,
                    "{} seed {seed}: {:?} {:#?}",
                    scope.name,
                    report.exit_code,
                    described(&report)
                )
                .unwrap();
            }
        }
    }
    assert_eq!((wrong, traces), (String::new(), 4640));
}

/// Defects for which the judge may report another requirement than the model, with that requirement.
const JUDGED_OTHERWISE: &[(&str, Option<Req>)] = &[
    // The TTL was raised within the window of a GET, and a trace shows no reads (TT-06).
    ("B48a", None),
    // A trace has the times of one clock (EN-08).
    ("B48d", None),
    // In a trace the effects of the orphan path on ownerless pods have a label.
    ("J-05", Some(Req::J05)),
    ("S-25", Some(Req::S25)),
    // A trace shows the refusal, hence the deviation.
    ("H2", Some(Req::H2)),
    // SY-04 concerns one sync, and a condition with status False may be removed (TC-10).
    ("B02", None),
    // A trace shows no memory of a process, and an obligation is not overdue before 120 s have passed.
    ("B43", None),
    ("J-07", None),
    ("J-08", None),
    ("J-09", None),
    ("B13c", None),
    // Expectations are internal to a process (PC-27); the trace shows a surplus pod.
    ("B38", Some(Req::PC04)),
];

fn is_same(found: Req, expected: Req) -> bool {
    found == expected || found.also().contains(&expected) || expected.also().contains(&found)
}

/// Returns the requirements that the model breaks on a path. They are those of the first write that is not admitted,
/// of a refused write, and of the mutant.
fn broken_in_the_model(mutant: &Mutant, path: &[Step]) -> Vec<Req> {
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
    for mutant in MUTANTS.iter().filter(|mutant| mutant.breaks_a_safety_property()) {
        let hunt = mutant.hunt();
        let path = &hunt.found().unwrap().path;
        let report = judged(&mutant.scope(), path);
        let found = first(&report);
        let otherwise = JUDGED_OTHERWISE.iter().find(|(id, _)| *id == mutant.id);
        let agrees = match otherwise {
            Some((_, expected)) => found == *expected,
            None => {
                broken_in_the_model(mutant, path).iter().any(|req| found.is_some_and(|it| is_same(it, *req)))
            }
        };
        agree += usize::from(agrees && otherwise.is_none());
        if !agrees {
            let (id, shows) = (mutant.id, mutant.shows);
            writeln!(wrong, "{id}: {shows:?}: {:?} {:#?}", report.exit_code, described(&report)).unwrap();
        }
    }
    assert_eq!((wrong, agree), (String::new(), 64));
}

/// The Job without the digests of its template, which the model lacks.
fn without_digests(job: &Job) -> Job {
    let template = Template {
        container_names: job.spec.template.container_names.clone(),
        labels: job.spec.template.labels.clone(),
        restart_policy: job.spec.template.restart_policy,
        ..Template::default()
    };
    let spec = JobSpec { template, ..JobSpec::clone(&job.spec) };
    Job { spec: Arc::new(spec), probes_digest: 0, ..job.clone() }
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

/// The UID of a pod without its first digits, which the renderer adds for readers.
fn number(uid: Uid) -> Uid {
    Uid(uid.0 & u128::from(u64::MAX))
}

fn without_messages(job: &Job) -> Job {
    let mut job = without_digests(job);
    job.status.conditions.iter_mut().for_each(|condition| condition.message = "".into());
    job
}

fn pod_back(pod: &Pod, scope: &Scope) -> Pod {
    let policy = without_message(&pod.policy);
    let clock = |time: Option<Time>| time.map(on_the_models_clock);
    // The model keeps the time of a deletion only in scopes that depend on it.
    let finished = clock(pod.finished).map(|time| scope.stamp(time));
    let ready_changed = clock(pod.ready_changed);
    // The judge assigns pods to Jobs by owner references and labels.
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

/// The Jobs and pods in the responses of a trace, in the types of the model.
fn shown(scope: &Scope, path: &[Step]) -> (Vec<Job>, Vec<Pod>) {
    let mut reader = Reader::open(&[input("trace", &rendered(scope, path))]);
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
fn objects_of_a_trace_are_the_objects_of_the_model() {
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
            // A removed Job or pod is shown once more, without a finalizer.
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
    assert!(jobs_met > 3240 && pods_met > 3757, "{jobs_met} {pods_met}");
}

/// Returns `true` if the manager deletes a terminated pod that its cache shows as running. The model then lets it learn the
/// end of the pod from the response. A trace is judged by the request alone.
fn deletes_a_terminated_pod(scope: &Scope, path: &[Step]) -> bool {
    let mut world = initial(scope);
    path.iter().any(|step| {
        let before = world.clone();
        world = world.apply(step, scope);
        let Step::Write(job, Write::DeletePod(uid)) = step else { return false };
        before.job_state(*job).pods.get(*uid).is_some_and(Pod::is_terminated)
    })
}

/// Returns `true` if every violation concerns a write after the deadline. Views of the specification have no times, so the
/// specification admits a write that ignores a deadline which has passed since its decision (SU-08).
fn comes_after_the_deadline(report: &ReplayReport) -> bool {
    let violations = described(report);
    let is_meant = |line: &String| line.contains("DeadlineExceeded") && line.starts_with("TC-");
    report.exit_code == Exit::Violates && violations.iter().all(is_meant)
}

#[test]
fn walks_of_the_specification_conform() {
    let (mut wrong, mut traces) = (String::new(), 0);
    let is_judged = |scope: &Scope| begins_with_the_job(scope) && !has_a_user_of_the_status(scope);
    for scope in model_scopes::all().into_iter().filter(is_judged) {
        for seed in 0..20 {
            let path = walked(&scope, seed);
            if deletes_a_terminated_pod(&scope, &path) {
                continue;
            }
            let report = judged(&scope, &path);
            traces += 1;
            if report.exit_code != Exit::Conforms && !comes_after_the_deadline(&report) {
                let exit = report.exit_code;
                writeln!(wrong, "{} seed {seed}: {exit:?} {:#?}", scope.name, described(&report)).unwrap();
            }
        }
    }
    assert_eq!((wrong, traces), (String::new(), 1262));
}
