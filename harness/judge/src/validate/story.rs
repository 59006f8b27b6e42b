//! Descriptions of objects and writes. They show pods by their UIDs, which [`super::names`] replaces by names.

use std::fmt::{self, Display, Formatter};

use jobcheck_spec::Uid;
use jobcheck_spec::job::{ConditionStatus, Job, JobStatus};
use jobcheck_spec::pod::Pod;

/// A description that is built only when it is displayed, since most writes conform.
pub struct Words<F>(pub F);

impl<F: Fn(&mut Formatter<'_>) -> fmt::Result> Display for Words<F> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0(f)
    }
}

/// The status of a Job in one line.
#[must_use]
pub fn status(job: Option<&Job>) -> String {
    let Some(job) = job else { return "the Job is gone".to_owned() };
    let deleting = if job.deleting { ", being deleted" } else { "" };
    format!("Job {}{deleting}: {}", job.name, status_fields(&job.status))
}

/// The fields of a status that are set.
#[must_use]
pub fn status_fields(status: &JobStatus) -> String {
    let number = |value: Option<i32>| value.map_or("-".to_owned(), |value| value.to_string());
    let mut text = format!(
        "active {}, ready {}, terminating {}, succeeded {}, failed {}",
        status.active,
        number(status.ready),
        number(status.terminating),
        status.succeeded,
        status.failed
    );
    let mut add = |name: &str, value: String| {
        if !value.is_empty() {
            text.push_str(&format!(", {name} {value}"));
        }
    };
    let list = |uids: &[Uid]| listed(uids);
    add("uncounted succeeded", list(status.uncounted_succeeded()));
    add("uncounted failed", list(status.uncounted_failed()));
    add("completedIndexes", quoted(&status.completed_indexes));
    add("failedIndexes", status.failed_indexes.as_deref().map(quoted).unwrap_or_default());
    add("startTime", status.start_time.map(|time| time.to_string()).unwrap_or_default());
    add("completionTime", status.completion_time.map(|time| time.to_string()).unwrap_or_default());
    add("conditions", conditions(status));
    text
}

fn quoted(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("\"{text}\"") }
}

fn conditions(status: &JobStatus) -> String {
    let one = |condition: &jobcheck_spec::job::Condition| {
        let status = match condition.status {
            ConditionStatus::True => "",
            ConditionStatus::False => "=False",
            ConditionStatus::Unknown => "=Unknown",
            ConditionStatus::Undefined => "=undefined",
        };
        format!("{}{status}", condition.kind.as_str())
    };
    status.conditions.iter().map(one).collect::<Vec<_>>().join(" ")
}

/// A pod in one line.
#[must_use]
pub fn pod(pod: &Pod) -> impl Display + '_ {
    Words(move |f: &mut Formatter<'_>| {
        write!(f, "pod {} {:?}", pod.uid, pod.phase)?;
        if let Some(index) = pod.index {
            write!(f, ", index {index}")?;
        }
        for (holds, words) in [
            (pod.ready && !pod.is_terminated(), ", ready"),
            (pod.deleting, ", being deleted"),
            (pod.finalizer, ", finalizer"),
        ] {
            if holds {
                f.write_str(words)?;
            }
        }
        Ok(())
    })
}

/// The first UIDs of a list, and the number of the others.
fn listed(uids: &[Uid]) -> String {
    const SHOWN: usize = 6;
    let mut words: Vec<String> = uids.iter().take(SHOWN).map(ToString::to_string).collect();
    if uids.len() > SHOWN {
        words.push(format!("and {} more", uids.len() - SHOWN));
    }
    words.join(" ")
}
