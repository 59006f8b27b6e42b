//! Finds the copies of each Job: by the UID that a copy stores, or by name and order.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use jobcheck_spec::guards::copies::{Copy, Foreign, Local, Micros, Version, is_decided_alike};
use jobcheck_spec::guards::sums::{FailsWhen, Member, Stored, Sum};
use jobcheck_spec::guards::work::Work;
use jobcheck_spec::job::{BUILT_IN, ConditionKind, Job, JobStatus, Text};
use jobcheck_spec::{Findings, Req, Time};

use crate::report::JudgedTrace;
use crate::validate::{PATIENCE, Violation};

use super::claims::{Claims, has_name_of, may_be_copy, most};
use super::lives::{Life, Lives, Statuses};
use super::reasons::{AMBIGUOUS, HIDDEN, HOLE, LATE, MISSING, NO_COPY, NO_MANAGER, ON_THE_PAST, UNSEEN};

/// A Job of the manager with its copies.
#[derive(Debug)]
pub(super) struct Pair<'a> {
    pub(super) local: &'a Life,
    /// The requests of its manager, which all its Jobs share.
    work: Arc<[(Micros, Micros)]>,
    /// The cluster of the manager.
    manager: &'a Lives,
    /// Nobody has tried to write the status of a Job with its manager. An audit policy may leave those requests out.
    is_without_manager: bool,
    /// The workers whose traces have no request of an account that creates copies.
    unseen_on: Vec<usize>,
    /// The copies with their workers, in the order of their creation.
    pub(super) copies: Vec<(Worker<'a>, &'a Life)>,
    /// Jobs of workers with this name that are copies of no Job.
    strangers: Vec<&'a Life>,
    /// The copies of other Jobs with this name.
    foreign: Vec<&'a Life>,
    /// The reason why the traces do not show enough to compare them.
    pub(super) unknown: Option<&'static str>,
    /// A copy may be of another Job with this name.
    is_ambiguous: bool,
    /// The trace of a worker that the manager uses may begin after an earlier copy was removed.
    may_have_had_others: bool,
}

/// A part that the traces lack: whether they do, the reason, and the rules whose violations it excuses.
type Excuse = (bool, &'static str, fn(Req) -> bool);

/// A worker: its number and its Jobs.
type Worker<'a> = (usize, &'a Lives);

/// Facts about the managers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    /// Jobs without `spec.managedBy` have such a manager, too.
    pub(super) is_declared: bool,
    /// It sums up members. Its account may differ between their clusters.
    pub(super) is_aggregate: bool,
    /// The difference between clocks.
    pub(super) skew: Micros,
}

/// The Jobs of the manager that it does not execute itself, with their copies.
pub(super) fn find<'a>(manager: &'a Lives, workers: &'a [Lives], known: Known) -> Vec<Pair<'a>> {
    let Known { is_declared, skew, .. } = known;
    let managed_by = |life: &Life| life.last().and_then(|job| job.spec.managed_by.clone());
    let is_mirrored = |life: &&Life| managed_by(life).map_or(is_declared, |manager| &*manager != BUILT_IN);
    let locals: Vec<&Life> = manager.jobs.iter().filter(is_mirrored).collect();
    // A manager that has not written the status of a Job has written that of others.
    let mut writers: BTreeMap<Option<Text>, BTreeSet<&String>> = BTreeMap::new();
    for local in &locals {
        writers.entry(managed_by(local)).or_default().extend(&local.writers);
    }
    let work: BTreeMap<_, _> =
        writers.iter().map(|(by, users)| (by, manager.work_of(users.iter().copied()))).collect();
    let new = |local: &&'a Life| {
        let by = managed_by(local);
        Pair {
            local,
            is_without_manager: writers.get(&by).is_none_or(BTreeSet::is_empty),
            work: work.get(&by).cloned().unwrap_or_default(),
            manager,
            unseen_on: Vec::new(),
            copies: Vec::new(),
            strangers: Vec::new(),
            foreign: Vec::new(),
            unknown: manager.hides(local).then_some(HIDDEN),
            is_ambiguous: false,
            may_have_had_others: false,
        }
    };
    let mut pairs: Vec<Pair<'_>> = locals.iter().map(new).collect();
    let (first, last) = manager.span.unwrap_or_default();
    let span = (first.saturating_add(skew), last.saturating_add(skew));
    let owners = Owners::of(&locals, workers, span, known);
    for (at, worker) in workers.iter().enumerate() {
        for other in &worker.jobs {
            let owner = owners.owner(at, other);
            if owner.is_none()
                && let Some(position) = owners.owner_perhaps(at, other)
            {
                pairs[position].unknown = Some(AMBIGUOUS);
            }
            for (position, pair) in pairs.iter_mut().enumerate() {
                match owner {
                    Some(owner) if owner == position => pair.copies.push(((at, worker), other)),
                    Some(owner) if has_name_of(pair.local, locals[owner]) => pair.foreign.push(other),
                    // An earlier one may be the copy of a Job that the trace does not show.
                    None if has_name_of(pair.local, other) && other.created > span.0 => {
                        pair.strangers.push(other);
                    }
                    Some(_) | None => {}
                }
            }
        }
    }
    let unseen = owners.unseen_on(workers);
    for pair in &mut pairs {
        let since = pair.local.created + skew;
        let is_late = |(at, worker): (usize, &Lives)| !unseen.contains(&at) && worker.begins_after(since);
        pair.may_have_had_others = workers.iter().enumerate().any(is_late);
        pair.unseen_on.clone_from(&unseen);
        pair.copies.sort_by_key(|(_, copy)| copy.created);
        let mut concerned = pair.copies.iter().map(|(at, copy)| (at.1, *copy)).chain(
            // The creation of a copy may be hidden.
            workers.iter().map(|worker| (worker, pair.local)),
        );
        if concerned.any(|(worker, life)| worker.hides(life)) {
            pair.unknown = Some(HIDDEN);
        }
    }
    if !owners.stores_uids {
        find_ambiguous(&mut pairs, skew);
    }
    pairs
}

