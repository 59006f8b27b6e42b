//! What this project has for a requirement, as a test collects it from the sources.

use jobcheck_spec::Req;

/// The collected evidence: id, kind, name and file of each item, separated by tabs.
pub const EVIDENCE: &str = include_str!("../evidence.tsv");

/// What an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A function that decides the rule about a write of a controller.
    Guard,
    /// A function that decides the rule as the API server does.
    ApiServer,
    /// A function that lists the rule as something that must still happen.
    Obligation,
    /// A function of the judge that decides the rule from the trace.
    Judge,
    /// A function or type of the shipped controllers whose comments name the rule.
    Controller,
    /// A function or type of the reference algorithm or of the processes that run it, likewise.
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
    pub const ALL: [Kind; 10] = [
        Kind::Guard,
        Kind::ApiServer,
        Kind::Obligation,
        Kind::Judge,
        Kind::Controller,
        Kind::Algorithm,
        Kind::Property,
        Kind::Mutant,
        Kind::InvalidTrace,
        Kind::Scenario,
    ];

    /// The word in `evidence.tsv`, and in JSON.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Kind::Guard => "guard",
            Kind::ApiServer => "apiServer",
            Kind::Obligation => "obligation",
            Kind::Judge => "judge",
            Kind::Controller => "controller",
            Kind::Algorithm => "algorithm",
            Kind::Property => "property",
            Kind::Mutant => "mutant",
            Kind::InvalidTrace => "invalidTrace",
            Kind::Scenario => "scenario",
        }
    }

    /// Whether items of this kind are code that decides a rule.
    #[must_use]
    pub fn decides(self) -> bool {
        matches!(self, Kind::Guard | Kind::ApiServer | Kind::Obligation | Kind::Judge)
    }
}

/// One item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// What it is.
    pub kind: Kind,
    /// The function, the property, the mutant, the trace, or the scenario.
    pub name: &'static str,
    /// The file, relative to the workspace.
    pub file: &'static str,
}

/// Everything that was collected for a requirement, by kind.
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
