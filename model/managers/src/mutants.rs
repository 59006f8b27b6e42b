//! Known defects of managers: mutations of the mirror protocol, and the adapter of Kueue.

use jobcheck_spec::apiserver::RuleSet;
use jobcheck_spec::catalogue::Req;

use crate::check::{Exploration, explore_scope};
use crate::scope::{Scope, named};
use crate::subject::{Fix, Mutation, Subject};

/// A known defect, the scope that shows it, and a requirement that it breaks there.
#[derive(Clone, Copy, Debug)]
pub struct Mutant {
    /// Its id: `K1` to `K5` as in `docs/reference/managers.md`, section 4, and M with a number for the mutations.
    pub id: &'static str,
    /// The defect in one line.
    pub title: &'static str,
    /// The manager with the defect.
    pub subject: Subject,
    /// The manager without it.
    pub repaired: Subject,
    /// The name of the scope.
    pub scope: &'static str,
    /// The requirement.
    pub req: Req,
    /// The difference from the scope.
    pub setting: Setting,
}

/// The difference between the scope of a mutant and that of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// None.
    Default,
    /// A recommendation that is not followed counts as broken.
    Advised,
    /// The API server has the gate `JobManagedBy` off, and leaves the status to the guards.
    Unvalidated,
}

/// The largest number of states that a search visits.
pub(crate) const MAX_STATES: usize = 2_000_000;

impl Mutant {
    /// The mutant with this id. Case does not matter.
    #[must_use]
    pub fn named(id: &str) -> Option<&'static Mutant> {
        MUTANTS.iter().find(|mutant| mutant.id.eq_ignore_ascii_case(id))
    }

    /// Returns true if the defect is one of Kueue's adapter.
    #[must_use]
    pub fn is_of_kueue(&self) -> bool {
        self.subject == Subject::KUEUE
    }

    /// A scope for a manager, with the rules of the API server that show the defect. All requirements are checked.
    #[must_use]
    pub fn setting_of(&self, scope: Scope, subject: Subject) -> Scope {
        let rules = RuleSet { job_managed_by: self.setting != Setting::Unvalidated, ..scope.rules };
        Scope { advice: self.setting == Setting::Advised, rules, ..scope.of(subject) }
    }

    /// The scope that shows the defect, for a manager. Only the requirement is checked.
    ///
    /// # Panics
    ///
    /// There is no such scope.
    #[must_use]
    pub fn scope_of(&self, subject: Subject) -> Scope {
        let scope = named(self.scope).expect("each mutant names a scope");
        self.setting_of(scope, subject).asking(&[self.req])
    }

    /// The scope with the defect.
    #[must_use]
    pub fn scope(&self) -> Scope {
        self.scope_of(self.subject)
    }

    /// Looks for the shortest counterexample.
    #[must_use]
    pub fn hunt(&self) -> Exploration {
        explore_scope(&self.scope(), 1, Some(MAX_STATES))
    }

    /// Explores the same scope without the defect.
    #[must_use]
    pub fn hunt_without(&self) -> Exploration {
        explore_scope(&self.scope_of(self.repaired), 1, Some(MAX_STATES))
    }

    /// The scope without the defect. The requirements of all mutants with this scope, manager and setting are checked.
    #[must_use]
    pub fn scope_without_any(&self) -> Scope {
        let is_like =
            |it: &&Mutant| (it.scope, it.repaired, it.setting) == (self.scope, self.repaired, self.setting);
        let asked: Vec<Req> = MUTANTS.iter().filter(is_like).map(|it| it.req).collect();
        self.scope_of(self.repaired).asking(&asked)
    }

    /// A defect of Kueue's adapter.
    const fn of_kueue(
        id: &'static str,
        title: &'static str,
        scope: &'static str,
        req: Req,
        fix: Fix,
    ) -> Mutant {
        let (subject, repaired, setting) = (Subject::KUEUE, Subject::kueue_with(fix), Setting::Default);
        Mutant { id, title, subject, repaired, scope, req, setting }
    }

    /// A mutation of the protocol.
    const fn of(
        id: &'static str,
        title: &'static str,
        mutations: &'static [Mutation],
        scope: &'static str,
        req: Req,
    ) -> Mutant {
        let subject = Subject { name: "mirror with a defect", mutations };
        Mutant { id, title, subject, repaired: Subject::MIRROR, scope, req, setting: Setting::Default }
    }

    const fn with(self, setting: Setting) -> Mutant {
        Mutant { setting, ..self }
    }
}

