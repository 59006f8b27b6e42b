//! Progress: a behaviour that never settles, although every fair step is taken.

use std::collections::BTreeMap;

use jobcheck_explorer::engine::{Cut, Run, System, leaving};
use jobcheck_explorer::liveness::{Builder, Fairness, Label, Property, check};
use jobcheck_spec::catalogue::Req;

use crate::check::{Counterexample, Exploration, Outcome};

/// The fairness assumption about an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fair {
    /// It need not be taken.
    Never,
    /// It is taken if it stays enabled.
    Weakly,
    /// It is taken if it is enabled again and again.
    Strongly,
}

/// A system in which every fair behaviour settles again and again.
pub(crate) trait Settling: System {
    /// Steps that share one fairness assumption.
    type Action: Copy + Ord;

    /// The obligation that is open in a state, as a sentence without a full stop. A state without one is settled.
    fn open_obligation(&self, scratch: &mut Self::Scratch, state: &Self::State) -> Option<(Req, String)>;

    /// The action of each of these steps, which leave the state.
    fn actions(
        &self,
        scratch: &mut Self::Scratch,
        state: &Self::State,
        steps: &mut dyn Iterator<Item = &Self::Step>,
    ) -> Vec<Self::Action>;

    /// The assumption about an action.
    fn fairness(action: Self::Action) -> Fair;
}

/// A behaviour that never settles.
struct Endless<S> {
    /// The steps to the cycle, and those of the cycle.
    path: Vec<S>,
    /// The number of steps before the cycle.
    cycle_start: usize,
    /// The number of a state of the cycle.
    node: u32,
}

/// Adds progress to the exploration of a system whose states are all explored, and hold.
pub(crate) fn check_progress<T: Settling>(system: &T, run: &Run<T>, exploration: &mut Exploration<T::Step>) {
    let scratch = &mut system.scratch();
    let is_settled = |(_, state)| system.open_obligation(scratch, state).is_none();
    let settled: Vec<bool> = run.store.states().map(is_settled).collect();
    exploration.settled = Some(settled.iter().filter(|settled| **settled).count());
    let scratch = &mut system.scratch();
    exploration.outcome = match endless(system, run, scratch, &settled) {
        Ok(None) => return,
        Err(cut) => Outcome::NotFinished(cut),
        Ok(Some(Endless { path, cycle_start, node })) => {
            let owed = system.open_obligation(scratch, run.store.state(node));
            let (req, why) = owed.expect("no state of the cycle is settled");
            Outcome::Broken(Counterexample { req, why, path, cycle_start: Some(cycle_start) })
        }
    };
}

/// Looks for a behaviour that is in a settled state only finitely often.
///
/// # Errors
///
/// The graph is too large.
fn endless<T: Settling>(
    system: &T,
    run: &Run<T>,
    scratch: &mut T::Scratch,
    settled: &[bool],
) -> Result<Option<Endless<T::Step>>, Cut> {
    let mut labels: BTreeMap<T::Action, Label> = BTreeMap::new();
    let mut builder = Builder::new();
    builder.initial(0);
    for (number, state) in run.store.states() {
        let edges = leaving(system, run, scratch, number);
        let all = system.actions(scratch, state, &mut edges.iter().map(|(step, _)| step));
        let edges = all.into_iter().zip(&edges).map(|(action, (_, to))| {
            let fresh = Label::try_from(labels.len()).unwrap_or(Label::MAX);
            (*labels.entry(action).or_insert(fresh), *to)
        });
        builder.node(edges.collect::<Vec<_>>());
    }
    let Ok(graph) = builder.finish() else { return Err(Cut::States) };
    let assumption = |(action, label): (&T::Action, &Label)| match T::fairness(*action) {
        Fair::Never => None,
        Fair::Weakly => Some(Fairness::Weak(vec![*label])),
        Fair::Strongly => Some(Fairness::Strong(vec![*label])),
    };
    let fairness: Vec<Fairness> = labels.iter().filter_map(assumption).collect();
    let goal = |node: u32| settled[node as usize];
    let Err(lasso) = check(&graph, &fairness, &Property::AlwaysEventually(&goal)) else { return Ok(None) };
    let mut step = |from: u32, to: u32, label: Label| {
        let edges = leaving(system, run, scratch, from);
        let all = system.actions(scratch, run.store.state(from), &mut edges.iter().map(|(step, _)| step));
        let mut edges = edges.into_iter().zip(all);
        let found = edges.find(|((_, next), action)| *next == to && labels[action] == label);
        found.expect("each edge of the graph is a step").0.0
    };
    let edges = lasso.prefix.iter().chain(&lasso.cycle);
    let path = edges.map(|edge| step(edge.from, edge.to, edge.label)).collect();
    Ok(Some(Endless { path, cycle_start: lasso.prefix.len(), node: lasso.cycle_start() }))
}
