//! Adopting ownerless pods, and releasing pods that the selector does not match (FT-24, FT-25, FT-26).

use std::sync::Arc;

use jobcheck_spec::job::Job;
use jobcheck_spec::pod::Pod;
use jobcheck_spec::uid::Uid;

use crate::process::io::{Answer, Call, Io, Stop};
use crate::process::read::Read;
use crate::process::settings::Settings;

/// The input of a sync after it has adopted and released pods. Returns `None` if it changes none.
///
/// # Errors
///
/// A call is not answered yet, or failed; then the sync is retried.
pub fn claim(job: &Job, read: &Read, settings: &Settings<'_>, io: &mut Io<'_>) -> Result<Option<Read>, Stop> {
    let adoptable =
        |pod: &&Pod| pod.selected && !pod.deleting && settings.adopts_in_phase_of(pod) && !job.deleting;
    let adopted: Vec<&Pod> = read.ownerless.iter().filter(adoptable).collect();
    let released: Vec<&Pod> = read.pods.iter().filter(|pod| !pod.selected && !job.deleting).collect();
    if adopted.is_empty() && released.is_empty() {
        return Ok(None);
    }
    let adoptions = adopted.iter().map(|pod| Call::AdoptPod(pod.uid));
    let releases = released.iter().map(|pod| Call::ReleasePod(pod.uid));
    let answers = io.all(adoptions.chain(releases), |call, branch| {
        let uid = pod_of(&call);
        Ok((uid, branch.call(call)?))
    })?;
    if answers.iter().any(|(_, answer)| *answer == Answer::Error) {
        return Err(Stop::Failed);
    }
    let mut claimed = read.clone();
    let pods = Arc::make_mut(&mut claimed.pods);
    for pod in released {
        pods.set(pod.uid, None);
    }
    for pod in adopted {
        let exists = answers.contains(&(pod.uid, Answer::Done));
        let pod = Pod { controlled: true, finalizer: true, ..pod.clone() };
        pods.set(pod.uid, exists.then_some(pod));
    }
    Ok(Some(claimed))
}

fn pod_of(call: &Call) -> Uid {
    match call {
        Call::AdoptPod(uid) | Call::ReleasePod(uid) | Call::DeletePod(uid) | Call::RemoveFinalizer(uid) => {
            *uid
        }
        Call::CreatePod(_, pod) => pod.uid,
        Call::WriteStatus(_) => Uid::EMPTY,
    }
}
