//! A recording by watches: every change of Jobs and pods, in the order of their versions.
//!
//! Each namespace has a watch of its Jobs and a watch of its pods, and one may be ahead of the other. A trace in
//! which a Job counts a pod before the pod has terminated would show a mistake that no controller made. So changes
//! wait until all watches have reached their version, or for [`WAIT`]. At the end the objects are listed, each watch is
//! opened again to show all changes up to that list, and only these are written. If the list shows a change that no watch
//! has shown, it is a gap. While a watch is interrupted, changes beyond it wait for [`LONGEST_HOLD`]. Then they are
//! written behind the mark of a gap.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::future::join_all;
use jobcheck_traces::{Body, Resource, WatchKind};
use kube::Client;
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::change::{Change, Idle, number_of};
use crate::error::{AccessError, Error};
use crate::followed::{FollowedWatch, WatchState};
use crate::reorder::ReorderBuffer;
use crate::selection::{Labels, Selection};
use crate::trace::Trace;
use crate::watch::{self, Listed, WatchTarget, WatchUpdate, WholeList, text};
use crate::{Notice, permission};

/// The maximum time that a change waits for the other watches.
pub(crate) const WAIT: Duration = Duration::from_secs(5);
/// The maximum time that changes wait for a watch that is interrupted.
const LONGEST_HOLD: Duration = Duration::from_secs(60);
/// The interval at which waiting changes are written.
const LOOK: Duration = Duration::from_millis(200);
/// The time for the final list, and for the watches to reach it.
const PATIENCE: Duration = Duration::from_secs(10);
/// The required permissions.
const NEEDED: [permission::Need; 2] =
    [("batch", "jobs", &["list", "watch"]), ("", "pods", &["list", "watch"])];

/// The objects to record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchConfig {
    /// The namespaces. Empty: all.
    pub namespaces: Vec<String>,
    /// The labels of the Jobs. `None`: all Jobs. The pods of these Jobs are recorded too.
    pub labels: Option<Labels>,
}

impl WatchConfig {
    fn places(&self) -> Vec<Option<String>> {
        if self.namespaces.is_empty() {
            vec![None]
        } else {
            self.namespaces.iter().cloned().map(Some).collect()
        }
    }

    /// Checks the permissions of the account.
    ///
    /// # Errors
    ///
    /// The account lacks a permission, or the API server does not respond.
    pub async fn check(&self, client: &Client) -> Result<(), Error> {
        let mut lacking = Vec::new();
        let mut advice = Vec::new();
        for place in self.places() {
            let missing =
                permission::lacking(client, &NEEDED, place.as_deref()).await.map_err(AccessError::Server)?;
            if !missing.is_empty() {
                lacking.push(format!("{} in {}", missing.join(", "), place_name(place.as_deref())));
                advice.push(grant_commands(place.as_deref()));
            }
        }
        if lacking.is_empty() {
            return Ok(());
        }
        Err(Error::Permission { lacking: lacking.join("; "), advice: advice.join("\n") })
    }

    /// The namespaces that do not exist. A namespace that the account may not read counts as existing.
    pub async fn missing(&self, client: &Client) -> Vec<&str> {
        let mut missing = Vec::new();
        for name in &self.namespaces {
            let Ok(request) = http::Request::get(format!("/api/v1/namespaces/{name}")).body(Vec::new())
            else {
                continue;
            };
            let answer = client.request::<Value>(request).await;
            if matches!(answer, Err(kube::Error::Api(status)) if status.code == 404) {
                missing.push(name.as_str());
            }
        }
        missing
    }
}

/// The name of a namespace in messages.
pub(crate) fn place_name(namespace: Option<&str>) -> String {
    namespace.map_or_else(|| "all namespaces".to_owned(), |name| format!("namespace {name}"))
}

