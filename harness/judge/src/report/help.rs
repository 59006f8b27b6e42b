//! Help for a violation: the page about it, a workaround for a known deviation, and the next commands.

use jobcheck_spec::job::Text;
use jobcheck_spec::{Req, Uid};

/// Number of pods that the commands name.
const PODS_NAMED: usize = 2;

/// A known deviation of the built-in controller, as `docs/reference/deviations.md` has it.
#[derive(Clone, Copy, Debug)]
pub struct Deviation {
    /// The requirement under which it is reported.
    pub req: Req,
    /// The behaviour, as a sentence.
    pub behaviour: &'static str,
    /// The versions on which it was seen.
    pub versions: &'static str,
    /// The advice for an administrator.
    pub workaround: &'static str,
    /// The page of the finding, below `docs`.
    pub page: &'static str,
}

macro_rules! deviations {
    ($($req:ident, $versions:literal, $page:literal: $behaviour:literal => $workaround:literal;)*) => {
        /// The known deviations.
        pub const DEVIATIONS: &[Deviation] = &[$(Deviation {
            req: Req::$req,
            behaviour: $behaviour,
            versions: $versions,
            workaround: $workaround,
            page: $page,
        }),*];
    };
}

deviations! {
    S01, "1.36.3", "findings/S-01.md":
        "It completes a Job with too few counted successes, because a pod that is recorded as failed succeeds later."
        => "Compare status.succeeded of a Complete Job with spec.completions, and repeat the work that is missing.";
    S02, "1.36.3", "findings/L2.md":
        "An index completes and fails at once: a healthy pod of another index is deleted, and every status write is refused."
        => "Delete the Job and create it again: it never finishes.";
    S03, "1.35.4, 1.36.3", "findings/S-03.md":
        "It drops a FailJob decision if another pod cannot be deleted, and counts the matching pod all the same."
        => "Remove the reason why the other pod cannot be deleted, and delete the Job yourself.";
    S04, "1.36.3; 1.35.4 only for a Job that was suspended before it had a startTime", "findings/S-04.md":
        "A suspended Job that meets its end has no startTime, so every terminal status write is refused until somebody resumes the Job."
        => "Resume the Job: it gets a startTime and finishes.";
    S05, "1.35.4, 1.36.3", "findings/S-05.md":
        "It counts a pod again if it adopts the pod, or if somebody puts its finalizer back."
        => "Keep the owner reference of a counted pod, or delete the pod. Without its labels it is not adopted. Put no finalizer back.";
    S07, "1.36.3", "findings/S-07.md":
        "It records a succeeded pod as failed too: healthy pods are deleted, and the status is refused for ever."
        => "Delete the Job and create it again: it never finishes.";
    S08, "1.36.3 by its source; not reproduced", "findings/README.md#documented-deviations-that-were-reproduced":
        "It completes a Job beside a pod that it has created and not yet seen."
        => "Delete the pod that remains.";
    S09, "1.36.3", "findings/S-09.md":
        "It writes ready greater than active if a finalizer removal finds no pod, and the write is refused once."
        => "None is needed: a later status write is accepted.";
    S12, "1.35.4, 1.36.3", "findings/S-12.md":
        "It appends another FailureTarget in each sync if somebody has set FailureTarget to False."
        => "Leave the conditions of the Job alone. Delete the Job to end the loop.";
    S25, "1.36.3", "findings/S-25.md":
        "The orphan path removes the finalizer of a pod that was adopted meanwhile, and the pod's success is not counted."
        => "Leave the owner references of pods alone. The Job creates another pod for the lost success.";
    H1, "1.36.3", "findings/H1.md":
        "It counts two changes of one terminating pod as two deletions, and then deletes a healthy pod."
        => "None is known. The Job creates another pod later.";
    H2, "1.35.4, 1.36.3", "findings/README.md#deviations-that-were-read-in-the-source-first":
        "It counts a creation in active that was refused because the namespace is being deleted."
        => "None is needed: the namespace is being deleted.";
    H3, "1.35.4, 1.36.3; fixed in 1.38.0-beta.0", "findings/S-03.md":
        "It removes a pod from ready although its DELETE was refused and the pod stays in active."
        => "Remove the reason why the DELETE is refused. The next status write is right.";
    H4, "1.36.3", "findings/README.md#deviations-that-were-read-in-the-source-first":
        "It counts a DELETE that got a 404 in terminating, for one sync."
        => "None is needed: the next status write is right.";
    J01, "1.36.3", "findings/J-01.md":
        "It reports a pod as active that it has deleted in an earlier sync."
        => "None is needed: a later status write is right.";
    J02, "1.36.3", "findings/J-02.md":
        "It records more than 500 UIDs while finalizers cannot be removed, and then removes about one finalizer a second."
        => "Remove the reason why finalizers cannot be removed, and wait until the lists are short again.";
    J03, "1.36.3", "findings/J-03.md":
        "It counts a pod again after a finalizer removal that got a 404."
        => "Let the controller remove the finalizers of its pods. A higher backoffLimit tolerates a failure that counts twice.";
    J04, "1.36.3", "findings/J-04.md":
        "It removes the finalizer of a running pod of a failing Job without counting the pod, because an Ignore rule matches."
        => "None is needed: the Job has failed, and its status lacks one pod.";
    J05, "1.36.3", "findings/J-05.md":
        "It counts a recorded pod that has lost its owner while the pod still holds the finalizer."
        => "Leave the owner references of pods alone. Remove the finalizer of the pod yourself.";
    J06, "1.35.4, 1.36.3", "findings/J-06.md":
        "It leaves the finalizer on a pod that appears after its Job has finished."
        => "Remove the finalizer of the pod yourself.";
    J07, "1.36.3; fixed in 1.37.2", "findings/J-07.md":
        "It gives a recreated Job no pods, because the Job inherits the expectations of the previous Job."
        => "Give each Job a new name, or restart kube-controller-manager.";
    J08, "1.36.3", "findings/J-08.md":
        "It leaves finalizers on the pods of a Job that was replaced while its watch was interrupted, and the new Job inherits the delay."
        => "Give each Job a new name, and remove the finalizers of the old pods yourself.";
    J09, "1.36.3", "findings/J-09.md":
        "It waits for ever for a pod that it first saw when the pod was being deleted, and creates no replacement."
        => "Restart kube-controller-manager.";
    J11, "1.36.3", "findings/J-11.md":
        "It fails a Job at once whose activeDeadlineSeconds are more than 9223372036, because their nanoseconds overflow."
        => "Leave activeDeadlineSeconds out: the Job then has no deadline.";
    BO02, "1.34, 1.35 (recorded on 1.35.4; fixed in 1.36.3)", "results/kubernetes-1.35.md#bo-02-and-the-refused-status":
        "It reports active 0 while a failed pod waits for its replacement, although other pods run."
        => "Upgrade to 1.36.3. Before, the status is right again after the delay.";
    FT22, "1.36.3; 1.35.4 and 1.37.0 by their source (kubernetes#141329); fixed in 1.36.5 and 1.37.1", "findings/FT-22.md":
        "It does not repeat a clean-up of finalizers by selector that has failed, so that the pods keep their finalizer."
        => "Annotate the Job, or remove the finalizer of the pods yourself.";
    TC09, "1.36.3", "findings/README.md#deviations-that-the-model-found":
        "It turns a Failed condition that somebody had set to False to True in its place, before FailureTarget."
        => "None is needed: no reader of the API depends on the order.";
}

