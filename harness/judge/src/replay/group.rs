//! Decides which inputs are parts of one trace.
//!
//! | files | decision |
//! | --- | --- |
//! | show the same Jobs, such as a rotated log or one watch per resource | one trace |
//! | show no common Job | separate traces: their clusters may have nothing in common |
//! | show the same responses, or watch events for the same versions | separate traces: one is a copy of the other, perhaps with edits |
//! | show nothing, such as an empty file | part of the first trace that shows something |

use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jobcheck_spec::Uid;
use jobcheck_traces::{Body, Input, Object, Reader, Record, Request, Resource};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use serde::Deserialize;

use super::PROGRESS_EVERY;
use super::judging::ShowProgress;

/// Number of versions of an input that are compared with those of other inputs.
const VERSIONS_KEPT: usize = 65_536;

/// Stands for the request of a version that a watch shows. It may be any.
const WATCHED: u64 = 0;

/// The rule for grouping inputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grouping {
    /// Inputs that show the same Jobs, and not the same versions of them, are one trace.
    #[default]
    Auto,
    /// All inputs are one trace.
    One,
    /// Each input is a trace of its own.
    Each,
}

/// Groups inputs into traces.
///
/// [`Grouping::Auto`] reads the files an additional time. If one of them can be read only once, such as a pipe, all
/// inputs are one trace.
#[must_use]
pub fn group(inputs: Vec<Input>, grouping: Grouping, progress: ShowProgress<'_>) -> Vec<Vec<Input>> {
    group_until(inputs, grouping, &Arc::default(), progress)
}

/// Groups inputs as [`group`] does. Once `stop` is true, the rest of the inputs does not count.
#[must_use]
pub fn group_until(
    inputs: Vec<Input>,
    grouping: Grouping,
    stop: &Arc<AtomicBool>,
    progress: ShowProgress<'_>,
) -> Vec<Vec<Input>> {
    match grouping {
        Grouping::Each => inputs.into_iter().map(|input| vec![input]).collect(),
        Grouping::Auto if inputs.len() > 1 && inputs.iter().all(can_be_read_twice) => {
            by_content(inputs, stop, progress)
        }
        Grouping::Auto | Grouping::One => vec![inputs],
    }
}

fn can_be_read_twice(input: &Input) -> bool {
    match input {
        Input::Stdin => false,
        Input::Bytes(..) => true,
        // A path that is no file is reported when it is judged.
        Input::Path(path) => std::fs::metadata(path).map_or(true, |meta| meta.is_file() || meta.is_dir()),
    }
}

/// The Jobs and the versions that an input shows.
#[derive(Default)]
struct Shown {
    jobs: FxHashSet<Uid>,
    /// Versions of objects, each with its first request; [`WATCHED`] for a watch event. The response to another request may
    /// have an old version.
    versions: FxHashMap<(Uid, u64), u64>,
    /// It was read to its end, and has no record.
    is_nothing: bool,
}

impl Shown {
    fn of(input: &Input, stop: &Arc<AtomicBool>, progress: &mut dyn FnMut(u64, Option<u64>)) -> Shown {
        let mut shown = Shown::default();
        if stop.load(Ordering::Relaxed) {
            return shown;
        }
        let mut reader = Reader::open_until(std::slice::from_ref(input), stop);
        let (mut records, mut is_whole) = (0_u32, true);
        loop {
            match reader.next() {
                Ok(Some(record)) => shown.take(&record),
                Ok(None) => {
                    shown.is_nothing = records == 0 && is_whole && !stop.load(Ordering::Relaxed);
                    return shown;
                }
                // An error is reported when the input is judged.
                Err(error) if error.reads_on => is_whole = false,
                Err(error) => {
                    shown.is_nothing = error.problem.is_emptiness();
                    return shown;
                }
            }
            records = records.saturating_add(1);
            if records.is_multiple_of(PROGRESS_EVERY) {
                let (read, total) = reader.progress();
                progress(read, total);
                if stop.load(Ordering::Relaxed) {
                    return shown;
                }
            }
        }
    }

    fn take(&mut self, record: &Record<'_>) {
        let (resource, uid, version, request, object) = match record.body {
            Body::Watched(it) => (it.resource, Some(it.uid), Some(it.version), WATCHED, Some(it.object)),
            Body::Request(it) => (it.resource, it.uid, it.version, number(&it), it.response),
            Body::Header(_) | Body::Mark(_) | Body::Fault(_) | Body::Observed(_) | Body::Expected(_) => {
                return;
            }
        };
        let uid = uid.map(Uid::parse);
        if self.versions.len() < VERSIONS_KEPT {
            uid.zip(version).into_iter().for_each(|shown| {
                self.versions.entry(shown).or_insert(request);
            });
        }
        match resource {
            Resource::Jobs => self.jobs.extend(uid),
            Resource::Pods => self.jobs.extend(object.into_iter().flat_map(owners)),
        }
    }

