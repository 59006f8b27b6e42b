//! The versions of Kubernetes that the embedded API server imitates, and that `jobcheck cluster up` builds.

use std::fmt;
use std::str::FromStr;

use super::RuleSet;

/// A minor version of Kubernetes, represented by one of its releases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// 1.35.4, the last release of 1.35 that is published as a Go module.
    V1_35,
    /// 1.36.3.
    #[default]
    V1_36,
    /// 1.37.2.
    V1_37,
}

impl Version {
    /// All versions, the default first.
    pub const ALL: [Version; 3] = [Version::V1_36, Version::V1_35, Version::V1_37];

    /// The rules of its API server.
    #[must_use]
    pub const fn rules(self) -> RuleSet {
        match self {
            Version::V1_35 => RuleSet::V1_35,
            Version::V1_36 => RuleSet::V1_36,
            Version::V1_37 => RuleSet::V1_37,
        }
    }

    /// The minor version, such as `1.36`.
    #[must_use]
    pub fn minor(self) -> String {
        format!("1.{}", self.rules().minor)
    }

    /// The release, such as `1.36.3`.
    #[must_use]
    pub const fn release(self) -> &'static str {
        self.rules().release()
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.release())
    }
}

impl FromStr for Version {
    type Err = String;

    /// Parses a minor version or a release, with or without a leading `v`: `1.35`, `v1.35.4`.
    fn from_str(text: &str) -> Result<Version, String> {
        let asked = text.strip_prefix('v').unwrap_or(text);
        let is_asked = |version: &Version| asked == version.release() || asked == version.minor();
        Version::ALL.into_iter().find(is_asked).ok_or_else(|| {
            let known = Version::ALL.map(|version| format!("{} ({version})", version.minor()));
            format!("expected one of {}", known.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_known_by_its_minor_version_and_by_its_release() {
        for version in Version::ALL {
            let (minor, release) = (version.rules().minor, version.release());
            for text in
                [format!("1.{minor}"), format!("v1.{minor}"), release.to_owned(), format!("v{release}")]
            {
                assert_eq!(text.parse(), Ok(version), "{text}");
            }
            assert!(release.starts_with(&format!("1.{minor}.")));
        }
    }

    #[test]
    fn an_error_lists_the_supported_versions() {
        for text in ["1.34", "1.38", "1.35.0", "1.3", "1.", "", "latest", "vv1.36"] {
            let error = text.parse::<Version>().unwrap_err();
            assert_eq!(error, "expected one of 1.36 (1.36.3), 1.35 (1.35.4), 1.37 (1.37.2)", "{text}");
        }
    }
}
