//! The state in which the trace leaves a Job, in words.

use std::collections::BTreeMap;

use jobcheck_traces::format_micros;

use crate::page::{Change, Job, Page, Turn};

/// The state of a Job after its last step.
#[derive(Debug, Default)]
pub struct Standing<'a> {
    /// The fields of the Job.
    fields: BTreeMap<&'a str, &'a str>,
    /// The terminal condition, and the time of the write that stored it.
    end: Option<(&'static str, Option<i64>)>,
    /// The time at which the Job was removed; `None` if it is there.
    gone: Option<Option<i64>>,
}

/// The state of a Job after its last step on the page; `None` if the page has no step of it.
pub fn standing(page: &Page, job: usize) -> Option<Standing<'_>> {
    let object = page.object_of(job)?;
    let mut standing = Standing::default();
    for step in page.steps.iter().filter(|it| it.object == Some(object) && it.refusal.is_none()) {
        for Change(field, _, value) in &step.changes {
            let name = page.fields[*field].as_str();
            match value {
                Some(value) => standing.fields.insert(name, value),
                None => standing.fields.remove(name),
            };
        }
        let end = ["Complete", "Failed"].into_iter().find(|kind| standing.is_true(kind));
        standing.end = end.map(|kind| match standing.end {
            Some((known, at)) if known == kind => (kind, at),
            _ => (kind, step.at),
        });
        if step.life == Some(Turn::Gone) {
            standing.gone = Some(step.at);
        }
    }
    Some(standing)
}

impl Standing<'_> {
    fn is_true(&self, condition: &str) -> bool {
        let value = self.fields.get(format!("status.condition {condition}").as_str());
        value.is_some_and(|it| it.starts_with("True"))
    }

    /// A counter, which the API omits if it is 0.
    fn number(&self, name: &str) -> &str {
        self.fields.get(format!("status.{name}").as_str()).copied().unwrap_or("0")
    }

    /// One or two words: `Complete`, `unfinished`, `gone`.
    pub fn short(&self) -> &'static str {
        match (self.end, self.gone) {
            (Some((end, _)), _) => end,
            (None, Some(_)) => "gone",
            (None, None) => "unfinished",
        }
    }

    /// The state with its time and its counters: `Complete since 10:00:31 (succeeded 3)`.
    pub fn words(&self) -> String {
        let since =
            |at: Option<i64>, word: &str| at.map(|at| format!(" {word} {}", clock(at))).unwrap_or_default();
        let gone = self.gone.map(|at| format!("removed{}", since(at, "at")));
        let state = match (self.end, gone) {
            (Some((end, at)), Some(gone)) => format!("{end}{}, and {gone}", since(at, "since")),
            (Some((end, at)), None) => format!("{end}{}", since(at, "since")),
            (None, Some(gone)) => format!("unfinished, and {gone}"),
            (None, None) => "unfinished".to_owned(),
        };
        format!("{state} ({})", self.counters())
    }

    /// The numbers of its finished pods: `succeeded 0, failed 1`.
    pub fn counted(&self) -> String {
        ["succeeded", "failed"].map(|name| format!("{name} {}", self.number(name))).join(", ")
    }

    fn counters(&self) -> String {
        let others = ["active", "terminating"].into_iter().filter(|name| self.number(name) != "0");
        let mut parts = vec![self.counted()];
        parts.extend(others.map(|name| format!("{name} {}", self.number(name))));
        if self.is_true("Suspended") {
            parts.push("Suspended=True".to_owned());
        }
        parts.join(", ")
    }
}

/// The name of a Job among those of its name: `the Job on the manager`, `copy 2 on worker 1`.
pub fn name(page: &Page, job: &Job) -> String {
    let role = &page.traces[job.trace].role;
    match (job.label.is_empty(), role.is_empty()) {
        (_, true) => "the Job".to_owned(),
        (true, false) => format!("the Job on the {role}"),
        (false, false) => format!("{} on {role}", job.label),
    }
}

/// The time of the day, in UTC.
pub fn clock(micros: i64) -> String {
    format_micros(micros).and_then(|text| text.get(11..19).map(str::to_owned)).unwrap_or_default()
}

/// A duration: `0.3s`, `52s`, `13m52s`, `2h05m`.
pub fn duration(micros: i64) -> String {
    let seconds = micros / 1_000_000;
    match seconds {
        0..10 => format!("{}.{}s", seconds, micros % 1_000_000 / 100_000),
        10..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3_600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_two_units_at_most() {
        let texts = [300_000, 52_000_000, 832_000_000, 7_500_000_000].map(duration);
        assert_eq!(texts, ["0.3s", "52s", "13m52s", "2h05m"]);
    }

    #[test]
    fn a_state_has_its_end_and_its_counters() {
        let fields = BTreeMap::from([("status.succeeded", "3"), ("status.active", "0")]);
        let ended = Standing { fields, end: Some(("Complete", Some(31_000_000))), gone: None };
        assert_eq!(ended.words(), "Complete since 00:00:31 (succeeded 3, failed 0)");
        let gone = Standing { gone: Some(None), ..Standing::default() };
        assert_eq!(
            (gone.words().as_str(), gone.short()),
            ("unfinished, and removed (succeeded 0, failed 0)", "gone")
        );
    }
}
