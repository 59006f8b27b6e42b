//! How the processes of a scenario are started.

use jobcheck_controller::job::observed::Settings;
use jobcheck_explore::sync::options;
use jobcheck_harness::report::Subject;
use jobcheck_harness::scenario::{Gate, Rollout, Scenario};
use jobcheck_traces::{FORMAT, VERSION};
use serde_json::{Map, Value, json};

/// How the controller of a scenario is started.
pub fn settings(subject: &Subject) -> Settings {
    options(&subject.constants, subject.gates)
}

/// The same after a rollout.
pub fn rolled_out(subject: &Subject, rollout: &Rollout) -> Settings {
    options(&subject.constants, rollout.gates())
}

/// The gates of the process that takes over, as a mark of the trace says them: each, on or off.
pub fn told(rollout: &Rollout) -> Value {
    let off = rollout.gates().off();
    let names = Gate::ALL.iter().map(|gate| format!("{gate:?}"));
    let told = names.map(|name| {
        let on = !off.contains(&name.as_str());
        (name, json!(on.to_string()))
    });
    told.collect::<Map<String, Value>>().into()
}

/// The first line of the trace.
pub fn header(scenario: &Scenario, subject: &Subject, seed: u64) -> Value {
    json!({
        "format": FORMAT, "version": VERSION.to_string(), "kubernetes": "1.36", "assume": subject.told(),
        "producer": format!("jobcheck {}, scenario {}, seed {seed}", env!("CARGO_PKG_VERSION"), scenario.name),
    })
}
