//! A graph as a picture: nodes in layers from the top, and an arrow for each edge.

use std::fmt::Write as _;

use crate::escape;

/// The distances of nodes in a layer and of layers, and the radius of a node, in pixels.
const ACROSS: f64 = 46.0;
const DOWN: f64 = 62.0;
const RADIUS: f64 = 13.0;
/// The number of times that the order in the layers is improved, down and up.
const SWEEPS: usize = 6;

/// A node.
#[derive(Clone, Debug)]
pub struct Node {
    /// The layer, from 0.
    pub layer: usize,
    /// The text in the node; a few characters.
    pub label: String,
    /// The text that appears beside the pointer.
    pub text: String,
    /// Names of classes.
    pub class: String,
}

/// An edge between the nodes with two positions.
#[derive(Clone, Debug)]
pub struct Edge {
    /// The position of the node where it begins.
    pub from: usize,
    /// The position of the node where it ends.
    pub to: usize,
    /// The text that appears beside the pointer.
    pub text: String,
    /// Names of classes.
    pub class: String,
}

/// Draws a graph as SVG.
#[must_use]
pub fn svg(name: &str, nodes: &[Node], edges: &[Edge]) -> String {
    let layers = ordered(nodes, edges);
    let widest = layers.iter().map(Vec::len).max().unwrap_or(0) as f64;
    // To the right, there is room for edges that lead up.
    let (width, height) = (widest * ACROSS + 60.0, layers.len() as f64 * DOWN);
    let mut places = vec![(0.0, 0.0); nodes.len()];
    for (layer, members) in layers.iter().enumerate() {
        let left = (widest - members.len() as f64) * ACROSS / 2.0;
        for (position, node) in members.iter().enumerate() {
            places[*node] = (left + (position as f64 + 0.5) * ACROSS, (layer as f64 + 0.5) * DOWN);
        }
    }
    let mut out = format!(
        "<svg class=\"graph\" role=\"img\" aria-label=\"{}\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\">\n",
        escape::html(name)
    );
    for edge in edges {
        let (line, head) = drawn(places[edge.from], places[edge.to]);
        let _ = writeln!(
            out,
            "<g class=\"edge {}\"><title>{}</title><path class=\"line\" d=\"{line}\"/><path class=\"head\" d=\"{head}\"/></g>",
            escape::html(&edge.class),
            escape::html(&edge.text)
        );
    }
    for (node, (x, y)) in nodes.iter().zip(&places) {
        let _ = writeln!(
            out,
            "<g class=\"node {}\"><title>{}</title><circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{RADIUS}\"/>\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text></g>",
            escape::html(&node.class),
            escape::html(&node.text),
            y + 3.5,
            escape::html(&node.label)
        );
    }
    out.push_str("</svg>\n");
    out
}

/// The nodes of each layer, in an order in which few edges cross: each node is near the middle of its neighbours.
fn ordered(nodes: &[Node], edges: &[Edge]) -> Vec<Vec<usize>> {
    let count = nodes.iter().map(|node| node.layer + 1).max().unwrap_or(0);
    let mut layers: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (number, node) in nodes.iter().enumerate() {
        layers[node.layer].push(number);
    }
    let mut neighbours: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    for edge in edges {
        neighbours[edge.from].push(edge.to);
        neighbours[edge.to].push(edge.from);
    }
    // Positions are relative to the middle of a layer, as they are drawn.
    let mut at = vec![0.0; nodes.len()];
    for members in &layers {
        place(members, &mut at);
    }
    for sweep in 0..SWEEPS {
        let is_down = sweep % 2 == 0;
        let order: Vec<usize> =
            if is_down { (1..count).collect() } else { (0..count.saturating_sub(1)).rev().collect() };
        for layer in order {
            let beside = if is_down { layer - 1 } else { layer + 1 };
            let middle = |node: usize| {
                let near = neighbours[node].iter().filter(|it| nodes[**it].layer == beside).map(|it| at[*it]);
                let near: Vec<f64> = near.collect();
                if near.is_empty() { at[node] } else { near.iter().sum::<f64>() / near.len() as f64 }
            };
            let mut wanted: Vec<(f64, usize)> =
                layers[layer].iter().map(|node| (middle(*node), *node)).collect();
            wanted.sort_by(|a, b| a.0.total_cmp(&b.0));
            layers[layer] = wanted.into_iter().map(|(_, node)| node).collect();
            place(&layers[layer], &mut at);
        }
    }
    layers
}

