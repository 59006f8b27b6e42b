//! Translation of the steps of a scenario to the script of a scope.

use jobcheck_explorer::env::disruption::{Disruption, DisruptionStep};
use jobcheck_explorer::env::kubelet::KubeletStep;
use jobcheck_explorer::env::user::UserAction;
use jobcheck_explorer::process::steps::{Faults, RequestOutcome};
use jobcheck_explorer::script::{
    Caches, Claim, Expectation, Flag, Item, Number, Paused, PodRef, Request as Sent, RequestHandling, Script,
    What,
};
use jobcheck_explorer::world::JobId;
use jobcheck_spec::gates::Gates;
use serde_saphyr::Spanned;

use super::claims::{Claims, PodClaims};
use super::expressible::{beyond, edited};
use super::format::{JobMetadata, Scenario};
use super::read::ScenarioError;
use super::requests::sent;
use super::spec::ModeEntry;
use super::steps::{ControllerName, HeldRequest, Leader, Outcome, PodTarget, Report, Request, Step, Watched};
use super::values::Condition;

/// The settings of a scope that the steps of a scenario require.
#[derive(Default)]
pub struct Needs {
    /// The script.
    pub script: Script,
    /// The actions of the user.
    pub user: Vec<UserAction>,
    /// The disruptions of pods.
    pub disruptions: Vec<Disruption>,
    /// The numbers of faults.
    pub faults: Faults,
    /// If true, the request of a terminated process can be handled later.
    pub delayed_requests: bool,
    /// The number of seconds that pass.
    pub ticks: i64,
    /// If true, pods run and become ready.
    pub phases: bool,
    /// If true, kubelets can change a success to a failure.
    pub flips: bool,
    /// If true, pods can become unready.
    pub unready: bool,
    /// The number of container restarts.
    pub restarts: u32,
    /// The feature gates of each rollout.
    pub gates: Vec<Gates>,
}

/// The number of bits in a state for the actions of users and disruptions.
const MOST_ACTIONS: usize = 16;

/// The maximum number of items in a script. Each second is one item, and a state counts items in 16 bits.
const MOST_ITEMS: usize = 10_000;

/// Translates the steps and expectations of a scenario.
///
/// # Errors
///
/// The model cannot express a step.
pub fn needs(scenario: &Scenario) -> Result<Needs, ScenarioError> {
    let is_beyond = |it: &JobMetadata| !it.finalizers.is_empty() || it.owner.is_some();
    if let Some(job) = scenario.jobs.iter().find(|job| is_beyond(&job.metadata)) {
        let why = "in the model a Job has no owner, and gets finalizers by a step `addFinalizer`";
        return Err(ScenarioError::at(job.spec.referenced, why));
    }
    let mut translation =
        Translation { scenario, needs: Needs::default(), paused: Paused::default(), held: Vec::new() };
    for (number, step) in (1..).zip(&scenario.steps) {
        translation
            .step(number, step.referenced.line(), &step.value)
            .map_err(|why| ScenarioError::at(step.referenced, why))?;
        let needs = &translation.needs;
        if needs.script.items.len() > MOST_ITEMS {
            let why = format!("the model has at most {MOST_ITEMS} steps, including seconds and requests");
            return Err(ScenarioError::at(step.referenced, why));
        }
        if needs.user.len() + needs.disruptions.len() > MOST_ACTIONS {
            let why = format!(
                "the model has at most {MOST_ACTIONS} actions of users and disruptions: \
                 write fewer, or several scenarios"
            );
            return Err(ScenarioError::at(step.referenced, why));
        }
    }
    for claims in &scenario.expect {
        let expected = expectation(scenario, claims)?;
        translation.needs.script.expectations.push(expected);
    }
    translation.needs.disruptions.sort_by_key(|disruption| *disruption as u8);
    Ok(translation.needs)
}

