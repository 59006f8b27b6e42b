//! A recording: the lines of one trace, and an index of the writes that they show.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::time;

/// The finalizer that a Job controller puts on its pods.
pub const TRACKING: &str = "batch.kubernetes.io/job-tracking";

/// The form of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Form {
    /// Audit events at level `RequestResponse`.
    Audit,
    /// Watch events.
    Watch,
}

/// The sender of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Actor {
    /// The Job controller that is judged.
    Controller,
    /// The TTL controller.
    Ttl,
    /// The garbage collector.
    Collector,
    /// A kubelet.
    Kubelet,
    /// Anybody else.
    User,
    /// A watch does not show the sender.
    Unknown,
}

/// The resource of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Resource {
    /// A Job.
    Job,
    /// A pod.
    Pod,
    /// Anything else.
    Other,
}

/// One write, as its line shows it.
#[derive(Clone, Debug)]
pub struct Event {
    /// The sender.
    pub actor: Actor,
    /// The resource.
    pub resource: Resource,
    /// The verb of an audit event, or the type of a watch event.
    pub verb: String,
    /// The subresource, or an empty text.
    pub subresource: String,
    /// The code of the response; 200 in a watch.
    pub code: u64,
    /// The UID of the object, or an empty text.
    pub uid: String,
    /// The version that the line shows, or 0.
    pub version: u64,
    /// The position in etcd's order. A version that the object already had is replaced by the newest version so far.
    pub rank: (u64, usize),
    /// When the server received the request, and when it answered, in microseconds; 0 in a watch.
    pub interval: (i64, i64),
}

/// The life of one pod.
#[derive(Clone, Debug)]
pub struct Pod {
    /// The UID.
    pub uid: String,
    /// The UID of the Job that owns it at its creation, or an empty text.
    pub job: String,
    /// The completion index.
    pub index: Option<u32>,
    /// The line of the creation.
    pub created: usize,
    /// The Job controller created it, or a watch shows a controller reference at its creation.
    pub is_own: bool,
    /// The first line with a terminal phase, and the phase.
    pub ended: Option<(usize, String)>,
    /// The first line with a deletion timestamp.
    pub deleted: Option<usize>,
    /// The first line without the tracking finalizer, after a line with it.
    pub released: Option<usize>,
    /// The lines that show the pod, in etcd's order.
    pub lines: Vec<usize>,
}

/// A recording with its index.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The name of the file without `.jsonl`, such as `ttl-zero.audit`.
    pub name: String,
    /// The form.
    pub form: Form,
    /// The recording shows a known deviation, which its verdict excuses.
    pub is_known: bool,
    /// The lines.
    pub lines: Vec<Value>,
    /// The write of each line.
    pub events: Vec<Event>,
    /// The pods, in the order of their creation.
    pub pods: Vec<Pod>,
    /// The lines that show each Job, in etcd's order.
    pub jobs: BTreeMap<String, Vec<usize>>,
}

/// The object that a line shows, as it is stored after the write.
#[must_use]
pub fn stored(line: &Value) -> &Value {
    if line["object"].is_object() { &line["object"] } else { &line["responseObject"] }
}

/// The object that a line shows, as it is stored after the write.
pub fn stored_mut(line: &mut Value) -> Option<&mut Value> {
    let name = if line["object"].is_object() { "object" } else { "responseObject" };
    line.get_mut(name).filter(|it| it.is_object())
}

impl Recording {
    /// Indexes the lines of a trace.
    #[must_use]
    pub fn new(name: &str, is_known: bool, lines: Vec<Value>) -> Recording {
        let form =
            if lines.first().is_some_and(|it| it["object"].is_object()) { Form::Watch } else { Form::Audit };
        let events = index(&lines);
        let mut order: Vec<usize> = (0..lines.len()).collect();
        order.sort_by_key(|at| events[*at].rank);
        let mut recording = Recording {
            name: name.to_owned(),
            form,
            is_known,
            lines,
            events,
            pods: Vec::new(),
            jobs: BTreeMap::new(),
        };
        for at in order {
            recording.note(at);
        }
        recording
    }

    fn note(&mut self, at: usize) {
        let object = stored(&self.lines[at]);
        let event = &self.events[at];
        if event.code >= 300 || event.uid.is_empty() {
            return;
        }
        match event.resource {
            Resource::Job if object["kind"] == "Job" => {
                self.jobs.entry(event.uid.clone()).or_default().push(at);
            }
            Resource::Pod if object["kind"] == "Pod" => {
                let known = self.pods.iter().position(|pod| pod.uid == event.uid);
                let position = known.unwrap_or_else(|| {
                    self.pods.push(born(at, event, object));
                    self.pods.len() - 1
                });
                live(&mut self.pods[position], at, object);
            }
            _ => {}
        }
    }

    /// Returns true if `first` happens before `second`.
    #[must_use]
    pub fn precedes(&self, first: usize, second: usize) -> bool {
        self.events[first].rank < self.events[second].rank
    }

