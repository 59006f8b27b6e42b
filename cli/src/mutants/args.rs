//! Arguments of `jobcheck mutants`.

use std::path::{Path, PathBuf};

use clap::Args;
use jobcheck_adapter::{mutations, of_the_controller};
use jobcheck_explorer::mutants::Mutant;
use jobcheck_explorer::scope::Scope;

use crate::format::Format;
use crate::save::Folder;

/// Arguments of `jobcheck mutants`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct MutantsArgs {
    /// Defects to look for, such as B18; by default all. The counterexample of each is printed.
    #[arg(value_name = "DEFECT")]
    pub defects: Vec<String>,
    /// The system that gets the defects.
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = Subject::Algorithm)]
    pub subject: Subject,
    /// Form of the report. Schema: docs/reference/schemas/mutants.schema.json.
    #[arg(short, long, value_name = "FORM", value_parser = Format::without_junit(), default_value = "text")]
    pub output: Format,
    /// Write the counterexample of each defect to this directory, as a native trace for `jobcheck replay`.
    #[arg(long, value_name = "DIR")]
    pub save: Option<PathBuf>,
    /// With --save: write the page of `jobcheck view` beside each trace.
    #[arg(long, requires = "save")]
    pub html: bool,
    /// Write the report to this file as one HTML page, with the counterexample of each defect.
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,
    /// Write the counterexample of a defect to this file, as a scenario that only `jobcheck run --mutant ID` breaks.
    ///
    /// A directory, or a path without an extension, gets a scenario for each defect.
    #[arg(long, value_name = "FILE")]
    pub scenario: Option<PathBuf>,
}

/// The system that gets the defects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Subject {
    /// The reference algorithm. Each defect must break its requirement after the expected number of steps.
    Algorithm,
    /// The shipped controllers, whose input or plan is changed. Some defects do not apply to them.
    Controller,
    /// The mirror protocol between two clusters, with mutations, and Kueue's adapter (K1 to K5).
    Mirror,
    /// The sum of several Jobs, with mutations.
    Aggregate,
}

impl Subject {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Subject::Algorithm => "algorithm",
            Subject::Controller => "controller",
            Subject::Mirror => "mirror",
            Subject::Aggregate => "aggregate",
        }
    }

    /// The scope of a defect with this system in it.
    pub fn placed(self, scope: Scope) -> Scope {
        match self {
            Subject::Algorithm | Subject::Mirror | Subject::Aggregate => scope,
            Subject::Controller => of_the_controller(scope),
        }
    }

    /// Returns whether the system can have a defect.
    pub fn can_have(self, mutant: &Mutant) -> bool {
        match self {
            Subject::Algorithm => true,
            Subject::Controller => mutations::can_have(mutant),
            Subject::Mirror | Subject::Aggregate => false,
        }
    }
}

impl MutantsArgs {
    /// The directory of saved traces.
    pub fn folder(&self) -> Option<Folder<'_>> {
        let folder = |directory| Folder { directory, redacts: false, pages: self.html };
        self.save.as_deref().map(folder)
    }

    /// Returns whether scenarios go to a directory, a file for each defect.
    pub fn scenarios_are_many(&self) -> bool {
        let is_directory = |path: &Path| path.is_dir() || (path.extension().is_none() && !path.exists());
        self.scenario.as_deref().is_some_and(is_directory)
    }
}

const AFTER_HELP: &str = "\
A defect is a change of one or two lines that makes the code wrong in the way
in which a Job controller was wrong once, or still is. Deviations of Kubernetes
1.36 have the ids of their findings (S-04, H3, J-01), defects that were reported
upstream those of the collection (B18). For each defect, a search looks for the
shortest path that breaks its requirement. Without the defect, the same scope
must hold.

The column steps has the length of that path. If the defect makes a Job never
finish, it has the steps to the cycle and the length of the cycle, such as 16+2;
a cycle of length 0 means that nothing more happens.

Examples:
  jobcheck mutants                         looks for all defects
  jobcheck mutants B18                     prints the counterexample of B18
  jobcheck mutants --subject mirror        looks for those of managers that
                                           copy the status of a Job elsewhere
  jobcheck mutants --subject aggregate     looks for those of managers that
                                           sum up several Jobs
  jobcheck mutants K5                      prints how Kueue runs a Job twice
  jobcheck mutants --subject controller    looks for them in our own controllers
  jobcheck mutants B18 --scenario b18.yaml && jobcheck run --mutant B18 b18.yaml

Ctrl-C ends the search, and the report of the defects so far is printed.

Exit codes:
  0  every defect is caught as expected, and no scope breaks without it
  1  a defect is not caught, or a scope breaks without it
  2  wrong usage, or no such defect
  3  interrupted before all defects were looked for
  4  a file or the output cannot be written
  5  internal error: please report it";
