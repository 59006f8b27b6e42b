use super::*;
use crate::explore::engine::path_to;

/// Everything at once: skew, an edit, another Job of the name, a fault.
fn full(defect: Option<Defect>) -> TtlScope {
    let edit = Some(2);
    TtlScope { skew: 1, ticks: 3, ttl: 1, edit, recreates: true, faults: 1, defect, ..TtlScope::default() }
}

fn defect_of(scope: &TtlScope) -> Option<Req> {
    let run = scope.explore();
    TtlScope::broken(&run)
}

#[test]
fn algorithm_deletes_as_the_specification_admits() {
    let run = full(None).explore();
    assert_eq!(run.end, End::Exhausted);
    // A request that fails leads nowhere that a crash does not, so it is asked whether a step was taken.
    assert!(run.coverage.iter().all(|coverage| coverage.taken > 0), "{:?}", run.coverage);
    assert_eq!((run.store.len(), run.depth), (32_694, 19));
}

#[test]
fn every_defect_breaks_its_requirement() {
    // The shortest way there is pinned too.
    let found = |defect| {
        let (scope, run) = (full(Some(defect)), full(Some(defect)).explore());
        let End::Broken { state, .. } = run.end else { panic!("{defect:?} is not found") };
        (defect, TtlScope::broken(&run), path_to(&scope, &run, state).len())
    };
    let expected = [
        (Defect::TrustsCache, Some(Req::TT03), 6),
        (Defect::NoUidPrecondition, Some(Req::TT06), 6),
        (Defect::InterimIsFinished, Some(Req::TT13), 5),
        (Defect::DeletesInBackground, Some(Req::TT06), 6),
        (Defect::DeletesAgain, Some(Req::TT09), 7),
        (Defect::DoesNotRequeue, Some(Req::TT14), 7),
    ];
    let all = expected.map(|(defect, ..)| found(defect));
    assert_eq!(all, expected);
}

#[test]
fn end_in_the_future_is_waited_for() {
    let scope = |defect| TtlScope { ttl: 0, ..full(defect) };
    assert_eq!(defect_of(&scope(None)), None);
    assert_eq!(defect_of(&scope(Some(Defect::ClampsFutureFinish))), Some(Req::TT10));
}

/// What the precondition is for: without it the other Job of the name goes.
#[test]
fn delete_without_precondition_hits_a_job_that_is_not_finished() {
    let scope = TtlScope { without: Some(Req::TT06), ..full(Some(Defect::NoUidPrecondition)) };
    assert_eq!(defect_of(&scope), Some(Req::TT13));
}

/// B48: with two clocks, or a TTL that is raised after the GET, a Job goes too early, and nobody can help it.
#[test]
fn known_anomalies_are_reached_and_have_no_other_cause() {
    let early = |ideal, skew, edit| defect_of(&TtlScope { ideal: Some(ideal), skew, edit, ..full(None) });
    assert_eq!(early(Ideal::OneClock, 1, None), Some(Req::TT03));
    assert_eq!(early(Ideal::OneClock, 0, None), None);
    assert_eq!(early(Ideal::NoWindow, 0, Some(2)), Some(Req::TT03));
    assert_eq!(early(Ideal::NoWindow, 0, None), None);
}
