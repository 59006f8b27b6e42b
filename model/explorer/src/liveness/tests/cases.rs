//! The graphs of `model/tla/progress`, with the results of TLC.

use std::collections::BTreeSet;

use super::verify::verify;
use super::{Edge, Fairness, Label, Node, Problem, Wanted};

const CASES: &str = include_str!("../../../../tla/progress/cases.txt");
const RANDOM: &str = include_str!("../../../../tla/progress/random.txt");

/// A check in a file, and the result of TLC.
struct Case {
    /// The name of the graph and the line.
    name: String,
    problem: Problem,
    holds: bool,
}

/// The graph that the lines before a check describe.
#[derive(Default)]
struct Described {
    name: String,
    initial: Vec<Node>,
    edges: Vec<Edge>,
    labels: Vec<String>,
}

impl Described {
    fn label(&mut self, name: &str) -> Label {
        let known = self.labels.iter().position(|label| label == name);
        let number = known.unwrap_or_else(|| {
            self.labels.push(name.to_owned());
            self.labels.len() - 1
        });
        Label::try_from(number).unwrap()
    }

    fn edge(&mut self, words: &[&str]) {
        let (from, to) = (words[0].parse().unwrap(), words[2].parse().unwrap());
        let label = self.label(words[1]);
        self.edges.push(Edge { from, label, to });
    }

    fn assumption(&mut self, word: &str) -> Option<Fairness> {
        let (kind, rest) = word.split_once('(')?;
        let labels = rest.trim_end_matches(')').split(',').map(|name| self.label(name)).collect();
        match kind {
            "WF" => Some(Fairness::Weak(labels)),
            "SF" => Some(Fairness::Strong(labels)),
            _ => None,
        }
    }

    fn check(&mut self, words: &[&str]) -> Case {
        let name = format!("{}: {}", self.name, words.join(" "));
        let (verdict, question) = words.split_last().unwrap();
        let fairness: Vec<Fairness> = question.iter().map_while(|word| self.assumption(word)).collect();
        let wanted = wanted(&question[fairness.len()..]);
        let named = self.edges.iter().flat_map(|edge| [edge.from, edge.to]).chain(self.initial.clone());
        let nodes = named.max().unwrap() + 1;
        let holds = match *verdict {
            "holds" => true,
            "violated" => false,
            other => panic!("{name}: unknown result of TLC: {other}"),
        };
        let (initial, edges) = (self.initial.clone(), self.edges.clone());
        Case { name, problem: Problem { nodes, initial, edges, fairness, wanted }, holds }
    }
}

fn wanted(words: &[&str]) -> Wanted {
    match *words {
        ["<>", goal] => Wanted::Eventually(set(goal)),
        ["[]<>", goal] => Wanted::AlwaysEventually(set(goal)),
        ["<>[]", goal] => Wanted::EventuallyAlways(set(goal)),
        [p, "~>", q] => Wanted::LeadsTo(set(p), set(q)),
        _ => panic!("{words:?} is no property"),
    }
}

fn set(text: &str) -> BTreeSet<Node> {
    let inner = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap();
    inner.split(',').map(|node| node.parse().unwrap()).collect()
}

fn read(text: &str) -> Vec<Case> {
    let mut graph = Described::default();
    let mut cases = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [] => {}
            [first, ..] if first.starts_with('#') => {}
            ["graph", name] => graph = Described { name: (*name).to_owned(), ..Described::default() },
            ["init", nodes @ ..] => graph.initial = nodes.iter().map(|node| node.parse().unwrap()).collect(),
            ["edge", rest @ ..] => graph.edge(rest),
            ["check", rest @ ..] => cases.push(graph.check(rest)),
            other => panic!("{other:?} is no line"),
        }
    }
    cases
}

fn agrees_with_tlc(text: &str, least: usize) {
    let cases = read(text);
    let held = cases.iter().filter(|case| case.holds).count();
    // Both results must occur often, or the comparison shows little.
    assert!(held >= least && cases.len() - held >= least, "{held} of {} hold", cases.len());
    for case in cases {
        match case.problem.check() {
            Ok(()) => assert!(case.holds, "{}", case.name),
            Err(lasso) => {
                assert!(!case.holds, "{}: {lasso:?}", case.name);
                verify(&case.problem, &lasso).unwrap_or_else(|why| panic!("{}: {why}", case.name));
            }
        }
    }
}

#[test]
fn small_graphs_are_judged_as_tlc_judges_them() {
    agrees_with_tlc(CASES, 80);
}

#[test]
fn random_graphs_are_judged_as_tlc_judges_them() {
    agrees_with_tlc(RANDOM, 80);
}
