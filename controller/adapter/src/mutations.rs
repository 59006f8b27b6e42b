//! Known defects in the shipped controllers.
//!
//! The shipped `plan` is not changed. A [`Mutation`] changes its input or its output. Some defects concern a
//! step that this plan does not have ([`MutationPoint::of`]).

use std::collections::BTreeSet;
use std::sync::Arc;

use jobcheck_controller::job::command::{
    Command, FinalizerRemoval, Plan, PodRef, Sequence, StatusWrite, Step,
};
use jobcheck_controller::job::conditions::{self, COMPLETE, FAILED, FAILURE_TARGET, SUCCESS_CRITERIA_MET};
use jobcheck_controller::job::memory::Memory;
use jobcheck_controller::job::observed::{
    Controller, Deletion, JobFacts, Observed, Phase, PodFacts, Settings, StatusFacts, Uncounted,
};
use jobcheck_controller::job::plan::plan;
use jobcheck_controller::values::{Text, Uid};
use jobcheck_explorer::mutants::Mutant;
use jobcheck_explorer::mutations::{Mutation, Mutations};

use self::MutationPoint::{Both, Input, Output, Outside};

/// The point at which a mutation changes the shipped controllers.
#[derive(Clone, Copy, Debug)]
pub enum MutationPoint {
    /// Changes the input of the plan.
    Input(fn(&mut PlanInput)),
    /// Changes the output of the plan.
    Output(fn(&PlanInput, &mut Plan)),
    /// Changes the input and the output.
    Both(fn(&mut PlanInput), fn(&PlanInput, &mut Plan)),
    /// Changes code around the plan: the process, its memory, the orphan path, or the TTL-after-finished
    /// controller.
    Outside,
}

/// The input of a plan.
#[derive(Clone, Debug)]
pub struct PlanInput {
    job: JobFacts,
    pods: Vec<PodFacts>,
    memory: Memory,
    settings: Settings,
}

/// The plan of the shipped controllers with these mutations.
#[must_use]
pub fn plan_with(mutations: &Mutations, observed: &Observed<'_>) -> Plan {
    if mutations.is_empty() {
        return plan(observed);
    }
    let truth = PlanInput {
        job: observed.job.clone(),
        pods: observed.pods.to_vec(),
        memory: observed.memory.clone(),
        settings: observed.settings.clone(),
    };
    let points: Vec<MutationPoint> = mutations.iter().filter_map(MutationPoint::of).collect();
    let mut input = truth.clone();
    for point in &points {
        if let MutationPoint::Input(see) | MutationPoint::Both(see, _) = point {
            see(&mut input);
        }
    }
    let gate = observed.caches_show_own_writes || mutations.on(Mutation::SyncsBeforeOwnWritesAreSeen);
    let PlanInput { job, pods, memory, settings } = &input;
    let shown = Observed { job, pods, memory, caches_show_own_writes: gate, now: observed.now, settings };
    let mut plan = plan(&shown);
    for point in &points {
        if let MutationPoint::Output(act) | MutationPoint::Both(_, act) = point {
            act(&truth, &mut plan);
        }
    }
    plan
}

/// Returns true if the shipped controllers can have the defect of a mutant.
#[must_use]
pub fn can_have(mutant: &Mutant) -> bool {
    mutant.mutations.iter().all(|mutation| MutationPoint::of(*mutation).is_some())
}

/// Returns true if the defect of a mutant is in the plan, and not around it.
#[must_use]
pub fn is_of_the_plan(mutant: &Mutant) -> bool {
    let is_planned = |mutation: &Mutation| {
        MutationPoint::of(*mutation).is_some_and(|mutation| !matches!(mutation, MutationPoint::Outside))
    };
    mutant.mutations.iter().all(is_planned)
}