fn expectation(scenario: &Scenario, claims: &Spanned<Claims>) -> Result<Expectation, ScenarioError> {
    let job = scenario.job(claims.value.job.as_deref());
    let job = job.map_err(|why| ScenarioError::at(claims.referenced, why))?;
    let requirement = claims.value.requirement.map(|id| id.0);
    let place = format!("line {}{}", claims.referenced.line(), named(scenario, job));
    Ok(Expectation { job: id(job), claims: claims.value.to_model(), requirement, place })
}

/// The name of a Job for messages. Empty if there is only one Job.
fn named(scenario: &Scenario, job: usize) -> String {
    let several = scenario.jobs.len() > 1;
    scenario.jobs.get(job).filter(|_| several).map(|job| format!(", Job {}", job.name)).unwrap_or_default()
}

fn id(job: usize) -> JobId {
    JobId(u8::try_from(job).unwrap_or(u8::MAX))
}

struct Translation<'a> {
    scenario: &'a Scenario,
    needs: Needs,
    paused: Paused,
    /// The held requests, in the order in which the scenario holds them.
    held: Vec<(Sent, Request)>,
}

impl Translation<'_> {
    fn step(&mut self, number: usize, line: u64, step: &Step) -> Result<(), String> {
        if let Some(why) = beyond(step) {
            return Err(why.to_owned());
        }
        let job = self.scenario.job(step.job.as_deref())?;
        let when = step.when.as_ref().map(Claims::to_model).unwrap_or_default();
        let claims = step.r#await.as_ref().or(step.settle.as_ref());
        let requirement = claims.or(step.when.as_ref()).and_then(|claims| claims.requirement).map(|id| id.0);
        let optional = step.optional == Some(true);
        let place = format!("step {number} (line {line}{})", named(self.scenario, job));
        let item = Item {
            job: id(job),
            what: What::Await,
            when,
            paused: self.paused,
            held: self.held.iter().map(|(sent, _)| *sent).collect(),
            optional,
            requirement,
            step: number,
            place,
        };
        let whats = match self.kubelet_item(step) {
            Some(what) => vec![what],
            None => match self.user_item(step, job)? {
                Some(what) => vec![what],
                None => self.controller_items(step)?,
            },
        };
        for (position, what) in whats.into_iter().enumerate() {
            // Only the first of several requests or seconds waits for the condition.
            let when = if position == 0 { item.when.clone() } else { Vec::new() };
            let when = if let Some(claims) = claims { [when, claims.to_model()].concat() } else { when };
            let paused = beside(self.paused, &what);
            self.needs.script.items.push(Item { what, when, paused, ..item.clone() });
        }
        self.hold(step);
        Ok(())
    }

    fn kubelet_item(&mut self, step: &Step) -> Option<What> {
        let needs = &mut self.needs;
        let kubelet = |target: PodTarget, what| Some(What::Kubelet(target.to_model(), what));
        if let Some(target) = step.schedule {
            return kubelet(target, KubeletStep::Schedule);
        }
        if let Some(target) = step.run {
            needs.phases = true;
            return kubelet(target, KubeletStep::Run);
        }
        if let Some(target) = step.ready {
            needs.phases = true;
            return kubelet(target, KubeletStep::Ready);
        }
        if let Some(target) = step.unready {
            (needs.phases, needs.unready) = (true, true);
            return kubelet(target, KubeletStep::Unready);
        }
        if let Some(target) = step.restart {
            needs.restarts += 1;
            return kubelet(target, KubeletStep::Restart);
        }
        if let Some(target) = step.succeed {
            return kubelet(target, KubeletStep::Succeed);
        }
        if let Some(target) = step.flip {
            needs.flips = true;
            return kubelet(target, KubeletStep::Flip);
        }
        let failure = step.fail?;
        let code = failure.exit_code.map_or(1, |code| code.0);
        if !needs.script.exit_codes.contains(&code) {
            needs.script.exit_codes.push(code);
        }
        kubelet(PodTarget { pod: failure.pod, index: failure.index, count: None }, KubeletStep::Fail(code))
    }

    fn disrupt(&mut self, target: PodTarget, kind: Disruption, what: DisruptionStep) -> What {
        self.needs.disruptions.push(kind);
        What::Disrupt(target.to_model(), what)
    }

    /// The event of a user, a disruption, or another manager.
    fn user_item(&mut self, step: &Step, job: usize) -> Result<Option<What>, String> {
        if let Some(target) = step.evict {
            return Ok(Some(self.disrupt(target, Disruption::Evict, DisruptionStep::Evict)));
        }
        if let Some(target) = step.lose_node {
            return Ok(Some(self.disrupt(target, Disruption::LoseNode, DisruptionStep::LoseNode)));
        }
        if let Some(target) = step.pod_gc {
            return Ok(Some(self.disrupt(target, Disruption::OutOfService, DisruptionStep::FailByPodGc)));
        }
        if let Some(deletion) = step.delete_pod {
            let target = PodTarget { pod: deletion.pod, index: deletion.index, count: None };
            if deletion.force == Some(true) {
                return Ok(Some(self.disrupt(target, Disruption::ForceDelete, DisruptionStep::ForceDelete)));
            }
            let actions = [UserAction::DeletePod, UserAction::DeleteEndedPod];
            return Ok(Some(self.user(&actions, target)));
        }
        if let Some(target) = step.disown {
            return Ok(Some(self.user(&[UserAction::StripOwner], target)));
        }
        if let Some(target) = step.relabel {
            return Ok(Some(self.user(&[UserAction::Relabel], target)));
        }
        let Some(actions) = self.on_job(step, job)? else { return Ok(None) };
        Ok(Some(self.user(&actions, PodTarget::default())))
    }

    fn user(&mut self, actions: &[UserAction], target: PodTarget) -> What {
        let first = self.needs.user.len();
        self.needs.user.extend(actions);
        let numbers = (first..self.needs.user.len()).map(|number| u8::try_from(number).unwrap_or(u8::MAX));
        What::User(numbers.collect(), target.to_model())
    }

    /// The actions of the user or of another manager on the Job.
    fn on_job(&self, step: &Step, job: usize) -> Result<Option<Vec<UserAction>>, String> {
        if let Some(edit) = &step.edit {
            let spec = &self.scenario.jobs[job].spec.value;
            return edited(edit, spec.completion_mode == Some(ModeEntry::Indexed)).map(|it| Some(vec![it]));
        }
        if let Some(deletion) = step.delete_job {
            let asked = deletion.propagation.into();
            let whenever = [UserAction::DeleteJob, UserAction::DeleteFinished, UserAction::DeleteAgain];
            return Ok(Some(whenever.map(|action| action(asked)).to_vec()));
        }
        if let Some(denial) = step.deny {
            return match denial.condition {
                Condition::FailureTarget => Ok(Some(vec![UserAction::DenyFailureTarget])),
                Condition::Failed => Ok(Some(vec![UserAction::DenyFailed])),
                Condition::Complete | Condition::Suspended | Condition::SuccessCriteriaMet => {
                    Err("the model can deny only FailureTarget or Failed".to_owned())
                }
            };
        }
        if let Some(mirror) = step.mirror {
            return Ok(Some(vec![match mirror.reports {
                Report::Running => UserAction::MirrorStarts,
                Report::FailureTarget => UserAction::MirrorAnnounces,
                Report::Failed => UserAction::MirrorFinishes,
            }]));
        }
        if step.add_finalizer.is_some() {
            return Ok(Some(vec![UserAction::HoldJob]));
        }
        if step.remove_finalizer.is_some() {
            return Ok(Some(vec![UserAction::ReleaseJob]));
        }
        if step.delete_namespace.is_some() {
            if self.scenario.jobs.len() > 1 {
                return Err(
                    "in the model each Job has its own namespace: write a scenario with one Job".into()
                );
            }
            return Ok(Some(vec![UserAction::DeleteNamespace]));
        }
        Ok(step.recreate.map(|_| vec![UserAction::Recreate]))
    }

    /// The items for faults, time, and waits.
    fn controller_items(&mut self, step: &Step) -> Result<Vec<What>, String> {
        let faults = &mut self.needs.faults;
        if let Some(span) = step.advance {
            if span.0 <= 0 || span.0 % 1000 != 0 {
                return Err("the model has only whole seconds: write for example 2s".to_owned());
            }
            let seconds = span.0 / 1000;
            let before = self.needs.script.items.len();
            if usize::try_from(seconds).map_or(true, |seconds| before.saturating_add(seconds) > MOST_ITEMS) {
                return Err(format!(
                    "in the model each second is a step, of which there are at most {MOST_ITEMS}: \
                     write a shorter time, and shorter delays"
                ));
            }
            self.needs.ticks += seconds;
            return Ok((0..seconds).map(|_| What::Tick).collect());
        }
        if let Some(held) = step.held_request {
            return self.continue_request(&held);
        }
        if let Some(request) = step.request.filter(|it| it.outcome == Some(Outcome::Held)) {
            return self.hold_request(&request);
        }
        if let Some(request) = step.request {
            return self.request(&request, request.outcome.ok_or("write the `outcome` of the request")?);
        }
        if let Some(crash) = step.crash {
            one_more(&mut faults.crashes)?;
            return match (crash.controller.unwrap_or(ControllerName::Job), crash.during) {
                (ControllerName::Job, None) => Ok(vec![What::Crash]),
                (ControllerName::Ttl, None) => Ok(vec![What::TtlCrash]),
                (ControllerName::Job, Some(request)) => {
                    if request.outcome.is_some() {
                        return Err(
                            "remove `outcome`: the request is in flight when the controller crashes".into()
                        );
                    }
                    self.needs.delayed_requests = true;
                    sent(&request, RequestHandling::Orphaned)
                }
                (ControllerName::Ttl, Some(_)) => {
                    Err("the model has no delayed requests of the TTL controller".to_owned())
                }
            };
        }
        if step.second_leader.is_some() {
            one_more(&mut faults.second_leaders)?;
            return Ok(vec![What::ElectSecondLeader]);
        }
        if let Some(rollout) = &step.rollout {
            if self.needs.gates.len() >= usize::from(u8::MAX) {
                return Err(too_many());
            }
            self.needs.gates.push(rollout.gates());
            return Ok(vec![What::Rollout]);
        }
        if let Some(watch) = step.expire {
            // Held events stay held until the condition of the step holds.
            return Ok(vec![What::Await, What::CatchUp(caches(watch.watch))]);
        }
        if let Some(resignation) = step.resign {
            return Ok(vec![What::StopOldLeader(u8::from(resignation.leader == Leader::Second))]);
        }
        Ok(vec![match () {
            () if step.late_request.is_some() => What::HandleDelayed,
            () if step.settle.is_some() => What::Settle,
            () if step.catch_up.is_some() => {
                (self.paused.pods, self.paused.jobs) = (false, false);
                What::CatchUp(Caches::All)
            }
            () => What::Await,
        }])
    }

    fn request(&mut self, request: &Request, outcome: Outcome) -> Result<Vec<What>, String> {
        let faults = &mut self.needs.faults;
        let outcome = match outcome {
            Outcome::Handled => RequestOutcome::Handled,
            Outcome::Fails => {
                one_more(&mut faults.failures)?;
                RequestOutcome::Fails
            }
            Outcome::ResponseLost => {
                one_more(&mut faults.losses)?;
                RequestOutcome::ResponseLost
            }
            Outcome::Held => return Err("no request is held here".to_owned()),
        };
        sent(request, RequestHandling::Sent(outcome))
    }

    /// Holds all such requests from now on: the model does not distinguish them.
    fn hold_request(&mut self, request: &Request) -> Result<Vec<What>, String> {
        let mut whats = sent(request, RequestHandling::Sent(RequestOutcome::Handled))?;
        if let Some(What::Request(last, _)) = whats.pop() {
            self.held.push((last, *request));
            whats.push(What::Held(last));
        }
        Ok(whats)
    }

    fn continue_request(&mut self, how: &HeldRequest) -> Result<Vec<What>, String> {
        let first = how.pod.and_then(|pod| self.held.iter().position(|(_, held)| held.pod == Some(pod)));
        if self.held.is_empty() {
            return Err("no request is held here".to_owned());
        }
        let (_, held) = self.held.remove(first.unwrap_or(0));
        let meant = Request { pod: how.pod.or(held.pod), nth: None, ..how.settles(&held) };
        self.request(&meant, meant.outcome.unwrap_or(Outcome::Handled))
    }

    /// Updates the watches that are held.
    fn hold(&mut self, step: &Step) {
        let mut set = |watched: Watched, held: bool| match watched {
            Watched::Pods => self.paused.pods = held,
            Watched::Jobs => self.paused.jobs = held,
        };
        if let Some(watch) = step.hold {
            set(watch.watch, true);
        }
        if let Some(watch) = step.release {
            set(watch.watch, false);
        }
        self.paused.controllers = (self.paused.controllers || step.pause.is_some()) && step.unpause.is_none();
    }
}

