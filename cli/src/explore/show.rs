//! The content of the page as JSON: a path, the state at its end, and the enabled steps.

use jobcheck_explorer::counterexample::Counterexample;
use jobcheck_explorer::mutants::Mutant;
use jobcheck_explorer::narrative::{self, Line, Objection, status_text};
use jobcheck_explorer::process::state::Process;
use jobcheck_explorer::process::steps::Delivery;
use jobcheck_explorer::process::steps::{ProcessStep, RequestOutcome};
use jobcheck_explorer::process::ttl::TtlStep;
use jobcheck_explorer::properties::{DEADLOCK, PROPERTIES, deadlock};
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::scopes::initial;
use jobcheck_explorer::step::Step;
use jobcheck_explorer::transition::admits;
use jobcheck_explorer::world::{Driver, JobId, JobState, World};
use jobcheck_scenario::render::native;
use jobcheck_spec::job::JobSpec;
use jobcheck_spec::pod::Pod;
use jobcheck_spec::requirement::Broken;
use jobcheck_spec::{CATALOGUE, Uid};
use serde_json::{Value, json};

use super::cycles::Cycle;

/// A scope that is stepped through.
///
/// A path is a list of numbers. Each number is the position of the step that was taken among the steps that were enabled
/// in its state. The order of enabled steps never changes.
pub struct Explorer {
    scope: Scope,
    /// The scope with all its guards, which judge the steps.
    strict: Scope,
    mutant: Option<&'static Mutant>,
    start: Vec<usize>,
    /// The cycle, if the page begins at a counterexample to progress.
    cycle: Option<Cycle>,
}

/// A path as the address of the page has it: `0.3.1`.
fn joined(path: &[usize]) -> String {
    path.iter().map(usize::to_string).collect::<Vec<_>>().join(".")
}

/// The path in an address; `None` if it is no path.
fn parsed(text: &str) -> Option<Vec<usize>> {
    let parts = text.split('.').filter(|part| !part.is_empty());
    parts.map(|part| part.parse().ok()).collect()
}

impl Explorer {
    /// Begins at the end of a counterexample, or in the initial state.
    pub fn new(scope: Scope, mutant: Option<&'static Mutant>, found: Option<&Counterexample>) -> Explorer {
        let mut world = initial(&scope);
        let mut start = Vec::new();
        for step in found.iter().flat_map(|found| &found.path) {
            let Some(number) = world.enabled(&scope).iter().position(|enabled| enabled == step) else {
                break;
            };
            start.push(number);
            world = world.apply(step, &scope);
        }
        let strict = Scope { without: Vec::new(), ..scope.clone() };
        let cycle = found.and_then(|found| Cycle::of(&scope, found, &start));
        Explorer { scope, strict, mutant, start, cycle }
    }

    /// The path to begin with, as an address has it.
    pub fn start(&self) -> String {
        joined(&self.start)
    }

    /// The facts that are the same in every state.
    pub fn about(&self) -> Value {
        let manager = match self.scope.subject.name() {
            "specification" => "the specification",
            "algorithm" => "the reference algorithm",
            _ => "the shipped controllers",
        };
        json!({
            "scope": self.scope.name,
            "about": self.mutant.map_or(self.scope.about, |mutant| mutant.title),
            "manager": manager,
            "mutant": self.mutant.map(|mutant| mutant.id),
            "breaks": self.mutant.map(|mutant| mutant.requirement().id()),
            "without": self.scope.without.iter().map(|req| req.id()).collect::<Vec<_>>(),
            "start": self.start(),
            "rules": CATALOGUE.iter().map(|it| it.id).collect::<Vec<_>>(),
        })
    }

    /// The steps of a path, and the state at its end; `None` if there is no such path.
    fn steps(&self, path: &[usize]) -> Option<(Vec<Step>, World)> {
        let mut world = initial(&self.scope);
        let mut steps = Vec::new();
        for number in path {
            let step = world.enabled(&self.scope).get(*number)?.clone();
            world = world.apply(&step, &self.scope);
            steps.push(step);
        }
        Some((steps, world))
    }

