//! Parsing and writing of scenarios.

use jobcheck_spec::indexes::check_grammar;
use serde::Serialize;
use serde_saphyr::{Location, Spanned};

use super::claims::Claims;
use super::format::Scenario;
use super::steps::{Edit, Outcome, PodTarget, Step};

/// An error in a scenario, with its position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", place(*.line, *.column))]
pub struct ScenarioError {
    /// The line, from 1. `None`: the error concerns the whole text.
    pub line: Option<u64>,
    /// The column, from 1.
    pub column: Option<u64>,
    /// The error, and what to write instead.
    pub message: String,
}

fn place(line: Option<u64>, column: Option<u64>) -> String {
    match (line, column) {
        (Some(line), Some(column)) => format!("line {line}, column {column}: "),
        _ => String::new(),
    }
}

impl ScenarioError {
    /// Returns an error about the whole text.
    pub(super) fn of_the_whole(message: impl Into<String>) -> ScenarioError {
        ScenarioError { line: None, column: None, message: message.into() }
    }

    /// Returns an error at a position.
    pub(super) fn at(location: Location, message: impl Into<String>) -> ScenarioError {
        let known = location.line() > 0;
        ScenarioError {
            line: known.then(|| location.line()),
            column: known.then(|| location.column()),
            message: message.into(),
        }
    }
}

/// Parses and checks a scenario.
///
/// # Errors
///
/// The first error in the text.
pub fn read(text: &str) -> Result<Scenario, ScenarioError> {
    let scenario: Scenario = serde_saphyr::from_str(text).map_err(|error| unreadable(&error))?;
    check(&scenario)?;
    Ok(scenario)
}

/// Writes a scenario as YAML that [`read`] parses again.
///
/// # Errors
///
/// The scenario cannot be written as YAML. This is a defect of this program.
pub fn write(scenario: &Scenario) -> Result<String, ScenarioError> {
    serde_saphyr::to_string(scenario).map_err(|error| ScenarioError::of_the_whole(error.to_string()))
}

fn unreadable(error: &serde_saphyr::Error) -> ScenarioError {
    let location = error.location().unwrap_or(Location::UNKNOWN);
    let text = error.without_snippet().render();
    let first = text.lines().next().unwrap_or_default();
    // The message ends with its position, which is reported separately, or with advice to programmers.
    let message = [" at line ", ", set DuplicateKeyPolicy"]
        .iter()
        .fold(first, |message, tail| message.split(tail).next().unwrap_or(message));
    let message = message.strip_prefix("error: ").unwrap_or(message);
    let message = ADVICE.iter().find(|(kind, _)| message == *kind).map_or(message, |(_, advice)| advice);
    match nearest(error.without_snippet()) {
        Some((unknown, near)) => {
            let hint = format!("`{unknown}`: did you mean `{near}`?");
            ScenarioError::at(location, message.replacen(&format!("`{unknown}`,"), &hint, 1))
        }
        None => ScenarioError::at(location, message),
    }
}

/// The messages of the parser for programmers, and the messages for users.
const ADVICE: [(&str, &str); 6] = [
    (
        "multiple YAML documents detected; use from_str_multiple or from_str_multiple_with_options",
        "the file has a second scenario: write each to its own file",
    ),
    ("invalid u8", "not the number of a pod: write a whole number from 1 to 255"),
    ("invalid u32", "not a count: write a whole number of at least 0"),
    ("invalid i32", "not a number: write a whole number of 32 bits"),
    ("invalid i64", "not a number: write a whole number"),
    ("invalid bool", "write true or false"),
];

/// An unknown field, and the similar known one.
fn nearest(error: &serde_saphyr::Error) -> Option<(&str, &'static str)> {
    let serde_saphyr::Error::SerdeUnknownField { field, expected, .. } = error else { return None };
    let near = expected.iter().map(|name| (strsim::levenshtein(field, name), *name)).min()?;
    (near.0 <= 2).then_some((field.as_str(), near.1))
}

fn check(scenario: &Scenario) -> Result<(), ScenarioError> {
    named_well("the scenario", &scenario.name)?;
    if scenario.jobs.is_empty() {
        return Err(ScenarioError::of_the_whole("there is no Job: write at least one under `jobs`"));
    }
    for (number, job) in scenario.jobs.iter().enumerate() {
        named_well("a Job", &job.name)?;
        if scenario.jobs[..number].iter().any(|other| other.name == job.name) {
            let message = format!("there are two Jobs {:?}: give each a unique name", job.name);
            return Err(ScenarioError::at(job.spec.referenced, message));
        }
        if let Some(owner) = &job.metadata.owner
            && !scenario.jobs[..number].iter().any(|other| other.name == *owner)
        {
            let message = format!("no Job {owner:?} precedes {:?}: write its owner before it", job.name);
            return Err(ScenarioError::at(job.spec.referenced, message));
        }
    }
    for step in &scenario.steps {
        check_step(scenario, step)?;
    }
    for claims in &scenario.expect {
        scenario.job(claims.value.job.as_deref()).map_err(|why| ScenarioError::at(claims.referenced, why))?;
        if let Some(why) = claims.value.objection() {
            return Err(ScenarioError::at(claims.referenced, why));
        }
    }
    check_deviations(scenario)?;
    check_held(scenario)?;
    match scenario.steps.last().filter(|step| step.value.pause.is_some() || step.value.hold.is_some()) {
        None => Ok(()),
        Some(last) => Err(ScenarioError::at(last.referenced, HELD_FOR_NOTHING)),
    }
}

