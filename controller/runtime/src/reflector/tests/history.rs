//! Versions that go back: an API server that lags, and an etcd that was restored.

use super::*;

/// A bookmark from the future does not make the cache newer, whether the version is refused or contradicted.
#[tokio::test(start_paused = true)]
async fn a_bookmark_from_the_future_does_not_outlast_a_list() {
    let bookmark = || event("BOOKMARK", "", 5_000_000);
    for watch in [
        vec![Answer::Closing(vec![bookmark()]), Answer::Failure(410)],
        vec![Answer::Open(vec![bookmark(), event("ADDED", "b", 11)])],
    ] {
        let listed = Answer::Page(vec![("a", 1), ("b", 11)], 12, None);
        let begin = [Answer::Page(vec![("a", 1)], 10, None)];
        let running = start(begin.into_iter().chain(watch).chain([listed]).collect());
        running.cache.until_version(12).await;
        assert_eq!(running.log(), ["replace 10", "replace 12"]);
        assert!(!running.another_history.is_cancelled());
    }
}

/// etcd was restored: the server refuses the version, and has an older one. The cache does not follow it.
#[tokio::test(start_paused = true)]
async fn an_older_list_after_a_refusal_is_another_history() {
    let before = || vec![Answer::Page(vec![("a", 1)], 5_000, None)];
    let old = || Answer::Page(vec![("a", 1)], 200, None);
    for (answers, refusal) in [
        (vec![Answer::Open(vec![event("ADDED", "b", 5_001), gone()]), old()], "410 in a watch"),
        (vec![Answer::Failure(410), Answer::Failure(500), old()], "410, and a LIST that fails"),
        (vec![Answer::Ahead, old()], "504"),
        (vec![Answer::Open(vec![event("ADDED", "b", 201)]), old()], "an event of an older version"),
    ] {
        let running = start(before().into_iter().chain(answers).collect());
        timeout(Duration::from_secs(60), running.another_history.cancelled()).await.expect(refusal);
        timeout(Duration::from_secs(1), running.task).await.expect(refusal).unwrap();
        assert!(*running.cache.version.lock().unwrap() >= 5_000, "{refusal}");
        assert_eq!(running.cache.log.lock().unwrap()[0], "replace 5000");
    }
}

/// Without a refusal, an older LIST shows only that the server lags. The cache does not move backwards.
#[tokio::test(start_paused = true)]
async fn an_older_list_without_a_refusal_is_ignored() {
    let running = start(vec![
        Answer::Page(vec![("a", 1)], 5_000, None),
        Answer::Open(vec![]),
        Answer::Page(vec![], 4_990, None),
        Answer::Closing(vec![event("ADDED", "b", 5_001)]),
        Answer::Open(vec![]),
        Answer::Page(vec![("c", 5_005)], 5_006, None),
    ]);
    running.until_request(2).await;
    running.relist.notify_one();
    running.cache.until_version(5_001).await;
    let queries = running.until_request(5).await;
    assert_eq!(queries[2], "limit=500");
    assert!(queries[3].contains("resourceVersion=5000"), "{queries:?}");
    assert_eq!(running.log(), ["replace 5000", "apply 5001"]);
    // The next LIST is not at once, but it comes.
    running.relist.notify_one();
    running.cache.until_version(5_006).await;
    assert!(!running.another_history.is_cancelled());
}

/// A LIST that is older again and again makes the cache stale, as one that fails.
#[tokio::test(start_paused = true)]
async fn lists_that_stay_older_make_the_cache_stale() {
    let lagging = || [Answer::Open(vec![]), Answer::Page(vec![], 4_990, None)];
    let begin = [Answer::Page(vec![("a", 1)], 5_000, None)];
    let running = start(begin.into_iter().chain((0..40).flat_map(|_| lagging())).collect());
    for _ in 0..300 {
        running.relist.notify_one();
        sleep(Duration::from_secs(1)).await;
    }
    assert!(running.staleness.is_stale() && !running.another_history.is_cancelled());
    assert_eq!(running.log(), ["replace 5000"]);
    let asked = running.server.queries.lock().unwrap().len();
    assert!((10..40).contains(&asked), "{asked}");
}
