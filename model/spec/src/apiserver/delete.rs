//! What a DELETE makes of a Job (PC-31, SP-11).

use super::outcome::Outcome;
use crate::catalogue::Req;
use crate::job::{Job, Text};
use crate::requirement::Findings;

/// Finalizer with which the garbage collector orphans the dependents.
pub const ORPHAN: &str = "orphan";
/// Finalizer with which it deletes them first.
pub const FOREGROUND: &str = "foregroundDeletion";

/// `propagationPolicy` of a DELETE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Propagation {
    /// The pods stay, without an owner.
    Orphan,
    /// The Job goes first.
    Background,
    /// The pods go first.
    Foreground,
}

impl Propagation {
    /// The policy of a DELETE through `batch/v1`: what was asked for, else what a finalizer of an earlier
    /// DELETE says, else [`Propagation::Orphan`] (PC-31).
    #[must_use]
    pub fn of(asked: Option<Propagation>, job: &Job) -> Propagation {
        let earlier = job.finalizers.iter().find_map(|finalizer| match &**finalizer {
            ORPHAN => Some(Propagation::Orphan),
            FOREGROUND => Some(Propagation::Foreground),
            _ => None,
        });
        asked.or(earlier).unwrap_or(Propagation::Orphan)
    }

    /// As the API spells it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Propagation::Orphan => "Orphan",
            Propagation::Background => "Background",
            Propagation::Foreground => "Foreground",
        }
    }

    /// The finalizer that carries the policy out; in the background there is none.
    #[must_use]
    pub fn finalizer(self) -> Option<&'static str> {
        match self {
            Propagation::Orphan => Some(ORPHAN),
            Propagation::Background => None,
            Propagation::Foreground => Some(FOREGROUND),
        }
    }
}

/// The finalizers that a Job has after a DELETE. Where there is none, it is gone at once.
#[must_use]
pub fn finalizers_after_delete(asked: Option<Propagation>, job: &Job) -> Vec<Text> {
    let own = Propagation::of(asked, job).finalizer();
    let kept = job.finalizers.iter().filter(|finalizer| !matches!(&***finalizer, ORPHAN | FOREGROUND));
    kept.cloned().chain(own.map(Text::from)).collect()
}

/// The Job after a DELETE; `None` where it is gone at once.
#[must_use]
pub fn deleted(job: &Job, asked: Propagation) -> Option<Job> {
    let finalizers = finalizers_after_delete(Some(asked), job);
    let generation = job.generation + i64::from(!job.deleting);
    (!finalizers.is_empty()).then(|| Job { deleting: true, finalizers, generation, ..job.clone() })
}

/// Judges a DELETE that left the Job behind as `new`, waiting for its finalizers (PC-31), and with another
/// generation if this was the first (SP-11).
pub fn validate_delete(asked: Option<Propagation>, old: &Job, new: &Job, findings: &mut Findings) {
    let mut expected = finalizers_after_delete(asked, old);
    let mut found = new.finalizers.clone();
    expected.sort_unstable();
    found.sort_unstable();
    let says = |finalizers: &[Text]| finalizers.join(", ");
    Outcome::of(expected == found, "metadata.finalizers", || (says(&expected), says(&found)))
        .report(Req::PC31, findings);
    if old.generation != 0 && new.generation != 0 {
        let due = old.generation.saturating_add(i64::from(!old.deleting));
        findings.equal(Req::SP11, "metadata.generation", due, new.generation);
    }
}

/// Judges a DELETE after which the Job was gone at once: no finalizer held it (PC-31).
pub fn validate_removal(asked: Option<Propagation>, old: &Job, findings: &mut Findings) {
    let expected = finalizers_after_delete(asked, old);
    Outcome::of(expected.is_empty(), "metadata.finalizers", || {
        (expected.join(", "), "none: the Job is gone")
    })
    .report(Req::PC31, findings);
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::job;
    use super::*;

    fn after(asked: Option<Propagation>, finalizers: &[&str]) -> Vec<Text> {
        let mut old = job();
        old.finalizers = finalizers.iter().map(|text| Text::from(*text)).collect();
        finalizers_after_delete(asked, &old)
    }

    #[test]
    fn delete_without_a_policy_orphans_the_pods() {
        assert_eq!(after(None, &["mine"]), ["mine".into(), ORPHAN.into()]);
        assert_eq!(after(Some(Propagation::Background), &[]), []);
        assert_eq!(after(None, &[FOREGROUND]), [FOREGROUND.into()]);
        assert_eq!(after(Some(Propagation::Orphan), &[FOREGROUND]), [ORPHAN.into()]);
    }

    #[test]
    fn delete_that_forgets_to_orphan_breaks_the_rule() {
        let (old, mut new) = (job(), job());
        (new.generation, new.deleting) = (2, true);
        new.finalizers = vec![FOREGROUND.into()];
        let mut findings = Findings::new();
        validate_delete(None, &old, &new, &mut findings);
        assert_eq!(findings.broken[0].req, Req::PC31);
        findings.clear();
        validate_delete(Some(Propagation::Foreground), &old, &new, &mut findings);
        assert!(findings.is_clean());
        validate_delete(Some(Propagation::Foreground), &new, &new, &mut findings);
        assert!(findings.is_clean());
        validate_delete(Some(Propagation::Foreground), &old, &Job { generation: 1, ..new }, &mut findings);
        assert_eq!(findings.broken[0].req, Req::SP11);
    }
}
