//! Requirements by the ids that people use: `FT-02`, `ft2`, `KD-04`, `L1`, or an upstream issue.

use std::fmt;

use jobcheck_spec::{CATALOGUE, Req, Requirement};
use serde::{Serialize, Serializer};

/// Number of ids that an error suggests.
const SUGGESTIONS: usize = 3;
/// The repository whose issues may be named by their number alone.
const UPSTREAM: &str = "kubernetes/kubernetes";

/// Other names of requirements. `docs/reference/deviations.md` is the source of the names KD and L.
pub const ALIASES: [(&str, Req); 26] = [
    ("KD-01", Req::S01),
    ("KD-02", Req::S02),
    ("KD-03", Req::S03),
    ("KD-04", Req::S04),
    ("KD-05", Req::S05),
    ("KD-06", Req::S07),
    ("KD-07", Req::S08),
    ("KD-08", Req::S09),
    ("KD-09", Req::S12),
    ("KD-10", Req::S25),
    ("KD-11", Req::H1),
    ("KD-12", Req::H2),
    ("KD-13", Req::H3),
    ("KD-14", Req::H4),
    ("KD-15", Req::J01),
    ("KD-16", Req::J02),
    ("KD-17", Req::J03),
    ("KD-18", Req::J04),
    ("KD-19", Req::J05),
    ("KD-20", Req::J06),
    ("KD-21", Req::J07),
    ("KD-22", Req::J08),
    ("KD-23", Req::J09),
    ("KD-24", Req::J11),
    ("L1", Req::S04),
    ("L2", Req::S02),
];

/// A requirement that a report shows by its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(pub Req);

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.id())
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0.id())
    }
}

/// A text that names no requirement, or several.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnknownId {
    /// No id or alias is like the text.
    #[error("there is no requirement {text:?}; {}; `jobcheck rule` lists all ids", nearest(near))]
    Unknown {
        /// The text.
        text: String,
        /// The nearest ids and aliases.
        near: Vec<&'static str>,
    },
    /// An issue concerns several requirements.
    #[error("the issue {text} concerns several requirements; name one of {}", ids(requirements))]
    Ambiguous {
        /// The text.
        text: String,
        /// The requirements.
        requirements: Vec<Req>,
    },
}

fn nearest(near: &[&'static str]) -> String {
    if near.is_empty() {
        "an id is such as FT-02".to_owned()
    } else {
        format!("the nearest are {}", near.join(", "))
    }
}

fn ids(requirements: &[Req]) -> String {
    requirements.iter().map(|req| req.id()).collect::<Vec<_>>().join(", ")
}

/// The requirement with this id or alias, or the only one that cites this upstream issue.
///
/// Case, the dash, and leading zeros do not matter. An issue is `123775`, `#123775`, or `kubernetes#123775`.
///
/// ```
/// use jobcheck_judge::report::find;
/// use jobcheck_spec::Req;
///
/// for id in ["FT-02", "ft2", "Ft02"] {
///     assert_eq!(find(id), Ok(Req::FT02));
/// }
/// assert_eq!(find("kd4"), Ok(Req::S04));
/// assert!(find("FT-99").unwrap_err().to_string().contains("the nearest are FT-32, FT-31, FT-30"));
/// ```
///
/// # Errors
///
/// Nothing is called so, or several requirements cite the issue.
pub fn find(text: &str) -> Result<Req, UnknownId> {
    find_with_issues(text, [])
}

/// The same with more issues: of each, its repository and number, and a requirement that it concerns.
///
/// # Errors
///
/// Nothing is called so, or several requirements cite the issue.
pub fn find_with_issues<'a>(
    text: &str,
    issues: impl IntoIterator<Item = (&'a str, Req)>,
) -> Result<Req, UnknownId> {
    let text = text.trim();
    if let Some(req) = parts(text).and_then(named) {
        return Ok(req);
    }
    let mut found = issue(text).map(|wanted| citing(wanted, issues)).unwrap_or_default();
    found.sort_unstable();
    found.dedup();
    match found[..] {
        [] => Err(UnknownId::Unknown { text: text.to_owned(), near: near(text) }),
        [only] => Ok(only),
        _ => Err(UnknownId::Ambiguous { text: text.to_owned(), requirements: found }),
    }
}

/// The aliases of a requirement.
pub fn aliases(req: Req) -> impl Iterator<Item = &'static str> {
    ALIASES.iter().filter(move |(_, of)| *of == req).map(|(alias, _)| *alias)
}

/// The id of a deviation with its other names, such as `S-04 (KD-04, L1)`; for other requirements, the id alone.
#[must_use]
pub fn with_aliases(req: Req) -> String {
    let names: Vec<&str> = aliases(req).collect();
    if names.is_empty() { req.id().to_owned() } else { format!("{} ({})", req.id(), names.join(", ")) }
}

/// Family and number of an id, such as `FT` and 2.
type Parts = (String, u32);

fn parts(text: &str) -> Option<Parts> {
    let (family, number) = text.split_at(text.find(|c: char| c.is_ascii_digit())?);
    let family = family.strip_suffix('-').unwrap_or(family).to_ascii_uppercase();
    let is_family = !family.is_empty() && family.bytes().all(|byte| byte.is_ascii_uppercase());
    Some((family, number.parse().ok()?)).filter(|_| is_family)
}

/// All ids and aliases.
fn names() -> impl Iterator<Item = (&'static str, Req)> {
    let id = |entry: &Requirement| (entry.id, entry.req);
    CATALOGUE.iter().map(id).chain(ALIASES)
}

