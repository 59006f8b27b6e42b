//! The names of objects. The model has only numbers.

use std::collections::BTreeMap;

use jobcheck_spec::Uid;
use jobcheck_spec::job::Job;
use jobcheck_spec::pod::Pod;

/// The prefix of a pod's name in messages of the model (PF-07).
const IN_MESSAGES: &str = "default/pod-";

/// The names of one Job and its pods.
#[derive(Clone, Debug)]
pub(super) struct Names {
    /// The number of the Job in the state.
    number: u128,
    /// `metadata.name` of the Job.
    pub job: String,
    /// `metadata.namespace` of the Job and its pods.
    pub namespace: String,
    generate: BTreeMap<Uid, String>,
}

impl Names {
    pub(super) fn new(number: usize, job: &Job) -> Names {
        Names {
            number: number as u128,
            job: job.name.to_string(),
            namespace: job.namespace.to_string(),
            generate: BTreeMap::new(),
        }
    }

    /// Adds a created pod. Returns its `metadata.generateName` (PC-16, PC-17).
    pub(super) fn name_pod(&mut self, pod: &Pod) -> String {
        let prefix = match pod.index {
            Some(index) => format!("{}-{index}-", self.job),
            None => format!("{}-", self.job),
        };
        self.generate.insert(pod.uid, prefix.clone());
        prefix
    }

    pub(super) fn generate_name(&self, uid: Uid) -> String {
        self.generate.get(&uid).cloned().unwrap_or_else(|| format!("{}-", self.job))
    }

    /// `metadata.name` of a pod.
    pub(super) fn pod(&self, uid: Uid) -> String {
        format!("{}{:05}", self.generate_name(uid), uid.0)
    }

    /// `metadata.uid` of a pod. The model numbers the pods of each Job from 1.
    pub(super) fn uid(&self, uid: Uid) -> Uid {
        // Readers distinguish UIDs by their first digits.
        Uid((uid.0 & 0xffff_ffff) << 96 | self.number << 64 | uid.0)
    }

    /// A message of the model, with the names of pods in the trace.
    pub(super) fn message(&self, text: &str) -> String {
        let Some((before, rest)) = text.split_once(IN_MESSAGES) else { return text.to_owned() };
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (number, after) = rest.split_at(digits);
        match number.parse() {
            Ok(number) => format!("{before}{}/{}{after}", self.namespace, self.pod(Uid(number))),
            Err(_) => text.to_owned(),
        }
    }
}
