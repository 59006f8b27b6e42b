//! Whose decisions are explored: the scopes of a subject, and a known defect in them.

use clap::ValueEnum;
use jobcheck_adapter::mutations::{can_have, is_of_the_plan};
use jobcheck_adapter::of_the_controller;
use jobcheck_explorer::mutants::Mutant;
use jobcheck_explorer::mutations::Mutations;
use jobcheck_explorer::scope::Scope;

/// What manages the Jobs of a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Subject {
    /// The specification: every write that it admits.
    #[value(alias = "spec")]
    Specification,
    /// The reference algorithm, one request at a time, with stale caches and faults.
    Algorithm,
    /// The shipped controllers' decisions, in the scopes of the reference algorithm.
    Controller,
    /// The specification, and then the reference algorithm.
    All,
}

impl Subject {
    /// The scopes of these that it can manage, with it in them; all of them come from the same argument.
    ///
    /// # Errors
    ///
    /// There is none, and which there are.
    pub fn of_named(self, name: &str, scopes: Vec<Scope>) -> Result<Vec<Scope>, String> {
        let runs = |scope: &Scope| scope.algorithm().is_some();
        let (of_controllers, of_the_specification): (Vec<Scope>, Vec<Scope>) =
            scopes.iter().cloned().partition(runs);
        let found = match self {
            Subject::All => scopes,
            Subject::Specification => of_the_specification,
            Subject::Algorithm => of_controllers,
            Subject::Controller => of_controllers.into_iter().map(of_the_controller).collect(),
        };
        if found.is_empty() { Err(self.nothing(name)) } else { Ok(found) }
    }

    fn nothing(self, name: &str) -> String {
        let base = name.rsplit('/').next().unwrap_or(name);
        if self == Subject::Specification {
            return format!("{name} is a scope of controllers; that of the specification is {base}");
        }
        let end = format!("/{base}");
        let known = jobcheck_explorer::check::scopes();
        let like = |scope: &&Scope| scope.algorithm().is_some() && scope.name.ends_with(&end);
        let like: Vec<&str> = known.iter().filter(like).map(|scope| scope.name).collect();
        let hint = if like.is_empty() { String::new() } else { format!(": {}", like.join(", ")) };
        format!(
            "{name} is a scope of the specification; those of controllers have other names{hint} (--list \
             --subject algorithm shows all)"
        )
    }
}

/// Why the plan of the shipped controllers cannot have a defect; none if it can.
pub fn not_in_the_plan(mutant: &Mutant) -> Option<String> {
    let why = "what it changes is not in the plan of the shipped controllers for a Job";
    (!is_of_the_plan(mutant)).then(|| format!("{}: {why} (jobcheck mutants --subject controller)", mutant.id))
}

/// The defect's own world, where no scope is named; else the scopes with the defect in them.
///
/// # Errors
///
/// The subject has no such defect.
pub fn with_defect(mutant: &Mutant, subject: Subject, named: Vec<Scope>) -> Result<Vec<Scope>, String> {
    match subject {
        Subject::All | Subject::Algorithm => {}
        Subject::Specification => {
            return Err("--mutant needs a controller: the specification has none".to_owned());
        }
        Subject::Controller => {
            if !can_have(mutant) {
                return Err(format!(
                    "the shipped controllers have nothing in which {} could be (jobcheck mutants --subject \
                     controller)",
                    mutant.id
                ));
            }
        }
    }
    if named.is_empty() {
        let scope = mutant.scope();
        return Ok(vec![if subject == Subject::Controller { of_the_controller(scope) } else { scope }]);
    }
    if let Some(scope) = named.iter().find(|scope| scope.algorithm().is_none()) {
        return Err(format!("--mutant needs scopes of a controller, and {} is none", scope.name));
    }
    let with = |scope: Scope| {
        let mutations = Mutations::of(mutant.mutations);
        let rules = mutations.on_server(scope.rules);
        Scope { rules, ..scope }.with_mutations(mutations)
    };
    Ok(named.into_iter().map(with).collect())
}