    /// Returns true if the Jobs of the recording are not managed by the built-in controller.
    #[must_use]
    pub fn is_mirror(&self) -> bool {
        self.lines.iter().any(|line| stored(line)["spec"]["managedBy"].is_string())
    }

    /// Returns true if the line is a write of a manager into the status of a Job.
    #[must_use]
    pub fn is_status_write(&self, at: usize) -> bool {
        let event = &self.events[at];
        if event.resource != Resource::Job || event.code >= 300 || stored(&self.lines[at])["kind"] != "Job" {
            return false;
        }
        match self.form {
            Form::Audit => {
                let by_manager = event.actor == Actor::Controller || self.is_mirror();
                event.subresource == "status" && by_manager
            }
            Form::Watch => {
                let before = self.previous(at).map(|line| &stored(&self.lines[line])["status"]);
                before.is_some_and(|status| *status != stored(&self.lines[at])["status"])
            }
        }
    }

    /// The line of the version of the same object that precedes the one of a line.
    #[must_use]
    pub fn previous(&self, at: usize) -> Option<usize> {
        let lines = self.jobs.get(&self.events[at].uid)?;
        let position = lines.iter().position(|line| *line == at)?;
        position.checked_sub(1).map(|before| lines[before])
    }

    /// The line of the version of the same Job that follows the one of a line.
    #[must_use]
    pub fn next(&self, at: usize) -> Option<usize> {
        let lines = self.jobs.get(&self.events[at].uid)?;
        let position = lines.iter().position(|line| *line == at)?;
        lines.get(position + 1).copied()
    }

    /// The lines of the status writes of a Job, in etcd's order.
    #[must_use]
    pub fn status_writes(&self, uid: &str) -> Vec<usize> {
        let lines = self.jobs.get(uid).map_or(&[][..], Vec::as_slice);
        lines.iter().copied().filter(|at| self.is_status_write(*at)).collect()
    }

    /// The status write of the same Job that follows a line.
    #[must_use]
    pub fn next_status(&self, at: usize) -> Option<usize> {
        self.status_writes(&self.events[at].uid).into_iter().find(|it| self.precedes(at, *it))
    }

    /// The status write of the same Job that precedes a line.
    #[must_use]
    pub fn previous_status(&self, at: usize) -> Option<usize> {
        self.status_writes(&self.events[at].uid).into_iter().rfind(|it| self.precedes(*it, at))
    }

    /// The status that a line shows.
    #[must_use]
    pub fn status(&self, at: usize) -> &Value {
        &stored(&self.lines[at])["status"]
    }

    /// The pods of a Job.
    pub fn pods_of<'a>(&'a self, job: &'a str) -> impl Iterator<Item = &'a Pod> {
        self.pods.iter().filter(move |pod| pod.job == job)
    }

    /// Returns true if a later pod of the Job was created before this time. A watch shows the time of no other write.
    #[must_use]
    pub fn creates_before(&self, at: usize, micros: i64) -> bool {
        let created = |line: usize| {
            let time = stored(&self.lines[line])["metadata"]["creationTimestamp"].as_str();
            time.and_then(time::parse).is_some_and(|time| time < micros)
        };
        self.pods_of(&self.events[at].uid).any(|pod| self.precedes(at, pod.created) && created(pod.created))
    }

    /// The pod that a line shows.
    #[must_use]
    pub fn pod_at(&self, at: usize) -> Option<&Pod> {
        let event = &self.events[at];
        self.pods.iter().find(|pod| event.resource == Resource::Pod && pod.uid == event.uid)
    }

    /// Returns true if the Job has a terminal condition in its last version.
    #[must_use]
    pub fn finishes(&self, job: &str) -> bool {
        let last = self.jobs.get(job).and_then(|lines| lines.last());
        last.is_some_and(|at| has_true(self.status(*at), "Complete") || has_true(self.status(*at), "Failed"))
    }
}

/// Returns true if the condition is present with status True.
#[must_use]
pub fn has_true(status: &Value, kind: &str) -> bool {
    condition(status, kind).is_some_and(|it| it["status"] == "True")
}

/// The first condition of a type.
#[must_use]
pub fn condition<'a>(status: &'a Value, kind: &str) -> Option<&'a Value> {
    status["conditions"].as_array()?.iter().find(|it| it["type"] == kind)
}

fn index(lines: &[Value]) -> Vec<Event> {
    let (mut newest, mut seen) = (0, BTreeMap::<String, u64>::new());
    let mut names = BTreeMap::<(String, String), String>::new();
    lines
        .iter()
        .enumerate()
        .map(|(at, line)| {
            let mut event = event(line);
            let reference = &line["objectRef"];
            let name = [stored(line)["metadata"]["name"].as_str(), reference["name"].as_str()];
            let name = name.into_iter().flatten().next().unwrap_or_default().to_owned();
            let key = (format!("{:?}", event.resource), name);
            if event.uid.is_empty() {
                event.uid = names.get(&key).cloned().unwrap_or_default();
            } else {
                names.insert(key, event.uid.clone());
            }
            let known = seen.get(&event.uid).copied();
            let is_new = event.version > 0 && known.is_none_or(|known| event.version != known);
            newest = newest.max(event.version);
            event.rank = (if is_new { event.version } else { newest }, at);
            if event.version > 0 {
                let last = seen.entry(event.uid.clone()).or_default();
                *last = event.version.max(*last);
            }
            event
        })
        .collect()
}

