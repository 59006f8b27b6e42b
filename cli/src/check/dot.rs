//! The graph of a scope, for Graphviz.

use std::fmt::Write;

use jobcheck_model::check::{Bounds, Outcome, graph};
use jobcheck_model::explore::story;
use jobcheck_model::scope::Scope;

/// The graph, with a node for each state and a label on each step. State 0 is where the scope starts; the one in
/// which a property is broken is where the search ends, and what lies beyond is not shown.
pub fn render(scope: &Scope, bounds: &Bounds) -> String {
    let mut out =
        format!("digraph \"{}\" {{\n  node [shape=circle];\n  0 [shape=doublecircle];\n", scope.name);
    let exploration = graph(scope, bounds, &mut |from, world, step, to| {
        let line = story::line(step, world, scope);
        let _ = writeln!(
            out,
            "  {from} -> {to} [label=\"{}\"];",
            escaped(&format!("{} {}", line.who, line.what))
        );
    });
    if let Outcome::NotFinished(_) = exploration.outcome {
        out.push_str("  label=\"not finished\";\n");
    }
    out.push_str("}\n");
    out
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}
