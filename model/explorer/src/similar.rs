//! Names that are near a wrong one.

/// The scopes whose names come closest to one that does not exist.
#[must_use]
pub fn similar(name: &str) -> Vec<&'static str> {
    let known = crate::check::scopes();
    let mut near: Vec<(usize, &'static str)> = known
        .into_iter()
        .map(|known| (distance(name, known.name), known.name))
        .filter(|(far, known)| is_near(*far, name, known))
        .collect();
    near.sort_unstable();
    near.into_iter().take(3).map(|(_, known)| known).collect()
}

fn is_near(distance: usize, name: &str, known: &str) -> bool {
    distance <= 3 || (name.len() > 2 && known.contains(name))
}

/// Single-letter edits between two names.
#[must_use]
pub fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let cost = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = cost.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
