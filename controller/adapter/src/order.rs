//! The order of equal pods, which a plan takes from their UIDs.
//!
//! UIDs are random, so any of several equal pods may have the smallest one. The environment therefore chooses
//! their order, as it does for the reference algorithm ([`Io::pick`]). The shipped plan does not ask for a
//! choice. It is computed with the UIDs in one order and in the opposite order. If both plans have the same
//! content, the order does not matter. Otherwise the environment chooses the first pod, and the rest is
//! compared in the same way.
//!
//! # Caveats
//!
//! A plan that depends on UIDs is expected to take the first pod, or all but the last one. Such a plan
//! differs between an order and its opposite. A plan that takes a pod in the middle would not be noticed.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use jobcheck_controller::job::command::{self, Command, NewPod, Plan, PodRef, Sequence};
use jobcheck_explorer::mutations::Mutations;
use jobcheck_explorer::process::io::{Io, Stop};
use jobcheck_explorer::process::read::{Failures, OwnRequests, Read};
use jobcheck_explorer::process::settings::Settings;
use jobcheck_spec::constants::Constants;
use jobcheck_spec::gates::Gates;
use jobcheck_spec::job::{Job, JobStatus};
use jobcheck_spec::uid::Uid;
use rustc_hash::FxHashMap;

use crate::facts::status;
use crate::names::Names;
use crate::sync::{memory_of, planned};

/// A plan, and the names with which it was computed.
pub struct Planned {
    /// The plan.
    pub plan: Plan,
    /// The names.
    pub names: Names,
}

/// The content of a plan without the names of pods.
#[derive(Debug, PartialEq)]
struct Content {
    parts: [Vec<Vec<CommandContent>>; 6],
    memory: (Failures, OwnRequests),
    wake_after: Option<Duration>,
}

/// The content of a command. The calls of a batch have no order.
#[derive(Debug, PartialEq)]
enum CommandContent {
    Status(Box<JobStatus>),
    Pods(&'static str, BTreeSet<Option<Uid>>),
    Create(Vec<NewPod>),
}

/// The plan of a sync, with the pods in an order that the environment chooses.
///
/// # Errors
///
/// Stops at a choice that was not made yet.
pub fn plan_in_some_order(
    job: &Job,
    read: &Read,
    settings: &Settings<'_>,
    io: &mut Io<'_>,
) -> Result<Rc<Planned>, Stop> {
    let (mut first, mut rest) = (Vec::new(), pods_read(job, read));
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

/// The plan with these pods first. Also returns true if the plan depends on the order of the rest.
fn plan_after(first: &[Uid], rest: &[Uid], job: &Job, read: &Read, settings: &Settings<'_>) -> Choice {
    let plan_of = |order: Vec<Uid>| {
        let names = Names::in_order(order);
        Planned { plan: planned(job, read, settings, &names), names }
    };
    let planned = plan_of([first, rest].concat());
    let opposite = || plan_of(first.iter().chain(rest.iter().rev()).copied().collect());
    let is_open = rest.len() > 1 && planned.content(settings) != opposite().content(settings);
    (Rc::new(planned), is_open)
}

/// A plan, and true if it depends on the order of the remaining pods.
type Choice = (Rc<Planned>, bool);

/// The number of inputs for which a thread remembers plans. At the limit, all are dropped. Consecutive states
/// of an exploration are similar.
const REMEMBERED: usize = 1 << 13;

/// The plans that a thread remembers. A sync runs again after each response, and many states have the same
/// input.
#[derive(Default)]
struct PlanCache {
    settings: Option<(Gates, Constants, Vec<i32>, bool, Mutations)>,
    plans: FxHashMap<Read, Vec<(Vec<Uid>, Choice)>>,
}

thread_local! {
    static PLAN_CACHE: RefCell<PlanCache> = RefCell::default();
}

fn recall(read: &Read, settings: &Settings<'_>, first: &[Uid], plan: impl FnOnce() -> Choice) -> Choice {
    PLAN_CACHE.with_borrow_mut(|known| {
        let Settings { decisions: _, mutations, constants, gates, has_delays, exit_codes } = settings;
        let same = known.settings.as_ref().is_some_and(|known| {
            (known.0, known.1, known.2.as_slice(), known.3) == (*gates, **constants, *exit_codes, *has_delays)
                && known.4 == **mutations
        });
        if !same || known.plans.len() >= REMEMBERED {
            let mutations = (*mutations).clone();
            let settings = Some((*gates, **constants, exit_codes.to_vec(), *has_delays, mutations));
            *known = PlanCache { settings, plans: FxHashMap::default() };
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

/// The UIDs of all pods that the input names, in order.
pub(crate) fn pods_read(job: &Job, read: &Read) -> Vec<Uid> {
    let mut uids: Vec<Uid> = read.pods.iter().chain(read.ownerless.iter()).map(|pod| pod.uid).collect();
    uids.extend(job.status.uncounted_succeeded().iter().chain(job.status.uncounted_failed()));
    uids.extend(&read.failures.pods);
    uids.extend(read.own_requests.finalizer_removed.iter().chain(&read.own_requests.deleted));
    uids.sort_unstable();
    uids.dedup();
    uids
}

impl Planned {
    fn content(&self, settings: &Settings<'_>) -> Content {
        let sequence =
            |sequence: &Sequence| sequence.iter().map(|step| self.command_content(&step.command)).collect();
        let part = |sequences: &Vec<Sequence>| sequences.iter().map(sequence).collect();
        let Plan { claims, stop, account, scale, .. } = &self.plan;
        let no_stop = command::Stop::default();
        let command::Stop { deletions, if_all, if_none } = stop.as_ref().unwrap_or(&no_stop);
        Content {
            parts: [claims, deletions, if_all, if_none, account, scale].map(part),
            memory: memory_of(&self.plan.memory, settings, &self.names),
            wake_after: self.plan.wake_after,
        }
    }

    fn command_content(&self, command: &Command) -> CommandContent {
        match command {
            Command::WriteStatus(write) => {
                CommandContent::Status(Box::new(status::stored(&write.after, &self.names)))
            }
            Command::RemoveFinalizers(finalizer_removals) => CommandContent::Pods(
                "remove finalizer",
                self.uids(finalizer_removals.iter().map(|it| &it.pod)),
            ),
            Command::DeletePods(pods) => CommandContent::Pods("delete", self.uids(pods)),
            Command::AdoptPods(pods) => CommandContent::Pods("adopt", self.uids(pods)),
            Command::ReleasePods(pods) => CommandContent::Pods("release", self.uids(pods)),
            Command::CreatePods(creation) => CommandContent::Create(creation.pods.clone()),
        }
    }

    fn uids<'a>(&self, pods: impl IntoIterator<Item = &'a PodRef>) -> BTreeSet<Option<Uid>> {
        pods.into_iter().map(|pod| self.names.uid(&pod.uid)).collect()
    }
}