/// The mutations that the shipped controllers can have.
///
/// The others concern code that these controllers do not have. They do not count expectations, do not wait
/// for events, and decide in a different order than the reference algorithm.
const MUTATION_POINTS: &[(Mutation, MutationPoint)] = &[
    (
        Mutation::RecordsByPhaseOnly,
        Input(|input| input.remove_recorded(Phase::Succeeded, |lists| &mut lists.failed)),
    ),
    (
        Mutation::RecordsFlippedSuccess,
        Both(
            |input| input.remove_recorded(Phase::Failed, |lists| &mut lists.succeeded),
            |input, plan| {
                let listed = input.job.status.uncounted.clone().unwrap_or_default().succeeded;
                rewrite(plan, |_, after| {
                    let Some(lists) = &mut after.uncounted else { return };
                    let flipped = listed.iter().filter(|uid| lists.failed.contains(uid));
                    lists.succeeded.extend(flipped.cloned());
                });
            },
        ),
    ),
    (
        Mutation::FinishesSuspendedWithoutStartTime,
        Output(|input, plan| {
            let ends = |kind: &str| matches!(kind, FAILURE_TARGET | SUCCESS_CRITERIA_MET | COMPLETE | FAILED);
            rewrite(plan, |_, after| {
                if input.job.spec.suspend && after.conditions.iter().any(|it| ends(&it.kind)) {
                    after.start_time = None;
                }
            });
        }),
    ),
    (
        Mutation::FailedIndexNotMinusCompleted,
        Output(|input, plan| {
            let failed = input.indexes(Phase::Failed);
            rewrite(plan, |_, after| {
                if after.failed_indexes.is_some() && !failed.is_empty() {
                    after.failed_indexes = Some(with_indexes(after.failed_indexes.as_ref(), &failed));
                }
            });
        }),
    ),
    (
        Mutation::AppendsBesideFalseInterim,
        Output(|_, plan| append(plan, &[FAILURE_TARGET, SUCCESS_CRITERIA_MET])),
    ),
    (Mutation::AppendsTerminalConditions, Output(|_, plan| append(plan, &[FAILED, COMPLETE]))),
    (Mutation::ChecksCapAfterAdding, Input(|input| input.settings.max_uncounted_pods += 1)),
    (
        Mutation::AdoptsTerminatedPods,
        Both(
            |input| input.terminated_ownerless().for_each(adopted),
            |input, plan| {
                let pods = input.clone().terminated_ownerless().map(|pod| pod_ref(pod)).collect::<Vec<_>>();
                if !pods.is_empty() {
                    plan.claims.insert(0, vec![Step::from(Command::AdoptPods(pods))]);
                }
            },
        ),
    ),
    (
        Mutation::CountsLegacyPods,
        Input(|input| {
            let ended = |pod: &&mut PodFacts| matches!(pod.phase, Phase::Succeeded | Phase::Failed);
            input.pods.iter_mut().filter(ended).for_each(|pod| pod.tracking_finalizer = true);
        }),
    ),
    (
        Mutation::CountsRecordedOwnerlessPods,
        Input(|input| {
            let ownerless_pod = |pod: &&mut PodFacts| pod.controller == Controller::Nobody;
            input.pods.iter_mut().filter(ownerless_pod).for_each(|pod| pod.tracking_finalizer = false);
        }),
    ),
    (Mutation::ForgetsRemovals, Input(|input| input.memory.finalizer_removed.clear())),
    (
        Mutation::CountsDespiteFailedRemoval,
        Output(|_, plan| {
            for part in parts(plan) {
                *part = std::mem::take(part).into_iter().flatten().map(|step| vec![step]).collect();
            }
        }),
    ),
    (
        Mutation::StopsAtFailedRemoval,
        Output(|_, plan| {
            for sequence in parts(plan).into_iter().flatten() {
                *sequence = sequence.drain(..).flat_map(one_by_one).collect();
            }
        }),
    ),
    (
        Mutation::ForgetsStatusAfterFailedCreation,
        Output(|_, plan| {
            let creates = |step: &Step| matches!(step.command, Command::CreatePods(_));
            let steps = parts(plan).into_iter().flat_map(std::mem::take).flatten();
            let (first, then): (Vec<Step>, Vec<Step>) = steps.partition(creates);
            plan.account = vec![[first, then].concat()];
        }),
    ),
    (
        Mutation::ForgetsCountsAfterFailedDeletion,
        Output(|_, plan| plan.stop.iter_mut().for_each(|stop| stop.if_none.clear())),
    ),
    (
        Mutation::RecomputesCounters,
        Output(|input, plan| {
            let succeeded = input.count(Phase::Succeeded);
            rewrite(plan, |_, after| after.succeeded = succeeded);
        }),
    ),
    (
        Mutation::RecomputesFailures,
        Output(|input, plan| {
            let failed = input.count(Phase::Failed);
            rewrite(plan, |_, after| after.failed = failed);
        }),
    ),
    (
        Mutation::CountsPodsNotIndexes,
        Output(|input, plan| {
            let succeeded = input.count(Phase::Succeeded);
            rewrite(plan, |before, after| after.succeeded = succeeded.max(before.succeeded));
        }),
    ),
    (Mutation::MeetsSuccessPolicyWithoutGate, Input(|input| input.settings.gates.success_policy = true)),
    (Mutation::LimitsIndexesWithoutGate, Input(|input| input.settings.gates.backoff_limit_per_index = true)),
    (
        Mutation::ReportsTerminatingWithoutGate,
        Input(|input| input.settings.gates.pod_replacement_policy = true),
    ),
    (Mutation::StoresInterimWithoutGates, Input(|input| input.settings.gates.managed_by = true)),
    (Mutation::RetriesWithoutNamespace, Input(|input| input.memory.creation_refused = None)),
    (Mutation::IgnoresManagedBy, Input(|input| input.job.spec.managed_by = None)),
    (Mutation::IgnoresBackoffLimit, Input(|input| input.job.spec.backoff_limit = i32::MAX)),
    (
        Mutation::IgnoresRestarts,
        Input(|input| {
            let containers = input.pods.iter_mut().flat_map(|pod| Arc::make_mut(&mut pod.containers));
            containers.for_each(|container| container.restarts = 0);
        }),
    ),
    (
        Mutation::TakesPodsOfOthers,
        Input(|input| {
            let selected = input.pods.iter_mut().filter(|pod| pod.selected);
            selected.for_each(|pod| pod.controller = Controller::ThisJob);
        }),
    ),
    (
        Mutation::FinishesWhilePodsTerminate,
        Input(|input| input.pods.retain(|pod| !is_terminating(pod) || pod.tracking_finalizer)),
    ),
    (Mutation::ReplacesTerminatingPods, Input(|input| input.pods.retain(|pod| !is_terminating(pod)))),
    (
        Mutation::ComparesTerminatingWithItself,
        Output(|_, plan| {
            for sequence in parts(plan).into_iter().flatten() {
                sequence.retain(
                    |step| !matches!(&step.command, Command::WriteStatus(write) if is_of_terminating(write)),
                );
            }
        }),
    ),
    (
        Mutation::ReportsNoneActiveDuringDelay,
        Output(|_, plan| {
            if plan.decisions.iter().any(|decision| decision.requirement == "BO-02") {
                rewrite(plan, |_, after| (after.active, after.ready) = (0, Some(0)));
            }
        }),
    ),
    (
        Mutation::WritesIndexesOnlyWhenNew,
        Output(|_, plan| {
            rewrite(plan, |before, after| {
                if after.succeeded <= before.succeeded {
                    after.completed_indexes.clone_from(&before.completed_indexes);
                    after.failed_indexes.clone_from(&before.failed_indexes);
                }
            });
        }),
    ),
    (
        Mutation::RemovesFinalizerBeforeReplacement,
        Output(|input, plan| {
            let held = |pod: &&PodFacts| pod.phase == Phase::Failed && pod.tracking_finalizer;
            let remove_finalizer = |pod| FinalizerRemoval { pod: pod_ref(pod), policy_action: None };
            let finalizer_removals: Vec<FinalizerRemoval> =
                input.pods.iter().filter(held).map(remove_finalizer).collect();
            if !finalizer_removals.is_empty() {
                plan.claims.insert(0, vec![Step::from(Command::RemoveFinalizers(finalizer_removals))]);
            }
        }),
    ),
    (
        Mutation::StoresInterimWithTerminal,
        Output(|_, plan| {
            rewrite(plan, |_, after| {
                if !conditions::finished(&after.conditions) {
                    let interim = |kind: &str| matches!(kind, FAILURE_TARGET | SUCCESS_CRITERIA_MET);
                    after.conditions.retain(|condition| !interim(&condition.kind));
                }
            });
        }),
    ),
    (
        Mutation::ArmsDeadlineAtStartOnly,
        Output(|input, plan| {
            if input.job.status.start_time.is_some() {
                plan.wake_after = None;
            }
        }),
    ),
    (
        Mutation::ForgetsFailuresWhenNoneIsNew,
        Input(|input| {
            let known = &input.memory.backoff.pods;
            let new = |pod: &PodFacts| pod.phase == Phase::Failed && !known.contains(&pod.uid);
            if !input.pods.iter().any(new) {
                input.memory.backoff.failures = 0;
            }
        }),
    ),
    (
        Mutation::ForgetsSuccessCriteriaMet,
        Input(|input| {
            let met = |kind: &str| kind == SUCCESS_CRITERIA_MET;
            input.job.status.conditions.retain(|condition| !met(&condition.kind));
        }),
    ),
    (
        Mutation::DatesDeletionsFromCreation,
        Input(|input| {
            for pod in input.pods.iter_mut().filter(|pod| is_terminating(pod)) {
                pod.deletion = pod.created.map(|at| Deletion { at, grace_seconds: 0 });
            }
        }),
    ),
    (Mutation::SyncsBeforeOwnWritesAreSeen, Input(|input| input.memory.deleted.clear())),
    (Mutation::GateIgnoresDeletions, Input(|input| input.memory.deleted.clear())),
    (Mutation::SwallowsCreateErrors, Outside),
    (Mutation::TakesFinalizersOfAdoptedPods, Outside),
    (Mutation::ForgetsOwnerlessPods, Outside),
    (Mutation::ForgetsPodsOfGoneJobs, Outside),
    (Mutation::ForgetsPodsOfFinishedJobs, Outside),
    (Mutation::ForgetsDelayedPods, Outside),
    (Mutation::ServerAsksEmptyJobForStartTime, Outside),
    (Mutation::KeepsFailuresByName, Outside),
    (Mutation::KeepsFailuresAcrossRelist, Outside),
    (Mutation::TtlTrustsItsCache, Outside),
    (Mutation::TtlOmitsUidPrecondition, Outside),
    (Mutation::TtlStartsAtInterimCondition, Outside),
    (Mutation::TtlClampsFutureFinish, Outside),
    (Mutation::TtlDeletesInBackground, Outside),
    (Mutation::TtlIsNotQueuedAgain, Outside),
    (Mutation::TtlStartsAtAnyCondition, Outside),
    (Mutation::TtlDeletesAgain, Outside),
];

