//! The scenarios of the profile `mirror`: managers that copy the status of a Job elsewhere
//! (`docs/reference/managers.md`, section 2).

use jobcheck_report::types::Stage;
use jobcheck_spec::Req;

use crate::scenario::Awaited::{
    Active, Complete, Copy, CopyEnd, CopyGone, Failed, FailedEnd, JobGone, Rest, StrangersUntouched,
    Succeeded, Suspended,
};
use crate::scenario::Step::{
    AddCondition, AllSucceed, Await, CreateJob, DeleteCopy, DeleteJob, Hook, PodFails, PodSucceeds,
    RemoveStrangers, Resume, Scale, Strangers, Suspend, TakeName,
};
use crate::scenario::{Scenario, Shape};

/// The hook that restarts the manager under test.
pub const RESTART: &str = "restart-manager";
/// The hook that takes the network between the manager and its workers away.
pub const DISCONNECT: &str = "disconnect";
/// The hook that gives it back.
pub const RECONNECT: &str = "reconnect";

/// The names of the hooks.
pub const HOOKS: [&str; 3] = [RESTART, DISCONNECT, RECONNECT];

/// One pod.
pub(crate) const ONE: Shape =
    Shape { completions: 1, parallelism: 1, backoff_limit: 6, indexed: false, suspend: false, ttl: None };
/// Two pods, one after the other.
const TWO: Shape = Shape { completions: 2, ..ONE };