/// The known deviation that is reported under a requirement.
#[must_use]
pub fn deviation(req: Req) -> Option<&'static Deviation> {
    DEVIATIONS.iter().find(|deviation| deviation.req == req)
}

/// Advice about a known deviation.
pub(super) fn sentences(known: Option<Req>) -> Vec<String> {
    let advice = |it: &Deviation| {
        vec![
            format!("the built-in controller does this: {}", it.behaviour),
            format!("seen on Kubernetes {}", it.versions),
            format!("workaround: {}", it.workaround),
        ]
    };
    known.and_then(deviation).map(advice).unwrap_or_default()
}

/// The page about a requirement, or about a known deviation.
pub(super) fn page(req: Req) -> String {
    let page = deviation(req).filter(|_| !is_rule(req)).map(|deviation| format!("docs/{}", deviation.page));
    page.unwrap_or_else(|| {
        let id = req.id().to_ascii_lowercase();
        let family: String = id.chars().take_while(char::is_ascii_alphabetic).collect();
        format!("docs/reference/requirements/{family}.md#{id}")
    })
}

/// The page about the verdicts.
pub(super) fn judging() -> String {
    "docs/reference/judging.md".to_owned()
}

/// Returns `true` for a rule that is the id of a deviation as well (BO-02, FT-22, TC-09).
fn is_rule(req: Req) -> bool {
    matches!(req, Req::BO02 | Req::FT22 | Req::TC09)
}

