//! Makes the data of a page from a report and the traces that it judges.

use std::collections::{BTreeMap, HashMap, HashSet};

use jobcheck_judge::report::{Finding, JobReport, Line, ReplayReport, TraceReport};
use jobcheck_judge::validate::Outcome;
use jobcheck_rulebook::section;
use jobcheck_spec::Req;
use jobcheck_traces::Input;

use crate::brief::cited;
use crate::ends::{add_ends, is_of_the_end, name_copies};
use crate::fields::{Fields, is_quiet};
use crate::page::{Change, Found, Job, Kind, Object, Page, Rule, Step, Trace, Turn, Warned};
use crate::reading::{Read, Seen, read};
use crate::words::words;

/// The traces of a report.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The traces, in the order of the report.
    pub traces: &'a [Vec<Input>],
    /// The role of each trace, such as `manager`; none if the traces are unrelated.
    pub roles: &'a [String],
    /// The number of steps that the page may have.
    pub most_steps: usize,
}

impl Page {
    /// The page about a report. The traces are read twice: once to count, once to show.
    #[must_use]
    pub fn new(source: &Source<'_>, report: &ReplayReport) -> Page {
        let mut page = outline(source, report);
        let traces: Vec<&[Input]> = shown(source, report).into_iter().map(|(_, inputs, _)| inputs).collect();
        let counts = count(&traces, &page);
        let chosen = choose(&mut page, &counts, source.most_steps);
        for (number, inputs) in traces.into_iter().enumerate() {
            Reading::new(&mut page, number, &chosen).all(inputs);
        }
        shorten(&mut page, source.most_steps);
        place(&mut page);
        if !source.roles.is_empty() {
            name_copies(&mut page);
        }
        add_ends(&mut page);
        page
    }
}

/// The number of Jobs on a page. Those that conform are left out first.
const MOST_JOBS: usize = 2_000;

/// Leaves out Jobs beyond a number. Returns a note about them.
fn limit(jobs: &mut Vec<Job>, most: usize) -> Option<String> {
    let all = jobs.len();
    jobs.truncate(most);
    (all > most).then(|| format!("showing {most} of {all} Jobs; --job and -n choose others"))
}

/// The traces of the report with their inputs and roles. The report leaves out traces without a Job that was asked for.
fn shown<'a>(source: &Source<'a>, report: &'a ReplayReport) -> Vec<(&'a TraceReport, &'a [Input], String)> {
    let is_whole = source.traces.len() == report.traces.len();
    let mut rest = source.traces.iter().enumerate();
    let of = |trace: &'a TraceReport| {
        let names = |inputs: &[Input]| inputs.iter().map(Input::name).eq(trace.files.iter().cloned());
        let (number, inputs) = rest.find(|(_, inputs)| is_whole || names(inputs))?;
        Some((trace, inputs.as_slice(), source.roles.get(number).cloned().unwrap_or_default()))
    };
    report.traces.iter().filter_map(of).collect()
}

/// The page without its steps.
fn outline(source: &Source<'_>, report: &ReplayReport) -> Page {
    let mut files = Vec::new();
    let mut traces = Vec::new();
    let mut jobs: Vec<Job> = Vec::new();
    for (trace, inputs, role) in shown(source, report) {
        let number = traces.len();
        let first = files.len();
        files.extend(inputs.iter().map(Input::name));
        traces.push(Trace {
            role,
            files: (first..files.len()).collect(),
            kubernetes: trace.kubernetes.clone(),
            verdict: trace.verdict,
        });
        jobs.extend(report.jobs_of(trace).iter().map(|job| of_report(job, number)));
    }
    let rank = |outcome: Outcome| match outcome {
        Outcome::Violates => 0,
        Outcome::Inconclusive => 1,
        Outcome::Conforms => 2,
    };
    jobs.sort_by_key(|job| rank(job.verdict));
    let left_out = limit(&mut jobs, MOST_JOBS);
    if !source.roles.is_empty() {
        find_copies(&mut jobs);
    }
    let mut notes: Vec<String> = left_out.into_iter().chain(report.doubts.iter().cloned()).collect();
    notes.extend(report.traces.iter().flat_map(|trace| trace.doubts.iter().cloned()));
    notes.extend(report.errors.iter().map(|error| {
        let line = error.line.map(|line| format!(":{line}")).unwrap_or_default();
        format!("{}{line} could not be read to its end: {}", error.file, error.message)
    }));
    Page {
        version: env!("CARGO_PKG_VERSION"),
        verdict: report.verdict,
        files,
        traces,
        actors: Vec::new(),
        fields: Vec::new(),
        rules: rules(&jobs),
        jobs,
        objects: Vec::new(),
        steps: Vec::new(),
        notes,
        left_out: 0,
        known_fields: HashMap::new(),
    }
}

