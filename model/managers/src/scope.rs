//! Scopes: two clusters or three in which everything that could grow has a bound.

use std::sync::Arc;

use jobcheck_spec::apiserver::RuleSet;
use jobcheck_spec::catalogue::Req;

use crate::subject::{Mirror, Subject};

/// A bounded configuration of a manager cluster and its workers.
#[derive(Clone, Debug)]
pub struct Scope {
    /// The name in options and reports.
    pub name: &'static str,
    /// The description that a list shows.
    pub about: &'static str,
    /// The number of workers, at most [`WORKERS`](crate::world::WORKERS).
    pub workers: usize,
    /// `completions` and `parallelism` of the local Job.
    pub size: (u8, u8),
    /// The largest number of pods of a Job, over all of its copies.
    pub pods: u8,
    /// The largest number of steps of each kind that need not happen.
    pub most: Budget,
    /// True if finished Jobs expire on the manager cluster, and copies on the workers.
    pub ttl: bool,
    /// True if the cache of the manager cluster may lag behind the manager's own writes. Otherwise it takes the response.
    pub lags_own_writes: bool,
    /// The manager.
    pub subject: Subject,
    /// The decisions of a manager that is not the protocol; then only the name and the mutations of requests count.
    pub mirror: Option<Arc<dyn Mirror>>,
    /// The rules of the API server of the manager cluster.
    pub rules: RuleSet,
    /// True if a recommendation that is not followed counts as broken.
    pub advice: bool,
    /// The requirements that are checked; all of them if it is `None`.
    pub asked: Option<Vec<Req>>,
    /// True if progress is checked too.
    pub progress: bool,
}

/// The number of steps of users, dispatchers and faults that may still happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Budget {
    /// Changes of `spec.suspend` of the local Job.
    pub suspends: u8,
    /// Deletions of the local Job by the user.
    pub deletions: u8,
    /// Times that the user creates the local Job again under its name.
    pub recreations: u8,
    /// Times that the dispatcher takes the Job away from its worker.
    pub evictions: u8,
    /// Deletions of a copy by somebody on the worker.
    pub copy_deletions: u8,
    /// Creations of another Job with this name by somebody on a worker.
    pub strangers: u8,
    /// Disconnections of a worker.
    pub disconnections: u8,
    /// Crashes of the manager.
    pub crashes: u8,
    /// Conditions that another actor sets on the local Job.
    pub conditions: u8,
}

impl Budget {
    /// The kinds of steps that may happen, each with its number.
    pub(crate) fn bounds(&self) -> impl Iterator<Item = String> {
        let counts = [
            ("changes of suspend", self.suspends),
            ("deletions", self.deletions),
            ("recreations", self.recreations),
            ("evictions", self.evictions),
            ("deletions of a copy", self.copy_deletions),
            ("Jobs of somebody else", self.strangers),
            ("disconnections", self.disconnections),
            ("crashes", self.crashes),
            ("foreign conditions", self.conditions),
        ];
        counts.into_iter().filter(|(_, count)| *count > 0).map(|(what, count)| format!("{what} {count}"))
    }
}

impl Scope {
    /// The scope with another manager. Only the protocol itself has to follow recommendations.
    #[must_use]
    pub fn of(self, subject: Subject) -> Scope {
        Scope { subject, advice: subject.mutations.is_empty(), ..self }
    }

    /// The scope in which only these requirements are checked.
    #[must_use]
    pub fn asking(self, asked: &[Req]) -> Scope {
        Scope { asked: Some(asked.to_vec()), ..self }
    }

    /// The bounds in words.
    #[must_use]
    pub fn bounds(&self) -> String {
        let mut parts = vec![format!("workers {}", self.workers), format!("pods {}", self.pods)];
        parts.extend(self.most.bounds());
        parts.extend(self.ttl.then(|| "TTLs".to_owned()));
        parts.join(", ")
    }

    /// Returns true if a finding of this requirement counts.
    #[must_use]
    pub fn asks(&self, req: Req) -> bool {
        self.asked.as_ref().is_none_or(|asked| asked.contains(&req))
    }
}

pub(crate) const SMALL: Scope = Scope {
    name: "",
    about: "",
    workers: 1,
    size: (1, 1),
    pods: 2,
    most: NOTHING,
    ttl: false,
    lags_own_writes: false,
    subject: Subject::MIRROR,
    mirror: None,
    rules: RuleSet::V1_36,
    advice: true,
    asked: None,
    progress: true,
};

