//! What a requirement is, and what a broken one looks like.
//!
//! The catalogue itself is the table in [`crate::catalogue`]; guards and properties name its entries as
//! [`Req`] values, so that a requirement that does not exist cannot be cited.

use std::fmt;

use crate::catalogue::{CATALOGUE, Req};
use crate::indexes::IndexSet;
use crate::time::Time;
use crate::uid::Uid;

/// An entry of the catalogue.
#[derive(Clone, Copy, Debug)]
pub struct Requirement {
    /// The entry's own value.
    pub req: Req,
    /// Stable id, such as `FT-02`.
    pub id: &'static str,
    /// Whom it binds.
    pub binds: Binds,
    /// How strongly.
    pub level: Level,
    /// How this project decides it.
    pub judged: Judged,
    /// Where it comes from: KEP section, or the part of Kubernetes' source.
    pub source: &'static str,
    /// The rule in one sentence.
    pub sentence: &'static str,
}

/// Whom a requirement binds (tags a to e of the catalogue page).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binds {
    /// Every stored object; the API server enforces it (a).
    Api,
    /// Controllers that create pods for a Job (b).
    Executor,
    /// Every manager of Jobs, mirrors included (c).
    Manager,
    /// The TTL-after-finished controller (d).
    Ttl,
    /// Internal to a process, or an assumption about the environment (e).
    Internal,
}

/// How strongly a requirement binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// A KEP or the API contract demands it.
    Must,
    /// The built-in always does it; others may differ.
    Should,
}

/// How a requirement is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    /// By a guard on what etcd held; never excused by a stale cache.
    Truth,
    /// By a guard on what some allowed view of the caches showed.
    View,
    /// By a guard that needs actors, refusals, or requests: only the audit and native forms show it.
    Audit,
    /// By what is still owed when a trace ends.
    Pending,
    /// By exploration alone; the reason why no trace shows it.
    Explored(&'static str),
    /// Not by this project's specification; the reason.
    Not(&'static str),
}

impl Judged {
    /// Whether an edited trace can break it.
    #[must_use]
    pub fn by_trace(self) -> bool {
        matches!(self, Judged::Truth | Judged::View | Judged::Audit | Judged::Pending)
    }
}

impl Req {
    /// The catalogue entry.
    #[must_use]
    pub fn entry(self) -> &'static Requirement {
        &CATALOGUE[self as usize]
    }

    /// The stable id.
    #[must_use]
    pub fn id(self) -> &'static str {
        self.entry().id
    }

    /// Looks an id up, in any case: `FT-02`.
    #[must_use]
    pub fn parse(id: &str) -> Option<Req> {
        CATALOGUE.iter().find(|entry| entry.id.eq_ignore_ascii_case(id)).map(|entry| entry.req)
    }

    /// Other ids that a finding of this one breaks (judging.md 5), this one excluded.
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

/// Sets of ids that name one fact from several sides (judging.md 5). The last is one rule, told of the request and
/// of the mirror that makes it.
const SAME_FACT: &[&[Req]] = &[
    &[Req::TC04, Req::RP09, Req::SS12, Req::SS13, Req::SS18],
    &[Req::TC03, Req::SS20, Req::SS21],
    &[Req::TC05, Req::SS24, Req::SS25],
    &[Req::BI14, Req::SS17],
    &[Req::FT27, Req::SS02],
    &[Req::MB12, Req::SS32],
];

/// What a finding of the first id breaks as well. It does not hold the other way round: a wrong `active` (PC-01)
/// is no deviation H2, but H2 is a wrong `active`.
const BREAKS_TOO: &[(Req, &[Req])] = &[
    // A documented deviation, and the rule that it departs from.
    (Req::S01, &[Req::TC01]),
    (Req::S02, &[Req::BI14, Req::SS17]),
    (Req::S03, &[Req::PF09]),
    (Req::S04, &[Req::SS10]),
    (Req::S05, &[Req::FT02, Req::FT25]),
    (Req::S07, &[Req::SS02, Req::FT27, Req::PC04]),
    (Req::S09, &[Req::SS19]),
    (Req::S25, &[Req::FT14, Req::FT21]),
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
    // A narrower rule, and the wider one that it belongs to.
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
    // What the API server enforces of a contract that has more to it.
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
    // SP-10 repeats on updates what makes a specification valid.
    (Req::SP02, &[Req::SP10]),
    (Req::SP03, &[Req::SP10]),
    (Req::SP04, &[Req::SP10]),
    (Req::SP05, &[Req::SP10]),
    (Req::SP06, &[Req::SP10]),
    (Req::SP07, &[Req::SP10]),
    (Req::SP15, &[Req::SP10]),
    // One false comparison, from which it cannot be told which of several rules was misread.
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
    // Two managers on one Job, or one on a Job that is not its own.
    (Req::MB03, &[Req::MB02, Req::MB14, Req::MB15]),
    (Req::MB09, &[Req::MB14, Req::MB15]),
];

