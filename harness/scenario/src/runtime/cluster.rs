//! The cluster of a run, as far as it matters to what is done there.

use jiff::Timestamp;
use jobcheck_apiserver::error::ApiError;
use jobcheck_apiserver::kubelet::Kubelet;
use jobcheck_apiserver::request::{Api, Request, Response};
use serde_json::Value;

/// A pod that was created for a Job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Created {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.uid`.
    pub uid: String,
    /// UID of the Job that it was created for.
    pub job: String,
}

/// An API server with a kubelet, and what is known of the Jobs and pods of a run.
pub trait Cluster {
    /// The namespace of all Jobs of the run.
    fn namespace(&self) -> String;

    /// The clock.
    fn now(&self) -> Timestamp;

    /// The Job of this name.
    fn job(&self, name: &str) -> Option<&Value>;

    /// The pod of this name, if the kubelet knows it.
    fn pod(&self, name: &str) -> Option<&Value>;

    /// All pods.
    fn pods(&self) -> Vec<&Value>;

    /// The pods that Jobs of this name got, in their order.
    fn created(&self, job: &str) -> &[Created];

    /// Sets in the `spec` of a Job what every Job of the run has.
    fn complete(&self, _spec: &mut Value) {}

    /// Sends a request.
    fn ask(&mut self, request: &Request) -> Response;

    /// What the kubelet does.
    ///
    /// # Errors
    ///
    /// The API server refuses it.
    fn kubelet<R>(
        &mut self,
        act: impl FnOnce(&Kubelet, &mut dyn Api, Timestamp) -> Result<R, ApiError>,
    ) -> Result<R, ApiError>;
}
