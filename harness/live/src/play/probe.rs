//! A probe Job, with which a controller shows that it works although an expected write is missing.
//!
//! A missing write is a violation only if it is overdue and the controller has worked meanwhile
//! (`docs/reference/judging.md`, section 4). A run with one quiescent Job shows no work, so that a second Job is
//! created.

use std::time::Duration;

use jobcheck_apiserver::request::{Request, Verb};
use jobcheck_apiserver::resource::Resource;
use jobcheck_scenario::runtime::Cluster as _;
use serde_json::json;

use super::Play;
use crate::error::Error;

/// The time without progress after which an obligation is overdue, slightly longer than the judge's limit.
pub(crate) const OVERDUE: Duration = Duration::from_secs(125);
const NAME: &str = "jobcheck-witness";

impl Play<'_> {
    /// Returns true if an obligation is overdue and the controller has synced the probe Job since. Creates that
    /// Job.
    pub(super) fn is_overdue(&mut self) -> Result<bool, Error> {
        if self.since.elapsed() < OVERDUE || !self.is_quiescent() {
            return Ok(false);
        }
        if let Some(probe) = self.ns.job(NAME) {
            return Ok(!probe["status"]["conditions"].is_null());
        }
        // A suspended Job needs no pods.
        let pod = json!({"restartPolicy": "Never", "containers": [{"name": "main", "image": "main"}]});
        let mut spec = json!({"suspend": true, "template": {"spec": pod}});
        self.ns.complete(&mut spec);
        let body = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": NAME}, "spec": spec});
        let namespace = self.ns.namespace();
        let request = Request::new(Resource::Jobs, Some(&namespace), None, Verb::Create(body));
        let created = self.ns.ask(&request).object();
        created.map(|_| false).map_err(|error| Error::Refused(error.message))
    }
}
