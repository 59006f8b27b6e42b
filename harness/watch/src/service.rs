//! The service: records go to the files of their Jobs, and Jobs are judged when they are due.

use std::path::{Path, PathBuf};

use jobcheck_judge::replay::{Grouping, Judging, group, judge};
use jobcheck_judge::report::JobReport;
use jobcheck_judge::validate::Outcome;
use jobcheck_record::{Position, Sink};
use jobcheck_traces::{Body, Input, Mark, MarkKind, Reader};

use crate::error::Error;
use crate::jobs::{Job, Jobs};
use crate::metrics::Metrics;
use crate::news::News;
use crate::spool::Spool;

const SECOND: i64 = 1_000_000;

/// The settings of the service.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The folder with its files.
    pub folder: PathBuf,
    /// Seconds for which a Job must be finished or gone before it is judged for the last time.
    pub settle: i64,
    /// Seconds between two judgements of a Job that lives and changes.
    pub every: i64,
    /// The most Jobs whose records are kept. Then the Job with the oldest last record is dropped.
    pub most_jobs: usize,
    /// The most bytes of records of one Job. Then it is dropped.
    pub most_bytes: u64,
    /// The most files of Jobs that violate.
    pub kept: usize,
    /// The options of the judge.
    pub judging: Judging,
}

impl Settings {
    /// The default settings, with this folder.
    #[must_use]
    pub fn at(folder: &Path) -> Settings {
        Settings {
            folder: folder.to_owned(),
            settle: 60,
            every: 60,
            most_jobs: 50_000,
            most_bytes: 256 << 20,
            kept: 1_000,
            judging: Judging::default(),
        }
    }
}

/// Judges the Jobs of a cluster from its audit events.
pub struct Service {
    settings: Settings,
    jobs: Jobs,
    spool: Spool,
    metrics: Metrics,
    /// Jobs that a limit has excluded since the last look.
    given_up: Vec<News>,
    /// The newest time of a record, in microseconds since 1970.
    newest: i64,
    /// The place that was stored last.
    stored: Option<Position>,
}

