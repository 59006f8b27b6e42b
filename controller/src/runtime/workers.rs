//! Workers: take keys from a queue, sync them, and put them back as the sync says.

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use tokio::task::JoinSet;
use tracing::error;

use super::job_sync::Next;
use super::queue::WorkQueue;
use super::store::ObjectKey;

/// Adds `count` workers that sync the keys of a queue until it is closed.
pub fn add<F, Fut>(workers: &mut JoinSet<()>, count: usize, queue: &WorkQueue<ObjectKey>, sync: F)
where
    F: Fn(ObjectKey) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Next> + Send + 'static,
{
    for _ in 0..count {
        workers.spawn(work(queue.clone(), sync.clone()));
    }
}

async fn work<F, Fut>(queue: WorkQueue<ObjectKey>, sync: F)
where
    F: Fn(ObjectKey) -> Fut,
    Fut: Future<Output = Next>,
{
    while let Some(running) = queue.next().await {
        let key = running.key.clone();
        // A bug that one Job brings to light must not stop the others.
        let next = AssertUnwindSafe(async { sync(key.clone()).await }).catch_unwind().await;
        match next {
            Ok(Next::Rest) => queue.forget(&key),
            Ok(Next::After(delay)) => {
                queue.forget(&key);
                queue.add_after(key, delay);
            }
            Ok(Next::PutOff(delay)) => queue.add_after(key, delay),
            Ok(Next::Retry) => {
                queue.add_rate_limited(key);
            }
            Err(panic) => {
                error!(%key, panic = said(panic.as_ref()), "internal error, please report it");
                queue.add_rate_limited(key);
            }
        }
        drop(running);
    }
}

fn said(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("a panic without words")
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use tokio::time::{Instant, sleep};

    use super::*;
    use crate::runtime::metrics::Metrics;
    use crate::runtime::retry::RetryLimiter;

    /// Syncs one key; returns at which seconds it was synced within 20 s.
    async fn times(answer: fn(usize) -> Next) -> Vec<u64> {
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
        assert_eq!(times(|_| Next::Rest).await, [0]);
        assert_eq!(times(|_| Next::After(Duration::from_secs(9))).await, [0, 9, 18]);
        assert_eq!(times(|_| Next::Retry).await, [0, 1, 3, 7, 15]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_deferred_sync_keeps_the_failures() {
        let answer = |sync| if sync % 2 == 1 { Next::Retry } else { Next::PutOff(Duration::from_secs(1)) };
        assert_eq!(times(answer).await, [0, 1, 2, 4, 5, 9, 10, 18, 19]);
        let forgotten = |sync| if sync % 2 == 1 { Next::Retry } else { Next::After(Duration::from_secs(5)) };
        assert_eq!(times(forgotten).await, [0, 1, 6, 7, 12, 13, 18, 19]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_panic_fails_one_sync() {
        let answer = |sync| if sync < 3 { panic!("on purpose") } else { Next::Rest };
        assert_eq!(times(answer).await, [0, 1, 3]);
    }
}
