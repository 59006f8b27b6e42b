//! The differences between the API servers of the supported minor versions.

use crate::gates::Gates;

/// The rules of the API server in one minor version.
///
/// Each gate that a flag or an emulated version can switch is a field, so that a caller can change [`RuleSet::of`]
/// (`docs/reference/judging.md`, section 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RuleSet {
    /// The minor version: 36 for Kubernetes 1.36.
    pub minor: u32,
    /// The gate `JobManagedBy`: `managedBy` is stored, and the status rules SS-08 to SS-28 apply (UG-13).
    pub job_managed_by: bool,
    /// The gate `JobPodReplacementPolicy`: `podReplacementPolicy` is stored and has a default (UG-04).
    ///
    /// If it and `JobManagedBy` are off, `SuccessCriteriaMet` is refused on a Job without a success policy (UG-07).
    pub pod_replacement_policy: bool,
    /// The gate `JobBackoffLimitPerIndex`: the limits per index and FailIndex rules are stored (UG-08).
    pub backoff_limit_per_index: bool,
    /// The gate `JobSuccessPolicy`: `successPolicy` is stored.
    pub success_policy: bool,
    /// The gate `MutableSchedulingDirectivesForSuspendedJobs`: the scheduling directives of a suspended Job may change
    /// even if the Job had started (SU-12).
    ///
    /// If the gate is off, they may change only in a Job that never started.
    pub mutable_scheduling_directives: bool,
    /// The gate `MutablePodResourcesForSuspendedJobs`: the resources of a suspended Job may change (SU-12), and so may
    /// all metadata of its template (SU-13).
    pub mutable_pod_resources: bool,
    /// With these two gates, the template of a suspended Job that never started may change before the Job has the
    /// condition `Suspended` (kubernetes#139287).
    pub mutable_before_suspended_condition: bool,
    /// A suspended Job with `completions` 0 may finish without `startTime` (SS-10, kubernetes#132614).
    pub suspended_with_zero_completions: bool,
    /// A status write that turns `Suspended` from True to False may change `startTime`, even if `spec.suspend` is false
    /// already (SS-09, kubernetes#134769).
    pub resuming_changes_start_time: bool,
    /// An update is checked again for all that the server has generated at the creation (PC-15, SP-05). This is about labels, the
    /// selector, and a name that fits into a label.
    pub updates_are_checked_like_creations: bool,
    /// The specification has fields that [`crate::job::JobSpec`] does not have, such as `scheduling`.
    ///
    /// A new generation may then come with an equal `JobSpec` (SP-11).
    pub spec_has_unseen_fields: bool,
}

impl RuleSet {
    /// The rules of Kubernetes 1.36.3. Until 1.36.1, a template could not change before the condition `Suspended`.
    pub const V1_36: RuleSet = RuleSet {
        minor: 36,
        job_managed_by: true,
        pod_replacement_policy: true,
        backoff_limit_per_index: true,
        success_policy: true,
        mutable_scheduling_directives: true,
        mutable_pod_resources: true,
        mutable_before_suspended_condition: true,
        suspended_with_zero_completions: true,
        resuming_changes_start_time: true,
        updates_are_checked_like_creations: true,
        spec_has_unseen_fields: false,
    };

    /// The rules of Kubernetes 1.37.2. An update is checked for what it changes. The field `scheduling`, whose gate is alpha, is not
    /// in the model.
    pub const V1_37: RuleSet = RuleSet {
        minor: 37,
        updates_are_checked_like_creations: false,
        spec_has_unseen_fields: true,
        ..RuleSet::V1_36
    };

    /// The rules of Kubernetes 1.38.0-beta.0. They decide about Jobs as those of 1.37 do, but for annotations of a scheduler that are
    /// not in the model.
    pub const V1_38: RuleSet = RuleSet { minor: 38, ..RuleSet::V1_37 };

    /// The rules of Kubernetes 1.35.4. The gates for suspended Jobs are alpha and off; if they are on, a template
    /// cannot change before the condition `Suspended`.
    pub const V1_35: RuleSet = RuleSet {
        minor: 35,
        mutable_scheduling_directives: false,
        mutable_pod_resources: false,
        mutable_before_suspended_condition: false,
        ..RuleSet::V1_36
    };

