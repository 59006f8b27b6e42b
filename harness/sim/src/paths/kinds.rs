//! The kinds of steps that a path may take, by name: what generated tests are counted by.
//!
//! They are finer than those of the model's statistics: a kubelet, a user and a request have each several. Steps that no
//! algorithm takes (writes that the specification admits, its own caches and crashes) and those of scripts have no name:
//! no path of a controller takes them.

use jobcheck_model::algorithm::io::CallName;
use jobcheck_model::algorithm::steps::{Fortune, ProcessStep};
use jobcheck_model::algorithm::ttl::TtlStep;
use jobcheck_model::apiserver::Propagation;
use jobcheck_model::env::disruption::DisruptionStep;
use jobcheck_model::env::kubelet::KubeletStep;
use jobcheck_model::env::user::{SpecEdit, UserAction, UserStep};
use jobcheck_model::step::Step;

/// All kinds, in the order in which reports list them.
pub const ALL: &[&str] = &[
    "pod scheduled",
    "pod runs",
    "pod becomes ready",
    "pod ceases to be ready",
    "container restarted",
    "pod succeeds",
    "pod fails",
    "success taken back",
    "pod removed",
    "pod evicted",
    "node lost",
    "pod deleted by force",
    "evicted pod deleted",
    "pod given up by pod GC",
    "user deletes a pod",
    "user takes the owner away",
    "user changes labels",
    "user suspends",
    "user resumes",
    "user scales",
    "user sets parallelism",
    "user sets the TTL",
    "user removes the TTL",
    "user sets the deadline",
    "user removes the deadline",
    "user sets backoffLimit",
    "user sets maxFailedIndexes",
    "user sets podReplacementPolicy",
    "user denies a condition",
    "user deletes the Job in the foreground",
    "user deletes the Job in the background",
    "user deletes the Job, leaving pods",
    "user deletes the Job once more",
    "user deletes the Job's owner",
    "user deletes the namespace",
    "user creates the Job again",
    "mirror reports",
    "dependent collected",
    "Job removed",
    "Job expired",
    "second passed",
    "sync started",
    "sync started after a new list",
    "first of equals chosen",
    "pod created",
    "pod creation fails",
    "answer to pod creation lost",
    "pod deletion",
    "pod deletion fails",
    "answer to pod deletion lost",
    "finalizer removed",
    "finalizer removal fails",
    "answer to finalizer removal lost",
    "pod adopted",
    "pod adoption fails",
    "answer to pod adoption lost",
    "pod given up",
    "giving a pod up fails",
    "answer to giving a pod up lost",
    "status written",
    "status write fails",
    "answer to status write lost",
    "orphan looked at",
    "request for an orphan fails",
    "answer about an orphan lost",
    "Pod cache advanced",
    "Pod cache listed anew",
    "Job cache advanced",
    "Job cache listed anew",
    "process dies",
    "process dies with a request on its way",
    "late request handled",
    "second leader starts",
    "second leader stops",
    "process with other gates takes over",
    "TTL sync",
    "TTL read",
    "TTL read fails",
    "TTL deletion",
    "TTL deletion fails",
    "answer to TTL deletion lost",
    "TTL cache advanced",
    "TTL controller dies",
];

/// The place in [`ALL`] of a step's kind; `None` for one that no algorithm takes.
#[must_use]
pub fn kind(step: &Step) -> Option<usize> {
    let name = name(step)?;
    ALL.iter().position(|it| *it == name)
}

fn name(step: &Step) -> Option<&'static str> {
    Some(match step {
        Step::Kubelet(_, _, what) => of_kubelet(*what),
        Step::Disrupt(_, _, what) => of_disruption(*what),
        Step::User(_, _, what) => of_user(what),
        Step::Collect(..) => "dependent collected",
        Step::RemoveJob(_) => "Job removed",
        Step::Expire(_) => "Job expired",
        Step::Process(_, _, what) => of_process(*what),
        Step::Ttl(_, what) => of_ttl(*what),
        Step::Land(_) => "late request handled",
        Step::Rollout(_) => "process with other gates takes over",
        Step::Tick => "second passed",
        Step::Write(..) | Step::ShowPod(_) | Step::ShowJob(_) | Step::Crash(_) | Step::Proceed => {
            return None;
        }
    })
}

fn of_kubelet(what: KubeletStep) -> &'static str {
    match what {
        KubeletStep::Schedule => "pod scheduled",
        KubeletStep::Run => "pod runs",
        KubeletStep::Ready => "pod becomes ready",
        KubeletStep::Unready => "pod ceases to be ready",
        KubeletStep::Restart => "container restarted",
        KubeletStep::Succeed => "pod succeeds",
        KubeletStep::Fail(_) => "pod fails",
        KubeletStep::Flip => "success taken back",
        KubeletStep::Remove => "pod removed",
    }
}

fn of_disruption(what: DisruptionStep) -> &'static str {
    match what {
        DisruptionStep::Evict => "pod evicted",
        DisruptionStep::LoseNode => "node lost",
        DisruptionStep::ForceDelete => "pod deleted by force",
        DisruptionStep::Delete => "evicted pod deleted",
        DisruptionStep::GiveUp => "pod given up by pod GC",
    }
}

