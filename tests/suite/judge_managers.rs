//! Behaviours of the explorer's world of two clusters, as native traces of both: the judge agrees with the explorer.
//!
//! `traces/corpus/managers` has the defects K1 to K5 of Kueue's adapter (`docs/reference/managers.md`, section 4). Each is
//! there as observed, as the shortest counterexample, and as the same behaviour with the fix.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use jobcheck_judge::replay::{Clusters, Judging, judge_clusters};
use jobcheck_judge::report::ReplayReport;
use jobcheck_judge::validate::Outcome;
use jobcheck_managers::executor::Move;
use jobcheck_managers::history::judge_two_clusters;
use jobcheck_managers::mutants::{MUTANTS, Mutant, Setting};
use jobcheck_managers::obligations::{judge_quiescence, open_obligation};
use jobcheck_managers::scope::{Budget, Scope};
use jobcheck_managers::step::{Caches, Call, Step};
use jobcheck_managers::subject::Subject;
use jobcheck_managers::world::World;
use jobcheck_scenario::render::{ClusterTraces, native_clusters};
use jobcheck_spec::{Findings, Req};
use jobcheck_tests::expected;
use jobcheck_traces::Input;

/// A part of a schedule.
#[derive(Clone, Copy, Debug)]
enum Act {
    /// A step that is not the manager's.
    Do(Step),
    /// The manager sends requests until none changes anything. A refused write is sent twice.
    Manager,
}

use Act::{Do, Manager};

/// A pod is created, and the status shows it.
const RUN: &[Move] = &[Move::Start, Move::Create, Move::Activate];
/// The pod has succeeded and is recorded, and the Job is decided.
const SUCCEED: &[Move] = &[Move::End, Move::Succeed, Move::Accept];
/// The pod is counted, and the Job ends.
const FINISH: &[Move] = &[Move::Count, Move::Finish];

/// Steps of the executor.
fn execute(moves: &[Move]) -> Vec<Act> {
    moves.iter().map(|it| Do(Step::Execute(0, *it))).collect()
}

/// Status writes of the executor, and after each the manager works.
fn seen(writes: &[&[Move]]) -> Vec<Act> {
    writes.iter().flat_map(|moves| [execute(moves), vec![Manager]].concat()).collect()
}

/// The Job is dispatched, and its pod runs.
fn begins() -> Vec<Act> {
    [dispatched(), seen(&[RUN])].concat()
}

/// A copy runs from its creation to its end, and the manager sees each write.
fn runs() -> Vec<Act> {
    seen(&[RUN, SUCCEED, FINISH])
}

/// A schedule, with the defect and with the fix.
struct Behaviour {
    id: &'static str,
    /// The bounds, if those of the mutant's scope are too small.
    bounds: fn(Scope) -> Scope,
    begin: Vec<Act>,
    /// The rest with the defect.
    defect: Vec<Act>,
    /// The rest with the fix.
    fixed: Vec<Act>,
    /// The broken requirements on the trace of the manager cluster alone.
    alone: &'static [&'static str],
    /// The same on the traces of both clusters.
    both: &'static [&'static str],
    /// The same for the shortest counterexample.
    shortest: &'static [&'static str],
}

/// The scope of the mutant is large enough.
fn same(scope: Scope) -> Scope {
    scope
}

/// Somebody deletes the copy.
fn lost() -> Vec<Act> {
    vec![Do(Step::DeleteCopy(0)), Manager]
}

/// The user deletes the Job while the worker is away.
fn away() -> Vec<Act> {
    vec![Do(Step::Disconnect(0)), Do(Step::Delete)]
}

/// The user creates the Job again, and the worker comes back.
fn again() -> Vec<Act> {
    vec![Do(Step::Recreate), Do(Step::Reconnect(0)), Manager]
}

fn dispatched() -> Vec<Act> {
    vec![Do(Step::Assign(0)), Manager]
}

fn behaviours() -> [Behaviour; 5] {
    [k1(), k2(), k3(), k4(), k5()]
}

fn k1() -> Behaviour {
    Behaviour {
        id: "K1",
        bounds: same,
        begin: [begins(), seen(&[&[Move::End, Move::Fail]]), lost(), runs()].concat(),
        defect: vec![],
        fixed: vec![],
        alone: &["MR-03", "MR-05", "MR-09"],
        both: &["MR-03", "MR-05", "MR-09", "MR-20", "MR-21", "MR-24"],
        shortest: &["MR-03", "MR-09", "MR-24"],
    }
}

