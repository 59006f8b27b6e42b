//! The graph of a scope, for Graphviz.

use std::fmt::Write;

use jobcheck_explorer::check::{Bounds, Outcome, Worlds, visit};
use jobcheck_explorer::narrative;
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::step::Step;

/// The graph in the DOT language: a node for each state, and an edge with a label for each step.
///
/// State 0 is the initial state. A search ends at the first state in which a property is broken, so that the graph has no
/// states beyond it. The path of the counterexample is red.
pub fn render(scope: &Scope, bounds: &Bounds, counterexample: &[Step]) -> String {
    let mut out =
        format!("digraph \"{}\" {{\n  node [shape=circle];\n  0 [shape=doublecircle];\n", scope.name);
    let exploration = visit(scope, bounds, &|_| true, &mut |_, worlds| {
        let path = located(counterexample, worlds);
        for from in 0..worlds.count() {
            let world = worlds.world(from);
            for (step, to) in worlds.leaving(from) {
                let line = narrative::line(&step, &world, scope);
                let label = escaped(&format!("{} {}", line.who, line.what));
                let is_on_path = path.iter().any(|(at, taken)| *at == from && **taken == *step);
                let mark = if is_on_path { ", color=red, fontcolor=red, penwidth=2" } else { "" };
                let _ = writeln!(out, "  {from} -> {to} [label=\"{label}\"{mark}];");
            }
        }
        if let Some((last, _)) = path.last() {
            let end =
                worlds.leaving(*last).into_iter().find(|(step, _)| Some(&**step) == counterexample.last());
            let _ = end.map(|(_, to)| writeln!(out, "  {to} [color=red];"));
        }
    });
    if let Outcome::NotFinished(_) = exploration.outcome {
        out.push_str("  label=\"not finished\";\n");
    }
    out.push_str("}\n");
    out
}

/// The steps of a counterexample with the states in which they are taken, as far as the graph has them.
fn located<'a>(counterexample: &'a [Step], worlds: &mut dyn Worlds) -> Vec<(u32, &'a Step)> {
    let (mut path, mut at) = (Vec::new(), 0);
    for step in counterexample {
        let Some((_, to)) = worlds.leaving(at).into_iter().find(|(other, _)| **other == *step) else { break };
        path.push((at, step));
        at = to;
    }
    path
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}
