//! The versions of Kubernetes for which there is a control plane.

use std::fmt;
use std::str::FromStr;

use jobcheck_spec::apiserver::RuleSet;

/// A minor version of Kubernetes, with the release that is used for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// 1.35, with the last release whose module is available.
    V1_35,
    /// 1.36.
    #[default]
    V1_36,
}

impl Version {
    /// All versions, the default first.
    pub const ALL: [Version; 2] = [Version::V1_36, Version::V1_35];

    /// The rules of its API server.
    #[must_use]
    pub const fn rules(self) -> RuleSet {
        match self {
            Version::V1_35 => RuleSet::V1_35,
            Version::V1_36 => RuleSet::V1_36,
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

    /// The Go module in which the control plane is built: the contents of `go.mod` and `go.sum`.
    pub(crate) const fn module(self) -> (&'static str, &'static str) {
        match self {
            Version::V1_35 => (
                include_str!("../../controlplane/go-1.35.mod"),
                include_str!("../../controlplane/go-1.35.sum"),
            ),
            Version::V1_36 => {
                (include_str!("../../controlplane/go.mod"), include_str!("../../controlplane/go.sum"))
            }
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.release())
    }
}

impl FromStr for Version {
    type Err = String;

    /// Parses `1.35`, or the release, with or without a `v`.
    fn from_str(text: &str) -> Result<Version, String> {
        let asked = text.strip_prefix('v').unwrap_or(text);
        let is_asked = |version: &Version| asked == version.release() || asked == version.minor();
        Version::ALL.into_iter().find(is_asked).ok_or_else(|| {
            let known = Version::ALL.map(|version| format!("{} ({version})", version.minor()));
            format!("expected {}", known.join(" or "))
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
    fn an_unknown_version_is_refused_with_the_known_ones() {
        for text in ["1.34", "1.37", "1.35.0", "1.3", "1.", "", "latest", "vv1.36"] {
            let error = text.parse::<Version>().unwrap_err();
            assert_eq!(error, "expected 1.36 (1.36.3) or 1.35 (1.35.4)", "{text}");
        }
    }

    #[test]
    fn the_module_is_that_of_the_release() {
        for version in Version::ALL {
            let (module, sums) = version.module();
            let (_, patch) = version.release().split_once('.').unwrap();
            assert!(module.contains(&format!("k8s.io/kubernetes v{version}\n")));
            assert!(module.contains(&format!("k8s.io/api => k8s.io/api v0.{patch}\n")));
            assert!(sums.contains(&format!("k8s.io/kubernetes v{version} h1:")));
        }
    }
}
