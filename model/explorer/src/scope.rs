//! The scope of an exploration: a cluster in which everything that could grow has a bound.

use std::sync::Arc;

use crate::env::disruption::Disruption;
use crate::env::refusals::Refusal;
use crate::env::user::UserAction;
use crate::mutations::Mutations;
use crate::process::decisions::Decisions;
use crate::process::settings::Settings;
use crate::process::steps::Faults;
use crate::script::Script;
use jobcheck_spec::apiserver::Propagation;
use jobcheck_spec::apiserver::RuleSet;
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::constants::Constants;
use jobcheck_spec::gates::Gates;
use jobcheck_spec::job::JobSpec;
use jobcheck_spec::pod::Phase;
use jobcheck_spec::requirement::{Broken, Findings};
use jobcheck_spec::time::Time;

/// A bounded configuration of a cluster, with a name.
#[derive(Clone, Debug)]
pub struct Scope {
    /// The name that options and reports use.
    pub name: &'static str,
    /// The description that `jobcheck check --list` prints.
    pub about: &'static str,
    /// The Jobs that the user creates, before defaulting by the API server.
    pub jobs: Vec<JobSpec>,
    /// The largest number of pods that are created for one Job.
    pub pods: usize,
    /// The largest number of pod events by which a Pod cache may lag.
    pub lag: usize,
    /// The largest number of versions by which a Job cache may lag. The cache of the specification's manager
    /// lags by at most one version.
    pub job_lag: usize,
    /// The number of seconds that pass.
    pub ticks: i64,
    /// True if pods start and become ready before they terminate, false if they terminate at once.
    pub phases: bool,
    /// True if ready pods may stop being ready.
    pub unready: bool,
    /// True if pods may run forever. Progress then requires a correct status while they run.
    pub endless: bool,
    /// True if pods wait for the scheduler, false if each has a node from the start.
    pub unscheduled: bool,
    /// True if the phase of a pod may change from `Succeeded` to `Failed`.
    pub flips: bool,
    /// The largest number of container restarts of one pod.
    pub restarts: u32,
    /// The exit codes of failing containers.
    pub exit_codes: &'static [i32],
    /// The possible actions of the user, each at most once.
    pub user: Vec<UserAction>,
    /// Pods that exist before the first sync of the Job.
    pub found: Vec<FoundPod>,
    /// Disruptions of pods, each at most once.
    pub disruptions: Vec<Disruption>,
    /// The subject of the exploration, which manages the Jobs.
    pub subject: Subject,
    /// The largest number of faults of each Job.
    pub faults: Faults,
    /// The requests that the API server refuses every time.
    pub refused: Vec<Refusal>,
    /// True if the last request of a crashed process may still reach the server.
    pub delayed_requests: bool,
    /// True if progress is checked too ([`crate::progress`]), without any reduction.
    pub progress: bool,
    /// The constants of the subject.
    pub constants: Constants,
    /// The gates of the first process, and of each process that takes over. All gates are on if the list is
    /// empty.
    pub gates: Vec<Gates>,
    /// The rules of the API server, with its gates.
    pub rules: RuleSet,
    /// The steps of the environment in their order. Without a script, each possible step may happen at any
    /// time.
    pub script: Option<Script>,
    /// The requirements of properties that are not checked, because this scope must break them.
    pub not_checked: &'static [Req],
    /// The requirements whose guards or server rules are switched off, to test that a property detects this.
    pub without: Vec<Req>,
}

static NO_MUTATIONS: Mutations = Mutations::NONE;

/// A pod without the tracking finalizer that exists from the start, and that the selector matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundPod {
    /// True if the Job controls the pod: a pod from before the finalizer existed (UG-01). False for an
    /// ownerless pod, which may be adopted (FT-24).
    pub controlled: bool,
    /// Its phase.
    pub phase: Phase,
}

/// The subject of an exploration, which manages the Jobs of a scope.
#[derive(Clone, Debug)]
pub enum Subject {
    /// The specification: a manager that may make every write that the guards admit.
    Specification,
    /// A process that runs an algorithm.
    Algorithm(Algorithm),
}

/// An explored algorithm.
#[derive(Clone, Debug)]
pub struct Algorithm {
    /// The decisions.
    pub decisions: Arc<dyn Decisions>,
    /// Deliberate changes that make the algorithm wrong.
    pub mutations: Mutations,
    /// The subject that deletes expired Jobs.
    pub ttl: TtlSubject,
    /// True if events wait until a sync reads the caches, which is a partial-order reduction
    /// ([`crate::process::deliveries`]).
    pub lazy_caches: bool,
}

/// The subject that deletes the expired Jobs of a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TtlSubject {
    /// The specification: any deletion that the guards admit.
    Specification,
    /// A TTL-after-finished controller ([`crate::process::ttl`]).
    Controller {
        /// Seconds by which the controller's clock is ahead of the API server's.
        clock_ahead: i64,
    },
}

impl Subject {
    /// The name in options and reports: `specification`, `algorithm` or `controller`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Subject::Specification => "specification",
            Subject::Algorithm(algorithm) => algorithm.decisions.name(),
        }
    }
}

