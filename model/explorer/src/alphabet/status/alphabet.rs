//! The parts of a status write, wrong ones included.

use std::borrow::Cow;
use std::sync::LazyLock;

use jobcheck_spec::gates::Gates;
use jobcheck_spec::guards::decision::Reason;
use jobcheck_spec::indexes::IndexSet;
use jobcheck_spec::job::{Condition, ConditionKind, ConditionStatus, JobStatus, Text, Uncounted};
use jobcheck_spec::pod::PolicyMatch;
use jobcheck_spec::time::Time;
use jobcheck_spec::uid::Uid;
use jobcheck_spec::view::View;

/// The stored status with the numbers of pods that the view shows.
pub fn base(view: &View<'_>) -> JobStatus {
    let sums = view.post.sums();
    let number = |count: u32| i32::try_from(count).unwrap_or(i32::MAX);
    let mut base = view.job.status.clone();
    base.active = number(sums.active);
    base.ready = Some(number(sums.ready));
    base.terminating = Some(number(sums.terminating)).filter(|_| view.gates.job_pod_replacement_policy);
    base.uncounted.get_or_insert_default();
    base
}

/// The base without terminating pods, which is a wrong number.
pub fn miscounted(base: &JobStatus) -> Vec<JobStatus> {
    // UG-05: if its gate is off, the number is not reported.
    let silent = JobStatus { terminating: Some(0), ..base.clone() };
    if silent == *base { Vec::new() } else { vec![silent] }
}

/// A pair of index texts, with the counter that follows from the first.
#[derive(Clone, Debug)]
pub struct IndexTexts {
    completed: Text,
    failed: Option<Text>,
    count: i32,
}

impl IndexTexts {
    /// Sets the texts of a status.
    pub fn put_into(&self, status: &mut JobStatus) {
        status.completed_indexes = self.completed.clone();
        status.failed_indexes = self.failed.clone();
    }

    /// The status with these texts, once with the counter that follows and once with the old counter.
    pub fn on(&self, base: &JobStatus) -> Vec<JobStatus> {
        let mut right = base.clone();
        self.put_into(&mut right);
        right.succeeded = self.count;
        if self.count == base.succeeded {
            return vec![right];
        }
        let stored = JobStatus { succeeded: base.succeeded, ..right.clone() };
        vec![right, stored]
    }
}

/// Every pair of index texts of an Indexed Job.
pub fn index_texts(view: &View<'_>) -> Vec<IndexTexts> {
    let all = texts(view.spec().completion_count().unwrap_or(0));
    let failed: Vec<Option<Text>> = match view.spec().backoff_limit_per_index {
        // BI-04, UG-09: the text may remain from the time when there was a limit.
        None => vec![None].into_iter().chain(view.job.status.failed_indexes.clone().map(Some)).collect(),
        Some(_) => all.iter().cloned().map(Some).collect(),
    };
    let stored = &view.job.status.completed_indexes;
    let mut pairs = Vec::new();
    for completed in all.iter().filter(|text| *text != stored).chain([stored]) {
        let count = i32::try_from(IndexSet::read(completed, None).len()).unwrap_or(i32::MAX);
        let pair = |failed: &Option<Text>| IndexTexts {
            completed: completed.clone(),
            failed: failed.clone(),
            count,
        };
        pairs.extend(failed.iter().map(pair));
    }
    pairs
}

/// The canonical texts of all sets of indexes below `completions`.
fn texts(completions: u32) -> Cow<'static, [Text]> {
    const FEW: u32 = 4;
    static OF_FEW: LazyLock<Vec<Vec<Text>>> = LazyLock::new(|| (0..=FEW).map(written).collect());
    match OF_FEW.get(completions as usize) {
        Some(texts) => Cow::Borrowed(texts),
        None => Cow::Owned(written(completions)),
    }
}