/// The kubectl commands that grant the permissions.
fn grant_commands(namespace: Option<&str>) -> String {
    let (role, at) = match namespace {
        Some(name) => ("role", format!(" -n {name}")),
        None => ("clusterrole", String::new()),
    };
    format!(
        "  kubectl create {role} jobcheck-record --verb=list,watch --resource=jobs.batch,pods{at}\n  \
         kubectl create {role}binding jobcheck-record --{role}=jobcheck-record --user=USER{at}"
    )
}

/// Records until `stop` is cancelled.
///
/// # Errors
///
/// The API server does not respond at the beginning, or the trace cannot be written. A later failure of the API
/// server is a gap in the trace.
pub async fn watches(
    client: &Client,
    what: &WatchConfig,
    trace: &mut Trace,
    stop: &CancellationToken,
    notify: &mut dyn FnMut(Notice<'_>),
) -> Result<(), Error> {
    let (sender, inbox) = unbounded_channel();
    let mut recording = Recording {
        client,
        trace,
        notify,
        inbox,
        outbox: sender.clone(),
        selection: Selection::new(what.labels.clone()),
        buffer: ReorderBuffer::new(WAIT),
        idle: Idle::default(),
        followed: Vec::new(),
        lasting: BTreeMap::new(),
    };
    // The watches end with the recording.
    let mut watches = JoinSet::new();
    for place in what.places() {
        let (mut there, mut unread) = (Vec::new(), Vec::new());
        // Pods are listed first, so that a Job that was not started yet has no missing pods.
        for resource in [Resource::Pods, Resource::Jobs] {
            let target = WatchTarget { namespace: place.clone(), resource };
            let listed = tokio::select! {
                biased;
                () = stop.cancelled() => {
                    let why = format!("the recording ended before the first list of {}", target.resource.name());
                    return recording.trace.gap(None, why);
                }
                listed = watch::first_list(client, &target) => listed.map_err(AccessError::Server)?,
            };
            let WholeList { listed, unread: skipped } = listed;
            let (number, version) = (recording.followed.len(), listed.version.clone());
            unread.extend(skipped.into_iter().next().map(|it| (number, it.why)));
            there.extend(recording.follow(target.clone(), listed));
            let out = sender.clone();
            let out = move |shown| out.send((number, shown)).is_ok();
            watches.spawn(watch::follow(client.clone(), target, version, out));
        }
        recording.begin(there);
        unread.into_iter().for_each(|(number, why)| recording.begin_with_gap(number, &why));
    }
    recording.until(stop).await?;
    watches.shutdown().await;
    recording.end().await
}

/// A gap at the end: a resource, or all, and the reason.
type EndGap = (Option<Resource>, String);

/// An entry that waits to be written.
enum Entry {
    WatchUpdate(Box<Change>),
    Gap(Gap),
}

/// Changes that a watch has missed.
struct Gap {
    /// The number of the watch.
    number: usize,
    resource: Resource,
    reason: String,
    /// The UIDs of the objects that were removed meanwhile.
    vanished: Vec<String>,
    /// The version from which on nothing is missing; none if it is not known yet.
    until: Option<u64>,
}

struct Recording<'a> {
    client: &'a Client,
    trace: &'a mut Trace,
    notify: &'a mut dyn FnMut(Notice<'_>),
    inbox: UnboundedReceiver<(usize, WatchUpdate)>,
    outbox: UnboundedSender<(usize, WatchUpdate)>,
    selection: Selection,
    buffer: ReorderBuffer<Entry>,
    idle: Idle,
    followed: Vec<FollowedWatch>,
    /// The gaps, by the number of their watch, in which the changes that are written now happened.
    lasting: BTreeMap<usize, Gap>,
}

