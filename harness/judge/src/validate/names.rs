//! The names of the pods of a Job, so that reports can show names in place of UIDs.

use std::collections::VecDeque;
use std::iter;

use jobcheck_spec::job::Text;
use jobcheck_spec::{Broken, Uid};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::event::{Body, Event};
use super::router::Judge;
use super::track::Track;
use super::verdict::ViewRefusal;

/// Number of removed pods whose names are kept.
const GONE_KEPT: usize = 64;
/// Length of the text of a UID.
const UID_LENGTH: usize = 36;

/// The names of the living pods of a Job, and of the pods that were removed last.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Names {
    of: FxHashMap<Uid, Name>,
    gone: VecDeque<Uid>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Name {
    text: Text,
    gone: bool,
}

impl Names {
    /// Notes the name of a pod.
    pub fn learn(&mut self, uid: Uid, name: &Text) {
        if !name.is_empty() && uid != Uid::EMPTY {
            self.of.insert(uid, Name { text: name.clone(), gone: false });
        }
    }

    /// Notes that a pod is gone. Its name is kept for a while.
    pub fn leaves(&mut self, uid: Uid) {
        let Some(name) = self.of.get_mut(&uid).filter(|name| !name.gone) else { return };
        name.gone = true;
        self.gone.push_back(uid);
        if self.gone.len() <= GONE_KEPT {
            return;
        }
        let oldest = self.gone.pop_front();
        if let Some(oldest) = oldest.filter(|uid| self.of.get(uid).is_some_and(|name| name.gone)) {
            self.of.remove(&oldest);
        }
    }

    /// The name of a pod, if the trace has shown it.
    #[must_use]
    pub fn get(&self, uid: Uid) -> Option<&Text> {
        self.of.get(&uid).map(|name| &name.text)
    }

    /// The text with the names of pods in place of their UIDs.
    #[must_use]
    pub fn write(&self, text: &str) -> String {
        replaced(text, |uid| self.get(uid).map(ToString::to_string))
    }

    /// Adds the pods that a text mentions by their UIDs.
    pub fn mentioned(&self, text: &str, pods: &mut Vec<(Uid, Text)>) {
        for (_, uid) in uids(text) {
            if let Some(name) = self.get(uid).filter(|_| pods.iter().all(|(known, _)| *known != uid)) {
                pods.push((uid, name.clone()));
            }
        }
    }
}

/// The text with `name` in place of each UID that has one.
#[must_use]
pub fn replaced(text: &str, name: impl Fn(Uid) -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for (at, uid) in uids(text) {
        if let Some(name) = name(uid) {
            out.push_str(&text[from..at]);
            out.push_str(&name);
            from = at + UID_LENGTH;
        }
    }
    out.push_str(&text[from..]);
    out
}

/// The UIDs in a text, with their positions.
fn uids(text: &str) -> impl Iterator<Item = (usize, Uid)> + '_ {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while at + UID_LENGTH <= bytes.len() {
            let here = at;
            // The dashes are compared first, since few positions have them.
            let found = (bytes[here + 8] == b'-' && bytes[here + 13] == b'-')
                .then(|| text.get(here..here + UID_LENGTH).filter(|it| is_uid(it)))
                .flatten();
            if let Some(found) = found {
                at += UID_LENGTH;
                return Some((here, Uid::parse(found)));
            }
            at += 1;
        }
        None
    })
}

fn is_uid(text: &str) -> bool {
    text.bytes().enumerate().all(|(position, byte)| match position {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
    })
}

impl Judge {
    /// Notes the name of the pod in this event for each Job that it belongs, or belonged, to.
    pub(super) fn learn_name(&mut self, event: &Event, uid: Uid, controller: Option<Uid>) {
        let jobs = [self.pods.owners.get(&uid).or_else(|| self.pods.former.get(&uid)).copied(), controller];
        for job in jobs.into_iter().flatten() {
            if let Some(track) = self.tracks.get_mut(&job) {
                track.account.names.learn(uid, &event.name);
                track.lives(event);
            }
        }
    }
}

impl Track {
    /// Writes names into the warnings and reasons since the last call, while the names are known.
    pub fn name_texts(&mut self) {
        let (doubts, warnings) = self.account.named;
        for reservation in &mut self.results.reservations {
            reservation.text = self.account.names.write(&reservation.text);
        }
        for doubt in self.results.doubts.iter_mut().skip(doubts) {
            *doubt = self.account.names.write(doubt);
        }
        for warning in self.results.warnings.iter_mut().skip(warnings) {
            warning.text = self.account.names.write(&warning.text);
        }
        self.account.named = (self.results.doubts.len(), self.results.warnings.len());
    }

    /// The pods that a violation mentions, with their names.
    #[must_use]
    pub fn names_in(
        &self,
        event: &Event,
        write: &str,
        broken: &Broken,
        views: &[ViewRefusal],
    ) -> Vec<(Uid, Text)> {
        let mut pods = Vec::new();
        if let (Body::Pod(it), false) = (&event.body, event.name.is_empty()) {
            pods.extend(it.uid.map(|uid| (uid, event.name.clone())));
        }
        self.account.names.mentioned(write, &mut pods);
        for guard in iter::once(broken).chain(views.iter().flat_map(|view| &view.broken)) {
            self.account.names.mentioned(&guard.to_string(), &mut pods);
        }
        pods
    }

    /// The first pods whose finalizer must still be removed, with their names: of an unfinished Job the terminated ones.
    #[must_use]
    pub fn holding(&self) -> Vec<(Uid, Text)> {
        const SHOWN: usize = 8;
        let pods = self.history.stored.iter().chain(self.history.ownerless.iter());
        let is_over = self.stored.as_ref().is_none_or(|job| job.status.is_finished());
        let held = pods.filter(|pod| pod.finalizer && (is_over || pod.is_terminated()));
        held.filter_map(|pod| Some((pod.uid, self.account.names.get(pod.uid)?.clone()))).take(SHOWN).collect()
    }

    /// Notes that a pod is gone.
    pub fn name_leaves(&mut self, uid: Uid) {
        self.name_texts();
        self.account.names.leaves(uid);
    }

    /// Forgets the names of a finished Job. Later events of a pod show its name again.
    pub fn forget_names(&mut self) {
        self.name_texts();
        self.account.names = Names::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "a5bea2a9-d1b6-4d7c-a7b4-aa02fcb4ff1f";
    const B: &str = "970ed955-a37f-44d3-a8aa-d2c7a68204c8";

    #[test]
    fn a_text_shows_the_names_of_known_pods() {
        let mut names = Names::default();
        names.learn(Uid::parse(A), &"job-x".into());
        let text = format!("lists {A}, {B} and “{A}”");
        assert_eq!(names.write(&text), format!("lists job-x, {B} and “job-x”"));
        let mut pods = Vec::new();
        names.mentioned(&text, &mut pods);
        assert_eq!(pods, [(Uid::parse(A), "job-x".into())]);
    }

    #[test]
    fn the_names_of_removed_pods_are_kept_for_a_while() {
        let mut names = Names::default();
        let pods: Vec<Uid> = (0..=GONE_KEPT as u128).map(|number| Uid(number + 1)).collect();
        for pod in &pods {
            names.learn(*pod, &"x".into());
            names.leaves(*pod);
        }
        assert_eq!(names.get(pods[0]), None);
        assert!(names.get(pods[1]).is_some());
        // A pod that comes back keeps its name.
        names.learn(pods[1], &"y".into());
        names.learn(Uid(1000), &"z".into());
        names.leaves(Uid(1000));
        assert_eq!(names.get(pods[1]).map(|name| &**name), Some("y"));
    }
}
