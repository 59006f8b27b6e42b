//! Whether a lasso is a fair behaviour that breaks the property: read off the lasso, with nothing of the search.

use std::collections::BTreeSet;

use super::{Edge, Fairness, Label, Lasso, Node, Task, Wanted};

/// Why a lasso is none, or does not break the property.
pub(super) fn verify(task: &Task, lasso: &Lasso) -> Result<(), String> {
    let require = |holds: bool, what: &str| if holds { Ok(()) } else { Err(format!("{what}: {lasso:?}")) };
    let steps: Vec<Edge> = lasso.prefix.iter().chain(&lasso.cycle).copied().collect();
    require(task.initial.contains(&lasso.start), "starts elsewhere")?;
    require(steps.iter().all(|step| task.edges.contains(step)), "takes an edge that does not exist")?;
    require(steps.iter().all(|step| step.from != step.to), "tells of stuttering")?;
    let mut nodes = vec![lasso.start];
    for step in &steps {
        require(nodes.last() == Some(&step.from), "jumps")?;
        nodes.push(step.to);
    }
    let turn = lasso.prefix.len();
    require(nodes.last() == Some(&nodes[turn]), "does not return")?;
    for assumption in &task.fairness {
        require(is_kept(task, assumption, &nodes[turn..]), &format!("breaks {assumption:?}"))?;
    }
    require(breaks(&task.wanted, &nodes, turn), "has the property")
}

/// Returns true if going round these nodes, the last of which is the first, keeps an assumption. A step is one of every
/// action that has it.
fn is_kept(task: &Task, assumption: &Fairness, round: &[Node]) -> bool {
    let (Fairness::Weak(labels) | Fairness::Strong(labels)) = assumption;
    let taken = round.windows(2).any(|step| is_step(task, labels, step[0], step[1]));
    let enabled = |node: &Node| (0..task.nodes).any(|to| is_step(task, labels, *node, to));
    taken
        || match assumption {
            Fairness::Weak(_) => !round.iter().all(enabled),
            Fairness::Strong(_) => !round.iter().any(enabled),
        }
}

/// `<<A>>_n`: a step of one of these actions that changes something.
pub(super) fn is_step(task: &Task, labels: &[Label], from: Node, to: Node) -> bool {
    from != to && labels.iter().any(|label| task.edges.contains(&Edge { from, label: *label, to }))
}

/// Returns true if the behaviour through these nodes, which goes round from `turn` on, breaks the property.
fn breaks(wanted: &Wanted, nodes: &[Node], turn: usize) -> bool {
    let never = |set: &BTreeSet<Node>, nodes: &[Node]| nodes.iter().all(|node| !set.contains(node));
    match wanted {
        Wanted::Eventually(goal) => never(goal, nodes),
        Wanted::AlwaysEventually(goal) => never(goal, &nodes[turn..]),
        Wanted::EventuallyAlways(goal) => nodes[turn..].iter().any(|node| !goal.contains(node)),
        Wanted::LeadsTo(p, q) => {
            (0..nodes.len()).any(|at| p.contains(&nodes[at]) && never(q, &nodes[at.min(turn)..]))
        }
    }
}
