//! Requirements, and the findings of guards.
//!
//! The table of requirements is [`crate::catalogue`]. Guards and properties name its entries as [`Req`] values, so that
//! the compiler rejects an id that does not exist. A guard reports to [`Findings`]:
//!
//! ```
//! use jobcheck_spec::{Findings, Req};
//!
//! let mut findings = Findings::new();
//! findings.equal(Req::PC01, "active", 2, 3);
//! assert_eq!(findings.broken[0].to_string(), "PC-01: active: expected 2, found 3");
//! ```

mod broken;

use std::fmt;

pub use self::broken::{Broken, Lazy, Operand};
use crate::catalogue::{CATALOGUE, Req};

/// An entry of the catalogue.
#[derive(Clone, Copy, Debug)]
pub struct Requirement {
    /// The variant of the entry.
    pub req: Req,
    /// The stable id, such as `FT-02`.
    pub id: &'static str,
    /// The party that must satisfy the requirement.
    pub binds: Binds,
    /// MUST or SHOULD.
    pub level: Level,
    /// The way in which this project decides the requirement.
    pub judged: Judged,
    /// The KEP section, or the part of Kubernetes' source, that the requirement comes from.
    pub source: &'static str,
    /// The rule in one sentence.
    pub sentence: &'static str,
}

/// The party that a requirement binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binds {
    /// The API server: every stored object satisfies the requirement.
    Api,
    /// Controllers that create pods for a Job.
    Executor,
    /// Every manager of Jobs, mirrors included.
    Manager,
    /// The TTL-after-finished controller.
    Ttl,
    /// Nobody: the inside of one process, or an assumption about the environment.
    Internal,
}

/// The strength of a requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// A KEP or the API contract demands it. Breaking it is a violation.
    Must,
    /// The built-in controller always does it, and others may differ. Breaking it is a warning.
    Should,
}

/// The way in which a requirement is decided (`docs/reference/judging.md`, section 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    /// By a guard on what etcd held. A stale cache excuses nothing.
    Truth,
    /// By a guard that must hold in some allowed view of the caches.
    View,
    /// By a guard that needs actors, refusals, or requests, which a watch does not show.
    Audit,
    /// By the obligations that are open when a trace ends.
    Pending,
    /// By the traces of two clusters: that of the manager and that of its workers.
    Clusters,
    /// By exploration and tests alone. The text states why no trace shows it.
    Explored(&'static str),
    /// Not by this project. The text states why.
    Not(&'static str),
}

impl Judged {
    /// Returns whether a trace can show that the requirement is broken.
    #[must_use]
    pub fn by_trace(self) -> bool {
        matches!(self, Judged::Truth | Judged::View | Judged::Audit | Judged::Pending | Judged::Clusters)
    }
}

impl Req {
    /// The catalogue entry.
    #[must_use]
    pub fn entry(self) -> &'static Requirement {
        &CATALOGUE[self as usize]
    }

    /// The stable id, such as `FT-02`.
    #[must_use]
    pub fn id(self) -> &'static str {
        self.entry().id
    }

    /// Returns the requirement with this id, such as `FT-02`, in upper or lower case; `None` if there is none.
    #[must_use]
    pub fn parse(id: &str) -> Option<Req> {
        CATALOGUE.iter().find(|entry| entry.id.eq_ignore_ascii_case(id)).map(|entry| entry.req)
    }

    /// The other requirements that a write breaks if it breaks this one, in the order of the catalogue.
    ///
    /// Reports list them under `also` (`docs/reference/judging.md`, section 5).
    #[must_use]
    pub fn also(self) -> Vec<Req> {
        let mut others: Vec<Req> = SAME_FACT
            .iter()
            .filter(|set| set.contains(&self))
            .flat_map(|set| set.iter().copied())
            .filter(|other| *other != self)
            .collect();
        let too = BREAKS_TOO.iter().filter(|(finding, _)| *finding == self);
        others.extend(too.flat_map(|(_, broken)| broken.iter().copied()));
        others.sort_unstable();
        others.dedup();
        others
    }
}

impl fmt::Display for Req {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.id())
    }
}

/// Sets of requirements that name one fact (`docs/reference/judging.md`, section 5). The last set is one rule, for the
/// API server and for the mirror that sends the request.
const SAME_FACT: &[&[Req]] = &[
    &[Req::TC04, Req::RP09, Req::SS12, Req::SS13, Req::SS18],
    &[Req::TC03, Req::SS20, Req::SS21],
    &[Req::TC05, Req::SS24, Req::SS25],
    &[Req::BI14, Req::SS17],
    &[Req::FT27, Req::SS02],
    &[Req::MB12, Req::SS32],
];