/// A Job without a copy may have one that seems to be of its successor: the clock of its worker may be ahead.
fn find_ambiguous(pairs: &mut [Pair<'_>], skew: Micros) {
    for former in 0..pairs.len() {
        if !pairs[former].copies.is_empty() {
            continue;
        }
        let created = pairs[former].local.created;
        let is_next = |at: &usize| {
            let other = pairs[*at].local;
            other.created > created && has_name_of(other, pairs[former].local)
        };
        let next = (0..pairs.len()).filter(is_next).min_by_key(|at| pairs[*at].local.created);
        let Some(next) = next else { continue };
        let begin = pairs[next].local.created;
        if pairs[next].copies.iter().any(|(_, copy)| copy.created.saturating_sub(skew) < begin) {
            pairs[former].is_ambiguous = true;
            pairs[next].is_ambiguous = true;
        }
    }
}

/// Finds the Job that a Job of a worker is a copy of.
struct Owners<'a> {
    locals: &'a [&'a Life],
    /// The manager stores UIDs, so that a name alone makes no copy.
    stores_uids: bool,
    /// The users who create copies on each worker.
    creators: Vec<Vec<&'a str>>,
    /// The time by which the clock of each worker is behind at least.
    behind: Vec<Micros>,
    /// The time by which clocks may differ.
    skew: Micros,
    /// The end of the trace of the manager. It says nothing about copies that were created later.
    until: Micros,
}