fn event(line: &Value) -> Event {
    let object = stored(line);
    let reference = &line["objectRef"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let is_watch = line["object"].is_object();
    let kind = if is_watch { text(&object["kind"]) } else { text(&reference["resource"]) };
    let resource = match kind.as_str() {
        "Job" | "jobs" => Resource::Job,
        "Pod" | "pods" => Resource::Pod,
        _ => Resource::Other,
    };
    let uid = [&object["metadata"]["uid"], &reference["uid"]].into_iter().find_map(Value::as_str);
    let version = object["metadata"]["resourceVersion"].as_str().and_then(|it| it.parse().ok());
    let moment = |name: &str| line[name].as_str().and_then(time::parse).unwrap_or(0);
    Event {
        actor: if is_watch { Actor::Unknown } else { actor(line) },
        resource,
        verb: if is_watch { text(&line["type"]) } else { text(&line["verb"]) },
        subresource: text(&reference["subresource"]),
        code: line["responseStatus"]["code"].as_u64().unwrap_or(200),
        uid: uid.unwrap_or_default().to_owned(),
        version: version.unwrap_or(0),
        rank: (0, 0),
        interval: (moment("requestReceivedTimestamp"), moment("stageTimestamp")),
    }
}

fn actor(line: &Value) -> Actor {
    let user = line["user"]["username"].as_str().unwrap_or_default();
    let agent = line["userAgent"].as_str().unwrap_or_default();
    let both = format!("{user} {agent}");
    let is = |part: &str| both.ends_with(part);
    match () {
        () if is("job-controller") => Actor::Controller,
        () if is("ttl-after-finished-controller") => Actor::Ttl,
        () if is("generic-garbage-collector") => Actor::Collector,
        () if agent.starts_with("kubelet") => Actor::Kubelet,
        () => Actor::User,
    }
}

fn born(at: usize, event: &Event, object: &Value) -> Pod {
    let meta = &object["metadata"];
    let owners = meta["ownerReferences"].as_array();
    let owner = owners.and_then(|it| it.iter().find(|owner| owner["controller"] == true));
    let index = meta["annotations"]["batch.kubernetes.io/job-completion-index"].as_str();
    let by_controller = matches!(event.actor, Actor::Controller | Actor::Unknown);
    Pod {
        uid: event.uid.clone(),
        job: owner.and_then(|it| it["uid"].as_str()).unwrap_or_default().to_owned(),
        index: index.and_then(|it| it.parse().ok()),
        created: at,
        is_own: by_controller && owner.is_some(),
        ended: None,
        deleted: None,
        released: None,
        lines: Vec::new(),
    }
}

fn live(pod: &mut Pod, at: usize, object: &Value) {
    pod.lines.push(at);
    let phase = object["status"]["phase"].as_str().unwrap_or_default();
    if pod.ended.is_none() && (phase == "Succeeded" || phase == "Failed") {
        pod.ended = Some((at, phase.to_owned()));
    }
    if pod.deleted.is_none() && object["metadata"]["deletionTimestamp"].is_string() {
        pod.deleted = Some(at);
    }
    let finalizers = object["metadata"]["finalizers"].as_array();
    let holds = finalizers.is_some_and(|list| list.iter().any(|it| it == TRACKING));
    if pod.released.is_none() && !holds && pod.lines.len() > 1 {
        pod.released = Some(at);
    }
}

/// The folder of the corpus.
#[must_use]
pub fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap_or(Path::new("")).join("traces/corpus")
}

/// Reads the recordings of the corpus, those of known deviations included, sorted by name. Compressed ones and native
/// traces are left out.
///
/// # Errors
///
/// A file cannot be read, or a line is no JSON.
pub fn recordings() -> Result<Vec<Recording>, String> {
    let mut found = Vec::new();
    for (folder, is_known) in [("recordings", false), ("known", true)] {
        for path in files(&corpus().join(folder))? {
            let name = path.file_name().and_then(|it| it.to_str()).unwrap_or_default().to_owned();
            let Some(name) = name.strip_suffix(".jsonl").filter(|name| !name.ends_with(".native")) else {
                continue;
            };
            let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            let lines: Result<Vec<Value>, _> = text.lines().map(serde_json::from_str).collect();
            found.push(Recording::new(name, is_known, lines.map_err(|error| format!("{name}: {error}"))?));
        }
    }
    Ok(found)
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.sort();
    Ok(files)
}
