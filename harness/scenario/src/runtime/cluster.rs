//! The interface of the clusters on which scenarios run.

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
    /// The UID of the Job for which it was created.
    pub job: String,
}

/// An API server with a kubelet, and the known Jobs and pods of a run.
pub trait Cluster {
    /// The namespace of all Jobs of the run.
    fn namespace(&self) -> String;

    /// The current time.
    fn now(&self) -> Timestamp;

    /// The Job of this name.
    fn job(&self, name: &str) -> Option<&Value>;

    /// The pod of this name, if the kubelet knows it.
    fn pod(&self, name: &str) -> Option<&Value>;

    /// All pods.
    fn pods(&self) -> Vec<&Value>;

    /// The pods of the Jobs of this name, in the order of their creation.
    fn created(&self, job: &str) -> &[Created];

    /// Sets the fields of a `spec` that all Jobs of the run share.
    fn complete(&self, _spec: &mut Value) {}

    /// Sends a request.
    fn ask(&mut self, request: &Request) -> Response;

    /// Calls a function with the kubelet.
    ///
    /// # Errors
    ///
    /// The API server refuses a request of the kubelet.
    fn kubelet<R>(
        &mut self,
        act: impl FnOnce(&Kubelet, &mut dyn Api, Timestamp) -> Result<R, ApiError>,
    ) -> Result<R, ApiError>;
}
