//! Defects of aggregators, each a mutation of the sum protocol.

use jobcheck_spec::catalogue::Req;
use jobcheck_spec::job::{ConditionKind, JobStatus};
use jobcheck_spec::time::Time;

use super::protocol::{ClusterView, LocalView, MemberView, Request, condition, decide};

/// A defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// A member that has left, and still exists, counts twice.
    CountsTwice,
    /// The counts of a member are lost with it.
    Forgets,
    /// The Job fails at once with its first member, while others run.
    FailsAtOnce,
    /// The Job ends while its members still have pods that end.
    EndsBusy,
    /// A list without members is the end.
    EndsWhenEmpty,
    /// The terminal condition is written without the interim one.
    OmitsInterim,
    /// A member is released before its counts are stored.
    ReleasesFirst,
    /// A creation is not remembered until the cache shows it. The Job may end while a new member runs.
    ForgetsCreations,
    /// A cluster whose cache is not filled counts as one without a member.
    TrustsEmptyCaches,
    /// A member that has left is not replaced.
    ReplacesNothing,
    /// The finalizers stay.
    ReleasesNothing,
}

/// A known defect, the scope that shows it, and a requirement that it breaks there.
#[derive(Clone, Copy, Debug)]
pub struct Mutant {
    /// Its id: A with a number.
    pub id: &'static str,
    /// The defect in one line.
    pub title: &'static str,
    /// The mutation of the protocol.
    pub defect: Defect,
    /// The name of the scope.
    pub scope: &'static str,
    /// The requirement.
    pub req: Req,
}

/// All mutants, one for each defect.
pub const MUTANTS: &[Mutant] = &[
    Mutant {
        id: "A01",
        title: "a member that has left counts twice while it exists",
        defect: Defect::CountsTwice,
        scope: "aggregate/deletion",
        req: Req::MR30,
    },
    Mutant {
        id: "A02",
        title: "the counts of a member are lost with it",
        defect: Defect::Forgets,
        scope: "aggregate/deletion",
        req: Req::MR09,
    },
    Mutant {
        id: "A03",
        title: "the Job fails with its first member while others run",
        defect: Defect::FailsAtOnce,
        scope: "aggregate/plain",
        req: Req::MR31,
    },
    Mutant {
        id: "A04",
        title: "the Job ends while pods of its members end",
        defect: Defect::EndsBusy,
        scope: "aggregate/plain",
        req: Req::MR31,
    },
    Mutant {
        id: "A05",
        title: "a list without members is the end",
        defect: Defect::EndsWhenEmpty,
        scope: "aggregate/deletion",
        req: Req::MR33,
    },
    Mutant {
        id: "A06",
        title: "the terminal condition without the interim one",
        defect: Defect::OmitsInterim,
        scope: "aggregate/older",
        req: Req::MR09,
    },
    Mutant {
        id: "A07",
        title: "a member is released before its counts are stored",
        defect: Defect::ReleasesFirst,
        scope: "aggregate/deletion",
        req: Req::MR09,
    },
    Mutant {
        id: "A08",
        title: "a creation is forgotten before the cache shows it",
        defect: Defect::ForgetsCreations,
        scope: "aggregate/plain",
        req: Req::MR31,
    },
    Mutant {
        id: "A09",
        title: "a cache that is not filled counts as one without a member",
        defect: Defect::TrustsEmptyCaches,
        scope: "aggregate/crash",
        req: Req::MR09,
    },
    Mutant {
        id: "A10",
        title: "a member that has left is not replaced",
        defect: Defect::ReplacesNothing,
        scope: "aggregate/deletion",
        req: Req::MR21,
    },
    Mutant {
        id: "A11",
        title: "the finalizers stay",
        defect: Defect::ReleasesNothing,
        scope: "aggregate/crash",
        req: Req::MR25,
    },
];

