//! Assumptions under which a write that no view explains may be explained after all.
//!
//! A trace shows requests, not processes. Each assumption here needs a sign in the trace, and has one consequence for
//! the verdict. They are tried in the order of [`ORDER`], cheapest first, and the first that explains the write ends the
//! search. An assumption that explains nothing leaves nothing behind.
//!
//! | assumption | sign | consequence |
//! | --- | --- | --- |
//! | the sender was replaced while the request was in flight | a silence, and requests of its successor | inconclusive |
//! | a restart has emptied the backoff record | see [`super::settings::RestartSign`] | none if the trace shows the restart, else inconclusive |
//! | earlier writes with a server error were committed | such writes | none, or inconclusive if a pod may be gone |
//! | a creation with a server error was committed, and no record shows its pod | such a creation | inconclusive |
//! | a write of somebody else with a server error was committed | such a write, and no later record of its pod | inconclusive |
//! | earlier writes came from a replaced process | a restart just before them; or a silence, and requests of its successor | inconclusive |
//! | the sync has read a pod version that the trace does not show | the version in an `observed` line | inconclusive |
//! | pods exist that the trace does not show | no pod was shown, or a level hides them | inconclusive |
//! | a write is missing | a pod changed as no single write changes it | inconclusive |
//! | kubelets have removed pods, and the log hides kubelets | a bound pod is being deleted, and no kubelet has written it | inconclusive, or a violation if a kubelet shows itself later ([`super::hidden_kubelets`]) |
//! | the namespace refused creations (H2), or is being deleted (PC-12, J-10) | a watch in which every pod is being deleted | inconclusive |
//! | a removal of a finalizer was stored, and got an error (FT-04) | a watch, and nothing else is wrong | inconclusive |
//! | requests of the sync, or their responses, were lost | its status lacks their effects | inconclusive if the next status has them, else a violation ([`super::lost_requests`]) |
//! | the built-in controller deviates | the pattern of the deviation ([`super::known`]) | violation, KNOWN |

use jobcheck_spec::guards::creation::want_active;
use jobcheck_spec::guards::decision::{Tally, decide};
use jobcheck_spec::job::Job;
use jobcheck_spec::view::{Interpretation, View};
use jobcheck_spec::{Broken, Findings, Operand, Req};

use super::backoff::BackoffRecord;
use super::event::{Body, Event};
use super::explain::Question;
use super::fates::Fates;
use super::frontier::{Explained, Versions};
use super::gaps::Since;
use super::history::History;
use super::known_pods::is_no_surplus;
use super::life::Life;
use super::pod_records::Fact;
use super::primary::primary;
use super::process::Process;
use super::track::Track;
use super::verdict::ViewRefusal;
use super::{deadline_overflow, hidden_active, hidden_kubelets, known, lost_requests, uncertain, unshown};

/// An assumption about what the trace does not show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Assumption {
    /// The sender was replaced while this request was in flight (SY-01).
    SenderReplaced,
    /// A restart has emptied the backoff record (BO-05).
    Restarted,
    /// Earlier writes with a server error were committed (`docs/reference/judging.md`, *Audit logs*).
    Committed,
    /// Creations with a server error were committed. Their responses name no pods, and no other record shows them.
    CommittedCreations,
    /// Writes of somebody else with a server error were committed, and changed anything.
    CommittedByOthers,
    /// Earlier writes came from a process that was replaced while they were in flight (SY-01).
    FromPredecessor,
    /// The sync has read a pod version that the trace does not show.
    UnshownVersion,
    /// Pods exist that the trace does not show.
    UnshownPods,
    /// A deletion was refused, and the form shows no refusals (H3).
    UnshownRefusal,
    /// The status leaves out active pods while a delay runs (BO-02, before 1.36).
    HiddenActive,
    /// The deadline of the Job overflows (J-11).
    DeadlineOverflow,
    /// A write is missing from the log.
    MissingWrite,
    /// Kubelets have removed pods, and the log hides their requests.
    UnshownRemovals,
    /// The manager misreads its caches in this way.
    Misread(Misreading),
    /// The manager counts refused requests of its sync as made (H2, H3, H4).
    CountsRefused,
    /// The namespace refused creations, and the form shows no refusals (H2).
    UnshownCreations,
    /// The namespace is being deleted, and the form shows no refusals (PC-12, J-10).
    UnshownNamespaceEnd,
    /// A stored removal of a finalizer had an error, and the form shows no responses (FT-04).
    UnshownError,
    /// Requests of the sync, or their responses, were lost (TC-08).
    LostRequests,
}

