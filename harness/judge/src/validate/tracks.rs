//! The Jobs under judgement.
//!
//! Most Jobs of a long trace are finished, and nothing happens to them. Such a Job is parked: it is kept as bytes, which need a fifth of
//! the memory, until an event concerns it. Events that concern all Jobs are kept as notices, and a parked Job learns of
//! them when it is used again.

use std::collections::VecDeque;
use std::ops::Deref;

use jobcheck_spec::Uid;
use jobcheck_spec::job::Text;
use rustc_hash::FxHashMap;

use super::parked::{Parked, Shelf};
use super::relists;
use super::settings::Meant;
use super::track::Track;

/// Something that concerns every Job.
#[derive(Clone, Debug)]
pub enum Notice {
    /// Writes before the event with this number are missing.
    Gap(u64),
    /// Another process begins, of these managers.
    Restart(Meant),
    /// The Job controller lists the pods again, after it has seen this `resourceVersion`.
    ListsPods(u64),
}

impl Notice {
    fn apply(&self, track: &mut Track) {
        match self {
            Notice::Gap(order) => track.coverage.lacks_write(*order),
            Notice::Restart(meant) if meant.has(track.is_built_in(), track.manager.actor) => {
                track.process_restarted();
            }
            Notice::Restart(_) => {}
            Notice::ListsPods(seen) => relists::lists_pods(track, *seen),
        }
    }
}

#[derive(Debug)]
enum Slot {
    /// Boxed, because the map has room for up to twice as many.
    Awake(Box<Track>),
    Parked(Parked),
}

/// A Job that is read.
#[derive(Debug)]
pub enum Peek<'a> {
    /// It is not parked.
    Awake(&'a Track),
    /// A copy of a parked one.
    Copy(Box<Track>),
}

impl Deref for Peek<'_> {
    type Target = Track;

    fn deref(&self) -> &Track {
        match self {
            Peek::Awake(track) => track,
            Peek::Copy(track) => track,
        }
    }
}

/// The Jobs under judgement, by their UIDs.
#[derive(Debug)]
pub struct Tracks {
    slots: FxHashMap<Uid, Slot>,
    /// The last uses of finished Jobs. A finished Job is parked when its first use is forgotten, unless the last use is
    /// its own, too.
    finished: VecDeque<Uid>,
    /// Number of uses that are remembered.
    room: usize,
    notices: Vec<Notice>,
    /// The number of the last event of a namespace that may have deleted any Job in it, and the reason.
    gaps: FxHashMap<Text, (u64, String)>,
    shelf: Shelf,
}

impl Tracks {
    /// No Jobs. A finished one will be parked after `room` uses of others.
    #[must_use]
    pub fn new(room: usize) -> Tracks {
        Tracks {
            slots: FxHashMap::default(),
            finished: VecDeque::new(),
            room,
            notices: Vec::new(),
            gaps: FxHashMap::default(),
            shelf: Shelf::default(),
        }
    }

    /// Adds a Job.
    pub fn insert(&mut self, track: Track) {
        self.slots.insert(track.id.uid, Slot::Awake(Box::new(track)));
    }

    /// Returns `true` if this Job is under judgement.
    #[must_use]
    pub fn contains(&self, uid: &Uid) -> bool {
        self.slots.contains_key(uid)
    }