/// No step of users, dispatchers and faults.
pub(crate) const NOTHING: Budget = Budget {
    suspends: 0,
    deletions: 0,
    recreations: 0,
    evictions: 0,
    copy_deletions: 0,
    strangers: 0,
    disconnections: 0,
    crashes: 0,
    conditions: 0,
};

/// One worker, one pod at a time, and nothing that happens to them.
#[must_use]
pub fn plain() -> Scope {
    SMALL
}

/// The default scopes. Each has one kind of trouble, and is explored in seconds.
#[must_use]
pub fn all() -> Vec<Scope> {
    vec![
        Scope {
            name: "managers/plain",
            about: "one worker, a condition of another actor, a crash, and caches that lag behind own writes",
            lags_own_writes: true,
            pods: 1,
            most: Budget { crashes: 1, conditions: 1, ..NOTHING },
            ..SMALL
        },
        Scope {
            name: "managers/redispatch",
            about: "the dispatcher takes the Job away from one of two workers",
            workers: 2,
            most: Budget { evictions: 1, ..NOTHING },
            ..SMALL
        },
        Scope {
            name: "managers/takeover",
            about: "the dispatcher takes the Job away from one of two workers, and the manager crashes",
            workers: 2,
            pods: 1,
            most: Budget { evictions: 1, crashes: 1, ..NOTHING },
            ..SMALL
        },
        Scope {
            name: "managers/lost-copy",
            about: "somebody deletes the copy on the worker",
            most: Budget { copy_deletions: 1, ..NOTHING },
            ..SMALL
        },
        Scope {
            name: "managers/recreation",
            about: "the user deletes the Job and creates it again while the worker may be away",
            most: Budget { deletions: 1, recreations: 1, disconnections: 1, ..NOTHING },
            pods: 1,
            ..SMALL
        },
        Scope {
            name: "managers/ttl",
            about: "the Job and its copy expire, and the worker may be away",
            most: Budget { disconnections: 1, ..NOTHING },
            ttl: true,
            ..SMALL
        },
        Scope {
            name: "managers/suspend",
            about: "the user suspends and resumes the Job",
            most: Budget { suspends: 2, ..NOTHING },
            pods: 1,
            ..SMALL
        },
        Scope {
            name: "managers/stranger",
            about: "somebody on the worker has a Job of the same name",
            most: Budget { deletions: 1, strangers: 1, copy_deletions: 1, ..NOTHING },
            pods: 1,
            ..SMALL
        },
    ]
}

/// Larger scopes, which take minutes.
#[must_use]
pub fn large() -> Vec<Scope> {
    vec![
        Scope {
            name: "managers/headline",
            about: "two workers, two Jobs of one name, three pods, a disconnection and a crash",
            workers: 2,
            pods: 3,
            most: Budget { deletions: 1, recreations: 1, disconnections: 1, crashes: 1, ..NOTHING },
            progress: false,
            ..SMALL
        },
        Scope {
            name: "managers/large",
            about: "two workers, two Jobs of one name, three pods, a redispatch, a disconnection and a crash",
            workers: 2,
            size: (2, 2),
            pods: 3,
            most: Budget {
                deletions: 1,
                recreations: 1,
                evictions: 1,
                disconnections: 1,
                crashes: 1,
                ..NOTHING
            },
            progress: false,
            ..SMALL
        },
        Scope {
            name: "managers/large-faults",
            about: "two workers, a redispatch, a deleted copy, TTLs, a disconnection and a crash",
            workers: 2,
            most: Budget { evictions: 1, copy_deletions: 1, disconnections: 1, crashes: 1, ..NOTHING },
            ttl: true,
            ..SMALL
        },
        Scope {
            name: "managers/large-suspend",
            about: "two workers, three changes of suspend, a redispatch and a crash",
            workers: 2,
            most: Budget { suspends: 3, evictions: 1, crashes: 1, ..NOTHING },
            ..SMALL
        },
    ]
}

/// The first part of the names of all scopes.
pub const FAMILY: &str = "managers";

/// The scope with this name.
#[must_use]
pub fn named(name: &str) -> Option<Scope> {
    [all(), large()].concat().into_iter().find(|scope| scope.name == name)
}