fn of_report(job: &JobReport, trace: usize) -> Job {
    let found = |finding: &Finding| Found { step: None, finding: finding.clone() };
    let warned = |line: &Line| Warned { step: None, line: line.clone() };
    Job {
        job: job.job.clone(),
        uid: job.uid.clone(),
        trace,
        beside: Vec::new(),
        label: String::new(),
        profile: job.profile,
        managed_by: job.managed_by.clone(),
        verdict: job.verdict,
        judged_writes: job.judged_writes,
        findings: job.violations.iter().map(found).collect(),
        warnings: job.warnings.iter().map(warned).collect(),
        pending: job.pending.clone(),
        remarks: job.doubts.iter().chain(&job.contradictions).cloned().collect(),
        steps: (0, 0),
    }
}

/// Notes for each Job those of the other clusters with its name.
fn find_copies(jobs: &mut [Job]) {
    let mut named: HashMap<String, Vec<usize>> = HashMap::new();
    for (number, job) in jobs.iter().enumerate() {
        named.entry(job.job.clone()).or_default().push(number);
    }
    let traces: Vec<usize> = jobs.iter().map(|job| job.trace).collect();
    for job in jobs {
        let others = named.get(&job.job).into_iter().flatten().copied();
        job.beside = others.filter(|other| traces[*other] != job.trace).collect();
    }
}

/// The texts of the requirements that findings, warnings, views and obligations name.
fn rules(jobs: &[Job]) -> BTreeMap<String, Rule> {
    let of_views = |found: &Found| {
        let views = found.finding.evidence.views.iter().flat_map(|view| &view.broken);
        views.map(|broken| broken.requirement.0).collect::<Vec<_>>()
    };
    let mut reqs: HashSet<Req> = HashSet::new();
    for job in jobs {
        for found in &job.findings {
            reqs.extend(found.finding.requirement.into_iter().chain(found.finding.known).map(|id| id.0));
            reqs.extend(found.finding.also.iter().filter_map(|id| Req::parse(id)));
            reqs.extend(cited(&found.finding.difference.found));
            reqs.extend(of_views(found));
        }
        reqs.extend(job.pending.iter().map(|it| it.requirement.0));
        reqs.extend(job.warnings.iter().filter_map(|it| Req::parse(it.line.text.split(':').next()?)));
    }
    let rule = |req: Req| {
        let section = section(req)?;
        Some(Rule {
            sentence: req.entry().sentence,
            details: section.details.to_owned(),
            reason: section.reason.to_owned(),
            example: section.example.to_owned(),
            instead: section.instead.to_owned(),
            source: section.source.to_owned(),
        })
    };
    reqs.into_iter().filter_map(|req| Some((req.id().to_owned(), rule(req)?))).collect()
}

/// The number of steps of each Job, by trace and UID.
fn count(traces: &[&[Input]], page: &Page) -> Vec<usize> {
    let positions = positions(page);
    let mut counts = vec![0; page.jobs.len()];
    for (trace, inputs) in traces.iter().enumerate() {
        read(inputs, &mut |read| {
            if let Some(job) = positions.get(&(trace, read.job)) {
                counts[*job] += 1;
            }
        });
    }
    counts
}

/// The position of each Job, by trace and UID.
fn positions(page: &Page) -> HashMap<(usize, String), usize> {
    page.jobs.iter().enumerate().map(|(number, job)| ((job.trace, job.uid.clone()), number)).collect()
}

/// Chooses the Jobs whose steps are on the page: as many as there is room for, and always the first.
fn choose(page: &mut Page, counts: &[usize], most: usize) -> HashSet<usize> {
    let mut room = most;
    let mut chosen = HashSet::new();
    for (number, job) in page.jobs.iter_mut().enumerate() {
        job.steps = (counts[number], 0);
        if number == 0 || counts[number] <= room {
            room = room.saturating_sub(counts[number]);
            chosen.insert(number);
        }
    }
    chosen
}