    fn shares_a_job_with(&self, other: &Shown) -> bool {
        !self.jobs.is_disjoint(&other.jobs)
    }

    /// Returns `true` if one input contains at least half of the versions in the other.
    fn repeats(&self, other: &Shown) -> bool {
        let (few, many) =
            if self.versions.len() < other.versions.len() { (self, other) } else { (other, self) };
        let is_again = |shown: &(&(Uid, u64), &u64)| {
            many.versions
                .get(shown.0)
                .is_some_and(|other| other == shown.1 || [*other, *shown.1].contains(&WATCHED))
        };
        let again = few.versions.iter().filter(is_again).count();
        again > 0 && again * 2 >= few.versions.len()
    }
}

/// A number that a request and its copies have.
fn number(request: &Request<'_>) -> u64 {
    let mut hasher = FxHasher::default();
    match request.id {
        Some(id) => id.hash(&mut hasher),
        None => request.interval.received.hash(&mut hasher),
    }
    hasher.finish()
}

#[derive(Deserialize)]
struct Owned {
    metadata: Option<OwnedMetadata>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OwnedMetadata {
    owner_references: Option<Vec<Owner>>,
}

#[derive(Deserialize)]
struct Owner {
    uid: Option<String>,
}

/// The UIDs in the owner references of an object.
fn owners(object: Object<'_>) -> Vec<Uid> {
    let owned: Option<Owned> = serde_json::from_str(object.text()).ok();
    let references = owned.and_then(|it| it.metadata).and_then(|it| it.owner_references).unwrap_or_default();
    references.iter().filter_map(|owner| owner.uid.as_deref()).map(Uid::parse).collect()
}

fn by_content(inputs: Vec<Input>, stop: &Arc<AtomicBool>, progress: ShowProgress<'_>) -> Vec<Vec<Input>> {
    let shown: Vec<Shown> = inputs.iter().map(|input| Shown::of(input, stop, progress)).collect();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (position, this) in shown.iter().enumerate().filter(|(_, this)| !this.is_nothing) {
        let mut group = vec![position];
        groups.retain(|other| {
            let joins = other.iter().any(|it| shown[*it].shares_a_job_with(this))
                && !other.iter().any(|it| group.iter().any(|mine| shown[*it].repeats(&shown[*mine])));
            if joins {
                group.extend(other);
            }
            !joins
        });
        group.sort_unstable();
        groups.push(group);
    }
    groups.sort_unstable();
    let nothing: Vec<usize> = (0..inputs.len()).filter(|it| shown[*it].is_nothing).collect();
    match groups.iter_mut().find(|group| group.iter().any(|it| !shown[*it].jobs.is_empty())) {
        Some(group) => {
            group.extend(nothing);
            group.sort_unstable();
        }
        None => groups.extend(nothing.into_iter().map(|it| vec![it])),
    }
    groups.sort_unstable();
    let mut inputs: Vec<Option<Input>> = inputs.into_iter().map(Some).collect();
    groups.into_iter().map(|group| group.into_iter().filter_map(|it| inputs[it].take()).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(name: &str, lines: &[(&str, &str, &str, u32, &str)]) -> Input {
        let mut text = String::new();
        for (api, kind, uid, version, owner) in lines {
            text.push_str(&format!(
                r#"{{"type":"MODIFIED","object":{{"apiVersion":"{api}","kind":"{kind}","metadata":{{"name":"x",
                "namespace":"n","uid":"{uid}","resourceVersion":"{version}","ownerReferences":[{{"uid":"{owner}"}}]}}}}}}"#
            ));
            text.push('\n');
        }
        Input::Bytes(name.to_owned(), text.into_bytes())
    }

    fn names(groups: &[Vec<Input>]) -> Vec<Vec<String>> {
        groups.iter().map(|group| group.iter().map(Input::name).collect()).collect()
    }

    const JOB_A: (&str, &str, &str, u32, &str) = ("batch/v1", "Job", "a", 5, "");
    const JOB_A_LATER: (&str, &str, &str, u32, &str) = ("batch/v1", "Job", "a", 9, "");
    const JOB_B: (&str, &str, &str, u32, &str) = ("batch/v1", "Job", "b", 7, "");
    const POD_OF_A: (&str, &str, &str, u32, &str) = ("v1", "Pod", "p", 6, "a");
    const POD_OF_B: (&str, &str, &str, u32, &str) = ("v1", "Pod", "q", 8, "b");

    #[test]
    fn files_that_show_the_same_jobs_are_one_trace() {
        let inputs = vec![
            watch("jobs", &[JOB_A]),
            watch("elsewhere", &[JOB_B]),
            watch("pods", &[POD_OF_A]),
            watch("jobs.1", &[JOB_A_LATER]),
        ];
        let groups = group(inputs, Grouping::Auto, &mut |_, _| {});
        assert_eq!(names(&groups), [vec!["jobs", "pods", "jobs.1"], vec!["elsewhere"]]);
    }

    #[test]
    fn a_file_that_shows_jobs_of_two_others_brings_them_together() {
        let inputs = vec![watch("a", &[JOB_A]), watch("b", &[JOB_B]), watch("pods", &[POD_OF_A, POD_OF_B])];
        assert_eq!(names(&group(inputs, Grouping::Auto, &mut |_, _| {})), [["a", "b", "pods"]]);
    }

    #[test]
    fn a_file_that_shows_nothing_is_part_of_a_trace_that_shows_something() {
        let empty = |name: &str, text: &str| Input::Bytes(name.to_owned(), text.into());
        let reads = r#"{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"9"}}}"#;
        let inputs = vec![
            empty("pods", ""),
            empty("broken", "{"),
            watch("jobs", &[JOB_A]),
            watch("elsewhere", &[JOB_B]),
            empty("list", "[]"),
            empty("bookmarks", reads),
        ];
        let groups = group(inputs, Grouping::Auto, &mut |_, _| {});
        assert_eq!(
            names(&groups),
            [vec!["pods", "jobs", "list", "bookmarks"], vec!["broken"], vec!["elsewhere"]]
        );
        let alone = vec![empty("pods", ""), empty("jobs", "\n")];
        assert_eq!(names(&group(alone, Grouping::Auto, &mut |_, _| {})), [["pods"], ["jobs"]]);
    }

    #[test]
    fn copies_are_judged_apart() {
        let inputs = vec![watch("one", &[JOB_A, POD_OF_A]), watch("edited", &[JOB_A, POD_OF_A, POD_OF_B])];
        assert_eq!(names(&group(inputs, Grouping::Auto, &mut |_, _| {})), [["one"], ["edited"]]);
    }

    /// The response to the removal of a pod has the version of an earlier request, which another API server has handled.
    #[test]
    fn requests_with_one_version_are_no_copies() {
        let request = |id: &str| {
            format!(
                r#"{{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"RequestResponse","auditID":"{id}","stage":"ResponseComplete",
                "verb":"patch","user":{{"username":"u"}},"objectRef":{{"resource":"pods","namespace":"n","name":"p","apiVersion":"v1"}},
                "responseStatus":{{"code":200}},"requestReceivedTimestamp":"2026-01-01T00:00:00.000000Z",
                "stageTimestamp":"2026-01-01T00:00:00.000000Z","requestObject":{{}},"responseObject":{{"kind":"Pod","apiVersion":"v1",
                "metadata":{{"name":"p","namespace":"n","uid":"p","resourceVersion":"6","ownerReferences":[{{"uid":"a"}}]}}}}}}"#
            )
            .replace('\n', "")
        };
        let log = |name: &str, id: &str| Input::Bytes(name.to_owned(), request(id).into_bytes());
        let of =
            |second: &str| group(vec![log("one", "1"), log("other", second)], Grouping::Auto, &mut |_, _| {});
        assert_eq!(names(&of("2")), [["one", "other"]]);
        assert_eq!(names(&of("1")), [["one"], ["other"]]);
    }

    /// A limit of memory or time holds while files are grouped, too.
    #[test]
    fn grouping_ends_once_it_is_told_to() {
        let many = || watch("many", &[JOB_A; 2_000]);
        let (stop, mut calls) = (Arc::new(AtomicBool::new(false)), 0);
        let groups = group_until(vec![many(), many()], Grouping::Auto, &stop, &mut |_, _| {
            calls += 1;
            stop.store(true, Ordering::Relaxed);
        });
        assert_eq!((calls, groups.concat().len()), (1, 2));
    }

    #[test]
    fn standard_input_can_be_read_once_so_that_all_is_one_trace() {
        let groups = group(vec![watch("a", &[JOB_A]), Input::Stdin], Grouping::Auto, &mut |_, _| {});
        assert_eq!(names(&groups), [["a", "standard input"]]);
    }
}
