//! A Job by which the controller shows that it works, where it still owes something else.
//!
//! What a controller never does is a violation only if it had long enough, and worked meanwhile (judging.md 4). A run
//! with a single Job, to which nothing happens any more, shows no work: another Job does.

use std::time::Duration;

use jobcheck_apiserver::request::{Request, Verb};
use jobcheck_apiserver::resource::Resource;
use jobcheck_scenario::runtime::Cluster as _;
use serde_json::json;

use super::Play;
use crate::error::Error;

/// After this time without progress a debt is one: a little more than the judge gives.
const OVERDUE: Duration = Duration::from_secs(125);
/// After this time it is clear what is overdue, and that the controller works.
pub(super) const LONG_ENOUGH: Duration = Duration::from_secs(180);
const NAME: &str = "jobcheck-witness";

impl Play<'_> {
    /// Whether nothing has come for so long that a debt is one, and the controller has worked since.
    pub(super) fn is_overdue(&mut self) -> Result<bool, Error> {
        if self.since.elapsed() < OVERDUE || !self.at_rest() {
            return Ok(false);
        }
        if let Some(witness) = self.stage.job(NAME) {
            return Ok(!witness["status"]["conditions"].is_null());
        }
        // It wants no pods.
        let pod = json!({"restartPolicy": "Never", "containers": [{"name": "main", "image": "main"}]});
        let mut spec = json!({"suspend": true, "template": {"spec": pod}});
        self.stage.complete(&mut spec);
        let body = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": NAME}, "spec": spec});
        let namespace = self.stage.namespace();
        let request = Request::new(Resource::Jobs, Some(&namespace), None, Verb::Create(body));
        let created = self.stage.ask(&request).object();
        created.map(|_| false).map_err(|error| Error::Refused(error.message))
    }
}
