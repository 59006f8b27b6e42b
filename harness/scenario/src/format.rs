//! The text of a scenario, field by field.

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

/// What happens to Jobs, and what is expected of who manages them.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Scenario {
    /// Version of the format.
    pub api_version: ApiVersion,
    /// That it is a scenario.
    pub kind: Kind,
    /// Its name: lower case, digits, `-`.
    pub name: String,
    /// What it is about, in a sentence or two.
    pub about: String,
    /// The requirements that it is about: they are looked at first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<Id>,
    /// Where it comes from: a test of Kubernetes, an issue, a finding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The targets that can play it; all where it is left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<TargetName>,
    /// The Jobs that the user creates.
    pub jobs: Vec<JobEntry>,
    /// Pods that are there before any Job has had a sync, each without the tracking finalizer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pods_before: Vec<PodBefore>,
    /// Whether pods wait for the scheduler, a step `schedule`; else each is bound to a node as soon as it is there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unscheduled: bool,
    /// How the Job controller was started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller: Option<Controller>,
    /// The TTL-after-finished controller; it runs where a Job has a TTL, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_controller: Option<TtlControllerEntry>,
    /// The API server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_server: Option<ApiServer>,
    /// How many events the controllers' watches may be behind, at any time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watches: Option<Watches>,
    /// What bounds the exploration of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Bounds>,
    /// Requirements that are not asked for here, since another scenario is about them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<Id>,
    /// What happens, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Spanned<Step>>,
    /// What holds once all has happened and everybody has come to rest; besides that no requirement is broken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expect: Vec<Spanned<Claims>>,
    /// Which targets are expected to deviate from the requirements here, and how. The others hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deviations: Vec<Spanned<Deviation>>,
}

/// A Job.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct JobEntry {
    /// Its name, for steps and expectations.
    pub name: String,
    /// Of its `spec` what is set.
    pub spec: Spanned<SpecExcerpt>,
}

/// A pod that is there before.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PodBefore {
    /// Whether the Job controls it; else it may be adopted.
    pub controlled: bool,
    /// `status.phase`.
    pub phase: Phase,
}

/// How a Job controller was started.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Controller {
    /// The first delay after a failed pod; 10s in 1.36.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_failure_backoff: Option<Span>,
    /// The longest one; 10m in 1.36.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_failure_backoff_max: Option<Span>,
    /// UIDs that the lists in the status may hold; 500 in 1.36.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_uncounted_pods: Option<usize>,
    /// Its feature gates; those that are not named are on.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub feature_gates: BTreeMap<Gate, bool>,
}

/// How a TTL-after-finished controller was started.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TtlControllerEntry {
    /// Whole seconds by which its clock is ahead of the API server's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_ahead: Option<i64>,
}

/// An API server.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApiServer {
    /// Its feature gates; those that are not named are on.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub feature_gates: BTreeMap<Gate, bool>,
}

/// How many events watches may be behind.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Watches {
    /// Those of pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pods: Option<usize>,
    /// Those of Jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jobs: Option<usize>,
}

/// What bounds an exploration.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Bounds {
    /// The most pods that are created for one Job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pods: Option<usize>,
}
