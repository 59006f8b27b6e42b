//! The rulebook: each requirement with its text, its reason, and the code and tests that this project has for it.
//!
//! The text comes from the pages in `docs/reference/requirements/`, which are compiled into this crate. The evidence
//! comes from `evidence.tsv`: guards, properties, mutants, traces, and scenarios. `tests/suite/rulebook.rs` generates
//! that file from the sources, and fails if it is out of date.
//!
//! | item | content |
//! | --- | --- |
//! | [`rule`] | everything about one requirement |
//! | [`section()`], [`sections`], [`pages`] | the text of the reference pages |
//! | [`evidence()`] | the functions, tests, and scenarios for a requirement |
//! | [`reported_as`] | other requirements under which a violation is reported |
//! | [`statements`], [`notes`] | the statements of the five KEPs, and the differences between their texts and Kubernetes |
//!
//! `jobcheck rule ID` prints a [`Rule`].
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
mod statement;

pub use evidence::{EVIDENCE, Evidence, Kind, evidence};
pub use section::{FACTS, Section, numbered, page, pages, section, sections};
pub use statement::{Statement, notes, statements};

use jobcheck_spec::{Req, Requirement};

/// A requirement with its text and its evidence.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The entry of the catalogue: the party that the requirement binds, its level, and how it is decided.
    pub requirement: &'static Requirement,
    /// The section of the reference pages.
    pub section: Section,
    /// The functions, properties, mutants, traces, and scenarios for the requirement.
    pub evidence: Vec<Evidence>,
    /// The requirements under which a violation is reported as well, or instead.
    pub reported_as: Vec<Req>,
}

/// Returns everything about a requirement.
///
/// # Panics
///
/// Panics if the reference pages lack the section. A test rules this out.
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

/// The requirements whose violations list this one under `also`, in the order of the catalogue.
#[must_use]
pub fn reported_as(req: Req) -> Vec<Req> {
    let names = |other: &Req| *other != req && other.also().contains(&req);
    jobcheck_spec::CATALOGUE.iter().map(|entry| entry.req).filter(names).collect()
}
