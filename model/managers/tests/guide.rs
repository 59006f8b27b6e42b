//! The guide shows the counterexamples that the explorer finds.

use std::fs;
use std::path::Path;

use jobcheck_managers::mutants::MUTANTS;
use jobcheck_managers::narrative::lines;

#[test]
fn the_guide_has_the_steps_of_each_defect() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/mirror-protocol.md");
    let stored = fs::read_to_string(&path).unwrap();
    let mut text = stored.clone();
    for defect in MUTANTS.iter().filter(|mutant| mutant.is_of_kueue()) {
        let scope = defect.scope();
        let exploration = defect.hunt();
        let lines = lines(&scope, exploration.found().unwrap());
        let marker = format!("<!-- {} -->\n", defect.id);
        let begin = text.find(&marker).expect("the guide names each defect") + marker.len();
        let end = begin + text[begin..].find("<!-- end -->").unwrap();
        text.replace_range(begin..end, &format!("```text\n{}\n```\n", lines.join("\n")));
    }
    if std::env::var_os("JOBCHECK_BLESS").is_some() {
        fs::write(&path, &text).unwrap();
    } else {
        assert_eq!(stored, text, "JOBCHECK_BLESS=1 writes the steps into the guide");
    }
}
