//! Feature gates as Kubernetes components take them: `--feature-gates A=true,B=false`.

use std::collections::BTreeMap;
use std::str::FromStr;

use thiserror::Error;

/// The gates that this program knows. All are locked on in Kubernetes 1.36; off, it behaves as the versions did that
/// could switch them (UG-05, UG-07, UG-09, UG-14).
pub const KNOWN: [&str; 4] =
    ["JobBackoffLimitPerIndex", "JobManagedBy", "JobPodReplacementPolicy", "JobSuccessPolicy"];

/// Gates that were set, by name; the others keep their default, which is on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FeatureGates {
    set: BTreeMap<String, bool>,
}

/// What is wrong with a list of gates.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FeatureGatesError {
    /// A part without `=`.
    #[error("feature gate {0:?} has no value: write NAME=true or NAME=false")]
    NoValue(String),
    /// Something else than a truth value.
    #[error("feature gate {name}: {value:?} is neither true nor false")]
    NotBoolean {
        /// The gate.
        name: String,
        /// What was written.
        value: String,
    },
    /// A gate that this program does not have.
    #[error("unknown feature gate {0:?}: known are {known}", known = KNOWN.join(", "))]
    Unknown(String),
}

impl FeatureGates {
    /// Whether the gate is on. A gate that nobody set is.
    #[must_use]
    pub fn is_on(&self, name: &str) -> bool {
        self.set.get(name).copied().unwrap_or(true)
    }
}

impl FromStr for FeatureGates {
    type Err = FeatureGatesError;

    /// Empty parts are passed over and a later value for a gate wins, as in Kubernetes.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut set = BTreeMap::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, value) =
                part.split_once('=').ok_or_else(|| FeatureGatesError::NoValue(part.to_owned()))?;
            let (name, value) = (name.trim(), value.trim());
            if !KNOWN.contains(&name) {
                return Err(FeatureGatesError::Unknown(name.to_owned()));
            }
            let on = boolean(value).ok_or_else(|| FeatureGatesError::NotBoolean {
                name: name.to_owned(),
                value: value.to_owned(),
            })?;
            set.insert(name.to_owned(), on);
        }
        Ok(FeatureGates { set })
    }
}

/// The spellings that Go's `strconv.ParseBool` takes.
fn boolean(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_are_on_by_default() {
        let gates: FeatureGates = "JobSuccessPolicy=false, JobManagedBy=true,".parse().unwrap();
        assert!(!gates.is_on("JobSuccessPolicy"));
        assert!(gates.is_on("JobManagedBy"));
        assert!(gates.is_on("JobPodReplacementPolicy"));
        assert_eq!("".parse(), Ok(FeatureGates::default()));
    }

    #[test]
    fn the_last_value_wins() {
        let gates: FeatureGates = "JobManagedBy=true,JobManagedBy=0".parse().unwrap();
        assert!(!gates.is_on("JobManagedBy"));
    }

    #[test]
    fn errors_name_the_entry() {
        let told = |text: &str| text.parse::<FeatureGates>().unwrap_err().to_string();
        assert_eq!(
            told("IndexedJob=true"),
            "unknown feature gate \"IndexedJob\": known are JobBackoffLimitPerIndex, JobManagedBy, \
             JobPodReplacementPolicy, JobSuccessPolicy"
        );
        assert_eq!(
            told("JobManagedBy"),
            "feature gate \"JobManagedBy\" has no value: write NAME=true or NAME=false"
        );
        assert_eq!(told("JobManagedBy=yes"), "feature gate JobManagedBy: \"yes\" is neither true nor false");
    }
}
