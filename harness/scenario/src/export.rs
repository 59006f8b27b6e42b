//! Export of a counterexample as a scenario: the steps of the environment, without those of the controllers.

use std::collections::BTreeMap;

use jobcheck_explorer::env::disruption::DisruptionStep;
use jobcheck_explorer::env::kubelet::KubeletStep;
use jobcheck_explorer::env::user::{HOLD, SpecEdit, TEMPLATE_LABEL, UserAction, UserStep};
use jobcheck_explorer::process::steps::{ProcessStep, RequestOutcome};
use jobcheck_explorer::process::ttl::TtlStep;
use jobcheck_explorer::scope::{Scope, TtlSubject};
use jobcheck_explorer::scopes::initial;
use jobcheck_explorer::script::{PodRef, Request as Sent, RequestHandling, RequestKind, request_of};
use jobcheck_explorer::step::Step as ModelStep;
use jobcheck_explorer::world::{JobId, World};
use jobcheck_spec::Req;
use jobcheck_spec::apiserver::RuleSet;
use jobcheck_spec::constants::Constants;
use jobcheck_spec::gates::Gates;
use jobcheck_spec::uid::Uid;
use serde_saphyr::{Location, Spanned};

use super::format::{
    ApiServer, ApiVersion, Bounds, Controller, JobEntry, JobMetadata, Kind, PodBefore, Scenario,
    TtlControllerEntry, Watches,
};
use super::read::ScenarioError;
use super::spec::{ReplacementEntry, SpecExcerpt};
use super::steps::{
    ControllerName, Crash, Denial, Edit, Failure, JobDeletion, Leader, Mirror, Nothing, Outcome, PodDeletion,
    PodTarget, Propagation, Report, Request, Resignation, Resource, Rollout, Step, TemplateEdit,
    TemplateMetadata, Verb,
};
use super::subject;
use super::values::{Condition, ExitCode, Gate, Id, Span};

/// The metadata of a scenario.
#[derive(Clone, Debug)]
pub struct About<'a> {
    /// The name. Characters that are not allowed become `-`.
    pub name: &'a str,
    /// The purpose.
    pub about: &'a str,
    /// The requirement that it breaks.
    pub requirement: Option<Req>,
    /// The source.
    pub source: Option<&'a str>,
}

