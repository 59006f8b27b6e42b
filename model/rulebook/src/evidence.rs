//! The evidence for a requirement: the code that decides it, and the tests that exercise it.

use jobcheck_spec::Req;

/// The evidence for all requirements: one item a line, with id, kind, name, and file, separated by tabs.
pub const EVIDENCE: &str = include_str!("../evidence.tsv");

/// The kind of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A function that decides the rule for a write of a controller.
    Guard,
    /// A function that decides the rule as the API server does.
    ApiServer,
    /// A function that lists the rule as an open obligation.
    Obligation,
    /// A function of the judge that decides the rule from the trace.
    Judge,
    /// A function that names the rule in a verdict, for the functions that decide it.
    Reports,
    /// A function or type of the shipped controllers whose comments name the rule.
    Controller,
    /// A function or type of the reference algorithm, or of its processes, whose comments name the rule.
    Algorithm,
    /// A property that the explorer checks.
    Property,
    /// A known defect that breaks the rule.
    Mutant,
    /// A trace in the corpus that breaks the rule.
    InvalidTrace,
    /// A scenario that names the rule.
    Scenario,
}

impl Kind {
    /// All kinds, in the order in which they are shown.
    pub const ALL: [Kind; 11] = [
        Kind::Guard,
        Kind::ApiServer,
        Kind::Obligation,
        Kind::Judge,
        Kind::Reports,
        Kind::Controller,
        Kind::Algorithm,
        Kind::Property,
        Kind::Mutant,
        Kind::InvalidTrace,
        Kind::Scenario,
    ];

    /// The name of the kind in `evidence.tsv` and in JSON.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Kind::Guard => "guard",
            Kind::ApiServer => "apiServer",
            Kind::Obligation => "obligation",
            Kind::Judge => "judge",
            Kind::Reports => "reports",
            Kind::Controller => "controller",
            Kind::Algorithm => "algorithm",
            Kind::Property => "property",
            Kind::Mutant => "mutant",
            Kind::InvalidTrace => "invalidTrace",
            Kind::Scenario => "scenario",
        }
    }

    /// Returns whether items of this kind are code that decides a rule.
    #[must_use]
    pub fn decides(self) -> bool {
        matches!(self, Kind::Guard | Kind::ApiServer | Kind::Obligation | Kind::Judge)
    }
}

/// An item of evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// The kind of the item.
    pub kind: Kind,
    /// The name of the function, type, property, mutant, trace, or scenario.
    pub name: &'static str,
    /// The path of its file, relative to the workspace.
    pub file: &'static str,
}

/// The evidence for a requirement, sorted by kind.
#[must_use]
pub fn evidence(req: Req) -> Vec<Evidence> {
    EVIDENCE.lines().filter_map(|line| parse(line, req.id())).collect()
}

fn parse(line: &'static str, wanted: &str) -> Option<Evidence> {
    let mut fields = line.split('\t');
    let (id, word, name, file) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    let kind = Kind::ALL.into_iter().find(|kind| kind.word() == word)?;
    (id == wanted).then_some(Evidence { kind, name, file })
}
