//! What one exploration is bounded by.

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

/// A small world with a name. Everything that could grow has a bound here.
#[derive(Clone, Debug)]
pub struct Scope {
    /// Its name, for the command line.
    pub name: &'static str,
    /// What it is for, in one sentence.
    pub about: &'static str,
    /// The Jobs that the user creates, before the API server's defaulting.
    pub jobs: Vec<JobSpec>,
    /// The most pods that are created for one Job.
    pub pods: usize,
    /// By how many changes of pods a Pod cache may lag.
    pub lag: usize,
    /// By how many versions a Job cache may lag. The specification's cache lags by one version at most.
    pub job_lag: usize,
    /// How many seconds pass.
    pub ticks: i64,
    /// Whether pods run and become ready before they end; else they end at once.
    pub phases: bool,
    /// Whether pods that are ready may cease to be.
    pub unready: bool,
    /// Whether pods need not end: progress asks that the numbers of the status be right while they run.
    pub endless: bool,
    /// Whether pods wait for the scheduler; else each has a node from the start.
    pub unscheduled: bool,
    /// Whether the kubelet takes a success back: phase `Succeeded` becomes `Failed`.
    pub flips: bool,
    /// How often the container of one pod is restarted.
    pub restarts: u32,
    /// The codes with which failing containers exit.
    pub exit_codes: &'static [i32],
    /// What the user may do, each at most once.
    pub user: Vec<UserAction>,
    /// Pods that there are before the Job has had a sync.
    pub found: Vec<FoundPod>,
    /// What others do to pods, each at most once.
    pub disruptions: Vec<Disruption>,
    /// What manages the Jobs.
    pub subject: Subject,
    /// How often faults happen to a Job at most.
    pub faults: Faults,
    /// What the API server refuses, however often it is asked.
    pub refused: Vec<Refusal>,
    /// Whether the request of a process that dies may still reach the server.
    pub delayed_requests: bool,
    /// Whether it is asked that Jobs get somewhere, too ([`crate::progress`]): then nothing is reduced.
    pub progress: bool,
    /// The subject's constants.
    pub constants: Constants,
    /// The gates of the first manager's process, and of each that takes over; all are on where there are none.
    pub gates: Vec<Gates>,
    /// The rules of the API server, with its gates.
    pub rules: RuleSet,
    /// What the environment does, one thing after the other; else it does what it can, at any time.
    pub script: Option<Script>,
    /// Properties, by their requirements, that are not asked for: the world is one in which they cannot hold.
    pub not_checked: &'static [Req],
    /// Requirements whose guards, or whose rule of the API server, are switched off, to see that a property
    /// notices.
    pub without: Vec<Req>,
}

static NO_MUTATIONS: Mutations = Mutations::NONE;

/// A pod without the tracking finalizer that is there from the start, and that the selector matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundPod {
    /// Whether the Job controls it: a pod of before there was the finalizer (UG-01). Else somebody else made it, and
    /// it may be adopted (FT-24).
    pub controlled: bool,
    /// Its phase.
    pub phase: Phase,
}

/// The subject of an exploration: what manages the Jobs of a scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The specification: a manager that may make every write that the guards admit.
    Specification,
    /// A process that runs an algorithm.
    Algorithm(Algorithm),
}

/// An algorithm that is explored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Algorithm {
    /// The decisions: those of the reference algorithm, or those of the shipped controllers.
    pub decisions: Decisions,
    /// Deliberate changes that make the algorithm wrong.
    pub mutations: Mutations,
    /// What deletes expired Jobs.
    pub ttl: TtlSubject,
    /// Whether events wait until a sync reads the caches, which is a partial-order reduction
    /// ([`crate::process::deliveries`]).
    pub lazy_caches: bool,
}

/// What deletes the expired Jobs of a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TtlSubject {
    /// The specification: every deletion that the guards admit.
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
            Subject::Algorithm(algorithm) => algorithm.decisions.name,
        }
    }
}

impl Algorithm {
    /// These decisions without mutations. The specification deletes expired Jobs.
    #[must_use]
    pub fn of(decisions: Decisions) -> Algorithm {
        Algorithm {
            decisions,
            mutations: Mutations::default(),
            ttl: TtlSubject::Specification,
            lazy_caches: false,
        }
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
    /// The algorithm that manages the Jobs; `None` if the specification manages them.
    #[must_use]
    pub fn algorithm(&self) -> Option<&Algorithm> {
        match &self.subject {
            Subject::Specification => None,
            Subject::Algorithm(algorithm) => Some(algorithm),
        }
    }

    /// The algorithm's mutations; none if the specification manages the Jobs.
    #[must_use]
    pub fn mutations(&self) -> &Mutations {
        self.algorithm().map_or(&NO_MUTATIONS, |algorithm| &algorithm.mutations)
    }

    /// The settings of the algorithm's processes, all feature gates on; `None` if the specification manages the Jobs.
    #[must_use]
    pub fn settings(&self) -> Option<Settings<'_>> {
        let algorithm = self.algorithm()?;
        Some(Settings {
            decisions: &algorithm.decisions,
            mutations: &algorithm.mutations,
            constants: &self.constants,
            gates: Gates::ON,
            has_delays: self.has_delays(),
            exit_codes: self.exit_codes(),
        })
    }

    /// The clock by which expired Jobs are deleted, at this time of the API server.
    #[must_use]
    pub fn ttl_clock(&self, now: Time) -> Time {
        self.algorithm().map_or(now, |algorithm| algorithm.ttl_clock(now))
    }

    /// The scope after a change of its algorithm. A scope of the specification stays as it is.
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

    /// The gates of the process that manages a Job after so many have taken over.
    #[must_use]
    pub fn gates_after(&self, rollouts: u8) -> Gates {
        self.gates.get(usize::from(rollouts)).copied().unwrap_or_default()
    }

    /// Whether there may be pods that nobody controls while the Job is there.
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

    /// Whether a Job may be created again under its name.
    #[must_use]
    pub fn recreates(&self) -> bool {
        self.user.contains(&UserAction::Recreate)
    }

    /// The scope in which the API server refuses this for ever.
    #[must_use]
    pub fn refusing(mut self, refusal: Refusal) -> Scope {
        self.refused.push(refusal);
        self
    }

    /// The scope with the guards of one requirement switched off.
    #[must_use]
    pub fn without(mut self, req: Req) -> Scope {
        self.without.push(req);
        self
    }

    /// The codes with which failing containers exit.
    #[must_use]
    pub fn exit_codes(&self) -> &[i32] {
        self.script.as_ref().map_or(self.exit_codes, |script| &script.exit_codes)
    }

    /// Whether pods must wait after failures. Where they need not, nothing depends on the times of pods, and
    /// they are left at zero.
    #[must_use]
    pub fn has_delays(&self) -> bool {
        self.constants.pod_failure_backoff_ms > 0
    }

    /// What pods note of an instant.
    #[must_use]
    pub fn stamp(&self, now: Time) -> Time {
        if self.has_delays() { now } else { Time::default() }
    }

    /// The first broken requirement that is not switched off.
    #[must_use]
    pub fn verdict(&self, findings: Findings) -> Option<Broken> {
        findings.broken.into_iter().find(|broken| !self.without.contains(&broken.req))
    }

    /// Whether nothing is broken, apart from what is switched off.
    #[must_use]
    pub fn admits(&self, findings: &Findings) -> bool {
        findings.broken.iter().all(|broken| self.without.contains(&broken.req))
    }
}
