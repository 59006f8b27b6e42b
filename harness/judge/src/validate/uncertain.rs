//! Writes to pods with a server error, which may have been committed (`docs/reference/judging.md`, *Audit logs*).

use jobcheck_spec::guards::counting::judge_count_of_holder;
use jobcheck_spec::pod::Pod;
use jobcheck_spec::{Broken, Findings, Req, Uid};
use jobcheck_traces::Verb;

use super::clock::Written;
use super::event::Event;
use super::explain::Question;
use super::hypotheses::Consequence;
use super::job_writes::By;
use super::own_write::OwnWrite;
use super::pod_records::Fact;
use super::process::Uncertain;
use super::story;
use super::track::Track;
use super::verdict::ViewRefusal;

/// The consequence if writes with a known effect were committed.
pub(super) fn known_effects(track: &Track, question: &Question<'_>) -> Option<Consequence> {
    let known = || track.process.uncertain.iter().filter(|(_, write)| !matches!(write, Uncertain::Anything));
    let ends = known().find(|(_, write)| write.may_end_the_pod());
    let vague = |(pod, _)| {
        Consequence::Reservation(format!(
            "{}: a write to pod {pod} had a server error, and no later record shows whether the pod is gone",
            question.write
        ))
    };
    known().next().map(|_| ends.map_or(Consequence::Nothing, vague))
}

/// The consequence if creations were committed whose pods no record shows.
pub(super) fn lost_creations(
    track: &Track,
    question: &Question<'_>,
    views: &[ViewRefusal],
) -> Option<Consequence> {
    let most = i64::from(track.process.setbacks.lost_creations);
    let is_explained = |view: &ViewRefusal| view.broken.iter().all(|it| counts_more(it, most));
    (most > 0 && views.iter().any(is_explained)).then(|| {
        Consequence::Reservation(format!(
            "{}: it counts pods that no record before it shows. Creations with a server error may have been committed",
            question.write
        ))
    })
}

/// The consequence if a write of somebody else was committed, with any effect.
pub(super) fn of_others(track: &Track, question: &Question<'_>) -> Option<Consequence> {
    let mut all = track.process.uncertain.iter();
    let (pod, _) = all.find(|(_, write)| matches!(write, Uncertain::Anything))?;
    Some(Consequence::Reservation(format!(
        "{}: a write to pod {pod} by somebody else had a server error and may have been committed, and no later record shows \
         the pod",
        question.write
    )))
}

/// Returns `true` if a reported number of pods is too large by at most `most`.
fn counts_more(broken: &Broken, most: i64) -> bool {
    let is_number = matches!(broken.req, Req::PC01 | Req::PC02 | Req::PC03);
    is_number && broken.excess().is_some_and(|excess| (1..=most).contains(&excess))
}

/// FT-02: judges the count of a pod after a removal of its finalizer with a server error. The record shows that the finalizer has
/// stayed.
pub(super) fn judge_count(track: &mut Track, event: &Event, after: &Pod, gone: bool, by: By) {
    let uid = after.uid;
    let was_uncertain = matches!(
        track.process.uncertain.get(&uid),
        Some(Uncertain::Effect { own: Some(OwnWrite::RemoveFinalizer), .. })
    );
    // A kubelet adds no finalizer. A removal without an effect would have the version of before.
    let is_shown = event.is_status && after.finalizer;
    let is_removed_now = by == By::Manager && !after.finalizer && event.verb == Some(Verb::Patch);
    let still_held = !gone && event.version.is_some() && (is_shown || is_removed_now);
    if !was_uncertain || !still_held || !track.pods.has(uid, Fact::Counted) {
        return;
    }
    let mut findings = Findings::new();
    judge_count_of_holder(uid, &mut findings);
    track.take(event, &format_args!("earlier count of {}", story::pod(after)), findings);
}

impl Track {
    /// A record shows the pod of a creation with a server error: every view so far may contain the pod. Returns `false` if the pod
    /// does not come from such a creation.
    pub(super) fn shows_lost_creation(&mut self, uid: Uid) -> bool {
        // An assumption may have committed it already.
        let is_known = self.history.stored.get(uid).is_some();
        match self.process.uncertain.remove(&uid) {
            Some(Uncertain::Effect { after: Some(pod), .. }) if !is_known => {
                self.note_fate(uid, Some(&pod));
                self.history.push(uid, Some(pod), None, self.process.frontier.earliest());
            }
            _ if is_known => {}
            _ => return false,
        }
        self.found_lost_creation(uid);
        true
    }

    /// S-08: the pod comes from a creation whose response was lost.
    pub(super) fn found_lost_creation(&mut self, uid: Uid) {
        let lost = &mut self.process.setbacks.lost_creations;
        *lost = lost.saturating_sub(1);
        self.pods.note(uid, Fact::Made);
    }

    /// Counts earlier writes with a server error and a known effect as committed. The others stay uncertain.
    pub(super) fn commit_uncertain(&mut self) {
        let written = self.history.date(Written::default());
        for (uid, write) in std::mem::take(&mut self.process.uncertain) {
            let may_end = write.may_end_the_pod();
            match write {
                Uncertain::Effect { after, own } => self.pod_changed(uid, after, own),
                Uncertain::Anything => {
                    self.process.uncertain.insert(uid, write);
                }
            }
            // A view may show the pod before its end, or after it.
            if may_end {
                self.pod_changed(uid, None, None);
            }
        }
        self.history.date(written);
        self.history.end_sync();
    }
}
