//! Requirements by their ids, in a report and on the command line.

use std::fmt;

use jobcheck_spec::Req;
use serde::{Serialize, Serializer};

/// Ids of requirements under which other pages know an entry of the catalogue (judging.md 1).
pub const ALIASES: [(&str, Req); 2] = [("L1", Req::S04), ("L2", Req::S02)];

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

/// The requirement of an id or an alias, in any case.
#[must_use]
pub fn find(id: &str) -> Option<Req> {
    let alias = ALIASES.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(id)).map(|(_, req)| *req);
    Req::parse(id).or(alias)
}

/// The aliases of a requirement.
pub fn aliases(req: Req) -> impl Iterator<Item = &'static str> {
    ALIASES.iter().filter(move |(_, of)| *of == req).map(|(alias, _)| *alias)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_requirement_is_found_by_its_id_and_by_its_alias() {
        assert_eq!(find("ft-02"), Some(Req::FT02));
        assert_eq!(find("l1"), Some(Req::S04));
        assert_eq!(find("FT-99"), None);
        assert_eq!(aliases(Req::S02).collect::<Vec<_>>(), ["L2"]);
    }
}
