//! The first requests of the example `against_oracle`, with what Kubernetes said of them.
//!
//! `verdicts.txt` is Kubernetes 1.36.3: one line for each request, `refused` or a digest of what is stored. It was written
//! by `against_oracle ORACLE 1000 1 verdicts.txt`, and changes only with the generator or the version.
#![expect(dead_code, reason = "the example has more to do with these modules")]

#[path = "../../examples/against_oracle/cases.rs"]
mod cases;
#[path = "../../examples/against_oracle/compare.rs"]
mod compare;
#[path = "../../../../model/examples/status_cases/json.rs"]
mod json;
#[path = "../../../../model/examples/status_cases/pod.rs"]
mod pod;
#[path = "../../../../model/examples/status_cases/random.rs"]
mod random;
#[path = "../../../../model/examples/status_cases/specs.rs"]
mod specs;
#[path = "../../../../model/examples/status_cases/statuses.rs"]
mod statuses;

use compare::{Kind, Server};
use random::Random;

const VERDICTS: &str = include_str!("verdicts.txt");
const COUNT: usize = 1_000;
const SEED: u64 = 1;

fn holds(kind: Kind, place: usize) {
    let (mut random, mut server) = (Random(SEED), Server::new());
    let verdicts: Vec<&str> = VERDICTS.lines().skip(place * COUNT).take(COUNT).collect();
    assert_eq!(verdicts.len(), COUNT);
    let accepted = verdicts.iter().filter(|verdict| **verdict != "refused").count();
    assert!((COUNT / 20..COUNT).contains(&accepted), "{accepted} accepted requests show little");
    for (number, theirs) in verdicts.into_iter().enumerate() {
        let ours = server.ask(kind, &mut random);
        assert_eq!(ours.verdict(), theirs, "{kind:?} {number}: {}", ours.question);
    }
}

#[test]
fn status_writes_are_decided_as_kubernetes_decides_them() {
    holds(Kind::Status, 0);
}

#[test]
fn writes_are_decided_as_kubernetes_decides_them() {
    holds(Kind::Spec, 1);
}

#[test]
fn creations_are_decided_as_kubernetes_decides_them() {
    holds(Kind::Create, 2);
}