/// The known ways in which the built-in controller misreads its caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Misreading {
    /// Pods that are recorded as failed count as successes (S-01, S-02).
    FailedThenSucceeded,
    /// Pods that are recorded as succeeded count as failures (S-07).
    SucceededThenFailed,
    /// Deletions of earlier syncs are not counted (J-01, H1).
    ForgottenDeletions,
}

/// All assumptions, in the order in which they are tried.
pub(super) const ORDER: [Assumption; 21] = [
    Assumption::SenderReplaced,
    Assumption::Restarted,
    Assumption::Committed,
    Assumption::CommittedCreations,
    Assumption::CommittedByOthers,
    Assumption::FromPredecessor,
    Assumption::UnshownVersion,
    Assumption::UnshownPods,
    Assumption::UnshownRefusal,
    Assumption::HiddenActive,
    Assumption::DeadlineOverflow,
    Assumption::MissingWrite,
    Assumption::UnshownRemovals,
    Assumption::Misread(Misreading::FailedThenSucceeded),
    Assumption::Misread(Misreading::SucceededThenFailed),
    Assumption::Misread(Misreading::ForgottenDeletions),
    Assumption::CountsRefused,
    Assumption::UnshownCreations,
    Assumption::UnshownNamespaceEnd,
    Assumption::UnshownError,
    Assumption::LostRequests,
];

/// The consequence of an assumption for the verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Consequence {
    /// The trace shows what is assumed.
    Nothing,
    /// The trace does not decide about this write, and nothing else rests on it.
    Reservation(String),
    /// The trace does not decide, and neither does it about anything that follows.
    Doubt(String),
    /// A write is missing since then. Violations after it are withdrawn.
    Missing(&'static str, Since),
    /// The only error is a known deviation; a view explains the rest of the write.
    Known(Broken),
    /// A known deviation explains the write in some other way.
    Labelled(Broken),
    /// The write is wrong if the trace shows a kubelet later. Otherwise the trace does not decide.
    Withheld(Broken),
    /// The write is wrong, unless the next one shows that the assumption was right.
    Suspicion(Broken),
}

/// The state of a [`Track`] that an assumption may change.
pub(super) struct Checkpoint {
    process: Process,
    pods: Option<(History, Fates, Option<Box<Life>>)>,
}

impl Track {
    /// The state before an assumption. The pods are many, so they are kept only for assumptions that change them.
    pub(super) fn checkpoint(&self, assumption: Assumption) -> Checkpoint {
        let rewrites = matches!(
            assumption,
            Assumption::Committed
                | Assumption::FromPredecessor
                | Assumption::UnshownRemovals
                | Assumption::LostRequests
        );
        let pods = || (self.history.clone(), self.account.fates.clone(), self.account.life.clone());
        Checkpoint { process: self.process.clone(), pods: rewrites.then(pods) }
    }

    pub(super) fn restore(&mut self, before: Checkpoint) {
        self.process = before.process;
        if let Some(pods) = before.pods {
            (self.history, self.account.fates, self.account.life) = pods;
        }
    }

    /// The first assumption that explains the write, and its consequence. `Err(true)` if none does and a search has
    /// reached its limit, so that nothing follows.
    pub(super) fn assume(
        &mut self,
        question: &Question<'_>,
        views: &[ViewRefusal],
    ) -> Result<Consequence, bool> {
        let mut is_capped = false;
        for assumption in ORDER {
            let Some(consequence) = assumption.sign(self, question, views) else { continue };
            let before = self.checkpoint(assumption);
            match assumption.explains(self, question, views) {
                Explained::Yes(mut findings) => {
                    self.results.premises.absorb(&mut findings);
                    return Ok(consequence);
                }
                Explained::Capped => is_capped = true,
                Explained::No(_) => {}
            }
            self.restore(before);
        }
        Err(is_capped)
    }

    /// The deviation that explains the write by misread caches.
    pub(super) fn misreading(&mut self, question: &Question<'_>, views: &[ViewRefusal]) -> Option<Req> {
        ORDER.into_iter().filter(|it| matches!(it, Assumption::Misread(_))).find_map(|assumption| {
            let Consequence::Labelled(broken) = assumption.sign(self, question, views)? else { return None };
            matches!(assumption.explains(self, question, views), Explained::Yes(_)).then_some(broken.req)
        })
    }
}

