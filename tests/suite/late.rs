//! Requests of a process that was replaced while they were under way (SY-01, judging.md 6), where nothing but the times
//! of the requests tells of that: as in an audit log.

use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::scopes::reference;
use jobcheck_judge::replay::{Judging, judge};
use jobcheck_judge::report::{Exit, ReplayReport};
use jobcheck_scenario::render::native;
use jobcheck_traces::Input;
use serde_json::{Value, json};

use crate::rendered::{told, walked};

fn judged(lines: &[Value], strict: bool) -> ReplayReport {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let input = Input::Bytes("trace".to_owned(), text.into_bytes());
    judge(&[vec![input]], &Judging { strict, ..Judging::default() }, &mut |_, _| {})
}

fn at(line: &Value, pointer: &str) -> Option<String> {
    line.pointer(pointer).and_then(Value::as_str).map(str::to_owned)
}

/// Two seconds later; walks of these scopes take less than a minute.
fn later(time: &str) -> String {
    let seconds: u32 = time[17..19].parse().unwrap();
    format!("{}{:02}{}", &time[..17], seconds + 2, &time[19..])
}

/// The walk as an audit log would show it: requests alone. The process that takes over is silent for so long.
fn logged(scope: &Scope, seed: u64, silent: bool) -> Option<Vec<Value>> {
    let text = String::from_utf8(native(scope, &walked(scope, seed), None).unwrap()).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let restart = lines.iter().find(|line| line["mark"]["kind"] == "restart")?;
    // Who is silent for longer than a deadline decides otherwise after that.
    if text.contains("\"activeDeadlineSeconds\":") {
        return None;
    }
    let restart = at(restart, "/mark/at").unwrap();
    let is_late = |line: &Value| {
        let times = at(line, "/request/received").zip(at(line, "/request/done"));
        times.is_some_and(|(received, done)| received < restart && restart < done)
    };
    // Somebody has to have worked meanwhile.
    let late = lines.iter().position(is_late)?;
    let works = |line: &Value| {
        let agent = at(line, "/request/agent").unwrap_or_default();
        agent.ends_with("/job-controller") && at(line, "/request/received").unwrap() > restart
    };
    if !lines[..late].iter().any(works) {
        return None;
    }
    let mut shown: Vec<Value> = lines
        .into_iter()
        .filter(|line| line["mark"].is_null() && line["fault"].is_null() && line["observed"].is_null())
        .collect();
    for line in shown.iter_mut().filter(|line| silent && !line["request"].is_null()) {
        for field in ["received", "done"] {
            let time = at(&line["request"], &format!("/{field}")).unwrap();
            if time > restart {
                line["request"][field] = json!(later(&time));
            }
        }
    }
    Some(shown)
}

#[test]
fn a_late_request_is_blamed_unless_its_sender_may_have_been_replaced() {
    let (mut wrong, mut blamed, mut excused, mut traces) = (String::new(), 0, 0, 0);
    for scope in reference::one_fault()
        .into_iter()
        .chain(reference::all_faults())
        .filter(|scope| scope.delayed_requests)
    {
        for seed in 0..60 {
            let Some(trace) = logged(&scope, seed, true) else { continue };
            traces += 1;
            let report = judged(&trace, false);
            if report.exit_code == Exit::Violates {
                wrong.push_str(&format!("{} seed {seed}: {:#?}\n", scope.name, told(&report)));
            }
            let at_once = logged(&scope, seed, false).unwrap();
            let is_blamed = judged(&at_once, false).exit_code == Exit::Violates;
            let is_excused =
                report.exit_code == Exit::Conforms && judged(&trace, true).exit_code == Exit::Violates;
            blamed += usize::from(is_blamed);
            excused += usize::from(is_excused);
        }
    }
    assert!(wrong.is_empty() && blamed > 3 && excused > 3, "of {traces}, {blamed}, {excused}: {wrong}");
}
