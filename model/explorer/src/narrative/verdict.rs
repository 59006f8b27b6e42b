//! The verdicts of the specification and of the server on a step.

use crate::alphabet::{self, Write, refusal};
use crate::process::commit;
use crate::process::io::Call;
use crate::process::steps::{ProcessStep, RequestOutcome, orphan_call, orphan_decision};
use crate::process::ttl::TtlStep;
use crate::scope::Scope;
use crate::step::Step;
use crate::ttl;
use crate::world::{JobState, World};
use jobcheck_spec::apiserver::{RuleSet, would_refuse_status};
use jobcheck_spec::catalogue::Req;
use jobcheck_spec::job::{Job, JobStatus};
use jobcheck_spec::requirement::{Broken, Findings, Operand};
use jobcheck_spec::uid::Uid;

/// A requirement that a write breaks, with the expected and the actual value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Objection {
    /// The requirement.
    pub req: Req,
    /// The compared fact, the expected value, and the actual value.
    pub text: String,
}

impl Objection {
    fn of(broken: &Broken) -> Objection {
        let text =
            format!("{}: expected {}, found {}", broken.what, side(&broken.expected), side(&broken.found));
        Objection { req: broken.req, text }
    }
}

/// A value as text: pods by their numbers, times since the start.
fn side(side: &Operand) -> String {
    match side {
        Operand::Uid(uid) => super::name(*uid),
        Operand::Time(time) => format!("{} s", time.0),
        Operand::Text(text) => with_pod_names(text),
        Operand::Pod(_) => with_pod_names(&side.to_string()),
        Operand::Words(_) | Operand::Number(_) | Operand::Indexes(_) => side.to_string(),
    }
}

/// The text with pod numbers in place of UIDs, by which guards name pods.
fn with_pod_names(text: &str) -> String {
    let text = text.replace('#', "pod ");
    let words = text.split(' ').map(|word| match Uid::parse(word) {
        uid if uid.0 < 1 << 32 && word.len() == 36 => super::name(uid),
        _ => word.to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// The verdicts on one step. Each requirement occurs once.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Judgement {
    /// The requirements that the specification finds broken.
    pub objections: Vec<Objection>,
    /// The rule by which the server responds with 422.
    pub refusal: Option<Objection>,
}

/// Judges a step that is taken in the state `before`.
pub fn judgement(step: &Step, before: &World, scope: &Scope) -> Judgement {
    let now = before.now;
    match step {
        Step::Write(job, write) => {
            // An enabled write breaks only requirements that the scope does not check.
            let findings = alphabet::judge(before, *job, write, scope);
            let job_state = before.job_state(*job);
            let refusal = match write {
                Write::Status(status) => refused(job_state, status, scope),
                _ => None,
            };
            Judgement { objections: objections(findings, &|_| true), refusal }
        }
        Step::Expire(job) => {
            Judgement { objections: objections(ttl::judge(before, *job), &|_| true), refusal: None }
        }
        Step::Process(job, number, ProcessStep::Call(name, outcome)) if *outcome != RequestOutcome::Fails => {
            let (job_state, by) = (before.job_state(*job), usize::from(*number));
            let sync = job_state.processes().get(by).and_then(|process| process.sync.as_ref());
            let Some(call) = sync.and_then(|sync| sync.call(*name)) else { return Judgement::default() };
            let asked = |req: Req| !scope.without.contains(&req);
            let objections = objections(commit::objections(job_state, by, call, now, scope), &asked);
            let is_handled = !commit::conflicts(job_state, by, scope);
            Judgement { objections, refusal: refused_call(job_state, call, scope).filter(|_| is_handled) }
        }
        Step::Process(job, number, ProcessStep::Orphan(uid, outcome))
            if *outcome != RequestOutcome::Fails =>
        {
            let job_state = before.job_state(*job);
            let decision = orphan_decision(job_state, usize::from(*number), *uid, scope);
            let Some(call) = decision.and_then(|decision| orphan_call(decision, *uid)) else {
                return Judgement::default();
            };
            let objections = objections(commit::orphan_objections(job_state, &call), &|_| true);
            Judgement { objections, refusal: None }
        }
        Step::HandleDelayed(job) => {
            let job_state = before.job_state(*job);
            let delayed = job_state.delayed().filter(|delayed| !delayed.conflicts);
            let refusal = delayed.and_then(|delayed| refused_call(job_state, &delayed.call, scope));
            Judgement { objections: Vec::new(), refusal }
        }
        Step::Ttl(job, TtlStep::Delete(outcome)) if *outcome != RequestOutcome::Fails => {
            let findings = crate::process::ttl::objections(before, *job, scope);
            let asked = |req: Req| !scope.without.contains(&req);
            Judgement { objections: objections(findings, &asked), refusal: None }
        }
        _ => Judgement::default(),
    }
}

fn objections(findings: Findings, asked: &dyn Fn(Req) -> bool) -> Vec<Objection> {
    let mut all: Vec<Objection> = Vec::new();
    for broken in findings.broken.iter().filter(|broken| asked(broken.req)) {
        if !all.iter().any(|other| other.req == broken.req) {
            all.push(Objection::of(broken));
        }
    }
    all
}

fn refused_call(job_state: &JobState, call: &Call, scope: &Scope) -> Option<Objection> {
    match call {
        Call::WriteStatus(status) => refused(job_state, status, scope),
        _ => None,
    }
}

fn refused(job_state: &JobState, status: &JobStatus, scope: &Scope) -> Option<Objection> {
    let job = job_state.job.as_deref()?;
    let sent = Job { status: status.clone(), ..job.clone() };
    let broken = refusal(job, &sent, scope)?;
    let objection = Objection::of(&broken);
    let by_this_server_alone = would_refuse_status(&RuleSet::V1_36, job, &sent).is_none();
    let note = if by_this_server_alone { "; the API server of Kubernetes 1.36 accepts it" } else { "" };
    Some(Objection { text: format!("{}{note}", objection.text), ..objection })
}
