//! Rules for a request as such: the version that it was made on (SS-32), and the grace period of a DELETE of a pod
//! (SY-12).

use crate::catalogue::Req;
use crate::pod::Pod;
use crate::requirement::Findings;

/// SS-32: judges an accepted write that has the resourceVersion `base`, while `stored` is the stored one.
///
/// `is_update` is true for a PUT. A PATCH without effect may have an older version. Nothing is judged for a base that
/// is newer, because the trace lacks a write then.
pub fn validate_base(is_update: bool, base: u64, stored: u64, findings: &mut Findings) {
    if base < stored && is_update {
        let number = |version: u64| i64::try_from(version).unwrap_or(i64::MAX);
        let what = "resourceVersion of the request";
        findings.require(Req::SS32, false, what, number(stored), number(base));
    } else if base == stored {
        findings.premise(Req::SS32);
    }
}

/// SY-12: judges a write that marked a pod for deletion. A pod without a node, or a terminated one, gets no grace
/// period.
///
/// `grace` is `deletionGracePeriodSeconds` of `after`. [`Pod::delete`] has the same effect in the explorer.
pub fn validate_pod_deletion(before: &Pod, after: &Pod, grace: i64, findings: &mut Findings) {
    let at_once = after.needs_no_stop();
    if after.deleting && !before.deleting && at_once {
        let what = "deletionGracePeriodSeconds of a pod that has no node or has terminated";
        findings.equal(Req::SY12, what, 0, grace);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pod::Phase;
    use crate::uid::Uid;

    #[test]
    fn put_on_an_older_version_breaks_the_rule() {
        for (is_update, base, stored, breaks) in
            [(true, 4, 5, true), (true, 5, 5, false), (true, 6, 5, false), (false, 4, 5, false)]
        {
            let mut findings = Findings::new();
            validate_base(is_update, base, stored, &mut findings);
            assert_eq!(!findings.is_clean(), breaks, "{is_update} {base} {stored}");
        }
    }

    #[test]
    fn grace_for_a_pod_without_a_node_breaks_the_rule() {
        let running = Pod { phase: Phase::Running, ..Pod::new(Uid(1)) };
        let marked = |pod: &Pod| Pod { deleting: true, ..pod.clone() };
        let waiting = Pod { scheduled: false, ..Pod::new(Uid(1)) };
        for (before, grace, breaks) in [(&running, 30, false), (&waiting, 30, true), (&waiting, 0, false)] {
            let mut findings = Findings::new();
            validate_pod_deletion(before, &marked(before), grace, &mut findings);
            assert_eq!(!findings.is_clean(), breaks);
        }
        let mut findings = Findings::new();
        validate_pod_deletion(&marked(&waiting), &marked(&waiting), 30, &mut findings);
        assert!(findings.is_clean());
    }
}