/// The reason why a counterexample cannot be exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The counterexample is about the specification itself, without a controller.
    #[error("the counterexample is one of the specification itself, and a scenario needs a controller")]
    NoController,
    /// The format has no step for an event of the counterexample.
    #[error("the format has no step for {0}")]
    NoWord(&'static str),
    /// The exported scenario cannot be run.
    #[error(transparent)]
    Invalid(#[from] ScenarioError),
    /// The correct algorithm breaks the scenario too.
    #[error("the scenario does not hold without the defect: {0}")]
    NotSound(String),
    /// The defect does not break the requirement in the scenario.
    #[error("the defect does not break {0} in this scenario")]
    NotShown(Req),
}

/// Returns the scenario of a path through a scope.
///
/// # Errors
///
/// The path cannot be expressed as a scenario.
pub fn export(scope: &Scope, path: &[ModelStep], about: &About<'_>) -> Result<Scenario, ExportError> {
    let Some(algorithm) = scope.algorithm() else { return Err(ExportError::NoController) };
    let steps = Export { scope, since: Vec::new(), steps: Vec::new() }.steps(path)?;
    let name = about.name.to_ascii_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    let mut except = scope.without.clone();
    except.sort_unstable();
    except.dedup();
    let ttl = match algorithm.ttl {
        TtlSubject::Specification => None,
        TtlSubject::Controller { clock_ahead } => {
            Some(TtlControllerEntry { clock_ahead: Some(clock_ahead).filter(|ahead| *ahead != 0) })
        }
    };
    let found = scope.found.iter();
    Ok(Scenario {
        api_version: ApiVersion::V1,
        kind: Kind::Scenario,
        name,
        about: about.about.to_owned(),
        requirements: about.requirement.map(Id).into_iter().collect(),
        source: about.source.map(str::to_owned),
        targets: Vec::new(),
        jobs: jobs(scope),
        pods_before: found
            .map(|pod| PodBefore { controlled: pod.controlled, phase: pod.phase.into() })
            .collect(),
        unscheduled: scope.unscheduled,
        controller: Some(controller(scope)),
        ttl_controller: ttl,
        api_server: api_server(scope)?,
        watches: watches(scope),
        bounds: Some(Bounds { pods: Some(scope.pods) }),
        except: except.into_iter().map(Id).collect(),
        steps: steps.into_iter().map(located).collect(),
        expect: Vec::new(),
        deviations: Vec::new(),
    })
}

/// Returns a value without a position, for a scenario that was not parsed.
pub(super) fn located<T>(value: T) -> Spanned<T> {
    Spanned::new(value, Location::UNKNOWN, Location::UNKNOWN)
}

fn name_of(job: usize) -> String {
    format!("job-{job}")
}

fn jobs(scope: &Scope) -> Vec<JobEntry> {
    let entry = |(number, spec)| JobEntry {
        name: name_of(number),
        metadata: JobMetadata::default(),
        spec: located(SpecExcerpt::of(spec)),
    };
    scope.jobs.iter().enumerate().map(entry).collect()
}

fn controller(scope: &Scope) -> Controller {
    let (is, default) = (&scope.constants, Constants::V1_36);
    let other = |value: i64, default: i64| Some(Span(value)).filter(|_| value != default);
    Controller {
        pod_failure_backoff: other(is.pod_failure_backoff_ms, default.pod_failure_backoff_ms),
        pod_failure_backoff_max: other(is.pod_failure_backoff_max_ms, default.pod_failure_backoff_max_ms),
        max_uncounted_pods: Some(is.max_uncounted_pods).filter(|most| *most != default.max_uncounted_pods),
        feature_gates: off(scope.gates_after(0)),
    }
}

/// The gates that are off.
fn off(gates: Gates) -> BTreeMap<Gate, bool> {
    let off = gates.off();
    let is_off = |gate: &Gate| off.contains(&format!("{gate:?}").as_str());
    Gate::ALL.into_iter().filter(is_off).map(|gate| (gate, false)).collect()
}

fn api_server(scope: &Scope) -> Result<Option<ApiServer>, ExportError> {
    let gates = Gates {
        job_managed_by: scope.rules.job_managed_by,
        job_pod_replacement_policy: scope.rules.pod_replacement_policy,
        job_backoff_limit_per_index: scope.rules.backoff_limit_per_index,
        job_success_policy: scope.rules.success_policy,
    };
    if subject::rules(&gates) != scope.rules {
        return Err(ExportError::NoWord("an API server of another version"));
    }
    if !scope.refused.is_empty() {
        return Err(ExportError::NoWord("requests that are always refused"));
    }
    Ok((scope.rules != RuleSet::V1_36).then(|| ApiServer { feature_gates: off(gates) }))
}

fn watches(scope: &Scope) -> Option<Watches> {
    let behind = |events: usize| Some(events).filter(|events| *events > 0);
    let watches = Watches { pods: behind(scope.lag), jobs: behind(scope.job_lag) };
    (watches.pods.is_some() || watches.jobs.is_some()).then_some(watches)
}

struct Export<'a> {
    scope: &'a Scope,
    /// The requests that were handled since the last step.
    since: Vec<(JobId, Sent)>,
    steps: Vec<Step>,
}

