//! Which of several pods comes first, where a decision takes equals in the order of their UIDs.
//!
//! UIDs are chance: of equal pods each may have the smallest one. So the environment chooses, as it does for the reference
//! algorithm, which asks for it ([`Io::pick`]); the shipped decision does not ask, and is asked instead: it is taken with
//! the UIDs in one order and in the opposite one. Where both come to the same, their order is not looked at. Where they do
//! not, a pod is picked that comes first, and the same is asked of the rest.
//!
//! # Caveats
//!
//! A decision that takes equals by UID takes the first of them, or all but the last, and so shows a difference between an
//! order and its opposite. One that reads UIDs in another way, as a pod in the middle, would not be noticed.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use jobcheck_controller::job::command::{self, Command, NewPod, Plan, PodRef, Sequence};
use jobcheck_explorer::mutations::Mutations;
use jobcheck_explorer::process::io::{Io, Stop};
use jobcheck_explorer::reference::read::{Failures, Kept, Read};
use jobcheck_explorer::reference::sync::Settings;
use jobcheck_spec::constants::Constants;
use jobcheck_spec::gates::Gates;
use jobcheck_spec::job::{Job, JobStatus};
use jobcheck_spec::uid::Uid;
use rustc_hash::FxHashMap;

use crate::facts::status;
use crate::names::Names;
use crate::sync::{kept, planned};

/// A plan with the names that it was made with.
pub struct Planned {
    /// The plan.
    pub plan: Plan,
    /// The names.
    pub names: Names,
}

/// What a plan comes to, whatever the pods are called.
#[derive(Debug, PartialEq)]
struct Meaning {
    parts: [Vec<Vec<Meant>>; 6],
    memory: (Failures, Kept),
    wake_after: Option<Duration>,
}

/// What a command comes to; the calls of a batch are made in any order.
#[derive(Debug, PartialEq)]
enum Meant {
    Status(Box<JobStatus>),
    Pods(&'static str, BTreeSet<Option<Uid>>),
    Create(Vec<NewPod>),
}

/// The plan for what was read, with the pods in an order of the environment's choice.
///
/// # Errors
///
/// A choice that was not made yet.
pub fn plan_in_some_order(
    job: &Job,
    read: &Read,
    settings: &Settings<'_>,
    io: &mut Io<'_>,
) -> Result<Rc<Planned>, Stop> {
    let (mut first, mut rest) = (Vec::new(), named(job, read));
    loop {
        let (planned, is_open) =
            recall(read, settings, &first, || plan_after(&first, &rest, job, read, settings));
        if !is_open {
            return Ok(planned);
        }
        let next = io.pick(&rest, 1)?;
        first.extend(&next);
        rest.retain(|uid| !next.contains(uid));
    }
}

/// The plan where these pods come first, and whether it depends on the order of the rest.
fn plan_after(first: &[Uid], rest: &[Uid], job: &Job, read: &Read, settings: &Settings<'_>) -> Choice {
    let plan_of = |order: Vec<Uid>| {
        let names = Names::in_order(order);
        Planned { plan: planned(job, read, settings, &names), names }
    };
    let planned = plan_of([first, rest].concat());
    let opposite = || plan_of(first.iter().chain(rest.iter().rev()).copied().collect());
    let is_open = rest.len() > 1 && planned.meaning(settings) != opposite().meaning(settings);
    (Rc::new(planned), is_open)
}

/// A plan, and whether it depends on the order of pods that was not chosen yet.
type Choice = (Rc<Planned>, bool);

/// Plans are remembered for so many readings, and then all are forgotten: what is reached in an exploration one after the
/// other is much alike.
const REMEMBERED: usize = 1 << 13;

/// What a thread remembers of plans: a sync is run again after each answer, and in many worlds from the same reading.
#[derive(Default)]
struct Known {
    settings: Option<(Gates, Constants, Vec<i32>, bool, Mutations)>,
    plans: FxHashMap<Read, Vec<(Vec<Uid>, Choice)>>,
}

thread_local! {
    static KNOWN: RefCell<Known> = RefCell::default();
}

fn recall(read: &Read, settings: &Settings<'_>, first: &[Uid], plan: impl FnOnce() -> Choice) -> Choice {
    KNOWN.with_borrow_mut(|known| {
        let Settings { subject: _, mutations, constants, gates, has_delays, exit_codes } = settings;
        let same = known.settings.as_ref().is_some_and(|known| {
            (known.0, known.1, known.2.as_slice(), known.3) == (*gates, **constants, *exit_codes, *has_delays)
                && known.4 == **mutations
        });
        if !same || known.plans.len() >= REMEMBERED {
            let mutations = (*mutations).clone();
            let settings = Some((*gates, **constants, exit_codes.to_vec(), *has_delays, mutations));
            *known = Known { settings, plans: FxHashMap::default() };
        }
        let plans = known.plans.get(read);
        let plan_of = plans.and_then(|plans| plans.iter().find(|(order, _)| order.as_slice() == first));
        if let Some((_, choice)) = plan_of {
            return choice.clone();
        }
        let choice = plan();
        known.plans.entry(read.clone()).or_default().push((first.to_vec(), choice.clone()));
        choice
    })
}

/// All pods that anything which was read names, by UID.
pub(crate) fn named(job: &Job, read: &Read) -> Vec<Uid> {
    let mut uids: Vec<Uid> = read.pods.iter().chain(read.ownerless.iter()).map(|pod| pod.uid).collect();
    uids.extend(job.status.uncounted_succeeded().iter().chain(job.status.uncounted_failed()));
    uids.extend(&read.failures.pods);
    uids.extend(read.kept.finalizer_removed.iter().chain(&read.kept.deleted));
    uids.sort_unstable();
    uids.dedup();
    uids
}

impl Planned {
    fn meaning(&self, settings: &Settings<'_>) -> Meaning {
        let sequence = |sequence: &Sequence| sequence.iter().map(|step| self.meant(&step.command)).collect();
        let part = |sequences: &Vec<Sequence>| sequences.iter().map(sequence).collect();
        let Plan { claims, stop, account, scale, .. } = &self.plan;
        let no_stop = command::Stop::default();
        let command::Stop { deletions, if_all, if_none } = stop.as_ref().unwrap_or(&no_stop);
        Meaning {
            parts: [claims, deletions, if_all, if_none, account, scale].map(part),
            memory: kept(&self.plan.memory, settings, &self.names),
            wake_after: self.plan.wake_after,
        }
    }

    fn meant(&self, command: &Command) -> Meant {
        match command {
            Command::WriteStatus(write) => Meant::Status(Box::new(status::stored(&write.after, &self.names))),
            Command::RemoveFinalizers(finalizer_removals) => {
                Meant::Pods("remove finalizer", self.uids(finalizer_removals.iter().map(|it| &it.pod)))
            }
            Command::DeletePods(pods) => Meant::Pods("delete", self.uids(pods)),
            Command::AdoptPods(pods) => Meant::Pods("adopt", self.uids(pods)),
            Command::ReleasePods(pods) => Meant::Pods("release", self.uids(pods)),
            Command::CreatePods(creation) => Meant::Create(creation.pods.clone()),
        }
    }

    fn uids<'a>(&self, pods: impl IntoIterator<Item = &'a PodRef>) -> BTreeSet<Option<Uid>> {
        pods.into_iter().map(|pod| self.names.uid(&pod.uid)).collect()
    }
}