impl Assumption {
    /// The consequence, if the trace has a sign for the assumption.
    fn sign(self, track: &Track, question: &Question<'_>, views: &[ViewRefusal]) -> Option<Consequence> {
        let may_be = |known: &Req| known::is_possible(&question.settings.rules, *known);
        match self {
            Assumption::SenderReplaced => question.event.may_be_late().then(|| replaced(question, SILENT)),
            Assumption::Restarted => restarted(track, question, views),
            Assumption::Committed => uncertain::known_effects(track, question),
            Assumption::CommittedCreations => uncertain::lost_creations(track, question, views),
            Assumption::CommittedByOthers => uncertain::of_others(track, question),
            Assumption::FromPredecessor => {
                let late = &track.process.late;
                let sign = if late.is_told() { RESTARTED } else { SILENT };
                late.has_writes().then(|| replaced(question, sign))
            }
            Assumption::UnshownVersion => track.read_unseen(question.settings).map(|version| {
                Consequence::Doubt(format!(
                    "a write of a pod is missing: resourceVersion {version} was read and never recorded"
                ))
            }),
            Assumption::UnshownPods => question
                .settings
                .reason_for_unseen_pods(track, question.event)
                .filter(|_| reports_unseen_pods(track, views))
                .map(|reason| Consequence::Doubt(reason.to_owned())),
            Assumption::UnshownRefusal | Assumption::HiddenActive | Assumption::DeadlineOverflow => {
                let may_show = |it: &Pattern| may_be(&it.known) && (it.form)(question);
                let pattern = self.pattern().filter(|it| track.is_built_in() && may_show(it))?;
                let broken = views.iter().find_map(|view| (pattern.sole)(&view.broken))?.clone();
                Some(Consequence::Known(labelled(broken, pattern.known)))
            }
            Assumption::MissingWrite => {
                track.gap_before(views).map(|(what, since)| Consequence::Missing(what, since))
            }
            Assumption::UnshownRemovals => {
                hidden_kubelets::sign(track, question, views).map(Consequence::Withheld)
            }
            Assumption::Misread(misreading) => {
                let known = misreading.known(track, question, views)?;
                let first = primary(&views.first()?.broken)?;
                Some(Consequence::Labelled(labelled(first, known)))
            }
            // Among the closest views, the first in which refused requests of the sync explain every error.
            Assumption::CountsRefused => {
                let label = |view: &ViewRefusal| {
                    let known = track.process.refused.misreport(&view.broken).filter(may_be)?;
                    Some(labelled(primary(&view.broken)?, known))
                };
                views.iter().find_map(label).map(Consequence::Labelled)
            }
            Assumption::UnshownError => unshown::error(track, question, views),
            Assumption::LostRequests => {
                lost_requests::sign(track, question, views).map(Consequence::Suspicion)
            }
            Assumption::UnshownNamespaceEnd => unshown::namespace_end(track, question),
            Assumption::UnshownCreations => {
                let hides_creations = !question.settings.has_actors
                    && track.is_built_in()
                    && track.history.stored.iter().all(|pod| pod.deleting)
                    && views.iter().any(|view| counts_wanted_pods(track, question.event, &view.broken));
                hides_creations.then(|| {
                    Consequence::Reservation(format!(
                        "H2: {}: active counts pods that do not exist. Only creations that the namespace refused \
                         explain it, and a watch shows no refusals",
                        question.write
                    ))
                })
            }
        }
    }

