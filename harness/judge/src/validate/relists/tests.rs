//! Tests of [`Unseen`]: changes that a manager misses between two lists.

use super::super::fixtures::{job_with_active, job_write, pod};
use super::*;

#[test]
fn an_inherited_delay_ends_with_its_time_or_with_a_creation() {
    let mut unseen = Unseen { in_place: Some(100), ..Unseen::default() };
    assert_eq!([Some(100), Some(101), None].map(|now| unseen.inherits_delay(now)), [true, false, false]);
    unseen.creates(None);
    assert!(!unseen.inherits_delay(Some(50)));
}

#[test]
fn pods_of_a_job_whose_end_was_missed_stay_held_until_they_are_handled() {
    let event = job_write("job", (0, 1), 1);
    let mut track = Track::new(job_with_active(0), &event, true, false);
    [1, 2].into_iter().for_each(|uid| track.pod_changed(Uid(uid), Some(pod(uid)), None));
    assert!(!hides_the_end(&track), "no list was made");
    track.pods.note(Uid(1), Fact::Held);
    assert!(!hides_the_end(&track), "the other pod was not in the list");
    track.pods.note(Uid(2), Fact::Held);
    assert!(hides_the_end(&track));
    track.pods.forget_all(Fact::Held);
    assert!(!hides_the_end(&track));
}

#[test]
fn a_new_process_waits_for_nothing() {
    let mut unseen = Unseen { in_place: Some(100), awaited: Some(100), ..Unseen::default() };
    unseen.creates(None);
    assert!(!unseen.awaits_creation(Some(50)));
    let mut unseen = Unseen { in_place: Some(100), awaited: Some(100), ..Unseen::default() };
    assert!(unseen.awaits_creation(Some(100)) && !unseen.awaits_creation(Some(101)));
    unseen.restarted();
    assert!(!unseen.awaits_creation(Some(50)) && !unseen.inherits_delay(Some(50)));
}
