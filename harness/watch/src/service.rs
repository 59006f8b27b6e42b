//! The service: records go to the files of their Jobs, and Jobs are judged when they are due.

mod intake;
mod last;

use std::sync::Arc;
use std::time::{Duration, Instant};

use jobcheck_judge::replay::{Grouping, group_until, judge};
use jobcheck_judge::report::{InputError, JobReport};
use jobcheck_judge::validate::Outcome;
use jobcheck_record::{Position, Sink};
use jobcheck_traces::{Body, Input, Mark, MarkKind, Reader};

use crate::error::Error;
use crate::held::Held;
use crate::jobs::{Job, Jobs};
use crate::metrics::Metrics;
use crate::news::News;
use crate::rests::Rests;
use crate::settings::Settings;
use crate::spool::Spool;
use crate::watchdog::{Cut, Watchdog};

const SECOND: i64 = 1_000_000;
/// A look begins no further judgement after this time. Then records are taken again.
const LONGEST_LOOK: Duration = Duration::from_secs(2);

/// Judges the Jobs of a cluster from its audit events.
pub struct Service {
    settings: Settings,
    jobs: Jobs,
    spool: Spool,
    /// Pods that a Job may adopt.
    held: Held,
    metrics: Metrics,
    watchdog: Watchdog,
    /// The namespaces that must wait, because their Jobs take long to be judged.
    rests: Rests,
    /// The verdicts on Jobs that a limit has excluded since the last look, by UID.
    given_up: Vec<(String, News)>,
    /// The newest time of a record, in microseconds since 1970.
    newest: i64,
    /// The place that was stored last.
    stored: Option<Position>,
    /// The news that were returned, and may not be reported yet.
    returned: Returned,
}

/// News that the caller has, and may not have reported yet.
#[derive(Debug, Default)]
struct Returned {
    /// Findings: the Job, the requirement, and the line.
    findings: Vec<(String, String, u64)>,
    /// The Jobs that have their last verdicts.
    verdicts: Vec<String>,
    /// True if these are the last news of a complete log.
    is_end: bool,
}

impl Service {
    /// Opens the folder. Jobs that lived when it was used last are known again.
    ///
    /// # Errors
    ///
    /// The folder cannot be used.
    pub fn open(settings: Settings) -> Result<Service, Error> {
        let spool = Spool::open(&settings.folder)?;
        let held = Held::open(&settings.folder, settings.limits.of_pods())?;
        let mut jobs = Jobs::default();
        spool.concluded()?.iter().for_each(|uid| jobs.concluded.add(uid));
        let dropped = spool.dropped()?;
        for uid in spool.jobs()? {
            learn_again(&mut jobs, &spool, &uid)?;
        }
        let watchdog = Watchdog::new(settings.limits.clone(), Arc::clone(&settings.judging.stop));
        let metrics = Metrics::new();
        let newest = jobs.all.values().map(|job| job.last).max().unwrap_or(0);
        let (rests, given_up, stored, returned) = (Rests::default(), Vec::new(), None, Returned::default());
        let mut service = Service {
            settings,
            jobs,
            spool,
            held,
            metrics,
            watchdog,
            rests,
            given_up,
            newest,
            stored,
            returned,
        };
        for (uid, name, why) in dropped {
            service.jobs.concluded.add(&uid);
            service.report_dropped(uid, name, why);
        }
        for uid in service.spool.interrupted_twice()? {
            service.give_up(&uid, "the process has ended twice while it was judged".to_owned())?;
        }
        service.keep_limits()?;
        service.spool.keep_at_most(service.settings.limits.of_evidence())?;
        Ok(service)
    }

    /// The number of Jobs whose records are kept.
    #[must_use]
    pub fn living(&self) -> usize {
        self.jobs.all.len()
    }

    /// The place up to which the source was read, if it was stored.
    #[must_use]
    pub fn position(&self) -> Option<Position> {
        self.spool.position()?.parse().ok()
    }

    /// The numbers, as OpenMetrics.
    #[must_use]
    pub fn metrics(&self) -> String {
        self.metrics.living.set(i64::try_from(self.living()).unwrap_or(i64::MAX));
        self.metrics.last_record.set(self.newest / SECOND);
        self.metrics.text()
    }

