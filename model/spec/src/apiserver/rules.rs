//! The API server's rules of one minor version, as data.

use crate::gates::Gates;

/// What differs between the API servers of the supported minor versions.
///
/// A gate that an emulated version or a flag switches is a field of its own, so that a caller may start from
/// [`RuleSet::of`] and change it (judging.md 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RuleSet {
    /// The minor version: 36 for Kubernetes 1.36.
    pub minor: u32,
    /// Gate `JobManagedBy`: `managedBy` is stored, and the status rules SS-08 to SS-28 are in force (UG-13).
    pub job_managed_by: bool,
    /// Gate `JobPodReplacementPolicy`: the field is stored and defaulted (UG-04). With `JobManagedBy` off
    /// too, `SuccessCriteriaMet` is refused on a Job without success policy (UG-07).
    pub pod_replacement_policy: bool,
    /// Gate `JobBackoffLimitPerIndex`: its fields and FailIndex rules are stored (UG-08).
    pub backoff_limit_per_index: bool,
    /// Gate `JobSuccessPolicy`: `successPolicy` is stored.
    pub success_policy: bool,
    /// Gate `MutableSchedulingDirectivesForSuspendedJobs`: the directives of a suspended Job that had started
    /// may change (SU-12). Off, only those of a Job that never started may.
    pub mutable_scheduling_directives: bool,
    /// Gate `MutablePodResourcesForSuspendedJobs`: the resources of a suspended Job may change (SU-12), and
    /// its template metadata is not compared (SU-13).
    pub mutable_pod_resources: bool,
    /// Under these two gates, a suspended Job that never started need not wait for its condition `Suspended`
    /// before its template may change (kubernetes#139287).
    pub mutable_before_suspended_condition: bool,
    /// A suspended Job with `completions` 0 may finish without `startTime` (SS-10, kubernetes#132614).
    pub suspended_with_zero_completions: bool,
    /// A status write that turns `Suspended` from true to false may change `startTime` although
    /// `spec.suspend` is false already (SS-09, kubernetes#134769).
    pub resuming_changes_start_time: bool,
    /// The specification has fields that [`crate::job::JobSpec`] does not hold (`scheduling`), so that a new
    /// generation may come with a specification that looks the same (SP-11).
    pub spec_has_unseen_fields: bool,
}

impl RuleSet {
    /// Kubernetes 1.36.3. Until 1.36.1 the template gates waited for the condition `Suspended`.
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
        spec_has_unseen_fields: false,
    };

    /// Kubernetes 1.37: what is new is outside the fields of the model.
    pub const V1_37: RuleSet = RuleSet { minor: 37, spec_has_unseen_fields: true, ..RuleSet::V1_36 };

    /// Kubernetes 1.35.4: the gates for suspended Jobs are alpha and off. It waits for the condition once they are on.
    pub const V1_35: RuleSet = RuleSet {
        minor: 35,
        mutable_scheduling_directives: false,
        mutable_pod_resources: false,
        mutable_before_suspended_condition: false,
        ..RuleSet::V1_36
    };

    /// Kubernetes 1.34, from 1.34.2 on; 1.34.0 refused a new `startTime` on resumption.
    pub const V1_34: RuleSet = RuleSet { minor: 34, ..RuleSet::V1_35 };

    /// The release that these rules were taken from.
    #[must_use]
    pub const fn release(self) -> &'static str {
        match self.minor {
            34 => "1.34.2",
            35 => "1.35.4",
            37 => "1.37.0",
            _ => "1.36.3",
        }
    }

    /// The same with one of the gates that the Job controller has too, on or off (judging.md 8); `None` where there is
    /// no such gate.
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

    /// The gates that the Job controller has too, as the API server has them.
    #[must_use]
    pub fn gates(self) -> Gates {
        Gates {
            job_managed_by: self.job_managed_by,
            job_pod_replacement_policy: self.pod_replacement_policy,
            job_backoff_limit_per_index: self.backoff_limit_per_index,
            job_success_policy: self.success_policy,
        }
    }

    /// The rules of Kubernetes 1.`minor`, its latest patch and default gates, for 1.34 to 1.37.
    #[must_use]
    pub const fn of(minor: u32) -> Option<RuleSet> {
        match minor {
            34 => Some(RuleSet::V1_34),
            35 => Some(RuleSet::V1_35),
            36 => Some(RuleSet::V1_36),
            37 => Some(RuleSet::V1_37),
            _ => None,
        }
    }
}

impl Default for RuleSet {
    fn default() -> RuleSet {
        RuleSet::V1_36
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_minor_versions_are_known() {
        let known: Vec<u32> = (30..40).filter(|minor| RuleSet::of(*minor).is_some()).collect();
        assert_eq!(known, [34, 35, 36, 37]);
        assert!(known.iter().all(|minor| RuleSet::of(*minor).map(|rules| rules.minor) == Some(*minor)));
    }
}
