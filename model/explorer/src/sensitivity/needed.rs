//! The guards without which a property breaks.

use jobcheck_spec::catalogue::Req;

/// A requirement whose guards are switched off, the smallest scope in which a property breaks, the requirement of this
/// property, and the number of steps. A deadlock has no requirement.
pub type Needed = (Req, &'static str, Option<Req>, usize);

/// The guards without which a property breaks.
pub const NEEDED: &[Needed] = &[
    (Req::FT02, "gates/managed-by", Some(Req::FT31), 5),
    (Req::FT03, "gates/managed-by", Some(Req::FT03), 4),
    (Req::FT06, "gates/managed-by", Some(Req::FT06), 3),
    (Req::FT07, "edited-failed-indexes", Some(Req::FT06), 2),
    (Req::FT08, "edited-failed-indexes", Some(Req::FT31), 4),
    (Req::FT12, "edited-failed-indexes", Some(Req::FT12), 1),
    (Req::FT13, "second-deletion-orphaning", Some(Req::SS37), 7),
    (Req::FT14, "gates/managed-by", Some(Req::FT14), 3),
    (Req::FT15, "adoption", Some(Req::RP03), 7),
    (Req::FT16, "parallelism", Some(Req::FT14), 5),
    (Req::FT17, "edited-failed-indexes", Some(Req::FT14), 5),
    (Req::FT18, "gates/managed-by", Some(Req::RP03), 3),
    (Req::FT19, "orphaning", Some(Req::PC08), 3),
    (Req::FT31, "gates/managed-by", Some(Req::FT31), 5),
    (Req::FT32, "gates/managed-by", Some(Req::FT32), 4),
    (Req::PC04, "gates/managed-by", Some(Req::PC08), 3),
    (Req::PC05, "work-queue", Some(Req::PC08), 5),
    (Req::PC17, "edited-failed-indexes", Some(Req::PC17), 1),
    (Req::PC18, "edited-failed-indexes", Some(Req::BI02), 5),
    (Req::PC20, "elastic-per-index", None, 10),
    (Req::PC21, "edited-failed-indexes", Some(Req::PC21), 3),
    (Req::PC23, "elastic-per-index", Some(Req::FT12), 5),
    (Req::PC24, "gates/managed-by", None, 2),
    (Req::BO01, "backoff-delay", Some(Req::BO01), 3),
    (Req::BO10, "per-index-delay", Some(Req::BI17), 4),
    (Req::BO12, "gates/managed-by", Some(Req::BO12), 2),
    (Req::BO13, "on-failure", Some(Req::BO12), 1),
    (Req::BO15, "full-lists", Some(Req::TC07), 9),
    (Req::BO16, "legacy-pods", Some(Req::TC14), 6),
    (Req::RP02, "eviction", Some(Req::RP11), 5),
    (Req::RP03, "unscheduled-patient", Some(Req::RP11), 3),
    (Req::RP04, "second-deletion-orphaning", Some(Req::RP03), 6),
    (Req::RP05, "suspend-patient", Some(Req::RP11), 6),
    (Req::RP10, "per-index-deletion", Some(Req::BI17), 3),
    (Req::RP12, "replace-failed-indexes", Some(Req::RP12), 3),
    (Req::TC03, "gates/managed-by", Some(Req::SS37), 2),
    (Req::TC04, "gates/managed-by", Some(Req::SS37), 5),
    (Req::TC05, "gates/managed-by", Some(Req::SS37), 2),
    (Req::TC06, "gates/managed-by", Some(Req::SS37), 5),
    (Req::TC07, "gates/managed-by", Some(Req::TC07), 5),
    (Req::TC10, "denied-condition", Some(Req::TC14), 4),
    (Req::TC11, "gates/managed-by", Some(Req::SS37), 7),
    (Req::TC14, "gates/managed-by", Some(Req::TC14), 4),
    (Req::PF06, "ignored-failures", Some(Req::PF06), 3),
    (Req::SX01, "gates/success-policy", Some(Req::SX02), 1),
    (Req::SX02, "gates/success-policy", Some(Req::SX02), 3),
    (Req::BI01, "edited-failed-indexes", Some(Req::BI01), 1),
    (Req::BI02, "edited-failed-indexes", Some(Req::BI02), 1),
    (Req::BI04, "edited-failed-indexes", Some(Req::BI04), 4),
    (Req::BI05, "edited-failed-indexes", Some(Req::BI01), 4),
    (Req::BI06, "edited-failed-indexes", Some(Req::BI06), 1),
    (Req::BI07, "edited-failed-indexes", Some(Req::BI07), 3),
    (Req::BI08, "per-index", Some(Req::BI15), 4),
    (Req::BI15, "edited-failed-indexes", Some(Req::FT03), 3),
    (Req::BI16, "per-index", Some(Req::BI16), 6),
    (Req::SU01, "suspend-patient", Some(Req::SU01), 2),
    (Req::SU02, "suspend-patient", Some(Req::SU02), 3),
    (Req::SU03, "suspend-patient", Some(Req::SU02), 2),
    (Req::SU04, "gates/managed-by", Some(Req::SS37), 3),
    (Req::SU05, "gates/managed-by", Some(Req::SS37), 5),
    (Req::SU08, "removed-deadline", Some(Req::SU08), 1),
    (Req::SU11, "suspend-deadline", Some(Req::SU08), 5),
    (Req::MB03, "gates/beside-another-manager", Some(Req::UG15), 1),
    (Req::SS34, "edited-failed-indexes", Some(Req::SS34), 5),
    (Req::TT03, "ttl", Some(Req::TT03), 6),
    (Req::TT13, "ttl", Some(Req::TT13), 1),
    (Req::UG05, "gates/pod-failure-policy", Some(Req::UG05), 2),
    (Req::S02, "edited-failed-indexes", Some(Req::SS37), 8),
    (Req::S04, "suspend-patient", Some(Req::SS37), 6),
    (Req::S05, "adoption", Some(Req::FT14), 5),
    (Req::S12, "gates/managed-by", None, 8),
];

/// A requirement whose guards are switched off, the scopes that were not explored completely, and the number of states
/// that were explored in each.
pub type Undecided = (Req, &'static [&'static str], usize);

/// The guards without which some scopes have more states than were explored, and no property breaks in these.
pub const UNDECIDED: &[Undecided] = &[
    (
        Req::TC01,
        &[
            "relabelled-pod",
            "indexed-deletion",
            "on-failure",
            "stale-job",
            "lost-owner",
            "edited-limits",
            "suspend-deadline",
            "stale-pods",
            "crash-indexed",
        ],
        300_000,
    ),
    (Req::PF02, &["success-policy-deletion", "crash-indexed", "backoff-deletion"], 300_000),
    (Req::FT26, &["relabelled-pod"], 300_000),
];