    /// The path, the state at its end, and the enabled steps; `None` if there is no such path.
    pub fn state(&self, path: &str) -> Option<Value> {
        let path = parsed(path)?;
        let (steps, world) = self.steps(&path)?;
        let previous = path.split_last().and_then(|(_, before)| self.steps(before));
        let previous = previous.map(|(_, world)| self.jobs(&world));
        let lines = narrative::lines(&self.scope, &steps);
        let story: Vec<Value> = lines
            .iter()
            .enumerate()
            .map(|(number, line)| {
                let mut step = step_line(line);
                step["path"] = json!(joined(&path[..=number]));
                step["breaks"] = json!(!line.objections.is_empty() || line.refusal.is_some());
                step
            })
            .collect();
        let enabled = world.enabled(&self.scope);
        let next = enabled.iter().enumerate().map(|(number, step)| {
            let mut step = self.offered(step, &world);
            step["path"] = json!(joined(&[&path[..], &[number]].concat()));
            step["continues"] = json!(self.cycle.as_ref().is_some_and(|it| it.continues(&path, number)));
            step
        });
        let mut broken = self.broken(&world, &enabled);
        broken.extend(self.cycle.as_ref().and_then(|it| it.broken(&path)).cloned());
        Some(json!({
            "path": joined(&path),
            "story": story,
            "now": world.now.0,
            "jobs": self.jobs(&world),
            "previous": previous,
            "broken": broken,
            "mark": self.cycle.as_ref().and_then(|it| it.mark(&path)),
            "next": next.collect::<Vec<_>>(),
        }))
    }

    fn jobs(&self, world: &World) -> Vec<Value> {
        world.numbered().map(|(id, job_state)| self.job(id, job_state, world)).collect()
    }

    /// The path as a native trace; `None` if there is no such path.
    pub fn trace(&self, path: &str) -> Option<Vec<u8>> {
        let (steps, _) = self.steps(&parsed(path)?)?;
        native(&self.scope, &steps, None).ok()
    }

    /// An enabled step with the verdict of the specification, and the properties that it breaks.
    fn offered(&self, step: &Step, world: &World) -> Value {
        let line = narrative::line(step, world, &self.scope);
        let mut offered = step_line(&line);
        let after = world.apply(step, &self.scope);
        let verdict = match (admits(world, step, &self.strict), step) {
            (Err(broken), _) => refused(&broken),
            (Ok(()), Step::Write(..) | Step::Expire(_)) => json!({ "kind": "admitted" }),
            (
                Ok(()),
                Step::Process(_, _, ProcessStep::Call(..) | ProcessStep::Orphan(..))
                | Step::Ttl(_, TtlStep::Delete(_)),
            ) => request_verdict(&line),
            (Ok(()), _) => json!({ "kind": "environment" }),
        };
        offered["verdict"] = verdict;
        let (before, then) =
            (self.broken(world, &[Step::Tick]), self.broken(&after, &after.enabled(&self.scope)));
        offered["breaks"] = json!(then.into_iter().filter(|it| !before.contains(it)).collect::<Vec<_>>());
        offered
    }

    fn broken(&self, world: &World, enabled: &[Step]) -> Vec<Value> {
        let of_job_state = |job_state: &JobState| {
            let found =
                PROPERTIES.iter().filter_map(|property| Some((property, (property.broken)(job_state)?)));
            found
                .map(|(property, why)| json!({ "requirement": property.req.id(), "property": property.name, "why": why }))
                .collect::<Vec<_>>()
        };
        let mut broken: Vec<Value> = world.job_states.iter().flat_map(of_job_state).collect();
        let stuck = deadlock(world, enabled, &self.scope);
        broken.extend(stuck.map(|why| json!({ "requirement": null, "property": DEADLOCK, "why": why })));
        broken
    }

    fn job(&self, id: JobId, job_state: &JobState, world: &World) -> Value {
        let job = job_state.job.as_deref();
        let spec = job.map(|job| spec(&job.spec));
        let processes = job_state.processes().iter().enumerate();
        let processes = processes.map(|(number, process)| self.process(id, number, process, world));
        json!({
            "name": job.map_or_else(|| format!("job-{}", id.0), |job| job.name.to_string()),
            "gone": job.is_none(),
            "deleting": job.is_some_and(|job| job.deleting),
            "spec": spec,
            "status": job.map(|job| status_text(&job.status)),
            "pods": job_state.pods.iter().map(|it| pod(it, job_state)).collect::<Vec<_>>(),
            "manager": manager(job_state),
            "processes": processes.collect::<Vec<_>>(),
            "late": job_state.delayed().map(|_| narrative::line(&Step::HandleDelayed(id), world, &self.scope).what),
            "faults": {
                "failures": job_state.faults.failures, "losses": job_state.faults.losses, "crashes": job_state.faults.crashes,
            },
        })
    }

