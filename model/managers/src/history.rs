//! The past of a Job, as far as the guards and the invariants ask for it. The manager does not see it.

use std::collections::BTreeSet;

use jobcheck_spec::catalogue::{CATALOGUE, Req};
use jobcheck_spec::guards::copies::{
    Copy as CopyOf, Foreign, Grants, Local as LocalOf, Micros, judge_copies,
};
use jobcheck_spec::guards::mirror::Past;
use jobcheck_spec::guards::work::Work;
use jobcheck_spec::job::JobStatus;
use jobcheck_spec::requirement::Findings;

use crate::flat::{Flat, times_of};
use crate::scope::Scope;
use crate::world::World;

/// The most copies of one Job that are remembered.
pub const COPIES: usize = 4;

/// The history of the current local Job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct History {
    /// The first broken requirement.
    pub broken: Option<u16>,
    /// The pods that its copies have counted as succeeded.
    pub succeeded: u8,
    /// The pods that its copies have counted as failed.
    pub failed: u8,
    /// The pods that were created for it.
    pub pods: u8,
    /// The times in the last status of the previous Job.
    pub former: u32,
    /// `startTime` and `completionTime` of copies of other Jobs with this name.
    pub foreign: u32,
    /// `startTime` and `completionTime` of its own copies.
    pub own: u32,
    /// It has been suspended since its creation.
    pub never_ran: bool,
    /// The idle status writes in a row.
    pub idle: u8,
    /// Status writes that were refused since the last accepted one, the last redispatch and the last change of suspend.
    pub refused: u8,
    /// The user has changed `spec.suspend`.
    pub suspend_changed: bool,
    /// The manager has deleted a Job of somebody else.
    pub deletes_foreign: bool,
    /// The local Job has had an end.
    pub ended: bool,
    /// Its last status, once it is gone.
    pub last: Option<Flat>,
    /// Its copies, in the order of their creation.
    pub copies: [Option<Record>; COPIES],
}

/// A copy, alive or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Record {
    /// Its worker.
    pub worker: u8,
    /// The number of copies that existed at its end.
    pub ended: Option<u8>,
    /// Its last status, once it is gone.
    pub gone: Option<Flat>,
    /// Its TTL controller has deleted it.
    pub expires: bool,
    /// Its TTL has removed it. True if that was before the end of the local Job.
    pub expired: Option<bool>,
}

impl History {
    /// The history of the next Job with this name.
    #[must_use]
    pub fn of_the_next(&self) -> History {
        History {
            broken: self.broken,
            former: self.last.map_or(0, |last| last.all_times()),
            foreign: self.foreign | self.own,
            ..History::default()
        }
    }

    /// The past that guards of single writes ask for.
    #[must_use]
    pub fn past(&self, scope: &Scope) -> Past {
        Past {
            former: times_of(self.former),
            never_ran: self.never_ran,
            parallelism: u32::from(scope.size.1),
            own_types: BTreeSet::new(),
            counted: BTreeSet::new(),
            completions: None,
            idle: u32::from(self.idle),
        }
    }

    /// Notes the first finding that the scope asks for.
    pub fn note(&mut self, findings: &Findings, scope: &Scope) {
        if self.broken.is_none() {
            let found = findings.broken.iter().find(|broken| scope.asks(broken.req));
            self.broken = found.map(|broken| broken.req as u16);
        }
    }

    /// The first broken requirement.
    #[must_use]
    pub fn broken_requirement(&self) -> Option<Req> {
        self.broken.map(|number| CATALOGUE[usize::from(number)].req)
    }

    /// The number of copies so far.
    #[must_use]
    pub fn count(&self) -> usize {
        self.copies.iter().flatten().count()
    }

    /// Notes a new copy.
    pub fn created(&mut self, worker: usize) {
        let place = self.count().min(COPIES - 1);
        let worker = u8::try_from(worker).unwrap_or(u8::MAX);
        self.copies[place] = Some(Record { worker, ended: None, gone: None, expires: false, expired: None });
        self.refused = 0;
    }

    /// Changes the record of the copy that is on this worker.
    pub fn change(&mut self, worker: usize, change: impl FnOnce(&mut Record, u8)) {
        let count = u8::try_from(self.count()).unwrap_or(u8::MAX);
        let here = |record: &&mut Record| usize::from(record.worker) == worker && record.gone.is_none();
        if let Some(record) = self.copies.iter_mut().flatten().find(here) {
            change(record, count);
        }
    }
}

/// The parts of a last status that guards still ask for.
#[must_use]
pub fn remains(status: &Flat) -> Flat {
    let conditions = status.conditions.map(|(is, time)| (is, time.min(1)));
    Flat { succeeded: status.succeeded, failed: status.failed, conditions, ..Flat::default() }
}

/// The order of events, in seconds. The guard compares times of two clusters; the model has one clock and no skew.
const SECOND: Micros = 1_000_000;
const LATE: Micros = 1000 * SECOND;

/// Judges the local Job beside its copies (MR-20 to MR-27). At quiescence, a difference or a missing end counts as late.
pub fn judge_two_clusters(world: &World, scope: &Scope, at_quiescence: bool, findings: &mut Findings) {
    let history = &world.history;
    let order = |number: usize| Micros::try_from(number).unwrap_or(0) * 10 * SECOND;
    let records: Vec<Record> = history.copies.iter().flatten().copied().collect();
    let statuses: Vec<(JobStatus, bool)> = records
        .iter()
        .map(|record| match record.gone {
            Some(last) => (last.status(), false),
            None => world.workers[usize::from(record.worker)]
                .copy
                .filter(|copy| copy.of == Some(world.incarnation))
                .map_or_else(Default::default, |copy| (copy.status.status(), copy.suspended)),
        })
        .collect();
    let copies = records.iter().zip(&statuses).enumerate().map(|(number, (record, (status, suspended)))| {
        let arrived = LATE / 2;
        CopyOf {
            worker: usize::from(record.worker),
            created: order(number + 1),
            status,
            changed: 0,
            ended: record.ended.map(|count| order(usize::from(count)) + 5 * SECOND),
            gone: record.gone.map(|_| LATE / 2),
            removed: record.gone.map(|_| LATE / 2),
            left: record.gone.is_none().then_some(0),
            orphans_pods: false,
            expired: record.expired.map(|early| if early { arrived - SECOND } else { arrived + SECOND }),
            seen_until: if at_quiescence { LATE } else { 0 },
            is_suspended: *suspended,
            versions: Vec::new(),
            work: Work::default(),
            unknown: Vec::new(),
        }
    });
    let copies = copies.collect();
    let status = world.local.map(|local| local.status).or(history.last).unwrap_or_default().status();
    let refused = (0..history.refused).map(|_| LATE / 2).collect();
    let local = LocalOf {
        status: &status,
        changed: 0,
        ended: history.ended.then_some(LATE / 2),
        gone: world.local.is_none().then_some(LATE / 2),
        removed: world.local.is_none().then_some(LATE / 2),
        is_suspended: world.local.is_some_and(|local| local.suspended),
        suspend_changed: history.suspend_changed.then_some(0),
        has_ttl: scope.ttl,
        versions: Vec::new(),
        work: Work {
            stretches: at_quiescence.then_some((0, LATE)).into_iter().collect(),
            refusals: Vec::new(),
        },
        refused,
        copies,
        own_times: times_of(history.own),
        foreign: Foreign { times: times_of(history.foreign), is_deleted: history.deletes_foreign },
        unknown: Vec::new(),
    };
    judge_copies(&local, Grants { patience: SECOND, skew: 0 }, findings);
}
