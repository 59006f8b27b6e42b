//! Known defects, made from the shipped controllers.
//!
//! `plan` itself stays as it is shipped: a [`Mutation`] changes what it is shown, or what it wants. Which defects cannot be
//! made so, as they are about a step that this plan does not have, [`Interference::of`] tells.

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

use self::Interference::{Around, Does, Mistakes, Sees};

/// How a defect is made from the shipped controllers.
#[derive(Clone, Copy, Debug)]
pub enum Interference {
    /// The plan is made from something else than what was observed.
    Sees(fn(&mut Seen)),
    /// Something else is done than the plan wants.
    Does(fn(&Seen, &mut Plan)),
    /// Both.
    Mistakes(fn(&mut Seen), fn(&Seen, &mut Plan)),
    /// It is made around the plan: by the process, its memory, the orphan path, or the TTL controller.
    Around,
}

/// What a plan is made from.
#[derive(Clone, Debug)]
pub struct Seen {
    job: JobFacts,
    pods: Vec<PodFacts>,
    memory: Memory,
    settings: Settings,
}

/// The plan of the shipped controllers, with these departures.
#[must_use]
pub fn plan_with(mutations: &Mutations, observed: &Observed<'_>) -> Plan {
    if mutations.is_empty() {
        return plan(observed);
    }
    let truth = Seen {
        job: observed.job.clone(),
        pods: observed.pods.to_vec(),
        memory: observed.memory.clone(),
        settings: observed.settings.clone(),
    };
    let interferences: Vec<Interference> = mutations.iter().filter_map(Interference::of).collect();
    let mut seen = truth.clone();
    for interference in &interferences {
        if let Interference::Sees(see) | Interference::Mistakes(see, _) = interference {
            see(&mut seen);
        }
    }
    let gate = observed.caches_show_own_writes || mutations.on(Mutation::SyncsBeforeOwnWritesAreSeen);
    let Seen { job, pods, memory, settings } = &seen;
    let shown = Observed { job, pods, memory, caches_show_own_writes: gate, now: observed.now, settings };
    let mut plan = plan(&shown);
    for interference in &interferences {
        if let Interference::Does(act) | Interference::Mistakes(_, act) = interference {
            act(&truth, &mut plan);
        }
    }
    plan
}

/// Whether the shipped controllers can be made to have a defect.
#[must_use]
pub fn can_have(mutant: &Mutant) -> bool {
    mutant.mutations.iter().all(|mutation| Interference::of(*mutation).is_some())
}

/// Whether it is then in their plan for a Job, whatever surrounds that.
#[must_use]
pub fn is_of_the_plan(mutant: &Mutant) -> bool {
    let is_planned = |mutation: &Mutation| {
        Interference::of(*mutation).is_some_and(|mutation| !matches!(mutation, Interference::Around))
    };
    mutant.mutations.iter().all(is_planned)
}

