//! BO-02 as the built-in controller broke it before 1.36 (kubernetes#139428). While a replacement waits for its delay,
//! the controller reports `active` 0, although other pods run.

use jobcheck_spec::guards::creation::want_active;
use jobcheck_spec::guards::decision::{Tally, decide};
use jobcheck_spec::job::Job;
use jobcheck_spec::view::{Interpretation, View};
use jobcheck_spec::{Broken, Findings, Operand, Req};

use super::event::Event;
use super::explain::Question;
use super::frontier::{Explained, Versions};
use super::known;
use super::owed_work::delay_end;
use super::settings::Settings;
use super::track::Track;

impl Track {
    /// Returns `true` for a refused status write with `active` 0 and a greater `ready`, if the delay runs in some view
    /// with this `ready`.
    pub(super) fn was_refused_for_hidden_active(
        &mut self,
        event: &Event,
        settings: &Settings,
        attempted: &Job,
    ) -> bool {
        let (active, ready) = (attempted.status.active, attempted.status.ready.unwrap_or(0));
        let is_possible = known::is_possible(&settings.rules, Req::BO02);
        if !is_possible || !self.is_built_in() || active != 0 || !self.coverage.complete {
            return false;
        }
        let fits = |view: &View<'_>, findings: &mut Findings| {
            let is_ready = i64::from(view.post.sums().ready) == i64::from(ready);
            findings.require(Req::BO02, is_ready && awaits_delay(view), "active", "what runs", active);
        };
        // A refused write gives no bound for the views of the next write.
        let kept = self.process.frontier.clone();
        let (versions, latest) = (Versions::Stored, event.latest());
        let write = &"refused status write";
        let question = Question { event, settings, write, versions, latest, judge: &fits };
        let explained = self.explain(&question, Interpretation::Ideal);
        self.process.frontier = kept;
        matches!(explained, Explained::Yes(_))
    }
}

/// The finding, if `active` 0 in place of another number (PC-01) is the only error.
pub(super) fn sole_zero(broken: &[Broken]) -> Option<&Broken> {
    match broken {
        [it @ Broken { req: Req::PC01, expected: Operand::Number(1..), found: Operand::Number(0), .. }] => {
            Some(it)
        }
        _ => None,
    }
}

/// Returns `true` if the sync of this view needs more pods, and only a delay keeps it from creating them.
pub(super) fn awaits_delay(view: &View<'_>) -> bool {
    let tally = Tally::of(view);
    let ends = view.job.deleting || view.job.status.is_decided() || decide(view, &tally).is_some();
    if ends || view.spec().is_suspended() || !view.expectations_met {
        return false;
    }
    let sums = view.cache.sums();
    let held = if view.spec().replaces_only_failed() { sums.active + sums.terminating } else { sums.active };
    let begun = view.earliest.or(view.latest);
    i64::from(held) < want_active(view, &tally)
        && delay_end(view).is_some_and(|end| begun.is_none_or(|begun| begun < end))
}