    fn process(&self, id: JobId, number: usize, process: &Process, world: &World) -> Value {
        let by = u8::try_from(number).unwrap_or(u8::MAX);
        let waiting = process.sync.iter().flat_map(|sync| sync.calls());
        let requests = waiting.map(|call| {
            let call = Step::Process(id, by, ProcessStep::Call(call.name(), RequestOutcome::Handled));
            narrative::line(&call, world, &self.scope).what
        });
        let next: Vec<String> = requests.collect();
        let old = process.job_behind.first().and_then(|unseen| unseen.before.as_ref());
        let old = old.map(|job| status_text(&job.status));
        json!({
            "podCacheLacks": pods(process.knowledge.behind.iter().map(|unseen| unseen.uid)),
            "jobCacheLags": process.job_behind.len(),
            "jobCacheShows": old,
            "syncing": process.sync.is_some(),
            "next": next,
            "conflicts": process.sync.as_ref().is_some_and(|sync| sync.conflicts),
            "queued": process.queued,
            "waits": process.waits_after(Delivery::default(), self.scope.mutations()),
            "wake": process.wake.map(|time| time.0),
            "orphans": pods(process.orphans.iter().copied()),
            "memory": process.memory.contents(),
        })
    }
}

/// A step with its notes.
fn step_line(line: &Line) -> Value {
    json!({ "who": line.who, "what": line.what, "notes": line.notes(None) })
}

/// The verdict of the guards and the server on a request of a controller.
fn request_verdict(line: &Line) -> Value {
    match line.objections.first().or(line.refusal.as_ref()) {
        Some(Objection { req, text }) => {
            let sentence = format!("{} ({text})", req.entry().sentence);
            json!({ "kind": "breaks", "requirement": req.id(), "sentence": sentence })
        }
        None => json!({ "kind": "admitted" }),
    }
}

fn refused(broken: &Broken) -> Value {
    json!({
        "kind": "breaks",
        "requirement": broken.req.id(),
        "sentence": format!("{}: expected {}, found {}", broken.what, broken.expected, broken.found),
    })
}

fn pods(uids: impl Iterator<Item = Uid>) -> Vec<String> {
    uids.map(|uid| format!("pod {}", uid.0)).collect()
}

/// The changes that the specification, as the manager, has not seen.
fn manager(job_state: &JobState) -> Option<Value> {
    let Driver::Specification(knowledge) = &job_state.driver else { return None };
    Some(json!({
        "podCacheLacks": pods(knowledge.behind.iter().map(|unseen| unseen.uid)),
        "jobCacheShows": knowledge.old_job.as_ref().map(|job| status_text(&job.status)),
    }))
}

fn pod(pod: &Pod, job_state: &JobState) -> Value {
    let status = job_state.job.as_ref().map(|job| &job.status);
    let listed = |list: &[Uid]| list.contains(&pod.uid);
    let recorded = match status {
        Some(status) if listed(status.uncounted_succeeded()) => "as succeeded",
        Some(status) if listed(status.uncounted_failed()) => "as failed",
        Some(_) | None => "",
    };
    json!({
        "name": format!("pod {}", pod.uid.0),
        "index": pod.index,
        "phase": format!("{:?}", pod.phase),
        "ready": pod.ready,
        "deleting": pod.deleting,
        "finalizer": pod.finalizer,
        "recorded": recorded,
        "failures": pod.failure_count,
    })
}

/// The fields of a spec that are set, in the order of the API.
fn spec(spec: &JobSpec) -> Vec<Value> {
    let number = |value: Option<i32>| value.map(|value| value.to_string());
    let pairs = [
        ("parallelism", number(spec.parallelism)),
        ("completions", number(spec.completions)),
        ("completionMode", spec.completion_mode.map(|mode| format!("{mode:?}"))),
        ("suspend", spec.suspend.filter(|suspend| *suspend).map(|_| "true".to_owned())),
        ("backoffLimit", number(spec.backoff_limit.filter(|limit| *limit != i32::MAX))),
        ("backoffLimitPerIndex", number(spec.backoff_limit_per_index)),
        ("maxFailedIndexes", number(spec.max_failed_indexes)),
        ("activeDeadlineSeconds", spec.active_deadline_seconds.map(|seconds| seconds.to_string())),
        ("ttlSecondsAfterFinished", number(spec.ttl_seconds_after_finished)),
        ("podReplacementPolicy", spec.pod_replacement_policy.map(|policy| format!("{policy:?}"))),
        ("podFailurePolicy", spec.pod_failure_policy.as_ref().map(|policy| rules(policy.rules.len()))),
        ("successPolicy", spec.success_policy.as_ref().map(|policy| rules(policy.rules.len()))),
    ];
    pairs.into_iter().filter_map(|(key, value)| Some(json!([key, value?]))).collect()
}

fn rules(count: usize) -> String {
    if count == 1 { "1 rule".to_owned() } else { format!("{count} rules") }
}