/// The commands that show the objects of a violation, or that end a known deviation.
pub(super) fn commands(known: Option<Req>, namespace: &str, job: &str, pods: &[(Uid, Text)]) -> Vec<String> {
    let is_name = |text: &str| {
        !text.is_empty()
            && text
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte))
    };
    if !is_name(namespace) || !is_name(job) {
        return Vec::new();
    }
    let remedy = match known {
        Some(Req::S04) => vec![format!(
            r#"kubectl -n {namespace} patch job {job} --type merge -p '{{"spec":{{"suspend":false}}}}'"#
        )],
        Some(Req::S02 | Req::S07 | Req::S12) => vec![format!("kubectl -n {namespace} delete job {job}")],
        _ => Vec::new(),
    };
    let pods: Vec<&str> = pods.iter().map(|(_, name)| &**name).filter(|name| is_name(name)).collect();
    let shown = match pods[..] {
        [] => format!("kubectl -n {namespace} get pods -l batch.kubernetes.io/job-name={job}"),
        _ => {
            format!("kubectl -n {namespace} get pod {} -o yaml", pods[..pods.len().min(PODS_NAMED)].join(" "))
        }
    };
    let status = format!("kubectl -n {namespace} get job {job} -o jsonpath='{{.status}}'");
    remedy.into_iter().chain([status, shown]).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use jobcheck_spec::CATALOGUE;

    use super::*;

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
    }

    /// The cells of each row of a table whose first cell begins so, without the syntax of Markdown.
    fn rows(page: &str, first: &str) -> Vec<Vec<String>> {
        let rows = page.lines().filter(|line| line.starts_with(&format!("| {first}")));
        let cells =
            |row: &str| row.trim_matches('|').split('|').map(|it| it.trim().replace('`', "")).collect();
        rows.map(cells).collect()
    }

    fn deviations_page() -> String {
        fs::read_to_string(root().join("docs/reference/deviations.md")).unwrap()
    }

    #[test]
    fn the_deviations_are_those_of_their_page() {
        let page = deviations_page();
        let target = |cell: &str| {
            let path = cell.split("](").nth(1).unwrap().trim_end_matches(')').to_owned();
            path.trim_start_matches("../").to_owned()
        };
        let of_row = |cells: &Vec<String>| {
            let id = cells[1].split(' ').next().unwrap().to_owned();
            (id, cells[2].clone(), cells[4].clone(), target(&cells[6]))
        };
        let of_rule =
            |cells: &Vec<String>| (cells[0].clone(), cells[1].clone(), cells[2].clone(), target(&cells[3]));
        let mut listed: Vec<_> =
            rows(&page, "KD-").iter().filter(|cells| cells.len() > 3).map(of_row).collect();
        let rules =
            ["BO-02", "FT-22", "TC-09"].iter().flat_map(|id| rows(&page, id)).filter(|cells| cells.len() > 3);
        listed.extend(rules.map(|cells| of_rule(&cells)));
        let known: Vec<_> = DEVIATIONS
            .iter()
            .map(|it| {
                (it.req.id().to_owned(), it.behaviour.to_owned(), it.versions.to_owned(), it.page.to_owned())
            })
            .collect();
        assert_eq!(known, listed);
    }

    #[test]
    fn the_workarounds_are_those_of_the_page() {
        let page = deviations_page();
        let section = page.split("## Workarounds").nth(1).unwrap().split("\n## ").next().unwrap();
        let listed: Vec<_> = rows(section, "").into_iter().skip(2).collect();
        let known: Vec<_> =
            DEVIATIONS.iter().map(|it| vec![it.req.id().to_owned(), it.workaround.to_owned()]).collect();
        assert_eq!(known, listed);
    }

    #[test]
    fn every_page_exists() {
        for entry in CATALOGUE {
            let page = page(entry.req);
            let (file, anchor) = page.split_once('#').unwrap_or((&page, ""));
            let text =
                fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
            let heading = format!("## {}", anchor.to_ascii_uppercase());
            let is_there = anchor.is_empty() || !file.contains("requirements") || text.contains(&heading);
            assert!(is_there, "{page} has no {heading}");
        }
    }

    #[test]
    fn commands_name_the_objects_and_nothing_else_of_a_trace() {
        let pods = [(Uid(1), Text::from("job-x7k2p"))];
        let all = commands(Some(Req::S04), "shop", "job", &pods);
        assert_eq!(all.len(), 3);
        assert!(all[0].contains("patch job job") && all[2] == "kubectl -n shop get pod job-x7k2p -o yaml");
        assert!(commands(None, "shop", "job; rm -rf /", &pods).is_empty());
        assert!(commands(None, "shop", "job", &[(Uid(1), "$(x)".into())])[1].contains("get pods -l"));
    }
}
