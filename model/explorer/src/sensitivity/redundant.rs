//! The guards without which no property breaks, with the reasons.

use std::fmt;

use jobcheck_spec::catalogue::Req;

/// The reason why no property breaks without a guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Because {
    /// The explorer writes only the right form of what the rule is about, so that nothing breaks the rule.
    OneForm(&'static str),
    /// The id is the name of a special case of other rules. No scope has the case, or no history shows it.
    NoSuchCase(&'static str, &'static [Req]),
    /// Each write that breaks the rule breaks these, too.
    AlsoForbidden(&'static [Req]),
    /// Without the rule, other writes are admitted, and no property is about these.
    NoProperty(&'static str),
}

use Because::{AlsoForbidden, NoProperty, NoSuchCase, OneForm};

const NO_MIRROR: Because = OneForm("no scope has a manager that writes status alone");
const ONE_CLUSTER: Because = OneForm("no scope has two clusters");

/// The guards without which every property holds in every scope of the specification.
pub const REDUNDANT: &[(Req, Because)] = &[
    // Pods that are created.
    (Req::FT01, OneForm("each created pod has the finalizer, once")),
    (Req::PC14, OneForm("a created pod is a copy of the template, which no scope models in detail")),
    (Req::PC16, OneForm("pods have no names")),
    // Numbers and texts of a status.
    (Req::PC01, OneForm("active is the number of active pods")),
    (Req::PC03, OneForm("ready is the number of ready pods")),
    (Req::RP06, OneForm("terminating is always set if its gate is on")),
    (Req::FT30, OneForm("the lists of uncounted pods are never null")),
    (Req::PC19, OneForm("indexes are sets, which have one text")),
    (Req::PF07, OneForm("messages have one text")),
    (Req::TC09, OneForm("a terminal condition is appended after the interim one")),
    (Req::TC15, OneForm("times are those of the scope's clock")),
    (Req::TC16, OneForm("a condition that is written is True, or False for Suspended")),
    // Senders and requests.
    (
        Req::MB04,
        OneForm("no process removes a finalizer from a pod of another manager; MB-03 is about all writes"),
    ),
    (Req::MB09, OneForm("no scope has an external manager that chooses its Jobs")),
    (Req::MB10, OneForm("no request is forbidden")),
    (Req::MB12, OneForm("a status write contains no spec")),
    (Req::MB14, OneForm("no scope has two external managers")),
    (Req::SS33, OneForm("no scope has an external manager whose writes are judged")),
    (Req::SY11, OneForm("a controller has no request for other parts of Jobs and pods")),
    (Req::TT01, OneForm("the TTL controller is asked about Jobs with a TTL alone")),
    (Req::TT06, OneForm("the DELETE has its propagation and its precondition")),
    (Req::TT09, OneForm("the TTL controller is asked about Jobs that are not being deleted")),
    (Req::TT11, OneForm("the TTL controller has no other request")),
    (
        Req::UG07,
        OneForm("the manager of a scope with these gates is a process; the mutant UG-07 breaks the rule"),
    ),
    // Managers that write status alone.
    (Req::MR01, NO_MIRROR),
    (Req::MR02, NO_MIRROR),
    (Req::MR03, NO_MIRROR),
    (Req::MR04, NO_MIRROR),
    (Req::MR05, NO_MIRROR),
    (Req::MR06, NO_MIRROR),
    (Req::MR07, NO_MIRROR),
    (Req::MR08, NO_MIRROR),
    (Req::MR09, NO_MIRROR),
    (Req::MR10, NO_MIRROR),
    (Req::MR11, NO_MIRROR),
    (Req::MR12, NO_MIRROR),
    (Req::MR14, NO_MIRROR),
    (Req::MR15, NO_MIRROR),
    (Req::MR20, ONE_CLUSTER),
    (Req::MR21, ONE_CLUSTER),
    (Req::MR22, ONE_CLUSTER),
    (Req::MR23, ONE_CLUSTER),
    (Req::MR24, ONE_CLUSTER),
    (Req::MR25, ONE_CLUSTER),
    (Req::MR26, ONE_CLUSTER),
    (Req::MR27, ONE_CLUSTER),
    (Req::MR30, ONE_CLUSTER),
    (Req::MR31, ONE_CLUSTER),
    (Req::MR32, ONE_CLUSTER),
    (Req::MR33, ONE_CLUSTER),
    // Names of special cases.
    (Req::BI11, NoSuchCase("a backoffLimit beside backoffLimitPerIndex", &[Req::TC14])),
    (Req::BO04, NoSuchCase("an ignored failure before a delay", &[Req::BO01])),
    (Req::FT04, NoSuchCase("a removal of a finalizer that fails", &[Req::FT02])),
    (Req::J03, NoSuchCase("a pod that is gone when its finalizer is removed", &[Req::FT02])),
    (Req::J05, NoSuchCase("a recorded pod that loses its owner", &[Req::FT02])),
    (Req::PC12, NoSuchCase("a namespace that is being deleted", &[])),
    (Req::PC29, NoSuchCase("a pod of a previous Job", &[Req::FT02])),
    (Req::PF03, NoSuchCase("a FailJob rule that names an exit code, and a pod without it", &[Req::PF06])),
    (Req::PF04, NoSuchCase("a FailJob rule that names a condition, and a pod without it", &[Req::PF06])),
    (Req::PF08, NoSuchCase("a matching pod without the finalizer, and no condition yet", &[Req::TC14])),
    (Req::RP13, NoSuchCase("a policy that changes after a pod was recorded", &[Req::FT13])),
    (Req::S03, NoSuchCase("a deletion that fails", &[Req::FT03])),
    (Req::SU09, NoSuchCase("activeDeadlineSeconds 0", &[Req::TC14])),
    (Req::TC08, NoSuchCase("a deletion that fails", &[Req::TC07])),
    (Req::TT02, NoSuchCase("a completionTime that differs from the finish time", &[Req::TT03])),
    (Req::TT10, NoSuchCase("a finish time in the future", &[Req::TT03])),
    // Rules about the way, where the properties are about the result.
    (Req::BI10, NoProperty("a later sync counts the failures")),
    (Req::SU06, NoProperty("a later sync counts the pods")),
    (Req::PC02, NoProperty("a later write corrects the number, and TC-04 asks for it at the end")),
    (Req::PC09, NoProperty("it orders the deletions, and their number is right")),
    (Req::PC27, NoProperty("only a manager with old caches creates the pod, and the properties excuse it")),
    (Req::TC02, NoProperty("a condition has another reason or message")),
    (Req::SX03, NoProperty("the pods that are still active count nowhere, and are deleted later")),
    (Req::SX04, NoProperty("a failure and the success policy hold, and it says which decides the Job")),
    (Req::SX05, NoProperty("two reasons to complete hold, and it says which is written")),
    (Req::S01, NoProperty("TC-03 asks for successes, counted or recorded")),
    (Req::S08, NoProperty("the manager has not seen the pod; TC-04 asks for those that it has seen")),
    // Gaps of the properties.
    (Req::FT09, NoProperty("a failure of a pod without a valid index is counted")),
    (Req::FT24, NoProperty("a pod that the selector does not match, or that is being deleted, is adopted")),
    (Req::PF01, NoProperty("the reason PodFailurePolicy is written, and the failed pods match other rules")),
    (Req::SC05, NoProperty("the lists are longer than the cap")),
    // Rules that other rules contain.
    (Req::PF09, AlsoForbidden(&[Req::FT03])),
    (Req::S07, AlsoForbidden(&[Req::FT15, Req::FT18, Req::RP03, Req::RP04])),
];

impl Because {
    /// The rules that stand in for the guard.
    #[must_use]
    pub fn others(&self) -> &'static [Req] {
        match self {
            OneForm(_) | NoProperty(_) => &[],
            NoSuchCase(_, others) | AlsoForbidden(others) => others,
        }
    }
}

impl fmt::Display for Because {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids = |others: &[Req]| others.iter().map(|req| req.id()).collect::<Vec<_>>().join(", ");
        match self {
            OneForm(form) => write!(f, "the explorer makes one form: {form}"),
            NoSuchCase(case, []) => write!(f, "the explorer does not know the case: {case}"),
            NoSuchCase(case, others) => {
                write!(f, "the explorer does not know the case: {case}; the general rule is {}", ids(others))
            }
            AlsoForbidden(others) => write!(f, "what it forbids is also forbidden by {}", ids(others)),
            NoProperty(why) => write!(f, "no property is about it: {why}"),
        }
    }
}
