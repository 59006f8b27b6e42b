//! The last verdict on a Job.

use jobcheck_judge::report::JobReport;
use jobcheck_judge::validate::Outcome;
use jobcheck_traces::parse_micros;

use super::{SECOND, Service};
use crate::error::Error;
use crate::jobs::Job;
use crate::news::News;

impl Service {
    pub(super) fn conclude_job(
        &mut self,
        uid: &str,
        report: Option<JobReport>,
        now: i64,
        news: &mut Vec<News>,
    ) -> Result<(), Error> {
        let Some(job) = self.jobs.forget(uid) else { return Ok(()) };
        // Pods without any record of their Job, and Jobs of other managers, have nothing to judge.
        let mut verdict = report.as_ref().map_or(Outcome::Inconclusive, |report| report.verdict);
        let open = now.saturating_sub(self.settings.settle * SECOND);
        let reasons = report.as_ref().map_or_else(Vec::new, |report| reservations(&job, report, open));
        let (judged_writes, mut doubts) =
            report.map_or((0, Vec::new()), |report| (report.judged_writes, report.doubts));
        if verdict == Outcome::Conforms && !reasons.is_empty() {
            verdict = Outcome::Inconclusive;
            doubts.extend(reasons);
        }
        let trace = Some(uid).filter(|_| verdict == Outcome::Violates);
        let trace = trace.map(|uid| self.spool.keep(uid)).transpose()?;
        if trace.is_some() {
            self.spool.keep_at_most(self.settings.limits.of_evidence())?;
        }
        self.metrics.judged(verdict);
        let (job, uid) = (job.name, uid.to_owned());
        self.returned.verdicts.push(uid.clone());
        news.push(News::Verdict { job, uid, verdict, judged_writes, doubts, trace });
        Ok(())
    }

    /// Forgets a Job that exceeds a limit. Its verdict is inconclusive. A Job that only its pods name may not exist, and gets
    /// no verdict.
    pub(super) fn give_up(&mut self, uid: &str, why: String) -> Result<(), Error> {
        if self.jobs.all.get(uid).is_some_and(|job| !job.is_shown) {
            self.metrics.given_up.inc();
            return self.start_anew(uid);
        }
        let Some(job) = self.jobs.forget(uid) else { return Ok(()) };
        self.spool.drop_records(uid, &job.name, &why)?;
        self.report_dropped(uid.to_owned(), job.name, why);
        Ok(())
    }

    /// Removes what is known of a Job, as if it had never been seen.
    pub(super) fn start_anew(&mut self, uid: &str) -> Result<(), Error> {
        self.jobs.remove(uid);
        self.spool.close(uid)
    }

    /// Adds the verdict on a Job that has exceeded a limit to the next news.
    pub(super) fn report_dropped(&mut self, uid: String, job: String, why: String) {
        self.metrics.given_up.inc();
        self.metrics.judged(Outcome::Inconclusive);
        let (verdict, judged_writes, doubts, trace) = (Outcome::Inconclusive, 0, vec![why], None);
        let news = News::Verdict { job, uid: uid.clone(), verdict, judged_writes, doubts, trace };
        self.given_up.push((uid, news));
    }

    /// Returns the verdicts on the Jobs that have exceeded a limit since the last news.
    pub(super) fn take_given_up(&mut self) -> Vec<News> {
        let (uids, news): (Vec<_>, Vec<_>) = std::mem::take(&mut self.given_up).into_iter().unzip();
        self.returned.verdicts.extend(uids);
        news
    }
}

/// The reasons for which a Job is not known to conform, although its records break no rule. `open` is the time since which
/// work must be open to count.
fn reservations(job: &Job, report: &JobReport, open: i64) -> Vec<String> {
    let mut reasons = Vec::new();
    if !job.is_whole {
        reasons.push("in part: the audit events do not show the creation of the Job".to_owned());
    }
    for work in &report.pending {
        let since = work.since.as_deref().and_then(parse_micros);
        if since.is_none_or(|since| since <= open) {
            let (id, what) = (work.requirement.0.id(), &work.what);
            reasons
                .push(format!("work is open at the end of its records ({id}): {what}; judge the whole log"));
        }
    }
    reasons
}
