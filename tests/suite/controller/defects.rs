//! The known defects in the shipped controllers. Each one that they can have is detected.

use jobcheck_adapter::mutations::{can_have, is_of_the_plan};
use jobcheck_adapter::of_the_controller;
use jobcheck_explorer::mutants::MUTANTS;
use jobcheck_spec::Req;

/// The requirement that each defect breaks, with the length of the counterexample. For progress, this is the
/// length of the path to the cycle.
const FOUND: &[(&str, Req, usize)] = &[
    ("S-02b", Req::BI01, 8),
    ("S-04", Req::S04, 7),
    ("S-07", Req::S07, 10),
    ("S-07b", Req::PC04, 11),
    ("S-12", Req::S12, 7),
    ("PC-12", Req::PC12, 6),
    ("BO-07", Req::BO01, 10),
    ("J-01", Req::PC02, 13),
    ("J-02", Req::SC05, 8),
    ("B01", Req::FT02, 15),
    ("B16", Req::FT10, 8),
    ("B08", Req::FT13, 13),
    ("B11", Req::FT31, 6),
    ("B13", Req::PC04, 14),
    ("B18", Req::TC04, 14),
    ("B21", Req::PC03, 10),
    ("B25", Req::S12, 9),
    ("B28", Req::RP11, 6),
    ("B31", Req::PC21, 10),
    ("B32", Req::PC21, 12),
    ("B33", Req::BI02, 8),
    ("B34", Req::PF09, 7),
    ("B35", Req::PC11, 5),
    ("B39", Req::TC14, 6),
    ("B42", Req::BO01, 10),
    ("B46", Req::BO13, 7),
    ("B48a", Req::TT03, 7),
    ("B48b", Req::TT13, 9),
    ("B48c", Req::TT13, 6),
    ("B48d", Req::TT10, 7),
    ("B48e", Req::TT06, 7),
    ("B49", Req::TT14, 7),
    ("B50", Req::TT13, 6),
    ("TT-09", Req::TT09, 16),
    ("MB-03", Req::MB03, 2),
    ("UG-03", Req::TC06, 9),
    ("UG-05", Req::UG05, 2),
    ("UG-07", Req::UG07, 6),
    ("UG-09", Req::UG09, 2),
    ("J-05", Req::FT02, 10),
    ("S-05", Req::S05, 7),
    ("S-25", Req::FT21, 9),
    ("UG-01", Req::FT06, 2),
    ("B04b", Req::FT20, 9),
    ("B43", Req::BO06, 11),
    ("J-08", Req::BO06, 13),
    ("B12", Req::FT31, 6),
    ("B23", Req::SS10, 3),
    ("B26", Req::SX01, 6),
    ("B37", Req::PC01, 7),
    ("L1", Req::SS10, 12),
    ("L2", Req::SS17, 9),
    ("B16b", Req::FT01, 10),
    ("PC-13", Req::PC01, 3),
    ("TC-08", Req::FT01, 5),
    ("J-06", Req::FT23, 13),
    ("B09", Req::SS02, 10),
    ("B04", Req::FT20, 7),
    ("B06", Req::TT15, 17),
    ("B20", Req::RP08, 11),
    ("B47", Req::SU10, 8),
];

/// The defects that these controllers cannot have.
const IMPOSSIBLE: &[&str] = &[
    "S-01", "S-02", "S-03", "S-08", "S-09", "H1", "H2", "H3", "H4", "J-03", "B02", "B03", "B14", "B05",
    "B07", "B13b", "B19", "B22", "B27", "B27b", "B29", "B38", "B40", "B41", "B45", "J-04", "J-07", "B13c",
    "B36", "J-09", "J-10",
];

#[test]
fn every_possible_defect_has_its_pinned_counterexample() {
    let mut all = Vec::new();
    for mutant in MUTANTS.iter().filter(|mutant| can_have(mutant)) {
        let hunt = mutant.hunt_of(&of_the_controller);
        let found = hunt.found().unwrap_or_else(|| panic!("{} is not found", mutant.id));
        all.push((mutant.id, hunt.requirement.unwrap(), found.cycle_start.unwrap_or(found.path.len())));
    }
    assert_eq!(all, FOUND);
}

#[test]
fn without_the_defect_the_same_scopes_satisfy_every_property() {
    for mutant in MUTANTS {
        let hunt = mutant.hunt_without_of(&of_the_controller);
        assert!(hunt.holds(), "{}: {:?}", mutant.id, hunt.found());
    }
}

/// The list above is complete.
#[test]
fn the_other_defects_are_impossible() {
    let impossible: Vec<&str> = MUTANTS.iter().filter(|it| !can_have(it)).map(|it| it.id).collect();
    assert_eq!(impossible, IMPOSSIBLE);
    assert!(MUTANTS.iter().filter(|mutant| is_of_the_plan(mutant)).all(can_have));
}