impl Recording<'_> {
    /// Adds a watch that begins at this list. Returns the listed objects.
    fn follow(&mut self, target: WatchTarget, listed: Listed) -> Vec<Change> {
        let (resource, version) = (target.resource, number_of(&listed.version));
        let objects = listed.objects.into_iter();
        let there: Vec<Change> = objects.map(|it| Change::new(resource, WatchKind::Added, &it)).collect();
        let known = there.iter().map(|it| (it.uid().to_owned(), it.version)).collect();
        let state = WatchState::Interrupted(Instant::now());
        self.followed.push(FollowedWatch { target, version, known, deleted: None, is_lost: false, state });
        there
    }

    /// Adds the objects that exist at the start of the recording.
    fn begin(&mut self, there: Vec<Change>) {
        for change in self.idle.take(there) {
            // Nothing was written yet, so that no object is late.
            self.buffer.push(change.version, Entry::WatchUpdate(Box::new(change)));
        }
    }

    /// Records that the first list had an object that cannot be read. The objects of all lists are before the gap.
    fn begin_with_gap(&mut self, number: usize, why: &str) {
        let followed = &self.followed[number];
        let (resource, name) = (followed.target.resource, followed.name());
        let reason = format!("{name} began with an object that cannot be read: {why}");
        (self.notify)(Notice::Note(format!("a gap: {reason}")));
        let until = self.followed.iter().map(|it| it.version).max().unwrap_or(0);
        let gap = Gap { number, resource, reason, vanished: Vec::new(), until: Some(until) };
        self.buffer.push(until, Entry::Gap(gap));
    }

    async fn until(&mut self, stop: &CancellationToken) -> Result<(), Error> {
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return Ok(()),
                _ = looks.tick() => {
                    self.write_ripe_entries()?;
                    self.trace.flush()?;
                    (self.notify)(Notice::Progress(self.trace.tally()));
                }
                shown = self.inbox.recv() => {
                    let Some((number, shown)) = shown else {
                        return Err(Error::Internal("the watches ended unexpectedly".to_owned()));
                    };
                    self.take(number, shown)?;
                }
            }
        }
    }

    fn take(&mut self, number: usize, shown: WatchUpdate) -> Result<(), Error> {
        let followed = &mut self.followed[number];
        match shown {
            WatchUpdate::Open => {
                followed.opened();
                // If the end of its gap is not known, it has missed nothing: the changes arrive only now.
                self.lasting.retain(|it, gap| *it != number || gap.until.is_some());
                // The changes that it has missed meanwhile arrive only now.
                self.buffer.begin_anew();
            }
            WatchUpdate::Ended => followed.ended(),
            WatchUpdate::Lost(why) => {
                if !std::mem::replace(&mut followed.is_lost, true) {
                    (self.notify)(Notice::Note(format!(
                        "{} is interrupted, and is restarted: {why}",
                        followed.name()
                    )));
                }
            }
            WatchUpdate::Event { kind, object } => self.shown(number, kind, object)?,
            WatchUpdate::Reached(version) => {
                followed.version = followed.version.max(number_of(&version));
            }
            WatchUpdate::Relisted { why, listed } => self.relisted(number, why, listed)?,
        }
        Ok(())
    }

    /// Records that the changes between the last shown version and this list are missing. The gap is placed
    /// between them in the order of versions.
    fn relisted(&mut self, number: usize, why: String, listed: Listed) -> Result<(), Error> {
        let followed = &mut self.followed[number];
        let reason = format!("{} was interrupted: {why}", followed.name());
        (self.notify)(Notice::Note(format!("a gap: {reason}")));
        let known = std::mem::take(&mut followed.known);
        let listed_uids: BTreeSet<&str> = listed.objects.iter().map(|object| text(object, "uid")).collect();
        let vanished = known.keys().filter(|uid| !listed_uids.contains(uid.as_str())).cloned().collect();
        let resource = followed.target.resource;
        let until = Some(number_of(&listed.version));
        let gap = Gap { number, resource, reason, vanished, until };
        self.buffer.push(followed.version, Entry::Gap(gap));
        if number_of(&listed.version) < followed.version {
            // It is another etcd, whose versions are not comparable with the earlier ones.
            while let Some(waiting) = self.buffer.any() {
                self.write(waiting)?;
            }
        }
        for object in listed.objects {
            let (uid, version) = (text(&object, "uid"), number_of(text(&object, "resourceVersion")));
            if known.get(uid) == Some(&version) {
                self.followed[number].saw(uid, version);
            } else {
                // The list does not show whether the object is new, or when it changed.
                self.shown(number, WatchKind::Modified, object)?;
            }
        }
        self.followed[number].version = number_of(&listed.version);
        Ok(())
    }

    fn shown(&mut self, number: usize, kind: WatchKind, object: Value) -> Result<(), Error> {
        let followed = &mut self.followed[number];
        let change = Change::new(followed.target.resource, kind, &object);
        let version = change.version;
        if kind == WatchKind::Deleted {
            followed.saw_end(change.uid());
        } else {
            followed.saw(change.uid(), version);
        }
        followed.version = followed.version.max(version);
        let in_time = self.buffer.push(version, Entry::WatchUpdate(Box::new(change)));
        self.note_late(number, in_time)
    }

    /// Records a gap if a change arrives after a later change was written.
    fn note_late(&mut self, number: usize, in_time: bool) -> Result<(), Error> {
        if in_time {
            return Ok(());
        }
        let followed = &self.followed[number];
        let reason = format!("{} was more than {} s behind another", followed.name(), WAIT.as_secs());
        (self.notify)(Notice::Note(format!("a gap: {reason}")));
        self.trace.gap(None, reason)
    }

    fn write_ripe_entries(&mut self) -> Result<(), Error> {
        let known = self.followed.iter().map(|it| it.version).min().unwrap_or(0);
        while let Some(waiting) = self.buffer.up_to(known) {
            self.write(waiting)?;
        }
        for number in 0..self.followed.len() {
            self.give_up_after_a_time(number)?;
        }
        if self.followed.iter().any(|it| matches!(it.state, WatchState::Interrupted(_))) {
            return Ok(());
        }
        while let Some(waiting) = self.buffer.ripe(known) {
            self.write(waiting)?;
        }
        Ok(())
    }

    /// Records a gap before other changes are written without those of a watch that is interrupted.
    fn give_up_after_a_time(&mut self, number: usize) -> Result<(), Error> {
        let followed = &mut self.followed[number];
        let WatchState::Interrupted(since) = followed.state else { return Ok(()) };
        if since.elapsed() < LONGEST_HOLD {
            return Ok(());
        }
        followed.state = WatchState::GivenUp;
        let resource = followed.target.resource;
        let reason = format!("{} was interrupted for {} s", followed.name(), LONGEST_HOLD.as_secs());
        (self.notify)(Notice::Note(format!("a gap: {reason}")));
        self.write(Entry::Gap(Gap { number, resource, reason, vanished: Vec::new(), until: None }))
    }

    fn write(&mut self, waiting: Entry) -> Result<(), Error> {
        let change = match waiting {
            Entry::Gap(gap) => return self.write_gap(gap),
            Entry::WatchUpdate(change) => change,
        };
        for before in self.idle.wake(&change) {
            self.put(&before)?;
        }
        self.put(&change)?;
        if change.kind == WatchKind::Added { self.mark_again(&change) } else { Ok(()) }
    }

    fn write_gap(&mut self, mut gap: Gap) -> Result<(), Error> {
        // Idle objects may have changed during the gap, so that they are written before it.
        for before in self.idle.all() {
            self.put(&before)?;
        }
        let gone = std::mem::take(&mut gap.vanished);
        gone.iter().for_each(|uid| self.selection.forget(gap.resource, uid));
        self.trace.gap_with_deletions(gap.resource, gap.reason.clone(), gone)?;
        self.lasting.insert(gap.number, gap);
        Ok(())
    }

    /// Marks a gap again behind an object that was created in it. A mark speaks of the objects before it only. Without
    /// another one, a Job would be judged as if its pods, which came and went in the gap, had never been.
    fn mark_again(&mut self, change: &Change) -> Result<(), Error> {
        self.lasting.retain(|_, gap| gap.until.is_none_or(|until| change.version <= until));
        for gap in self.lasting.values().filter(|gap| gap.resource != change.resource) {
            self.trace.gap_lasts(gap.resource, format!("{}, and this still lasts", gap.reason))?;
        }
        Ok(())
    }

    fn put(&mut self, change: &Change) -> Result<(), Error> {
        if !self.selection.takes(change.resource, &change.head, change.kind == WatchKind::Deleted) {
            return Ok(());
        }
        change.show(|watched| self.trace.write(&Body::Watched(watched)))
    }

    /// Waits until the watches have reached the final list, and writes the changes up to it.
    async fn end(mut self) -> Result<(), Error> {
        let end = Instant::now() + PATIENCE;
        let (last, gaps) = match self.complete_version(end).await {
            Ok((version, lost)) => (version, lost),
            Err(why) => (self.followed.iter().map(|it| it.version).min().unwrap_or(0), vec![(None, why)]),
        };
        while let Some(waiting) = self.buffer.up_to(last) {
            self.write(waiting)?;
        }
        for (resource, why) in gaps {
            (self.notify)(Notice::Note(format!("a gap: {why}")));
            self.trace.gap(resource, why)?;
        }
        self.trace.flush()
    }

    /// Returns the version up to which the recording is complete, and the gaps in it; or the reason why it is unknown.
    async fn complete_version(&mut self, end: Instant) -> Result<(u64, Vec<EndGap>), String> {
        self.take_all()?;
        self.followed.iter_mut().for_each(|it| it.deleted = Some(BTreeSet::new()));
        let mut lists = Vec::new();
        for followed in &self.followed {
            lists.push(self.final_list(followed, end).await?);
        }
        let wanted: Vec<u64> = lists.iter().map(|list| number_of(&list.listed.version)).collect();
        let each = wanted.iter().enumerate();
        let shown = join_all(each.map(|(number, until)| self.catch_up(number, *until, end))).await;
        self.take_all()?;
        shown.into_iter().collect::<Result<(), _>>()?;
        let lost = self.followed.iter().zip(&lists).filter_map(|(followed, list)| {
            Some((Some(followed.target.resource), followed.lost_changes(list)?))
        });
        Ok((wanted.iter().copied().min().unwrap_or(0), lost.collect()))
    }

    /// Lists the objects of a watch at the end.
    async fn final_list(&self, followed: &FollowedWatch, end: Instant) -> Result<WholeList, String> {
        let list = timeout_at(end, watch::whole_list(self.client, &followed.target)).await;
        let list = list.unwrap_or_else(|_| Err("it does not respond".to_owned()));
        let list = list.map_err(|why| format!("at the end the API server could not be asked: {why}"))?;
        if number_of(&list.listed.version) < followed.version {
            return Err(format!(
                "at the end {} is ahead of the API server: etcd was replaced",
                followed.name()
            ));
        }
        Ok(list)
    }

    /// Opens a watch again, which puts into the inbox what is missing.
    async fn catch_up(&self, number: usize, until: u64, end: Instant) -> Result<(), String> {
        let followed = &self.followed[number];
        if followed.version >= until {
            return Ok(());
        }
        let outbox = &self.outbox;
        let out = move |update| drop(outbox.send((number, update)));
        let version = followed.version.to_string();
        let shown =
            timeout_at(end, watch::catch_up(self.client, &followed.target, version, until, out)).await;
        let why = match shown {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(why)) => format!(": {why}"),
            Err(_) => String::new(),
        };
        Err(format!("at the end {} has not shown all changes{why}", followed.name()))
    }

    /// Takes all updates that have arrived.
    fn take_all(&mut self) -> Result<(), String> {
        while let Ok((number, shown)) = self.inbox.try_recv() {
            self.take(number, shown).map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
