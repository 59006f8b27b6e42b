//! A state: the manager cluster, the workers, the manager as a process, and history that the manager does not see.
//!
//! # Time
//!
//! All clusters share one clock, which advances when a Job or a copy is created and when the user changes
//! `spec.suspend`. Between these events no rule compares times. A TTL may expire at any time after the end.
//!
//! # Caches
//!
//! A cache shows a version that the API server once had, and jumps to the newest one just before a decision reads it. A
//! delivery that no request follows changes nothing that anybody can see. Versions may be skipped, because watch events of
//! one object coalesce before a decision.

use std::sync::{Arc, OnceLock};

use jobcheck_spec::apiserver::{RuleSet, created};
use jobcheck_spec::job::{Job, JobSpec, JobStatus, Template};
use jobcheck_spec::time::Time;
use jobcheck_spec::uid::Uid;

use crate::executor::Shown;
use crate::flat::{Flat, Instant};
use crate::history::History;
use crate::protocol::{Base, CopyView, LocalView, Memory, WorkerView};
use crate::scope::{Budget, Scope};

/// The largest number of workers.
pub const WORKERS: usize = 2;

/// A state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    /// The clock.
    pub now: Instant,
    /// The Job on the manager cluster.
    pub local: Option<Local>,
    /// The number of the last local Job with this name, from 0.
    pub incarnation: u8,
    /// The workers.
    pub workers: [Worker; WORKERS],
    /// The manager.
    pub manager: Manager,
    /// The steps that may still happen.
    pub left: Budget,
    /// History that the manager does not see.
    pub history: History,
}

/// The local Job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Local {
    /// Its number among the Jobs of this name.
    pub incarnation: u8,
    /// Its creation.
    pub created: Instant,
    /// `spec.suspend`.
    pub suspended: bool,
    /// The worker that the dispatcher has chosen.
    pub assigned: Option<u8>,
    /// `status`.
    pub status: Flat,
}

/// A worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Worker {
    /// True if the manager cannot reach it.
    pub away: bool,
    /// The copy when it became unreachable.
    pub before: Option<Copied>,
    /// The Job of this name.
    pub copy: Option<Copied>,
}

/// The Job of this name on a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Copied {
    /// The local Job that it belongs to. `None` for a Job of somebody else.
    pub of: Option<u8>,
    /// The counts before its creation: succeeded and failed.
    pub base: (u8, u8),
    /// `spec.suspend`.
    pub suspended: bool,
    /// True if it is being deleted.
    pub deleting: bool,
    /// True if it has the finalizer of the manager.
    pub finalizer: bool,
    /// `status`.
    pub status: Flat,
    /// [`Shown::hidden`]. No part of the object; a cache has 0.
    pub hidden: i8,
}

/// The manager, as a process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Manager {
    /// The cache of the manager cluster; `None` if it is not filled yet.
    pub local: Option<Option<Local>>,
    /// The caches of the workers.
    pub copies: [Option<Option<Copied>>; WORKERS],
    /// For each worker, whether a creation is awaited ([`Memory`]).
    pub awaited: [bool; WORKERS],
}

impl Manager {
    /// A new process.
    pub const STARTED: Manager = Manager { local: None, copies: [None; WORKERS], awaited: [false; WORKERS] };
}

impl World {
    /// The first state: the user has just created the Job.
    #[must_use]
    pub fn initial(scope: &Scope) -> World {
        let mut world = World {
            now: 1,
            local: None,
            incarnation: 0,
            workers: [Worker::default(); WORKERS],
            manager: Manager::STARTED,
            left: scope.most,
            history: History::default(),
        };
        world.local = Some(Local::new(0, 1));
        world
    }

    /// The number of a new time.
    pub fn tick(&mut self) -> Instant {
        self.now += 1;
        self.now
    }

    /// Returns true if the local Job exists, and is this one.
    #[must_use]
    pub fn is_local(&self, of: Option<u8>) -> bool {
        of.is_some() && self.local.map(|local| local.incarnation) == of
    }