/// A trace whose steps are added to a page.
struct Reading<'a> {
    page: &'a mut Page,
    trace: usize,
    jobs: HashMap<String, usize>,
    /// Records in the order of the trace.
    reads: Vec<Read>,
    /// The last step of each object.
    last: HashMap<usize, String>,
}

impl Reading<'_> {
    fn new<'a>(page: &'a mut Page, trace: usize, chosen: &HashSet<usize>) -> Reading<'a> {
        let of_trace =
            positions(page).into_iter().filter(|((of, _), job)| *of == trace && chosen.contains(job));
        let jobs = of_trace.map(|((_, uid), job)| (uid, job)).collect();
        Reading { page, trace, jobs, reads: Vec::new(), last: HashMap::new() }
    }

    fn all(mut self, inputs: &[Input]) {
        if self.jobs.is_empty() {
            return;
        }
        let Reading { jobs, reads, .. } = &mut self;
        read(inputs, &mut |read| {
            if read.job.is_empty() || jobs.contains_key(&read.job) {
                reads.push(read);
            }
        });
        in_order_of_versions(&mut self.reads);
        let names = self.names();
        let mut objects: HashMap<String, (usize, Fields, bool)> = HashMap::new();
        for read in std::mem::take(&mut self.reads) {
            self.step(read, &names, &mut objects);
        }
    }

    /// The names of the pods, which statuses know by their UIDs.
    fn names(&self) -> HashMap<String, String> {
        let pods = self.reads.iter().filter_map(|read| read.object.as_ref()).filter(|(is_pod, ..)| *is_pod);
        pods.map(|(_, uid, name)| (uid.clone(), name.clone())).collect()
    }

    fn step(
        &mut self,
        mut read: Read,
        names: &HashMap<String, String>,
        objects: &mut HashMap<String, (usize, Fields, bool)>,
    ) {
        let job = self.jobs.get(&read.job).copied();
        let (mut object, mut changes, mut life) = (None, Vec::new(), None);
        if let (Some((is_pod, uid, name)), Some(job)) = (&read.object, job) {
            let known = objects.entry(uid.clone()).or_insert_with(|| {
                self.page.objects.push(Object { pod: *is_pod, name: name.clone(), job });
                (self.page.objects.len() - 1, Fields::new(), false)
            });
            object = Some(known.0);
            if !known.2 && read.refusal.is_none() {
                (known.2, life) = (true, Some(Turn::New));
            }
            let after = std::mem::take(&mut read.seen);
            changes = self.page.changes(&mut known.1, after, names);
        }
        if read.gone {
            life = Some(Turn::Gone);
        }
        let fields = &self.page.fields;
        let (what, shape) = words(&read, &changes, life, fields);
        let is_dull =
            read.words.is_none() && changes.iter().all(|Change(field, ..)| is_quiet(&fields[*field]));
        let repeats =
            object.and_then(|object| self.last.insert(object, shape.clone())) == Some(shape.clone());
        let is_calm = if read.refusal.is_some() { repeats } else { is_dull && life.is_none() };
        let quiet = read.quiet || (read.object.is_some() && is_calm);
        let kind = match &read.object {
            None => Kind::Mark,
            Some((true, ..)) => Kind::Pod,
            Some(_) if read.subresource == "status" => Kind::Status,
            Some(_) => Kind::Job,
        };
        let actor = read.actor.map(|(user, agent)| self.page.actor(&user, &agent));
        self.page.steps.push(Step {
            trace: self.trace,
            job,
            object,
            file: self.page.traces[self.trace].files.get(read.file).copied().unwrap_or_default(),
            line: read.line,
            at: read.at,
            actor,
            kind,
            what,
            shape,
            refusal: read.refusal,
            changes,
            quiet,
            life,
        });
    }
}

/// Puts the records of each object into the order of its versions. A log has them in the order of the responses.
fn in_order_of_versions(reads: &mut Vec<Read>) {
    let mut places: HashMap<String, Vec<usize>> = HashMap::new();
    for (place, read) in reads.iter().enumerate() {
        if let Some((_, uid, _)) = read.object.as_ref().filter(|_| read.version.is_some()) {
            places.entry(uid.clone()).or_default().push(place);
        }
    }
    let mut from: Vec<usize> = (0..reads.len()).collect();
    for places in places.values() {
        let mut sorted = places.clone();
        sorted.sort_by_key(|place| reads[*place].version);
        for (to, place) in places.iter().zip(sorted) {
            from[*to] = place;
        }
    }
    let mut taken: Vec<Option<Read>> = std::mem::take(reads).into_iter().map(Some).collect();
    reads.extend(from.into_iter().filter_map(|place| taken[place].take()));
}

