//! Carrying a plan out, one API call at a time.

use jobcheck_controller::job::command::{Command, Creation, NewPod, Plan, PodRef};
use jobcheck_controller::job::creation::batches;
use jobcheck_model::algorithm::io::{Answer, Branch, Call, Effect, Io, Stop};
use jobcheck_model::algorithm::switches::Switch;
use jobcheck_model::algorithm::sync::Settings;
use jobcheck_model::incarnation;
use jobcheck_model::job::Job;
use jobcheck_model::pod::Pod;
use jobcheck_model::time::Time;
use jobcheck_model::uid::Uid;

use crate::facts::status;
use crate::names::Names;
use crate::sync::birth;

/// How a command went, as far as the plan goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Went {
    /// The sequence goes on.
    Well,
    /// The sequence ends, and nothing is wrong: a pod was gone.
    Enough,
    /// The sequence ends, and the Job is planned again.
    Wrong,
}

impl Went {
    /// Of calls to which 404 is no failure.
    fn by(answers: &[Answer]) -> Went {
        match () {
            () if answers.contains(&Answer::Error) => Went::Wrong,
            () if answers.contains(&Answer::NotFound) => Went::Enough,
            () => Went::Well,
        }
    }
}

/// Performs the sequences of a plan as its documentation says: a failed step ends its sequence, some the plan.
///
/// # Errors
///
/// A call without an answer, or the failure of the sync.
pub fn enact(
    plan: &Plan,
    job: &Job,
    now: Time,
    settings: &Settings<'_>,
    names: &Names,
    io: &mut Io<'_>,
) -> Result<(), Stop> {
    let enactor = Enactor { job, now, settings, names };
    let mut failed = false;
    for sequence in &plan.sequences {
        for step in sequence {
            match enactor.perform(&step.command, io)? {
                Went::Well => {}
                Went::Enough => break,
                Went::Wrong if step.command.ends_plan() => return Err(Stop::Failed),
                Went::Wrong => {
                    failed = true;
                    break;
                }
            }
        }
    }
    if failed { Err(Stop::Failed) } else { Ok(()) }
}

struct Enactor<'a> {
    job: &'a Job,
    now: Time,
    settings: &'a Settings<'a>,
    names: &'a Names,
}

impl Enactor<'_> {
    fn perform(&self, command: &Command, io: &mut Io<'_>) -> Result<Went, Stop> {
        match command {
            Command::WriteStatus(write) => {
                let status = status::stored(&write.after, self.names);
                let answer = io.call(Call::WriteStatus(Box::new(status)))?;
                Ok(if answer == Answer::Done { Went::Well } else { Went::Wrong })
            }
            Command::ReleasePods(releases) => {
                let pods = releases.iter().map(|it| &it.pod);
                Ok(Went::by(&self.each(pods, Call::ReleasePod, Some(Effect::Released), io)?))
            }
            Command::DeletePods(pods) => {
                Ok(Went::by(&self.each(pods, Call::DeletePod, Some(Effect::Deleted), io)?))
            }
            Command::AdoptPods(pods) => {
                let answers = self.each(pods, Call::AdoptPod, None, io)?;
                let done = answers.iter().all(|answer| *answer == Answer::Done);
                Ok(if done { Went::Well } else { Went::Wrong })
            }
            Command::GiveUpPods(pods) => {
                let answers = self.each(pods, Call::GiveUpPod, None, io)?;
                Ok(if answers.contains(&Answer::Error) { Went::Wrong } else { Went::Well })
            }
            Command::CreatePods(creation) => self.create(creation, io),
        }
    }

    /// One call for each pod, all at the same time. An answer of 2xx or 404 has the effect.
    fn each<'p>(
        &self,
        pods: impl IntoIterator<Item = &'p PodRef>,
        call: fn(Uid) -> Call,
        effect: Option<fn(Uid) -> Effect>,
        io: &mut Io<'_>,
    ) -> Result<Vec<Answer>, Stop> {
        let uids = pods.into_iter().map(|pod| self.names.uid(&pod.uid).unwrap_or(Uid::EMPTY));
        io.all(uids, |uid, branch: &mut Branch<'_>| {
            let answer = branch.call(call(uid))?;
            if let Some(effect) = effect.filter(|_| answer != Answer::Error) {
                branch.note(effect(uid));
            }
            Ok(answer)
        })
    }

    /// PC-11.
    fn create(&self, creation: &Creation, io: &mut Io<'_>) -> Result<Went, Stop> {
        let numbered: Vec<(u32, &NewPod)> = (0..).zip(&creation.pods).collect();
        let mut rest = numbered.as_slice();
        for size in batches(numbered.len()) {
            let (batch, later) = rest.split_at(size.min(rest.len()));
            let answers = io.all(batch, |(number, pod), branch| {
                let number = pod.index.unwrap_or(*number);
                let answer = branch.call(Call::CreatePod(number, Box::new(self.newborn(pod))))?;
                if answer == Answer::NamespaceTerminating {
                    branch.note(Effect::Refused(self.now));
                }
                Ok(answer)
            })?;
            if answers.iter().any(|answer| *answer != Answer::Done) {
                let swallows = self.settings.switches.on(Switch::SwallowsCreateErrors);
                return Ok(if swallows { Went::Enough } else { Went::Wrong });
            }
            rest = later;
        }
        Ok(Went::Well)
    }

    /// The pod that the API server is asked for. What it has of the template is the same for all.
    fn newborn(&self, pod: &NewPod) -> Pod {
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