fn of_user(what: &UserStep) -> &'static str {
    let action = match what {
        UserStep::DeletePod(_) => return "user deletes a pod",
        UserStep::StripOwner(_) => return "user takes the owner away",
        UserStep::Relabel(_) => return "user changes labels",
        UserStep::Job(action) => action,
    };
    match action {
        UserAction::DeletePod | UserAction::DeleteEndedPod => "user deletes a pod",
        UserAction::StripOwner => "user takes the owner away",
        UserAction::Relabel => "user changes labels",
        UserAction::Edit(edit) => of_edit(*edit),
        UserAction::DenyFailureTarget | UserAction::DenyFailed => "user denies a condition",
        UserAction::DeleteJob(asked) | UserAction::DeleteFinished(asked) => match asked {
            Propagation::Foreground => "user deletes the Job in the foreground",
            Propagation::Background => "user deletes the Job in the background",
            Propagation::Orphan => "user deletes the Job, leaving pods",
        },
        UserAction::DeleteAgain(_) => "user deletes the Job once more",
        UserAction::DeleteOwner => "user deletes the Job's owner",
        UserAction::DeleteNamespace => "user deletes the namespace",
        UserAction::Recreate => "user creates the Job again",
        UserAction::MirrorStarts | UserAction::MirrorAnnounces | UserAction::MirrorFinishes => {
            "mirror reports"
        }
    }
}

fn of_edit(edit: SpecEdit) -> &'static str {
    match edit {
        SpecEdit::Suspend | SpecEdit::SuspendStarted => "user suspends",
        SpecEdit::Resume => "user resumes",
        SpecEdit::Scale(_) => "user scales",
        SpecEdit::SetParallelism(_) => "user sets parallelism",
        SpecEdit::SetTtl(None) => "user removes the TTL",
        SpecEdit::SetTtl(Some(_)) => "user sets the TTL",
        SpecEdit::SetDeadline(None) => "user removes the deadline",
        SpecEdit::SetDeadline(Some(_)) => "user sets the deadline",
        SpecEdit::SetBackoffLimit(_) => "user sets backoffLimit",
        SpecEdit::SetMaxFailedIndexes(_) => "user sets maxFailedIndexes",
        SpecEdit::SetReplacementPolicy(_) => "user sets podReplacementPolicy",
    }
}

fn of_process(what: ProcessStep) -> &'static str {
    match what {
        ProcessStep::Sync(delivery) if delivery.relists => "sync started after a new list",
        ProcessStep::Sync(_) => "sync started",
        ProcessStep::Choose(_) => "first of equals chosen",
        ProcessStep::Call(name, fortune) => of_call(name, fortune),
        ProcessStep::Orphan(_, Fortune::Handled) => "orphan looked at",
        ProcessStep::Orphan(_, Fortune::Fails) => "request for an orphan fails",
        ProcessStep::Orphan(_, Fortune::AnswerLost) => "answer about an orphan lost",
        ProcessStep::ShowPod => "Pod cache advanced",
        ProcessStep::RelistPods => "Pod cache listed anew",
        ProcessStep::ShowJob => "Job cache advanced",
        ProcessStep::RelistJobs => "Job cache listed anew",
        ProcessStep::Crash => "process dies",
        ProcessStep::CrashInFlight(_) => "process dies with a request on its way",
        ProcessStep::Usurp => "second leader starts",
        ProcessStep::Resign => "second leader stops",
    }
}

fn of_call(name: CallName, fortune: Fortune) -> &'static str {
    let [handled, fails, lost] = match name {
        CallName::CreatePod(_) => ["pod created", "pod creation fails", "answer to pod creation lost"],
        CallName::DeletePod(_) => ["pod deletion", "pod deletion fails", "answer to pod deletion lost"],
        CallName::ReleasePod(_) => {
            ["finalizer removed", "finalizer removal fails", "answer to finalizer removal lost"]
        }
        CallName::AdoptPod(_) => ["pod adopted", "pod adoption fails", "answer to pod adoption lost"],
        CallName::GiveUpPod(_) => ["pod given up", "giving a pod up fails", "answer to giving a pod up lost"],
        CallName::WriteStatus => ["status written", "status write fails", "answer to status write lost"],
    };
    match fortune {
        Fortune::Handled => handled,
        Fortune::Fails => fails,
        Fortune::AnswerLost => lost,
    }
}

fn of_ttl(what: TtlStep) -> &'static str {
    match what {
        TtlStep::Sync => "TTL sync",
        TtlStep::Get(Fortune::Handled) => "TTL read",
        TtlStep::Get(Fortune::Fails | Fortune::AnswerLost) => "TTL read fails",
        TtlStep::Delete(Fortune::Handled) => "TTL deletion",
        TtlStep::Delete(Fortune::Fails) => "TTL deletion fails",
        TtlStep::Delete(Fortune::AnswerLost) => "answer to TTL deletion lost",
        TtlStep::Show => "TTL cache advanced",
        TtlStep::Crash => "TTL controller dies",
    }
}
