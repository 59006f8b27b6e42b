//! Disruptions of the cluster while scenarios run: components are restarted.
//!
//! During a disruption, and shortly after it, the harness repeats requests that fail, and no run is treated as
//! quiescent, because controllers delay their retries.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::recording::time;

/// The time after a disruption in which controllers may still wait before a retry.
const AFTERMATH: Duration = Duration::from_secs(8);

/// The disruptions of a cluster so far.
#[derive(Debug, Default)]
pub(crate) struct Disruptions(Mutex<Vec<RecordedDisruption>>);

/// One disruption in a recording.
#[derive(Clone, Debug)]
pub(crate) struct RecordedDisruption {
    /// The time of its start, in the format of traces.
    pub at: String,
    /// The description.
    pub what: String,
    /// The reason why the audit log may lack requests that were carried out, if so.
    pub gap: Option<String>,
    ended: Option<Instant>,
}

/// A disruption. It ends when this value is dropped.
#[derive(Debug)]
pub struct Disruption<'a> {
    disruptions: &'a Disruptions,
    number: usize,
}

impl Disruptions {
    fn lock(&self) -> MutexGuard<'_, Vec<RecordedDisruption>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a disruption.
    pub(crate) fn begin(&self, what: &str) -> Disruption<'_> {
        let mut all = self.lock();
        all.push(RecordedDisruption { at: time(), what: what.to_owned(), gap: None, ended: None });
        Disruption { disruptions: self, number: all.len() - 1 }
    }

    /// Returns true during a disruption.
    pub(crate) fn is_under_way(&self) -> bool {
        self.lock().iter().any(|it| it.ended.is_none())
    }

    /// Returns true during a disruption, and as long as controllers may wait because of it.
    pub(crate) fn is_near(&self) -> bool {
        self.lock().iter().any(|it| it.ended.is_none_or(|ended| ended.elapsed() < AFTERMATH))
    }

    /// Returns true if a disruption may be the cause of an error, so that a retry may succeed.
    pub(crate) fn may_explain(&self, error: &Error) -> bool {
        matches!(error, Error::Access(_) | Error::Proxy(_)) && self.is_near()
    }

    /// The disruptions that had not ended at this time.
    pub(crate) fn since(&self, then: Instant) -> Vec<RecordedDisruption> {
        self.lock().iter().filter(|it| it.ended.is_none_or(|ended| ended >= then)).cloned().collect()
    }
}

impl Disruption<'_> {
    /// Records that the audit log may lack requests, for this reason. Recordings of this time become
    /// inconclusive.
    pub fn leaves_gap(&self, why: &str) {
        if let Some(it) = self.disruptions.lock().get_mut(self.number) {
            it.gap = Some(why.to_owned());
        }
    }
}

impl Drop for Disruption<'_> {
    fn drop(&mut self) {
        if let Some(it) = self.disruptions.lock().get_mut(self.number) {
            it.ended = Some(Instant::now());
        }
    }
}

#[cfg(test)]
mod tests {
    use jobcheck_record::AccessError;

    use super::*;

    #[test]
    fn an_error_during_a_disruption_may_be_temporary() {
        let disruptions = Disruptions::default();
        let lost = Error::from(AccessError::Server("gone".to_owned()));
        assert!(!disruptions.may_explain(&lost) && !disruptions.is_under_way());
        let disruption = disruptions.begin("kube-apiserver is restarted");
        let meanwhile = Instant::now();
        assert!(disruptions.may_explain(&lost) && disruptions.is_under_way());
        assert!(!disruptions.may_explain(&Error::Interrupted));
        disruption.leaves_gap("it was killed");
        drop(disruption);
        assert!(!disruptions.is_under_way() && disruptions.is_near());
        // A run that began during the disruption is affected too.
        let recorded = disruptions.since(meanwhile);
        assert_eq!((recorded.len(), recorded[0].gap.as_deref()), (1, Some("it was killed")));
        std::thread::sleep(Duration::from_millis(1));
        assert!(disruptions.since(Instant::now()).is_empty());
    }
}
