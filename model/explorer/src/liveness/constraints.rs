//! Fairness assumptions, and their evaluation on a set of nodes.

use super::graph::{Graph, Label, Node};

/// A fairness assumption about an action, or about the disjunction of several actions. An action without an
/// assumption is unfair: it need never be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fairness {
    /// `WF_n(A)`: an action that stays enabled forever is taken infinitely often. For a disjunction, any of
    /// its actions may be taken or be enabled.
    Weak(Vec<Label>),
    /// `SF_n(A)`: an action that is enabled infinitely often is taken infinitely often.
    Strong(Vec<Label>),
}

impl Fairness {
    /// One weak assumption for each of these actions.
    #[must_use]
    pub fn weak_each(labels: impl IntoIterator<Item = Label>) -> Vec<Fairness> {
        labels.into_iter().map(|label| Fairness::Weak(vec![label])).collect()
    }

    /// One strong assumption for each of these actions.
    #[must_use]
    pub fn strong_each(labels: impl IntoIterator<Item = Label>) -> Vec<Fairness> {
        labels.into_iter().map(|label| Fairness::Strong(vec![label])).collect()
    }

    fn labels(&self) -> &[Label] {
        match self {
            Fairness::Weak(labels) | Fairness::Strong(labels) => labels,
        }
    }
}

/// The assumptions, and their numbers by label.
pub(super) struct Constraints<'a> {
    fairness: &'a [Fairness],
    of_label: Vec<Vec<usize>>,
}

impl<'a> Constraints<'a> {
    pub(super) fn new(fairness: &'a [Fairness]) -> Constraints<'a> {
        let mut of_label: Vec<Vec<usize>> = Vec::new();
        for (number, assumption) in fairness.iter().enumerate() {
            for label in assumption.labels().iter().map(|label| usize::from(*label)) {
                of_label.resize(of_label.len().max(label + 1), Vec::new());
                of_label[label].push(number);
            }
        }
        Constraints { fairness, of_label }
    }

    /// The numbers of the assumptions that a step with this label satisfies.
    pub(super) fn of(&self, label: Label) -> &[usize] {
        self.of_label.get(usize::from(label)).map_or(&[], Vec::as_slice)
    }

    /// Returns true if the action of an assumption is enabled in a node.
    pub(super) fn is_enabled(&self, graph: &Graph, number: usize, node: Node) -> bool {
        graph.numbers(node).any(|edge| self.of(graph.label(edge)).contains(&number))
    }

    /// The numbers of the weak assumptions.
    pub(super) fn weak(&self) -> impl Iterator<Item = usize> + '_ {
        self.numbered(|assumption| matches!(assumption, Fairness::Weak(_)))
    }

    /// The numbers of the strong assumptions.
    pub(super) fn strong(&self) -> impl Iterator<Item = usize> + '_ {
        self.numbered(|assumption| matches!(assumption, Fairness::Strong(_)))
    }

    fn numbered(&self, wanted: fn(&Fairness) -> bool) -> impl Iterator<Item = usize> + '_ {
        self.fairness.iter().enumerate().filter(move |(_, it)| wanted(it)).map(|(number, _)| number)
    }
}

/// The evaluation of the assumptions on a set of nodes.
pub(super) struct Tally {
    /// For each assumption, the number of nodes in which its action is enabled.
    pub(super) enabled_in: Vec<usize>,
    /// For each assumption, true if an edge within the set takes its action.
    pub(super) taken: Vec<bool>,
}

impl Tally {
    /// Evaluates the assumptions on a set of nodes. An action is enabled by any edge of the graph, but taken
    /// only by edges within the set.
    pub(super) fn new(
        graph: &Graph,
        constraints: &Constraints<'_>,
        nodes: &[Node],
        within: impl Fn(Node) -> bool,
    ) -> Tally {
        let count = constraints.fairness.len();
        let mut tally = Tally { enabled_in: vec![0; count], taken: vec![false; count] };
        let mut last_enabled_in: Vec<Option<Node>> = vec![None; count];
        for &node in nodes {
            for edge in graph.numbers(node) {
                let stays = within(graph.target(edge));
                for &number in constraints.of(graph.label(edge)) {
                    tally.taken[number] |= stays;
                    if last_enabled_in[number].replace(node) != Some(node) {
                        tally.enabled_in[number] += 1;
                    }
                }
            }
        }
        tally
    }
}
