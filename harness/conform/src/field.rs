//! The scenarios of the profile `field`: an API server and a built-in controller that keep `spec.managedBy` as KEP-4368
//! wants it (`docs/reference/requirements/mb.md`). No controller is under test.
//!
//! Custom resources with such a field follow the same rules (MB-18).

use jobcheck_report::types::Stage;
use jobcheck_spec::Req;

use crate::mirror::ONE;
use crate::scenario::Answer::{Accepts, Refuses};
use crate::scenario::Awaited::{JobGone, Rest, Started, Untouched};
use crate::scenario::Kind::{Custom, Job};
use crate::scenario::Step::{Await, BuiltInWorks, Change, ChangeWithStatus, Create, DeleteJob, Offer};
use crate::scenario::{Scenario, Shape};

/// A value that no controller has.
pub(crate) const NOBODY: &str = "jobcheck.dev/nobody";
/// Another one.
const OTHER: &str = "jobcheck.dev/other";
/// The value of the built-in controller.
const RESERVED: &str = "kubernetes.io/job-controller";
/// 63 bytes.
const LONGEST: &str = "jobcheck.dev/nobody-has-a-name-that-is-as-long-as-this-one-here";
/// 64 bytes.
const TOO_LONG: &str = "jobcheck.dev/nobody-has-a-name-that-is-as-long-as-this-one-here1";

const SUSPENDED: Shape = Shape { suspend: true, ..ONE };

/// The scenarios, in the order in which they are listed.
pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        id: "field/format",
        about: "A domain, a slash, and a path are stored as they are. Anything else is refused.",
        requirements: &[Req::MB01, Req::MB11],
        stage: Stage::Core,
        job: ONE,
        steps: &[
            Offer(Job, Some("example.com/a"), Accepts),
            Offer(Job, Some("a/b"), Accepts),
            Offer(Job, Some("example.com/a/b_C~1"), Accepts),
            Offer(Job, Some("example"), Refuses),
            Offer(Job, Some("example.com/"), Refuses),
            Offer(Job, Some("/a"), Refuses),
            Offer(Job, Some("Example.com/a"), Refuses),
            Offer(Job, Some("example..com/a"), Refuses),
            Offer(Job, Some("example.com/a b"), Refuses),
            Offer(Job, Some(""), Refuses),
        ],
    },
    Scenario {
        id: "field/length",
        about: "63 bytes are stored, and 64 are refused.",
        requirements: &[Req::MB01],
        stage: Stage::Core,
        job: ONE,
        steps: &[Offer(Job, Some(LONGEST), Accepts), Offer(Job, Some(TOO_LONG), Refuses)],
    },
    Scenario {
        id: "field/default",
        about: "A Job without the field is stored without it.",
        requirements: &[Req::MB01, Req::MB02],
        stage: Stage::Core,
        job: SUSPENDED,
        steps: &[Offer(Job, None, Accepts)],
    },
    Scenario {
        id: "field/immutable",
        about: "The value of a Job is neither changed nor removed, not even while the Job is suspended.",
        requirements: &[Req::MB01],
        stage: Stage::Core,
        job: SUSPENDED,
        steps: &[
            Create(Job, Some(NOBODY)),
            Change(Job, Some(OTHER)),
            Change(Job, Some(RESERVED)),
            Change(Job, None),
        ],
    },
    Scenario {
        id: "field/not-added",
        about: "A Job without a value gets none later, not even the reserved one.",
        requirements: &[Req::MB01],
        stage: Stage::Core,
        job: SUSPENDED,
        steps: &[Create(Job, None), Change(Job, Some(NOBODY)), Change(Job, Some(RESERVED))],
    },
    Scenario {
        id: "field/reserved",
        about: "The built-in controller starts a Job with its own value.",
        requirements: &[Req::MB02],
        stage: Stage::Core,
        job: ONE,
        steps: &[BuiltInWorks, Create(Job, Some(RESERVED)), Await(Started), Change(Job, None)],
    },
    Scenario {
        id: "field/keeps-away",
        about: "The built-in controller leaves a Job of somebody else alone.",
        requirements: &[Req::MB02, Req::MB03, Req::MB15],
        stage: Stage::Core,
        job: ONE,
        steps: &[Create(Job, Some(NOBODY)), BuiltInWorks, Await(Rest(2)), Await(Untouched)],
    },
    Scenario {
        id: "field/keeps-away-suspended",
        about: "The same for a suspended Job.",
        requirements: &[Req::MB02, Req::MB03],
        stage: Stage::Core,
        job: SUSPENDED,
        steps: &[Create(Job, Some(NOBODY)), BuiltInWorks, Await(Rest(2)), Await(Untouched)],
    },
    Scenario {
        id: "field/recreated",
        about: "A Job of the built-in controller is created again under its name, for somebody else.",
        requirements: &[Req::MB02, Req::MB03],
        stage: Stage::Core,
        job: ONE,
        steps: &[
            Create(Job, None),
            Await(Started),
            DeleteJob,
            Await(JobGone),
            Create(Job, Some(NOBODY)),
            BuiltInWorks,
            Await(Rest(2)),
            Await(Untouched),
        ],
    },
    Scenario {
        id: "field/status",
        about: "A write of the status does not change the value.",
        requirements: &[Req::MB01, Req::MB12],
        stage: Stage::Extended,
        job: ONE,
        steps: &[Create(Job, Some(NOBODY)), ChangeWithStatus(OTHER)],
    },
    Scenario {
        id: "field/custom-format",
        about: "The format of the value, for a custom resource.",
        requirements: &[Req::MB18],
        stage: Stage::Extended,
        job: ONE,
        steps: &[
            // Only a trace with a Job decides.
            Offer(Job, Some(NOBODY), Accepts),
            Offer(Custom, Some("example.com/a"), Accepts),
            Offer(Custom, Some("example"), Refuses),
            Offer(Custom, Some("example.com/"), Refuses),
            Offer(Custom, Some("/a"), Refuses),
            Offer(Custom, Some("Example.com/a"), Refuses),
        ],
    },
    Scenario {
        id: "field/custom-length",
        about: "The length of the value, for a custom resource.",
        requirements: &[Req::MB18],
        stage: Stage::Extended,
        job: ONE,
        steps: &[
            Offer(Job, Some(NOBODY), Accepts),
            Offer(Custom, Some(LONGEST), Accepts),
            Offer(Custom, Some(TOO_LONG), Refuses),
        ],
    },
    Scenario {
        id: "field/custom-immutable",
        about: "The value of a custom resource is neither changed, nor removed, nor added.",
        requirements: &[Req::MB18],
        stage: Stage::Extended,
        job: ONE,
        steps: &[
            Offer(Job, Some(NOBODY), Accepts),
            Create(Custom, Some(NOBODY)),
            Change(Custom, Some(OTHER)),
            Change(Custom, None),
        ],
    },
    Scenario {
        id: "field/custom-not-added",
        about: "A custom resource without a value gets none later.",
        requirements: &[Req::MB18],
        stage: Stage::Extended,
        job: ONE,
        steps: &[Offer(Job, Some(NOBODY), Accepts), Create(Custom, None), Change(Custom, Some(NOBODY))],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_are_as_long_as_they_say() {
        assert_eq!((LONGEST.len(), TOO_LONG.len()), (63, 64));
    }
}
