//! The Jobs that the caller asks for.

use std::collections::BTreeSet;

use jobcheck_spec::job::Text;

/// Number of names of other Jobs that are kept for suggestions.
const OTHERS_KEPT: usize = 10_000;
/// Number of names that a message suggests.
const SUGGESTIONS: usize = 3;

/// Names of Jobs and namespaces. A Job is wanted if one of the names and one of the namespaces fits; an empty list fits
/// every Job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Names of Jobs: `NAMESPACE/NAME`, or `NAME` in any namespace.
    pub jobs: Vec<String>,
    /// Namespaces.
    pub namespaces: Vec<String>,
}

impl Wanted {
    /// Returns `true` if every Job is wanted.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.jobs.is_empty() && self.namespaces.is_empty()
    }

    /// Returns `true` if the Job is wanted.
    #[must_use]
    pub fn has(&self, namespace: &str, name: &str) -> bool {
        let by_name = self.jobs.is_empty() || self.jobs.iter().any(|job| is_named(job, namespace, name));
        let by_namespace = self.namespaces.is_empty() || self.namespaces.iter().any(|it| it == namespace);
        by_name && by_namespace
    }

    /// Returns `true` if one of the names is that of the Job. An empty list has none.
    #[must_use]
    pub fn has_any(&self, namespace: &str, name: &str) -> bool {
        !self.is_everything() && self.has(namespace, name)
    }

    /// For each name that fits no Job, a sentence with the nearest names. `found` are the wanted Jobs.
    #[must_use]
    pub fn unmatched(&self, found: &BTreeSet<(Text, Text)>, others: &Others) -> Vec<String> {
        let seen = || found.iter().chain(&others.jobs);
        let fits = |job: &str| found.iter().any(|(namespace, name)| is_named(job, namespace, name));
        let mut lines = Vec::new();
        for job in self.jobs.iter().filter(|job| !fits(job)) {
            let full = job.contains('/');
            let name = |(namespace, name): &(Text, Text)| match full {
                true => format!("{namespace}/{name}"),
                false => name.to_string(),
            };
            let in_others = seen().any(|(namespace, name)| is_named(job, namespace, name));
            lines.push(match in_others {
                true => format!("the Job {job} is in none of the namespaces of --namespace"),
                false => format!("no Job {job} in the trace{}", nearest(job, seen().map(name))),
            });
        }
        for namespace in &self.namespaces {
            if !seen().any(|(other, _)| &**other == namespace) {
                let names = seen().map(|(other, _)| other.to_string());
                lines.push(format!("no Job in a namespace {namespace}{}", nearest(namespace, names)));
            }
        }
        if lines.is_empty() && found.is_empty() && !self.is_everything() {
            lines.push("no Job fits the filters".to_owned());
        }
        lines
    }
}

/// Names of Jobs that are not wanted.
#[derive(Clone, Debug, Default)]
pub struct Others {
    jobs: BTreeSet<(Text, Text)>,
}

impl Others {
    /// Notes a Job that is not wanted.
    pub fn add(&mut self, namespace: &Text, name: &Text) {
        if self.jobs.len() < OTHERS_KEPT {
            self.jobs.insert((namespace.clone(), name.clone()));
        }
    }

    /// Adds the names of another trace.
    pub fn join(&mut self, other: Others) {
        self.jobs.extend(other.jobs);
    }
}

/// Returns `true` if `job`, `NAMESPACE/NAME` or `NAME`, names this Job.
#[must_use]
pub fn is_named(job: &str, namespace: &str, name: &str) -> bool {
    match job.split_once('/') {
        Some((wanted, rest)) => wanted == namespace && rest == name,
        None => job == name,
    }
}

/// The known names that come closest.
fn nearest(wanted: &str, known: impl Iterator<Item = String>) -> String {
    let distinct: BTreeSet<String> = known.collect();
    let mut near: Vec<(usize, String)> =
        distinct.into_iter().map(|name| (strsim::levenshtein(wanted, &name), name)).collect();
    near.sort();
    let names: Vec<String> = near.into_iter().take(SUGGESTIONS).map(|(_, name)| name).collect();
    if names.is_empty() { String::new() } else { format!("; the nearest are {}", names.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(jobs: &[&str], namespaces: &[&str]) -> Wanted {
        let owned = |list: &[&str]| list.iter().map(|&it| it.to_owned()).collect();
        Wanted { jobs: owned(jobs), namespaces: owned(namespaces) }
    }

    #[test]
    fn a_job_is_wanted_by_its_name_and_by_its_namespace() {
        assert!(Wanted::default().has("a", "b"));
        for (jobs, namespaces, fits) in [
            (&["b"][..], &[][..], true),
            (&["a/b"], &[], true),
            (&["c/b", "x"], &[], false),
            (&[], &["a"], true),
            (&["b"], &["c"], false),
        ] {
            assert_eq!(wanted(jobs, namespaces).has("a", "b"), fits, "{jobs:?} {namespaces:?}");
        }
    }

    #[test]
    fn a_name_that_fits_nothing_is_answered_with_the_nearest() {
        let mut others = Others::default();
        for name in ["train-1", "train-2", "eval"] {
            others.add(&"shop".into(), &name.into());
        }
        let unmatched = |wanted: Wanted| wanted.unmatched(&BTreeSet::new(), &others);
        assert_eq!(
            unmatched(wanted(&["shop/trian-1"], &[])),
            ["no Job shop/trian-1 in the trace; the nearest are shop/train-1, shop/train-2, shop/eval"]
        );
        assert_eq!(unmatched(wanted(&[], &["shp"])), ["no Job in a namespace shp; the nearest are shop"]);
        assert_eq!(
            unmatched(wanted(&["eval"], &["hops"]))[0],
            "the Job eval is in none of the namespaces of --namespace"
        );
    }
}