impl Defect {
    /// The requests of a manager with this defect.
    pub(super) fn decide(
        self,
        local: &mut LocalView,
        mut views: Vec<ClusterView>,
        mut awaited: Vec<usize>,
        now: Time,
    ) -> Vec<Request> {
        match self {
            Defect::ForgetsCreations => awaited.clear(),
            Defect::TrustsEmptyCaches => {
                let unknown = views.iter_mut().filter(|view| matches!(view, ClusterView::Unknown));
                unknown.for_each(|view| *view = ClusterView::Known(None));
            }
            _ => {}
        }
        let members: Vec<(usize, MemberView)> = views.iter().enumerate().filter_map(known).collect();
        let mut requests = decide(local, &views, &awaited, now);
        match self {
            Defect::ReleasesFirst => {
                let leaving = members.iter().filter(|(_, it)| it.deleting && it.finalizer);
                requests.extend(leaving.map(|(cluster, _)| Request::Release(*cluster)));
            }
            Defect::ReplacesNothing if !local.counted.is_empty() => {
                requests.retain(|request| !matches!(request, Request::Create(..)));
            }
            Defect::ReleasesNothing => requests.retain(|request| !matches!(request, Request::Release(_))),
            Defect::EndsWhenEmpty if members.is_empty() && !local.counted.is_empty() => {
                let mut status = local.job.status.clone();
                if !status.is_decided() && status.start_time.is_some() {
                    status.conditions.push(condition(ConditionKind::SuccessCriteriaMet, now));
                    requests = vec![Request::Write(status, local.counted.clone())];
                }
            }
            _ => {}
        }
        for request in &mut requests {
            if let Request::Write(status, counted) = request {
                self.rewrite(local, &members, now, status, counted);
            }
        }
        requests
    }

    fn rewrite(
        self,
        local: &LocalView,
        members: &[(usize, MemberView)],
        now: Time,
        status: &mut JobStatus,
        counted: &mut [(u8, (i32, i32))],
    ) {
        let old = &local.job.status;
        match self {
            Defect::CountsTwice => {
                let left = members.iter().filter(|(_, it)| it.drained);
                let again = left.map(|(_, it)| it.status.succeeded + it.status.failed).sum::<i32>();
                status.failed += again.min(1);
            }
            Defect::Forgets => {
                let new = counted.iter_mut().filter(|(uid, _)| local.counted.iter().all(|(of, _)| of != uid));
                new.for_each(|(_, counts)| *counts = (0, 0));
            }
            Defect::FailsAtOnce if status.is_true(&ConditionKind::FailureTarget) => end(status, now),
            Defect::EndsBusy if old.is_decided() => end(status, now),
            Defect::OmitsInterim => {
                let ends = status.is_finished();
                if !ends && status.is_decided() {
                    let is_decision = |kind: &ConditionKind| {
                        matches!(kind, ConditionKind::SuccessCriteriaMet | ConditionKind::FailureTarget)
                    };
                    let fails = status.is_true(&ConditionKind::FailureTarget);
                    status.conditions.retain(|it| !is_decision(&it.kind));
                    if status.active == 0 && status.terminating.unwrap_or(0) == 0 {
                        let kind = if fails { ConditionKind::Failed } else { ConditionKind::Complete };
                        status.completion_time = (!fails).then_some(now);
                        status.conditions.push(condition(kind, now));
                    }
                }
            }
            _ => {}
        }
    }
}

fn known((cluster, view): (usize, &ClusterView)) -> Option<(usize, MemberView)> {
    match view {
        ClusterView::Unknown | ClusterView::Known(None) => None,
        ClusterView::Known(Some(member)) => Some((cluster, (**member).clone())),
    }
}

/// The terminal condition of a decided status, with its numbers at 0.
fn end(status: &mut JobStatus, now: Time) {
    if status.is_finished() {
        return;
    }
    (status.active, status.terminating, status.ready) = (0, Some(0), Some(0));
    let fails = status.is_true(&ConditionKind::FailureTarget);
    let kind = if fails { ConditionKind::Failed } else { ConditionKind::Complete };
    status.conditions.push(condition(kind, now));
    status.completion_time = (!fails).then_some(now);
}