    /// The copies of the current or last local Job, with their workers.
    pub fn own_copies(&self) -> impl Iterator<Item = (usize, Copied)> + '_ {
        let copies = self.workers.iter().enumerate().filter_map(|(worker, it)| Some((worker, it.copy?)));
        copies.filter(|(_, copy)| copy.of == Some(self.incarnation))
    }

    /// The views and the memory of the manager.
    #[must_use]
    pub fn views(&self, scope: &Scope) -> (Option<Option<LocalView>>, Vec<WorkerView>, Memory) {
        let local = self.manager.local.map(|local| local.map(|local| local.view(scope)));
        let views = self.manager.copies[..scope.workers].iter().map(|it| match it {
            None => WorkerView::Unknown,
            Some(copy) => WorkerView::Known(copy.map(|copy| Box::new(copy.view()))),
        });
        let awaited = (0..scope.workers).filter(|worker| self.manager.awaited[*worker]).collect();
        (local, views.collect(), Memory { awaited })
    }
}

impl Local {
    /// A new Job.
    #[must_use]
    pub fn new(incarnation: u8, created: Instant) -> Local {
        Local { incarnation, created, suspended: false, assigned: None, status: Flat::default() }
    }

    /// The object.
    #[must_use]
    pub fn job(&self, scope: &Scope) -> Job {
        self.with_status(scope, self.status.status())
    }

    /// The object with another status.
    #[must_use]
    pub fn with_status(&self, scope: &Scope, status: JobStatus) -> Job {
        Job {
            uid: uid(self.incarnation),
            created: Time(i64::from(self.created)),
            spec: spec(scope, self.suspended),
            status,
            ..template().clone()
        }
    }

    fn view(&self, scope: &Scope) -> LocalView {
        LocalView { job: self.job(scope), assigned: self.assigned.map(usize::from) }
    }
}

impl Copied {
    /// The status, and the pods that it does not show.
    #[must_use]
    pub fn shown(&self) -> Shown {
        Shown { status: self.status, hidden: self.hidden }
    }

    /// The object, as a cache has it.
    #[must_use]
    pub fn object(self) -> Copied {
        Copied { hidden: 0, ..self }
    }

    fn view(&self) -> CopyView {
        CopyView {
            origin: self.of.map(uid),
            base: Base { succeeded: i32::from(self.base.0), failed: i32::from(self.base.1) },
            suspended: self.suspended,
            deleting: self.deleting,
            finalizer: self.finalizer,
            status: self.status.status(),
        }
    }
}

/// The UID of a local Job.
#[must_use]
pub fn uid(incarnation: u8) -> Uid {
    Uid(1 + u128::from(incarnation))
}

/// The specification of the local Job.
#[must_use]
pub fn spec(scope: &Scope, suspended: bool) -> Arc<JobSpec> {
    Arc::new(JobSpec {
        completions: Some(i32::from(scope.size.0)),
        parallelism: Some(i32::from(scope.size.1)),
        suspend: Some(suspended),
        ttl_seconds_after_finished: scope.ttl.then_some(0),
        ..(*template().spec).clone()
    })
}

/// A local Job as the API server stores it, from which all others are made.
fn template() -> &'static Job {
    static TEMPLATE: OnceLock<Job> = OnceLock::new();
    TEMPLATE.get_or_init(|| {
        let template = Template { container_names: vec!["main".into()], ..Template::default() };
        let spec = JobSpec {
            completions: Some(1),
            parallelism: Some(1),
            managed_by: Some("example.com/mirror".into()),
            template,
            ..JobSpec::default()
        };
        let sent = Job {
            uid: uid(0),
            name: "job".into(),
            namespace: "default".into(),
            generation: 0,
            created: Time(0),
            deleting: false,
            finalizers: Vec::new(),
            metadata: Arc::default(),
            probes_digest: 0,
            spec: Arc::new(spec),
            status: JobStatus::default(),
        };
        created(&RuleSet::V1_36, &sent)
    })
}