/// All mutants.
pub const MUTANTS: &[Mutant] = &[
    Mutant::of_kueue(
        "K1",
        "after a redispatch the counters fall, and every write is refused",
        "managers/lost-copy",
        Req::MR24,
        Fix::KeepsCounters,
    ),
    Mutant::of_kueue(
        "K2",
        "a suspended Job keeps the status of a running one",
        "managers/suspend",
        Req::MR13,
        Fix::MirrorsSuspension,
    ),
    Mutant::of_kueue(
        "K3",
        "a Job that never ran gets the counters of the previous one with its name",
        "managers/recreation",
        Req::MR30,
        Fix::FindsByUid,
    ),
    Mutant::of_kueue(
        "K4",
        "a Job gets the startTime of the previous one with its name",
        "managers/recreation",
        Req::MR04,
        Fix::FindsByUid,
    ),
    Mutant::of_kueue(
        "K5",
        "the copy expires before its end is reported, and the Job runs twice",
        "managers/ttl",
        Req::MR22,
        Fix::HasFinalizer,
    ),
    Mutant::of(
        "M01",
        "the status of the copy replaces the whole status",
        &[Mutation::CopiesStatusWhole],
        "managers/lost-copy",
        Req::MR09,
    ),
    Mutant::of(
        "M02",
        "the same, and the Job never ends after a redispatch",
        &[Mutation::CopiesStatusWhole],
        "managers/lost-copy",
        Req::MR24,
    ),
    Mutant::of(
        "M03",
        "the same, and the Job never ends after a suspension",
        &[Mutation::CopiesStatusWhole],
        "managers/suspend",
        Req::MR27,
    ),
    Mutant::of(
        "M04",
        "the same, if the API server validates no status",
        &[Mutation::CopiesStatusWhole],
        "managers/lost-copy",
        Req::MR03,
    )
    .with(Setting::Unvalidated),
    Mutant::of(
        "M05",
        "a Job of the same name is the copy: older times",
        &[Mutation::FindsByName],
        "managers/recreation",
        Req::MR04,
    ),
    Mutant::of(
        "M06",
        "the same: times of another Job's copy",
        &[Mutation::FindsByName],
        "managers/recreation",
        Req::MR23,
    ),
    Mutant::of(
        "M07",
        "the same: counters of another Job",
        &[Mutation::FindsByName],
        "managers/recreation",
        Req::MR30,
    ),
    Mutant::of(
        "M08",
        "no finalizer: the copy expires unreported",
        &[Mutation::HasNoFinalizer],
        "managers/ttl",
        Req::MR26,
    ),
    Mutant::of(
        "M09",
        "no finalizer: a deleted copy runs again",
        &[Mutation::HasNoFinalizer],
        "managers/lost-copy",
        Req::MR22,
    ),
    Mutant::of(
        "M10",
        "no status is written while the Job is suspended",
        &[Mutation::SkipsSuspended],
        "managers/suspend",
        Req::MR13,
    ),
    Mutant::of(
        "M11",
        "a Job of somebody else is the copy",
        &[Mutation::TakesStrangers],
        "managers/stranger",
        Req::MR25,
    ),
    Mutant::of(
        "M12",
        "a Job is deleted by name, whatever its UID",
        &[Mutation::DeletesByName],
        "managers/stranger",
        Req::MR25,
    ),
    Mutant::of(
        "M13",
        "a cache that is not filled counts as empty",
        &[Mutation::TrustsEmptyCaches],
        "managers/takeover",
        Req::MR22,
    ),
    Mutant::of(
        "M14",
        "a creation is forgotten before the cache shows it",
        &[Mutation::ForgetsCreations],
        "managers/redispatch",
        Req::MR22,
    ),
    Mutant::of(
        "M15",
        "the finalizer is removed before the report",
        &[Mutation::ReleasesFirst],
        "managers/lost-copy",
        Req::MR22,
    ),
    Mutant::of(
        "M16",
        "the finalizer is removed from a version not seen",
        &[Mutation::ReleasesUnseen],
        "managers/lost-copy",
        Req::MR22,
    ),
    Mutant::of(
        "M17",
        "a resumption is passed on before the suspension was reported",
        &[Mutation::ResumesFirst],
        "managers/suspend",
        Req::MR20,
    ),
    Mutant::of(
        "M18",
        "a resumed Job keeps its startTime",
        &[Mutation::KeepsStart],
        "managers/suspend",
        Req::MR05,
    ),
    Mutant::of(
        "M19",
        "terminal although pods of the copy are terminating",
        &[Mutation::EndsEarly],
        "managers/plain",
        Req::TC04,
    ),
    Mutant::of(
        "M20",
        "terminal although the status shows pods, not validated",
        &[Mutation::EndsLiving],
        "managers/plain",
        Req::MR11,
    )
    .with(Setting::Unvalidated),
    Mutant::of(
        "M21",
        "completionTime for a Job that has failed",
        &[Mutation::TimesFailures],
        "managers/plain",
        Req::MR09,
    ),
    Mutant::of(
        "M22",
        "the same, if the API server validates no status",
        &[Mutation::TimesFailures],
        "managers/plain",
        Req::TC05,
    )
    .with(Setting::Unvalidated),
    Mutant::of(
        "M23",
        "conditions of other actors are dropped",
        &[Mutation::DropsConditions],
        "managers/plain",
        Req::MR06,
    ),
    Mutant::of(
        "M24",
        "failures are added again with each write",
        &[Mutation::CountsAgain],
        "managers/plain",
        Req::MR30,
    ),
    Mutant::of(
        "M25",
        "SuccessCriteriaMet before the successes are counted",
        &[Mutation::AcceptsUncounted],
        "managers/plain",
        Req::MR01,
    ),
    Mutant::of(
        "M26",
        "the terminal condition without the interim one",
        &[Mutation::OmitsInterim],
        "managers/plain",
        Req::MR09,
    ),
    Mutant::of(
        "M27",
        "the same, if the API server validates no status",
        &[Mutation::OmitsInterim],
        "managers/plain",
        Req::MR07,
    )
    .with(Setting::Unvalidated),
    Mutant::of(
        "M28",
        "both conditions of the end in one write",
        &[Mutation::EndsAtOnce],
        "managers/plain",
        Req::MR07,
    )
    .with(Setting::Advised),
    Mutant::of(
        "M29",
        "a decided end is never finished",
        &[Mutation::StopsAtInterim],
        "managers/plain",
        Req::MR08,
    ),
    Mutant::of(
        "M30",
        "copies of a Job that is gone stay",
        &[Mutation::LeavesOrphans],
        "managers/recreation",
        Req::MR25,
    ),
    Mutant::of("M31", "an end is not reported", &[Mutation::HidesTheEnd], "managers/plain", Req::MR21),
    Mutant::of(
        "M32",
        "times of conditions are those of the write",
        &[Mutation::WritesNow],
        "managers/suspend",
        Req::MR14,
    ),
    Mutant::of(
        "M33",
        "the status is written although nothing has changed",
        &[Mutation::WritesAgain],
        "managers/plain",
        Req::MR10,
    ),
    Mutant::of(
        "M34",
        "terminating is not reported",
        &[Mutation::OmitsTerminating],
        "managers/plain",
        Req::MR11,
    )
    .with(Setting::Advised),
    Mutant::of("M35", "active is above parallelism", &[Mutation::DoublesActive], "managers/plain", Req::MR12)
        .with(Setting::Advised),
];