fn k2() -> Behaviour {
    // The next pod is created before the first is counted.
    let succeed = [&[Move::End, Move::Create, Move::Succeed, Move::Activate][..], &[Move::Count]];
    let suspended = vec![Do(Step::Suspend(true)), Manager];
    let stops = seen(&[&[Move::Terminate, Move::Suspend, Move::Unstart], &[Move::EndLate]]);
    Behaviour {
        id: "K2",
        bounds: |scope| Scope {
            size: (2, 1),
            pods: 3,
            most: Budget { copy_deletions: 1, suspends: 1, ..scope.most },
            ..scope
        },
        begin: [begins(), seen(&succeed), lost(), seen(&[RUN]), suspended, stops].concat(),
        defect: vec![],
        fixed: vec![],
        alone: &["MR-03", "MR-05", "MR-09", "MR-13"],
        both: &["MR-03", "MR-05", "MR-09", "MR-13", "MR-20", "MR-24"],
        shortest: &["MR-13"],
    }
}

fn k3() -> Behaviour {
    Behaviour {
        id: "K3",
        bounds: same,
        begin: [begins(), away(), execute(SUCCEED), execute(FINISH), again()].concat(),
        defect: vec![],
        fixed: [dispatched(), runs()].concat(),
        alone: &["MR-04"],
        both: &["MR-04", "MR-23", "MR-25", "MR-30"],
        shortest: &["MR-30"],
    }
}

fn k4() -> Behaviour {
    Behaviour {
        id: "K4",
        bounds: same,
        begin: [begins(), away(), again(), dispatched(), runs()].concat(),
        defect: vec![],
        fixed: vec![],
        alone: &["MR-04", "MR-05", "MR-09"],
        both: &["MR-04", "MR-05", "MR-09", "MR-20", "MR-21", "MR-23"],
        shortest: &["MR-04", "MR-23"],
    }
}

fn k5() -> Behaviour {
    let unseen = [execute(RUN), execute(SUCCEED), execute(FINISH)].concat();
    let expires = vec![Do(Step::ExpireCopy(0)), Manager];
    Behaviour {
        id: "K5",
        bounds: same,
        begin: [dispatched(), unseen, expires].concat(),
        defect: [runs(), vec![Do(Step::ExpireCopy(0)), Do(Step::Expire), Manager]].concat(),
        fixed: vec![Do(Step::Expire), Manager],
        alone: &[],
        both: &["MR-22", "MR-26"],
        shortest: &["MR-21", "MR-22", "MR-26"],
    }
}

impl Behaviour {
    fn mutant(&self) -> &'static Mutant {
        Mutant::named(self.id).unwrap()
    }

    /// The scope in which this manager is judged by all requirements.
    fn scope(&self, subject: Subject) -> Scope {
        (self.bounds)(Scope { asked: None, advice: false, ..self.mutant().scope_of(subject) })
    }

    /// A path with the defect or with the fix.
    fn path(&self, scope: &Scope, rest: &[Act]) -> Vec<Step> {
        path_of(scope, &[self.begin.clone(), rest.to_vec()].concat())
    }

    /// The shortest counterexample.
    ///
    /// That of K2 is the suspension of a Job whose manager has written nothing. A trace in which the manager of a Job writes
    /// nothing shows no manager, so one write comes before.
    fn shortest(&self, scope: &Scope) -> Vec<Step> {
        if self.id != "K2" {
            return self.mutant().hunt().found().unwrap().path.clone();
        }
        let begin = vec![Do(Step::Assign(0)), Manager];
        let end = vec![Do(Step::Suspend(true)), Manager];
        let stops = seen(&[&[Move::Suspend, Move::Unstart]]);
        path_of(scope, &[begin, seen(&[&[Move::Start]]), end, stops].concat())
    }
}

fn path_of(scope: &Scope, acts: &[Act]) -> Vec<Step> {
    let (mut world, mut path) = (World::initial(scope), Vec::new());
    for act in acts {
        match act {
            Do(step) => {
                assert!(world.enabled(scope).contains(step), "{step:?} after {path:#?}");
                world = world.apply(step, scope);
                path.push(*step);
            }
            Manager => work(&mut world, scope, &mut path),
        }
    }
    path
}

