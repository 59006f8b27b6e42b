//! Verifies a lasso without the search: it is a fair behaviour, and it breaks the property.

use std::collections::BTreeSet;

use super::{Edge, Fairness, Label, Lasso, Node, Problem, Wanted};

/// The reason why a lasso is not a fair behaviour, or does not break the property.
pub(super) fn verify(problem: &Problem, lasso: &Lasso) -> Result<(), String> {
    let require = |holds: bool, what: &str| if holds { Ok(()) } else { Err(format!("{what}: {lasso:?}")) };
    let steps: Vec<Edge> = lasso.prefix.iter().chain(&lasso.cycle).copied().collect();
    require(problem.initial.contains(&lasso.start), "starts elsewhere")?;
    require(steps.iter().all(|step| problem.edges.contains(step)), "takes an edge that does not exist")?;
    require(steps.iter().all(|step| step.from != step.to), "contains stuttering")?;
    let mut nodes = vec![lasso.start];
    for step in &steps {
        require(nodes.last() == Some(&step.from), "jumps")?;
        nodes.push(step.to);
    }
    let cycle_start = lasso.prefix.len();
    require(nodes.last() == Some(&nodes[cycle_start]), "does not return")?;
    for assumption in &problem.fairness {
        require(is_kept(problem, assumption, &nodes[cycle_start..]), &format!("breaks {assumption:?}"))?;
    }
    require(breaks(&problem.wanted, &nodes, cycle_start), "has the property")
}

/// Returns true if the cycle through these nodes satisfies an assumption. The last node is the first one. A
/// step belongs to every action with such an edge.
fn is_kept(problem: &Problem, assumption: &Fairness, cycle: &[Node]) -> bool {
    let (Fairness::Weak(labels) | Fairness::Strong(labels)) = assumption;
    let taken = cycle.windows(2).any(|step| is_step(problem, labels, step[0], step[1]));
    let enabled = |node: &Node| (0..problem.nodes).any(|to| is_step(problem, labels, *node, to));
    taken
        || match assumption {
            Fairness::Weak(_) => !cycle.iter().all(enabled),
            Fairness::Strong(_) => !cycle.iter().any(enabled),
        }
}

/// `<<A>>_n`: a step of one of these actions that changes the node.
pub(super) fn is_step(problem: &Problem, labels: &[Label], from: Node, to: Node) -> bool {
    from != to && labels.iter().any(|label| problem.edges.contains(&Edge { from, label: *label, to }))
}

/// Returns true if this behaviour breaks the property. Its cycle starts at the position `cycle_start`.
fn breaks(wanted: &Wanted, nodes: &[Node], cycle_start: usize) -> bool {
    let never = |set: &BTreeSet<Node>, nodes: &[Node]| nodes.iter().all(|node| !set.contains(node));
    match wanted {
        Wanted::Eventually(goal) => never(goal, nodes),
        Wanted::AlwaysEventually(goal) => never(goal, &nodes[cycle_start..]),
        Wanted::EventuallyAlways(goal) => nodes[cycle_start..].iter().any(|node| !goal.contains(node)),
        Wanted::LeadsTo(p, q) => {
            (0..nodes.len()).any(|at| p.contains(&nodes[at]) && never(q, &nodes[at.min(cycle_start)..]))
        }
    }
}
