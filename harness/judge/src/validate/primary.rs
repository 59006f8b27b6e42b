//! The requirement that a report names first, if one write breaks several.
//!
//! Guards are evaluated in an order of their own. The first finding is the verdict, so it is the rule that comes
//! nearest to what one sees in the cluster. The order of the other findings stays.

use jobcheck_spec::{Broken, Req};

/// A rule that is named before others that the same write breaks.
struct Precedence {
    first: Req,
    before: &'static [Req],
    #[cfg_attr(not(test), expect(dead_code, reason = "the table shows it to its readers"))]
    reason: &'static str,
}

/// The rules that are named before others. Known deviations keep their place behind all other findings.
const PRECEDENCES: &[Precedence] = &[
    Precedence {
        first: Req::TC14,
        before: &[Req::RP03, Req::FT18],
        reason: "Without FailureTarget the Job still runs, and pods that are being deleted do not count yet. The \
                 missing condition is the cause.",
    },
    Precedence {
        first: Req::S01,
        before: &[Req::SS34],
        reason: "A Complete Job without its successes is worse than a missing write before the end.",
    },
    Precedence {
        first: Req::TC03,
        before: &[Req::SS20, Req::SS21, Req::SS34],
        reason: "The contract is the missing interim condition. The validation of the API server enforces a part.",
    },
    Precedence {
        first: Req::TC04,
        before: &[Req::SS12, Req::SS13, Req::SS34],
        reason: "The contract is that no pod and no uncounted UID remains. The validation enforces a part.",
    },
    Precedence {
        first: Req::TC05,
        before: &[Req::SS24, Req::SS25],
        reason: "The contract is completionTime of Complete Jobs alone. The validation enforces a part.",
    },
    Precedence {
        first: Req::MR07,
        before: &[Req::SS20, Req::SS21],
        reason: "The contract is the missing interim condition. The validation of the API server enforces a part.",
    },
    Precedence {
        first: Req::MR08,
        before: &[Req::TC06, Req::SS06, Req::SS08],
        reason: "The contract is that a decided end stays. The rule for all managers and the validation enforce parts.",
    },
    Precedence {
        first: Req::MR11,
        before: &[Req::SS12, Req::SS18, Req::SS33, Req::SS36],
        reason: "The contract is that no pod is left. The validation enforces a part.",
    },
    Precedence {
        first: Req::MR04,
        before: &[Req::MR01, Req::MR02, Req::MR05],
        reason: "The status of another Job is the cause. Its counts and its startTime fit that Job.",
    },
    Precedence {
        first: Req::BI14,
        before: &[Req::SS17],
        reason: "The contract is that no index both completes and fails. The validation enforces a part.",
    },
];

/// Moves the rules that are named first before the others.
pub fn sort(broken: &mut Vec<Broken>) {
    for precedence in PRECEDENCES {
        let behind = broken.iter().position(|it| it.known.is_none() && precedence.before.contains(&it.req));
        let first = broken.iter().position(|it| it.known.is_none() && it.req == precedence.first);
        if let (Some(behind), Some(first)) = (behind, first)
            && first > behind
        {
            let found = broken.remove(first);
            broken.insert(behind, found);
        }
    }
}

/// The finding that is reported for a view.
pub fn primary(broken: &[Broken]) -> Option<Broken> {
    let mut broken = broken.to_vec();
    sort(&mut broken);
    broken.into_iter().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(req: Req, known: Option<Req>) -> Broken {
        Broken { req, what: "x", expected: 1.into(), found: 2.into(), known }
    }

    fn sorted(reqs: &[Req]) -> Vec<Req> {
        let mut all: Vec<Broken> = reqs.iter().map(|req| broken(*req, None)).collect();
        sort(&mut all);
        all.iter().map(|it| it.req).collect()
    }

    #[test]
    fn the_rule_that_one_sees_is_named_first() {
        use Req::{FT02, PC01, RP03, S01, SS12, SS20, SS34, TC03, TC04, TC14};
        assert_eq!(sorted(&[RP03, TC14]), [TC14, RP03]);
        assert_eq!(sorted(&[SS34, S01]), [S01, SS34]);
        assert_eq!(sorted(&[SS12, SS34, TC04, S01]), [TC04, SS12, S01, SS34]);
        assert_eq!(sorted(&[PC01, SS20, TC03]), [PC01, TC03, SS20]);
        assert_eq!(sorted(&[FT02, PC01]), [FT02, PC01]);
        assert_eq!(primary(&[broken(RP03, None), broken(TC14, None)]).map(|it| it.req), Some(TC14));
        assert_eq!(primary(&[]), None);
    }

    #[test]
    fn a_known_deviation_stays_behind() {
        let mut all = vec![broken(Req::SS34, None), broken(Req::S01, Some(Req::S01))];
        sort(&mut all);
        assert_eq!(all[0].req, Req::SS34);
    }

    #[test]
    fn each_precedence_has_a_reason() {
        assert!(PRECEDENCES.iter().all(|it| it.reason.ends_with('.') && !it.before.contains(&it.first)));
    }
}
