//! Effect of a DELETE on a Job: its finalizers, and its generation (PC-31, SP-11).

use super::outcome::Outcome;
use crate::catalogue::Req;
use crate::job::{Job, Text};
use crate::requirement::Findings;

/// The finalizer that makes the garbage collector orphan the dependents.
pub const ORPHAN: &str = "orphan";
/// The finalizer that makes the garbage collector delete the dependents first.
pub const FOREGROUND: &str = "foregroundDeletion";

/// `propagationPolicy` of a DELETE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Propagation {
    /// The pods stay, and become ownerless.
    Orphan,
    /// The Job is removed at once, and its pods are deleted later.
    Background,
    /// The Job is removed after its pods.
    Foreground,
}

impl Propagation {
    /// The policy of a DELETE through `batch/v1` (PC-31).
    ///
    /// It is the policy in the request, else the policy of a finalizer from an earlier DELETE, else
    /// [`Propagation::Orphan`].
    #[must_use]
    pub fn of(requested: Option<Propagation>, job: &Job) -> Propagation {
        let earlier = job.finalizers.iter().find_map(|finalizer| match &**finalizer {
            ORPHAN => Some(Propagation::Orphan),
            FOREGROUND => Some(Propagation::Foreground),
            _ => None,
        });
        requested.or(earlier).unwrap_or(Propagation::Orphan)
    }

    /// The text of the policy in the API.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Propagation::Orphan => "Orphan",
            Propagation::Background => "Background",
            Propagation::Foreground => "Foreground",
        }
    }

    /// The finalizer of the policy; `None` for [`Propagation::Background`].
    #[must_use]
    pub fn finalizer(self) -> Option<&'static str> {
        match self {
            Propagation::Orphan => Some(ORPHAN),
            Propagation::Background => None,
            Propagation::Foreground => Some(FOREGROUND),
        }
    }
}

/// The finalizers of a Job that no propagation policy has set. A DELETE leaves them as they are.
pub fn finalizers_of_others(job: &Job) -> impl Iterator<Item = &Text> {
    job.finalizers.iter().filter(|finalizer| !matches!(&***finalizer, ORPHAN | FOREGROUND))
}

/// The finalizers of a Job after a DELETE. The Job is removed at once if there are none.
#[must_use]
pub fn finalizers_after_delete(requested: Option<Propagation>, job: &Job) -> Vec<Text> {
    let own = Propagation::of(requested, job).finalizer();
    finalizers_of_others(job).cloned().chain(own.map(Text::from)).collect()
}

/// The Job after a DELETE; `None` if it is removed at once.
#[must_use]
pub fn deleted(job: &Job, requested: Propagation) -> Option<Job> {
    let finalizers = finalizers_after_delete(Some(requested), job);
    let generation = job.generation + i64::from(!job.deleting);
    (!finalizers.is_empty()).then(|| Job { deleting: true, finalizers, generation, ..job.clone() })
}

/// Judges a DELETE after which the Job still exists as `new`.
///
/// The Job has the finalizers of the policy (PC-31), and the next generation if this was its first DELETE (SP-11).
pub fn validate_delete(requested: Option<Propagation>, old: &Job, new: &Job, findings: &mut Findings) {
    let mut expected = finalizers_after_delete(requested, old);
    let mut found = new.finalizers.clone();
    expected.sort_unstable();
    found.sort_unstable();
    let text = |finalizers: &[Text]| finalizers.join(", ");
    Outcome::of(expected == found, "metadata.finalizers", || (text(&expected), text(&found)))
        .report(Req::PC31, findings);
    if old.generation != 0 && new.generation != 0 {
        let due = old.generation.saturating_add(i64::from(!old.deleting));
        findings.equal(Req::SP11, "metadata.generation", due, new.generation);
    }
}

/// Judges a DELETE after which the Job was gone at once: it has no finalizers (PC-31).
pub fn validate_removal(requested: Option<Propagation>, old: &Job, findings: &mut Findings) {
    let expected = finalizers_after_delete(requested, old);
    Outcome::of(expected.is_empty(), "metadata.finalizers", || {
        (expected.join(", "), "none, because the Job is gone")
    })
    .report(Req::PC31, findings);
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::job;
    use super::*;

    fn after(requested: Option<Propagation>, finalizers: &[&str]) -> Vec<Text> {
        let mut old = job();
        old.finalizers = finalizers.iter().map(|text| Text::from(*text)).collect();
        finalizers_after_delete(requested, &old)
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

    #[test]
    fn only_the_first_delete_raises_the_generation() {
        let old = Job { generation: 3, ..job() };
        let first = deleted(&old, Propagation::Foreground).expect("a finalizer keeps the Job");
        assert!(first.deleting);
        assert_eq!((first.generation, &*first.finalizers), (4, &[FOREGROUND.into()][..]));
        assert_eq!(deleted(&first, Propagation::Foreground), Some(first));
        assert_eq!(deleted(&old, Propagation::Background), None);
    }
}
