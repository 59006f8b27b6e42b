//! The parts of a page that no record shows: the names of copies, and a step for the end of the trace.

use std::collections::BTreeMap;

use crate::page::{Kind, Page, Step};
use crate::standing::{name, standing};

/// Numbers the copies of each Job in the order in which they appear.
pub fn name_copies(page: &mut Page) {
    let mut firsts: Vec<Option<(Option<i64>, usize)>> = vec![None; page.jobs.len()];
    for (number, step) in page.steps.iter().enumerate() {
        if let Some(job) = step.job {
            let seen = (step.at, number);
            firsts[job] = Some(firsts[job].map_or(seen, |first| first.min(seen)));
        }
    }
    let mut named: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (number, job) in
        page.jobs.iter().enumerate().filter(|(_, job)| job.trace > 0 && !job.beside.is_empty())
    {
        named.entry(job.job.clone()).or_default().push(number);
    }
    for mut copies in named.into_values() {
        copies.sort_by_key(|copy| (firsts[*copy].is_none(), firsts[*copy], *copy));
        let is_only = copies.len() == 1;
        for (at, copy) in copies.into_iter().enumerate() {
            page.jobs[copy].label = if is_only { "the copy".to_owned() } else { format!("copy {}", at + 1) };
        }
    }
}

/// Adds the end of the trace to the steps of each Job with a finding about it.
pub fn add_ends(page: &mut Page) {
    for number in 0..page.jobs.len() {
        let job = &page.jobs[number];
        if job.findings.iter().any(|found| found.finding.is_of_the_end())
            && let Some(step) = end_of(page, number)
        {
            let at = page.steps.len();
            page.steps.push(step);
            let found = page.jobs[number].findings.iter_mut();
            found.filter(|found| found.finding.is_of_the_end()).for_each(|found| found.step = Some(at));
        }
    }
}

fn end_of(page: &Page, number: usize) -> Option<Step> {
    let job = &page.jobs[number];
    let last = page.steps.iter().rfind(|step| step.job == Some(number) && step.object.is_some())?;
    let is_beside = |step: &&Step| step.job.is_some_and(|it| it == number || job.beside.contains(&it));
    let all: Vec<usize> = std::iter::once(number).chain(job.beside.iter().copied()).collect();
    let states = all.iter().filter_map(|it| {
        let standing = standing(page, *it)?;
        Some(format!("{} is {}", name(page, &page.jobs[*it]), standing.short()))
    });
    let what = format!("end of the trace: {}", states.collect::<Vec<_>>().join(", "));
    Some(Step {
        trace: job.trace,
        job: Some(number),
        file: last.file,
        line: last.line,
        at: page.steps.iter().filter(is_beside).filter_map(|step| step.at).max(),
        kind: Kind::End,
        shape: what.clone(),
        what,
        ..Step::default()
    })
}