    /// Judges the Jobs that are due. The time is that of the newest record, and the microseconds since it was read. The
    /// caller reports the news, and then calls [`Service::keep_reported`]. A restart before that returns them again.
    ///
    /// # Errors
    ///
    /// The folder cannot be used.
    pub fn look(&mut self, idle: i64) -> Result<Vec<News>, Error> {
        let now = self.newest.saturating_add(idle);
        let settle = self.settings.settle * SECOND;
        // Pods may name Jobs that do not exist. The garbage collector deletes them.
        let is_rumour = |job: &Job| !job.is_shown && now - job.last >= settle;
        let rumours = self.jobs.all.iter().filter(|(_, job)| is_rumour(job));
        for uid in rumours.map(|(uid, _)| uid.clone()).collect::<Vec<_>>() {
            self.start_anew(&uid)?;
        }
        let is_settled = |job: &Job| job.is_over && now - job.last >= settle + job.ttl * SECOND;
        let is_due = |job: &Job| job.is_new && now >= job.due;
        let due = self.jobs.all.iter().filter(|(_, job)| is_settled(job) || is_due(job));
        let due: Vec<(String, bool)> = due.map(|(uid, job)| (uid.clone(), is_settled(job))).collect();
        let (begun, mut news) = (Instant::now(), Vec::new());
        for (uid, is_last) in due {
            // Records come meanwhile.
            if begun.elapsed() > LONGEST_LOOK {
                break;
            }
            self.judge_in_turn(&uid, is_last, now, &mut news)?;
        }
        news.extend(self.take_given_up());
        Ok(news)
    }

    /// Judges every Job for the last time, such as at the end of a log. Another log may show the same Jobs again. The caller
    /// acts as after [`Service::look`].
    ///
    /// # Errors
    ///
    /// The folder cannot be used.
    pub fn conclude(&mut self) -> Result<Vec<News>, Error> {
        let mut news = Vec::new();
        for uid in self.jobs.all.keys().cloned().collect::<Vec<_>>() {
            self.judge(&uid, true, self.newest, &mut news)?;
        }
        news.extend(self.take_given_up());
        self.returned.is_end = true;
        Ok(news)
    }

    /// Returns the news that are known without a further judgement. The process ends, and another one continues.
    pub fn pause(&mut self) -> Vec<News> {
        self.take_given_up()
    }

    /// Notes that the caller has reported all news that were returned, so that a restart does not report them again. Until
    /// then the folder keeps the records of their Jobs, and the place in the source.
    ///
    /// # Errors
    ///
    /// The folder cannot be used.
    pub fn keep_reported(&mut self) -> Result<(), Error> {
        let Returned { findings, verdicts, is_end } = std::mem::take(&mut self.returned);
        for (uid, requirement, line) in findings {
            if self.jobs.all.contains_key(&uid) {
                self.spool.note_reported(&uid, &requirement, line)?;
            }
        }
        for uid in verdicts {
            // Another log may show the Job again.
            if !is_end {
                self.spool.note_concluded(&uid)?;
            }
            self.spool.close(&uid)?;
        }
        if is_end { self.spool.forget_concluded() } else { Ok(()) }
    }

    /// Judges a Job, unless its namespace has to wait.
    fn judge_in_turn(
        &mut self,
        uid: &str,
        is_last: bool,
        now: i64,
        news: &mut Vec<News>,
    ) -> Result<(), Error> {
        let Some(namespace) = self.jobs.all.get(uid).map(|job| job.namespace.clone()) else { return Ok(()) };
        let begun = Instant::now();
        if self.rests.has(&namespace, begun) {
            return Ok(());
        }
        self.judge(uid, is_last, now, news)?;
        self.rests.note(namespace, begun, begun.elapsed());
        Ok(())
    }

