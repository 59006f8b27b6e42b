//! The settings with which the controllers of a scenario are started.

use jobcheck_adapter::sync::options;
use jobcheck_controller::job::observed::Settings;
use jobcheck_judge::replay::Subject;
use jobcheck_scenario::Rollout;

/// The settings of the Job controller of a scenario.
pub fn settings(subject: &Subject) -> Settings {
    options(&subject.constants, subject.gates)
}

/// The settings after a rollout.
pub fn rolled_out(subject: &Subject, rollout: &Rollout) -> Settings {
    options(&subject.constants, rollout.gates())
}