/// A requirement that a write breaks: the false comparison, with both sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The requirement.
    pub req: Req,
    /// What was compared: a field, or a count.
    pub what: &'static str,
    /// What the requirement asks for: the nearest value that would have been accepted.
    pub expected: Said,
    /// What the write holds.
    pub found: Said,
    /// The documented deviation of the built-in that this is, if its pattern fits exactly.
    pub known: Option<Req>,
}

/// One side of a comparison, kept as data until somebody reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// Fixed words.
    Words(&'static str),
    /// A number.
    Number(i64),
    /// An instant.
    Time(Time),
    /// A pod or a Job.
    Uid(Uid),
    /// Indexes.
    Indexes(IndexSet),
    /// Anything that has to be put together.
    Text(String),
}

/// A side of a comparison that is put together only if the comparison is false.
#[derive(Clone, Copy, Debug)]
pub struct Later<F>(F);

impl Said {
    /// Puts a side together only if the comparison is false: a guard that holds allocates nothing.
    pub fn later<T: Into<Said>, F: FnOnce() -> T>(said: F) -> Later<F> {
        Later(said)
    }
}

impl<T: Into<Said>, F: FnOnce() -> T> From<Later<F>> for Said {
    fn from(later: Later<F>) -> Said {
        (later.0)().into()
    }
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Said::Words(words) => f.pad(words),
            Said::Number(number) => write!(f, "{number}"),
            Said::Time(time) => write!(f, "{time}"),
            Said::Uid(uid) => write!(f, "{uid:?}"),
            Said::Indexes(set) => write!(f, "\"{set}\""),
            Said::Text(text) => f.pad(text),
        }
    }
}

macro_rules! said_from {
    ($($from:ty => |$value:ident| $said:expr;)*) => {
        $(impl From<$from> for Said {
            fn from($value: $from) -> Said { $said }
        })*
    };
}

said_from! {
    &'static str => |words| Said::Words(words);
    String => |text| Said::Text(text);
    i64 => |number| Said::Number(number);
    i32 => |number| Said::Number(i64::from(number));
    u32 => |number| Said::Number(i64::from(number));
    usize => |number| Said::Number(i64::try_from(number).unwrap_or(i64::MAX));
    Time => |time| Said::Time(time);
    Uid => |uid| Said::Uid(uid);
    IndexSet => |set| Said::Indexes(set);
}

/// The requirement that a comparison decides, and the one to accuse where the comparison is false.
pub trait Rule {
    /// The requirement that the comparison decides: its premise is met.
    fn decided(&self) -> Req;
    /// The requirement to accuse, asked only where the comparison is false.
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

/// A requirement whose breach may be that of a narrower one ([`Req::diagnosed_by`]).
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
    /// This requirement decides; where it is broken, `diagnosis` finds out which narrower one was misread
    /// ([`crate::guards::diagnosis`]).
    pub fn diagnosed_by<F: FnOnce() -> Req>(self, diagnosis: F) -> Diagnosed<F> {
        Diagnosed { decided: self, diagnosis }
    }
}

/// Collects what a write breaks, and which requirements had their premise.
#[derive(Clone, Debug)]
pub struct Findings {
    /// The broken requirements, in the order in which the guards stand.
    pub broken: Vec<Broken>,
    premises: [u64; Self::WORDS],
}

impl Findings {
    const WORDS: usize = CATALOGUE.len().div_ceil(64);

    /// Nothing judged yet.
    #[must_use]
    pub fn new() -> Findings {
        Findings { broken: Vec::new(), premises: [0; Self::WORDS] }
    }

    /// Judges one comparison: `holds`, or the requirement is broken. Returns `holds`.
    pub fn require(
        &mut self,
        rule: impl Rule,
        holds: bool,
        what: &'static str,
        expected: impl Into<Said>,
        found: impl Into<Said>,
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

    /// Judges an equation.
    pub fn equal<T: PartialEq + Into<Said>>(
        &mut self,
        rule: impl Rule,
        what: &'static str,
        expected: T,
        found: T,
    ) -> bool {
        self.require(rule, expected == found, what, expected, found)
    }

    /// Reports a broken requirement that is a documented deviation of the built-in.
    pub fn deviation(
        &mut self,
        known: Req,
        what: &'static str,
        expected: impl Into<Said>,
        found: impl Into<Said>,
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

    /// Notes that a requirement's premise was met.
    pub fn premise(&mut self, req: Req) {
        self.premises[req as usize / 64] |= 1 << (req as usize % 64);
    }

    /// Whether nothing is broken.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.broken.is_empty()
    }

    /// Forgets everything, keeping the allocation.
    pub fn clear(&mut self) {
        self.broken.clear();
        self.premises = [0; Self::WORDS];
    }

    /// Adds what `other` found.
    pub fn absorb(&mut self, other: &mut Findings) {
        self.broken.append(&mut other.broken);
        for (mine, theirs) in self.premises.iter_mut().zip(other.premises) {
            *mine |= theirs;
        }
    }

    /// The requirements whose premise was met.
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
