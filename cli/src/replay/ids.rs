//! Short lists of requirement ids.

use std::collections::BTreeMap;

use jobcheck_judge::report::Id;

/// The ids by family, with ranges: `FT-01..03,07 PC-02`.
pub fn compact(ids: impl Iterator<Item = Id>) -> String {
    let words: Vec<String> =
        families(ids).into_iter().map(|(family, numbers)| format!("{family}{}", ranges(&numbers))).collect();
    words.join(" ")
}

/// The numbers of each family. A family is an id without its digits: `FT-` for `FT-02`, `H` for `H2`.
fn families(ids: impl Iterator<Item = Id>) -> BTreeMap<&'static str, Vec<&'static str>> {
    let mut families: BTreeMap<&'static str, Vec<&'static str>> = BTreeMap::new();
    for id in ids {
        let text = id.0.id();
        let (family, number) = text.split_at(text.trim_end_matches(|c: char| c.is_ascii_digit()).len());
        families.entry(family).or_default().push(number);
    }
    families.values_mut().for_each(|numbers| numbers.sort_unstable());
    families
}

fn ranges(numbers: &[&str]) -> String {
    let value = |text: &str| text.parse::<u32>().unwrap_or(0);
    let mut words = Vec::new();
    for run in numbers.chunk_by(|a, b| value(a) + 1 == value(b)) {
        match run {
            [first, _, .., last] => words.push(format!("{first}..{last}")),
            _ => words.extend(run.iter().map(|number| (*number).to_owned())),
        }
    }
    words.join(",")
}

#[cfg(test)]
mod tests {
    use jobcheck_spec::Req;

    use super::*;

    #[test]
    fn runs_of_three_and_more_become_ranges() {
        let ids = [Req::PC02, Req::FT01, Req::FT02, Req::FT03, Req::FT07, Req::FT08].into_iter().map(Id);
        assert_eq!(compact(ids), "FT-01..03,07,08 PC-02");
    }
}
