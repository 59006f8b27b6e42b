//! The system under test of an exploration, and known defects in it.

use clap::ValueEnum;
use jobcheck_adapter::mutations::{can_have, is_of_the_plan};
use jobcheck_adapter::of_the_controller;
use jobcheck_explorer::mutants::Mutant;
use jobcheck_explorer::mutations::Mutations;
use jobcheck_explorer::scope::Scope;
use jobcheck_managers::{aggregate, contract, scope as managers};
use jobcheck_spec::Req;

/// The system under test: what manages the Jobs of a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Subject {
    /// The specification: every write that it admits.
    #[value(alias = "spec")]
    Specification,
    /// The reference algorithm: one request at a time, with stale caches and faults.
    Algorithm,
    /// The shipped controllers, in the scopes of the reference algorithm.
    Controller,
    /// The specification, then the reference algorithm.
    All,
    /// The mirror protocol between two clusters, in the scopes of the family managers.
    Mirror,
    /// Kueue's adapter in the same scopes. It breaks the contract of managers.
    Kueue,
    /// The loosest manager: every status that the contract admits, in the scopes of the family contract.
    Contract,
    /// The sum of several Jobs, in the scopes of the family aggregate.
    Aggregate,
}

/// Returns whether controllers manage the Jobs of a scope, and not the specification.
pub fn has_controllers(scope: &Scope) -> bool {
    scope.algorithm().is_some()
}

impl Subject {
    /// The family of the scopes of a manager that writes status alone. `None` for a subject that creates pods.
    pub fn family(self) -> Option<&'static str> {
        match self {
            Subject::Mirror | Subject::Kueue => Some(managers::FAMILY),
            Subject::Contract => Some(contract::FAMILY),
            Subject::Aggregate => Some(aggregate::FAMILY),
            Subject::Specification | Subject::Algorithm | Subject::Controller | Subject::All => None,
        }
    }

    /// The scopes of one argument that this subject can manage, with the subject in them.
    ///
    /// # Errors
    ///
    /// There is no such scope. The message lists similar scopes of this subject.
    pub fn of_named(self, name: &str, scopes: Vec<Scope>) -> Result<Vec<Scope>, String> {
        let (of_controllers, of_the_specification): (Vec<Scope>, Vec<Scope>) =
            scopes.iter().cloned().partition(has_controllers);
        let found = match self {
            Subject::All => scopes,
            Subject::Specification => of_the_specification,
            Subject::Algorithm => of_controllers,
            Subject::Controller => of_controllers.into_iter().map(of_the_controller).collect(),
            Subject::Mirror | Subject::Kueue | Subject::Contract | Subject::Aggregate => Vec::new(),
        };
        if found.is_empty() { Err(self.no_scope(name)) } else { Ok(found) }
    }

    fn no_scope(self, name: &str) -> String {
        let base = name.rsplit('/').next().unwrap_or(name);
        if self == Subject::Specification {
            return format!("{name} is a scope of controllers; use {base}, the one of the specification");
        }
        let end = format!("/{base}");
        let known = jobcheck_explorer::check::scopes();
        let is_similar = |scope: &&Scope| has_controllers(scope) && scope.name.ends_with(&end);
        let similar: Vec<&str> = known.iter().filter(is_similar).map(|scope| scope.name).collect();
        let hint =
            if similar.is_empty() { String::new() } else { format!(", such as {}", similar.join(", ")) };
        format!(
            "{name} is a scope of the specification; use a scope of controllers{hint} (--list --subject algorithm \
             lists all)"
        )
    }
}

/// The reason why the plan of the shipped controllers cannot have a defect; `None` if it can.
pub fn not_in_the_plan(mutant: &Mutant) -> Option<String> {
    let why = "this defect changes something that is not in the plan of the shipped controllers for a Job";
    (!is_of_the_plan(mutant)).then(|| format!("{}: {why} (jobcheck mutants --subject controller)", mutant.id))
}

/// A note for a search that has found another requirement than the one that the defect is known for.
pub fn other_requirement(id: &str, known: Req, found: Req) -> Option<String> {
    (known != found).then(|| {
        format!(
            "{id} is known for breaking {known}; this run stops at the first requirement that breaks, {found} \
             (jobcheck mutants {id} looks for {known})"
        )
    })
}

/// The defect's own scope if no scope is named, else the named scopes with the defect in them.
///
/// # Errors
///
/// The subject, or a named scope, cannot have this defect.
pub fn with_defect(mutant: &Mutant, subject: Subject, named: Vec<Scope>) -> Result<Vec<Scope>, String> {
    match subject {
        Subject::All | Subject::Algorithm => {}
        Subject::Mirror | Subject::Kueue | Subject::Contract | Subject::Aggregate => {
            return Err(format!("{} needs --subject algorithm or controller", mutant.id));
        }
        Subject::Specification => {
            return Err("--mutant needs --subject algorithm or controller: the specification has no defects"
                .to_owned());
        }
        Subject::Controller => {
            if !can_have(mutant) {
                return Err(format!(
                    "{} does not apply to the shipped controllers (jobcheck mutants --subject controller)",
                    mutant.id
                ));
            }
        }
    }
    if named.is_empty() {
        let scope = mutant.scope();
        return Ok(vec![if subject == Subject::Controller { of_the_controller(scope) } else { scope }]);
    }
    if let Some(scope) = named.iter().find(|scope| !has_controllers(scope)) {
        return Err(format!(
            "--mutant needs scopes of a controller; {} is one of the specification",
            scope.name
        ));
    }
    let with = |scope: Scope| {
        let mutations = Mutations::of(mutant.mutations);
        let rules = mutations.on_server(scope.rules);
        Scope { rules, ..scope }.with_mutations(mutations)
    };
    Ok(named.into_iter().map(with).collect())
}
