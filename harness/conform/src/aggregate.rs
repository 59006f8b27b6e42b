//! The scenarios of the profile `aggregate`: managers that sum up the statuses of Jobs elsewhere
//! (`docs/reference/managers.md`, section *Aggregators*).
//!
//! The suite plays the Job controllers of two members. So a cluster of a member has none, and a step can report whatever
//! a member could.
//!
//! The judge grants that clocks differ (`--skew`). Then a sum may already contain what a member reports a moment later. A
//! scenario about a sum therefore rests for longer before a member reports more ([`RestBeyondSkew`]).

use jobcheck_report::types::Stage;
use jobcheck_spec::Req;

use crate::mirror::{ONE, RESTART};
use crate::scenario::Awaited::{
    Active, Complete, CopyGone, CopyOn, Failed, FailedEnd, JobGone, Rest, RestBeyondSkew, StrangersUntouched,
    Succeeded,
};
use crate::scenario::Step::{Await, CreateJob, DeleteJob, DeleteMember, Hook, Report, Strangers};
use crate::scenario::{Reported, Scenario, Shape};

/// Two pods on each of two members.
const FOUR: Shape = Shape { completions: 4, parallelism: 4, ..ONE };
/// The same, and the first failure is the last.
const NO_RETRY: Shape = Shape { backoff_limit: 0, ..FOUR };

/// Two pods run.
const RUNS: Reported = Reported { active: 2, terminating: Some(0), succeeded: 0, failed: 0, conditions: &[] };
/// One of them has succeeded.
const HALF: Reported = Reported { active: 1, succeeded: 1, ..RUNS };
/// One has succeeded, and one has failed. Another one runs.
const MIXED: Reported = Reported { failed: 1, ..HALF };
/// All have succeeded, and one has not gone yet.
const LINGERS: Reported = Reported {
    active: 0,
    terminating: Some(1),
    succeeded: Reported::ALL,
    conditions: &["SuccessCriteriaMet"],
    ..RUNS
};
/// All have succeeded.
const DONE: Reported =
    Reported { active: 0, succeeded: Reported::ALL, conditions: &["SuccessCriteriaMet", "Complete"], ..RUNS };
/// All have succeeded, after a failure.
const DONE_AT_LAST: Reported = Reported { failed: 1, ..DONE };
/// One pod has failed, and with it the member.
const FAILS: Reported = Reported { active: 0, failed: 1, conditions: &["FailureTarget", "Failed"], ..RUNS };

const fn older(status: Reported) -> Reported {
    Reported { terminating: None, ..status }
}

