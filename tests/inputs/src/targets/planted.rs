//! A target with defects, which shows that a search finds them.

use serde_json::Value;

use super::seeds;
use crate::{Signs, Target};

/// A target that panics for a status with more failed pods than 32 bits hold, inside an audit event or a watch event.
#[must_use]
pub fn planted() -> Target {
    Target { name: "planted", about: "a defect for tests", seeds: seeds::traces, run, share: 0 }
}

fn run(bytes: &[u8]) -> Result<Signs, String> {
    for line in bytes.split(|byte| *byte == b'\n') {
        let Ok(line) = serde_json::from_slice::<Value>(line) else { continue };
        for object in ["/object", "/responseObject"].iter().filter_map(|at| line.pointer(at)) {
            let failed = object["status"]["failed"].as_i64();
            assert!(
                failed.is_none_or(|failed| failed <= i64::from(i32::MAX)),
                "too many failed pods: {failed:?}"
            );
        }
    }
    Ok(Signs::new())
}
