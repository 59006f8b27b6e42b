//! The graph of a scope, for Graphviz.

use std::fmt::Write;

use jobcheck_explorer::check::{Bounds, Outcome, Worlds, visit};
use jobcheck_explorer::narrative;
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::step::Step;

/// The graph, with a node for each state and a label on each step. State 0 is where the scope starts; the one in
/// which a property is broken is where the search ends, and what lies beyond is not shown. The way there is red.
pub fn render(scope: &Scope, bounds: &Bounds, counterexample: &[Step]) -> String {
    let mut out =
        format!("digraph \"{}\" {{\n  node [shape=circle];\n  0 [shape=doublecircle];\n", scope.name);
    let exploration = visit(scope, bounds, &|_| true, &mut |_, worlds| {
        let way = way(counterexample, worlds);
        for from in 0..worlds.count() {
            let world = worlds.world(from);
            for (step, to) in worlds.leaving(from) {
                let line = narrative::line(&step, &world, scope);
                let label = escaped(&format!("{} {}", line.who, line.what));
                let is_on_it = way.iter().any(|(at, taken)| *at == from && **taken == *step);
                let mark = if is_on_it { ", color=red, fontcolor=red, penwidth=2" } else { "" };
                let _ = writeln!(out, "  {from} -> {to} [label=\"{label}\"{mark}];");
            }
        }
        if let Some((last, _)) = way.last() {
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

/// The steps of a counterexample, and the states in which they are taken, as far as the graph has them.
fn way<'a>(counterexample: &'a [Step], worlds: &mut dyn Worlds) -> Vec<(u32, &'a Step)> {
    let (mut way, mut at) = (Vec::new(), 0);
    for step in counterexample {
        let Some((_, to)) = worlds.leaving(at).into_iter().find(|(other, _)| **other == *step) else { break };
        way.push((at, step));
        at = to;
    }
    way
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}
