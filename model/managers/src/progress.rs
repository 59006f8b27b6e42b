//! Progress: a behaviour that never settles, although every fair step is taken.

use std::collections::BTreeMap;

use jobcheck_explorer::engine::{Cut, Run, System, leaving};
use jobcheck_explorer::liveness::{Builder, Fairness, Label, Property, check};

/// The fairness assumption about an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fair {
    /// It need not be taken.
    Never,
    /// It is taken if it stays enabled.
    Weakly,
    /// It is taken if it is enabled again and again.
    Strongly,
}

/// A behaviour that never settles.
#[derive(Clone, Debug)]
pub struct Endless<S> {
    /// The steps to the cycle, and those of the cycle.
    pub path: Vec<S>,
    /// The number of steps before the cycle.
    pub cycle_start: usize,
    /// The number of a state of the cycle.
    pub node: u32,
}

/// Looks for a behaviour that is in a settled state only finitely often.
///
/// `actions` returns the action of each step that leaves a state, and `fair` the assumption about an action.
///
/// # Errors
///
/// The graph is too large.
pub fn endless<T: System, A: Copy + Ord>(
    system: &T,
    run: &Run<T>,
    scratch: &mut T::Scratch,
    settled: &[bool],
    actions: impl Fn(&mut T::Scratch, &T::State, &mut dyn Iterator<Item = &T::Step>) -> Vec<A>,
    fair: impl Fn(A) -> Fair,
) -> Result<Option<Endless<T::Step>>, Cut> {
    let mut labels: BTreeMap<A, Label> = BTreeMap::new();
    let mut builder = Builder::new();
    builder.initial(0);
    for (number, state) in run.store.states() {
        let edges = leaving(system, run, scratch, number);
        let all = actions(scratch, state, &mut edges.iter().map(|(step, _)| step));
        let edges = all.into_iter().zip(&edges).map(|(action, (_, to))| {
            let fresh = Label::try_from(labels.len()).unwrap_or(Label::MAX);
            (*labels.entry(action).or_insert(fresh), *to)
        });
        builder.node(edges.collect::<Vec<_>>());
    }
    let Ok(graph) = builder.finish() else { return Err(Cut::States) };
    let assumption = |(action, label): (&A, &Label)| match fair(*action) {
        Fair::Never => None,
        Fair::Weakly => Some(Fairness::Weak(vec![*label])),
        Fair::Strongly => Some(Fairness::Strong(vec![*label])),
    };
    let fairness: Vec<Fairness> = labels.iter().filter_map(assumption).collect();
    let goal = |node: u32| settled[node as usize];
    let Err(lasso) = check(&graph, &fairness, &Property::AlwaysEventually(&goal)) else { return Ok(None) };
    let mut step = |from: u32, to: u32, label: Label| {
        let edges = leaving(system, run, scratch, from);
        let all = actions(scratch, run.store.state(from), &mut edges.iter().map(|(step, _)| step));
        let mut edges = edges.into_iter().zip(all);
        let found = edges.find(|((_, next), action)| *next == to && labels[action] == label);
        found.expect("each edge of the graph is a step").0.0
    };
    let edges = lasso.prefix.iter().chain(&lasso.cycle);
    let path = edges.map(|edge| step(edge.from, edge.to, edge.label)).collect();
    Ok(Some(Endless { path, cycle_start: lasso.prefix.len(), node: lasso.cycle_start() }))
}
