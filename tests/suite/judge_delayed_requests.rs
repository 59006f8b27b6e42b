//! Requests whose sender was replaced while they were in flight (SY-01; `docs/reference/judging.md`, *In the explorer*),
//! in traces that show this only by the times of requests, as an audit log does.

use jobcheck_explorer::scope::Scope;
use jobcheck_explorer::scopes::reference;
use jobcheck_judge::replay::Judging;
use jobcheck_judge::report::Exit;
use jobcheck_tests::scopes::walked;
use jobcheck_tests::traces::{described, exit_of, rendered, replayed};
use serde_json::{Value, json};

fn at(line: &Value, pointer: &str) -> Option<String> {
    line.pointer(pointer).and_then(Value::as_str).map(str::to_owned)
}

/// Two seconds later. A walk of these scopes takes less than a minute.
fn later(time: &str) -> String {
    let seconds: u32 = time[17..19].parse().unwrap();
    format!("{}{:02}{}", &time[..17], seconds + 2, &time[19..])
}

/// A walk as an audit log shows it: only requests. With `silent`, the new process is silent for two seconds.
///
/// `None` for a walk without a delayed request, or in which nobody worked in the meantime. Walks with a deadline are left
/// out, since a silent process may decide otherwise.
fn logged(scope: &Scope, seed: u64, silent: bool) -> Option<Vec<Value>> {
    let lines = rendered(scope, &walked(scope, seed));
    let restart = lines.iter().find(|line| line["mark"]["kind"] == "restart")?;
    if lines.iter().any(|line| line.to_string().contains("\"activeDeadlineSeconds\":")) {
        return None;
    }
    let restart = at(restart, "/mark/at").unwrap();
    let is_delayed = |line: &Value| {
        let times = at(line, "/request/received").zip(at(line, "/request/done"));
        times.is_some_and(|(received, done)| received < restart && restart < done)
    };
    let delayed = lines.iter().position(is_delayed)?;
    let works = |line: &Value| {
        let agent = at(line, "/request/agent").unwrap_or_default();
        agent.ends_with("/job-controller") && at(line, "/request/received").unwrap() > restart
    };
    if !lines[..delayed].iter().any(works) {
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

/// Numbers of walks with a delayed request.
#[derive(Debug, Default, PartialEq, Eq)]
struct Walks {
    all: usize,
    /// Violations if the new process works at once.
    blamed: usize,
    /// After a silence they conform, and `--strict` counts the warning.
    excused: usize,
}

#[test]
fn a_delayed_request_is_a_violation_unless_its_sender_may_have_been_replaced() {
    let (mut wrong, mut walks) = (String::new(), Walks::default());
    for scope in reference::one_fault()
        .into_iter()
        .chain(reference::all_faults())
        .filter(|scope| scope.delayed_requests)
    {
        for seed in 0..60 {
            let Some(trace) = logged(&scope, seed, true) else { continue };
            walks.all += 1;
            let report = replayed(&trace, &Judging::default());
            if report.exit_code == Exit::Violates {
                wrong.push_str(&format!("{} seed {seed}: {:#?}\n", scope.name, described(&report)));
            }
            let at_once = logged(&scope, seed, false).unwrap();
            let is_warned = || {
                let strict = Judging { strict: true, ..Judging::default() };
                replayed(&trace, &strict).exit_code == Exit::Violates
            };
            walks.blamed += usize::from(exit_of(&at_once) == Exit::Violates);
            walks.excused += usize::from(report.exit_code == Exit::Conforms && is_warned());
        }
    }
    assert_eq!((wrong, walks), (String::new(), Walks { all: 224, blamed: 138, excused: 136 }));
}
