//! Values in a scenario. An invalid value is an error at its position.

use std::fmt;

use jobcheck_explorer::script::Count;
use jobcheck_spec::Req;
use jobcheck_spec::job::ConditionKind;
use jobcheck_spec::pod;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use jobcheck_judge::replay::milliseconds;
use jobcheck_judge::report::find;

/// The id of a requirement, such as `FT-02`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Id(pub Req);

impl TryFrom<String> for Id {
    type Error = String;

    fn try_from(text: String) -> Result<Id, String> {
        find(&text).map(Id).map_err(|error| error.to_string())
    }
}

impl From<Id> for String {
    fn from(id: Id) -> String {
        id.0.id().to_owned()
    }
}

/// A target of `jobcheck run`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TargetName {
    /// The reference algorithm, in every interleaving.
    Model,
    /// The shipped controllers on the embedded API server.
    Sim,
    /// The shipped controllers on a real API server.
    Live,
    /// kube-controller-manager.
    BuiltIn,
    /// A controller that the user has started.
    External,
}

impl TargetName {
    /// The name in scenarios.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            TargetName::Model => "model",
            TargetName::Sim => "sim",
            TargetName::Live => "live",
            TargetName::BuiltIn => "builtin",
            TargetName::External => "external",
        }
    }
}

/// A duration in Go's syntax, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Span(pub i64);

impl TryFrom<String> for Span {
    type Error = String;

    fn try_from(text: String) -> Result<Span, String> {
        milliseconds(&text).map(Span)
    }
}

impl From<Span> for String {
    fn from(span: Span) -> String {
        match span.0 {
            ms if ms % 1000 == 0 => format!("{}s", ms / 1000),
            ms => format!("{ms}ms"),
        }
    }
}

/// The exit code of a failed container, from 1 to 255.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "i32")]
pub struct ExitCode(pub i32);

impl TryFrom<i64> for ExitCode {
    type Error = String;

    fn try_from(code: i64) -> Result<ExitCode, String> {
        let fits = i32::try_from(code).ok().filter(|code| (1..=255).contains(code));
        fits.map(ExitCode)
            .ok_or_else(|| format!("a container cannot fail with exit code {code}: write one from 1 to 255"))
    }
}

impl From<ExitCode> for i32 {
    fn from(code: ExitCode) -> i32 {
        code.0
    }
}

/// A number or a bound: `2`, `">=1"`, `"<=3"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantity(pub Count);

impl Quantity {
    fn parse(text: &str) -> Option<Quantity> {
        let count = match (text.strip_prefix(">="), text.strip_prefix("<=")) {
            (Some(least), _) => Count::AtLeast(least.trim().parse().ok()?),
            (_, Some(most)) => Count::AtMost(most.trim().parse().ok()?),
            (None, None) => Count::Exactly(text.trim().parse().ok()?),
        };
        Some(Quantity(count))
    }
}

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Count::Exactly(count) => serializer.serialize_u32(count),
            Count::AtLeast(count) => serializer.serialize_str(&format!(">={count}")),
            Count::AtMost(count) => serializer.serialize_str(&format!("<={count}")),
        }
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Quantity, D::Error> {
        deserializer.deserialize_any(QuantityVisitor)
    }
}

struct QuantityVisitor;

impl Visitor<'_> for QuantityVisitor {
    type Value = Quantity;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a number such as 2, or a bound such as \">=1\" or \"<=3\"")
    }

    fn visit_u64<E: Error>(self, count: u64) -> Result<Quantity, E> {
        let count = u32::try_from(count).map_err(|_| E::custom("the number is too large"))?;
        Ok(Quantity(Count::Exactly(count)))
    }

    fn visit_i64<E: Error>(self, count: i64) -> Result<Quantity, E> {
        let count = u64::try_from(count).map_err(|_| E::custom("a count is not negative"))?;
        self.visit_u64(count)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Quantity, E> {
        let problem = || {
            E::custom(format!("expected a number such as 2, or a bound such as >=1 or <=3, found {text:?}"))
        };
        Quantity::parse(text).ok_or_else(problem)
    }
}

/// A feature gate of Jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Gate {
    /// KEP-4368.
    JobManagedBy,
    /// KEP-3939.
    JobPodReplacementPolicy,
    /// KEP-3850.
    JobBackoffLimitPerIndex,
    /// KEP-3998.
    JobSuccessPolicy,
}

impl Gate {
    /// All gates.
    pub const ALL: [Gate; 4] = [
        Gate::JobManagedBy,
        Gate::JobPodReplacementPolicy,
        Gate::JobBackoffLimitPerIndex,
        Gate::JobSuccessPolicy,
    ];
}

/// The type of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Condition {
    /// The Job has succeeded.
    Complete,
    /// The Job has failed.
    Failed,
    /// The Job is suspended.
    Suspended,
    /// The Job will fail.
    FailureTarget,
    /// The Job will complete.
    SuccessCriteriaMet,
}

impl From<Condition> for ConditionKind {
    fn from(condition: Condition) -> ConditionKind {
        match condition {
            Condition::Complete => ConditionKind::Complete,
            Condition::Failed => ConditionKind::Failed,
            Condition::Suspended => ConditionKind::Suspended,
            Condition::FailureTarget => ConditionKind::FailureTarget,
            Condition::SuccessCriteriaMet => ConditionKind::SuccessCriteriaMet,
        }
    }
}

/// `status.phase` of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    /// The containers were not started.
    Pending,
    /// The containers run.
    Running,
    /// All containers have succeeded.
    Succeeded,
    /// A container has failed.
    Failed,
}

impl From<Phase> for pod::Phase {
    fn from(phase: Phase) -> pod::Phase {
        match phase {
            Phase::Pending => pod::Phase::Pending,
            Phase::Running => pod::Phase::Running,
            Phase::Succeeded => pod::Phase::Succeeded,
            Phase::Failed => pod::Phase::Failed,
        }
    }
}

impl From<pod::Phase> for Phase {
    fn from(phase: pod::Phase) -> Phase {
        match phase {
            pod::Phase::Pending | pod::Phase::Unknown => Phase::Pending,
            pod::Phase::Running => Phase::Running,
            pod::Phase::Succeeded => Phase::Succeeded,
            pod::Phase::Failed => Phase::Failed,
        }
    }
}
