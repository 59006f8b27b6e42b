//! A recording by watches: of every change of Jobs and pods, in the order of their versions.
//!
//! Each namespace has a watch of its Jobs and one of its pods, and one may be ahead of the other. A trace in which a Job
//! counts a pod before the pod has ended would tell of a mistake that nobody made. So what a watch shows waits until all
//! have come as far, or for [`WAIT`]; and at the end it is asked what there is, and only what came before is written.

use std::collections::BTreeMap;
use std::time::Duration;

use jobcheck_traces::{Body, Resource, WatchKind};
use kube::Client;
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::change::{Change, Idle, number_of};
use crate::error::Error;
use crate::hold::Hold;
use crate::selection::{Labels, Selection};
use crate::trace::Trace;
use crate::watch::{self, Listed, Scope, Shown, text};
use crate::{News, permission};

/// How long what one watch has shown waits for the others.
const WAIT: Duration = Duration::from_secs(5);
/// Time between two looks at what has waited for so long.
const LOOK: Duration = Duration::from_millis(200);
/// How long the watches may take to show what there is at the end.
const PATIENCE: Duration = Duration::from_secs(10);
/// What has to be done for it.
const NEEDED: [permission::Need; 2] =
    [("batch", "jobs", &["list", "watch"]), ("", "pods", &["list", "watch"])];

/// What is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watching {
    /// The namespaces; all of them if there are none.
    pub namespaces: Vec<String>,
    /// Of which Jobs; of all if unset. Their pods are recorded with them.
    pub labels: Option<Labels>,
}

impl Watching {
    fn places(&self) -> Vec<Option<String>> {
        if self.namespaces.is_empty() {
            vec![None]
        } else {
            self.namespaces.iter().cloned().map(Some).collect()
        }
    }

    /// Asks whether the account may do it.
    ///
    /// # Errors
    ///
    /// It may not, or the API server does not answer.
    pub async fn check(&self, client: &Client) -> Result<(), Error> {
        let mut lacking = Vec::new();
        let mut advice = Vec::new();
        for place in self.places() {
            let missing =
                permission::lacking(client, &NEEDED, place.as_deref()).await.map_err(Error::Server)?;
            if !missing.is_empty() {
                lacking.push(format!("{} in {}", missing.join(", "), told(place.as_deref())));
                advice.push(how_to_allow(place.as_deref()));
            }
        }
        if lacking.is_empty() {
            return Ok(());
        }
        Err(Error::Permission { lacking: lacking.join("; "), advice: advice.join("\n") })
    }

    /// The namespaces that are not there. One that the account may not ask for counts as being there.
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

fn told(namespace: Option<&str>) -> String {
    namespace.map_or_else(|| "all namespaces".to_owned(), |name| format!("namespace {name}"))
}

fn how_to_allow(namespace: Option<&str>) -> String {
    let (role, at) = match namespace {
        Some(name) => ("role", format!(" -n {name}")),
        None => ("clusterrole", String::new()),
    };
    format!(
        "  kubectl create {role} jobcheck-record --verb=list,watch --resource=jobs.batch,pods{at}\n  \
         kubectl create {role}binding jobcheck-record --{role}=jobcheck-record --user=USER{at}"
    )
}

/// Records until it is to stop.
///
/// # Errors
///
/// The API server does not answer at the beginning, or the trace cannot be written. What the API server does later shows
/// as a gap.
pub async fn watches(
    client: &Client,
    what: &Watching,
    trace: &mut Trace,
    stop: &CancellationToken,
    hear: &mut dyn FnMut(News<'_>),
) -> Result<(), Error> {
    let (sender, inbox) = unbounded_channel();
    let mut recording = Recording {
        client,
        trace,
        hear,
        inbox,
        selection: Selection::new(what.labels.clone()),
        hold: Hold::new(WAIT),
        idle: Idle::default(),
        followed: Vec::new(),
    };
    // They end with it.
    let mut watches = JoinSet::new();
    for place in what.places() {
        let mut there = Vec::new();
        // The pods first: a Job that nobody has begun then has none that could be missing.
        for resource in [Resource::Pods, Resource::Jobs] {
            let scope = Scope { namespace: place.clone(), resource };
            let listed = watch::list(client, &scope).await.map_err(Error::Server)?;
            let (number, version) = (recording.followed.len(), listed.version.clone());
            there.extend(recording.follow(scope.clone(), listed));
            let out = sender.clone();
            let out = move |shown| out.send((number, shown)).is_ok();
            watches.spawn(watch::follow(client.clone(), scope, version, out));
        }
        recording.begin(there);
    }
    recording.until(stop).await?;
    recording.end().await
}

/// What a watch has shown so far.
struct Followed {
    scope: Scope,
    /// Up to where.
    version: u64,
    /// Versions of the objects that are there, by UID.
    known: BTreeMap<String, u64>,
    is_lost: bool,
}

impl Followed {
    fn told(&self) -> String {
        format!("the watch of {} in {}", self.scope.resource.name(), told(self.scope.namespace.as_deref()))
    }

    /// Whether it has shown all that a list holds.
    fn has_reached(&self, listed: &BTreeMap<String, u64>, version: u64) -> bool {
        let shown = |(uid, version)| self.known.get(uid).is_some_and(|known| known >= version);
        let is_there = |(uid, known): (&String, &u64)| *known > version || listed.contains_key(uid);
        self.version > version || (listed.iter().all(shown) && self.known.iter().all(is_there))
    }
}

/// What waits to be written.
enum Waiting {
    Shown(Box<Change>),
    Gap(Resource, String),
}

struct Recording<'a> {
    client: &'a Client,
    trace: &'a mut Trace,
    hear: &'a mut dyn FnMut(News<'_>),
    inbox: UnboundedReceiver<(usize, Shown)>,
    selection: Selection,
    hold: Hold<Waiting>,
    idle: Idle,
    followed: Vec<Followed>,
}