/// The manager sends the requests that it sends with up-to-date caches, until none changes the state.
fn work(world: &mut World, scope: &Scope, path: &mut Vec<Step>) {
    loop {
        let sent = |caches: Caches, call: Call| {
            let requests = world.refreshed(caches).requests(scope);
            requests.into_iter().find(|request| Call::of(request) == call)
        };
        let requests = world.enabled(scope).into_iter().filter(|step| match step {
            Step::Request(caches, call) => sent(*caches, *call) == sent(world.stale_caches(scope), *call),
            _ => false,
        });
        let next = requests.map(|step| (step, world.apply(&step, scope))).find(|(_, next)| next != world);
        let Some((step, next)) = next else { return };
        path.push(step);
        *world = next;
    }
}

/// The findings of the explorer in a behaviour, with the end of the behaviour as quiescence.
fn explored(scope: &Scope, path: &[Step]) -> BTreeSet<Req> {
    let mut found = BTreeSet::new();
    let mut world = World::initial(scope);
    for step in path {
        let (next, judged) = world.judged(step, scope);
        found.extend(broken(&judged.findings));
        world = next;
    }
    let steps = world.enabled(scope);
    let rests =
        steps.iter().all(|step| !matches!(step, Step::Request(..)) || world.apply(step, scope) == world);
    // A `startTime` that the manager cluster would refuse is no open obligation.
    if rests && open_obligation(&world, scope).is_some() {
        let mut owed = broken(&judge_quiescence(&world, scope));
        // A Job needs no end while its copy runs, unless an earlier copy has ended.
        let mut of_copies = Findings::new();
        judge_two_clusters(&world, scope, true, &mut of_copies);
        let runs = steps.iter().any(|step| matches!(step, Step::Execute(..)));
        owed.retain(|req| !runs || *req != Req::MR21 || broken(&of_copies).contains(req));
        found.extend(owed);
    }
    found
}

fn broken(findings: &Findings) -> BTreeSet<Req> {
    findings.broken.iter().map(|broken| broken.req).collect()
}

fn judged(traces: &ClusterTraces) -> ReplayReport {
    let input = |name: &str, trace: &[u8]| vec![Input::Bytes(name.to_owned(), trace.to_vec())];
    let workers = traces.workers.iter().map(|trace| input("worker", trace)).collect();
    let clusters = Clusters { manager: input("manager", &traces.manager), workers };
    let report = judge_clusters(&clusters, &Judging::default(), &mut |_, _| {});
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    report
}

/// The broken requirements of the Jobs of a trace, by its number. `None`: of all.
fn ids(report: &ReplayReport) -> Vec<&'static str> {
    let violations = report.jobs.iter().flat_map(|job| &job.violations);
    let ids: BTreeSet<&str> = violations.filter_map(|it| it.requirement.map(|id| id.0.id())).collect();
    ids.into_iter().collect()
}

fn alone(traces: &ClusterTraces) -> Vec<&'static str> {
    let input = Input::Bytes("manager".to_owned(), traces.manager.clone());
    ids(&jobcheck_judge::replay::judge(&[vec![input]], &Judging::default(), &mut |_, _| {}))
}

fn store(name: &str, traces: &ClusterTraces, names: &mut BTreeSet<String>) {
    assert_eq!(traces.workers.len(), 1, "{name}");
    for (side, trace) in [("manager", &traces.manager), ("worker", &traces.workers[0])] {
        let file = format!("{name}.{side}.jsonl");
        expected::check(&format!("{FOLDER}/{file}"), &String::from_utf8_lossy(trace));
        names.insert(file);
    }
}

const FOLDER: &str = "traces/corpus/managers";

/// A rendered behaviour, and what was found.
struct Found {
    explored: BTreeSet<Req>,
    alone: Vec<&'static str>,
    both: Vec<&'static str>,
    /// The verdicts on the manager cluster and on the worker.
    verdicts: Vec<Outcome>,
}

/// Requirements of the content of a status write. The explorer judges the content of accepted writes alone.
const OF_REFUSED_WRITES: [&str; 2] = ["MR-03", "MR-05"];

impl Found {
    /// Returns true if the judge and the explorer find the same requirements of a manager.
    fn agrees(&self) -> bool {
        let judged = self.both.iter().filter(|id| id.starts_with("MR-") && !OF_REFUSED_WRITES.contains(id));
        judged.copied().eq(self.explored.iter().map(|req| req.id()))
    }
}

fn found(name: &str, scope: &Scope, path: &[Step], names: &mut BTreeSet<String>) -> Found {
    let traces = native_clusters(scope, path).unwrap();
    store(name, &traces, names);
    let report = judged(&traces);
    let verdicts = report.traces.iter().map(|trace| trace.verdict).collect();
    Found { explored: explored(scope, path), alone: alone(&traces), both: ids(&report), verdicts }
}