fn written(completions: u32) -> Vec<Text> {
    (0u32..1 << completions)
        .map(|set| {
            let indexes: IndexSet = (0..completions).filter(|index| set >> index & 1 == 1).collect();
            indexes.to_string().into()
        })
        .collect()
}

/// The conditions, with the completion time.
#[derive(Clone, Debug)]
pub struct Conditions {
    conditions: Vec<Condition>,
    completion_time: Option<Time>,
}

impl Conditions {
    /// Sets the conditions of a status.
    pub fn put_into(self, status: &mut JobStatus) {
        status.conditions = self.conditions;
        status.completion_time = self.completion_time;
    }
}

/// Every combination that stores an interim condition for one of these reasons, stores a terminal condition,
/// or removes either.
pub fn conditions(view: &View<'_>, reasons: &[Reason], now: Time) -> Vec<Conditions> {
    let old = &view.job.status;
    let mut lists = vec![old.conditions.clone()];
    for text in reasons.iter().flat_map(|reason| interims(*reason, view)) {
        let announced = with(&old.conditions, &text, now);
        lists.push(with(&announced, &text.declared(), now));
        lists.push(announced);
    }
    for interim in old.conditions.iter().filter(|condition| is_interim(&condition.kind)) {
        let text = Wording::of(interim).declared();
        lists.push(with(&old.conditions, &text, now));
        lists.push(with(&old.conditions, &Wording { message: TEXTS.other.clone(), ..text }, now));
    }
    for kind in [ConditionKind::Complete, ConditionKind::Failed] {
        let text = Wording { kind, reason: TEXTS.other.clone(), message: TEXTS.other.clone() };
        lists.push(with(&old.conditions, &text, now));
    }
    for kind in old.conditions.iter().map(|condition| &condition.kind).filter(|kind| ends(kind)) {
        lists.push(old.conditions.iter().filter(|condition| condition.kind != *kind).cloned().collect());
    }
    // A condition may occur twice, but not more often; otherwise the list could grow without bound.
    lists.retain(|list| list.len() <= old.conditions.len().max(4));
    lists.into_iter().flat_map(|list| with_completion_times(list, old, now)).collect()
}

/// The conditions, once with the right completion time and once with a wrong one.
fn with_completion_times(conditions: Vec<Condition>, old: &JobStatus, now: Time) -> [Conditions; 2] {
    let complete = conditions.iter().any(|condition| condition.kind == ConditionKind::Complete);
    let (right, wrong) = match (complete, old.completion_time) {
        (true, Some(time)) => (Some(time), None),
        (true, None) => (Some(now), None),
        (false, _) => (None, Some(now)),
    };
    [
        Conditions { conditions: conditions.clone(), completion_time: right },
        Conditions { conditions, completion_time: wrong },
    ]
}

/// The type, reason, and message of a true condition.
#[derive(Clone, Debug)]
pub struct Wording {
    kind: ConditionKind,
    reason: Text,
    message: Text,
}

impl Wording {
    /// The same without reason and message.
    fn silent(&self) -> Wording {
        Wording { kind: self.kind.clone(), reason: "".into(), message: "".into() }
    }

    fn of(condition: &Condition) -> Wording {
        Wording {
            kind: condition.kind.clone(),
            reason: condition.reason.clone(),
            message: condition.message.clone(),
        }
    }

    /// The terminal condition that repeats an interim condition.
    fn declared(&self) -> Wording {
        let good = self.kind == ConditionKind::SuccessCriteriaMet;
        Wording { kind: if good { ConditionKind::Complete } else { ConditionKind::Failed }, ..self.clone() }
    }
}

/// Texts that all conditions of the alphabet share.
struct Texts {
    interims: Vec<(Reason, Wording)>,
    suspended: Wording,
    resumed: Wording,
    /// A text that fits no condition.
    other: Text,
}