/// The scenarios, in the order in which they are listed.
pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        id: "aggregate/success",
        about: "Both members succeed, one after the other.",
        requirements: &[Req::MR01, Req::MR30, Req::MR31],
        stage: Stage::Core,
        job: FOUR,
        steps: &[
            CreateJob,
            Await(CopyOn(1)),
            Await(CopyOn(2)),
            Report(1, RUNS),
            Report(2, RUNS),
            Await(Active(4)),
            Report(1, HALF),
            Await(Succeeded(1)),
            Report(1, DONE),
            Report(2, DONE),
            Await(Complete),
        ],
    },
    Scenario {
        id: "aggregate/counts",
        about: "Half of the pods succeed and one fails. Then nothing happens for longer than the clocks may differ.",
        requirements: &[Req::MR30],
        stage: Stage::Core,
        job: FOUR,
        steps: &[
            CreateJob,
            Await(CopyOn(1)),
            Await(CopyOn(2)),
            Report(1, RUNS),
            Report(2, RUNS),
            Await(Active(4)),
            Report(1, MIXED),
            Await(Succeeded(1)),
            Await(Failed(1)),
            Await(RestBeyondSkew),
            Report(2, HALF),
            Await(Succeeded(2)),
            Await(RestBeyondSkew),
            Report(1, DONE_AT_LAST),
            Report(2, DONE),
            Await(Complete),
        ],
    },
    Scenario {
        id: "aggregate/order",
        about: "The second member has ended before the first one reports anything.",
        requirements: &[Req::MR30, Req::MR33],
        stage: Stage::Core,
        job: FOUR,
        steps: &[
            CreateJob,
            Await(CopyOn(1)),
            Await(CopyOn(2)),
            Report(2, DONE),
            Await(Succeeded(1)),
            Await(RestBeyondSkew),
            Report(1, DONE),
            Await(Complete),
        ],
    },
    Scenario {
        id: "aggregate/failure",
        about: "One member fails while the other one runs. Then that fails, too.",
        requirements: &[Req::MR07, Req::MR31],
        stage: Stage::Core,
        job: NO_RETRY,
        steps: &[
            CreateJob,
            Await(CopyOn(1)),
            Await(CopyOn(2)),
            Report(1, RUNS),
            Report(2, RUNS),
            Await(Active(4)),
            Report(1, FAILS),
            Await(Failed(1)),
            Await(RestBeyondSkew),
            Report(2, FAILS),
            Await(FailedEnd),
        ],
    },
    Scenario {
        id: "aggregate/terminating",
        about: "One member has succeeded, but its last pod has not gone yet.",
        requirements: &[Req::MR11, Req::MR31],
        stage: Stage::Core,
        job: FOUR,
        steps: &[
            CreateJob,
            Await(CopyOn(1)),
            Await(CopyOn(2)),
            Report(1, RUNS),
            Report(2, RUNS),
            Await(Active(4)),
            Report(1, LINGERS),
            Report(2, DONE),
            Await(Succeeded(4)),
            Await(RestBeyondSkew),
            Report(1, DONE),
            Await(Complete),
        ],
    },
    Scenario {
        id: "aggregate/member-replaced",
        about: "A success is reported. Then somebody deletes its member, and a new one succeeds.",
        requirements: &[Req::MR03, Req::MR09, Req::MR24, Req::MR30],
        stage: Stage::Core,
        job: FOUR,
        steps: &[
            CreateJob,
            Await(CopyOn(1)),
            Await(CopyOn(2)),
            Report(1, RUNS),
            Report(2, RUNS),
            Report(1, HALF),
            Await(Succeeded(1)),
            DeleteMember(1),
            Await(CopyOn(1)),
            Await(RestBeyondSkew),
            Report(1, DONE),
            Report(2, DONE),
            Await(Complete),
        ],
    },
    Scenario {
        id: "aggregate/no-members",
        about: "Somebody deletes both members while they run. New ones succeed.",
        requirements: &[Req::MR30, Req::MR33],
        stage: Stage::Core,
        job: FOUR,
        steps: &[
            CreateJob,
            Await(CopyOn(1)),
            Await(CopyOn(2)),
            Report(1, RUNS),
            Report(2, RUNS),
            Await(Active(4)),
            DeleteMember(1),
            DeleteMember(2),
            Await(CopyOn(1)),
            Await(CopyOn(2)),
            Report(1, DONE),
            Report(2, DONE),
            Await(Complete),
        ],
    },
    Scenario {
        id: "aggregate/older-members",
        about: "The members are of a Kubernetes that does not count terminating pods.",
        requirements: &[Req::MR32],
        stage: Stage::Core,
        job: FOUR,
        steps: &[
            CreateJob,
            Await(CopyOn(1)),
            Await(CopyOn(2)),
            Report(1, older(RUNS)),
            Report(2, older(RUNS)),
            Await(Active(4)),
            Report(1, older(DONE)),
            Report(2, older(DONE)),
            Await(Complete),
        ],
    },
    Scenario {
        id: "aggregate/delete",
        about: "The user deletes the Job while its members run.",
        requirements: &[Req::MR25],
        stage: Stage::Core,
        job: FOUR,
        steps: &[
            CreateJob,
            Await(CopyOn(1)),
            Await(CopyOn(2)),
            Report(1, RUNS),
            DeleteJob,
            Await(JobGone),
            Await(CopyGone),
        ],
    },
    Scenario {
        id: "aggregate/strangers",
        about: "Jobs of others are on all clusters, one with another manager.",
        requirements: &[Req::MR15, Req::MR25],
        stage: Stage::Core,
        job: FOUR,
        steps: &[
            Strangers,
            CreateJob,
            Await(CopyOn(1)),
            Await(CopyOn(2)),
            Report(1, RUNS),
            Report(2, RUNS),
            Await(Active(4)),
            Report(1, DONE),
            Report(2, DONE),
            Await(Complete),
            Await(Rest(2)),
            Await(StrangersUntouched),
        ],
    },
    Scenario {
        id: "aggregate/rest",
        about: "Nothing happens while the members run, and nothing happens after the end.",
        requirements: &[Req::MR10],
        stage: Stage::Core,
        job: FOUR,
        steps: &[
            CreateJob,
            Await(CopyOn(1)),
            Await(CopyOn(2)),
            Report(1, RUNS),
            Report(2, RUNS),
            Await(Active(4)),
            Await(Rest(6)),
            Report(1, DONE),
            Report(2, DONE),
            Await(Complete),
            Await(Rest(6)),
        ],
    },
    Scenario {
        id: "aggregate/restart",
        about: "The manager is restarted while a member is being deleted whose success was reported.",
        requirements: &[Req::MR03, Req::MR21, Req::MR30],
        stage: Stage::Core,
        job: FOUR,
        steps: &[
            CreateJob,
            Await(CopyOn(1)),
            Await(CopyOn(2)),
            Report(1, HALF),
            Await(Succeeded(1)),
            DeleteMember(1),
            Hook(RESTART),
            Await(CopyOn(1)),
            Await(RestBeyondSkew),
            Report(1, DONE),
            Report(2, DONE),
            Await(Complete),
        ],
    },
];