    /// The rules of Kubernetes 1.34 from 1.34.2 on. 1.34.0 refused a new `startTime` at the resumption.
    pub const V1_34: RuleSet = RuleSet { minor: 34, ..RuleSet::V1_35 };

    /// The patch release from which these rules were taken.
    #[must_use]
    pub const fn release(self) -> &'static str {
        match self.minor {
            34 => "1.34.2",
            35 => "1.35.4",
            37 => "1.37.2",
            38 => "1.38.0-beta.0",
            _ => "1.36.3",
        }
    }

    /// These rules with one gate switched, by its Kubernetes name; `None` if [`Gates`] has no gate of this name.
    #[must_use]
    pub fn with_gate(self, gate: &str, on: bool) -> Option<RuleSet> {
        let gates = self.gates().with(gate, on)?;
        Some(RuleSet {
            job_managed_by: gates.job_managed_by,
            pod_replacement_policy: gates.job_pod_replacement_policy,
            backoff_limit_per_index: gates.job_backoff_limit_per_index,
            success_policy: gates.job_success_policy,
            ..self
        })
    }

    /// The state in the API server of the gates that the Job controller has as well.
    #[must_use]
    pub fn gates(self) -> Gates {
        Gates {
            job_managed_by: self.job_managed_by,
            job_pod_replacement_policy: self.pod_replacement_policy,
            job_backoff_limit_per_index: self.backoff_limit_per_index,
            job_success_policy: self.success_policy,
        }
    }

    /// The rules of Kubernetes 1.34 to 1.38 with default gates, by the minor version; `None` for other versions.
    #[must_use]
    pub const fn of(minor: u32) -> Option<RuleSet> {
        match minor {
            34 => Some(RuleSet::V1_34),
            35 => Some(RuleSet::V1_35),
            36 => Some(RuleSet::V1_36),
            37 => Some(RuleSet::V1_37),
            38 => Some(RuleSet::V1_38),
            _ => None,
        }
    }
}

impl Default for RuleSet {
    fn default() -> RuleSet {
        RuleSet::V1_36
    }
}

/// The minor version of a Kubernetes, as servers and people write it: `1.36`, `v1.36.3`, `v1.36.3-gke.1`, `1.36+`. `None` for any
/// other text.
#[must_use]
pub fn minor_of(version: &str) -> Option<u32> {
    let text = version.strip_prefix('v').unwrap_or(version);
    // Pre-releases and builds of vendors are those of their patch release.
    let release = text.split_once(['-', '+']).map_or(text, |(release, _)| release);
    // Some vendors report `1.36+`.
    let is_release =
        release == text || text.strip_suffix('+') == Some(release) || release.matches('.').count() == 2;
    let number =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
    let mut numbers = release.split('.').map(number);
    match (numbers.next(), numbers.next(), numbers.next(), numbers.next()) {
        (Some(Some(1)), Some(Some(minor)), None | Some(Some(_)), None) if is_release => Some(minor),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_minor_versions_have_rules() {
        let known: Vec<u32> = (30..40).filter(|minor| RuleSet::of(*minor).is_some()).collect();
        assert_eq!(known, [34, 35, 36, 37, 38]);
        assert!(known.iter().all(|minor| RuleSet::of(*minor).map(|rules| rules.minor) == Some(*minor)));
    }

    /// The gates for suspended Jobs are alpha in 1.35, and so is what depends on them.
    #[test]
    fn the_template_of_a_suspended_job_is_fixed_before_1_36() {
        for rules in [RuleSet::V1_34, RuleSet::V1_35] {
            let may_change = [rules.mutable_scheduling_directives, rules.mutable_pod_resources];
            assert_eq!(may_change, [false, false]);
            assert!(!rules.mutable_before_suspended_condition);
        }
    }

    #[test]
    fn versions_are_read_as_servers_and_people_write_them() {
        for (text, minor) in [
            ("1.36", 36),
            ("v1.34", 34),
            ("1.35.4", 35),
            ("v1.36.3-gke.1", 36),
            ("1.36+", 36),
            ("v1.38.0-beta.0", 38),
            ("v1.37.2+k3s1", 37),
        ] {
            assert_eq!(minor_of(text), Some(minor), "{text}");
        }
        for text in ["", "1", "1.", "1.+3", "1.x", "2.36", "1.36.3.4", "1.36-gke", "latest", "1.99999999999"]
        {
            assert_eq!(minor_of(text), None, "{text}");
        }
    }
}