/// How each defect is made. Of those that are missing, the plan of these controllers has nothing in which they could be: it
/// counts nothing that is to be seen, waits for no event, and decides what the reference algorithm decides in another order.
const MADE: &[(Mutation, Interference)] = &[
    (Mutation::RecordsByPhaseOnly, Sees(|seen| seen.unlist(Phase::Succeeded, |lists| &mut lists.failed))),
    (
        Mutation::RecordsFlippedSuccess,
        Mistakes(
            |seen| seen.unlist(Phase::Failed, |lists| &mut lists.succeeded),
            |seen, plan| {
                let listed = seen.job.status.uncounted.clone().unwrap_or_default().succeeded;
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
        Does(|seen, plan| {
            let ends = |kind: &str| matches!(kind, FAILURE_TARGET | SUCCESS_CRITERIA_MET | COMPLETE | FAILED);
            rewrite(plan, |_, after| {
                if seen.job.spec.suspend && after.conditions.iter().any(|it| ends(&it.kind)) {
                    after.start_time = None;
                }
            });
        }),
    ),
    (
        Mutation::FailedIndexNotMinusCompleted,
        Does(|seen, plan| {
            let failed = seen.indexes(Phase::Failed);
            rewrite(plan, |_, after| {
                if after.failed_indexes.is_some() && !failed.is_empty() {
                    after.failed_indexes = Some(with_indexes(after.failed_indexes.as_ref(), &failed));
                }
            });
        }),
    ),
    (
        Mutation::AppendsBesideFalseInterim,
        Does(|_, plan| append(plan, &[FAILURE_TARGET, SUCCESS_CRITERIA_MET])),
    ),
    (Mutation::AppendsTerminalConditions, Does(|_, plan| append(plan, &[FAILED, COMPLETE]))),
    (Mutation::ChecksCapAfterAdding, Sees(|seen| seen.settings.max_uncounted_pods += 1)),
    (
        Mutation::AdoptsEndedPods,
        Mistakes(
            |seen| seen.terminated_ownerless().for_each(adopted),
            |seen, plan| {
                let pods = seen.clone().terminated_ownerless().map(|pod| reference(pod)).collect::<Vec<_>>();
                if !pods.is_empty() {
                    plan.claims.insert(0, vec![Step::from(Command::AdoptPods(pods))]);
                }
            },
        ),
    ),
    (
        Mutation::CountsLegacyPods,
        Sees(|seen| {
            let ended = |pod: &&mut PodFacts| matches!(pod.phase, Phase::Succeeded | Phase::Failed);
            seen.pods.iter_mut().filter(ended).for_each(|pod| pod.tracking_finalizer = true);
        }),
    ),
    (
        Mutation::CountsRecordedOwnerlessPods,
        Sees(|seen| {
            let ownerless_pod = |pod: &&mut PodFacts| pod.controller == Controller::Nobody;
            seen.pods.iter_mut().filter(ownerless_pod).for_each(|pod| pod.tracking_finalizer = false);
        }),
    ),
    (Mutation::ForgetsRemovals, Sees(|seen| seen.memory.finalizer_removed.clear())),
    (
        Mutation::CountsDespiteFailedRemoval,
        Does(|_, plan| {
            for part in parts(plan) {
                *part = std::mem::take(part).into_iter().flatten().map(|step| vec![step]).collect();
            }
        }),
    ),
    (
        Mutation::StopsAtFailedRemoval,
        Does(|_, plan| {
            for sequence in parts(plan).into_iter().flatten() {
                *sequence = sequence.drain(..).flat_map(one_by_one).collect();
            }
        }),
    ),
    (
        Mutation::ForgetsStatusAfterFailedCreation,
        Does(|_, plan| {
            let creates = |step: &Step| matches!(step.command, Command::CreatePods(_));
            let steps = parts(plan).into_iter().flat_map(std::mem::take).flatten();
            let (first, then): (Vec<Step>, Vec<Step>) = steps.partition(creates);
            plan.account = vec![[first, then].concat()];
        }),
    ),
    (
        Mutation::ForgetsCountsAfterFailedDeletion,
        Does(|_, plan| plan.stop.iter_mut().for_each(|stop| stop.if_none.clear())),
    ),
    (
        Mutation::RecomputesCounters,
        Does(|seen, plan| {
            let succeeded = seen.count(Phase::Succeeded);
            rewrite(plan, |_, after| after.succeeded = succeeded);
        }),
    ),
    (
        Mutation::RecomputesFailures,
        Does(|seen, plan| {
            let failed = seen.count(Phase::Failed);
            rewrite(plan, |_, after| after.failed = failed);
        }),
    ),
    (
        Mutation::CountsPodsNotIndexes,
        Does(|seen, plan| {
            let succeeded = seen.count(Phase::Succeeded);
            rewrite(plan, |before, after| after.succeeded = succeeded.max(before.succeeded));
        }),
    ),
    (Mutation::MeetsSuccessPolicyWithoutGate, Sees(|seen| seen.settings.gates.success_policy = true)),
    (Mutation::LimitsIndexesWithoutGate, Sees(|seen| seen.settings.gates.backoff_limit_per_index = true)),
    (Mutation::ReportsTerminatingWithoutGate, Sees(|seen| seen.settings.gates.pod_replacement_policy = true)),
    (Mutation::AnnouncesWithoutGates, Sees(|seen| seen.settings.gates.managed_by = true)),
    (Mutation::RetriesWithoutNamespace, Sees(|seen| seen.memory.creation_refused = None)),
    (Mutation::IgnoresManagedBy, Sees(|seen| seen.job.spec.managed_by = None)),
    (Mutation::IgnoresBackoffLimit, Sees(|seen| seen.job.spec.backoff_limit = i32::MAX)),
    (
        Mutation::IgnoresRestarts,
        Sees(|seen| {
            let containers = seen.pods.iter_mut().flat_map(|pod| Arc::make_mut(&mut pod.containers));
            containers.for_each(|container| container.restarts = 0);
        }),
    ),
    (
        Mutation::TakesPodsOfOthers,
        Sees(|seen| {
            let selected = seen.pods.iter_mut().filter(|pod| pod.selected);
            selected.for_each(|pod| pod.controller = Controller::ThisJob);
        }),
    ),
    (
        Mutation::FinishesWhilePodsTerminate,
        Sees(|seen| seen.pods.retain(|pod| !terminates(pod) || pod.tracking_finalizer)),
    ),
    (Mutation::ReplacesTerminatingPods, Sees(|seen| seen.pods.retain(|pod| !terminates(pod)))),
    (
        Mutation::ComparesTerminatingWithItself,
        Does(|_, plan| {
            for sequence in parts(plan).into_iter().flatten() {
                sequence.retain(
                    |step| !matches!(&step.command, Command::WriteStatus(write) if is_of_terminating(write)),
                );
            }
        }),
    ),
    (
        Mutation::ReportsNoneActiveDuringDelay,
        Does(|_, plan| {
            if plan.decisions.iter().any(|decision| decision.requirement == "BO-02") {
                rewrite(plan, |_, after| (after.active, after.ready) = (0, Some(0)));
            }
        }),
    ),
    (
        Mutation::WritesIndexesOnlyWhenNew,
        Does(|_, plan| {
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
        Does(|seen, plan| {
            let held = |pod: &&PodFacts| pod.phase == Phase::Failed && pod.tracking_finalizer;
            let remove_finalizer = |pod| FinalizerRemoval { pod: reference(pod), policy_action: None };
            let finalizer_removals: Vec<FinalizerRemoval> =
                seen.pods.iter().filter(held).map(remove_finalizer).collect();
            if !finalizer_removals.is_empty() {
                plan.claims.insert(0, vec![Step::from(Command::RemoveFinalizers(finalizer_removals))]);
            }
        }),
    ),
    (
        Mutation::AnnouncesWithTheEnd,
        Does(|_, plan| {
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
        Does(|seen, plan| {
            if seen.job.status.start_time.is_some() {
                plan.wake_after = None;
            }
        }),
    ),
    (
        Mutation::ForgetsFailuresWhenNoneIsNew,
        Sees(|seen| {
            let known = &seen.memory.backoff.pods;
            let new = |pod: &PodFacts| pod.phase == Phase::Failed && !known.contains(&pod.uid);
            if !seen.pods.iter().any(new) {
                seen.memory.backoff.failures = 0;
            }
        }),
    ),
    (
        Mutation::ForgetsSuccessCriteriaMet,
        Sees(|seen| {
            let met = |kind: &str| kind == SUCCESS_CRITERIA_MET;
            seen.job.status.conditions.retain(|condition| !met(&condition.kind));
        }),
    ),
    (
        Mutation::DatesDeletionsFromCreation,
        Sees(|seen| {
            for pod in seen.pods.iter_mut().filter(|pod| terminates(pod)) {
                pod.deletion = pod.created.map(|at| Deletion { at, grace_seconds: 0 });
            }
        }),
    ),
    (Mutation::SyncsBeforeOwnWritesAreSeen, Sees(|seen| seen.memory.deleted.clear())),
    (Mutation::GateIgnoresDeletions, Sees(|seen| seen.memory.deleted.clear())),
    (Mutation::SwallowsCreateErrors, Around),
    (Mutation::StripsAdoptedPods, Around),
    (Mutation::ForgetsOwnerlessPods, Around),
    (Mutation::ForgetsPodsOfGoneJobs, Around),
    (Mutation::ForgetsPodsOfFinishedJobs, Around),
    (Mutation::ForgetsLatePods, Around),
    (Mutation::ServerAsksEmptyJobForStartTime, Around),
    (Mutation::KeepsFailuresByName, Around),
    (Mutation::KeepsFailuresAcrossRelist, Around),
    (Mutation::TtlTrustsItsCache, Around),
    (Mutation::TtlOmitsUidPrecondition, Around),
    (Mutation::TtlTakesInterimForEnd, Around),
    (Mutation::TtlClampsFutureEnd, Around),
    (Mutation::TtlDeletesInBackground, Around),
    (Mutation::TtlIsNotQueuedAgain, Around),
    (Mutation::TtlTakesAnyConditionForEnd, Around),
    (Mutation::TtlDeletesAgain, Around),
];

impl Interference {
    /// How a defect is made; `None` where these controllers have nothing in which it could be.
    #[must_use]
    pub fn of(mutation: Mutation) -> Option<Interference> {
        MADE.iter().find(|(made, _)| *made == mutation).map(|(_, mutation)| *mutation)
    }
}

impl Seen {
    /// The lists lack the UIDs of pods in this phase.
    fn unlist(&mut self, phase: Phase, list: fn(&mut Uncounted) -> &mut Vec<Uid>) {
        let Some(lists) = &mut self.job.status.uncounted else { return };
        let pods = &self.pods;
        list(lists).retain(|uid| !pods.iter().any(|pod| pod.uid == *uid && pod.phase == phase));
    }

    /// How many pods of the Job are in this phase.
    fn count(&self, phase: Phase) -> i32 {
        let ours = |pod: &&PodFacts| pod.phase == phase && pod.controller == Controller::ThisJob;
        i32::try_from(self.pods.iter().filter(ours).count()).unwrap_or(i32::MAX)
    }

    /// Indexes of pods in this phase that are not counted yet.
    fn indexes(&self, phase: Phase) -> BTreeSet<u32> {
        let uncounted = self.pods.iter().filter(|pod| pod.phase == phase && pod.tracking_finalizer);
        uncounted.filter_map(|pod| pod.completion_index.as_ref()?.parse().ok()).collect()
    }

    /// Pods that have ended, that nobody controls, and that the selector matches.
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

fn terminates(pod: &PodFacts) -> bool {
    pod.deletion.is_some() && !matches!(pod.phase, Phase::Succeeded | Phase::Failed)
}

fn reference(pod: &PodFacts) -> PodRef {
    PodRef { name: pod.name.clone(), uid: pod.uid.clone(), resource_version: pod.resource_version.clone() }
}

/// The parts of a plan, in the order in which they are performed.
fn parts(plan: &mut Plan) -> Vec<&mut Vec<Sequence>> {
    let stop =
        plan.stop.iter_mut().flat_map(|stop| [&mut stop.deletions, &mut stop.if_all, &mut stop.if_none]);
    [&mut plan.claims].into_iter().chain(stop).chain([&mut plan.account, &mut plan.scale]).collect()
}

/// Whether a status write changes `terminating` and nothing else.
fn is_of_terminating(write: &StatusWrite) -> bool {
    StatusFacts { terminating: write.before.terminating, ..write.after.clone() } == write.before
}

/// Changes the status writes of a plan: each comes after the one before it.
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

/// A batch of removals as a step for each.
fn one_by_one(step: Step) -> Vec<Step> {
    match step.command {
        Command::RemoveFinalizers(pods) => {
            pods.into_iter().map(|pod| Step::from(Command::RemoveFinalizers(vec![pod]))).collect()
        }
        _ => vec![step],
    }
}

/// A condition that turns true stands beside the one of its type that was false.
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