impl<'a> Owners<'a> {
    /// `since`: the time from which on the trace of the manager shows each Job that has a copy.
    fn of(
        locals: &'a [&'a Life],
        workers: &'a [Lives],
        (since, until): (Micros, Micros),
        known: Known,
    ) -> Owners<'a> {
        let claims = Claims::of(locals, workers, known.skew);
        let stores_uids = claims.store_uids();
        let mut owners = Owners {
            locals,
            stores_uids,
            creators: Vec::new(),
            behind: vec![0; workers.len()],
            skew: known.skew,
            until,
        };
        if stores_uids {
            owners.creators =
                (0..workers.len()).map(|at| claims.creators_on(at, known.is_aggregate)).collect();
            return owners;
        }
        owners.creators = owners.all_creators(workers, known);
        if owners.creators.iter().all(Vec::is_empty) {
            // Each copy may seem to be older than its Job.
            owners.behind = vec![known.skew; workers.len()];
            owners.creators = owners.all_creators(workers, known);
        }
        let behind = |at: usize| owners.behind(at, &workers[at], since, known.skew);
        owners.behind = (0..workers.len()).map(behind).collect();
        owners
    }

    /// The users who create copies on each worker. A manager that sums up may have an account for each.
    fn all_creators(&self, workers: &'a [Lives], known: Known) -> Vec<Vec<&'a str>> {
        let all = |at: usize| workers[at].jobs.iter().map(move |other| (at, other));
        match known.is_aggregate {
            true => (0..workers.len()).map(|at| self.creators_of(all(at))).collect(),
            false => vec![self.creators_of((0..workers.len()).flat_map(all)); workers.len()],
        }
    }

    /// The users who create most Jobs of the names of local Jobs. Somebody else may create some on a worker.
    fn creators_of(&self, others: impl Iterator<Item = (usize, &'a Life)>) -> Vec<&'a str> {
        most(others.filter(|(at, other)| self.by_name(*at, other).is_some()).map(|(_, other)| other))
    }

    /// The workers whose traces have no request of an account that creates copies.
    fn unseen_on(&self, workers: &[Lives]) -> Vec<usize> {
        let is_seen = |at: usize| self.creators[at].iter().any(|user| workers[at].shows(user));
        (0..workers.len()).filter(|at| !is_seen(*at)).collect()
    }

    /// The time by which copies of a worker seem to be older than their Jobs, as far as clocks may differ.
    fn behind(&self, at: usize, worker: &Lives, since: Micros, skew: Micros) -> Micros {
        let is_creators = |other: &&Life| {
            other.creator.as_deref().is_some_and(|creator| self.creators[at].contains(&creator))
        };
        let seen = worker.jobs.iter().filter(|other| other.created > since).filter(is_creators);
        let older = seen.filter_map(|other| {
            let named = self.locals.iter().filter(|local| has_name_of(local, other));
            named.map(|local| local.created - other.created).min()
        });
        older.filter(|by| (0..=skew).contains(by)).max().unwrap_or(0)
    }

    /// The position of the Job that a Job of a worker is a copy of.
    fn owner(&self, worker: usize, other: &Life) -> Option<usize> {
        let is_creators =
            other.creator.as_deref().is_none_or(|creator| self.creators[worker].contains(&creator));
        let found = match self.stores_uids {
            true => self.locals.iter().position(|local| other.stores.contains(&local.uid)),
            false => self.by_name(worker, other),
        };
        found.filter(|_| is_creators)
    }

    /// The same as far as clocks may differ. The trace of the manager may begin too late to show by how much they do.
    fn owner_perhaps(&self, worker: usize, other: &Life) -> Option<usize> {
        let is_creators = other.creator.as_deref().is_some_and(|it| self.creators[worker].contains(&it));
        let may_be_copy = is_creators && !self.stores_uids;
        may_be_copy.then(|| self.by_name_within(self.skew, other)).flatten()
    }

    /// The same by name and order.
    fn by_name(&self, worker: usize, other: &Life) -> Option<usize> {
        self.by_name_within(self.behind[worker], other)
    }

    fn by_name_within(&self, behind: Micros, other: &Life) -> Option<usize> {
        let may_be = |local: &Life| may_be_copy(local, other, behind) && other.created <= self.until;
        let all = (0..self.locals.len()).filter(|at| may_be(self.locals[*at]));
        all.max_by_key(|at| self.locals[*at].created)
    }
}

impl Pair<'_> {
    /// The facts that the guards compare.
    pub(super) fn facts(&self) -> Local<'_> {
        let local = self.local;
        let job = local.last();
        Local {
            status: status(local),
            changed: changed(local),
            ended: local.first(is_finished),
            gone: local.gone.as_ref().map(|(at, _)| *at),
            removed: local.removed,
            is_suspended: job.is_some_and(|job| job.spec.is_suspended()),
            suspend_changed: local.last_change(|job| job.spec.is_suspended()),
            has_ttl: job.is_some_and(|job| job.spec.ttl_seconds_after_finished.is_some()),
            versions: versions(local),
            work: self.work(),
            refused: local.refused.clone(),
            copies: self.copies.iter().map(|(worker, copy)| facts(*worker, copy)).collect(),
            own_times: self.copies.iter().flat_map(|(_, copy)| copy.times()).collect(),
            foreign: Foreign {
                times: self.foreign.iter().flat_map(|copy| copy.times()).collect(),
                is_deleted: self.strangers.iter().any(|stranger| self.is_deleted_by_creator(stranger)),
            },
            unknown: local.unsettled.spans(),
        }
    }

    /// The statuses of the copies that the traces show, at worst.
    pub(super) fn statuses(&self) -> Statuses {
        self.copies.iter().map(|((_, worker), copy)| worker.statuses(copy)).max().unwrap_or(Statuses::Shown)
    }

    /// Returns `true` if no write of the Job or of a copy is missing, as far as the traces show.
    pub(super) fn shows_all(&self, judged: &[JudgedTrace]) -> bool {
        !self.lacks_writes(judged) && !self.has_hole(judged)
    }

    fn lacks_writes(&self, judged: &[JudgedTrace]) -> bool {
        let is_doubtful = |cluster: usize, life: &Life| {
            judged.get(cluster).is_some_and(|trace| trace.summary.doubtful.contains(&life.uid))
        };
        let mut copies = self.copies.iter();
        is_doubtful(0, self.local) || copies.any(|((worker, _), copy)| is_doubtful(worker + 1, copy))
    }

    /// Returns `true` if a part of the log of a worker is lost, which concerns all its Jobs.
    fn has_hole(&self, judged: &[JudgedTrace]) -> bool {
        let has_hole = |worker: &usize| judged.get(worker + 1).is_some_and(|trace| trace.summary.has_hole);
        self.copies.iter().any(|((worker, _), _)| has_hole(worker))
    }

    /// Removes findings that do not show that the manager breaks the contract. Returns the reason.
    pub(super) fn excuse(&self, judged: &[JudgedTrace], findings: &mut Findings) -> Option<&'static str> {
        let (is_missing, has_hole) = (self.lacks_writes(judged), self.has_hole(judged));
        // An audit policy may leave out the account of the manager, and with it the deletions of copies.
        let is_hidden = self
            .copies
            .iter()
            .any(|((worker, _), copy)| copy.left().is_some() && self.unseen_on.contains(worker));
        let mut lives = self.copies.iter().map(|(_, copy)| *copy).chain([self.local]);
        let is_late = self.may_have_had_others || lives.any(|life| life.creator.is_none());
        let excuses: [Excuse; 5] = [
            (self.is_ambiguous, AMBIGUOUS, |_| true),
            // The end of a copy, and the creation of a later one, are shown.
            (is_missing, MISSING, |req| req != Req::MR22),
            (has_hole, HOLE, |req| req == Req::MR25),
            (is_hidden, UNSEEN, |req| req == Req::MR25),
            (is_late, LATE, |req| ON_THE_PAST.contains(&req)),
        ];
        let mut first = None;
        for (_, reason, is_excused) in excuses.into_iter().filter(|(holds, ..)| *holds) {
            let before = findings.broken.len();
            findings.broken.retain(|it| !is_excused(it.req));
            first = first.or((findings.broken.len() < before).then_some(reason));
        }
        first
    }

    /// Returns `true` if a violation on the manager's cluster alone is none beside the copy. The status is as far as that of the copy,
    /// or its times are those of its only copy.
    pub(super) fn is_as_in_the_copy(&self, violation: &Violation) -> bool {
        let is_open = violation.write == Violation::END;
        let copy = self.copies.iter().rev().map(|(_, copy)| *copy).find(|copy| copy.gone.is_none());
        match violation.req() {
            Req::MR04 => {
                let [(_, copy)] = &self.copies[..] else { return false };
                let own: Vec<Time> = copy.times();
                self.local.times().iter().all(|time| own.contains(time))
            }
            Req::MR08 if is_open => {
                copy.is_some_and(|copy| is_decided_alike(status(self.local), status(copy)))
            }
            // The suspension has passed on, and the worker has not acted yet. A queue there may keep the copy suspended.
            Req::MR13 if is_open => {
                copy.and_then(Life::last).zip(self.local.last()).is_some_and(|(copy, local)| {
                    let shown =
                        |job: &Job| (job.status.is_true(&ConditionKind::Suspended), job.status.active);
                    (copy.spec.is_suspended() || !local.spec.is_suspended()) && shown(copy) == shown(local)
                })
            }
            _ => false,
        }
    }

    /// The reason why nothing can be said about the manager: the traces show no copy, or no write of a status by it.
    pub(super) fn lacks_evidence(&self, is_aggregate: bool) -> Option<&'static str> {
        let end = self.manager.span.map_or(Micros::MIN, |(_, last)| last);
        let end = self.local.gone.as_ref().map_or(end, |(gone, _)| *gone);
        let has_started = |(_, copy): &(Worker<'_>, &Life)| {
            let started = copy.first(|job| job.status.start_time.is_some());
            started.is_some_and(|started| end.saturating_sub(started) >= PATIENCE)
        };
        let is_long_unknown = |(lives, life): (&Lives, &Life)| {
            let end = lives.span.map_or(life.created, |(_, last)| last);
            life.unsettled.spans().iter().any(|(since, until)| end.min(*until) - since >= PATIENCE)
        };
        let copies = self.copies.iter().map(|((_, worker), copy)| (*worker, *copy));
        if copies.chain([(self.manager, self.local)]).any(is_long_unknown) {
            return Some(MISSING);
        }
        if self.is_without_manager && self.copies.iter().any(has_started) {
            return Some(NO_MANAGER);
        }
        let here = status(self.local);
        let has_pods = [here.active, here.succeeded, here.failed].iter().any(|count| *count > 0);
        let claims = here.start_time.is_some() || here.is_finished() || has_pods;
        (self.copies.is_empty() && claims && !is_aggregate).then_some(NO_COPY)
    }

    /// The work of its manager. The refusals are those of its own requests.
    fn work(&self) -> Work {
        let here = self.local.hindered.iter().filter(|(user, _)| {
            let accepted = &self.manager.accepted;
            self.local.writers.contains(user) && (accepted.is_empty() || accepted.contains(user))
        });
        let there = self.copies.iter().flat_map(|(_, copy)| {
            copy.hindered.iter().filter(|(user, _)| copy.creator.as_ref() == Some(user))
        });
        let mut refusals: Vec<Micros> = here.chain(there).map(|(_, at)| *at).collect();
        refusals.sort_unstable();
        Work { stretches: self.work.clone(), refusals }
    }

    /// Returns `true` if the traces show a copy of this Job, or of another one with this name.
    pub(super) fn has_any_copy(&self) -> bool {
        !self.copies.is_empty() || !self.foreign.is_empty()
    }

    /// The facts that the guards about sums compare.
    pub(super) fn sum(&self, fails_when: FailsWhen) -> Sum<'_> {
        let local = self.local;
        Sum {
            statuses: statuses(local),
            gone: local.gone.as_ref().map(|(at, _)| *at),
            completions: local.last().and_then(|job| job.spec.completions),
            is_indexed: local.last().is_some_and(|job| job.spec.is_indexed()),
            work: self.work(),
            refused: &local.refused,
            members: self.copies.iter().map(|(worker, copy)| member(*worker, copy)).collect(),
            fails_when,
        }
    }

    /// Returns `true` if the creator of the copies has deleted this Job.
    fn is_deleted_by_creator(&self, stranger: &Life) -> bool {
        let creators = self.copies.iter().filter_map(|(_, copy)| copy.creator.as_ref());
        let deleter = stranger.gone.as_ref().and_then(|(_, user)| user.as_ref());
        creators.zip(deleter).any(|(creator, deleter)| creator == deleter)
    }
}

