//! The graph of a scope as a picture: the states near the initial state, and the path of the counterexample.

use std::collections::BTreeMap;

use jobcheck_explorer::check::{Bounds, Outcome, Worlds, visit};
use jobcheck_explorer::narrative::{self, status_text};
use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::step::Step;
use jobcheck_explorer::world::World;
use jobcheck_look::escape::html;
use jobcheck_look::graph::{Edge, Node, svg};

use super::exploration::Run;
use crate::page::{number, row, table};

/// The number of states that a picture has, beside those of the counterexample.
const MOST: usize = 90;
/// The number of states in a layer. A wider one is not drawn.
const WIDEST: usize = 30;
/// The number of states up to which the path of a counterexample is looked for: the search has to be repeated.
const SEARCHED: usize = 300_000;
/// The number of steps up to which they are listed, too.
const LISTED: usize = 60;

/// A section with the graph of a scope. `bounds` are those of the exploration.
pub fn section(run: &Run, bounds: &Bounds) -> String {
    let scope = &run.scope;
    let path =
        run.found().filter(|_| run.exploration.states <= SEARCHED).map_or(&[][..], |found| &found.path);
    // The steps of a counterexample name pods, which symmetry reduction would exchange.
    let symmetry = bounds.symmetry && path.is_empty();
    let max_states = if path.is_empty() { Some(MOST * 4) } else { bounds.max_states };
    let mut drawn = None;
    // A cycle is a path of the search without reductions.
    let partial_order = bounds.partial_order && run.found().is_none_or(|found| found.cycle_start.is_none());
    let bounds = Bounds { symmetry, partial_order, max_states, ..bounds.clone() };
    let _ = visit(scope, &bounds, &|_| true, &mut |it, worlds| {
        let known = match it.outcome {
            Outcome::Holds => it.states,
            // The last layers were not visited to their end, so that some of their steps are missing.
            Outcome::Broken(_) => it.layers.iter().rev().skip(1).sum(),
            Outcome::NotFinished(_) => max_states.unwrap_or_default().min(it.states),
        };
        drawn = Some(Picture::of(scope, worlds, path, known));
    });
    let Some(picture) = drawn else { return String::new() };
    let all = run.exploration.states;
    let shown = picture.nodes.len();
    let extent = if shown < all {
        format!(
            "Showing {} of {} states: those with at most {} steps{}. <code>--dot</code> writes all.",
            number(shown as u64),
            number(all as u64),
            picture.depth,
            if path.is_empty() { "" } else { ", and the counterexample" }
        )
    } else {
        format!("All {} states.", number(all as u64))
    };
    format!(
        "<section>\n<h2>States and steps of {name}</h2>\n<p class=\"dim\">{extent} Each circle is a state, with its number. \
         Point at one for the status of its Jobs, and at a line for its step.</p>\n<div class=\"wide\">{svg}</div>\n\
         <p class=\"key\">Blue: the initial state. Green: no step is enabled. Dashed: has further steps, which are not shown. \
         Red: the counterexample.</p>\n{list}</section>\n",
        name = html(scope.name),
        svg = svg(&format!("States of {}", scope.name), &picture.nodes, &picture.edges),
        list = picture.list(),
    )
}

/// The states and steps that are drawn.
struct Picture {
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    /// The number of layers that are whole.
    depth: usize,
}

impl Picture {
    /// The first layers, and the path. The steps of the first `known` states are known.
    fn of(scope: &Scope, worlds: &mut dyn Worlds, path: &[Step], known: usize) -> Picture {
        let known = u32::try_from(known).unwrap_or(u32::MAX);
        let mut layers: BTreeMap<u32, usize> = BTreeMap::from([(0, 0)]);
        let (mut layer, mut depth) = (vec![0], 0);
        loop {
            let mut next = Vec::new();
            for from in layer.iter().filter(|from| **from < known) {
                let to = worlds.leaving(*from).into_iter().map(|(_, to)| to);
                next.extend(to.filter(|to| !layers.contains_key(to)));
            }
            next.sort_unstable();
            next.dedup();
            if next.is_empty() || next.len() > WIDEST || layers.len() + next.len() > MOST {
                break;
            }
            depth += 1;
            layers.extend(next.iter().map(|to| (*to, depth)));
            layer = next;
        }
        let taken = taken(path, worlds);
        for (at, (_, to)) in taken.iter().enumerate() {
            layers.entry(*to).or_insert(at + 1);
        }
        let positions: BTreeMap<u32, usize> =
            layers.keys().enumerate().map(|(at, number)| (*number, at)).collect();
        let mut picture = Picture { nodes: Vec::new(), edges: Vec::new(), depth };
        for (from, layer) in &layers {
            let world = worlds.world(*from);
            let leaving = worlds.leaving(*from);
            let is_open = *from >= known || leaving.iter().any(|(_, to)| !positions.contains_key(to));
            let on_path = *from == 0 && !path.is_empty() || taken.iter().any(|(_, to)| to == from);
            let classes = [
                (*from == 0, "start"),
                (leaving.is_empty() && *from < known, "end"),
                (is_open, "open"),
                (on_path, "path"),
            ];
            picture.nodes.push(Node {
                layer: *layer,
                label: from.to_string(),
                text: statuses(*from, &world),
                class: chosen(&classes),
            });
            for (step, to) in leaving {
                let Some(end) = positions.get(&to) else { continue };
                let line = narrative::line(&step, &world, scope);
                let is_taken = taken.contains(&(*from, to));
                let text = format!("{from} → {to}: {} {}", line.who, line.what);
                picture.edges.push(Edge {
                    from: positions[from],
                    to: *end,
                    text,
                    class: chosen(&[(is_taken, "path")]),
                });
            }
        }
        picture
    }

    /// The steps as a table, if they are few.
    fn list(&self) -> String {
        if self.edges.len() > LISTED {
            return String::new();
        }
        let rows: Vec<String> = self
            .edges
            .iter()
            .map(|edge| {
                let (ends, step) = edge.text.split_once(": ").unwrap_or(("", &edge.text));
                row(&[html(ends), html(step)])
            })
            .collect();
        let table = table("pairs", &["states", "step"], &rows);
        format!("<details>\n<summary>The {} steps as a table</summary>\n{table}</details>\n", rows.len())
    }
}

/// The classes whose condition holds.
fn chosen(classes: &[(bool, &str)]) -> String {
    let held = classes.iter().filter(|(holds, _)| *holds).map(|(_, class)| *class);
    held.collect::<Vec<_>>().join(" ")
}

/// The states between which the steps of a path lead, as far as the search has them.
fn taken(path: &[Step], worlds: &mut dyn Worlds) -> Vec<(u32, u32)> {
    let (mut taken, mut at) = (Vec::new(), 0);
    for step in path {
        let Some((_, to)) = worlds.leaving(at).into_iter().find(|(other, _)| **other == *step) else { break };
        taken.push((at, to));
        at = to;
    }
    taken
}

/// The status of each Job.
fn statuses(number: u32, world: &World) -> String {
    let jobs = world.numbered().map(|(id, job_state)| match &job_state.job {
        Some(job) => format!("Job {}: {}", id.0, status_text(&job.status)),
        None => format!("Job {}: deleted", id.0),
    });
    format!("state {number}, at {} s; {}", world.now.0, jobs.collect::<Vec<_>>().join("; "))
}
