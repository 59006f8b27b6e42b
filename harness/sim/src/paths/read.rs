//! Stored objects as the shipped controllers and the model read them. An object is read once for all paths that share
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

/// The maximum number of cached objects. Then the cache is cleared.
const REMEMBERED: usize = 1 << 14;

/// A Job.
#[derive(Debug)]
pub struct ReadJob {
    /// The facts for the Job controller.
    pub facts: JobFacts,
    /// The facts for the TTL controller.
    pub ttl: TtlFacts,
    /// The selector of its pods.
    pub selector: PodSelector,
    /// The template of its pods.
    pub template: Arc<PodTemplate>,
    /// The object of the model.
    pub projected: JobObject,
}

/// A pod.
#[derive(Debug)]
pub struct ReadPod {
    typed: Pod,
    /// The object of the model.
    pub projected: PodObject,
}

impl ReadPod {
    /// The facts for the Job controller about the pod of a Job.
    ///
    /// # Errors
    ///
    /// The object was never stored.
    pub fn facts(
        &self,
        job: &jobcheck_controller::values::Uid,
        selects: &PodSelector,
    ) -> Result<PodFacts, String> {
        observe::pod(&self.typed, job, selects).map_err(|why| why.to_string())
    }

    /// The controller reference.
    #[must_use]
    pub fn owner(&self) -> PodOwner {
        observe::owner(&self.typed.metadata)
    }
}

/// A cache of read objects. The address of an object is its key, so that the object is kept in memory.
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
    /// The object is not a Job.
    pub fn job(&mut self, object: &Arc<Value>) -> Result<Arc<ReadJob>, String> {
        let place = Arc::as_ptr(object) as usize;
        if let Some((_, read)) = self.jobs.get(&place) {
            return Ok(Arc::clone(read));
        }
        let typed = Job::deserialize(&**object).map_err(|why| format!("an invalid Job: {why}"))?;
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
    /// The object is not a pod.
    pub fn pod(&mut self, object: &Arc<Value>) -> Result<Arc<ReadPod>, String> {
        let place = Arc::as_ptr(object) as usize;
        if let Some((_, read)) = self.pods.get(&place) {
            return Ok(Arc::clone(read));
        }
        let typed = Pod::deserialize(&**object).map_err(|why| format!("an invalid pod: {why}"))?;
        let projected = self.projector.pod(&object.to_string(), None).map_err(|why| why.to_string())?;
        let read = Arc::new(ReadPod { typed, projected });
        if self.pods.len() >= REMEMBERED {
            self.pods.clear();
        }
        self.pods.insert(place, (Arc::clone(object), Arc::clone(&read)));
        Ok(read)
    }
}
