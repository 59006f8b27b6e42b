//! Finding the views that explain a write, and saying why there are none.

use std::fmt::Display;

use jobcheck_spec::guards::decision::{Tally, decide};
use jobcheck_spec::view::{Interpretation, View};
use jobcheck_spec::{Broken, Findings, Operand, Req, Time};

use super::clock::Written;
use super::event::Event;
use super::frontier::{DeletesFailed, Explained, Setting, Versions};
use super::known_pods::is_no_surplus;
use super::settings::Settings;
use super::track::Track;
use super::verdict::ViewRefusal;

impl Track {
    /// Judges a write by the views; reports a violation where none explains it.
    pub fn judge_by_views(
        &mut self,
        event: &Event,
        settings: &Settings,
        write: &dyn Display,
        versions: Versions,
        latest: Option<Time>,
        judge: &dyn Fn(&View<'_>, &mut Findings),
    ) -> bool {
        // Who is dead decided by views that its successor left behind.
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
                self.doubt(format!("{write}: more candidate views than are tried"));
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

    /// Whether all that is wrong is that pods are reported of which the trace shows none.
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
        let let_go = self.history.released_in_sync();
        let setting = Setting {
            latest,
            deletes_failed: match (settings.has_actors, self.refused.deletions + self.refused.unheard > 0) {
                (false, _) => DeletesFailed::Unknown,
                (true, true) => DeletesFailed::Yes,
                (true, false) => DeletesFailed::No,
            },
            namespace_goes: self.namespace_goes(settings),
            released: self.history.released_unlisted(lists),
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
        // What follows the first status write of a sync rests on what that write rested on.
        let sync_start = self.history.sync_start();
        self.history.set_sync_start(self.previous_sync);
        let second = self.frontier.explain(&mut self.history, versions, setting, judge);
        self.history.set_sync_start(sync_start);
        if matches!(second, Explained::Yes(_)) { second } else { explained }
    }

    /// Whether some view would explain a write that may be somebody else's, so that it says nothing of what was seen.
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

    /// Whether some view explains a write, or what the built-in is known for; the views that do are taken for those it may
    /// rest on.
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

    /// S-01, S-02, S-07, J-01, H1: whether the built-in's way to read what it has explains the write.
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
        // What a sync creates and deletes waits for the deletions before it; what it reports does not.
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

    /// H3 in a watch, which does not show the refusal: the Job's end is decided, so that the sync deletes every
    /// active pod, and of pods that are active still all that is wrong is that fewer are ready.
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

    /// What is broken, as a known deviation: in one of the closest views that is all, and a view that fits explains the rest.
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

    /// PC-12, J-10. A watch shows no refusals: there it may be so once every pod is being deleted.
    fn namespace_goes(&self, settings: &Settings) -> bool {
        let unseen = !settings.has_actors && self.history.stored.iter().all(|pod| pod.deleting);
        unseen || self.setbacks.has_no_namespace()
    }

    /// BO-05: a restart loses the backoff record. It is admitted with a sign of it (judging.md 1).
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
        self.warnings.extend(sign.warning().map(|warning| (event.place, warning)));
        true
    }

    /// A write that was answered with a server error may have been committed (judging.md 3).
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

    /// After a status write that a view explains: the record of that view is the controller's.
    pub fn keep_backoff(&mut self, heard: bool, settings: &Settings) {
        let before = self.backoff.clone();
        let let_go = self.history.released_in_sync();
        let setting = Setting {
            latest: None,
            deletes_failed: DeletesFailed::No,
            namespace_goes: self.namespace_goes(settings),
            released: 0,
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
        let Some(first) = views.first().and_then(|view| view.broken.first()).cloned() else { return };
        let broken = match known {
            Some(req) => Broken { req, known: Some(req), ..first },
            None => {
                // Among the closest views, one in which the refusals of the sync are all that is misreported.
                let label = |view: &ViewRefusal| {
                    Some((self.misreport(settings, &view.broken)?, view.broken.first()?.clone()))
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

    /// H2, H3, H4, by the refusals of the sync. A watch shows none: there H2 is told by its value, the number of
    /// pods that were wanted.
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

/// A known deviation that a view shows by one thing that is wrong in it, and nothing else.
pub(super) struct Pattern<'a> {
    /// What it is called.
    pub known: Req,
    /// What is broken, if it is this alone.
    pub sole: fn(&[Broken]) -> Option<&Broken>,
    /// Whether it may happen in a view.
    pub fits: &'a dyn Fn(&View<'_>) -> bool,
}

/// PC-03 with fewer ready pods than there are, if that is all that is wrong.
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
