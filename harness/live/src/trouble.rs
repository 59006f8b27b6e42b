//! What happens to the cluster itself while scenarios run there: a part of it is restarted.
//!
//! Meanwhile, and shortly afterwards, requests of the harness are repeated where they get no proper answer, and nobody is
//! taken to be at rest: controllers wait before they try again.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::recording::time;

/// How long controllers may take to go on when the cluster is well again.
const AFTERMATH: Duration = Duration::from_secs(8);

/// What has happened to a cluster so far.
#[derive(Debug, Default)]
pub(crate) struct Troubles(Mutex<Vec<Happened>>);

/// Something that happened to a cluster.
#[derive(Clone, Debug)]
pub(crate) struct Happened {
    /// When it began, as traces write it.
    pub at: String,
    /// What it is.
    pub what: String,
    /// Why the audit log may lack requests that were carried out.
    pub gap: Option<String>,
    ended: Option<Instant>,
}

/// Something that happens to the cluster; it is over with this value.
#[derive(Debug)]
pub struct Trouble<'a> {
    troubles: &'a Troubles,
    number: usize,
}

impl Troubles {
    fn lock(&self) -> MutexGuard<'_, Vec<Happened>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something begins to happen.
    pub(crate) fn begin(&self, what: &str) -> Trouble<'_> {
        let mut all = self.lock();
        all.push(Happened { at: time(), what: what.to_owned(), gap: None, ended: None });
        Trouble { troubles: self, number: all.len() - 1 }
    }

    /// Whether something happens.
    pub(crate) fn is_under_way(&self) -> bool {
        self.lock().iter().any(|it| it.ended.is_none())
    }

    /// Whether something happens, or controllers may still wait because something did.
    pub(crate) fn is_near(&self) -> bool {
        self.lock().iter().any(|it| it.ended.is_none_or(|ended| ended.elapsed() < AFTERMATH))
    }

    /// Whether what went wrong may go well when it is tried again.
    pub(crate) fn may_explain(&self, error: &Error) -> bool {
        matches!(error, Error::Server(_) | Error::Proxy(_) | Error::NoCluster(_)) && self.is_near()
    }

    /// What has happened since then, or happened then.
    pub(crate) fn since(&self, then: Instant) -> Vec<Happened> {
        self.lock().iter().filter(|it| it.ended.is_none_or(|ended| ended >= then)).cloned().collect()
    }
}

impl Trouble<'_> {
    /// Something may have been carried out of which the audit log tells nothing, and why: what is recorded meanwhile is
    /// inconclusive.
    pub fn leaves_gap(&self, why: &str) {
        if let Some(it) = self.troubles.lock().get_mut(self.number) {
            it.gap = Some(why.to_owned());
        }
    }
}

impl Drop for Trouble<'_> {
    fn drop(&mut self) {
        if let Some(it) = self.troubles.lock().get_mut(self.number) {
            it.ended = Some(Instant::now());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_wrong_beside_a_trouble_may_go_well_later() {
        let troubles = Troubles::default();
        let lost = Error::Server("gone".to_owned());
        assert!(!troubles.may_explain(&lost) && !troubles.is_under_way());
        let trouble = troubles.begin("kube-apiserver is restarted");
        let meanwhile = Instant::now();
        assert!(troubles.may_explain(&lost) && troubles.is_under_way());
        assert!(!troubles.may_explain(&Error::Interrupted));
        trouble.leaves_gap("it was killed");
        drop(trouble);
        assert!(!troubles.is_under_way() && troubles.is_near());
        // Whoever began meanwhile is concerned, too.
        let told = troubles.since(meanwhile);
        assert_eq!((told.len(), told[0].gap.as_deref()), (1, Some("it was killed")));
        std::thread::sleep(Duration::from_millis(1));
        assert!(troubles.since(Instant::now()).is_empty());
    }
}
