//! Watches that the server closes at once.

use super::*;
use crate::testing::Log;

/// A server that closes each watch at once shows its changes only to a LIST.
#[tokio::test(start_paused = true)]
async fn watches_that_end_at_once_without_an_event_cause_lists() {
    let (log, _guard) = Log::start();
    let closed = || Answer::Closing(vec![]);
    let listed = |version| Answer::Page(vec![("a", version)], version, None);
    let start_at = Instant::now();
    let running = start(vec![
        listed(1),
        closed(),
        closed(),
        closed(),
        listed(2),
        closed(),
        listed(3),
        closed(),
        listed(4),
        closed(),
        listed(5),
        closed(),
        listed(6),
    ]);
    running.cache.until_version(6).await;
    let replaced: Vec<String> = (1..=6).map(|version| format!("replace {version}")).collect();
    assert_eq!(running.log(), replaced);
    assert_eq!(log.lines("watches end at once").len(), 1);
    // The delays grow, as after any failure: 0.8, 1.6, and 0.8, 1.6, 3.2, 6.4, and 12.8 s, each up to twice as long.
    let waited = start_at.elapsed().as_secs_f64();
    assert!((27.0..55.0).contains(&waited), "{waited}");
    assert!(!running.staleness.is_stale());
}

#[tokio::test(start_paused = true)]
async fn watches_that_show_an_event_or_last_cause_no_list() {
    let closed = || Answer::Closing(vec![]);
    let running = start(vec![
        Answer::Page(vec![], 1, None),
        closed(),
        closed(),
        Answer::Closing(vec![event("ADDED", "a", 2)]),
        closed(),
        closed(),
        Answer::LateEnd(SHORT),
        closed(),
        closed(),
        Answer::Open(vec![event("ADDED", "b", 3)]),
    ]);
    running.cache.until_version(3).await;
    assert_eq!(running.log(), ["replace 1", "apply 2", "apply 3"]);
}
