//! Which pods to create, and in which batches.

/// Sizes of the batches in which pods are created: 1, 2, 4, …, the last one what is left (PC-11).
pub fn batches(pods: usize) -> impl Iterator<Item = usize> {
    let mut left = pods;
    let mut next = 1;
    std::iter::from_fn(move || {
        let size = next.min(left);
        left -= size;
        next = next.saturating_mul(2);
        (size > 0).then_some(size)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PC-11.
    #[test]
    fn batches_double_and_add_up() {
        assert_eq!(batches(0).count(), 0);
        assert_eq!(batches(1).collect::<Vec<_>>(), [1]);
        assert_eq!(batches(2).collect::<Vec<_>>(), [1, 1]);
        assert_eq!(batches(7).collect::<Vec<_>>(), [1, 2, 4]);
        assert_eq!(batches(10).collect::<Vec<_>>(), [1, 2, 4, 3]);
    }
}
