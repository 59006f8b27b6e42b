//! Searches the views that explain a write, and decides what follows if there is none.
//!
//! If no view explains a write, these explanations are tried in this order; the first that applies ends the judgement:
//!
//! | explanation | consequence |
//! | --- | --- |
//! | the sender was replaced while the request was in flight | warning SY-01 |
//! | a restart has emptied the backoff record | warning, or none if the trace shows the restart |
//! | earlier writes with a server error were committed | none |
//! | earlier writes came from a replaced process | warning SY-01 |
//! | a pod version was read that the trace does not show | inconclusive |
//! | pods are reported that the trace does not show | inconclusive |
//! | the pattern of a known deviation (H3, BO-02) | violation, KNOWN |
//! | the trace has a gap before the write | inconclusive |
//! | a known way in which the built-in controller misreads its caches | violation, KNOWN |
//! | none of these | violation |

use std::fmt::Display;

use jobcheck_spec::guards::decision::{Tally, decide};
use jobcheck_spec::view::{Interpretation, View};
use jobcheck_spec::{Broken, Findings, Operand, Req, Time};

use super::clock::Written;
use super::event::Event;
use super::frontier::{DeletesFailed, Explained, Setting, Versions};
use super::known_pods::is_no_surplus;
use super::primary::primary;
use super::settings::Settings;
use super::track::Track;
use super::verdict::ViewRefusal;

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
        if !self.complete || event.posthumous {
            return true;
        }
        self.judged += 1;
        self.late.possible |= event.overlapped;
        match self.explain(settings, versions, latest, Interpretation::Ideal, judge) {
            Explained::Yes(mut findings) => {
                self.premises.absorb(&mut findings);
                true
            }
            Explained::Capped => {
                self.doubt(format!("{write}: the search for an explaining view reached its limit"));
                true
            }
            Explained::No(views) => {
                if self.is_late(event, write)
                    || self.explains_without_backoff(event, settings, versions, latest, &views, judge)
                    || self.explains_as_committed(settings, versions, latest, judge)
                    || self.explains_beside_late_requests(event, settings, write, versions, latest, judge)
                {
                    return true;
                }
                if let Some(version) = self.read_unseen(settings) {
                    self.doubt(format!(
                        "a write of a pod is missing: resourceVersion {version} was read and never recorded"
                    ));
                    return true;
                }
                if let Some(reason) = settings.pods_missing.filter(|_| self.reports_unseen_pods(&views)) {
                    self.doubt(reason.to_owned());
                    return true;
                }
                let by_its_pattern = match self.unseen_refusal(settings, versions, latest, &views, judge) {
                    None => self.hides_active(settings, versions, latest, &views, judge),
                    known => known,
                };
                if let Some(broken) = by_its_pattern {
                    self.report(event, write, broken, views);
                    return true;
                }
                let known = self.known_reading(settings, versions, latest, &views, judge);
                if self.rests_on_gaps(event, &views) {
                    return true;
                }
                self.report_views(event, settings, write, views, known);
                false
            }
        }
    }

    /// Returns `true` if a closest view objects only to reported pods, and the trace shows no pods.
    fn reports_unseen_pods(&self, views: &[ViewRefusal]) -> bool {
        let reported = |broken: &Broken| {
            matches!(
                broken.req,
                Req::PC01 | Req::PC02 | Req::PC03 | Req::FT06 | Req::FT12 | Req::BI01 | Req::H2
            )
        };
        let closest = views.first().map_or(&[][..], |view| &view.broken);
        self.refused.creations == 0 && self.history.stored.is_empty() && closest.iter().any(reported)
    }

    pub(super) fn explain(
        &mut self,
        settings: &Settings,
        versions: Versions,
        latest: Option<Time>,
        reading: Interpretation,
        judge: &dyn Fn(&View<'_>, &mut Findings),
    ) -> Explained {
        let lists = |uid| self.stored.as_ref().is_some_and(|job| job.status.is_recorded(uid));
        let let_go = self.history.finalizers_removed_in_sync();
        let setting = Setting {
            latest,
            deletes_failed: match (settings.has_actors, self.refused.deletions + self.refused.unheard > 0) {
                (false, _) => DeletesFailed::Unknown,
                (true, true) => DeletesFailed::Yes,
                (true, false) => DeletesFailed::No,
            },
            namespace_goes: self.namespace_goes(settings),
            finalizers_removed: self.history.new_successes_removed(lists),
            backoff: &self.backoff,
            let_go: &let_go,
            constants: &settings.constants,
            reading,
            gates: settings.gates,
            bounds: if self.late.possible { self.bounds.of_any_sync() } else { self.bounds },
        };
        let explained = self.frontier.explain(&mut self.history, versions, setting, judge);
        if !matches!(explained, Explained::No(_)) || self.sight.sync().is_some() {
            return explained;
        }
        // Writes behind the first status write of a sync may rest on the same caches as that write.
        let sync_start = self.history.sync_start();
        self.history.set_sync_start(self.previous_sync);
        let second = self.frontier.explain(&mut self.history, versions, setting, judge);
        self.history.set_sync_start(sync_start);
        if matches!(second, Explained::Yes(_)) { second } else { explained }
    }

    /// Returns `true` if some view explains a write that need not be the manager's. The write then gives no bound for
    /// the views of the manager.
    pub fn might(
        &mut self,
        settings: &Settings,
        latest: Option<Time>,
        judge: &dyn Fn(&View<'_>, &mut Findings),
    ) -> bool {
        let bounds = self.bounds;
        self.bounds = bounds.of_any_sync();
        let possible = self.has_a_reason(settings, latest, judge);
        self.bounds = bounds;
        possible
    }

    /// Returns `true` if some view, or a known deviation, explains a write. The explaining views become the current
    /// frontier.
    pub(super) fn has_a_reason(
        &mut self,
        settings: &Settings,
        latest: Option<Time>,
        judge: &dyn Fn(&View<'_>, &mut Findings),
    ) -> bool {
        match self.explain(settings, Versions::Any, latest, Interpretation::Ideal, judge) {
            Explained::Yes(_) | Explained::Capped => true,
            Explained::No(views) => {
                self.known_reading(settings, Versions::Any, latest, &views, judge).is_some()
            }
        }
    }

    /// The deviation that explains the write by misread caches: S-01, S-02, S-07, J-01, or H1.
    pub(super) fn known_reading(
        &mut self,
        settings: &Settings,
        versions: Versions,
        latest: Option<Time>,
        views: &[ViewRefusal],
        judge: &dyn Fn(&View<'_>, &mut Findings),
    ) -> Option<Req> {
        if !self.is_built_in() {
            return None;
        }
        let indexed = self.stored.as_ref().is_some_and(|job| job.spec.is_indexed());
        let flips = [
            (Interpretation::FailedThenSucceeded, if indexed { Req::S02 } else { Req::S01 }),
            (Interpretation::SucceededThenFailed, Req::S07),
        ];
        for (reading, known) in flips {
            if let Explained::Yes(_) = self.explain(settings, versions, latest, reading, judge) {
                return Some(known);
            }
        }
        // Creations and deletions wait until earlier deletions are visible; reported numbers do not.
        let is_number = |broken: &Broken| matches!(broken.req, Req::PC01 | Req::PC02 | Req::PC03);
        let only_numbers = views.iter().any(|view| view.broken.iter().all(is_number));
        let known = match versions {
            Versions::Stored if only_numbers => Req::J01,
            Versions::Any if is_no_surplus(views) && self.history.counts_deletions_early() => Req::H1,
            Versions::Stored | Versions::Any => return None,
        };
        self.history.forget_deletions(true);
        let explained = self.explain(settings, versions, latest, Interpretation::Ideal, judge);
        self.history.forget_deletions(false);
        matches!(explained, Explained::Yes(_)).then_some(known)
    }

    /// H3 in a watch, which does not show the refused deletion. The Job is decided, so the sync deletes every active
    /// pod; if the only error is a `ready` that is too small, a deletion failed.
    fn unseen_refusal(
        &mut self,
        settings: &Settings,
        versions: Versions,
        latest: Option<Time>,
        views: &[ViewRefusal],
        judge: &dyn Fn(&View<'_>, &mut Findings),
    ) -> Option<Broken> {
        if settings.has_actors || !self.is_built_in() {
            return None;
        }
        let deletes_all =
            |view: &View<'_>| view.job.status.is_decided() || decide(view, &Tally::of(view)).is_some();
        let pattern = Pattern { known: Req::H3, sole: sole_ready_deficit, fits: &deletes_all };
        self.explains_by(&pattern, settings, versions, latest, views, judge)
    }

    /// Reports the only error of a closest view as this known deviation, if a fitting view explains the rest of the
    /// write.
    pub(super) fn explains_by(
        &mut self,
        pattern: &Pattern<'_>,
        settings: &Settings,
        versions: Versions,
        latest: Option<Time>,
        views: &[ViewRefusal],
        judge: &dyn Fn(&View<'_>, &mut Findings),
    ) -> Option<Broken> {
        let broken = views.iter().find_map(|view| (pattern.sole)(&view.broken))?.clone();
        let excused = |view: &View<'_>, findings: &mut Findings| {
            judge(view, findings);
            if (pattern.sole)(&findings.broken).is_some() && (pattern.fits)(view) {
                findings.broken.clear();
            }
        };
        match self.explain(settings, versions, latest, Interpretation::Ideal, &excused) {
            Explained::Yes(mut findings) => {
                self.premises.absorb(&mut findings);
                Some(Broken { req: pattern.known, known: Some(pattern.known), ..broken })
            }
            Explained::No(_) | Explained::Capped => None,
        }
    }

    /// PC-12, J-10: a creation was refused because the namespace is being deleted. A watch shows no refusals; there it
    /// is assumed as soon as every pod is being deleted.
    fn namespace_goes(&self, settings: &Settings) -> bool {
        let unseen = !settings.has_actors && self.history.stored.iter().all(|pod| pod.deleting);
        unseen || self.setbacks.has_no_namespace()
    }

    /// BO-05: returns `true` if an empty backoff record explains the write, and the trace has a sign of a restart
    /// (`docs/reference/judging.md`, *Hidden restarts*).
    fn explains_without_backoff(
        &mut self,
        event: &Event,
        settings: &Settings,
        versions: Versions,
        latest: Option<Time>,
        views: &[ViewRefusal],
        judge: &dyn Fn(&View<'_>, &mut Findings),
    ) -> bool {
        let is_delay = |req: Req| matches!(req, Req::BO01 | Req::BO04 | Req::BO07 | Req::RP10);
        let only_delay = views.iter().any(|view| view.broken.iter().all(|broken| is_delay(broken.req)));
        let sign = settings.restart_sign(event, self.backoff.last_failure());
        if !only_delay || !sign.admits() {
            return false;
        }
        let kept = std::mem::take(&mut self.backoff);
        let explained = self.explain(settings, versions, latest, Interpretation::Ideal, judge);
        let Explained::Yes(mut findings) = explained else {
            self.backoff = kept;
            return false;
        };
        self.premises.absorb(&mut findings);
        sign.warning().into_iter().for_each(|warning| self.warn(event, warning));
        true
    }

    /// Returns `true` if the write is explained once earlier writes with a server error count as committed
    /// (`docs/reference/judging.md`, *Audit logs*).
    fn explains_as_committed(
        &mut self,
        settings: &Settings,
        versions: Versions,
        latest: Option<Time>,
        judge: &dyn Fn(&View<'_>, &mut Findings),
    ) -> bool {
        if self.uncertain.is_empty() {
            return false;
        }
        let written = self.history.date(Written::default());
        for (uid, (after, write)) in std::mem::take(&mut self.uncertain) {
            self.pod_changed(uid, after, Some(write));
        }
        self.history.date(written);
        self.history.end_sync();
        matches!(self.explain(settings, versions, latest, Interpretation::Ideal, judge), Explained::Yes(_))
    }

    /// Keeps the backoff record of the view that explains a status write.
    pub fn keep_backoff(&mut self, heard: bool, settings: &Settings) {
        let before = self.backoff.clone();
        let let_go = self.history.finalizers_removed_in_sync();
        let setting = Setting {
            latest: None,
            deletes_failed: DeletesFailed::No,
            namespace_goes: self.namespace_goes(settings),
            finalizers_removed: 0,
            backoff: &before,
            let_go: &let_go,
            constants: &settings.constants,
            reading: Interpretation::Ideal,
            gates: settings.gates,
            bounds: self.bounds,
        };
        let record = &mut self.backoff;
        self.frontier.with_earliest(&mut self.history, setting, &mut |view| match heard {
            true => record.keep(view, &let_go),
            false => record.keep_perhaps(view, &let_go),
        });
    }

    fn report_views(
        &mut self,
        event: &Event,
        settings: &Settings,
        write: &dyn Display,
        views: Vec<ViewRefusal>,
        known: Option<Req>,
    ) {
        let Some(first) = views.first().and_then(|view| primary(&view.broken)) else { return };
        let broken = match known {
            Some(req) => Broken { req, known: Some(req), ..first },
            None => {
                // Among the closest views, the first in which refused requests of the sync explain every error.
                let label = |view: &ViewRefusal| {
                    Some((self.misreport(settings, &view.broken)?, primary(&view.broken)?))
                };
                match views.iter().find_map(label) {
                    Some((req, broken)) => Broken { req, known: Some(req), ..broken },
                    None => first,
                }
            }
        };
        self.report(event, write, broken, views);
        self.resync();
    }

    /// H2, H3, or H4, by the refusals of the sync. A watch shows none; there H2 is recognised by its value, the number
    /// of wanted pods.
    fn misreport(&self, settings: &Settings, broken: &[Broken]) -> Option<Req> {
        if settings.has_actors {
            return self.refused.misreport(broken);
        }
        let [
            Broken {
                req: Req::PC01, found: Operand::Number(found), expected: Operand::Number(expected), ..
            },
        ] = broken
        else {
            return None;
        };
        let job = self.stored.as_ref()?;
        let wanted = job
            .spec
            .completions
            .map_or(i64::MAX, |completions| i64::from(completions - job.status.succeeded));
        let wanted = wanted.clamp(0, i64::from(job.spec.parallelism_count()));
        (found > expected && *found <= wanted).then_some(Req::H2)
    }
}

/// A known deviation with a single error as its pattern.
pub(super) struct Pattern<'a> {
    /// The deviation.
    pub known: Req,
    /// The error, if the findings contain no other.
    pub sole: fn(&[Broken]) -> Option<&Broken>,
    /// Returns `true` for a view in which the deviation can occur.
    pub fits: &'a dyn Fn(&View<'_>) -> bool,
}

/// The finding, if a `ready` that is too small (PC-03) is the only error.
fn sole_ready_deficit(broken: &[Broken]) -> Option<&Broken> {
    match broken {
        [
            it @ Broken {
                req: Req::PC03,
                expected: Operand::Number(expected),
                found: Operand::Number(found),
                ..
            },
        ] if found < expected => Some(it),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
