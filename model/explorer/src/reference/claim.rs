//! Step 6: adopting pods, and giving pods up (FT-24, FT-25, FT-26).

use std::sync::Arc;

use jobcheck_spec::job::Job;
use jobcheck_spec::pod::Pod;
use jobcheck_spec::uid::Uid;

use crate::mutations::Mutation;
use crate::process::io::{Answer, Call, Io, Stop};
use crate::process::read::Read;
use crate::process::settings::Settings;

/// What a sync reads once it has claimed its pods; `None` where that changes nothing.
///
/// # Errors
///
/// A call without an answer, or one that failed: then the sync is tried again.
pub fn claim(job: &Job, read: &Read, settings: &Settings<'_>, io: &mut Io<'_>) -> Result<Option<Read>, Stop> {
    // The S-05 of 1.36: a pod that has ended may have been counted already.
    let ended_too = settings.mutations.on(Mutation::AdoptsEndedPods);
    let adoptable =
        |pod: &&Pod| pod.selected && !pod.deleting && (ended_too || !pod.is_terminated()) && !job.deleting;
    let adopted: Vec<&Pod> = read.ownerless.iter().filter(adoptable).collect();
    let strange: Vec<&Pod> = read.pods.iter().filter(|pod| !pod.selected && !job.deleting).collect();
    if adopted.is_empty() && strange.is_empty() {
        return Ok(None);
    }
    let adoptions = adopted.iter().map(|pod| Call::AdoptPod(pod.uid));
    let finalizer_removals = strange.iter().map(|pod| Call::ReleasePod(pod.uid));
    let answers = io.all(adoptions.chain(finalizer_removals), |call, branch| {
        let uid = subject(&call);
        Ok((uid, branch.call(call)?))
    })?;
    if answers.iter().any(|(_, answer)| *answer == Answer::Error) {
        return Err(Stop::Failed);
    }
    let mut claimed = read.clone();
    let pods = Arc::make_mut(&mut claimed.pods);
    for pod in strange {
        pods.set(pod.uid, None);
    }
    for pod in adopted {
        let is_there = answers.contains(&(pod.uid, Answer::Done));
        let pod = Pod { controlled: true, finalizer: true, ..pod.clone() };
        pods.set(pod.uid, is_there.then_some(pod));
    }
    Ok(Some(claimed))
}

fn subject(call: &Call) -> Uid {
    match call {
        Call::AdoptPod(uid) | Call::ReleasePod(uid) | Call::DeletePod(uid) | Call::RemoveFinalizer(uid) => {
            *uid
        }
        Call::CreatePod(_, pod) => pod.uid,
        Call::WriteStatus(_) => Uid::EMPTY,
    }
}