static TEXTS: LazyLock<Texts> = LazyLock::new(|| Texts {
    interims: Reason::ALL
        .into_iter()
        .filter_map(|reason| {
            let message = reason.message(Gates::ON)?.into();
            Some((reason, Wording { kind: reason.interim(), reason: reason.as_str().into(), message }))
        })
        .collect(),
    suspended: Wording {
        kind: ConditionKind::Suspended,
        reason: "JobSuspended".into(),
        message: "Job suspended".into(),
    },
    resumed: Wording {
        kind: ConditionKind::Suspended,
        reason: "JobResumed".into(),
        message: "Job resumed".into(),
    },
    other: "another text".into(),
});

/// The interim conditions for a reason: with every message that may be right, and with the wrong type.
pub fn interims(reason: Reason, view: &View<'_>) -> Vec<Wording> {
    let free = |message: Text| Wording { kind: reason.interim(), reason: reason.as_str().into(), message };
    match reason {
        Reason::PodFailurePolicy => fail_job_messages(view).into_iter().map(free).collect(),
        Reason::SuccessPolicy => {
            let rules = view.spec().success_policy.as_ref().map_or(1, |policy| policy.rules.len());
            (0..rules).map(|rule| free(format!("Matched rules at index {rule}").into())).collect()
        }
        Reason::BackoffLimitExceeded
        | Reason::DeadlineExceeded
        | Reason::MaxFailedIndexesExceeded
        | Reason::FailedIndexes
        | Reason::CompletionsReached => {
            let fixed = TEXTS.interims.iter().filter(|(other, _)| *other == reason);
            let silent = reason.written_with(view.gates).is_empty();
            let phrased = |wording: &Wording| if silent { wording.silent() } else { wording.clone() };
            fixed.map(|(_, wording)| phrased(wording)).flat_map(|it| [it.clone(), opposite(&it)]).collect()
        }
    }
}

fn opposite(wording: &Wording) -> Wording {
    let good = wording.kind == ConditionKind::SuccessCriteriaMet;
    let kind = if good { ConditionKind::FailureTarget } else { ConditionKind::SuccessCriteriaMet };
    Wording { kind, ..wording.clone() }
}

/// The message of each pod that a FailJob rule matches, or an invented message if there is none.
fn fail_job_messages(view: &View<'_>) -> Vec<Text> {
    let messages: Vec<Text> = view
        .cache
        .matching_fail_job()
        .filter_map(|pod| match &pod.policy {
            PolicyMatch::FailJob(message) => Some(message.clone()),
            PolicyMatch::None | PolicyMatch::Action(_) => None,
        })
        .collect();
    if messages.is_empty() { vec![TEXTS.other.clone()] } else { messages }
}

fn with(list: &[Condition], text: &Wording, now: Time) -> Vec<Condition> {
    let mut longer = Vec::with_capacity(list.len() + 2);
    longer.extend_from_slice(list);
    longer.push(condition(text, ConditionStatus::True, now));
    longer
}

fn condition(text: &Wording, status: ConditionStatus, now: Time) -> Condition {
    Condition {
        kind: text.kind.clone(),
        status,
        reason: text.reason.clone(),
        message: text.message.clone(),
        last_transition_time: Some(now),
    }
}

fn is_interim(kind: &ConditionKind) -> bool {
    matches!(kind, ConditionKind::SuccessCriteriaMet | ConditionKind::FailureTarget)
}

fn ends(kind: &ConditionKind) -> bool {
    is_interim(kind) || matches!(kind, ConditionKind::Complete | ConditionKind::Failed)
}

/// Every value of the Suspended condition with every value of `startTime`.
pub fn suspensions(head: &JobStatus, now: Time) -> Vec<JobStatus> {
    let mut starts = vec![head.start_time, None, Some(now)];
    starts.dedup();
    if head.start_time == Some(now) {
        starts.pop();
    }
    let mut statuses = Vec::new();
    for start_time in starts {
        let kept = JobStatus { start_time, ..head.clone() };
        statuses.push(suspended(&kept, ConditionStatus::True, now));
        statuses.push(suspended(&kept, ConditionStatus::False, now));
        statuses.push(kept);
    }
    statuses
}

