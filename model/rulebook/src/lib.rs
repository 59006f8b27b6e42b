//! The rulebook: each requirement with its text, its reason, and what this project has for it.
//!
//! The text comes from the pages in `docs/reference/requirements/`, which are part of this crate. What stands for a
//! requirement (guards, properties, mutants, traces, scenarios) comes from `evidence.tsv`, which
//! `tests/suite/rulebook.rs` generates from the sources and keeps true.
//!
//! ```
//! use jobcheck_rulebook::{Kind, rule};
//! use jobcheck_spec::Req;
//!
//! let rule = rule(Req::FT03);
//! assert!(rule.section.sentence.contains("finalizer"));
//! assert!(rule.evidence.iter().any(|it| it.kind == Kind::Guard));
//! ```

mod evidence;
mod section;

pub use evidence::{EVIDENCE, Evidence, Kind, evidence};
pub use section::{FACTS, Section, page, pages, section, sections};

use jobcheck_spec::{Req, Requirement};

/// A requirement with everything that is known of it.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The entry of the catalogue: whom it binds, its level, and how it is decided.
    pub requirement: &'static Requirement,
    /// Its section of the reference pages.
    pub section: Section,
    /// What stands for it in this project.
    pub evidence: Vec<Evidence>,
    /// Ids under which a violation of it is reported as well, or instead.
    pub reported_as: Vec<Req>,
}

/// The rule of a requirement.
///
/// # Panics
///
/// The reference pages lack a section, which a test rules out.
#[must_use]
pub fn rule(req: Req) -> Rule {
    Rule {
        requirement: req.entry(),
        section: section(req)
            .expect("every requirement has a section; a test compares the pages with the catalogue"),
        evidence: evidence(req),
        reported_as: reported_as(req),
    }
}

/// The requirements whose violations name this one in `also`.
#[must_use]
pub fn reported_as(req: Req) -> Vec<Req> {
    let names = |other: &Req| *other != req && other.also().contains(&req);
    jobcheck_spec::CATALOGUE.iter().map(|entry| entry.req).filter(names).collect()
}
