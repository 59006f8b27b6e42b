//! Tests of [`Unseen`]: changes that a manager misses between two lists.

use super::super::fixtures::pod;
use super::*;

#[test]
fn an_inherited_delay_ends_with_its_time_or_with_a_creation() {
    let mut unseen = Unseen { in_place: Some(100), ..Unseen::default() };
    assert_eq!([Some(100), Some(101), None].map(|now| unseen.inherits_delay(now)), [true, false, false]);
    unseen.creates(None);
    assert!(!unseen.inherits_delay(Some(50)));
}

#[test]
fn pods_of_a_job_whose_end_was_missed_stay_held_until_they_are_deleted_or_handled() {
    let held = || Unseen { held: [Uid(1), Uid(2)].into_iter().collect(), ..Unseen::default() };
    let hides = |unseen: &Unseen, uids: &[u128]| unseen.hides_the_end(uids.iter().copied().map(Uid));
    assert!(hides(&held(), &[1, 2]) && !hides(&held(), &[1, 3]));
    let mut unseen = held();
    unseen.pod_changed(&pod(1));
    assert!(hides(&unseen, &[1]));
    unseen.pod_changed(&Pod { deleting: true, ..pod(1) });
    assert!(hides(&unseen, &[2]) && !hides(&unseen, &[1]));
    unseen.pod_attended();
    assert!(!hides(&unseen, &[]));
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
