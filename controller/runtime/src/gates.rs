//! Feature gates in the form of Kubernetes components: `--feature-gates A=true,B=false`.

use std::collections::BTreeMap;
use std::str::FromStr;

use thiserror::Error;

/// The gates of this program.
///
/// Kubernetes 1.36 locks all of them on. A gate that is off has the effect that it had in earlier versions of Kubernetes
/// (UG-05, UG-07, UG-09, UG-14).
pub const KNOWN: [&str; 4] =
    ["JobBackoffLimitPerIndex", "JobManagedBy", "JobPodReplacementPolicy", "JobSuccessPolicy"];

/// Gates that were set, by name. All others are on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FeatureGates {
    set: BTreeMap<String, bool>,
}

/// An error in a list of gates.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FeatureGatesError {
    /// An entry without `=`.
    #[error("feature gate {0:?} has no value; write NAME=true or NAME=false")]
    NoValue(String),
    /// A value that is not a boolean.
    #[error("feature gate {name} has the value {value:?}; write {name}=true or {name}=false")]
    NotBoolean {
        /// The gate.
        name: String,
        /// The value.
        value: String,
    },
    /// An unknown gate.
    #[error("unknown feature gate {0:?}; use one of {known}", known = KNOWN.join(", "))]
    Unknown(String),
}

impl FeatureGates {
    /// Returns true if the gate is on, which is the default.
    #[must_use]
    pub fn is_on(&self, name: &str) -> bool {
        self.set.get(name).copied().unwrap_or(true)
    }
}

impl FromStr for FeatureGates {
    type Err = FeatureGatesError;

    /// Parses a list of gates. As in Kubernetes, empty entries are skipped, and the last value of a gate applies.
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

/// Parses a boolean as Go's `strconv.ParseBool` does.
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
        let message = |text: &str| text.parse::<FeatureGates>().unwrap_err().to_string();
        assert_eq!(
            message("IndexedJob=true"),
            "unknown feature gate \"IndexedJob\"; use one of JobBackoffLimitPerIndex, JobManagedBy, \
             JobPodReplacementPolicy, JobSuccessPolicy"
        );
        assert_eq!(
            message("JobManagedBy"),
            "feature gate \"JobManagedBy\" has no value; write NAME=true or NAME=false"
        );
        assert_eq!(
            message("JobManagedBy=yes"),
            "feature gate JobManagedBy has the value \"yes\"; write JobManagedBy=true or JobManagedBy=false"
        );
    }
}