    /// A Job as it is.
    #[must_use]
    pub fn peek(&self, uid: &Uid) -> Option<Peek<'_>> {
        Some(match self.slots.get(uid)? {
            Slot::Awake(track) => Peek::Awake(track),
            Slot::Parked(parked) => Peek::Copy(self.unpark(parked)),
        })
    }

    /// A Job that an event may change.
    pub fn get_mut(&mut self, uid: &Uid) -> Option<&mut Track> {
        if let Slot::Parked(parked) = self.slots.get(uid)? {
            let track = self.unpark(parked);
            self.slots.insert(*uid, Slot::Awake(track));
            self.note_use(*uid);
            self.park_all_but(self.room.max(1));
        }
        match self.slots.get_mut(uid)? {
            Slot::Awake(track) => Some(track),
            Slot::Parked(_) => None,
        }
    }

    /// Removes a Job.
    pub fn remove(&mut self, uid: &Uid) -> Option<Box<Track>> {
        Some(match self.slots.remove(uid)? {
            Slot::Awake(track) => track,
            Slot::Parked(parked) => self.unpark(&parked),
        })
    }

    /// The Jobs that are not parked. A Job that is not finished is among them.
    pub fn awake(&self) -> impl Iterator<Item = (&Uid, &Track)> {
        self.slots.iter().filter_map(|(uid, slot)| match slot {
            Slot::Awake(track) => Some((uid, &**track)),
            Slot::Parked(_) => None,
        })
    }

    /// The same, to be changed.
    pub fn awake_mut(&mut self) -> impl Iterator<Item = &mut Track> {
        self.slots.values_mut().filter_map(|slot| match slot {
            Slot::Awake(track) => Some(&mut **track),
            Slot::Parked(_) => None,
        })
    }

    /// Notifies all Jobs.
    pub fn notify(&mut self, notice: Notice) {
        self.awake_mut().for_each(|track| notice.apply(track));
        self.notices.push(notice);
    }

    /// Notes that an event with this number may have deleted each Job of a namespace.
    pub fn gap_in(&mut self, namespace: &Text, order: u64, reason: &str) {
        let concerned = self.awake_mut().filter(|track| track.id.namespace == *namespace);
        concerned.for_each(|track| track.may_be_deleted(order, reason));
        self.gaps.insert(namespace.clone(), (order, reason.to_owned()));
    }

    /// Notes that an event has concerned this Job. If it is finished, Jobs that were used earlier are parked.
    pub fn used(&mut self, uid: Uid) {
        let is_finished = |slot: &Slot| matches!(slot, Slot::Awake(track) if track.is_finished());
        if self.slots.get(&uid).is_some_and(is_finished) {
            self.note_use(uid);
            self.park_all_but(self.room);
        }
    }

    fn note_use(&mut self, uid: Uid) {
        if self.finished.back() != Some(&uid) {
            self.finished.push_back(uid);
        }
    }

    /// Parks all but the Jobs of the last uses. A Job whose pods are still being released is left to its next event.
    fn park_all_but(&mut self, uses: usize) {
        while self.finished.len() > uses {
            let Some(uid) = self.finished.pop_front() else { return };
            let is_used_again = self.finished.back() == Some(&uid);
            let Some(slot) = self.slots.get_mut(&uid).filter(|_| !is_used_again) else { continue };
            let parked = match slot {
                Slot::Awake(track) if track.is_parkable() => self.shelf.park(track, self.notices.len()),
                Slot::Awake(_) | Slot::Parked(_) => continue,
            };
            *slot = Slot::Parked(parked);
        }
    }

    fn unpark(&self, parked: &Parked) -> Box<Track> {
        let (received, mut track) = self.shelf.unpark(parked);
        self.notices[received..].iter().for_each(|notice| notice.apply(&mut track));
        let gap = self.gaps.get(&track.id.namespace);
        if let Some((order, reason)) = gap.filter(|(order, _)| track.coverage.is_older_than(*order)) {
            track.may_be_deleted(*order, reason);
        }
        track
    }

    /// Ends the judgement of all Jobs, in the order of their namespaces, names, and UIDs.
    pub fn drain(&mut self) -> impl Iterator<Item = Box<Track>> {
        let key = |(uid, slot): (&Uid, &Slot)| match slot {
            Slot::Awake(track) => (track.id.namespace.clone(), track.id.name.clone(), *uid),
            Slot::Parked(parked) => {
                let (namespace, name) = self.shelf.name(parked);
                (namespace, name, *uid)
            }
        };
        let mut order: Vec<(Text, Text, Uid)> = self.slots.iter().map(key).collect();
        order.sort_unstable();
        order.into_iter().filter_map(|(_, _, uid)| self.remove(&uid))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jobcheck_spec::job::{Condition, ConditionKind, ConditionStatus, Job};

    use super::super::fixtures::{JOB, job, job_write};
    use super::*;

    /// A finished Job with this UID.
    fn finished(uid: Uid) -> Track {
        let mut job = Job { uid, name: format!("job-{}", uid.0).into(), ..job() };
        job.status.conditions.push(Condition {
            kind: ConditionKind::Complete,
            status: ConditionStatus::True,
            reason: "".into(),
            message: "".into(),
            last_transition_time: None,
        });
        Track::new(Arc::new(job), &job_write("job", (1, 2), 7), true, false)
    }

    fn parked(tracks: &Tracks) -> usize {
        tracks.slots.values().filter(|slot| matches!(slot, Slot::Parked(_))).count()
    }

    fn of(jobs: &[Uid], room: usize) -> Tracks {
        let mut tracks = Tracks::new(room);
        for uid in jobs {
            tracks.insert(finished(*uid));
            tracks.used(*uid);
        }
        tracks
    }

    #[test]
    fn a_parked_job_comes_back_as_it_was() {
        for room in [0, 1] {
            let mut tracks = of(&[Uid(1), Uid(2), Uid(3)], room);
            assert_eq!(parked(&tracks), 3 - room);
            let known = format!("{:?}", finished(Uid(1)));
            assert_eq!(tracks.peek(&Uid(1)).map(|track| format!("{:?}", &*track)), Some(known.clone()));
            assert_eq!(parked(&tracks), 3 - room);
            assert_eq!(tracks.get_mut(&Uid(1)).map(|track| format!("{track:?}")), Some(known));
            assert_eq!(parked(&tracks), 2);
        }
    }

    #[test]
    fn uses_are_forgotten() {
        let mut tracks = of(&[Uid(1), Uid(2), Uid(3)], 2);
        for round in 0..100 {
            tracks.get_mut(&Uid(1 + round % 3)).unwrap();
            tracks.used(Uid(1 + round % 2));
            assert!(tracks.finished.len() <= 2, "{round}: {:?}", tracks.finished);
            assert_eq!(parked(&tracks), 1, "{round}");
        }
    }

    #[test]
    fn versions_share_the_stored_job_again() {
        let mut tracks = of(&[JOB], 0);
        let track = tracks.get_mut(&JOB).unwrap();
        let stored = track.stored.clone().unwrap();
        let mut shared = 0;
        track.process.frontier.replace_jobs(|job| shared += usize::from(Arc::ptr_eq(job, &stored)));
        assert_eq!(shared, 1);
    }

    #[test]
    fn a_parked_job_learns_what_concerns_all_jobs_once() {
        let mut tracks = of(&[Uid(1), Uid(2)], 1);
        tracks.notify(Notice::Gap(5));
        assert_eq!(parked(&tracks), 1);
        for uid in [Uid(1), Uid(2)] {
            assert_eq!(
                tracks.peek(&uid).map(|track| (track.coverage.gap, track.coverage.stale)),
                Some((Some(5), true))
            );
        }
        // A later write shows the Job again. It is parked, and does not receive the notice again.
        tracks.get_mut(&Uid(1)).unwrap().coverage.stale = false;
        assert!(matches!(tracks.slots[&Uid(2)], Slot::Parked(_)));
        tracks.get_mut(&Uid(2)).unwrap();
        assert!(matches!(tracks.slots[&Uid(1)], Slot::Parked(_)));
        assert!(!tracks.peek(&Uid(1)).unwrap().coverage.stale);
    }

    #[test]
    fn a_gap_in_a_namespace_concerns_its_jobs_alone() {
        let mut tracks = of(&[Uid(1), Uid(2)], 1);
        let namespace = tracks.peek(&Uid(1)).unwrap().id.namespace.clone();
        let stale = |tracks: &Tracks| [Uid(1), Uid(2)].map(|uid| tracks.peek(&uid).unwrap().coverage.stale);
        tracks.gap_in(&"another".into(), 50, "why");
        assert_eq!(stale(&tracks), [false, false]);
        tracks.gap_in(&namespace, 50, "why");
        assert_eq!(stale(&tracks), [true, true]);
        // A later version shows the Job again, also after it was parked.
        let track = tracks.get_mut(&Uid(1)).unwrap();
        track.coverage.stale = false;
        track.coverage.has_version(99, 51);
        tracks.get_mut(&Uid(2)).unwrap();
        assert!(matches!(tracks.slots[&Uid(1)], Slot::Parked(_)));
        assert_eq!(stale(&tracks), [false, true]);
    }

    #[test]
    fn jobs_that_run_or_that_a_report_describes_are_not_parked() {
        let mut tracks = Tracks::new(0);
        tracks.insert(Track::new(Arc::new(job()), &job_write("job", (1, 2), 7), true, false));
        tracks.used(JOB);
        let mut reported = finished(Uid(1));
        reported.account.life = Some(Box::default());
        tracks.insert(reported);
        tracks.used(Uid(1));
        assert_eq!(parked(&tracks), 0);
    }

    #[test]
    fn all_jobs_end_in_the_order_of_their_names() {
        let mut tracks = of(&[Uid(3), Uid(1), Uid(2)], 1);
        let names: Vec<String> = tracks.drain().map(|track| track.id.name.to_string()).collect();
        assert_eq!(names, ["job-1", "job-2", "job-3"]);
        assert_eq!(tracks.drain().count(), 0);
    }
}
