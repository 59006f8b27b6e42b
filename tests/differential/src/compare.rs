//! The decisions of the embedded server, and their comparison with the decisions of Kubernetes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use jiff::Timestamp;
use jobcheck_apiserver::Config;
use jobcheck_apiserver::request::{DeleteOptions, Request, Subresource, Verb};
use jobcheck_apiserver::resource::Resource;
use jobcheck_spec::apiserver::RuleSet;
use serde_json::{Map, Value, json};

use crate::cases;
use crate::random::Random;

/// The maximum number of differences of each sort that are printed.
const SHOWN: usize = 10;
/// A UID that no generated object has.
const NOBODY: &str = "11111111-1111-4111-8111-111111111111";

/// A kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// PUT of `/status`.
    Status,
    /// PUT.
    Spec,
    /// POST.
    Create,
    /// PUT that changes what the server generates.
    Generated,
}

impl Kind {
    /// All kinds, in the order of the recorded verdicts.
    pub const ALL: [Kind; 4] = [Kind::Status, Kind::Spec, Kind::Create, Kind::Generated];
}

/// A request with the response of the embedded server.
pub struct Ours {
    /// The request in the oracle's format.
    pub question: Value,
    code: u16,
    object: Option<Value>,
    /// The fields in the causes of a refusal.
    fields: BTreeSet<String>,
    message: String,
}

/// The embedded server, which stores the Jobs of the last requests.
pub struct Server(jobcheck_apiserver::Server);

impl Server {
    /// Returns an empty server with these rules.
    pub fn new(rules: RuleSet) -> Server {
        Server(jobcheck_apiserver::Server::new(
            Config { history: 4, rules, ..Config::default() },
            Timestamp::UNIX_EPOCH,
        ))
    }

    /// Draws a request of this kind, and sends it to the embedded server.
    pub fn ask(&mut self, kind: Kind, random: &mut Random) -> Ours {
        match kind {
            Kind::Status => self.update("status", cases::status(random), Some(Subresource::Status)),
            Kind::Spec => self.update("spec", cases::spec(random), None),
            Kind::Create => self.create(cases::sent(random)),
            Kind::Generated => self.update("spec", cases::generated(random), None),
        }
    }

    fn update(&mut self, kind: &str, case: cases::Update, subresource: Option<Subresource>) -> Ours {
        let question = json!({"kind": kind, "old": case.old, "new": case.new});
        let mut body = case.new;
        body["metadata"]["resourceVersion"] = Value::Null;
        let name = case.old["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        if let Err(error) = self.0.put_raw(Resource::Jobs, &case.old) {
            panic!("the generator makes an object that the server cannot store: {}", error.message);
        }
        let request = Request::new(Resource::Jobs, Some("default"), Some(&name), Verb::Update(body));
        self.answer(question, &Request { subresource, ..request })
    }

    fn create(&mut self, sent: Value) -> Ours {
        let name = sent["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let mut body = sent.clone();
        body["metadata"]["resourceVersion"] = Value::Null;
        let request = Request::new(Resource::Jobs, Some("default"), None, Verb::Create(body));
        let mut ours = self.answer(json!({"kind": "create", "new": sent}), &request);
        let uid = ours.object.as_ref().map_or(json!(NOBODY), |object| object["metadata"]["uid"].clone());
        ours.question["new"]["metadata"]["uid"] = uid;
        let background =
            DeleteOptions { propagation_policy: Some("Background".into()), ..DeleteOptions::default() };
        let delete = Request::new(Resource::Jobs, Some("default"), Some(&name), Verb::Delete(background));
        self.0.handle(Timestamp::UNIX_EPOCH, &delete);
        ours
    }

    fn answer(&mut self, question: Value, request: &Request) -> Ours {
        let response = self.0.handle(Timestamp::UNIX_EPOCH, request);
        let code = response.code();
        match response.object() {
            Ok(object) => {
                let object = Some(Value::clone(&object));
                Ours { question, code, object, fields: BTreeSet::new(), message: String::new() }
            }
            Err(error) => {
                let causes = error.status()["details"]["causes"].as_array().cloned().unwrap_or_default();
                let fields = causes.iter().filter_map(|cause| cause["field"].as_str().map(str::to_owned));
                Ours { question, code, object: None, fields: fields.collect(), message: error.message }
            }
        }
    }
}

/// Sums up the comparison of one kind.
pub struct Tally {
    kind: Kind,
    asked: usize,
    accepted: usize,
    panicked: usize,
    decisions_differ: usize,
    objects_differ: usize,
    fields_differ: usize,
    /// Refusals by the field that Kubernetes names.
    refused: BTreeMap<String, usize>,
}

impl Tally {
    /// Returns a tally without requests.
    pub fn of(kind: Kind) -> Tally {
        Tally {
            kind,
            asked: 0,
            accepted: 0,
            panicked: 0,
            decisions_differ: 0,
            objects_differ: 0,
            fields_differ: 0,
            refused: BTreeMap::new(),
        }
    }

    /// Returns true if both servers accepted the same requests and stored the same objects. Returns false if there
    /// were no requests.
    pub fn agrees(&self) -> bool {
        self.asked > 0 && self.decisions_differ + self.objects_differ == 0
    }

