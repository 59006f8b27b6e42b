use super::*;
use crate::scopes::{initial, named};
use crate::world::{JobId, World};

/// All status writes of the alphabet that the guards admit, without pruning.
fn admitted_of_all(context: &DecisionContext<'_>) -> Vec<JobStatus> {
    let Some(job) = context.writable_job() else { return Vec::new() };
    let view = context.view(job);
    let base = alphabet::base(&view);
    let records =
        alphabet::Record::sets(&alphabet::single_records(&job.status, context.job_state.ghost.pods.len()));
    let mut found = Vec::new();
    let bases = [alphabet::miscounted(&base), vec![base]].concat();
    let moves = alphabet::moves(&job.status);
    for moved in moves.iter().flat_map(|moved| bases.iter().map(|base| moved.on(base.clone()))) {
        for text in with_texts(&view, &moved) {
            for part in alphabet::conditions(&view, &Reason::ALL, context.now) {
                let mut head = text.clone();
                part.put_into(&mut head);
                for whole in alphabet::suspensions(&head, context.now) {
                    let writes = records.iter().map(|record| record.on(whole.clone()));
                    found.extend(writes.filter(|new| context.scope.admits(&judge(context, new))));
                }
            }
        }
    }
    found.retain(|new| *new != job.status);
    found
}

fn with_texts(view: &View<'_>, moved: &JobStatus) -> Vec<JobStatus> {
    if !view.spec().is_indexed() {
        return vec![moved.clone()];
    }
    alphabet::index_texts(view).iter().flat_map(|text| text.on(moved)).collect()
}

/// The first states of a breadth-first search through the scope.
fn worlds(scope: &Scope, count: usize) -> Vec<World> {
    let mut queue = std::collections::VecDeque::from([initial(scope)]);
    let mut seen = Vec::new();
    while let Some(world) = queue.pop_front() {
        if seen.len() >= count || seen.contains(&world) {
            continue;
        }
        let steps = world.enabled(scope);
        queue.extend(steps.iter().map(|step| world.apply(step, scope)));
        seen.push(world);
    }
    seen
}

fn check(name: &str, shrink: impl FnOnce(&mut Scope)) {
    let mut scope = named(name).unwrap();
    shrink(&mut scope);
    let mut admitted_anything = 0;
    for world in worlds(&scope, 60) {
        let context = DecisionContext::of(&world, JobId(0), &scope).unwrap();
        let (pruned, all) = (admitted(&context), admitted_of_all(&context));
        for write in &all {
            assert!(pruned.contains(write), "{name}: pruning hides {write:#?}");
        }
        admitted_anything += all.len();
    }
    assert!(admitted_anything > 20, "{name}: {admitted_anything}");
}

#[test]
fn pruning_hides_no_admitted_write_of_a_plain_job() {
    check("non-indexed", |scope| scope.pods = 2);
}

#[test]
fn pruning_hides_no_admitted_write_of_a_suspended_job() {
    check("suspend", |_| {});
}

#[test]
fn pruning_hides_no_admitted_write_of_an_indexed_job() {
    check("success-policy", |scope| scope.pods = 1);
}

#[test]
fn pruning_hides_no_admitted_write_with_limits_per_index() {
    check("per-index", |scope| {
        scope.pods = 2;
        scope.jobs[0].completions = Some(1);
        scope.jobs[0].parallelism = Some(1);
    });
}
