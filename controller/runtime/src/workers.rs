//! The workers: they take keys from a queue, sync them, and add them again as the sync requests.

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use tokio::task::JoinSet;
use tracing::error;

use super::job_sync::Requeue;
use super::queue::WorkQueue;
use super::store::ObjectKey;

/// Starts `count` workers that sync the keys of a queue until it is closed.
pub fn add<F, Fut>(workers: &mut JoinSet<()>, count: usize, queue: &WorkQueue<ObjectKey>, sync: F)
where
    F: Fn(ObjectKey) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Requeue> + Send + 'static,
{
    for _ in 0..count {
        workers.spawn(work(queue.clone(), sync.clone()));
    }
}

async fn work<F, Fut>(queue: WorkQueue<ObjectKey>, sync: F)
where
    F: Fn(ObjectKey) -> Fut,
    Fut: Future<Output = Requeue>,
{
    while let Some(running) = queue.next().await {
        let key = running.key.clone();
        // A panic in the sync of one Job must not stop the syncs of others.
        let next = AssertUnwindSafe(async { sync(key.clone()).await }).catch_unwind().await;
        match next {
            Ok(Requeue::AwaitChange) => queue.forget(&key),
            Ok(Requeue::After(delay)) => {
                queue.forget(&key);
                queue.add_after(key, delay);
            }
            Ok(Requeue::Defer(delay)) => queue.add_after(key, delay),
            Ok(Requeue::RateLimited) => {
                queue.add_rate_limited(key);
            }
            Err(panic) => {
                error!(%key, panic = panic_message(panic.as_ref()), "internal error: please report it");
                queue.add_rate_limited(key);
            }
        }
        drop(running);
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("panic without a message")
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use tokio::time::{Instant, sleep};

    use super::*;
    use crate::metrics::Metrics;
    use crate::retry::RetryLimiter;

    /// Syncs one key for 20 s. Returns the seconds of its syncs.
    async fn times(answer: fn(usize) -> Requeue) -> Vec<u64> {
        let queue = WorkQueue::new(RetryLimiter::of_jobs(), Metrics::new().queue("job"));
        let start = Instant::now();
        let seen: Arc<Mutex<Vec<u64>>> = Arc::default();
        let mut workers = JoinSet::new();
        let sync = {
            let seen = Arc::clone(&seen);
            move |_| {
                let number = {
                    let mut seen = seen.lock().unwrap();
                    seen.push(start.elapsed().as_secs());
                    seen.len()
                };
                async move { answer(number) }
            }
        };
        add(&mut workers, 2, &queue, sync);
        queue.add(ObjectKey::new("ns", "a"));
        sleep(Duration::from_millis(20_500)).await;
        queue.close();
        workers.join_all().await;
        seen.lock().unwrap().clone()
    }

    #[tokio::test(start_paused = true)]
    async fn keys_return_as_their_sync_requests() {
        assert_eq!(times(|_| Requeue::AwaitChange).await, [0]);
        assert_eq!(times(|_| Requeue::After(Duration::from_secs(9))).await, [0, 9, 18]);
        assert_eq!(times(|_| Requeue::RateLimited).await, [0, 1, 3, 7, 15]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_deferred_sync_keeps_the_failures() {
        let answer =
            |sync| if sync % 2 == 1 { Requeue::RateLimited } else { Requeue::Defer(Duration::from_secs(1)) };
        assert_eq!(times(answer).await, [0, 1, 2, 4, 5, 9, 10, 18, 19]);
        let forgotten =
            |sync| if sync % 2 == 1 { Requeue::RateLimited } else { Requeue::After(Duration::from_secs(5)) };
        assert_eq!(times(forgotten).await, [0, 1, 6, 7, 12, 13, 18, 19]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_panic_fails_one_sync() {
        let answer = |sync| if sync < 3 { panic!("on purpose") } else { Requeue::AwaitChange };
        assert_eq!(times(answer).await, [0, 1, 3]);
    }
}
