//! A small controller that creates pods, under test: `cargo test -p jobcheck-model --example executor`.
#![expect(clippy::print_stdout, reason = "an example prints its result")]
use jobcheck_model::{ConditionKind as Kind, Phase::Succeeded, *};

/// Runs Jobs without indexes: records ended pods, removes their finalizers, then counts them. A hasty one has a defect.
struct Small(bool);

impl Subject for Small {
    fn sync(&self, seen: &Seen, api: &mut Api) -> Result<(), Stop> {
        let Some(job) = seen.job().filter(|job| !job.status.is_finished()) else { return Ok(()) };
        let mut new = job.status.clone();
        new.start_time.get_or_insert(seen.now());
        let lists = new.uncounted.take().unwrap_or_default();
        let of =
            |is: &dyn Fn(&Pod) -> bool| seen.pods().filter(|it| is(it)).map(|it| it.uid).collect::<Vec<_>>();
        let held = of(&|pod| pod.finalizer);
        new.succeeded += lists.succeeded.iter().filter(|uid| !held.contains(uid)).count() as i32;
        new.failed += lists.failed.iter().filter(|uid| !held.contains(uid)).count() as i32;
        let has_failed = |pod: &Pod| pod.has_failed(false) || lists.failed.contains(&pod.uid);
        let succeeded = of(&|pod| pod.finalizer && pod.phase == Succeeded && !has_failed(pod));
        let failed = of(&|pod| pod.finalizer && has_failed(pod));
        let (active, ended) = (of(&Pod::is_active), [&succeeded[..], &failed[..]].concat());
        let (mut runs, mut stops) = (active.len() as i32, of(&Pod::is_terminating).len() as i32);
        let missing = job.spec.completions.unwrap_or(1) - new.succeeded - succeeded.len() as i32;
        let fails = new.failed + failed.len() as i32 > job.spec.backoff_limit.unwrap_or(6);
        let is_good = missing <= 0 && !new.is_true(&Kind::FailureTarget);
        let (interim, terminal, reason, message) = if is_good {
            let message = "Reached expected number of succeeded pods";
            (Kind::SuccessCriteriaMet, Kind::Complete, "CompletionsReached", message)
        } else {
            let message = "Job has reached the specified backoff limit";
            (Kind::FailureTarget, Kind::Failed, "BackoffLimitExceeded", message)
        };
        let condition = |kind| Condition::met(kind, reason, message, seen.now());
        if new.is_true(&interim) && ended.is_empty() && runs == 0 && (stops == 0 || self.0) {
            new.completion_time = is_good.then(|| seen.now());
            new.conditions.push(condition(terminal));
        } else if !new.is_decided() && (is_good || fails) {
            new.conditions.push(condition(interim));
            active.iter().try_for_each(|uid| api.delete_pod(*uid))?;
            (runs, stops) = (0, stops + runs);
        }
        new.uncounted = Some(Uncounted { succeeded, failed });
        (new.active, new.ready, new.terminating) = (runs, Some(of(&Pod::is_ready).len() as i32), Some(stops));
        if new != job.status {
            api.write_status(new.clone())?;
        }
        ended.iter().try_for_each(|uid| api.remove_finalizer(*uid))?;
        let wanted = if new.is_decided() { 0 } else { missing.min(job.spec.parallelism.unwrap_or(1)) };
        (runs..wanted).try_for_each(|_| api.create_pod(NewPod::new()))
    }
}

fn main() {
    let check = |small| explore().scope(Scope::non_indexed(2).faults(1)).subject(small);
    println!("{} states hold", check(Small(false)).check().scopes[0].states);
    println!("{}", check(Small(true)).run().expect_err("it ends a Job while pods terminate"));
}