impl Export<'_> {
    fn steps(mut self, path: &[ModelStep]) -> Result<Vec<Step>, ExportError> {
        let mut world = initial(self.scope);
        for step in path {
            self.step(step, &world)?;
            world = world.apply(step, self.scope);
        }
        Ok(self.steps)
    }

    fn step(&mut self, step: &ModelStep, world: &World) -> Result<(), ExportError> {
        if let Some((job, request, RequestHandling::Sent(RequestOutcome::Handled))) = request_of(step) {
            self.since.push((job, request));
            return Ok(());
        }
        let Some((job, happening)) = self.event(step, world)? else { return Ok(()) };
        let several = self.scope.jobs.len() > 1;
        let job = job.filter(|_| several).map(|job| name_of(usize::from(job.0)));
        let happening = Step { job, ..happening };
        self.since.clear();
        let (last, span) = (self.steps.last_mut().and_then(|step| step.advance.as_mut()), happening.advance);
        match (last, span) {
            (Some(last), Some(span)) => last.0 += span.0,
            _ => self.steps.push(happening),
        }
        Ok(())
    }

    /// The event of the environment, and its Job. `None` for a step of a controller, or for one that follows by
    /// itself.
    fn event(&self, step: &ModelStep, world: &World) -> Result<Option<(Option<JobId>, Step)>, ExportError> {
        let default = Step::default;
        let (job, happening) = match step {
            ModelStep::Kubelet(_, _, KubeletStep::Remove)
            | ModelStep::Disrupt(_, _, DisruptionStep::Delete)
            | ModelStep::Collect(..)
            | ModelStep::RemoveJob(_)
            | ModelStep::ShowPod(_)
            | ModelStep::ShowJob(_)
            | ModelStep::Write(..)
            | ModelStep::Expire(_)
            | ModelStep::Crash(_)
            | ModelStep::Proceed => return Ok(None),
            ModelStep::Kubelet(job, uid, what) => (*job, of_kubelet(*uid, *what)?),
            ModelStep::Disrupt(job, uid, what) => (*job, of_disruption(*uid, *what)),
            ModelStep::User(job, _, what) => (*job, of_user(*what, world)?),
            ModelStep::Rollout(job) => {
                let gates = self.scope.gates_after(world.job_state(*job).rollouts + 1);
                (*job, Step { rollout: Some(Rollout { feature_gates: off(gates) }), ..default() })
            }
            ModelStep::Process(job, number, what) => match self.of_process(*number, *what, step) {
                Some(happening) => (*job, happening),
                None => return Ok(None),
            },
            ModelStep::Ttl(job, what) => match what {
                TtlStep::Sync | TtlStep::Show => return Ok(None),
                TtlStep::Crash => {
                    let crash = Crash { controller: Some(ControllerName::Ttl), during: None };
                    (*job, Step { crash: Some(crash), ..default() })
                }
                TtlStep::Get(_) | TtlStep::Delete(_) => (*job, self.request(step)),
            },
            ModelStep::HandleDelayed(job) => (*job, Step { late_request: Some(Nothing {}), ..default() }),
            ModelStep::Tick => return Ok(Some((None, Step { advance: Some(Span(1000)), ..default() }))),
        };
        Ok(Some((Some(job), happening)))
    }

    fn of_process(&self, number: u8, what: ProcessStep, step: &ModelStep) -> Option<Step> {
        let default = Step::default;
        match what {
            ProcessStep::Sync(_)
            | ProcessStep::Choose(_)
            | ProcessStep::ShowPod
            | ProcessStep::ShowJob
            | ProcessStep::RelistPods
            | ProcessStep::RelistJobs => None,
            ProcessStep::Call(..) | ProcessStep::Orphan(..) => Some(self.request(step)),
            ProcessStep::Crash => {
                Some(Step { crash: Some(Crash { controller: None, during: None }), ..default() })
            }
            ProcessStep::CrashInFlight(_) => {
                let crash = Crash { controller: None, during: self.request_of(step) };
                Some(Step { crash: Some(crash), ..default() })
            }
            ProcessStep::ElectSecondLeader => Some(Step { second_leader: Some(Nothing {}), ..default() }),
            ProcessStep::StopOldLeader => {
                let leader = if number == 0 { Leader::First } else { Leader::Second };
                Some(Step { resign: Some(Resignation { leader }), ..default() })
            }
        }
    }

    fn request(&self, step: &ModelStep) -> Step {
        Step { request: self.request_of(step), ..Step::default() }
    }

    fn request_of(&self, step: &ModelStep) -> Option<Request> {
        let (job, sent, fate) = request_of(step)?;
        let before = self.since.iter().filter(|(of, other)| *of == job && *other == sent).count();
        let (verb, resource) = match sent.kind {
            RequestKind::CreatePod => (Verb::Create, Resource::Pods),
            RequestKind::DeletePod => (Verb::Delete, Resource::Pods),
            RequestKind::PatchPod => (Verb::Patch, Resource::Pods),
            RequestKind::UpdateStatus => (Verb::Update, Resource::JobStatus),
            RequestKind::GetJob => (Verb::Get, Resource::Jobs),
            RequestKind::DeleteJob => (Verb::Delete, Resource::Jobs),
        };
        let (pod, index) = match sent.pod {
            PodRef::Number(number) => (Some(number), None),
            PodRef::Index(index) => (None, Some(index)),
            PodRef::Any => (None, None),
        };
        let outcome = match fate {
            RequestHandling::Sent(RequestOutcome::Handled) => Some(Outcome::Handled),
            RequestHandling::Sent(RequestOutcome::Fails) => Some(Outcome::Fails),
            RequestHandling::Sent(RequestOutcome::ResponseLost) => Some(Outcome::ResponseLost),
            RequestHandling::Orphaned => None,
        };
        let nth = u8::try_from(before + 1).ok().filter(|nth| *nth > 1);
        Some(Request { verb, resource, pod, index, nth, outcome, code: None, leader: None })
    }
}

fn number(uid: Uid) -> Option<u8> {
    u8::try_from(uid.0).ok()
}

fn target(uid: Uid) -> Option<PodTarget> {
    Some(PodTarget { pod: number(uid), ..PodTarget::default() })
}

fn of_kubelet(uid: Uid, what: KubeletStep) -> Result<Step, ExportError> {
    let (default, pod) = (Step::default, target(uid));
    Ok(match what {
        KubeletStep::Schedule => return Err(ExportError::NoWord("the scheduler")),
        KubeletStep::Run => Step { run: pod, ..default() },
        KubeletStep::Ready => Step { ready: pod, ..default() },
        KubeletStep::Unready => Step { unready: pod, ..default() },
        KubeletStep::Restart => Step { restart: pod, ..default() },
        KubeletStep::Succeed => Step { succeed: pod, ..default() },
        KubeletStep::Fail(code) => {
            let exit_code = Some(ExitCode(code)).filter(|code| code.0 != 1);
            Step { fail: Some(Failure { pod: number(uid), index: None, exit_code }), ..default() }
        }
        KubeletStep::Flip => Step { flip: pod, ..default() },
        KubeletStep::Remove => default(),
    })
}