impl Algorithm {
    /// These decisions without mutations. The specification deletes expired Jobs.
    #[must_use]
    pub fn of(decisions: Arc<dyn Decisions>) -> Algorithm {
        Algorithm {
            decisions,
            mutations: Mutations::default(),
            ttl: TtlSubject::Specification,
            lazy_caches: false,
        }
    }

    /// Returns true if the algorithm has these decisions.
    #[must_use]
    pub fn runs(&self, decisions: &dyn Decisions) -> bool {
        self.decisions.name() == decisions.name()
    }

    /// The clock of the TTL-after-finished controller at this time of the API server.
    #[must_use]
    pub fn ttl_clock(&self, now: Time) -> Time {
        match self.ttl {
            TtlSubject::Specification => now,
            TtlSubject::Controller { clock_ahead } => now.plus(clock_ahead),
        }
    }
}

impl Scope {
    /// The algorithm that manages the Jobs. Returns `None` if the specification manages them.
    #[must_use]
    pub fn algorithm(&self) -> Option<&Algorithm> {
        match &self.subject {
            Subject::Specification => None,
            Subject::Algorithm(algorithm) => Some(algorithm),
        }
    }

    /// The mutations of the algorithm. Returns no mutation if the specification manages the Jobs.
    #[must_use]
    pub fn mutations(&self) -> &Mutations {
        self.algorithm().map_or(&NO_MUTATIONS, |algorithm| &algorithm.mutations)
    }

    /// The settings of the algorithm's processes with all feature gates on. Returns `None` if the
    /// specification manages the Jobs.
    #[must_use]
    pub fn settings(&self) -> Option<Settings<'_>> {
        let algorithm = self.algorithm()?;
        Some(Settings {
            decisions: &*algorithm.decisions,
            mutations: &algorithm.mutations,
            constants: &self.constants,
            gates: Gates::ON,
            has_delays: self.has_delays(),
            exit_codes: self.exit_codes(),
        })
    }

    /// The time by which Jobs expire, at this time of the API server.
    #[must_use]
    pub fn ttl_clock(&self, now: Time) -> Time {
        self.algorithm().map_or(now, |algorithm| algorithm.ttl_clock(now))
    }

    /// The scope after a change of its algorithm. A scope of the specification stays the same.
    #[must_use]
    pub fn with_algorithm(mut self, change: impl FnOnce(&mut Algorithm)) -> Scope {
        if let Subject::Algorithm(algorithm) = &mut self.subject {
            change(algorithm);
        }
        self
    }

    /// The scope with these mutations of its algorithm.
    #[must_use]
    pub fn with_mutations(self, mutations: Mutations) -> Scope {
        self.with_algorithm(|algorithm| algorithm.mutations = mutations)
    }

    /// The gates of the process that manages a Job after this number of rollouts.
    #[must_use]
    pub fn gates_after(&self, rollouts: u8) -> Gates {
        self.gates.get(usize::from(rollouts)).copied().unwrap_or_default()
    }

    /// Returns true if a Job may have ownerless pods.
    #[must_use]
    pub fn has_ownerless(&self) -> bool {
        let makes_some = |action: &UserAction| {
            matches!(
                action,
                UserAction::StripOwner | UserAction::Relabel | UserAction::DeleteJob(Propagation::Orphan)
            )
        };
        self.user.iter().any(makes_some) || self.found.iter().any(|found| !found.controlled)
    }

    /// Returns true if a Job may be recreated.
    #[must_use]
    pub fn recreates(&self) -> bool {
        self.user.contains(&UserAction::Recreate)
    }

    /// The scope in which the API server also refuses this every time.
    #[must_use]
    pub fn refusing(mut self, refusal: Refusal) -> Scope {
        self.refused.push(refusal);
        self
    }

    /// The scope with the guards of a requirement switched off.
    #[must_use]
    pub fn without(mut self, req: Req) -> Scope {
        self.without.push(req);
        self
    }

    /// The exit codes of failing containers.
    #[must_use]
    pub fn exit_codes(&self) -> &[i32] {
        self.script.as_ref().map_or(self.exit_codes, |script| &script.exit_codes)
    }

    /// Returns true if a failure delays the next pod. Without delays nothing depends on the times of pods,
    /// and these stay zero.
    #[must_use]
    pub fn has_delays(&self) -> bool {
        self.constants.pod_failure_backoff_ms > 0
    }

    /// The time that a pod records at an instant.
    #[must_use]
    pub fn stamp(&self, now: Time) -> Time {
        if self.has_delays() { now } else { Time::default() }
    }

    /// The first broken requirement whose guards are not switched off.
    #[must_use]
    pub fn verdict(&self, findings: Findings) -> Option<Broken> {
        findings.broken.into_iter().find(|broken| !self.without.contains(&broken.req))
    }

    /// Returns true if no requirement is broken whose guards are not switched off.
    #[must_use]
    pub fn admits(&self, findings: &Findings) -> bool {
        findings.broken.iter().all(|broken| self.without.contains(&broken.req))
    }
}
