//! Work on several threads, with results in the order of the work.

use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Applies a function to each item, on several threads. Returns the results in the order of the items.
///
/// # Panics
///
/// If the function does.
pub fn on_threads<T: Send, R: Send>(
    threads: usize,
    items: Vec<T>,
    function: &(dyn Fn(usize, T) -> R + Sync),
) -> Vec<R> {
    let threads = threads.min(items.len());
    if threads <= 1 {
        return items.into_iter().enumerate().map(|(position, item)| function(position, item)).collect();
    }
    let queue = Mutex::new(items.into_iter().enumerate());
    let take = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        std::iter::from_fn(take)
            .map(|(position, item)| (position, function(position, item)))
            .collect::<Vec<_>>()
    };
    let mut results = thread::scope(|all| {
        let workers: Vec<_> = (0..threads).map(|_| all.spawn(work)).collect();
        let done = workers.into_iter().map(|it| it.join().unwrap_or_else(|panic| resume_unwind(panic)));
        done.flatten().collect::<Vec<_>>()
    });
    results.sort_by_key(|(position, _)| *position);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items_whatever_the_number_of_threads() {
        let items: Vec<usize> = (0..100).collect();
        for threads in [1, 2, 7, 200] {
            let results = on_threads(threads, items.clone(), &|position, item| position * 1_000 + item);
            assert_eq!(results, items.iter().map(|item| item * 1_001).collect::<Vec<_>>());
        }
    }
}
