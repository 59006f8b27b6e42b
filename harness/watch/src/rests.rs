//! Turns: a namespace whose Jobs take long to be judged waits, so that those of others have most of the time.

use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;

/// A judgement of this time is short, and needs no rest.
const SHORT: Duration = Duration::from_secs(1);
/// The rest after a longer one, as a multiple of its time.
const REST: u32 = 4;

/// The namespaces that must wait, each with the time until which.
#[derive(Debug, Default)]
pub(crate) struct Rests(FxHashMap<String, Instant>);

impl Rests {
    /// Returns true if the Jobs of a namespace are not judged now.
    pub(crate) fn has(&mut self, namespace: &str, now: Instant) -> bool {
        self.0.retain(|_, until| *until > now);
        self.0.contains_key(namespace)
    }

    /// Notes a judgement.
    pub(crate) fn note(&mut self, namespace: String, begun: Instant, took: Duration) {
        if took > SHORT {
            self.0.insert(namespace, begun + took.saturating_mul(1 + REST));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_judgement_is_followed_by_a_rest() {
        let (mut rests, begun) = (Rests::default(), Instant::now());
        rests.note("fast".to_owned(), begun, SHORT);
        rests.note("slow".to_owned(), begun, SHORT * 2);
        assert!(
            rests.has("slow", begun + SHORT * 9) && !rests.has("fast", begun) && !rests.has("other", begun)
        );
        assert!(!rests.has("slow", begun + SHORT * 10) && rests.0.is_empty());
    }
}