impl MutationPoint {
    /// The point at which a mutation applies. Returns `None` if these controllers cannot have it.
    #[must_use]
    pub fn of(mutation: Mutation) -> Option<MutationPoint> {
        MUTATION_POINTS.iter().find(|(made, _)| *made == mutation).map(|(_, mutation)| *mutation)
    }
}

impl PlanInput {
    /// Removes the UIDs of pods in this phase from one of the lists.
    fn remove_recorded(&mut self, phase: Phase, list: fn(&mut Uncounted) -> &mut Vec<Uid>) {
        let Some(lists) = &mut self.job.status.uncounted else { return };
        let pods = &self.pods;
        list(lists).retain(|uid| !pods.iter().any(|pod| pod.uid == *uid && pod.phase == phase));
    }

    /// The number of the Job's pods in this phase.
    fn count(&self, phase: Phase) -> i32 {
        let ours = |pod: &&PodFacts| pod.phase == phase && pod.controller == Controller::ThisJob;
        i32::try_from(self.pods.iter().filter(ours).count()).unwrap_or(i32::MAX)
    }

    /// The indexes of uncounted pods in this phase.
    fn indexes(&self, phase: Phase) -> BTreeSet<u32> {
        let uncounted = self.pods.iter().filter(|pod| pod.phase == phase && pod.tracking_finalizer);
        uncounted.filter_map(|pod| pod.completion_index.as_ref()?.parse().ok()).collect()
    }