/// The scenarios, in the order in which they are listed.
pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        id: "mirror/success",
        about: "The only pod of the copy succeeds.",
        requirements: &[Req::MR01, Req::MR07, Req::MR11, Req::MR20, Req::MR21],
        stage: Stage::Core,
        job: ONE,
        steps: &[CreateJob, Await(Copy), Await(Active(1)), PodSucceeds, Await(Complete)],
    },
    Scenario {
        id: "mirror/failure",
        about: "The only pod of the copy fails, and no other one is allowed.",
        requirements: &[Req::MR07, Req::MR11, Req::MR20, Req::MR21],
        stage: Stage::Core,
        job: Shape { backoff_limit: 0, ..ONE },
        steps: &[CreateJob, Await(Copy), PodFails, Await(FailedEnd)],
    },
    Scenario {
        id: "mirror/failure-after-success",
        about: "A pod succeeds and is reported; the next one fails, and the Job with it.",
        requirements: &[Req::MR03, Req::MR11, Req::MR21],
        stage: Stage::Core,
        job: Shape { backoff_limit: 0, ..TWO },
        steps: &[CreateJob, Await(Copy), PodSucceeds, Await(Succeeded(1)), PodFails, Await(FailedEnd)],
    },
    Scenario {
        id: "mirror/indexed",
        about: "Both indexes of an Indexed Job succeed, one after the other.",
        requirements: &[Req::MR01, Req::MR02, Req::MR21],
        stage: Stage::Core,
        job: Shape { completions: 2, parallelism: 2, indexed: true, ..ONE },
        steps: &[CreateJob, Await(Copy), PodSucceeds, Await(Succeeded(1)), PodSucceeds, Await(Complete)],
    },
    Scenario {
        id: "mirror/redispatch-after-failure",
        about: "A failure is reported. Then somebody deletes the copy, and its successor succeeds.",
        requirements: &[Req::MR03, Req::MR09, Req::MR24],
        stage: Stage::Core,
        job: ONE,
        steps: &[
            CreateJob,
            Await(Copy),
            PodFails,
            Await(Failed(1)),
            DeleteCopy,
            Await(Copy),
            AllSucceed,
            Await(Complete),
        ],
    },
    Scenario {
        id: "mirror/redispatch-after-success",
        about: "A success is reported. Then somebody deletes the copy, and its successor succeeds.",
        requirements: &[Req::MR03, Req::MR09, Req::MR24],
        stage: Stage::Core,
        job: TWO,
        steps: &[
            CreateJob,
            Await(Copy),
            PodSucceeds,
            Await(Succeeded(1)),
            DeleteCopy,
            Await(Copy),
            AllSucceed,
            Await(Complete),
        ],
    },
    Scenario {
        id: "mirror/copy-deleted-at-its-end",
        about: "Somebody deletes the copy as soon as it has ended.",
        requirements: &[Req::MR21, Req::MR22],
        stage: Stage::Core,
        job: ONE,
        steps: &[CreateJob, Await(Copy), PodSucceeds, Await(CopyEnd), DeleteCopy, Await(Complete)],
    },
    Scenario {
        id: "mirror/recreated",
        about: "The Job is deleted after its copy ran for 6 s, and created again under its name.",
        requirements: &[Req::MR04, Req::MR09, Req::MR23, Req::MR25],
        stage: Stage::Core,
        job: ONE,
        steps: &[
            CreateJob,
            Await(Copy),
            Await(Active(1)),
            Await(Rest(6)),
            DeleteJob,
            Await(JobGone),
            CreateJob,
            Await(Copy),
            AllSucceed,
            Await(Complete),
        ],
    },
    Scenario {
        id: "mirror/suspend-resume",
        about: "The user suspends the Job while a pod runs, and resumes it.",
        requirements: &[Req::MR05, Req::MR13, Req::MR27],
        stage: Stage::Core,
        job: ONE,
        steps: &[
            CreateJob,
            Await(Copy),
            Await(Active(1)),
            Suspend,
            Await(Suspended),
            Resume,
            Await(Active(1)),
            AllSucceed,
            Await(Complete),
        ],
    },
    Scenario {
        id: "mirror/created-suspended",
        about: "The Job is created suspended, and resumed later.",
        requirements: &[Req::MR05, Req::MR13, Req::MR27],
        stage: Stage::Core,
        job: Shape { suspend: true, ..ONE },
        steps: &[CreateJob, Await(Suspended), Resume, Await(Copy), AllSucceed, Await(Complete)],
    },
    Scenario {
        id: "mirror/delete",
        about: "The user deletes the Job while its copy runs.",
        requirements: &[Req::MR25],
        stage: Stage::Core,
        job: ONE,
        steps: &[CreateJob, Await(Copy), Await(Active(1)), DeleteJob, Await(JobGone), Await(CopyGone)],
    },
    Scenario {
        id: "mirror/condition-of-others",
        about: "Somebody adds a condition of their own to the status of the Job.",
        requirements: &[Req::MR06],
        stage: Stage::Core,
        job: ONE,
        steps: &[CreateJob, Await(Copy), Await(Active(1)), AddCondition, PodSucceeds, Await(Complete)],
    },
    Scenario {
        id: "mirror/ttl",
        about: "The Job has a TTL of a second, which a copy may inherit.",
        requirements: &[Req::MR21, Req::MR22, Req::MR26],
        stage: Stage::Core,
        job: Shape { ttl: Some(1), ..ONE },
        steps: &[CreateJob, Await(Copy), PodSucceeds, Await(Complete)],
    },
    Scenario {
        id: "mirror/strangers",
        about: "Jobs of others are on all clusters.",
        requirements: &[Req::MR15, Req::MR25],
        stage: Stage::Core,
        job: ONE,
        steps: &[
            Strangers,
            CreateJob,
            Await(Copy),
            AllSucceed,
            Await(Complete),
            Await(Rest(2)),
            Await(StrangersUntouched),
        ],
    },
    Scenario {
        id: "mirror/name-taken",
        about: "Somebody else has a Job of this name on each worker. Once the name is free, the Job runs.",
        requirements: &[Req::MR23, Req::MR25],
        stage: Stage::Core,
        job: ONE,
        steps: &[
            TakeName,
            CreateJob,
            Await(Rest(3)),
            DeleteJob,
            Await(JobGone),
            Await(Rest(2)),
            Await(StrangersUntouched),
            // Only a Job with a copy can be compared.
            RemoveStrangers,
            CreateJob,
            Await(Copy),
            AllSucceed,
            Await(Complete),
        ],
    },
    Scenario {
        id: "mirror/rest",
        about: "Nothing happens while a pod runs, and nothing happens after the end.",
        requirements: &[Req::MR10],
        stage: Stage::Core,
        job: ONE,
        steps: &[
            CreateJob,
            Await(Copy),
            Await(Active(1)),
            Await(Rest(6)),
            AllSucceed,
            Await(Complete),
            Await(Rest(6)),
        ],
    },
    Scenario {
        id: "mirror/restart",
        about: "The manager is restarted between two successes.",
        requirements: &[Req::MR03, Req::MR21],
        stage: Stage::Core,
        job: TWO,
        steps: &[
            CreateJob,
            Await(Copy),
            PodSucceeds,
            Await(Succeeded(1)),
            Hook(RESTART),
            PodSucceeds,
            Await(Complete),
        ],
    },
    Scenario {
        id: "mirror/disconnected-at-the-end",
        about: "The copy ends while its worker is unreachable.",
        requirements: &[Req::MR21, Req::MR22],
        stage: Stage::Core,
        job: ONE,
        steps: &[
            CreateJob,
            Await(Copy),
            Await(Active(1)),
            Hook(DISCONNECT),
            PodSucceeds,
            Await(CopyEnd),
            Hook(RECONNECT),
            Await(Complete),
        ],
    },
    Scenario {
        id: "mirror/recreated-while-disconnected",
        about: "The Job is deleted and created again while its worker is unreachable.",
        requirements: &[Req::MR04, Req::MR23],
        stage: Stage::Core,
        job: ONE,
        steps: &[
            CreateJob,
            Await(Copy),
            Await(Active(1)),
            Hook(DISCONNECT),
            DeleteJob,
            Await(JobGone),
            CreateJob,
            Hook(RECONNECT),
            Await(Copy),
            AllSucceed,
            Await(Complete),
        ],
    },
    Scenario {
        id: "mirror/scale",
        about: "The user raises parallelism while a pod runs.",
        requirements: &[Req::MR12, Req::MR20],
        stage: Stage::Extended,
        job: TWO,
        steps: &[
            CreateJob,
            Await(Copy),
            Await(Active(1)),
            Scale(2),
            Await(Active(2)),
            AllSucceed,
            Await(Complete),
        ],
    },
];
