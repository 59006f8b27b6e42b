//! Defects of managers that write status alone (`jobcheck_managers::any`).

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use jobcheck_judge::report::Exit;
use jobcheck_managers::any::AnyMutant;
use jobcheck_managers::check::Exploration;

use super::args::{MutantsArgs, Subject};
use super::page;
use super::report::{Row, of_managers};
use crate::check::narrative_of_managers;
use crate::global::Global;
use crate::interrupt::Interrupt;
use crate::output;
use crate::progress::Progress;
use crate::styles::{BOLD, OPEN};
use crate::text::Text;

/// The search for one defect.
pub struct Run {
    /// The defect.
    pub mutant: AnyMutant,
    /// The exploration with the defect.
    pub exploration: Exploration<String>,
    /// True if the same scope holds without the defect.
    pub holds_without: bool,
    /// The time that the search took.
    pub elapsed: Duration,
}

impl Run {
    /// Returns whether the defect breaks its requirement, and nothing else does.
    pub fn is_caught(&self) -> bool {
        self.holds_without && self.exploration.found().is_some_and(|found| found.req == self.mutant.req())
    }
}

/// The searches of one call.
pub struct Report {
    /// The system that got the defects.
    pub subject: Subject,
    /// The searches.
    pub runs: Vec<Run>,
    /// The defects for which the user left no time.
    pub not_run: Vec<AnyMutant>,
}

impl Report {
    /// The exit code.
    pub fn exit(&self) -> Exit {
        match () {
            () if !self.runs.iter().all(Run::is_caught) => Exit::Violates,
            () if !self.not_run.is_empty() => Exit::Inconclusive,
            () => Exit::Conforms,
        }
    }
}

/// Returns whether the arguments choose defects of managers.
pub fn are_chosen(args: &MutantsArgs) -> bool {
    matches!(args.subject, Subject::Mirror | Subject::Aggregate)
        || args.defects.iter().any(|id| AnyMutant::named(id).is_some())
}

/// The subject of a defect.
fn subject(mutant: AnyMutant) -> Subject {
    match mutant {
        AnyMutant::Mirror(_) => Subject::Mirror,
        AnyMutant::Aggregate(_) => Subject::Aggregate,
    }
}

/// The defects that the arguments choose, and their subject; all of the subject if none is named.
fn chosen(args: &MutantsArgs) -> Result<(Subject, Vec<AnyMutant>), String> {
    if args.subject == Subject::Controller {
        return Err(
            "the shipped controllers are no managers that write status alone; remove --subject".to_owned()
        );
    }
    if args.save.is_some() || args.scenario.is_some() {
        return Err("--save and --scenario are for defects of controllers that create pods".to_owned());
    }
    let of_id = |id: &String| {
        AnyMutant::named(id).ok_or_else(|| format!("{id} is no defect of a manager; name such defects alone"))
    };
    let named = args.defects.iter().map(of_id).collect::<Result<Vec<_>, _>>()?;
    // Without --subject, the first defect decides.
    let subject_of_all = match (args.subject, named.first()) {
        (Subject::Algorithm, Some(first)) => subject(*first),
        (given, _) => given,
    };
    if let Some(other) = named.iter().find(|it| subject(**it) != subject_of_all) {
        let (id, other, name) = (other.id(), subject(*other).name(), subject_of_all.name());
        return Err(format!(
            "{id} is a defect of the subject {other}; look for those of {name} in another call"
        ));
    }
    let all = || AnyMutant::all().filter(|it| subject(*it) == subject_of_all).collect();
    Ok((subject_of_all, if named.is_empty() { all() } else { named }))
}

/// Looks for defects of managers, and prints the report. Returns the exit code.
pub fn run(args: &MutantsArgs, global: &Global) -> Exit {
    let (subject, chosen) = match chosen(args) {
        Ok(chosen) => chosen,
        Err(message) => {
            output::error(message);
            return Exit::Unreadable;
        }
    };
    if !page::is_possible(args.page.as_deref()) {
        return Exit::Environment;
    }
    let interrupt = Interrupt::listen();
    let progress = Progress::new(!global.quiet, 1);
    let (mut runs, mut known) = (Vec::new(), BTreeMap::new());
    for (number, mutant) in chosen.iter().copied().enumerate() {
        if interrupt.is_set() {
            break;
        }
        progress.show_message(&format!("{number} of {} defects; {}", chosen.len(), mutant.id()));
        let begun = Instant::now();
        let exploration = mutant.hunt();
        let elapsed = begun.elapsed();
        // Several defects share a scope without them.
        let holds = || mutant.holds_without();
        let holds_without = *known.entry(format!("{:?}", mutant.without())).or_insert_with(holds);
        runs.push(Run { mutant, exploration, holds_without, elapsed });
    }
    progress.finish();
    let not_run = chosen[runs.len()..].to_vec();
    let report = Report { subject, runs, not_run };
    let with_counterexamples = !args.defects.is_empty();
    let rendered =
        args.output.render(|| text(&report, with_counterexamples, global), || of_managers(&report));
    let exit = output::print_report(rendered, args.output, report.exit());
    page::write(args.page.as_deref(), &of_managers(&report), exit)
}

/// The report for people.
fn text(report: &Report, with_counterexamples: bool, global: &Global) -> String {
    let mut out = Text::default();
    if !global.quiet {
        Row::head(&mut out);
        report.runs.iter().for_each(|run| row(run).write(&mut out));
    }
    for run in report.runs.iter().filter(|run| with_counterexamples || !run.is_caught()) {
        let Some(found) = run.exploration.found() else { continue };
        let _ = writeln!(out, "\n{BOLD}{}: {}{BOLD:#}", run.mutant.id(), run.mutant.title());
        narrative_of_managers(found, &mut out);
        let _ = writeln!(out);
    }
    if !report.not_run.is_empty() {
        let left = report.not_run.len();
        let _ = writeln!(out, "{OPEN}interrupted: {left} defects were not looked for{OPEN:#}");
    }
    let caught = report.runs.iter().filter(|run| run.is_caught()).count();
    let _ = writeln!(out, "{caught} of {} defects are caught", report.runs.len());
    out.finish()
}

fn row(run: &Run) -> Row<'_> {
    let found = run.exploration.found();
    Row {
        id: run.mutant.id(),
        issue: "-",
        breaks: found.map(|found| found.req),
        steps: found.map(|found| (found.path.len(), found.cycle_start)),
        elapsed: run.elapsed,
        is_caught: run.is_caught(),
        result: super::result(run.is_caught(), run.holds_without, found.is_some()),
        title: run.mutant.title(),
    }
}
