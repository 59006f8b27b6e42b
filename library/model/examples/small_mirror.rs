//! A small manager that mirrors a Job to one worker, under test: `cargo run -p jobcheck-model --example small_mirror`.
#![expect(clippy::print_stdout, reason = "an example prints its result")]
use jobcheck_model::mirror::{Base, CopyView, LocalView, Request, Views, WorkerView};
use jobcheck_model::{ConditionKind as Kind, Job, JobStatus, explore_mirror};

/// Reports the copy before it does anything else. A forgetful manager has a defect: it drops what earlier copies counted.
fn decide(is_forgetful: bool, views: &Views) -> Option<Request> {
    let (Some(local), WorkerView::Known(seen)) = (views.local, &views.workers[0]) else { return None };
    let uid = local.map(|local| local.job.uid);
    let remove = |copy: &CopyView| match copy.deleting {
        false => Some(Request::Delete(0)),
        true => copy.finalizer.then_some(Request::Release(0)),
    };
    match (local, seen.as_deref().filter(|copy| copy.origin.is_some())) {
        (_, Some(copy)) if copy.origin != uid => remove(copy),
        (Some(LocalView { job, .. }), Some(copy)) => {
            let new = mirrored(is_forgetful, job, copy);
            let is_quiet = copy.status.active == 0 && copy.status.recorded() == 0;
            match () {
                () if job.status.is_finished() => copy.finalizer.then_some(Request::Release(0)),
                () if new != job.status => Some(Request::Write(new)),
                () if copy.deleting && is_quiet && !copy.status.is_decided() => remove(copy),
                () => None,
            }
        }
        (Some(LocalView { job, assigned: Some(0) }), None) if !job.deleting && !job.status.is_finished() => {
            let JobStatus { succeeded, failed, .. } = job.status;
            let create = Request::Create(0, Base { succeeded, failed });
            (seen.is_none() && views.memory.awaited.is_empty()).then_some(create)
        }
        _ => None,
    }
}

fn mirrored(is_forgetful: bool, job: &Job, copy: &CopyView) -> JobStatus {
    let (theirs, mut new) = (&copy.status, job.status.clone());
    let base = if is_forgetful { Base::default() } else { copy.base };
    (new.succeeded, new.failed) = (base.succeeded + theirs.succeeded, base.failed + theirs.failed);
    (new.active, new.ready, new.terminating) = (theirs.active, theirs.ready, theirs.terminating);
    new.start_time = new.start_time.or(theirs.start_time);
    // The interim condition, and the terminal one in the write after it.
    for (interim, terminal) in
        [(Kind::SuccessCriteriaMet, Kind::Complete), (Kind::FailureTarget, Kind::Failed)]
    {
        let next = if new.is_true(&interim) { terminal } else { interim.clone() };
        new.completion_time =
            theirs.completion_time.filter(|_| next == Kind::Complete).or(new.completion_time);
        let condition = theirs.condition(&next).filter(|_| theirs.is_finished() && !new.is_true(&next));
        new.conditions.extend(condition.cloned());
    }
    new
}

fn main() {
    let check =
        |forgets| explore_mirror().mirror(move |views: &Views| Vec::from_iter(decide(forgets, views)));
    println!("{:?}", check(false).run().map_err(|it| it.to_string()));
    println!("{}", check(true).run().expect_err("it drops counts"));
}