/// The caches of a watched resource.
fn caches(watched: Watched) -> Caches {
    match watched {
        Watched::Pods => Caches::Pods,
        Watched::Jobs => Caches::Jobs,
    }
}

/// The watches that are held during an item: a new list shows the events that a watch holds back.
fn beside(paused: Paused, what: &What) -> Paused {
    match what {
        What::CatchUp(Caches::Pods) => Paused { pods: false, ..paused },
        What::CatchUp(Caches::Jobs) => Paused { jobs: false, ..paused },
        _ => paused,
    }
}

/// Counts a fault.
fn one_more(count: &mut u8) -> Result<(), String> {
    *count = count.checked_add(1).ok_or_else(too_many)?;
    Ok(())
}

fn too_many() -> String {
    format!("the model has at most {} faults of each kind: write several scenarios", u8::MAX)
}

impl PodTarget {
    /// The pod, as the model names it.
    pub(super) fn to_model(self) -> PodRef {
        match (self.pod, self.index) {
            (Some(number), _) => PodRef::Number(number),
            (None, Some(index)) => PodRef::Index(index),
            (None, None) => PodRef::Any,
        }
    }
}

impl Claims {
    fn to_model(&self) -> Vec<Claim> {
        let flags = [
            (self.exists, Flag::Exists),
            (self.deleting, Flag::Deleting),
            (self.finished, Flag::Finished),
            (self.start_time, Flag::StartTime),
            (self.completion_time, Flag::CompletionTime),
        ];
        let none = PodClaims::default();
        let pods = self.pods.as_ref().unwrap_or(&none);
        let numbers = [
            (self.active, Number::Active),
            (self.ready, Number::Ready),
            (self.terminating, Number::Terminating),
            (self.succeeded, Number::Succeeded),
            (self.failed, Number::Failed),
            (self.uncounted, Number::Uncounted),
            (pods.total, Number::Pods),
            (pods.active, Number::ActivePods),
            (pods.terminating, Number::TerminatingPods),
            (pods.succeeded, Number::SucceededPods),
            (pods.failed, Number::FailedPods),
            (pods.tracked, Number::TrackedPods),
            (pods.controlled, Number::ControlledPods),
            (pods.created, Number::CreatedPods),
        ];
        let flags = flags.into_iter().filter_map(|(value, flag)| Some(Claim::Flag(flag, value?)));
        let numbers = numbers.into_iter().filter_map(|(count, number)| Some(Claim::Number(number, count?.0)));
        let condition = |so: bool| move |kind: &Condition| Claim::Condition((*kind).into(), so);
        let texts = [
            self.completed_indexes.as_deref().map(|text| Claim::CompletedIndexes(text.into())),
            self.failed_indexes.as_deref().map(|text| Claim::FailedIndexes(text.into())),
        ];
        let reasons =
            self.reasons.iter().map(|(kind, reason)| Claim::Reason((*kind).into(), reason.as_str().into()));
        flags
            .chain(self.conditions.iter().map(condition(true)))
            .chain(self.no_conditions.iter().map(condition(false)))
            .chain(reasons)
            .chain(numbers)
            .chain(texts.into_iter().flatten())
            .collect()
    }
}
