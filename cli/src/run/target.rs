//! The targets on which scenarios run.

use jobcheck_scenario::TargetName;

/// A target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Every interleaving with the reference algorithm.
    Model,
    /// The shipped controllers on the embedded API server, under virtual time.
    Sim,
    /// The shipped controllers on a real API server.
    Live,
    /// kube-controller-manager.
    BuiltIn,
    /// A controller that the user has started.
    External,
}

impl Target {
    /// All targets.
    pub const ALL: [Target; 5] =
        [Target::Model, Target::Sim, Target::Live, Target::BuiltIn, Target::External];

    /// The name on the command line and in reports.
    pub fn name(self) -> &'static str {
        self.scenarios_name().name()
    }

    /// The same, as scenarios have it.
    pub fn scenarios_name(self) -> TargetName {
        match self {
            Target::Model => TargetName::Model,
            Target::Sim => TargetName::Sim,
            Target::Live => TargetName::Live,
            Target::BuiltIn => TargetName::BuiltIn,
            Target::External => TargetName::External,
        }
    }

    /// Returns whether the target is on a real API server.
    pub fn is_real(self) -> bool {
        match self {
            Target::Model | Target::Sim => false,
            Target::Live | Target::BuiltIn | Target::External => true,
        }
    }

    /// The targets of this build: without the feature `cluster`, only those that need no cluster.
    pub fn available() -> impl Iterator<Item = Target> + Clone {
        Target::ALL.into_iter().filter(|target| cfg!(feature = "cluster") || !target.is_real())
    }
}

/// Parses the name of a target.
pub fn target(name: &str) -> Result<Target, String> {
    let found = Target::available().find(|target| target.name() == name);
    found.ok_or_else(|| {
        let names: Vec<&str> = Target::available().map(Target::name).collect();
        format!("there is no target {name:?}: write one of {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_known_by_their_names() {
        for known in Target::available() {
            assert_eq!(target(known.name()), Ok(known));
        }
        assert!(target("modle").unwrap_err().contains("write one of model, sim"));
    }
}
