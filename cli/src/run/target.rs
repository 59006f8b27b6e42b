//! What runs scenarios.

use jobcheck_scenario::TargetName;

/// What runs scenarios.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Every interleaving with the reference algorithm.
    Model,
    /// The shipped controllers on the embedded API server.
    Sim,
    /// The shipped controllers on a real API server.
    Live,
    /// kube-controller-manager.
    BuiltIn,
    /// A controller that somebody has started.
    External,
}

impl Target {
    /// All.
    pub const ALL: [Target; 5] =
        [Target::Model, Target::Sim, Target::Live, Target::BuiltIn, Target::External];

    /// As it is written.
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

    /// Whether it is on a real API server.
    pub fn is_real(self) -> bool {
        match self {
            Target::Model | Target::Sim => false,
            Target::Live | Target::BuiltIn | Target::External => true,
        }
    }
}

/// The target of this name.
pub fn target(name: &str) -> Result<Target, String> {
    let names = || Target::ALL.map(Target::name).join(", ");
    let found = Target::ALL.into_iter().find(|target| target.name() == name);
    found.ok_or_else(|| format!("there is no target {name:?}: write one of {}", names()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_known_by_their_names() {
        for known in Target::ALL {
            assert_eq!(target(known.name()), Ok(known));
        }
        assert!(target("modle").unwrap_err().contains("write one of model, sim, live, builtin, external"));
    }
}
