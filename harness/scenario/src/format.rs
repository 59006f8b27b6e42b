//! The fields of a scenario.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_saphyr::Spanned;

use super::claims::Claims;
use super::deviations::Deviation;
use super::spec::SpecExcerpt;
use super::steps::Step;
use super::values::{Gate, Id, Phase, Span, TargetName};

/// `apiVersion`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ApiVersion {
    /// The only one.
    #[serde(rename = "jobcheck.dev/v1")]
    V1,
}

/// `kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// The only one.
    Scenario,
}

/// A scenario: events that happen to Jobs, and the expected behaviour of their managers.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Scenario {
    /// Version of the format.
    pub api_version: ApiVersion,
    /// The kind of document.
    pub kind: Kind,
    /// The name: lower-case letters, digits, and `-`.
    pub name: String,
    /// The purpose, in one or two sentences.
    pub about: String,
    /// The requirements under test, which are checked first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<Id>,
    /// The source: a test of Kubernetes, an issue, or a finding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The targets that can play the scenario. If the list is empty or absent, all can.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<TargetName>,
    /// The Jobs that the user creates.
    pub jobs: Vec<JobEntry>,
    /// The pods that exist before the first sync of any Job, without the tracking finalizer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pods_before: Vec<PodBefore>,
    /// If true, pods wait for a step `schedule`. Otherwise each pod is bound to a node at once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unscheduled: bool,
    /// The settings of the Job controller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller: Option<Controller>,
    /// The settings of the TTL-after-finished controller. It also runs if a Job has a TTL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_controller: Option<TtlControllerEntry>,
    /// The settings of the API server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_server: Option<ApiServer>,
    /// The maximum lag of the controllers' watches, in events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watches: Option<Watches>,
    /// The bounds of the exploration on the target `model`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Bounds>,
    /// The requirements that are not checked, because another scenario tests them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<Id>,
    /// The events, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Spanned<Step>>,
    /// The claims that hold at quiescence after all steps. In addition no requirement may be broken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expect: Vec<Spanned<Claims>>,
    /// The deviations from the requirements that targets are expected to show. All other targets must hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deviations: Vec<Spanned<Deviation>>,
}

/// A Job.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct JobEntry {
    /// The name, for steps and expectations.
    pub name: String,
    /// The fields of its `metadata` that are set.
    #[serde(default, skip_serializing_if = "JobMetadata::is_empty")]
    pub metadata: JobMetadata,
    /// The fields of its `spec` that are set.
    pub spec: Spanned<SpecExcerpt>,
}

/// The metadata with which the user creates a Job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct JobMetadata {
    /// `labels`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// `annotations`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// `finalizers`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub finalizers: Vec<String>,
    /// The name of an earlier Job, to which `ownerReferences` refers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}

impl JobMetadata {
    /// Returns true if no field is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == JobMetadata::default()
    }
}

/// A pod that exists before the first sync.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PodBefore {
    /// If true, the Job controls the pod. Otherwise the pod may be adopted.
    pub controlled: bool,
    /// `status.phase`.
    pub phase: Phase,
}

/// The settings of a Job controller.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Controller {
    /// The first backoff delay after a failed pod. 10s in 1.36.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_failure_backoff: Option<Span>,
    /// The maximum backoff delay. 10m in 1.36.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_failure_backoff_max: Option<Span>,
    /// The maximum number of UIDs in the lists of the status. 500 in 1.36.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_uncounted_pods: Option<usize>,
    /// Its feature gates. Gates that are not named are on.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub feature_gates: BTreeMap<Gate, bool>,
}

/// The settings of a TTL-after-finished controller.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TtlControllerEntry {
    /// The whole seconds by which its clock is ahead of the API server's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_ahead: Option<i64>,
}

/// The settings of an API server.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApiServer {
    /// Its feature gates. Gates that are not named are on.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub feature_gates: BTreeMap<Gate, bool>,
}

/// The maximum lag of watches, in events.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Watches {
    /// The watch of pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pods: Option<usize>,
    /// The watch of Jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jobs: Option<usize>,
}

/// The bounds of an exploration.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Bounds {
    /// The maximum number of pods that are created for one Job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pods: Option<usize>,
}
