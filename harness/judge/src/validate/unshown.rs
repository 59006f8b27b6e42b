//! Responses that a watch does not show, as explanations of a status.

use jobcheck_spec::guards::counting::STAYS;

use super::explain::Question;
use super::hypotheses::Consequence;
use super::track::Track;
use super::verdict::ViewRefusal;

/// The consequence if a removal of a finalizer was stored in this sync, and its sender got an error. A watch shows no responses. A later
/// sync sees the pod without its finalizer.
pub(super) fn error(track: &Track, question: &Question<'_>, views: &[ViewRefusal]) -> Option<Consequence> {
    let is_sole = |view: &ViewRefusal| view.broken.iter().all(|it| it.what == STAYS);
    let is_possible = !question.settings.has_actors && track.history.loses_finalizer_in_sync();
    (is_possible && views.first().is_some_and(is_sole)).then(|| {
        Consequence::Reservation(format!(
            "FT-04: {}: it keeps the UID of a pod that has lost its finalizer. Only a removal that got an error although it was \
             stored explains it, and a watch shows no responses",
            question.write
        ))
    })
}

/// The consequence if the namespace is being deleted (PC-12, J-10).
pub(super) fn namespace_end(track: &Track, question: &Question<'_>) -> Option<Consequence> {
    track.namespace_may_go(question.settings).then(|| {
        Consequence::Reservation(format!(
            "PC-12: {}: only a refusal because the namespace is being deleted explains it, and a watch shows no \
             refusals",
            question.write
        ))
    })
}