fn of_disruption(uid: Uid, what: DisruptionStep) -> Step {
    let (default, pod) = (Step::default, target(uid));
    match what {
        DisruptionStep::Evict => Step { evict: pod, ..default() },
        DisruptionStep::LoseNode => Step { lose_node: pod, ..default() },
        DisruptionStep::FailByPodGc => Step { pod_gc: pod, ..default() },
        DisruptionStep::ForceDelete => {
            let deletion = PodDeletion { pod: number(uid), index: None, force: Some(true) };
            Step { delete_pod: Some(deletion), ..default() }
        }
        DisruptionStep::Delete => default(),
    }
}

fn of_edit(edit: SpecEdit, indexed: bool) -> Edit {
    let same = Edit::default();
    match edit {
        SpecEdit::Suspend | SpecEdit::SuspendStarted => Edit { suspend: Some(true), ..same },
        SpecEdit::Resume => Edit { suspend: Some(false), ..same },
        SpecEdit::Scale(to) => Edit { parallelism: Some(to), completions: indexed.then_some(to), ..same },
        SpecEdit::SetParallelism(to) => Edit { parallelism: Some(to), ..same },
        SpecEdit::SetTtl(ttl) => Edit { ttl_seconds_after_finished: Some(ttl), ..same },
        SpecEdit::SetDeadline(deadline) => Edit { active_deadline_seconds: Some(deadline), ..same },
        SpecEdit::SetBackoffLimit(limit) => Edit { backoff_limit: Some(limit), ..same },
        SpecEdit::SetMaxFailedIndexes(limit) => Edit { max_failed_indexes: Some(limit), ..same },
        SpecEdit::SetReplacementPolicy(policy) => {
            Edit { pod_replacement_policy: ReplacementEntry::of(policy), ..same }
        }
        SpecEdit::LabelTemplate => {
            let labels = [(TEMPLATE_LABEL.to_owned(), "true".to_owned())].into();
            let metadata = Some(TemplateMetadata { labels, ..TemplateMetadata::default() });
            Edit { template: Some(TemplateEdit { metadata, spec: None }), ..same }
        }
    }
}

fn of_user(what: UserStep, world: &World) -> Result<Step, ExportError> {
    let default = Step::default;
    let edit = |edit: Edit| Step { edit: Some(edit), ..default() };
    let delete = |propagation| Step { delete_job: Some(JobDeletion { propagation }), ..default() };
    let deny = |condition| Step { deny: Some(Denial { condition }), ..default() };
    let mirror = |reports| Step { mirror: Some(Mirror { reports }), ..default() };
    let indexed =
        world.job_states.iter().flat_map(|job_state| &job_state.job).any(|job| job.spec.is_indexed());
    Ok(match what {
        UserStep::DeletePod(uid) => {
            let deletion = PodDeletion { pod: number(uid), index: None, force: None };
            Step { delete_pod: Some(deletion), ..default() }
        }
        UserStep::StripOwner(uid) => Step { disown: target(uid), ..default() },
        UserStep::Relabel(uid) => Step { relabel: target(uid), ..default() },
        UserStep::Job(action) => match action {
            UserAction::Edit(change) => edit(of_edit(change, indexed)),
            UserAction::HoldJob => Step { add_finalizer: Some(HOLD.to_owned()), ..default() },
            UserAction::ReleaseJob => Step { remove_finalizer: Some(HOLD.to_owned()), ..default() },
            UserAction::DeleteNamespace => Step { delete_namespace: Some(Nothing {}), ..default() },
            UserAction::DenyFailureTarget => deny(Condition::FailureTarget),
            UserAction::DenyFailed => deny(Condition::Failed),
            UserAction::DeleteJob(asked)
            | UserAction::DeleteFinished(asked)
            | UserAction::DeleteAgain(asked) => delete(asked.into()),
            UserAction::DeleteOwner => delete(Propagation::Background),
            UserAction::MirrorStarts => mirror(Report::Running),
            UserAction::MirrorAnnounces => mirror(Report::FailureTarget),
            UserAction::MirrorFinishes => mirror(Report::Failed),
            UserAction::Recreate => Step { recreate: Some(Nothing {}), ..default() },
            UserAction::DeletePod
            | UserAction::DeleteEndedPod
            | UserAction::StripOwner
            | UserAction::Relabel => {
                return Err(ExportError::NoWord("an action without a pod"));
            }
        },
    })
}