fn facts<'a>((worker, lives): Worker<'_>, copy: &'a Life) -> Copy<'a> {
    Copy {
        worker,
        created: copy.created,
        status: status(copy),
        changed: changed(copy),
        ended: copy.first(is_finished),
        gone: copy.gone.as_ref().map(|(at, _)| *at),
        removed: copy.removed,
        left: copy.left(),
        orphans_pods: copy.orphans_pods,
        expired: copy.removed.filter(|_| copy.has_expired),
        seen_until: lives.span.map_or(copy.created, |(_, last)| last),
        is_suspended: copy.last().is_some_and(|job| job.spec.is_suspended()),
        versions: versions(copy),
        work: Work { stretches: lives.work_of(copy.creator.iter()), refusals: Vec::new() },
        unknown: copy.unsettled.spans(),
    }
}

fn member<'a>((_, lives): Worker<'a>, copy: &'a Life) -> Member<'a> {
    Member {
        created: copy.created,
        statuses: statuses(copy),
        gone: copy.gone.as_ref().map(|(at, _)| *at),
        removed: copy.removed,
        seen_until: lives.span.map_or(copy.created, |(_, last)| last),
    }
}

fn versions(life: &Life) -> Vec<Version<'_>> {
    life.versions
        .iter()
        .map(|(_, at, job)| Version { at: *at, status: &job.status, spec: &job.spec })
        .collect()
}

fn statuses(life: &Life) -> Vec<Stored<'_>> {
    life.versions.iter().map(|(_, at, job)| Stored { at: *at, status: &job.status }).collect()
}

fn is_finished(job: &Job) -> bool {
    job.status.is_finished()
}

fn status(life: &Life) -> &JobStatus {
    static NOTHING: LazyLock<JobStatus> = LazyLock::new(JobStatus::default);
    life.last().map_or(&NOTHING, |job| &job.status)
}

fn changed(life: &Life) -> i64 {
    life.last_change(|job| job.status.clone()).unwrap_or(life.created)
}
