//! Large responses whose bytes wait until their client reads.
//!
//! The sum of these bytes is bounded. With more, the responses that were not read for the longest time are cut.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::service::BoxError;

/// The size in bytes from which on a text is counted, and several responses share it. Smaller ones are bounded by the
/// number of connections.
pub(super) const LARGE: usize = 64 * 1024;

/// The large bytes that clients have not taken yet.
#[derive(Clone, Debug)]
pub(super) struct Held(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    bound: usize,
    bytes: Arc<AtomicUsize>,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    /// The number of times that a response began to wait.
    count: u64,
    /// The rest of each response, by that number.
    rests: BTreeMap<u64, VecDeque<Bytes>>,
}

/// Bytes that are counted until their last owner is dropped.
#[derive(Debug)]
pub(super) struct Counted {
    bytes: Vec<u8>,
    sum: Arc<AtomicUsize>,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.sum.fetch_sub(self.bytes.len(), Ordering::Relaxed);
    }
}

/// An owner of counted bytes.
struct Owner(Arc<Counted>);

impl AsRef<[u8]> for Owner {
    fn as_ref(&self) -> &[u8] {
        &self.0.bytes
    }
}

impl Counted {
    /// The same bytes for a response.
    pub(super) fn share(self: Arc<Counted>) -> Bytes {
        Bytes::from_owner(Owner(self))
    }
}

impl Held {
    /// Nothing, and at most `bound` bytes later.
    pub(super) fn at_most(bound: usize) -> Held {
        Held(Arc::new(Shared { bound, bytes: Arc::default(), waiting: Mutex::default() }))
    }

    /// The sum of all counted bytes. Bytes that several responses share count once.
    pub(super) fn bytes(&self) -> usize {
        self.0.bytes.load(Ordering::Relaxed)
    }

    /// Counts these bytes.
    pub(super) fn count(&self, bytes: Vec<u8>) -> Arc<Counted> {
        self.0.bytes.fetch_add(bytes.len(), Ordering::Relaxed);
        Arc::new(Counted { bytes, sum: Arc::clone(&self.0.bytes) })
    }

    /// Counts these bytes if they are large.
    pub(super) fn keep(&self, bytes: Vec<u8>) -> Bytes {
        if bytes.len() < LARGE { bytes.into() } else { self.count(bytes).share() }
    }

    /// The rest of a response: nothing yet.
    pub(super) fn rest(&self) -> Rest {
        Rest { held: self.clone(), small: VecDeque::new(), number: None }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a response wait. Cuts others while the sum is too large.
    fn wait(&self, rest: VecDeque<Bytes>) -> u64 {
        let mut waiting = self.lock();
        while self.bytes() > self.0.bound && waiting.rests.pop_first().is_some() {}
        waiting.insert(rest)
    }

    /// Takes the next part of a response that waits, and returns the number under which it waits now.
    fn take(&self, number: u64) -> Result<(Bytes, Option<u64>), BoxError> {
        let mut waiting = self.lock();
        let Some(mut rest) = waiting.rests.remove(&number) else {
            return Err(BoxError::from("the response was not read for a long time"));
        };
        // A copy, because the connection may hold the part for long, and would hold all bytes with it.
        let part = next(&mut rest).map_or_else(Bytes::new, |part| Bytes::copy_from_slice(&part));
        let number = (!rest.is_empty()).then(|| waiting.insert(rest));
        Ok((part, number))
    }
}

impl Waiting {
    fn insert(&mut self, rest: VecDeque<Bytes>) -> u64 {
        self.count += 1;
        self.rests.insert(self.count, rest);
        self.count
    }
}

/// Takes a part. Parts are small, because the connection buffers whole ones.
fn next(rest: &mut VecDeque<Bytes>) -> Option<Bytes> {
    let first = rest.front_mut()?;
    let part = first.split_to(first.len().min(LARGE));
    if first.is_empty() {
        rest.pop_front();
    }
    Some(part)
}

/// The next bytes of a response that a client has not taken.
#[derive(Debug)]
pub(super) struct Rest {
    held: Held,
    /// Bytes that are not large, and need not be cut.
    small: VecDeque<Bytes>,
    /// The number under which large ones wait.
    number: Option<u64>,
}

impl Rest {
    /// True if everything was taken, or cut.
    pub(super) fn is_empty(&self) -> bool {
        self.small.is_empty() && self.number.is_none()
    }

    /// Sets the next bytes, after all earlier ones were taken.
    pub(super) fn put(&mut self, bytes: impl IntoIterator<Item = Bytes>) {
        let rest: VecDeque<Bytes> = bytes.into_iter().filter(|it| !it.is_empty()).collect();
        match rest.iter().any(|it| it.len() >= LARGE) {
            true => self.number = Some(self.held.wait(rest)),
            false => self.small = rest,
        }
    }

    /// The next part. `None`: everything was taken.
    ///
    /// # Errors
    /// The response was cut.
    pub(super) fn part(&mut self) -> Option<Result<Bytes, BoxError>> {
        let Some(number) = self.number.take() else { return next(&mut self.small).map(Ok) };
        let taken = self.held.take(number);
        Some(taken.map(|(part, number)| {
            self.number = number;
            part
        }))
    }
}

impl Drop for Rest {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.held.lock().rests.remove(&number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(held: &Held, bytes: Vec<u8>) -> Rest {
        let mut rest = held.rest();
        rest.put([held.keep(bytes)]);
        rest
    }

    #[test]
    fn the_response_that_was_not_read_for_the_longest_time_is_cut() {
        let held = Held::at_most(5 * LARGE);
        let text = vec![b'x'; 2 * LARGE];
        let mut all: Vec<Rest> = (0..2).map(|_| waiting(&held, text.clone())).collect();
        // The first one is read, and waits again behind the second one.
        assert_eq!(all[0].part().unwrap().unwrap().len(), LARGE);
        all.push(waiting(&held, text.clone()));
        assert!(held.bytes() <= 5 * LARGE, "{}", held.bytes());
        assert!(all[1].part().unwrap().is_err() && all[1].part().is_none());
        assert_eq!(all[0].part().unwrap().unwrap().len(), LARGE);
        assert!(all[0].part().is_none() && all[0].is_empty());
        assert_eq!(held.bytes(), 2 * LARGE);
        drop(all);
        assert_eq!(held.bytes(), 0);
    }

    #[test]
    fn shared_bytes_count_once_and_small_ones_not_at_all() {
        let held = Held::at_most(2 * LARGE);
        let one = held.count(vec![b'x'; LARGE]);
        let mut all: Vec<Rest> = (0..10).map(|_| held.rest()).collect();
        all.iter_mut().for_each(|rest| rest.put([Bytes::from_static(b","), Arc::clone(&one).share()]));
        all.push(waiting(&held, vec![b'x'; LARGE - 1]));
        drop(one);
        assert_eq!(held.bytes(), LARGE);
        for rest in &mut all {
            let parts = std::iter::from_fn(|| rest.part()).map(|part| part.unwrap().len());
            assert!(parts.sum::<usize>() >= LARGE - 1);
        }
        assert_eq!(held.bytes(), 0);
    }
}