    /// The terminated ownerless pods that the selector matches.
    fn terminated_ownerless(&mut self) -> impl Iterator<Item = &mut PodFacts> {
        let lives = self.job.deletion.is_none();
        self.pods.iter_mut().filter(move |pod| {
            let ended = matches!(pod.phase, Phase::Succeeded | Phase::Failed);
            lives && ended && pod.selected && pod.deletion.is_none() && pod.controller == Controller::Nobody
        })
    }
}

fn adopted(pod: &mut PodFacts) {
    (pod.controller, pod.tracking_finalizer) = (Controller::ThisJob, true);
}

fn is_terminating(pod: &PodFacts) -> bool {
    pod.deletion.is_some() && !matches!(pod.phase, Phase::Succeeded | Phase::Failed)
}

fn pod_ref(pod: &PodFacts) -> PodRef {
    PodRef { name: pod.name.clone(), uid: pod.uid.clone(), resource_version: pod.resource_version.clone() }
}

/// The parts of a plan, in the order in which they are performed.
fn parts(plan: &mut Plan) -> Vec<&mut Vec<Sequence>> {
    let stop =
        plan.stop.iter_mut().flat_map(|stop| [&mut stop.deletions, &mut stop.if_all, &mut stop.if_none]);
    [&mut plan.claims].into_iter().chain(stop).chain([&mut plan.account, &mut plan.scale]).collect()
}