impl Page {
    /// The position of a sender, which is added if it is new.
    fn actor(&mut self, user: &str, agent: &str) -> usize {
        let is_name =
            |it: &&str| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
        let part = agent.rsplit(['/', ':']).next().filter(is_name);
        let program = agent.split(['/', ' ']).next().filter(|it| !it.is_empty());
        let name = part.or(program).unwrap_or(user).to_owned();
        let full = if name == user { name } else { format!("{name} ({user})") };
        self.actors.iter().position(|known| *known == full).unwrap_or_else(|| {
            self.actors.push(full);
            self.actors.len() - 1
        })
    }

    /// The position of the name of a field, which is added if it is new.
    fn field(&mut self, name: &str) -> usize {
        if let Some(known) = self.known_fields.get(name) {
            return *known;
        }
        let next = self.fields.len();
        self.fields.push(name.to_owned());
        self.known_fields.insert(name.to_owned(), next);
        next
    }

    /// The changes that a record shows; the fields become what it shows.
    fn changes(&mut self, known: &mut Fields, seen: Seen, names: &HashMap<String, String>) -> Vec<Change> {
        let is_metadata = |name: &str| name.starts_with("metadata.");
        let (mut after, asked) = match seen {
            Seen::Nothing => return Vec::new(),
            Seen::Whole(fields) => (fields, None),
            Seen::Metadata(fields) => {
                let mut after = known.clone();
                after.retain(|name, _| !is_metadata(name));
                after.extend(fields);
                (after, None)
            }
            Seen::Asked(asked) => (asked.fields.clone(), Some(asked)),
        };
        for (_, value) in after.iter_mut().filter(|(name, _)| name.contains("uncountedTerminatedPods")) {
            let named = value.split(' ').map(|uid| names.get(uid).map_or(uid, String::as_str));
            *value = named.collect::<Vec<_>>().join(" ");
        }
        let mut changes = Vec::new();
        for (name, value) in &after {
            if known.get(name) != Some(value) {
                let field = self.field(name);
                changes.push(Change(field, known.get(name).cloned(), Some(value.clone())));
            }
        }
        let is_removed =
            |name: &str| !after.contains_key(name) && asked.as_ref().is_none_or(|asked| asked.removes(name));
        for (name, value) in known.iter().filter(|(name, _)| is_removed(name)) {
            let field = self.field(name);
            changes.push(Change(field, Some(value.clone()), None));
        }
        if asked.is_none() {
            *known = after;
        }
        changes
    }
}

/// Keeps a stretch of the steps around the first violation if the first Job alone has too many.
fn shorten(page: &mut Page, most: usize) {
    let all = page.steps.len();
    if all > most {
        let first = page.jobs.first().and_then(|job| job.findings.first());
        let is_first = |step: &Step| {
            first.is_some_and(|found| {
                let place = &found.finding.place;
                place.line == Some(step.line) && place.file.as_ref() == page.files.get(step.file)
            })
        };
        let at = page.steps.iter().position(is_first).unwrap_or(0);
        let from = at.saturating_sub(most / 2).min(all - most);
        page.steps.drain(..from);
        page.steps.truncate(most);
    }
    for step in &page.steps {
        if let Some(job) = step.job {
            page.jobs[job].steps.1 += 1;
        }
    }
    page.left_out = page.jobs.iter().map(|job| job.steps.0 - job.steps.1).sum();
}

