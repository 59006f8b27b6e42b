//! The name of a cluster.

use std::fmt;
use std::str::FromStr;

/// The maximum length: paths below the folder must be short enough for sockets and logs.
const LONGEST: usize = 40;

/// The name of a cluster, such as `default`. It has lower-case letters, digits, and `-`, so that it can be a folder
/// and a context of a kubeconfig.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name(String);

impl Name {
    /// The name as a text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Name {
    type Err = String;

    fn from_str(text: &str) -> Result<Name, String> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if text.is_empty() || text.len() > LONGEST || !text.chars().all(plain) {
            return Err(format!("a name has 1 to {LONGEST} lower-case letters, digits and -"));
        }
        if text.starts_with('-') || text.ends_with('-') {
            return Err("a name begins and ends with a letter or a digit".to_owned());
        }
        Ok(Name(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_folder_and_nothing_else() {
        for good in ["default", "a", "k8s-1-36", "0"] {
            assert_eq!(good.parse::<Name>().unwrap().as_str(), good);
        }
        for bad in ["", ".", "..", "a/b", "A", "-a", "a-", "a b", "a.lock", "ä", &"a".repeat(41)] {
            assert!(bad.parse::<Name>().is_err(), "{bad}");
        }
    }
}
