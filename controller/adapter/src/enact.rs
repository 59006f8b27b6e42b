//! The enactment of a plan: the shipped [`Enactment`]. The environment of the model responds to its calls.

use jobcheck_controller::answer::{self, Failure, Shown};
use jobcheck_controller::job::call;
use jobcheck_controller::job::command::{NewPod, Plan, PodRef};
use jobcheck_controller::job::enactment::Enactment;
use jobcheck_controller::job::memory::MemoryUpdate;
use jobcheck_controller::values;
use jobcheck_explorer::mutations::Mutation;
use jobcheck_explorer::process::io::{Answer, Branch, Call, Effect, Io, Stop};
use jobcheck_explorer::process::settings::Settings;
use jobcheck_spec::incarnation;
use jobcheck_spec::job::Job;
use jobcheck_spec::pod::Pod;
use jobcheck_spec::time::Time;
use jobcheck_spec::uid::Uid;

use crate::facts::{self, constant, status};
use crate::names::Names;
use crate::sync::birth;

/// Carries out a plan. The calls of a batch are sent at the same time.
///
/// # Errors
///
/// Stops at a call without a response, or with the failure of the sync.
pub fn enact(
    plan: &Plan,
    job: &Job,
    now: Time,
    settings: &Settings<'_>,
    names: &Names,
    io: &mut Io<'_>,
) -> Result<(), Stop> {
    let environment = Environment { job, now, settings, names, shown: shown(job) };
    let mut enactment = Enactment::new(plan, facts::job::uid(job), facts::version());
    let (mut created, mut swallowed) = (0, 0);
    while !enactment.is_over() {
        let calls = enactment.take_all();
        let answers = environment.answers(&calls, created, io)?;
        let failures = enactment.failures().len();
        for (call, answer) in calls.iter().zip(answers) {
            enactment.answered(call, &answer, facts::time(now));
        }
        if matches!(calls[..], [call::Call::CreatePod(..), ..]) {
            created += calls.len();
            if settings.mutations.on(Mutation::SwallowsCreateErrors) {
                swallowed += enactment.failures().len() - failures;
            }
        }
    }
    if enactment.failures().len() > swallowed { Err(Stop::Failed) } else { Ok(()) }
}

/// The environment of the model as the enactment sees it.
struct Environment<'a> {
    job: &'a Job,
    now: Time,
    settings: &'a Settings<'a>,
    names: &'a Names,
    /// The content of every successful response.
    shown: Shown,
}

impl Environment<'_> {
    /// The responses to the calls of a batch. The sync has requested `created` pods before.
    fn answers(
        &self,
        calls: &[call::Call],
        created: usize,
        io: &mut Io<'_>,
    ) -> Result<Vec<answer::Answer>, Stop> {
        io.all(calls.iter().enumerate(), |(number, call), branch: &mut Branch<'_>| {
            let answer = match self.model_call(call, created + number) {
                Some(model_call) => self.answer(branch.call(model_call)?),
                // The model includes this GET in each of the adoptions that follow.
                None => Ok(self.shown.clone()),
            };
            if let Some(update) = call.memory_update(&answer) {
                branch.note(self.effect(&update));
            }
            Ok(answer)
        })
    }

    /// The call in the model, if the model has it. `number` counts the requested pods without an index.
    fn model_call(&self, call: &call::Call, number: usize) -> Option<Call> {
        let uid = |pod: &PodRef| self.uid(&pod.uid);
        Some(match call {
            call::Call::ReadJob => return None,
            call::Call::WriteStatus(write, _) => {
                Call::WriteStatus(Box::new(status::stored(&write.after, self.names)))
            }
            call::Call::RemoveFinalizer(remove_finalizer) => {
                Call::RemoveFinalizer(uid(&remove_finalizer.pod))
            }
            call::Call::CreatePod(pod, _) => {
                let number = pod.index.unwrap_or(u32::try_from(number).unwrap_or(u32::MAX));
                Call::CreatePod(number, Box::new(self.new_pod(pod)))
            }
            call::Call::DeletePod(pod) => Call::DeletePod(uid(pod)),
            call::Call::AdoptPod(pod) => Call::AdoptPod(uid(pod)),
            call::Call::ReleasePod(pod) => Call::ReleasePod(uid(pod)),
        })
    }

    /// The response in the controller's types. Only the model's certain responses are certain here.
    fn answer(&self, answer: Answer) -> answer::Answer {
        match answer {
            Answer::Done => Ok(self.shown.clone()),
            Answer::NotFound => Err(Failure::NotFound(String::new())),
            Answer::NamespaceTerminating => Err(Failure::NamespaceTerminating(String::new())),
            Answer::Error => Err(Failure::Ambiguous(String::new())),
        }
    }

    fn effect(&self, update: &MemoryUpdate) -> Effect {
        match update {
            MemoryUpdate::FinalizerRemoved(uid) => Effect::FinalizerRemoved(self.uid(uid)),
            MemoryUpdate::Deleted(uid) => Effect::Deleted(self.uid(uid)),
            MemoryUpdate::NamespaceTerminating => Effect::CreationRefused(self.now),
        }
    }

    fn uid(&self, uid: &values::Uid) -> Uid {
        self.names.uid(uid).unwrap_or(Uid::EMPTY)
    }

    /// The requested pod. The fields from the template are the same for all pods.
    fn new_pod(&self, pod: &NewPod) -> Pod {
        let count = |count: Option<i32>| count.and_then(|it| u32::try_from(it).ok()).unwrap_or(0);
        Pod {
            finalizer: true,
            index: pod.index,
            failure_count: count(pod.failure_count),
            ignored_failure_count: count(pod.ignored_failure_count),
            incarnation: incarnation::of(Some(self.job)),
            created: birth(self.settings, self.now),
            ..Pod::new(Uid::EMPTY)
        }
    }
}

/// The Job, as a response shows it.
fn shown(job: &Job) -> Shown {
    Shown {
        name: constant(""),
        uid: facts::job::uid(job),
        resource_version: facts::version(),
        deleting: false,
    }
}