/// Checks that a later `heldRequest` continues each held request, and that each `heldRequest` has a held request.
fn check_held(scenario: &Scenario) -> Result<(), ScenarioError> {
    let mut held = Vec::new();
    for step in &scenario.steps {
        if step.value.request.is_some_and(|it| it.outcome == Some(Outcome::Held)) {
            held.push(step.referenced);
        }
        if step.value.held_request.is_some() && held.pop().is_none() {
            return Err(ScenarioError::at(step.referenced, NOT_HELD));
        }
    }
    held.first().map_or(Ok(()), |location| Err(ScenarioError::at(*location, HELD_FOR_EVER)))
}

fn check_deviations(scenario: &Scenario) -> Result<(), ScenarioError> {
    for deviation in &scenario.deviations {
        let wrong = |why: String| Err(ScenarioError::at(deviation.referenced, why));
        if let Some(why) = deviation.value.objection() {
            return wrong(why.to_owned());
        }
        for claims in deviation.value.instead.iter().flatten() {
            if let Some(why) = scenario.job(claims.job.as_deref()).err().or_else(|| claims.objection()) {
                return wrong(why);
            }
        }
    }
    Ok(())
}

const NOT_HELD: &str = "no request is held here: write a step `request` with `outcome: held` before";

const HELD_FOR_EVER: &str = "no step continues this request: write a step `heldRequest` after it";

const HELD_FOR_NOTHING: &str =
    "no step follows, and the end of the steps releases everything: add a step, or remove this one";

const EMPTY: &str = "there is no claim: write for example `active: 1` or `conditions: [Complete]`";

/// The maximum length of a name. Files of `--save` are named by scenarios, and labels of pods by Jobs.
const LONGEST_NAME: usize = 63;

fn named_well(what: &str, name: &str) -> Result<(), ScenarioError> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.len() > LONGEST_NAME {
        let found = name.len();
        let message = format!("{what} has a name of {found} characters: write at most {LONGEST_NAME}");
        return Err(ScenarioError::of_the_whole(message));
    }
    if !name.is_empty() && name.chars().all(fits) {
        return Ok(());
    }
    let message = format!("{what} has the name {name:?}: write lower case letters, digits and `-`");
    Err(ScenarioError::of_the_whole(message))
}