fn named(wanted: Parts) -> Option<Req> {
    names().find(|(name, _)| parts(name).as_ref() == Some(&wanted)).map(|(_, req)| req)
}

/// Repository and number of an issue.
fn issue(text: &str) -> Option<(&str, u32)> {
    let (repository, number) = text.split_once('#').unwrap_or(("", text));
    let repository = match repository {
        "" | "kubernetes" => UPSTREAM,
        other => other,
    };
    Some((repository, number.parse().ok()?))
}

/// The requirements that cite an issue.
fn citing<'a>(wanted: (&str, u32), issues: impl IntoIterator<Item = (&'a str, Req)>) -> Vec<Req> {
    let cites = |entry: &&Requirement| {
        let words = entry.source.split(|c: char| c.is_whitespace() || "();,".contains(c));
        words.filter(|word| word.contains('#')).any(|word| issue(word) == Some(wanted))
    };
    let catalogued = CATALOGUE.iter().filter(cites).map(|entry| entry.req);
    let more = issues.into_iter().filter(|(text, _)| issue(text) == Some(wanted)).map(|(_, req)| req);
    catalogued.chain(more).collect()
}

/// The names that come closest: of the same family those with the nearest numbers, otherwise the same number in
/// families with the same first letter.
fn near(text: &str) -> Vec<&'static str> {
    let Some((family, number)) = parts(text) else { return Vec::new() };
    let distance = |name: &str| {
        let (other, found) = parts(name)?;
        let same_letter = other.chars().next() == family.chars().next();
        (other == family || same_letter).then_some((other != family, found.abs_diff(number)))
    };
    let mut near: Vec<_> = names().filter_map(|(name, _)| Some((distance(name)?, name))).collect();
    near.sort_unstable();
    near.into_iter().take(SUGGESTIONS).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn case_dash_and_leading_zeros_do_not_matter() {
        for (texts, req) in [
            (["FT-02", "ft2", "ft-2"], Req::FT02),
            (["s05", "S5", "s-05"], Req::S05),
            (["KD-04", "kd4", "l1"], Req::S04),
            (["h3", "H-3", " H03 "], Req::H3),
        ] {
            for text in texts {
                assert_eq!(find(text), Ok(req), "{text}");
            }
        }
    }

    #[test]
    fn every_name_leads_to_one_requirement() {
        for (name, req) in names() {
            assert_eq!(find(name), Ok(req), "{name}");
        }
        assert_eq!(aliases(Req::S02).collect::<Vec<_>>(), ["KD-02", "L2"]);
        assert_eq!(
            (with_aliases(Req::S02), with_aliases(Req::FT02)),
            ("S-02 (KD-02, L2)".to_owned(), "FT-02".to_owned())
        );
    }

    #[test]
    fn an_upstream_issue_leads_to_the_only_requirement_that_cites_it() {
        for text in ["111646", "#111646", "kubernetes#111646", "kubernetes/kubernetes#111646"] {
            assert_eq!(find(text), Ok(Req::FT13), "{text}");
        }
        let error = find("130103").unwrap_err();
        assert_eq!(
            error.to_string(),
            "the issue 130103 concerns several requirements; name one of TC-07, TC-13"
        );
    }

    #[test]
    fn a_caller_can_add_issues() {
        let issues = [("kubernetes/kubernetes#123775", Req::TC04), ("kubeflow/trainer#3681", Req::MB02)];
        for text in ["123775", "#123775"] {
            assert_eq!(find_with_issues(text, issues), Ok(Req::TC04));
            assert!(find(text).is_err());
        }
        assert_eq!(find_with_issues("kubeflow/trainer#3681", issues), Ok(Req::MB02));
        assert!(find_with_issues("3681", issues).is_err());
        let again = [issues[0], ("kubernetes/kubernetes#123775", Req::TC04)];
        assert_eq!(find_with_issues("123775", again), Ok(Req::TC04));
    }

    #[test]
    fn an_unknown_id_is_answered_with_the_nearest_ones() {
        let near = |text: &str| match find(text) {
            Err(UnknownId::Unknown { near, .. }) => near,
            other => panic!("{other:?}"),
        };
        assert_eq!(near("FT-99"), ["FT-32", "FT-31", "FT-30"]);
        assert_eq!(near("kd99"), ["KD-24", "KD-23", "KD-22"]);
        assert_eq!(near("FX-03"), ["FT-03", "FT-02", "FT-04"]);
        for text in ["", "FT", "-1", "99999999999", "FT-02x", "xz-3"] {
            assert_eq!(near(text), [""; 0], "{text}");
        }
    }

    /// The table of deviations names the requirements in its second column, as in `S-02 = L2`.
    #[test]
    fn the_aliases_are_those_of_the_deviations_page() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/deviations.md");
        let page = fs::read_to_string(page).unwrap();
        let rows = page.lines().filter(|line| line.starts_with("| KD-"));
        let mut listed: Vec<(&str, Req)> = Vec::new();
        for row in rows {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            let (id, other) =
                cells[2].split_once(" = ").map_or((cells[2], None), |(id, alias)| (id, Some(alias)));
            let req = Req::parse(id).unwrap();
            listed.push((cells[1], req));
            listed.extend(other.map(|alias| (alias, req)));
        }
        listed.sort_unstable();
        assert_eq!(listed, ALIASES);
    }
}
