//! The place of a view in the histories of a Job and its pods.

use serde::{Deserialize, Serialize};

use super::history::Position;

/// A view, by its place in the histories.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Point {
    /// The number of the Job version.
    pub version: u64,
    /// The position in the history of the pods.
    pub position: Position,
    /// Entries behind the position that the view contains, because overlapping requests have no order.
    pub ahead: Vec<Position>,
}

impl Point {
    /// A view without entries behind its position.
    #[must_use]
    pub fn new(version: u64, position: Position) -> Point {
        Point { version, position, ahead: Vec::new() }
    }

    /// Returns `true` if a process can advance from this view to the other.
    #[must_use]
    pub fn precedes(&self, later: &Point) -> bool {
        let contains = |entry: &Position| *entry < later.position || later.ahead.contains(entry);
        self.version <= later.version && self.position <= later.position && self.ahead.iter().all(contains)
    }
}

/// The points of which none precedes another.
#[must_use]
pub fn earliest(points: impl Iterator<Item = Point>) -> Vec<Point> {
    let mut kept: Vec<Point> = Vec::new();
    for point in points {
        if !kept.iter().any(|it| it.precedes(&point)) {
            kept.retain(|it| !point.precedes(it));
            kept.push(point);
        }
    }
    kept
}