/// Finds the step of each finding and warning.
fn place(page: &mut Page) {
    let at = |step: &Step| (page.files[step.file].clone(), step.line);
    let mut steps: HashMap<(String, u64), Vec<usize>> = HashMap::new();
    for (number, step) in page.steps.iter().enumerate() {
        steps.entry(at(step)).or_default().push(number);
    }
    let jobs: Vec<Option<usize>> = page.steps.iter().map(|step| step.job).collect();
    for (number, job) in page.jobs.iter_mut().enumerate() {
        let find = |file: &Option<String>, line: Option<u64>| {
            let all = steps.get(&(file.clone()?, line?))?;
            all.iter().find(|step| jobs[**step] == Some(number)).copied()
        };
        for found in &mut job.findings {
            if !is_of_the_end(&found.finding) {
                found.step = find(&found.finding.place.file, found.finding.place.line);
            }
        }
        for warned in &mut job.warnings {
            warned.step = find(&warned.line.file, warned.line.line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jobcheck_judge::replay::{Grouping, Judging, group, judge};

    fn page(files: &[&str], roles: &[String], most_steps: usize) -> Page {
        let input = |file: &&str| Input::Path(format!("../../traces/corpus/{file}").into());
        let traces = group(files.iter().map(input).collect(), Grouping::Each, &mut |_, _| {});
        let report = judge(&traces, &Judging { keeps_story: true, ..Judging::default() }, &mut |_, _| {});
        Page::new(&Source { traces: &traces, roles, most_steps }, &report)
    }

    const GOOD: &str = "recordings/nonindexed-success.audit.jsonl";
    const BAD: &str = "invalid/FT-03--released-before-recorded.audit.jsonl";

    #[test]
    fn the_steps_tell_the_life_of_a_job() {
        let page = page(&[GOOD], &[], 100);
        let told: Vec<&str> = page.steps.iter().map(|step| step.what.as_str()).collect();
        assert_eq!(
            told,
            [
                "creates the Job",
                "creates pod job-d594x",
                "creates pod job-dplbc",
                "writes the status: active 2, ready 0, terminating 0",
                "reports that pod job-d594x is Running: Ready",
                "reports that pod job-dplbc is Running: Ready",
                "reports that pod job-d594x is Succeeded: Ready False",
                "reports that pod job-dplbc is Succeeded: Ready False",
                "creates pod job-kp7fz",
                "writes the status: active 2 → 1, uncountedTerminatedPods.succeeded = job-d594x job-dplbc",
                "removes the tracking finalizer of pod job-dplbc",
                "removes the tracking finalizer of pod job-d594x",
                "writes the status: succeeded 2, uncountedTerminatedPods.succeeded: 2 removed",
                "reports that pod job-kp7fz is Running: Ready",
                "reports that pod job-kp7fz is Succeeded: Ready False",
                "writes the status: SuccessCriteriaMet, uncountedTerminatedPods.succeeded = job-kp7fz, active 1 → 0",
                "removes the tracking finalizer of pod job-kp7fz",
                "writes the status: completionTime 2026-11-21T00:28:32Z, Complete, succeeded 2 → 3, \
                 uncountedTerminatedPods.succeeded: 1 removed",
            ]
        );
        assert!(page.steps.iter().all(|step| !step.shape.contains("job-") && !step.shape.contains("2026")));
        assert_eq!((page.left_out, page.jobs[0].steps), (0, (18, 18)));
    }

    #[test]
    fn a_finding_has_its_step_and_the_text_of_its_rule() {
        let page = page(&[GOOD, BAD], &[], 100);
        let job = &page.jobs[0];
        assert_eq!((job.trace, job.verdict, page.jobs[1].verdict), (1, Outcome::Violates, Outcome::Conforms));
        let step = &page.steps[job.findings[0].step.unwrap()];
        assert_eq!((step.line, step.kind, step.job), (10, Kind::Pod, Some(0)));
        let fields: Vec<&str> = step.changes.iter().map(|it| page.fields[it.0].as_str()).collect();
        assert_eq!(fields, ["metadata.finalizers"]);
        assert!(page.rules["FT-03"].reason.starts_with("A pod without finalizer"));
    }

    #[test]
    fn a_page_without_room_keeps_the_violation_and_counts_the_rest() {
        let page = page(&[GOOD, BAD], &[], 4);
        assert_eq!((page.steps.len(), page.left_out), (4, 17 - 4 + 18));
        assert_eq!(page.jobs[0].findings[0].step.map(|step| page.steps[step].line), Some(10));
        assert_eq!(page.jobs[1].steps, (18, 0));
    }

    #[test]
    fn jobs_beyond_a_number_are_left_out_and_counted() {
        let mut jobs = page(&[GOOD, BAD], &[], 1).jobs;
        assert_eq!(limit(&mut jobs, 2), None);
        assert_eq!(limit(&mut jobs, 1).unwrap(), "showing 1 of 2 Jobs; --job and -n choose others");
        assert_eq!((jobs.len(), jobs[0].verdict), (1, Outcome::Violates));
    }

    #[test]
    fn a_finding_about_the_end_of_the_trace_is_pinned_to_no_write() {
        let page = page(&["invalid/MR-08--announced-and-never-finished.audit.jsonl"], &[], 1_000);
        let found = page.jobs[0].findings.iter().find(|found| is_of_the_end(&found.finding)).unwrap();
        let step = &page.steps[found.step.unwrap()];
        assert_eq!((step.kind, step.job, step.object), (Kind::End, Some(0), None));
        assert_eq!(step.what, "end of the trace: the Job is unfinished");
        let brief = crate::brief::brief(&page);
        assert!(brief.contains("At the last record of the Job: unfinished (succeeded "), "{brief}");
    }

    #[test]
    fn the_first_lines_have_the_violation_the_rules_the_end_and_the_right_behaviour() {
        let brief = crate::brief::brief(&page(&[BAD, GOOD], &[], 100));
        for part in [
            "2026-11-21 00:28:31 UTC, line 10: <strong>job-controller removes the tracking finalizer of pod job-dplbc",
            "<strong>FT-03</strong>, 2 times: The finalizer of a newly recorded pod",
            "The end</dt><dd>At the last record of the Job, 0.9s later: Complete since 00:28:32 (succeeded 3, failed 0).",
            "What it should have done</h3>\n<ol>\n<li>Write the UID of the terminated pod",
        ] {
            assert!(brief.contains(part), "{part} is missing in {brief}");
        }
        assert_eq!(crate::brief::brief(&page(&[GOOD], &[], 100)), "");
    }

    #[test]
    fn a_job_knows_its_copies_on_other_clusters() {
        let roles = ["manager".to_owned(), "worker 1".to_owned()];
        let page = page(
            &["third-party/kueue-manager.audit.jsonl.gz", "third-party/kueue-mk-a.audit.jsonl.gz"],
            &roles,
            20_000,
        );
        let again =
            page.jobs.iter().position(|job| job.job.contains("remote-deleted-after-failure")).unwrap();
        let lives = crate::copies::copies(&page, again).unwrap();
        for part in [
            "kueue creates copy 1 on worker 1 at 03:31:15 (line 240)",
            ", and mk-user deletes it at 03:31:18 (line 252)",
            " (succeeded 0, failed 1). Then kueue creates copy 2 on worker 1 at ",
            "Each copy counts its own pods, from 0.",
        ] {
            assert!(lives.contains(part), "{part} is missing in {lives}");
        }
        let (copied, _) = page.jobs.iter().enumerate().find(|(_, job)| !job.beside.is_empty()).unwrap();
        let job = &page.jobs[copied];
        let copy = &page.jobs[job.beside[0]];
        assert!(copy.job == job.job && copy.trace != job.trace && copy.beside.contains(&copied));
        let labels = |name: &str| -> Vec<(usize, &str)> {
            page.jobs
                .iter()
                .filter(|job| job.job == name)
                .map(|job| (job.trace, job.label.as_str()))
                .collect()
        };
        let twice = page.jobs.iter().find(|job| job.label == "copy 2").unwrap();
        let mut labels = labels(&twice.job);
        labels.sort_unstable();
        assert_eq!(labels[..3], [(0, ""), (1, "copy 1"), (1, "copy 2")]);
    }

    #[test]
    fn a_log_that_has_answers_out_of_order_is_shown_in_the_order_of_the_writes() {
        let read = |line, uid: &str, version| Read {
            line,
            object: Some((true, uid.to_owned(), "p".to_owned())),
            version,
            ..Read::default()
        };
        let mut reads =
            vec![read(1, "a", Some(3)), read(2, "b", Some(9)), read(3, "a", None), read(4, "a", Some(2))];
        in_order_of_versions(&mut reads);
        assert_eq!(reads.iter().map(|it| it.line).collect::<Vec<_>>(), [4, 2, 3, 1]);
    }

    #[test]
    fn senders_have_the_names_of_their_controllers() {
        let mut page = page(&[GOOD], &[], 1);
        page.actors.clear();
        for (user, agent, name) in [
            (
                "kcm",
                "kube-controller-manager/v1.36.3 (linux/amd64) kubernetes/abc/job-controller",
                "job-controller (kcm)",
            ),
            ("a", "kueue/v0.0.0 (linux/amd64) kueue/$Format", "kueue (a)"),
            ("kubelet", "", "kubelet"),
        ] {
            let number = page.actor(user, agent);
            assert_eq!(page.actors[number], name);
        }
    }
}