/// Requirements that a finding of the first id breaks as well. The converse does not hold: H2 is a wrong `active`
/// (PC-01), but not every wrong `active` is H2.
const BREAKS_TOO: &[(Req, &[Req])] = &[
    // A known deviation, and the rules that it breaks.
    (Req::S01, &[Req::TC01]),
    (Req::S02, &[Req::BI14, Req::SS17]),
    (Req::S03, &[Req::PF09]),
    (Req::S04, &[Req::SS10]),
    (Req::S05, &[Req::FT02, Req::FT25]),
    (Req::S07, &[Req::SS02, Req::FT27, Req::PC04]),
    (Req::S09, &[Req::SS19]),
    (Req::S25, &[Req::FT14, Req::FT21]),
    (Req::FT22, &[Req::FT20, Req::FT23]),
    (Req::H1, &[Req::FT14, Req::FT16, Req::PC04]),
    (Req::H2, &[Req::PC01]),
    (Req::H3, &[Req::PC03]),
    (Req::H4, &[Req::PC02]),
    (Req::J01, &[Req::PC01, Req::PC02, Req::PC03]),
    (Req::J02, &[Req::SC05]),
    (Req::J03, &[Req::FT02, Req::FT03, Req::FT04]),
    (Req::J04, &[Req::FT15, Req::PF02]),
    (Req::J05, &[Req::FT02]),
    (Req::J06, &[Req::FT23]),
    (Req::J07, &[Req::BO06]),
    (Req::J08, &[Req::FT20, Req::BO06]),
    (Req::J09, &[Req::PC04, Req::RP04, Req::BO11]),
    (Req::J11, &[Req::SU08]),
    // A special rule, and the general rule that it belongs to.
    (Req::SX04, &[Req::TC01]),
    (Req::SX05, &[Req::TC01]),
    (Req::SU09, &[Req::TC01, Req::TC14]),
    (Req::TC10, &[Req::TC14]),
    (Req::PF08, &[Req::TC14]),
    (Req::BI11, &[Req::TC14]),
    (Req::BO16, &[Req::TC14]),
    (Req::BO15, &[Req::TC07]),
    (Req::TC08, &[Req::TC07]),
    (Req::SX03, &[Req::TC07]),
    (Req::SX01, &[Req::SX02]),
    (Req::PF01, &[Req::PF06]),
    (Req::PF02, &[Req::PF06]),
    (Req::PF03, &[Req::PF06]),
    (Req::PF04, &[Req::PF06]),
    (Req::SU11, &[Req::SU08]),
    (Req::BI05, &[Req::BI01]),
    (Req::BI16, &[Req::PC04]),
    (Req::FT04, &[Req::FT02]),
    (Req::FT08, &[Req::FT02]),
    (Req::FT13, &[Req::FT02]),
    (Req::FT31, &[Req::FT02]),
    (Req::RP13, &[Req::FT13]),
    (Req::FT03, &[Req::FT02]),
    (Req::SS34, &[Req::TC03]),
    (Req::TC11, &[Req::SS34]),
    // A time that is wrong from the beginning, and the TTL that runs from it.
    (Req::TC15, &[Req::TT02, Req::TT10]),
    // A rule of the API server, and the contract of which it enforces a part.
    (Req::SS03, &[Req::TC06]),
    (Req::SS04, &[Req::TC06]),
    (Req::SS06, &[Req::TC06]),
    (Req::SS08, &[Req::TC06]),
    (Req::SS23, &[Req::TC06]),
    (Req::SS26, &[Req::TC05]),
    (Req::SS09, &[Req::SU14]),
    (Req::SS12, &[Req::SS33]),
    (Req::SS18, &[Req::SS33, Req::SS36]),
    (Req::SS19, &[Req::SS36]),
    (Req::SS36, &[Req::SS33]),
    (Req::PC22, &[Req::SP08]),
    (Req::SU12, &[Req::SP08]),
    (Req::MB01, &[Req::SP08]),
    (Req::BI12, &[Req::SP08]),
    // SP-10 repeats the rules of a valid specification for updates.
    (Req::SP02, &[Req::SP10]),
    (Req::SP03, &[Req::SP10]),
    (Req::SP04, &[Req::SP10]),
    (Req::SP05, &[Req::SP10]),
    (Req::SP06, &[Req::SP10]),
    (Req::SP07, &[Req::SP10]),
    (Req::SP15, &[Req::SP10]),
    // One false comparison does not show which of several rules the controller has misread.
    (Req::FT02, &[Req::FT03, Req::FT04]),
    (Req::FT14, &[Req::FT21, Req::PC04, Req::PC08]),
    (Req::PC24, &[Req::TC04, Req::SS12]),
    (Req::BI02, &[Req::BI03, Req::BI17]),
    (Req::BI08, &[Req::BI09]),
    (Req::BO01, &[Req::BO02, Req::BO04, Req::BO07, Req::RP10]),
    (Req::BO10, &[Req::BO07, Req::BI17, Req::RP10]),
    (Req::RP03, &[Req::PC08, Req::PC18, Req::RP02, Req::RP05, Req::RP11, Req::RP12]),
    (Req::TT03, &[Req::TT02, Req::TT08, Req::TT10]),
    (Req::TT01, &[Req::TT08, Req::TT13]),
    (Req::TT06, &[Req::TT13]),
    (Req::TT14, &[Req::TT07, Req::MB07]),
    (Req::FT20, &[Req::MB05]),
    (Req::FT23, &[Req::TT15]),
    // Two managers act on one Job, or a manager acts on a Job that is not its own.
    (Req::MB03, &[Req::MB02, Req::MB14, Req::MB15]),
    (Req::MB09, &[Req::MB14, Req::MB15, Req::MR15]),
    // The contract of managers that write status alone, and the rule for all managers of which it is a part.
    (Req::MR07, &[Req::TC03, Req::SS20, Req::SS21]),
    (Req::MR11, &[Req::TC04, Req::SS12, Req::SS18, Req::SS33, Req::SS36]),
];

