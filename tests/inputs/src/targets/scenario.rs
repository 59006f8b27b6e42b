//! The reader of scenarios.

use jobcheck_scenario::{read, write};

use super::seeds;
use crate::{Signs, Target, sign};

pub(super) fn target() -> Target {
    Target {
        name: "scenario",
        about: "a scenario; what is written of it reads as the same, and an error has one line",
        seeds: all_seeds,
        run,
        share: 20_000,
    }
}

fn all_seeds() -> Vec<Vec<u8>> {
    ["tests/scenarios", "tests/scenarios/findings", "tests/scenarios/defects"]
        .iter()
        .flat_map(|folder| seeds::files(folder, ".yaml", 20_000))
        .collect()
}

fn run(bytes: &[u8]) -> Result<Signs, String> {
    let text = String::from_utf8_lossy(bytes);
    let scenario = match read(&text) {
        Ok(scenario) => scenario,
        Err(error) => {
            let shown = error.to_string();
            if shown.contains('\n') {
                return Err(format!("an error of several lines: {shown}"));
            }
            return Ok([sign(&shown)].into());
        }
    };
    let written = write(&scenario).map_err(|error| format!("cannot be written: {error}"))?;
    let again = read(&written).map_err(|error| format!("what was written cannot be read: {error}"))?;
    let twice = write(&again).map_err(|error| format!("cannot be written again: {error}"))?;
    if twice != written {
        return Err("what was written reads as another scenario".to_owned());
    }
    let steps = scenario.steps.iter().map(|step| sign(&format!("{:?}", step.value)));
    Ok(steps.chain(scenario.check_size().err().map(|error| sign(&error.to_string()))).collect())
}