impl Service {
    /// Opens the folder. Jobs that lived when it was used last are known again.
    ///
    /// # Errors
    ///
    /// The folder cannot be used.
    pub fn open(settings: Settings) -> Result<Service, Error> {
        let spool = Spool::open(&settings.folder)?;
        let mut jobs = Jobs::default();
        for uid in spool.jobs()? {
            let size = spool.repair(&uid)?;
            let mut reader = Reader::open(&[Input::Path(spool.file(&uid))]);
            while let Ok(Some(record)) = reader.next() {
                jobs.learn(&uid, &record.body);
            }
            match jobs.all.get_mut(&uid) {
                Some(job) => job.bytes = size,
                None => drop(spool.close(&uid, false)?),
            }
        }
        let metrics = Metrics::new();
        let newest = jobs.all.values().map(|job| job.last).max().unwrap_or(0);
        Ok(Service { settings, jobs, spool, metrics, given_up: Vec::new(), newest, stored: None })
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

    /// Judges the Jobs that are due. The time is that of the newest record, and the microseconds since it was read.
    ///
    /// # Errors
    ///
    /// The folder cannot be used.
    pub fn look(&mut self, idle: i64) -> Result<Vec<News>, Error> {
        let now = self.newest.saturating_add(idle);
        let settle = self.settings.settle * SECOND;
        let is_settled = |job: &Job| job.is_over && now - job.last >= settle + job.ttl * SECOND;
        let is_due = |job: &Job| job.is_new && now >= job.due;
        let due = self.jobs.all.iter().filter(|(_, job)| is_settled(job) || is_due(job));
        let due: Vec<(String, bool)> = due.map(|(uid, job)| (uid.clone(), is_settled(job))).collect();
        let mut news = std::mem::take(&mut self.given_up);
        for (uid, is_last) in due {
            self.judge(&uid, is_last, now, &mut news)?;
        }
        Ok(news)
    }

    /// Judges every Job for the last time, such as at the end of a log.
    ///
    /// # Errors
    ///
    /// The folder cannot be used.
    pub fn conclude(&mut self) -> Result<Vec<News>, Error> {
        let mut news = std::mem::take(&mut self.given_up);
        for uid in self.jobs.all.keys().cloned().collect::<Vec<_>>() {
            self.judge(&uid, true, self.newest, &mut news)?;
        }
        Ok(news)
    }

    fn judge(&mut self, uid: &str, is_last: bool, now: i64, news: &mut Vec<News>) -> Result<(), Error> {
        let traces = group(vec![Input::Path(self.spool.file(uid))], Grouping::Auto, &mut |_, _| {});
        let report = judge(&traces, &self.settings.judging, &mut |_, _| {});
        let Some(job) = self.jobs.all.get_mut(uid) else { return Ok(()) };
        (job.is_new, job.due) = (false, now + self.settings.every * SECOND);
        let of_it = report.jobs.into_iter().find(|it| it.uid == uid);
        if let Some(report) = &of_it {
            report_new(report, job, uid, &self.metrics, news);
        }
        if is_last { self.conclude_job(uid, of_it, news) } else { Ok(()) }
    }

    fn conclude_job(
        &mut self,
        uid: &str,
        report: Option<JobReport>,
        news: &mut Vec<News>,
    ) -> Result<(), Error> {
        let Some(job) = self.jobs.forget(uid) else { return Ok(()) };
        // Pods without any record of their Job, and Jobs of other managers, have nothing to judge.
        let verdict = report.as_ref().map_or(Outcome::Inconclusive, |report| report.verdict);
        let trace = self.spool.close(uid, verdict == Outcome::Violates)?;
        if trace.is_some() {
            self.spool.keep_at_most(self.settings.kept)?;
        }
        self.metrics.judged(verdict);
        let (judged_writes, doubts) =
            report.map_or((0, Vec::new()), |report| (report.judged_writes, report.doubts));
        news.push(News::Verdict {
            job: job.name,
            uid: uid.to_owned(),
            verdict,
            judged_writes,
            doubts,
            trace,
        });
        Ok(())
    }

    /// Forgets a Job that exceeds a limit. Its verdict is inconclusive.
    fn give_up(&mut self, uid: &str, why: String) -> Result<(), Error> {
        let Some(job) = self.jobs.forget(uid) else { return Ok(()) };
        self.spool.close(uid, false)?;
        self.metrics.given_up.inc();
        self.metrics.judged(Outcome::Inconclusive);
        let (verdict, judged_writes, doubts, trace) = (Outcome::Inconclusive, 0, vec![why], None);
        let (job, uid) = (job.name, uid.to_owned());
        self.given_up.push(News::Verdict { job, uid, verdict, judged_writes, doubts, trace });
        Ok(())
    }

    fn take(&mut self, body: &Body<'_>) -> Result<(), Error> {
        let Body::Request(request) = body else { return Ok(()) };
        self.metrics.records.inc();
        let Some(uid) = self.jobs.of(request) else {
            self.metrics.unclaimed.inc();
            return Ok(());
        };
        self.newest = self.newest.max(request.interval.done);
        if self.jobs.is_concluded(&uid) {
            self.metrics.late.inc();
            return Ok(());
        }
        let bytes = self.spool.append(&uid, body)?;
        let job = self.jobs.note(&uid, request, bytes);
        if job.due == 0 {
            job.due = request.interval.done + self.settings.every * SECOND;
        }
        if job.bytes > self.settings.most_bytes {
            let why = format!("its records have more than {} bytes", self.settings.most_bytes);
            self.give_up(&uid, why)?;
        }
        if self.jobs.all.len() > self.settings.most_jobs {
            let oldest = self.jobs.all.iter().min_by_key(|(_, job)| job.last).map(|(uid, _)| uid.clone());
            let why = format!("more than {} Jobs lived at the same time", self.settings.most_jobs);
            oldest.map_or(Ok(()), |uid| self.give_up(&uid, why))?;
        }
        Ok(())
    }

    fn mark_gap(&mut self, reason: String) -> Result<(), Error> {
        self.metrics.gaps.inc();
        let mark = Mark { at: None, kind: MarkKind::Gap { resource: None, reason, gone: Vec::new() } };
        let jobs = &mut self.jobs.all;
        jobs.iter_mut().try_for_each(|(uid, job)| {
            job.bytes += self.spool.append(uid, &Body::Mark(&mark))?;
            job.is_new = true;
            Ok(())
        })
    }
}

/// Reports the violations that were not reported before.
fn report_new(report: &JobReport, job: &mut Job, uid: &str, metrics: &Metrics, news: &mut Vec<News>) {
    for finding in &report.violations {
        let id = finding.requirement.map_or("", |id| id.0.id());
        let line = finding.place.line.unwrap_or(0);
        if job.reported.insert((id.to_owned(), line)) {
            metrics.violated(id, finding.known.map(|known| known.0.id()));
            let (job, uid) = (report.job.clone(), uid.to_owned());
            news.push(News::Finding { job, uid, finding: Box::new(finding.clone()) });
        }
    }
}

fn stored(error: Error) -> jobcheck_record::Error {
    jobcheck_record::Error::Sink(error.to_string())
}

impl Sink for Service {
    fn write(&mut self, body: &Body<'_>) -> Result<(), jobcheck_record::Error> {
        self.take(body).map_err(stored)
    }

    fn gap(&mut self, reason: String) -> Result<(), jobcheck_record::Error> {
        self.mark_gap(reason).map_err(stored)
    }

    fn read_up_to(&mut self, position: &Position) -> Result<(), jobcheck_record::Error> {
        if self.stored.as_ref() == Some(position) {
            return Ok(());
        }
        self.spool.store_position(&position.to_string()).map_err(stored)?;
        self.stored = Some(*position);
        Ok(())
    }
}