fn check_step(scenario: &Scenario, step: &Spanned<Step>) -> Result<(), ScenarioError> {
    let wrong = |message: String| Err(ScenarioError::at(step.referenced, message));
    let events = step.value.events();
    match events.as_slice() {
        [_] => {}
        [] => return wrong("the step has no event: write one of run, succeed, fail, edit, …".into()),
        several => {
            let message = format!(
                "a step has one event, and this one has {}: write a step for each",
                several.join(" and ")
            );
            return wrong(message);
        }
    }
    if step.value.edit.as_ref().is_some_and(Edit::changes_nothing) {
        let advice = "the edit changes nothing: write for example `suspend: true`; `null` removes activeDeadlineSeconds and \
                      ttlSecondsAfterFinished only";
        return wrong(advice.into());
    }
    if step.value.schedule.is_some() && !scenario.unscheduled {
        return wrong("pods are bound from the start: write `unscheduled: true` in the scenario".into());
    }
    if let Err(why) = scenario.job(step.value.job.as_deref()) {
        return wrong(why);
    }
    let during = step.value.crash.and_then(|crash| crash.during);
    if let Some(why) = step.value.request.or(during).and_then(|request| request.objection()) {
        return wrong(why.into());
    }
    if let Some(why) = step.value.misused() {
        return wrong(why.into());
    }
    for claims in [&step.value.when, &step.value.until, &step.value.r#await].into_iter().flatten() {
        if let Some(why) = claims.objection() {
            return wrong(why);
        }
    }
    if let Some(why) =
        step.value.settle.as_ref().filter(|claims| !claims.is_empty()).and_then(Claims::objection)
    {
        return wrong(why);
    }
    let claims = [&step.value.when, &step.value.until, &step.value.r#await, &step.value.settle];
    for claims in claims.into_iter().flatten() {
        if claims.job.is_some() {
            return wrong("write the `job` at the step itself".into());
        }
    }
    for (pod, index) in step.value.pods() {
        match (pod, index) {
            (Some(_), Some(_)) => return wrong("write either `pod` or `index`, not both".into()),
            (Some(0), None) => return wrong("pods are numbered from 1".into()),
            _ => {}
        }
    }
    Ok(())
}

impl Scenario {
    /// The number of the Job with this name. Without a name: the only Job.
    ///
    /// # Errors
    ///
    /// There is no such Job, or there are several and no name.
    pub fn job(&self, name: Option<&str>) -> Result<usize, String> {
        let names = || self.jobs.iter().map(|job| job.name.as_str()).collect::<Vec<_>>().join(", ");
        match name {
            None if self.jobs.len() == 1 => Ok(0),
            None => Err(format!("there is more than one Job: write `job`, one of {}", names())),
            Some(name) => self
                .jobs
                .iter()
                .position(|job| job.name == name)
                .ok_or_else(|| format!("there is no Job {name:?}: write one of {}", names())),
        }
    }
}

impl Claims {
    /// The reason why the claims are invalid: they are empty, or a list of indexes is malformed.
    #[must_use]
    pub fn objection(&self) -> Option<String> {
        let says_no_pods = self.pods.as_ref().is_some_and(has_no_fields);
        if self.is_empty() || says_no_pods {
            return Some(EMPTY.to_owned());
        }
        [("completedIndexes", &self.completed_indexes), ("failedIndexes", &self.failed_indexes)]
            .into_iter()
            .filter_map(|(field, text)| Some((field, text.as_deref()?)))
            .find(|(_, text)| check_grammar(text, i64::from(i32::MAX)).is_err())
            .map(|(field, text)| {
                format!("{field} {text:?} is not a list of indexes: write for example \"0,2-4\"")
            })
    }

    /// Returns true if there is no claim.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        has_no_fields(&Claims { job: None, requirement: None, ..self.clone() })
    }
}

/// Returns true if no field is set.
fn has_no_fields(fields: &impl Serialize) -> bool {
    serde_json::to_value(fields).is_ok_and(|value| value.as_object().is_some_and(serde_json::Map::is_empty))
}

impl Step {
    /// Returns the problem of a field that is valid only for other steps or other outcomes. Returns `None` if there is
    /// none.
    fn misused(&self) -> Option<&'static str> {
        let during = self.crash.and_then(|crash| crash.during);
        let outcome = self.request.and_then(|request| request.outcome);
        let held = self.held_request;
        if self.until.is_some() && !matches!(outcome, Some(Outcome::Fails | Outcome::ResponseLost)) {
            Some("`until` is for a `request` with the outcome `fails` or `answerLost`")
        } else if during.is_some_and(|request| request.leader.is_some()) {
            Some("only the first leader can crash: remove `leader`")
        } else if self.expire.is_some_and(|watch| watch.leader.is_some()) {
            Some("`expire` ends the watches of both leaders: remove `leader`")
        } else if held.is_some_and(|it| it.outcome == Some(Outcome::Held)) {
            Some("the request is already held: write handled, fails or answerLost")
        } else if held.is_some_and(|it| it.code.is_some() && it.outcome != Some(Outcome::Fails)) {
            Some("`code` requires `outcome: fails`")
        } else if self.targets().any(|it| it.count.is_some() && (it.pod.is_some() || it.index.is_some())) {
            Some("write either `count`, or `pod` or `index`")
        } else {
            None
        }
    }

    /// The names of the step's events. A parsed scenario has exactly one for each step.
    #[must_use]
    pub fn events(&self) -> Vec<String> {
        let plain = Step { job: None, when: None, until: None, optional: None, ..self.clone() };
        let value = serde_json::to_value(plain).unwrap_or_default();
        value.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect()
    }

    /// The targets of the step's events of pods.
    pub(super) fn targets(&self) -> impl Iterator<Item = PodTarget> {
        let targets = [
            self.schedule,
            self.run,
            self.ready,
            self.unready,
            self.restart,
            self.succeed,
            self.flip,
            self.evict,
            self.lose_node,
            self.pod_gc,
            self.disown,
            self.relabel,
        ];
        targets.into_iter().flatten()
    }

    /// Returns the `pod` and `index` of each target, request, failure, and deletion in the step.
    fn pods(&self) -> Vec<(Option<u8>, Option<u32>)> {
        let targets = self.targets().map(|it| (it.pod, it.index));
        let during = self.crash.and_then(|crash| crash.during);
        let requests = [self.request, during].into_iter().flatten().map(|it| (it.pod, it.index));
        let failure = self.fail.map(|it| (it.pod, it.index));
        let deletion = self.delete_pod.map(|it| (it.pod, it.index));
        let held = self.held_request.map(|it| (it.pod, None));
        targets.chain(requests).chain(failure).chain(deletion).chain(held).collect()
    }
}