/// MR-22, MR-24, MR-26: the judge finds in the traces of both clusters what the explorer finds in the behaviour.
#[test]
fn defects_of_kueue_are_judged_as_explored_and_are_gone_with_their_fix() {
    use Outcome::{Conforms, Violates};
    let (mut names, mut wrong) = (BTreeSet::new(), String::new());
    for behaviour in behaviours() {
        let (id, mutant) = (behaviour.id, behaviour.mutant());
        let mut expect = |holds: bool, what: String| {
            if !holds {
                writeln!(wrong, "{id}: {what}").unwrap();
            }
        };
        let scope = behaviour.scope(mutant.subject);
        let path = behaviour.path(&scope, &behaviour.defect);
        let it = found(id, &scope, &path, &mut names);
        expect(it.explored.contains(&mutant.req), format!("explored {:?}", it.explored));
        expect(it.agrees(), format!("explored {:?}, judged {:?}", it.explored, it.both));
        expect(it.both == behaviour.both, format!("both clusters {:?}", it.both));
        expect(it.alone == behaviour.alone, format!("the manager cluster {:?}", it.alone));
        expect(it.verdicts == [Violates, Conforms], format!("{:?}", it.verdicts));

        let it = found(&format!("{id}-shortest"), &scope, &behaviour.shortest(&scope), &mut names);
        expect(it.explored.contains(&mutant.req), format!("the shortest: explored {:?}", it.explored));
        expect(it.agrees(), format!("the shortest: explored {:?}, judged {:?}", it.explored, it.both));
        // The worker does what no Job controller does.
        let of_the_manager: Vec<_> = it.both.into_iter().filter(|id| id.starts_with("MR-")).collect();
        expect(of_the_manager == behaviour.shortest, format!("the shortest: {of_the_manager:?}"));
        expect(it.verdicts[0] == Violates, format!("the shortest: {:?}", it.verdicts));

        let scope = behaviour.scope(mutant.repaired);
        let path = behaviour.path(&scope, &behaviour.fixed);
        let it = found(&format!("{id}-fixed"), &scope, &path, &mut names);
        expect(it.explored.is_empty(), format!("with its fix: explored {:?}", it.explored));
        expect(it.both.is_empty(), format!("with its fix: {:?}", it.both));
        expect(it.verdicts == [Conforms; 2], format!("with its fix: {:?}", it.verdicts));
    }
    assert_eq!(wrong, "");
    expected::check_names(FOLDER, &names);
}

/// Defects whose shortest counterexample the judge does not reject for the same requirement.
const JUDGED_OTHERWISE: [&str; 6] = [
    // The manager writes no status, and a trace shows no manager.
    "M10",
    // Two copies run at once. The judge rejects a copy that is created after the end of another one.
    "M13", "M14",
    // Pods of the copy are terminating at the end. The judge compares the status alone.
    "M19",
    // The only write drops a condition of somebody else, and counts as a checker's. `--actor manager=USER` finds it.
    "M23",
    // No write changes anything, so that no write shows the manager. `--actor manager=USER` finds it.
    "M33",
];

/// The broken recommendations of the Jobs of a report.
fn recommended(report: &ReplayReport, req: Req) -> bool {
    let prefix = format!("{}: ", req.id());
    report.jobs.iter().flat_map(|job| &job.warnings).any(|warning| warning.text.starts_with(&prefix))
}

/// MR-01, MR-20, MR-30: the same for the shortest counterexample of each other defect. Without the gate `JobManagedBy` a Job
/// has no manager.
#[test]
fn other_defects_are_judged_as_explored() {
    let all = MUTANTS.iter().filter(|it| !it.is_of_kueue() && it.setting != Setting::Unvalidated);
    let mut otherwise = Vec::new();
    for mutant in all {
        let hunt = mutant.hunt();
        let path = &hunt.found().unwrap().path;
        let report = judged(&native_clusters(&mutant.scope(), path).unwrap());
        let is_found = match mutant.setting {
            Setting::Advised => recommended(&report, mutant.req),
            Setting::Default | Setting::Unvalidated => ids(&report).contains(&mutant.req.id()),
        };
        if !is_found {
            otherwise.push(mutant.id);
        }
    }
    assert_eq!(otherwise, JUDGED_OTHERWISE);
}