/// The requirement that a comparison decides, and the requirement to report if the comparison is false.
///
/// The two are equal for a plain [`Req`], and may differ for a [`Diagnosed`] one.
pub trait Rule {
    /// The requirement that the comparison decides. Its premise is met.
    fn decided(&self) -> Req;
    /// The requirement to report. It is called only if the comparison is false.
    fn accused(self) -> Req;
}

impl Rule for Req {
    fn decided(&self) -> Req {
        *self
    }

    fn accused(self) -> Req {
        self
    }
}

/// A requirement with a diagnosis, which may report a more specific requirement ([`Req::diagnosed_by`]).
#[derive(Clone, Copy, Debug)]
pub struct Diagnosed<F> {
    decided: Req,
    diagnosis: F,
}

impl<F: FnOnce() -> Req> Rule for Diagnosed<F> {
    fn decided(&self) -> Req {
        self.decided
    }

    fn accused(self) -> Req {
        (self.diagnosis)()
    }
}

impl Req {
    /// Attaches a diagnosis: if this requirement is broken, `diagnosis` returns the requirement to report
    /// ([`crate::guards::diagnosis`]).
    pub fn diagnosed_by<F: FnOnce() -> Req>(self, diagnosis: F) -> Diagnosed<F> {
        Diagnosed { decided: self, diagnosis }
    }
}

/// The requirements that a write breaks, and the requirements whose premise was met.
///
/// The premise is the condition under which a requirement applies. A requirement whose premise is never met is not
/// tested by a trace, and reports list it as such.
#[derive(Clone, Debug)]
pub struct Findings {
    /// The broken requirements, in the order in which the guards ran.
    pub broken: Vec<Broken>,
    premises: [u64; Self::WORDS],
}

impl Findings {
    const WORDS: usize = CATALOGUE.len().div_ceil(64);

    /// No finding, and no premise met.
    #[must_use]
    pub fn new() -> Findings {
        Findings { broken: Vec::new(), premises: [0; Self::WORDS] }
    }

    /// Records one comparison, and returns `holds`.
    ///
    /// The premise of the requirement is met. If `holds` is false, the requirement is broken: the write has `found` for
    /// `what`, and the requirement asks for `expected`.
    pub fn require(
        &mut self,
        rule: impl Rule,
        holds: bool,
        what: &'static str,
        expected: impl Into<Operand>,
        found: impl Into<Operand>,
    ) -> bool {
        if holds {
            self.premise(rule.decided());
        } else {
            let req = rule.accused();
            self.premise(req);
            let (expected, found) = (expected.into(), found.into());
            self.broken.push(Broken { req, what, expected, found, known: None });
        }
        holds
    }

    /// Records the comparison `expected == found`, and returns its result.
    pub fn equal<T: PartialEq + Into<Operand>>(
        &mut self,
        rule: impl Rule,
        what: &'static str,
        expected: T,
        found: T,
    ) -> bool {
        self.require(rule, expected == found, what, expected, found)
    }

    /// Records a broken requirement that is a known deviation of the built-in controller.
    pub fn deviation(
        &mut self,
        known: Req,
        what: &'static str,
        expected: impl Into<Operand>,
        found: impl Into<Operand>,
    ) {
        self.premise(known);
        self.broken.push(Broken {
            req: known,
            what,
            expected: expected.into(),
            found: found.into(),
            known: Some(known),
        });
    }

    /// Records that the premise of a requirement was met.
    pub fn premise(&mut self, req: Req) {
        self.premises[req as usize / 64] |= 1 << (req as usize % 64);
    }

    /// Returns whether no requirement is broken.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.broken.is_empty()
    }

    /// Removes all findings and premises, and keeps the allocation.
    pub fn clear(&mut self) {
        self.broken.clear();
        self.premises = [0; Self::WORDS];
    }

    /// Moves the findings of `other` behind those of `self`, and adds its premises.
    pub fn absorb(&mut self, other: &mut Findings) {
        self.broken.append(&mut other.broken);
        for (mine, theirs) in self.premises.iter_mut().zip(other.premises) {
            *mine |= theirs;
        }
    }

    /// The requirements whose premise was met, in the order of the catalogue.
    pub fn premises(&self) -> impl Iterator<Item = Req> + '_ {
        CATALOGUE
            .iter()
            .map(|entry| entry.req)
            .filter(|req| self.premises[*req as usize / 64] >> (*req as usize % 64) & 1 == 1)
    }
}

impl Default for Findings {
    fn default() -> Findings {
        Findings::new()
    }
}
