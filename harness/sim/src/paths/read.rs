//! Stored objects as the shipped controllers and the model read them. An object is read once, however many paths share
//! it.

use std::sync::Arc;

use jobcheck_controller::job::observe::{self, PodSelector};
use jobcheck_controller::job::observed::{JobFacts, PodFacts};
use jobcheck_controller::job::orphan::PodOwner;
use jobcheck_controller::job::requests::PodTemplate;
use jobcheck_controller::ttl;
use jobcheck_controller::ttl::plan::TtlFacts;
use jobcheck_projection::{JobObject, PodObject, Projector};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::serde::Deserialize;
use rustc_hash::FxHashMap;
use serde_json::Value;

/// Objects that are remembered; then all are forgotten.
const REMEMBERED: usize = 1 << 14;

/// A Job.
#[derive(Debug)]
pub struct ReadJob {
    /// What the Job controller reads of it.
    pub facts: JobFacts,
    /// What the TTL controller reads of it.
    pub ttl: TtlFacts,
    /// Which pods it selects.
    pub selector: PodSelector,
    /// What its pods are made from.
    pub template: Arc<PodTemplate>,
    /// What the model sees of it.
    pub projected: JobObject,
}

/// A pod.
#[derive(Debug)]
pub struct ReadPod {
    typed: Pod,
    /// What the model sees of it.
    pub projected: PodObject,
}

impl ReadPod {
    /// What the Job controller reads of it, as a Job sees it.
    ///
    /// # Errors
    ///
    /// It was never stored.
    pub fn facts(
        &self,
        job: &jobcheck_controller::values::Uid,
        selects: &PodSelector,
    ) -> Result<PodFacts, String> {
        observe::pod(&self.typed, job, selects).map_err(|why| why.to_string())
    }

    /// Its controller reference.
    #[must_use]
    pub fn owner(&self) -> PodOwner {
        observe::owner(&self.typed.metadata)
    }
}

/// Reads objects, and remembers what it has read. An object is known by where it is in memory, and kept there.
#[derive(Debug, Default)]
pub struct Reader {
    projector: Projector,
    jobs: FxHashMap<usize, (Arc<Value>, Arc<ReadJob>)>,
    pods: FxHashMap<usize, (Arc<Value>, Arc<ReadPod>)>,
}

impl Reader {
    /// Reads a Job.
    ///
    /// # Errors
    ///
    /// It is none.
    pub fn job(&mut self, object: &Arc<Value>) -> Result<Arc<ReadJob>, String> {
        let place = Arc::as_ptr(object) as usize;
        if let Some((_, read)) = self.jobs.get(&place) {
            return Ok(Arc::clone(read));
        }
        let typed = Job::deserialize(&**object).map_err(|why| format!("a Job that is none: {why}"))?;
        let facts = observe::job(&typed).map_err(|why| why.to_string())?;
        let indexed = object["spec"]["completionMode"] == "Indexed";
        let template = PodTemplate::new(&facts, &object["spec"]["template"], indexed);
        let read = Arc::new(ReadJob {
            ttl: ttl::observe::facts(&typed).map_err(|why| why.to_string())?,
            selector: PodSelector::of(&typed).map_err(|why| why.to_string())?,
            template: Arc::new(template),
            projected: self.projector.job(&object.to_string()).map_err(|why| why.to_string())?,
            facts,
        });
        if self.jobs.len() >= REMEMBERED {
            self.jobs.clear();
        }
        self.jobs.insert(place, (Arc::clone(object), Arc::clone(&read)));
        Ok(read)
    }

    /// Reads a pod.
    ///
    /// # Errors
    ///
    /// It is none.
    pub fn pod(&mut self, object: &Arc<Value>) -> Result<Arc<ReadPod>, String> {
        let place = Arc::as_ptr(object) as usize;
        if let Some((_, read)) = self.pods.get(&place) {
            return Ok(Arc::clone(read));
        }
        let typed = Pod::deserialize(&**object).map_err(|why| format!("a pod that is none: {why}"))?;
        let projected = self.projector.pod(&object.to_string(), None).map_err(|why| why.to_string())?;
        let read = Arc::new(ReadPod { typed, projected });
        if self.pods.len() >= REMEMBERED {
            self.pods.clear();
        }
        self.pods.insert(place, (Arc::clone(object), Arc::clone(&read)));
        Ok(read)
    }
}