fn place(members: &[usize], at: &mut [f64]) {
    for (position, node) in members.iter().enumerate() {
        at[*node] = position as f64 - (members.len() as f64 - 1.0) / 2.0;
    }
}

/// The line and the head of an arrow. Down it ends above the node, and in the same layer below it. Otherwise it passes on the
/// right, and ends beside the node.
fn drawn((x, y): (f64, f64), (to_x, to_y): (f64, f64)) -> (String, String) {
    if to_y > y {
        let (from, end) = (y + RADIUS, to_y - RADIUS);
        let middle = f64::midpoint(from, end);
        let line =
            format!("M{x:.1} {from:.1}C{x:.1} {middle:.1} {to_x:.1} {middle:.1} {to_x:.1} {:.1}", end - 5.0);
        let head = format!("M{to_x:.1} {end:.1}l-3.5 -7h7z");
        return (line, head);
    }
    if to_y >= y && to_x != x {
        // In the same layer, below the nodes between them.
        let (from, low) = (y + RADIUS, y + RADIUS + 14.0);
        let line =
            format!("M{x:.1} {from:.1}C{x:.1} {low:.1} {to_x:.1} {low:.1} {to_x:.1} {:.1}", from + 5.0);
        let head = format!("M{to_x:.1} {from:.1}l-3.5 7h7z");
        return (line, head);
    }
    let (from, end) = (x + RADIUS, to_x + RADIUS);
    let (from_y, end_y) = if (to_x, to_y) == (x, y) { (y - 6.0, y + 6.0) } else { (y - 3.0, to_y + 5.0) };
    let out = from.max(end) + 26.0;
    let line = format!(
        "M{from:.1} {from_y:.1}C{out:.1} {from_y:.1} {out:.1} {end_y:.1} {:.1} {end_y:.1}",
        end + 5.0
    );
    let head = format!("M{end:.1} {end_y:.1}l7 -3.5v7z");
    (line, head)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(layer: usize) -> Node {
        Node { layer, label: "<i>".to_owned(), text: "\"".to_owned(), class: "start".to_owned() }
    }

    fn edge(from: usize, to: usize) -> Edge {
        Edge { from, to, text: "</title>".to_owned(), class: String::new() }
    }

    #[test]
    fn the_order_in_layers_avoids_crossings() {
        // 0 leads to 1 and 2; 1 to 4, and 2 to 3. In the order of numbers, these two cross.
        let nodes = [0, 1, 1, 2, 2].map(node);
        let edges = [edge(0, 1), edge(0, 2), edge(1, 4), edge(2, 3)];
        assert_eq!(ordered(&nodes, &edges), [vec![0], vec![1, 2], vec![4, 3]]);
    }

    #[test]
    fn every_node_and_edge_is_drawn_and_texts_stay_texts() {
        let picture =
            svg("x", &[0, 1, 1].map(node), &[edge(0, 1), edge(0, 2), edge(2, 0), edge(1, 1), edge(1, 2)]);
        assert_eq!(picture.matches("<circle").count(), 3);
        assert_eq!(picture.matches("class=\"line\"").count(), 5);
        assert!(!picture.contains("<i>") && picture.contains("&lt;/title&gt;"), "{picture}");
        assert_eq!(svg("x", &[], &[]).matches("<g").count(), 0);
    }
}