    /// Compares the response to one request with the oracle's answer.
    pub fn compare(&mut self, ours: &Ours, theirs: &Value) {
        self.asked += 1;
        let accepted = theirs["accepted"] == true;
        self.accepted += usize::from(accepted);
        let errors = theirs["errors"].as_array().cloned().unwrap_or_default();
        let panicked = errors.iter().any(|error| error["type"] == "panic");
        self.panicked += usize::from(panicked);
        let fields: BTreeSet<String> =
            errors.iter().map(|error| error["field"].as_str().unwrap_or_default().to_owned()).collect();
        for field in &fields {
            *self.refused.entry(general(field)).or_default() += 1;
        }
        if ours.object.is_some() != accepted {
            self.decisions_differ += 1;
            self.show(ours, &format!("theirs {accepted} {errors:?}"), self.decisions_differ);
        } else if let Some(object) = &ours.object {
            let (mine, other) = (compared(object), compared(&theirs["object"]));
            if mine != other {
                self.objects_differ += 1;
                self.show(ours, &difference("", &mine, &other), self.objects_differ);
            }
        } else if !panicked {
            let general_all =
                |fields: &BTreeSet<String>| fields.iter().map(|it| general(it)).collect::<BTreeSet<_>>();
            if general_all(&ours.fields) != general_all(&fields) {
                self.fields_differ += 1;
                self.show(ours, &format!("theirs {errors:?}"), self.fields_differ);
            }
        }
    }

    fn show(&self, ours: &Ours, what: &str, count: usize) {
        if count <= SHOWN {
            eprintln!(
                "{:?} {}: ours {} {}; {what}\n  {}",
                self.kind, self.asked, ours.code, ours.message, ours.question
            );
        }
    }
}

/// Returns a field without its list indexes, which the embedded server does not report.
fn general(field: &str) -> String {
    let mut plain = String::new();
    let mut inside = false;
    for character in field.chars() {
        match character {
            '[' => inside = true,
            ']' => inside = false,
            _ if !inside => plain.push(character),
            _ => {}
        }
    }
    plain
}

impl Ours {
    /// Returns `refused`, or a digest of the stored object.
    pub fn verdict(&self) -> String {
        verdict(self.object.as_ref())
    }
}

/// Returns the same for the oracle's answer.
pub fn their_verdict(theirs: &Value) -> String {
    verdict(Some(&theirs["object"]).filter(|_| theirs["accepted"] == true))
}

fn verdict(object: Option<&Value>) -> String {
    let Some(object) = object else { return "refused".to_owned() };
    // FNV-1a: the digest must be the same on every machine, and needs no other property.
    let digest = canonical(&compared(object)).bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{digest:016x}")
}

/// Returns a value as text with sorted keys, so that the order of fields does not matter.
fn canonical(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let sorted: BTreeMap<&String, String> =
                members.iter().map(|(key, value)| (key, canonical(value))).collect();
            format!("{sorted:?}")
        }
        Value::Array(items) => format!("{:?}", items.iter().map(canonical).collect::<Vec<_>>()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

/// Returns the compared parts of a stored object: all but the metadata that each server chooses itself.
fn compared(object: &Value) -> Value {
    let mut kept = Map::new();
    for key in ["spec", "status"] {
        kept.insert(key.to_owned(), object[key].clone());
    }
    for key in ["name", "namespace", "uid", "labels", "annotations", "generation", "finalizers"] {
        kept.insert(key.to_owned(), object["metadata"][key].clone());
    }
    let mut kept = Value::Object(kept);
    prune(&mut kept);
    kept
}

/// Removes values that Go's JSON encoder omits, such as empty lists.
fn prune(value: &mut Value) {
    if let Value::Object(members) = value {
        for member in members.values_mut() {
            prune(member);
        }
        members.retain(|key, member| match member {
            Value::Null => false,
            Value::Array(items) => !items.is_empty(),
            Value::Object(members) => !members.is_empty(),
            Value::String(text) => !text.is_empty() || key == "failedIndexes",
            Value::Number(number) => {
                number.as_i64() != Some(0) || !matches!(key.as_str(), "active" | "succeeded" | "failed")
            }
            Value::Bool(_) => true,
        });
    } else if let Value::Array(items) = value {
        items.iter_mut().for_each(prune);
    }
}

/// Returns the first path at which two values differ, with both values.
fn difference(path: &str, mine: &Value, other: &Value) -> String {
    if let (Value::Object(one), Value::Object(two)) = (mine, other) {
        let keys: BTreeSet<&String> = one.keys().chain(two.keys()).collect();
        for key in keys {
            if one.get(key) != two.get(key) {
                return difference(&format!("{path}.{key}"), &mine[key.as_str()], &other[key.as_str()]);
            }
        }
    }
    format!("{path}: ours {mine}, theirs {other}")
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:?}: {} requests, {} accepted, {} refused ({} by a panic); differences: {} decisions, {} stored objects, \
             {} fields in refusals",
            self.kind,
            self.asked,
            self.accepted,
            self.asked - self.accepted,
            self.panicked,
            self.decisions_differ,
            self.objects_differ,
            self.fields_differ
        )?;
        for (field, count) in &self.refused {
            writeln!(f, "  {field} {count}")?;
        }
        Ok(())
    }
}