    fn judge(&mut self, uid: &str, is_last: bool, now: i64, news: &mut Vec<News>) -> Result<(), Error> {
        self.spool.begin_judging(uid)?;
        let namespace = self.jobs.all.get(uid).map_or("", |job| &*job.namespace);
        self.settings.judging.logged = Some(self.jobs.logged.of(namespace));
        let (report, reached) = self.watchdog.guard(|| {
            let (input, judging) = (Input::Path(self.spool.file(uid)), &self.settings.judging);
            let traces = group_until(vec![input], Grouping::Auto, &judging.stop, &mut |_, _| {});
            judge(&traces, judging, &mut |_, _| {})
        });
        self.spool.end_judging(uid)?;
        if reached == Some(Cut::End) {
            // It is judged again after a restart.
            return Ok(());
        }
        let Some(job) = self.jobs.all.get_mut(uid) else { return Ok(()) };
        (job.is_new, job.due) = (false, now + self.settings.every * SECOND);
        // The judge ends at such an event.
        let unreadable = report.errors.first().map(unreadable);
        let reached = reached.or(unreadable.map(Cut::Limit));
        let of_it = report.jobs.into_iter().find(|it| it.uid == uid);
        if let Some(report) = &of_it {
            self.returned.findings.extend(report_new(report, job, &self.metrics, news));
        }
        let violates = of_it.as_ref().is_some_and(|report| report.verdict == Outcome::Violates);
        match reached {
            // The rest of its records is not judged, now or later.
            Some(Cut::Limit(why)) if !violates => self.give_up(uid, why),
            Some(_) => self.conclude_job(uid, of_it, now, news),
            None if is_last => self.conclude_job(uid, of_it, now, news),
            None => Ok(()),
        }
    }

    fn mark_gap(&mut self, reason: &str) -> Result<(), Error> {
        self.metrics.gaps.inc();
        for uid in self.jobs.all.keys().cloned().collect::<Vec<_>>() {
            let bytes = gap_of(&self.spool, &uid, reason.to_owned())?;
            self.jobs.grow(&uid, bytes);
        }
        self.keep_limits()
    }
}

/// The reason why a Job with this event is inconclusive. The place is that of a file that is deleted.
fn unreadable(error: &InputError) -> String {
    let part = |word: &str, text: &Option<String>| {
        text.as_ref().map(|text| format!(", {word} {text}")).unwrap_or_default()
    };
    let (expected, found) = (part("expected", &error.expected), part("found", &error.found));
    format!("an event cannot be read: {}{expected}{found}", error.message)
}

/// Learns a Job again from its file. Its verdict was not reported, even if a crash came just before that.
fn learn_again(jobs: &mut Jobs, spool: &Spool, uid: &str) -> Result<(), Error> {
    let size = spool.repair(uid)?;
    jobs.concluded.remove(uid);
    let mut reader = Reader::open(&[Input::Path(spool.file(uid))]);
    while let Ok(Some(record)) = reader.next() {
        jobs.learn(uid, &record.body);
    }
    jobs.grow(uid, size);
    let Some(job) = jobs.all.get_mut(uid) else { return spool.close(uid) };
    job.reported = spool.reported(uid)?.into_iter().collect();
    Ok(())
}

/// Marks a gap in the records of one Job. Returns the size of the mark.
fn gap_of(spool: &Spool, uid: &str, reason: String) -> Result<u64, Error> {
    let kind = MarkKind::Gap { resource: None, reason, gone: Vec::new() };
    spool.append(uid, &Body::Mark(&Mark { at: None, kind }))
}

/// Adds the violations that were not reported before to the news. Returns the Job, the requirement, and the line of each.
fn report_new(
    report: &JobReport,
    job: &mut Job,
    metrics: &Metrics,
    news: &mut Vec<News>,
) -> Vec<(String, String, u64)> {
    let mut new = Vec::new();
    for finding in &report.violations {
        let id = finding.requirement.map_or("", |id| id.0.id());
        let line = finding.place.line.unwrap_or(0);
        if job.reported.insert((id.to_owned(), line)) {
            metrics.violated(id, finding.known.map(|known| known.0.id()));
            let (job, uid) = (report.job.clone(), report.uid.clone());
            new.push((uid.clone(), id.to_owned(), line));
            news.push(News::Finding { job, uid, finding: Box::new(finding.clone()) });
        }
    }
    new
}

fn stored(error: Error) -> jobcheck_record::Error {
    jobcheck_record::Error::Sink(error.to_string())
}

impl Sink for Service {
    fn write(&mut self, body: &Body<'_>) -> Result<(), jobcheck_record::Error> {
        self.take(body).map_err(stored)
    }

    fn gap(&mut self, reason: String) -> Result<(), jobcheck_record::Error> {
        self.mark_gap(&reason).map_err(stored)
    }

    fn read_up_to(&mut self, position: &Position) -> Result<(), jobcheck_record::Error> {
        // If a verdict is lost in a crash, its Job is known again. The records that follow are then read again, too.
        if self.stored.as_ref() == Some(position) || !self.returned.verdicts.is_empty() {
            return Ok(());
        }
        self.spool.store_position(&position.to_string()).map_err(stored)?;
        self.stored = Some(position.clone());
        Ok(())
    }
}
