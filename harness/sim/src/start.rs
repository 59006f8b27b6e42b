//! How the processes of a scenario are started.

use jobcheck_adapter::sync::options;
use jobcheck_controller::job::observed::Settings;
use jobcheck_judge::replay::Subject;
use jobcheck_scenario::Rollout;

/// How the controller of a scenario is started.
pub fn settings(subject: &Subject) -> Settings {
    options(&subject.constants, subject.gates)
}

/// The same after a rollout.
pub fn rolled_out(subject: &Subject, rollout: &Rollout) -> Settings {
    options(&subject.constants, rollout.gates())
}
