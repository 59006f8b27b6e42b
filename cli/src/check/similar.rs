//! Scope names that are similar to a misspelt one.

/// The names of at most three scopes that are similar to a name that no scope has, the most similar one first.
pub fn similar(name: &str) -> Vec<&'static str> {
    let known = jobcheck_explorer::check::scopes();
    let mut near: Vec<(usize, &'static str)> = known
        .into_iter()
        .map(|known| (strsim::levenshtein(name, known.name), known.name))
        .filter(|(distance, known)| *distance <= 3 || (name.len() > 2 && known.contains(name)))
        .collect();
    near.sort_unstable();
    near.into_iter().take(3).map(|(_, known)| known).collect()
}

#[cfg(test)]
mod tests {
    use super::similar;

    #[test]
    fn near_misses_are_understood() {
        assert_eq!(similar("per-indx"), ["per-index"]);
        assert_eq!(similar("nothing-like-it"), Vec::<&str>::new());
    }
}
