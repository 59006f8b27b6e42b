//! Makes the data of a page from a report and the traces that it judges.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Instant;

use jobcheck_judge::report::{Finding, JobReport, Line, ReplayReport, TraceReport};
use jobcheck_judge::validate::Outcome;
use jobcheck_rulebook::section;
use jobcheck_spec::Req;
use jobcheck_traces::Input;

use crate::brief::cited;
use crate::ends::{add_ends, name_copies};
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
    /// The end of the time for reading the traces again; what is not read then is not on the page.
    pub until: Option<Instant>,
}

impl Page {
    /// The page about a report. The traces are read twice: once to count, once to show.
    #[must_use]
    pub fn new(source: &Source<'_>, report: &ReplayReport) -> Page {
        let shown = shown(source, report);
        let mut page = outline(&shown, !source.roles.is_empty(), report);
        let traces: Vec<&[Input]> = shown.into_iter().map(|(_, inputs, _)| inputs).collect();
        let counts = count(&traces, &page, source.until.map(halfway));
        let chosen = choose(&mut page, &counts, source.most_steps);
        let mut is_whole = true;
        for (number, inputs) in traces.into_iter().enumerate() {
            is_whole &= Reading::new(&mut page, number, &chosen).all(inputs, source.until);
        }
        if !is_whole {
            page.notes
                .push("The time for this page ended before all was read; raise it with --budget.".to_owned());
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

/// The middle of the time that is left.
fn halfway(until: Instant) -> Instant {
    let now = Instant::now();
    now + until.saturating_duration_since(now) / 2
}

/// The number of Jobs on a page. Those that conform are left out first.
const MOST_JOBS: usize = 2_000;

/// Leaves out Jobs beyond a number. Returns a note about them.
fn limit(jobs: &mut Vec<Job>, most: usize) -> Option<String> {
    let all = jobs.len();
    jobs.truncate(most);
    (all > most).then(|| format!("showing {most} of {all} Jobs; --job and -n choose others"))
}

/// A trace of the report, its inputs, and its role.
type Shown<'a> = (&'a TraceReport, &'a [Input], String);

/// The traces of the report with their inputs and roles. The report leaves out traces without a Job that was asked for.
fn shown<'a>(source: &Source<'a>, report: &'a ReplayReport) -> Vec<Shown<'a>> {
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
fn outline(shown: &[Shown<'_>], has_roles: bool, report: &ReplayReport) -> Page {
    let mut files = Vec::new();
    let mut traces = Vec::new();
    let mut jobs: Vec<Job> = Vec::new();
    for (trace, inputs, role) in shown {
        let number = traces.len();
        let first = files.len();
        files.extend(inputs.iter().map(Input::name));
        traces.push(Trace {
            role: role.clone(),
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
    if has_roles {
        find_copies(&mut jobs);
    }
    let mut notes: Vec<String> = left_out.into_iter().chain(report.doubts.iter().cloned()).collect();
    notes.extend(report.traces.iter().flat_map(|trace| trace.doubts.iter().cloned()));
    notes.extend(report.errors.iter().map(|error| {
        let what = if error.reads_on { "cannot be read" } else { "could not be read to its end" };
        format!("{} {what}: {}", error.place(), error.message)
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
fn count(traces: &[&[Input]], page: &Page, until: Option<Instant>) -> Vec<usize> {
    let positions = positions(page);
    let mut counts = vec![0; page.jobs.len()];
    for (trace, inputs) in traces.iter().enumerate() {
        read(inputs, until, &mut |read| {
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

    /// Adds the steps. Returns `false` if the time ended before.
    fn all(mut self, inputs: &[Input], until: Option<Instant>) -> bool {
        if self.jobs.is_empty() {
            return true;
        }
        let Reading { jobs, reads, .. } = &mut self;
        let is_whole = read(inputs, until, &mut |read| {
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
        is_whole
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
            if !found.finding.is_of_the_end() {
                found.step = find(&found.finding.place.file, found.finding.place.line);
            }
        }
        for warned in &mut job.warnings {
            warned.step = find(&warned.line.file, warned.line.line);
        }
    }
}

#[cfg(test)]
mod tests;