/// Returns true if a status write changes only `terminating`.
fn is_of_terminating(write: &StatusWrite) -> bool {
    StatusFacts { terminating: write.before.terminating, ..write.after.clone() } == write.before
}

/// Changes the status writes of a plan. Each is based on the one before it.
fn rewrite(plan: &mut Plan, change: impl Fn(&StatusFacts, &mut StatusFacts)) {
    for sequence in parts(plan).into_iter().flatten() {
        let mut last: Option<StatusFacts> = None;
        for step in sequence {
            let Command::WriteStatus(write) = &mut step.command else { continue };
            let write = Arc::make_mut(write);
            if let Some(before) = last.take() {
                write.before = before;
            }
            change(&write.before, &mut write.after);
            last = Some(write.after.clone());
        }
    }
}

/// One step for each finalizer removal of a batch.
fn one_by_one(step: Step) -> Vec<Step> {
    match step.command {
        Command::RemoveFinalizers(pods) => {
            pods.into_iter().map(|pod| Step::from(Command::RemoveFinalizers(vec![pod]))).collect()
        }
        _ => vec![step],
    }
}

/// Keeps a condition with status False next to the new condition of its type.
fn append(plan: &mut Plan, kinds: &[&str]) {
    rewrite(plan, |before, after| {
        let denied =
            before.conditions.iter().filter(|it| kinds.contains(&&*it.kind) && &*it.status == "False");
        for (place, denied) in denied.cloned().enumerate() {
            if !after.conditions.contains(&denied) {
                after.conditions.insert(place, denied);
            }
        }
    });
}

fn with_indexes(text: Option<&Text>, more: &BTreeSet<u32>) -> Text {
    let known = text.map_or("", |text| text).split(',').filter(|part| !part.is_empty());
    let ranges = known.map(|part| part.split_once('-').unwrap_or((part, part)));
    let mut all: BTreeSet<u32> = ranges
        .filter_map(|(from, to)| Some(from.parse().ok()?..=to.parse().ok()?))
        .flat_map(|range: std::ops::RangeInclusive<u32>| range)
        .collect();
    all.extend(more);
    let texts: Vec<String> = all.iter().map(u32::to_string).collect();
    Text::from(texts.join(",").as_str())
}
