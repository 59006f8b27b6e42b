//! The parts of a page that no record shows: the names of copies, and a step for the end of the trace.

use jobcheck_judge::report::Finding;

use crate::page::{Kind, Page, Step};
use crate::standing::{name, standing};

/// The descriptions of findings that are about no write.
const OF_THE_END: [&str; 2] = ["end of the trace", "the Job beside its copies"];

/// Returns `true` if a finding is about the end of the trace, and its line only names the Job's last record.
pub fn is_of_the_end(finding: &Finding) -> bool {
    let place = &finding.place;
    place.actor.is_none() && place.time.is_none() && OF_THE_END.contains(&finding.difference.write.as_str())
}

/// Numbers the copies of each Job in the order in which they appear.
pub fn name_copies(page: &mut Page) {
    let first = |job: usize| {
        let steps = page.steps.iter().enumerate().filter(|(_, step)| step.job == Some(job));
        steps.map(|(number, step)| (step.at, number)).min()
    };
    let mut copies: Vec<(usize, _)> = (0..page.jobs.len())
        .filter(|job| page.jobs[*job].trace > 0 && !page.jobs[*job].beside.is_empty())
        .map(|job| (job, first(job)))
        .collect();
    copies.sort_by_key(|(job, first)| (first.is_none(), *first, *job));
    for (at, (job, _)) in copies.iter().enumerate() {
        let of_name = |it: &&(usize, _)| page.jobs[it.0].job == page.jobs[*job].job;
        let before = copies[..at].iter().filter(of_name).count();
        let is_only = copies.iter().filter(of_name).count() == 1;
        page.jobs[*job].label = if is_only { "the copy".to_owned() } else { format!("copy {}", before + 1) };
    }
}

/// Adds the end of the trace to the steps of each Job with a finding about it.
pub fn add_ends(page: &mut Page) {
    for number in 0..page.jobs.len() {
        let job = &page.jobs[number];
        if job.findings.iter().any(|found| is_of_the_end(&found.finding))
            && let Some(step) = end_of(page, number)
        {
            let at = page.steps.len();
            page.steps.push(step);
            let found = page.jobs[number].findings.iter_mut();
            found.filter(|found| is_of_the_end(&found.finding)).for_each(|found| found.step = Some(at));
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