impl Recording<'_> {
    /// A watch begins behind this list; what was listed.
    fn follow(&mut self, scope: Scope, listed: Listed) -> Vec<Change> {
        let (resource, version) = (scope.resource, number_of(&listed.version));
        let objects = listed.objects.into_iter();
        let there: Vec<Change> = objects.map(|it| Change::new(resource, WatchKind::Added, it)).collect();
        let known = there.iter().map(|it| (it.uid().to_owned(), it.version)).collect();
        self.followed.push(Followed { scope, version, known, is_lost: false });
        there
    }

    /// What is there when the recording begins.
    fn begin(&mut self, there: Vec<Change>) {
        for change in self.idle.take(there) {
            // Nothing was written yet: none is late.
            self.hold.push(change.version, Waiting::Shown(Box::new(change)));
        }
    }

    async fn until(&mut self, stop: &CancellationToken) -> Result<(), Error> {
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return Ok(()),
                _ = looks.tick() => {
                    self.write_what_is_ripe()?;
                    self.trace.flush()?;
                    (self.hear)(News::Progress(self.trace.tally()));
                }
                shown = self.inbox.recv() => {
                    let Some((number, shown)) = shown else {
                        return Err(Error::Internal("the watches ended by themselves".to_owned()));
                    };
                    self.take(number, shown)?;
                }
            }
        }
    }

    fn take(&mut self, number: usize, shown: Shown) -> Result<(), Error> {
        let followed = &mut self.followed[number];
        if let Shown::Lost(why) = shown {
            if !std::mem::replace(&mut followed.is_lost, true) {
                (self.hear)(News::Note(format!("{} broke, and is tried again: {why}", followed.told())));
            }
            return Ok(());
        }
        followed.is_lost = false;
        match shown {
            Shown::Event { kind, object } => self.shown(number, kind, object),
            Shown::Reached(version) => {
                followed.version = followed.version.max(number_of(&version));
                Ok(())
            }
            Shown::Again { why, listed } => self.again(number, why, listed),
            Shown::Lost(_) => Ok(()),
        }
    }

    /// What came between the last version that was shown and this list is missing. In the order of versions the gap stands
    /// between what was seen before it and what the list shows.
    fn again(&mut self, number: usize, why: String, listed: Listed) -> Result<(), Error> {
        let followed = &mut self.followed[number];
        let reason = format!("{} broke off: {why}", followed.told());
        (self.hear)(News::Note(format!("a gap: {reason}")));
        let known = std::mem::take(&mut followed.known);
        self.hold.push(followed.version, Waiting::Gap(followed.scope.resource, reason));
        if number_of(&listed.version) < followed.version {
            // It is another etcd, whose versions tell nothing of those before.
            while let Some(waiting) = self.hold.any() {
                self.write(&waiting)?;
            }
        }
        for object in listed.objects {
            let (uid, version) = (text(&object, "uid"), number_of(text(&object, "resourceVersion")));
            if known.get(uid) == Some(&version) {
                self.followed[number].known.insert(uid.to_owned(), version);
            } else {
                // Nobody knows whether it is new, and when it came to be what it is.
                self.shown(number, WatchKind::Modified, object)?;
            }
        }
        self.followed[number].version = number_of(&listed.version);
        Ok(())
    }

    fn shown(&mut self, number: usize, kind: WatchKind, object: Value) -> Result<(), Error> {
        let followed = &mut self.followed[number];
        let change = Change::new(followed.scope.resource, kind, object);
        let version = change.version;
        if kind == WatchKind::Deleted {
            followed.known.remove(change.uid());
        } else {
            followed.known.insert(change.uid().to_owned(), version);
        }
        followed.version = followed.version.max(version);
        let in_time = self.hold.push(version, Waiting::Shown(Box::new(change)));
        self.note_late(number, in_time)
    }

    /// What comes behind something that came later, and is written already, cannot be judged.
    fn note_late(&mut self, number: usize, in_time: bool) -> Result<(), Error> {
        if in_time {
            return Ok(());
        }
        let followed = &self.followed[number];
        let reason = format!("{} was more than {} s behind another", followed.told(), WAIT.as_secs());
        (self.hear)(News::Note(format!("a gap: {reason}")));
        self.trace.gap(None, reason)
    }

    fn write_what_is_ripe(&mut self) -> Result<(), Error> {
        let known = self.followed.iter().map(|it| it.version).min().unwrap_or(0);
        while let Some(waiting) = self.hold.ripe(known) {
            self.write(&waiting)?;
        }
        Ok(())
    }

    fn write(&mut self, waiting: &Waiting) -> Result<(), Error> {
        let change = match waiting {
            Waiting::Gap(resource, reason) => {
                // What was there before it may change unseen: told later, it would seem to be of after the gap.
                for before in self.idle.all() {
                    self.put(&before)?;
                }
                return self.trace.gap(Some(*resource), reason.clone());
            }
            Waiting::Shown(change) => change,
        };
        for before in self.idle.wake(change) {
            self.put(&before)?;
        }
        self.put(change)
    }

    fn put(&mut self, change: &Change) -> Result<(), Error> {
        if !self.selection.takes(change.resource, &change.object, change.kind == WatchKind::Deleted) {
            return Ok(());
        }
        change.show(|watched| self.trace.write(&Body::Watched(watched)))
    }

    /// Waits until the watches have shown what there is, and writes what came up to then.
    async fn end(mut self) -> Result<(), Error> {
        let end = Instant::now() + PATIENCE;
        let (last, trouble) = match self.come_to_an_end(end).await {
            Ok(version) => (version, None),
            Err(why) => (self.followed.iter().map(|it| it.version).min().unwrap_or(0), Some(why)),
        };
        while let Some(waiting) = self.hold.up_to(last) {
            self.write(&waiting)?;
        }
        if let Some(why) = trouble {
            (self.hear)(News::Note(format!("a gap: {why}")));
            self.trace.gap(None, why)?;
        }
        self.trace.flush()
    }

    /// The version up to which everything was shown; why it is not known.
    async fn come_to_an_end(&mut self, end: Instant) -> Result<u64, String> {
        let mut wanted = Vec::new();
        for followed in &self.followed {
            let listed = timeout_at(end, watch::list(self.client, &followed.scope)).await;
            let listed = listed.unwrap_or_else(|_| Err("it does not answer".to_owned()));
            let listed =
                listed.map_err(|why| format!("at the end the API server could not be asked: {why}"))?;
            if number_of(&listed.version) < followed.version {
                return Err(format!(
                    "at the end {} is ahead of what there is: etcd was replaced",
                    followed.told()
                ));
            }
            let objects = listed.objects.iter();
            let versions =
                objects.map(|it| (text(it, "uid").to_owned(), number_of(text(it, "resourceVersion"))));
            wanted.push((versions.collect::<BTreeMap<_, _>>(), number_of(&listed.version)));
        }
        loop {
            let behind =
                self.followed.iter().zip(&wanted).find(|(it, (listed, at))| !it.has_reached(listed, *at));
            let Some((behind, _)) = behind else { break };
            let why = format!("at the end {} has not shown all that is there", behind.told());
            let Ok(Some((number, shown))) = timeout_at(end, self.inbox.recv()).await else { return Err(why) };
            self.take(number, shown).map_err(|error| error.to_string())?;
        }
        Ok(wanted.iter().map(|(_, version)| *version).min().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watch_has_come_to_the_end_once_it_has_shown_what_is_there_and_what_is_gone() {
        let scope = Scope { namespace: None, resource: Resource::Pods };
        let versions = |all: &[(&str, u64)]| all.iter().map(|(uid, it)| ((*uid).to_owned(), *it)).collect();
        let followed = |known| Followed { scope: scope.clone(), version: 0, known, is_lost: false };
        let listed = versions(&[("a", 5), ("b", 7)]);
        assert!(!followed(versions(&[("a", 5), ("b", 6)])).has_reached(&listed, 9));
        assert!(!followed(versions(&[("a", 5), ("b", 7), ("gone", 3)])).has_reached(&listed, 9));
        assert!(followed(versions(&[("a", 5), ("b", 8), ("later", 10)])).has_reached(&listed, 9));
        let beyond = Followed { version: 10, ..followed(versions(&[("a", 5)])) };
        assert!(beyond.has_reached(&listed, 9));
    }
}
