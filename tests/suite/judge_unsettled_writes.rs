//! Writes of others with a server error that were stored, in logs that end soon afterwards. Nothing shows what they have stored.

use jobcheck_judge::validate::Outcome;
use jobcheck_tests::traces::{broken, validated_lines};
use serde_json::{Value, json};

use crate::judge_lost_creations::times_out;
use crate::judge_truncated_events::{recordings, wrong_after};

/// The number of lines that a log has after the write.
const LINES_LEFT: [usize; 3] = [1, 2, 3];

fn is_of_others(line: &Value) -> bool {
    let is_controllers = line["userAgent"].as_str().is_some_and(|it| it.ends_with("job-controller"));
    let is_write = !["get", "list", "watch"].contains(&line["verb"].as_str().unwrap_or_default());
    let is_accepted = line["responseStatus"]["code"].as_u64().is_some_and(|code| code < 300);
    !is_controllers && is_write && is_accepted
}

#[test]
fn a_log_that_ends_after_such_a_write_is_not_wrong() {
    let (mut wrong, mut traces) = (Vec::new(), 0);
    for (name, whole) in recordings() {
        for number in (0..whole.len()).filter(|number| is_of_others(&whole[*number])) {
            for left in LINES_LEFT {
                let mut trace: Vec<Value> = whole.iter().take(number + 1 + left).cloned().collect();
                let before = validated_lines(&trace).outcome();
                times_out(&mut trace[number]);
                let found = validated_lines(&trace);
                traces += 1;
                if found.outcome() == Outcome::Violates && before != Outcome::Violates {
                    wrong.push((name.clone(), number + 1, left, broken(&found)));
                }
            }
        }
    }
    assert_eq!(wrong, []);
    assert!(traces > 500, "{traces}");
}

/// The API server panics if a connection breaks while it responds. The log has this stage in place of the response then.
#[test]
fn a_write_on_which_the_api_server_panicked_makes_no_recording_wrong() {
    let (wrong, traces) = wrong_after(|line| {
        let is_it = is_of_others(line);
        if is_it {
            times_out(line);
            line["stage"] = json!("Panic");
            line["responseStatus"]["code"] = json!(500);
            line.as_object_mut().unwrap().remove("responseObject");
        }
        is_it
    });
    assert_eq!(wrong, []);
    assert!(traces > 200, "{traces}");
}