    /// Searches a view that explains the write under the assumption.
    fn explains(self, track: &mut Track, question: &Question<'_>, views: &[ViewRefusal]) -> Explained {
        match self {
            Assumption::SenderReplaced => {
                track.process.late.is_by_predecessor(question.event);
                Explained::Yes(Findings::new())
            }
            Assumption::CommittedCreations
            | Assumption::CommittedByOthers
            | Assumption::UnshownVersion
            | Assumption::UnshownPods
            | Assumption::MissingWrite
            | Assumption::CountsRefused
            | Assumption::UnshownError
            | Assumption::UnshownCreations => Explained::Yes(Findings::new()),
            Assumption::Restarted => {
                track.process.backoff = BackoffRecord::default();
                track.explain(question, Interpretation::Ideal)
            }
            Assumption::Committed => {
                track.commit_uncertain();
                track.explain(question, Interpretation::Ideal)
            }
            Assumption::FromPredecessor => {
                let writers = track.unhear_late_writes();
                let explained = track.explain(question, Interpretation::Ideal);
                if matches!(explained, Explained::Yes(_)) {
                    for uid in &writers {
                        track.pods.forget(*uid, Fact::Made);
                    }
                }
                explained
            }
            Assumption::UnshownRefusal | Assumption::HiddenActive | Assumption::DeadlineOverflow => {
                match self.pattern() {
                    Some(pattern) => pattern.explains(track, question),
                    None => Explained::No(Vec::new()),
                }
            }
            Assumption::UnshownRemovals => hidden_kubelets::assume_ends(track, question),
            Assumption::LostRequests => lost_requests::explains(track, question, views),
            Assumption::UnshownNamespaceEnd => {
                track.process.namespace_goes = true;
                let explained = track.explain(question, Interpretation::Ideal);
                track.process.namespace_goes = false;
                explained
            }
            Assumption::Misread(Misreading::FailedThenSucceeded) => {
                track.explain(question, Interpretation::FailedThenSucceeded)
            }
            Assumption::Misread(Misreading::SucceededThenFailed) => {
                track.explain(question, Interpretation::SucceededThenFailed)
            }
            Assumption::Misread(Misreading::ForgottenDeletions) => {
                track.history.forget_deletions(true);
                let explained = track.explain(question, Interpretation::Ideal);
                track.history.forget_deletions(false);
                explained
            }
        }
    }

    /// The pattern of a deviation with a single error.
    fn pattern(self) -> Option<Pattern> {
        match self {
            Assumption::UnshownRefusal => Some(Pattern {
                known: Req::H3,
                form: |question| !question.settings.has_actors,
                sole: sole_ready_deficit,
                fits: deletes_all,
            }),
            Assumption::HiddenActive => Some(Pattern {
                known: Req::BO02,
                form: |_| true,
                sole: hidden_active::sole_zero,
                fits: hidden_active::awaits_delay,
            }),
            Assumption::DeadlineOverflow => Some(Pattern {
                known: Req::J11,
                form: |_| true,
                sole: deadline_overflow::sole_failure,
                fits: deadline_overflow::is_over,
            }),
            _ => None,
        }
    }
}

impl Misreading {
    /// The id of the deviation, if this decision of the built-in controller can show it.
    fn known(self, track: &Track, question: &Question<'_>, views: &[ViewRefusal]) -> Option<Req> {
        if !track.is_built_in() {
            return None;
        }
        let is_indexed = || track.stored.as_ref().is_some_and(|job| job.spec.is_indexed());
        // Creations and deletions wait until earlier deletions are visible; reported numbers do not.
        let is_number = |broken: &Broken| matches!(broken.req, Req::PC01 | Req::PC02 | Req::PC03);
        let only_numbers = || views.iter().any(|view| view.broken.iter().all(is_number));
        // Without them, caches that are misread in this way show nothing else.
        let misreads_lists = |lists: &dyn Fn(&Job) -> bool| track.process.frontier.versions().any(lists);
        match (self, question.versions) {
            (Misreading::FailedThenSucceeded, _) if !misreads_lists(&lists_failures) => None,
            (Misreading::SucceededThenFailed, _) if !misreads_lists(&lists_successes) => None,
            (Misreading::FailedThenSucceeded, _) => Some(if is_indexed() { Req::S02 } else { Req::S01 }),
            (Misreading::SucceededThenFailed, _) => Some(Req::S07),
            (Misreading::ForgottenDeletions, Versions::Stored) => only_numbers().then_some(Req::J01),
            (Misreading::ForgottenDeletions, Versions::Any) => {
                (is_no_surplus(views) && track.history.counts_deletions_early()).then_some(Req::H1)
            }
        }
    }
}

/// Pods, or indexes, are recorded as failed, or may be by the write.
fn lists_failures(job: &Job) -> bool {
    !job.status.uncounted_failed().is_empty() || job.spec.backoff_limit_per_index.is_some()
}

/// Pods are recorded as succeeded.
fn lists_successes(job: &Job) -> bool {
    !job.status.uncounted_succeeded().is_empty()
}

