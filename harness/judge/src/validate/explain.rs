//! Judges a decision of the manager against the views that it may have had.

use std::fmt::Display;

use jobcheck_spec::view::{Interpretation, View};
use jobcheck_spec::{Findings, Time};

use super::event::Event;
use super::frontier::{DeletesFailed, Explained, Setting, Versions};
use super::hypotheses::Consequence;
use super::primary::primary;
use super::settings::Settings;
use super::track::Track;
use super::verdict::{Note, ViewRefusal};

/// A decision of the manager, and the guards that judge it in a view.
#[derive(Clone, Copy)]
pub(super) struct Question<'a> {
    /// The request.
    pub event: &'a Event,
    /// The facts about the trace.
    pub settings: &'a Settings,
    /// A description of the write.
    pub write: &'a dyn Display,
    /// The Job versions that the decision may rest on.
    pub versions: Versions,
    /// Upper bound for the time of the decision.
    pub latest: Option<Time>,
    /// The guards.
    pub judge: &'a dyn Fn(&View<'_>, &mut Findings),
}

impl Track {
    /// Judges a write against the views that its sender may have had. Returns `false` if it reports a plain violation.
    pub fn judge_by_views(
        &mut self,
        event: &Event,
        settings: &Settings,
        write: &dyn Display,
        versions: Versions,
        latest: Option<Time>,
        judge: &dyn Fn(&View<'_>, &mut Findings),
    ) -> bool {
        // A terminated process decided from views older than those of its successor.
        if !self.coverage.complete || event.is_posthumous() {
            return true;
        }
        self.results.judged += 1;
        self.process.late.possible |= event.may_be_late();
        let question = Question { event, settings, write, versions, latest, judge };
        match self.explain_by_any_sync(&question) {
            Explained::Yes(mut findings) => {
                self.results.premises.absorb(&mut findings);
                self.shows_caches(event);
                true
            }
            Explained::Capped => self.conclude(&question, capped(write), Vec::new()),
            Explained::No(views) => match self.assume(&question, &views) {
                Ok(consequence) => self.conclude(&question, consequence, views),
                Err(true) => self.conclude(&question, capped(write), views),
                Err(false) => {
                    self.unexplained_after_gaps(event);
                    let first = views.first().and_then(|view| primary(&view.broken));
                    if let Some(broken) = first {
                        self.report(event, write, broken, views);
                        self.resync();
                    }
                    false
                }
            },
        }
    }

    /// Applies the consequence of an assumption. Returns `false` if the write counts as wrong.
    fn conclude(
        &mut self,
        question: &Question<'_>,
        consequence: Consequence,
        views: Vec<ViewRefusal>,
    ) -> bool {
        let Question { event, write, .. } = *question;
        match consequence {
            Consequence::Nothing => {}
            Consequence::Reservation(reason) => self.reserve(Note::on(event, reason)),
            Consequence::Doubt(reason) => self.doubt(reason),
            Consequence::Missing(what, since) => {
                self.unexplained_after_gaps(event);
                self.lacks(event, what, since);
            }
            Consequence::Known(broken) | Consequence::Suspicion(broken) => {
                self.report(event, write, broken, views);
            }
            Consequence::Withheld(broken) => {
                let violation = self.violation(event, write, broken, views);
                self.results.withheld.extend(violation);
            }
            Consequence::Labelled(broken) => {
                self.unexplained_after_gaps(event);
                self.report(event, write, broken, views);
                self.resync();
                return false;
            }
        }
        true
    }

    /// Searches the views in which the guards admit the write.
    pub(super) fn explain(&mut self, question: &Question<'_>, reading: Interpretation) -> Explained {
        let Question { settings, versions, latest, judge, .. } = *question;
        let lists = |uid| self.stored.as_ref().is_some_and(|job| job.status.is_recorded(uid));
        let let_go = self.history.finalizers_removed_in_sync();
        let setting = Setting {
            latest,
            deletes_failed: match (
                settings.has_actors,
                self.process.refused.deletions + self.process.refused.unheard > 0,
            ) {
                (false, _) => DeletesFailed::Unknown,
                (true, true) => DeletesFailed::Yes,
                (true, false) => DeletesFailed::No,
            },
            namespace_goes: self.process.namespace_goes || self.process.setbacks.has_no_namespace(),
            finalizers_removed: self.history.new_successes_removed(lists),
            backoff: &self.process.backoff,
            let_go: &let_go,
            constants: &settings.constants,
            reading,
            gates: settings.gates,
            stop: &settings.stop,
            bounds: if self.process.late.possible {
                self.process.bounds.of_any_sync()
            } else {
                self.process.bounds
            },
        };
        let explained = self.process.frontier.explain(&mut self.history, versions, setting, judge);
        let is_same_sync = self.process.previous_sync == self.history.sync_start();
        if !matches!(explained, Explained::No(_)) || self.process.sight.sync().is_some() || is_same_sync {
            return explained;
        }
        // Writes behind the first status write of a sync may rest on the same caches as that write.
        let sync_start = self.history.sync_start();
        self.history.set_sync_start(self.process.previous_sync);
        let second = self.process.frontier.explain(&mut self.history, versions, setting, judge);
        self.history.set_sync_start(sync_start);
        if matches!(second, Explained::Yes(_)) { second } else { explained }
    }

    /// Returns `true` if some view explains a write that need not be the manager's. The write then gives no bound for
    /// the views of the manager.
    pub(super) fn might(&mut self, question: &Question<'_>) -> bool {
        let bounds = self.process.bounds;
        self.process.bounds = bounds.of_any_sync();
        let possible = self.has_a_reason(question);
        self.process.bounds = bounds;
        possible
    }

    /// Returns `true` if some view, or a known deviation, explains a write. The explaining views become the current
    /// frontier.
    pub(super) fn has_a_reason(&mut self, question: &Question<'_>) -> bool {
        match self.explain(question, Interpretation::Ideal) {
            Explained::Yes(_) | Explained::Capped => true,
            Explained::No(views) => self.misreading(question, &views).is_some(),
        }
    }

    /// PC-12, J-10: a creation may have been refused because the namespace is being deleted. A watch shows no refusals; there
    /// it is possible as soon as every pod is being deleted.
    pub(super) fn namespace_may_go(&self, settings: &Settings) -> bool {
        !settings.has_actors && self.history.stored.iter().all(|pod| pod.deleting)
    }

    /// Keeps the backoff record of the view that explains a status write.
    pub fn keep_backoff(&mut self, event: &Event, heard: bool, settings: &Settings) {
        let before = self.process.backoff.clone();
        let let_go = self.history.finalizers_removed_in_sync();
        let setting = Setting {
            latest: None,
            deletes_failed: DeletesFailed::No,
            namespace_goes: self.namespace_may_go(settings) || self.process.setbacks.has_no_namespace(),
            finalizers_removed: 0,
            backoff: &before,
            let_go: &let_go,
            constants: &settings.constants,
            reading: Interpretation::Ideal,
            gates: settings.gates,
            bounds: self.process.bounds,
            stop: &settings.stop,
        };
        let record = &mut self.process.backoff;
        self.process.frontier.with_earliest(&mut self.history, setting, &mut |view| match heard {
            true => record.keep(view, &let_go),
            false => record.keep_perhaps(view, &let_go),
        });
        if self.process.backoff.last_failure() != before.last_failure() {
            self.process.recorded = event.when.map(|when| when.done);
        }
    }
}

/// The consequence for a write whose search reached its limit.
fn capped(write: &dyn Display) -> Consequence {
    Consequence::Doubt(format!("{write}: the search for an explaining view reached its limit"))
}

#[cfg(test)]
mod tests;
