//! Records as they come: each goes to the files of its Jobs.

use jobcheck_traces::{Body, Input, Object, Reader, Request, Resource, Verb};

use super::{SECOND, Service, gap_of};
use crate::error::Error;
use crate::jobs::{Claim, is_of_another};
use crate::shares::Excess;

impl Service {
    pub(super) fn take(&mut self, body: &Body<'_>) -> Result<(), Error> {
        let Body::Request(request) = body else { return Ok(()) };
        self.metrics.records.inc();
        self.newest = self.newest.max(request.interval.done);
        self.jobs.logged.note(request);
        if request.verb == Verb::DeleteCollection {
            return self.take_collection(request);
        }
        let claim = self.jobs.of(request);
        if claim.jobs.is_empty() {
            self.metrics.unclaimed.inc();
        }
        claim.jobs.iter().try_for_each(|uid| self.add(uid, request, &claim))?;
        match request.uid.filter(|_| claim.is_ownerless) {
            Some(pod) if request.verb == Verb::Delete => self.held.forget(pod),
            Some(pod) => self.held.hold(pod, request.namespace, body),
            None => Ok(()),
        }
    }

    /// The deletion of a collection names no object. Each Job gets its own part.
    fn take_collection(&mut self, request: &Request<'_>) -> Result<(), Error> {
        let accepted = Some(request).filter(|it| it.is_accepted() && !it.dry_run);
        let parts = accepted.map(|request| self.jobs.of_collection(request)).unwrap_or_default();
        if parts.is_empty() {
            self.metrics.unclaimed.inc();
        }
        for (uid, part) in parts {
            let response = match &part {
                Some(list) => Object::new(list).ok(),
                None => request.response,
            };
            self.add(&uid, &Request { response, ..*request }, &Claim::default())?;
        }
        Ok(())
    }

    fn add(&mut self, uid: &str, request: &Request<'_>, claim: &Claim) -> Result<(), Error> {
        if self.jobs.is_concluded(uid) {
            self.metrics.late.inc();
            return Ok(());
        }
        if self.jobs.is_misnamed(uid, request) {
            self.start_anew(uid)?;
        }
        let mut bytes = self.inherit(uid, request)?;
        if claim.new_owner.as_deref() == Some(uid) {
            bytes += self.bring(uid, request, claim.adopts)?;
        }
        bytes += self.spool.append(uid, &Body::Request(*request))?;
        let job = self.jobs.note(uid, request, bytes);
        if job.due == 0 {
            job.due = request.interval.done + self.settings.every * SECOND;
        }
        if job.bytes > self.settings.limits.job_bytes {
            let why = format!("its records have more than {} bytes", self.settings.limits.job_bytes);
            self.give_up(uid, why)?;
        }
        self.keep_limits()
    }

    /// Drops Jobs until all together are within the limits.
    pub(super) fn keep_limits(&mut self) -> Result<(), Error> {
        let most = self.settings.limits.of_jobs();
        while let Some((uid, excess)) = self.jobs.surplus(most) {
            let why = match excess {
                Excess::Count => format!("more than {} Jobs lived at the same time", most.count),
                Excess::Bytes => format!("the records of all Jobs have more than {} bytes", most.bytes),
            };
            self.give_up(&uid, why)?;
        }
        Ok(())
    }

    /// Copies the records of the Job that had the name of a new one, if it is still known. Rules about both need them.
    fn inherit(&mut self, uid: &str, request: &Request<'_>) -> Result<u64, Error> {
        let Some(former) = self.jobs.former(uid, request) else { return Ok(0) };
        let mut reader = Reader::open(&[Input::Path(self.spool.file(&former))]);
        let (mut bytes, mut is_its_own) = (0, false);
        while let Ok(Some(record)) = reader.next() {
            // The file may begin with records of a Job before it.
            is_its_own |= matches!(&record.body, Body::Request(it) if begins(&former, it));
            if is_its_own {
                bytes += self.spool.append(uid, &record.body)?;
            }
        }
        Ok(bytes)
    }

    /// Copies the last record of a pod that a Job adopts. Without it, the adoption cannot be judged.
    fn bring(&mut self, uid: &str, request: &Request<'_>, adopts: bool) -> Result<u64, Error> {
        let record = request.uid.map(|pod| self.held.take(pod)).transpose()?.flatten();
        let mut reader = Reader::open(&[Input::Bytes("pod".to_owned(), record.unwrap_or_default())]);
        let mut bytes = 0;
        while let Ok(Some(record)) = reader.next() {
            bytes += self.spool.append(uid, &record.body)?;
        }
        if bytes > 0 || !adopts {
            return Ok(bytes);
        }
        let pod = format!("{}/{}", request.namespace, request.name);
        gap_of(&self.spool, uid, format!("no record shows pod {pod} before the Job adopted it"))
    }
}

/// Returns true if the records of a Job can begin with this one.
fn begins(job: &str, request: &Request<'_>) -> bool {
    request.uid.is_some() && request.resource == Resource::Jobs && !is_of_another(job, request)
}