/// A known deviation with a single error as its pattern.
struct Pattern {
    /// The deviation.
    known: Req,
    /// Returns `true` if this trace can show it.
    form: fn(&Question<'_>) -> bool,
    /// The error, if the findings contain no other.
    sole: fn(&[Broken]) -> Option<&Broken>,
    /// Returns `true` for a view in which the deviation can occur.
    fits: fn(&View<'_>) -> bool,
}

impl Pattern {
    /// Searches a fitting view that explains everything but the error.
    fn explains(&self, track: &mut Track, question: &Question<'_>) -> Explained {
        let judge = |view: &View<'_>, findings: &mut Findings| {
            (question.judge)(view, findings);
            if (self.sole)(&findings.broken).is_some() && (self.fits)(view) {
                findings.broken.clear();
            }
        };
        track.explain(&Question { judge: &judge, ..*question }, Interpretation::Ideal)
    }
}

fn labelled(broken: Broken, known: Req) -> Broken {
    Broken { req: known, known: Some(known), ..broken }
}

/// The signs of a request whose sender was replaced while it was in flight.
const SILENT: &str = "the only sign of a replacement is a silence of a second or more";
const RESTARTED: &str = "a restart just before it is the only sign that the request was on its way";

fn replaced(question: &Question<'_>, sign: &str) -> Consequence {
    let write = question.write;
    Consequence::Reservation(format!(
        "SY-01: {write}: only a request whose sender was replaced in flight explains it, and {sign}"
    ))
}

/// BO-05: the only errors of some view are delays, and the trace has a sign of a restart.
fn restarted(track: &Track, question: &Question<'_>, views: &[ViewRefusal]) -> Option<Consequence> {
    let is_delay = |req: Req| matches!(req, Req::BO01 | Req::BO04 | Req::BO07 | Req::RP10);
    let only_delay = views.iter().any(|view| view.broken.iter().all(|broken| is_delay(broken.req)));
    let sign = question.settings.restart_since(question.event, track.failed_or_recorded());
    let admits = only_delay && sign.admits();
    let reason = |lack: &str| {
        let write = question.write;
        Consequence::Reservation(format!(
            "BO-01: {write}: the delay has not passed. Only a restart of the controller explains it, and {lack} \
             (--restarted TIME states that there was one)"
        ))
    };
    admits.then(|| sign.lacks().map_or(Consequence::Nothing, reason))
}

/// Returns `true` if `active` (PC-01) is the only error, and is the number of pods that the running Job wants.
fn counts_wanted_pods(track: &Track, event: &Event, broken: &[Broken]) -> bool {
    let [Broken { req: Req::PC01, expected: Operand::Number(expected), found: Operand::Number(found), .. }] =
        broken
    else {
        return false;
    };
    let is_running = |job: &Job| !job.status.is_decided() && !job.spec.is_suspended() && !job.deleting;
    let wanted = |job: &Job| {
        let view = View::of(job, &track.history.stored);
        want_active(&view, &Tally::of(&view))
    };
    let Body::Job(it) = &event.body else { return false };
    let job = it.after.as_deref().filter(|job| is_running(job));
    found > expected && job.is_some_and(|job| wanted(job) == *found)
}

/// Returns `true` if a closest view objects only to reported pods, and the trace shows no pods.
fn reports_unseen_pods(track: &Track, views: &[ViewRefusal]) -> bool {
    let reported = |broken: &Broken| {
        matches!(broken.req, Req::PC01 | Req::PC02 | Req::PC03 | Req::FT06 | Req::FT12 | Req::BI01 | Req::H2)
    };
    let closest = views.first().map_or(&[][..], |view| &view.broken);
    track.process.refused.creations == 0 && track.history.stored.is_empty() && closest.iter().any(reported)
}

/// The sync of this view deletes every active pod, since the Job is decided.
fn deletes_all(view: &View<'_>) -> bool {
    view.job.status.is_decided() || decide(view, &Tally::of(view)).is_some()
}

/// The finding, if a `ready` that is too small (PC-03) is the only error.
fn sole_ready_deficit(broken: &[Broken]) -> Option<&Broken> {
    match broken {
        [it] if it.req == Req::PC03 && it.excess().is_some_and(|excess| excess < 0) => Some(it),
        _ => None,
    }
}