/// Sets the Suspended condition, in place of an existing one.
fn suspended(head: &JobStatus, status: ConditionStatus, now: Time) -> JobStatus {
    let mut head = head.clone();
    let text = if status == ConditionStatus::True { &TEXTS.suspended } else { &TEXTS.resumed };
    let condition = condition(text, status, now);
    match head.conditions.iter_mut().find(|other| other.kind == ConditionKind::Suspended) {
        Some(other) if other.status == status => {}
        Some(other) => *other = condition,
        None => head.conditions.push(condition),
    }
    head
}

/// UIDs that enter the lists.
#[derive(Clone, Debug, Default)]
pub struct Record {
    succeeded: Vec<Uid>,
    failed: Vec<Uid>,
}

impl Record {
    /// The status with these UIDs in its lists, in order.
    pub fn on(&self, mut status: JobStatus) -> JobStatus {
        let lists = status.uncounted.get_or_insert_default();
        lists.succeeded.extend(&self.succeeded);
        lists.failed.extend(&self.failed);
        sort(lists);
        status
    }

    /// All sets of these records. A UID may be in both lists.
    pub fn sets(single: &[Record]) -> Vec<Record> {
        let mut sets = vec![Record::default()];
        for record in single {
            let with: Vec<Record> = sets
                .iter()
                .map(|set| Record {
                    succeeded: [&*set.succeeded, &*record.succeeded].concat(),
                    failed: [&*set.failed, &*record.failed].concat(),
                })
                .collect();
            sets.extend(with);
        }
        sets
    }
}

/// A record of each pod that ever existed, as a success and as a failure, unless that list contains it
/// already.
pub fn single_records(old: &JobStatus, pods: usize) -> Vec<Record> {
    let uids = (1..=pods as u128).map(Uid);
    let mut records = Vec::new();
    for uid in uids {
        if !old.uncounted_succeeded().contains(&uid) {
            records.push(Record { succeeded: vec![uid], failed: Vec::new() });
        }
        if !old.uncounted_failed().contains(&uid) {
            records.push(Record { succeeded: Vec::new(), failed: vec![uid] });
        }
    }
    records
}

/// UIDs that leave the lists, and the growth of the counters.
#[derive(Clone, Debug)]
pub struct Move {
    left: Vec<Uid>,
    succeeded: i32,
    failed: i32,
}

impl Move {
    /// The status without these UIDs in its lists.
    pub fn on(&self, mut status: JobStatus) -> JobStatus {
        let lists = status.uncounted.get_or_insert_default();
        lists.succeeded.retain(|uid| !self.left.contains(uid));
        lists.failed.retain(|uid| !self.left.contains(uid));
        status.succeeded += self.succeeded;
        status.failed += self.failed;
        status
    }
}

/// Every set of recorded UIDs: counted, dropped without being counted, and counted without being dropped.
pub fn moves(old: &JobStatus) -> Vec<Move> {
    let (succeeded, failed) = (old.uncounted_succeeded(), old.uncounted_failed());
    let listed: Vec<Uid> = [succeeded, failed].concat();
    let mut moves = Vec::new();
    for set in 0usize..1 << listed.len() {
        let chosen =
            |uid: &&Uid| listed.iter().position(|other| other == *uid).is_some_and(|n| set >> n & 1 == 1);
        let count = |list: &[Uid]| i32::try_from(list.iter().filter(chosen).count()).unwrap_or(0);
        let left: Vec<Uid> = listed.iter().filter(chosen).copied().collect();
        let counted = Move { left, succeeded: count(succeeded), failed: count(failed) };
        if set != 0 {
            moves.push(Move { succeeded: 0, failed: 0, ..counted.clone() });
            moves.push(Move { left: Vec::new(), ..counted.clone() });
        }
        moves.push(counted);
    }
    moves
}

fn sort(lists: &mut Uncounted) {
    lists.succeeded.sort_unstable();
    lists.failed.sort_unstable();
}
