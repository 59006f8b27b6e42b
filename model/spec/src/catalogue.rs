//! The catalogue: every requirement, once.
//!
//! Ids are those of the requirement pages and are never renumbered. One line each: the variant, the id, whom
//! it binds, its level, how it is decided, where it comes from, and the rule in one sentence.

use crate::requirement::{Binds, Judged, Level, Requirement};

macro_rules! catalogue {
    ($($variant:ident = $id:literal [$binds:ident] $level:ident, $judged:expr, $source:literal, $sentence:literal;)*) => {
        /// A requirement, by its id.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u16)]
        pub enum Req {
            $(#[doc = $sentence] $variant,)*
        }

        /// All requirements, in the order of [`Req`].
        pub const CATALOGUE: &[Requirement] = &[
            $(Requirement {
                req: Req::$variant,
                id: $id,
                binds: Binds::$binds,
                level: Level::$level,
                judged: $judged,
                source: $source,
                sentence: $sentence,
            },)*
        ];
    };
}

catalogue! {
    FT01 = "FT-01" [Executor] Must, Judged::Truth, "KEP-2307 Proposal; JC manageJob", "Every pod created for a Job carries the finalizer batch.kubernetes.io/job-tracking exactly once, after the finalizers of its template.";
    FT02 = "FT-02" [Executor] Must, Judged::Truth, "KEP-2307 Algorithm; JC trackJobStatusAndRemoveFinalizers", "A terminated pod is accounted for in three ordered steps: UID recorded, finalizer removed, UID dropped and counter raised in one write.";
    FT03 = "FT-03" [Executor] Must, Judged::Truth, "KEP-2307 Algorithm, step 3; JC flushUncountedAndRemoveFinalizers", "The finalizer of a newly recorded pod is removed only after the status write that records its UID has succeeded.";
    FT04 = "FT-04" [Executor] Must, Judged::Audit, "KEP-2307 Algorithm; JC flushUncountedAndRemoveFinalizers", "If some finalizer removals fail, the pods whose removal succeeded or was answered with 404 are counted, and the others stay recorded.";
    FT05 = "FT-05" [Executor] Must, Judged::Explored("a rule of one sync, and a trace does not show where a sync begins and ends"), "KEP-2307 Algorithm, step 4; JC cleanUncountedPodsWithoutFinalizers", "A sync first counts and drops the recorded UIDs whose finalizer is removed, then records new ones; the cap of 500 applies to the rest.";
    FT06 = "FT-06" [Executor] Must, Judged::View, "KEP-2307 Algorithm, step 2; JC getValidPodsWithFilter", "Only a pod that still holds the finalizer and, if the Job is Indexed, has an index below completions is accounted for; other terminated pods are ignored for ever.";
    FT07 = "FT-07" [Executor] Must, Judged::Truth, "KEP-2307 Simplified algorithm for Indexed Jobs; IX", "A success of an Indexed Job is recorded by its index in completedIndexes and never by UID.";
    FT08 = "FT-08" [Executor] Must, Judged::Truth, "KEP-2307 Simplified algorithm for Indexed Jobs; JC", "A failure of an Indexed Job is recorded in uncountedTerminatedPods.failed before it is counted, like one of a NonIndexed Job.";
    FT09 = "FT-09" [Executor] Must, Judged::View, "Kubernetes 1.36 Indexed Jobs (JC trackJobStatusAndRemoveFinalizers)", "An Indexed pod with a missing, malformed or out-of-range index loses its finalizer once it has terminated and adds to no counter.";
    FT10 = "FT-10" [Executor] Must, Judged::Explored("the cap ends one sync, and a trace does not show where a sync ends; the length of the lists is SC-05"), "KEP-2307 Risks: Bigger Job status; JC MaxUncountedPods", "A sync stops accounting at 500 newly completed indexes and recorded UIDs together, and then does not declare the Job finished.";
    FT11 = "FT-11" [Internal] Should, Judged::Explored("internal to one sync: which removals count against its cap"), "Kubernetes 1.36 finalizer tracking (JC)", "Pods that only need their finalizer removed do not count against the cap of 500 per sync.";
    FT12 = "FT-12" [Executor] Must, Judged::View, "Kubernetes 1.36 Indexed Jobs (IX calculateSucceededIndexes)", "completedIndexes and succeeded include every observed success, beyond the cap of 500 too; only finalizer removals are capped.";
    FT13 = "FT-13" [Executor] Must, Judged::Truth, "Kubernetes 1.36 finalizer tracking (JC; #111646)", "A pod recorded in uncountedTerminatedPods.failed is counted as failed, even if it shows phase Succeeded later.";
    FT14 = "FT-14" [Executor] Must, Judged::View, "KEP-2307 Algorithm, step 3; JC canRemoveFinalizer", "Accounting removes a finalizer only if the Job finishes or is being deleted, the pod succeeded, or it failed and BI-08 does not keep it.";
    FT15 = "FT-15" [Executor] Must, Judged::View, "Kubernetes 1.36 finalizer tracking (JC)", "A Job that finishes by failure records as failed every pod that still holds the finalizer; a Job that succeeds counts its running pods nowhere.";
    FT16 = "FT-16" [Executor] Must, Judged::Audit, "KEP-2307 Deleted Pods; JC deleteJobPods", "On suspension and scale-down, a chosen pod loses the finalizer before its DELETE and is never counted, in whichever phase it ends.";
    FT17 = "FT-17" [Executor] Must, Judged::View, "Kubernetes 1.36 finishing (JC deleteActivePods)", "A finishing Job deletes its active pods with the finalizer in place and removes the finalizers while it accounts for them.";
    FT18 = "FT-18" [Executor] Must, Judged::View, "KEP-2307 Deleted Pods; KEP-3939 Implementation; JC isPodFailed", "A pod deleted by others fails at its deletionTimestamp unless it has succeeded (TerminatingOrFailed), or by its phase once it has terminated (effectively Failed).";
    FT19 = "FT-19" [Executor] Must, Judged::View, "Kubernetes 1.36 deletion (JC syncJob)", "A Job being deleted gets no new pods and, unless it is finishing, loses none; all its pods lose their finalizer, and only the terminated ones are counted.";
    FT20 = "FT-20" [Executor] Must, Judged::Pending, "KEP-2307 Deleted Jobs; JC handleSingleOrphanPod", "When a Job is gone or no longer owns its pods, the tracking finalizer is removed from each of them, without counting.";
    FT21 = "FT-21" [Executor] Must, Judged::View, "KEP-2307 Deleted Jobs; JC handleSingleOrphanPod", "The orphan cleanup removes the finalizer only from a pod without controller, or whose controlling Job is finished or not found by name and UID.";
    FT22 = "FT-22" [Internal] Should, Judged::Explored("internal: which events wake the clean-up; that it must end is FT-20 and FT-23"), "KEP-2307 Deleted Jobs; JC orphan queue", "The orphan cleanup is started by pods without an unfinished Job, by updates of finished Jobs and by Job deletions; a cleanup by label selector is not retried.";
    FT23 = "FT-23" [Executor] Must, Judged::Pending, "KEP-2307 Deleted Jobs; JC updateJob", "After the terminal condition, no pod of the Job keeps the tracking finalizer for ever.";
    FT24 = "FT-24" [Executor] Must, Judged::View, "KEP-2307 Pod adoption; JC getPodsForJob, CRM", "An ownerless pod that the selector matches is adopted by one PATCH of owner and finalizer, unless it or the live Job is being deleted.";
    FT25 = "FT-25" [Executor] Must, Judged::View, "KEP-2307 Pod adoption; JC", "An adopted pod is treated from the same sync on as if it always held the finalizer; a terminated ownerless pod is not adopted (S-05).";
    FT26 = "FT-26" [Executor] Must, Judged::View, "Kubernetes 1.36 release (CRM)", "An owned pod whose labels stop matching loses owner reference and finalizer in one PATCH, except while the Job is being deleted.";
    FT27 = "FT-27" [Manager] Must, Judged::Truth, "KEP-2307 API changes; VAL", "uncountedTerminatedPods may be null or empty; its UIDs are non-empty and unique across both lists, and none is left when the Job is finished.";
    FT28 = "FT-28" [Internal] Should, Judged::Explored("internal memory of a controller"), "Kubernetes 1.36 finalizer tracking (TU)", "An expected finalizer removal is remembered from before its PATCH until an event shows it or the PATCH fails, and is lost at a restart.";
    FT29 = "FT-29" [Internal] Should, Judged::Explored("internal: how a removal is phrased binds nobody; the races it opens are explored"), "Kubernetes 1.36 finalizer tracking (JC removeTrackingFinalizerPatch)", "The PATCH that removes a finalizer carries neither a UID nor a resourceVersion precondition.";
    FT30 = "FT-30" [Executor] Must, Judged::Truth, "KEP-2307 API changes; JC", "An executor sets uncountedTerminatedPods in its first status write and never makes it null again.";
    FT31 = "FT-31" [Executor] Must, Judged::View, "KEP-2307 Summary", "Once a terminated pod has lost its finalizer, its removal changes no counter, index, condition or decision.";
    FT32 = "FT-32" [Executor] Must, Judged::Audit, "KEP-2307 Non-Goals", "A Job controller deletes active pods only, never a terminated one, counted or not.";
    PC01 = "PC-01" [Executor] Must, Judged::View, "KEP-2307 Algorithm, step 1; CU IsPodActive", "active counts the owned pods that are neither terminated nor being deleted, with or without the finalizer.";
    PC02 = "PC-02" [Executor] Must, Judged::View, "KEP-3939 Implementation; CU IsPodTerminating", "terminating counts the owned pods that have a deletionTimestamp and are not in phase Succeeded or Failed, with or without the finalizer.";
    PC03 = "PC-03" [Executor] Must, Judged::View, "KEP-4368 Terminating pods and terminal Job conditions; JC", "ready counts active pods whose condition Ready is True, and active, ready and terminating include what the same sync created and deleted.";
    PC04 = "PC-04" [Executor] Must, Judged::View, "KEP-2307 Algorithm, step 1; JC manageJob", "If completions is set, the wanted pods are completions minus successes, recorded and newly seen ones included, but at least 0 and at most parallelism.";
    PC05 = "PC-05" [Executor] Must, Judged::View, "Kubernetes 1.36 pod creation (JC manageJob)", "If completions is unset, parallelism pods are wanted until the first success; from then on no pod is created and none is deleted.";
    PC06 = "PC-06" [Executor] Must, Judged::Pending, "Kubernetes 1.36 Indexed Jobs (IX)", "Active pods without an index below completions, and all but one of each index, are surplus even if the total is not.";
    PC07 = "PC-07" [Executor] Must, Judged::Explored("a rule of one sync, and a trace does not show where a sync begins and ends"), "Kubernetes 1.36 pod creation (JC manageJob)", "One sync either creates pods or deletes them; if both are due, it deletes.";
    PC08 = "PC-08" [Executor] Must, Judged::View, "KEP-3939 Implementation; JC manageJob", "No more pods are created than the wanted ones minus the active ones, and minus the terminating ones where only failed pods are replaced (RP-02).";
    PC09 = "PC-09" [Executor] Must, Judged::View, "Kubernetes 1.36 scale-down (CU ActivePods)", "Surplus pods are deleted in this order: unassigned, Pending, Unknown, Running; then not ready, most recently ready, most restarts, newest.";
    PC10 = "PC-10" [Executor] Must, Judged::Explored("a rule of one sync, and a trace does not show where a sync begins and ends"), "Kubernetes 1.36 pod creation (JC MaxPodCreateDeletePerSync)", "One sync creates or deletes at most 500 pods to match parallelism; suspension and finishing delete all active pods without a cap.";
    PC11 = "PC-11" [Executor] Must, Judged::Explored("a rule of one sync, and a trace does not show where a sync begins and ends"), "Kubernetes 1.36 pod creation (JC manageJob)", "Pods are created in batches of 1, 2, 4 and so on; after an error, the remaining pods wait for a retry after 1 s, doubling up to 60 s.";
    PC12 = "PC-12" [Executor] Must, Judged::Audit, "Kubernetes 1.36 pod creation (JC manageJob)", "A creation that is rejected because the namespace is terminating is not tried again for 5 minutes.";
    PC13 = "PC-13" [Executor] Must, Judged::Pending, "Kubernetes 1.36 pod creation (JC syncJob)", "Terminated pods are accounted for even while creating or deleting pods keeps failing.";
    PC14 = "PC-14" [Executor] Must, Judged::View, "Kubernetes 1.36 pod creation (CU GetPodFromTemplate)", "A pod takes labels, annotations and what its spec sets from the template and has exactly one controller reference: batch/v1, Job, blockOwnerDeletion true.";
    PC15 = "PC-15" [Api] Must, Judged::Truth, "Kubernetes 1.36 Job strategy (STR generateSelector)", "Unless manualSelector is true, the API server adds Job name and UID to the template's labels, under old and new keys, and selects by batch.kubernetes.io/controller-uid.";
    PC16 = "PC-16" [Executor] Must, Judged::View, "Kubernetes 1.36 pod creation (CU getPodsPrefix)", "The generateName of a NonIndexed pod is the Job's name and a dash; the dash is omitted where it would be invalid.";
    PC17 = "PC-17" [Executor] Must, Judged::View, "Kubernetes 1.36 Indexed Jobs (IX; JC)", "An Indexed pod carries its index in annotation, label, hostname, a name prefix of at most 58 characters, and JOB_COMPLETION_INDEX in each container.";
    PC18 = "PC-18" [Executor] Must, Judged::View, "KEP-3939 Implementation; KEP-3850 Tracking the number of failures per index; IX firstPendingIndexes", "The indexes created first are the lowest that are not active, completed or failed, nor terminating where only failed pods are replaced.";
    PC19 = "PC-19" [Executor] Must, Judged::View, "KEP-3850 Failed indexes format; IX String", "Index texts are ascending and separated by commas; three or more consecutive indexes become a-b, and two become a,b.";
    PC20 = "PC-20" [Executor] Must, Judged::View, "KEP-3850 Failed indexes format; IX parseIndexesFromString", "A stored index text is read up to completions: a crossing interval is cut, a later one ends the reading, a corrupted one is skipped.";
    PC21 = "PC-21" [Executor] Must, Judged::Truth, "KEP-2307 Simplified algorithm for Indexed Jobs; JC", "In an Indexed Job succeeded equals the number of indexes in completedIndexes, so that two successes of one index count once.";
    PC22 = "PC-22" [Api] Must, Judged::Truth, "Kubernetes 1.36 elastic Indexed Jobs (VAL validateCompletions)", "completions changes only on an Indexed Job and only to the parallelism of the same request; parallelism alone changes freely.";
    PC23 = "PC-23" [Executor] Must, Judged::View, "Kubernetes 1.36 elastic Indexed Jobs (IX; IT TestElasticIndexedJob)", "Scaling down removes the higher indexes from completedIndexes and succeeded, keeps failed, and deletes their pods uncounted; scaling up runs these indexes again.";
    PC24 = "PC-24" [Executor] Must, Judged::View, "Kubernetes 1.36 completion (JC)", "A Job completes once active is 0, succeeded is at least completions (above 0 if unset), and every created pod has been seen (S-08).";
    PC25 = "PC-25" [Executor] Must, Judged::Pending, "Kubernetes 1.36 completion (JC; IT TestSuspendJobWithZeroCompletions)", "A Job with completions 0 completes at once, suspended or not.";
    PC26 = "PC-26" [Internal] Should, Judged::Explored("internal memory of a controller"), "Kubernetes 1.36 expectations (CU; JC deletePod)", "Expected creations and deletions hold back further ones until events show them or 5 minutes pass; a new set replaces the old one.";
    PC27 = "PC-27" [Internal] Should, Judged::Explored("internal: expectations are memory of a controller, and no trace shows them"), "Kubernetes 1.36 expectations (JC)", "Unmet expectations hold back creations, deletions and the finishing decision, never counting and finalizer removal.";
    PC28 = "PC-28" [Executor] Must, Judged::Not("the API server stores no other completion mode (SP-03), so the specification has none"), "Kubernetes 1.36 sync (JC)", "A Job with an unknown completionMode is left alone.";
    PC29 = "PC-29" [Executor] Must, Judged::View, "Kubernetes 1.36 ownership (CU FilterPodsByOwner)", "A Job's pods are those whose controller reference carries its UID; a recreated Job does not inherit the pods of the previous Job.";
    PC30 = "PC-30" [Internal] Should, Judged::Not("the gate WorkloadWithJob is alpha and off"), "Kubernetes 1.36 gang scheduling (SM)", "With the gate WorkloadWithJob, a parallel Indexed Job gets a Workload and a PodGroup before its pods.";
    PC31 = "PC-31" [Api] Must, Judged::Audit, "Kubernetes 1.36 Job strategy (STR)", "A DELETE of a Job through batch/v1 that names no propagation policy orphans its pods.";
    BO01 = "BO-01" [Executor] Must, Judged::View, "KEP-3939 Exponential Backoff for Pod Failures; BU", "After n failures since the last success, new pods wait 10 s doubled n-1 times (at most 600 s), unless limits are per index.";
    BO02 = "BO-02" [Executor] Must, Judged::View, "Kubernetes 1.36 backoff (JC; #139428)", "While the delay runs, no pod at all is created for the Job, and active is reported as it is.";
    BO03 = "BO-03" [Executor] Must, Judged::Explored("a rule of one sync, and a trace does not show where a sync begins and ends"), "Kubernetes 1.36 backoff (BU newBackoffRecord)", "A sync adds its failures to n; if it sees a success, n becomes the number of failures after the latest one.";
    BO04 = "BO-04" [Executor] Must, Judged::View, "Kubernetes 1.36 backoff (JC)", "A failure that a policy rule ignores still delays the next pod.";
    BO05 = "BO-05" [Internal] Should, Judged::Explored("internal memory of a controller; its loss at a restart excuses a short delay"), "Kubernetes 1.36 backoff (JC)", "The backoff record lives in memory; a sync updates it after its first status write, and it ends with the Job, its finish or a restart.";
    BO06 = "BO-06" [Executor] Must, Judged::Pending, "Kubernetes 1.36 backoff (JC deleteJob; #132042)", "A Job created under the name of a deleted one starts without delay.";
    BO07 = "BO-07" [Executor] Must, Judged::View, "KEP-3850 Exponential backoff delay issue; KEP-3939 Exponential Backoff for Pod Failures; BU", "A pod's finish time is its containers' last finishedAt, else when Ready became False, else its deletion minus the grace period, else its creation.";
    BO08 = "BO-08" [Internal] Should, Judged::Explored("internal: a quirk of the built-in that binds nobody"), "Kubernetes 1.36 backoff (BU getFinishTimeFromContainers)", "If all sidecars but not all regular containers have finished, the finish time is that of the sidecars.";
    BO09 = "BO-09" [Executor] Must, Judged::Explored("a tolerance within BO-01 and BO-10, which anything shorter breaks"), "Kubernetes 1.36 backoff (BU)", "Times have whole seconds, so that a delay may appear up to 1 s shorter than it is.";
    BO10 = "BO-10" [Executor] Must, Judged::View, "KEP-3850 Exponential backoff delay per index; BU", "With backoffLimitPerIndex only the delay of an index counts, with n equal to 1 plus both failure counts annotated on its last failed pod.";
    BO11 = "BO-11" [Executor] Must, Judged::Pending, "KEP-3850 Too fast Job status updates; JC getPodCreationInfoForIndependentIndexes", "Indexes whose delay is over get pods now, though a waiting lower index keeps its slot; otherwise the next sync comes at the earliest end, at least 1 s later.";
    BO12 = "BO-12" [Executor] Must, Judged::View, "KEP-2307 Algorithm, step 1; JC", "Failed pods exceed backoffLimit if and only if counted, recorded and newly seen failures together, ignored ones excluded, are more than the limit.";
    BO13 = "BO-13" [Executor] Must, Judged::View, "Kubernetes 1.36 backoff (JC pastBackoffLimitOnFailure)", "With restartPolicy OnFailure the limit is also exceeded once container restarts in Pending and Running pods reach backoffLimit, or 1 if the limit is 0.";
    BO14 = "BO-14" [Api] Must, Judged::Truth, "KEP-3850 Job API; DEF", "backoffLimit defaults to 6, and to 2147483647 if backoffLimitPerIndex is set.";
    BO15 = "BO-15" [Executor] Must, Judged::View, "Kubernetes 1.36 backoff (VAL; JC)", "Raising backoffLimit does not revive a Job that has FailureTarget.";
    BO16 = "BO-16" [Executor] Must, Judged::View, "Kubernetes 1.36 backoff (JC)", "backoffLimit is compared with all failures, not with consecutive ones, and no success reduces them.";
    RP01 = "RP-01" [Api] Must, Judged::Truth, "KEP-3939 Defaulting and validation; DEF, VAL", "podReplacementPolicy defaults to TerminatingOrFailed, and to Failed, the only allowed value then, if podFailurePolicy is set.";
    RP02 = "RP-02" [Executor] Must, Judged::View, "KEP-3939 Defaulting and validation; JC onlyReplaceFailedPods", "Only failed pods are replaced (effectively Failed) if and only if the policy is Failed or podFailurePolicy is set, even without rules.";
    RP03 = "RP-03" [Executor] Must, Judged::View, "KEP-3939 Implementation; JC, IX", "Effectively Failed: a terminating pod keeps its slot and index, is not failed before it has terminated, and may still succeed.";
    RP04 = "RP-04" [Executor] Must, Judged::View, "KEP-3939 Summary; JC", "TerminatingOrFailed: a terminating pod is failed and, apart from the delay, replaced at once, and is never revised once recorded.";
    RP05 = "RP-05" [Executor] Must, Judged::View, "KEP-3939 Implementation; KEP-2307 Deleted Pods; JC", "Effectively Failed: pods that suspension or scale-down deleted hold their slots too while they terminate; TerminatingOrFailed: no terminating pod does.";
    RP06 = "RP-06" [Executor] Must, Judged::View, "KEP-3939 Tracking the terminating pods; JC", "An executor sets status.terminating in every status write, 0 included.";
    RP07 = "RP-07" [Executor] Must, Judged::Explored("what pod GC does is a step of the environment; the waiting for it is RP-03"), "KEP-3939 Risks and Mitigations; podgc", "Effectively Failed: a pod deleted before it was scheduled is replaced after pod GC has marked it Failed, which pod GC does every 20 s.";
    RP08 = "RP-08" [Executor] Must, Judged::Pending, "KEP-3939 Scalability; JC", "A change of terminating alone causes a status write.";
    RP09 = "RP-09" [Manager] Must, Judged::Truth, "KEP-3939 Tracking the terminating pods; VAL", "A finished Job has terminating nil or 0.";
    RP10 = "RP-10" [Executor] Must, Judged::View, "KEP-3939 Exponential Backoff for Pod Failures", "The delay after a deleted pod runs from its deletion or failure (TerminatingOrFailed), or from its failure (effectively Failed), dated as in BO-07.";
    RP11 = "RP-11" [Executor] Must, Judged::View, "KEP-3939 Motivation, Story 2", "Effectively Failed: active and terminating pods together stay within parallelism, except for pods in excess of a lowered parallelism.";
    RP12 = "RP-12" [Executor] Must, Judged::View, "KEP-3939 Motivation, Story 1", "Effectively Failed: an index never has two pods that have not terminated, except after a force deletion.";
    RP13 = "RP-13" [Executor] Must, Judged::View, "KEP-3939 Upgrade / Downgrade Strategy", "After a change of podReplacementPolicy, every pod that is not recorded yet is judged by the new policy, and recorded failures stay failures.";
    TC01 = "TC-01" [Executor] Must, Judged::View, "KEP-3850 Job completion; JC syncJob", "The first of these that holds decides the Job: interim condition, FailJob, backoffLimit, deadline, maxFailedIndexes, failed indexes, success policy, completions.";
    TC02 = "TC-02" [Executor] Must, Judged::View, "KEP-3939 Tracking the terminating pods; JC", "Every finishing cause, and every suspension and resumption, has its fixed condition type, reason and message.";
    TC03 = "TC-03" [Manager] Must, Judged::Truth, "KEP-4368 Terminating pods and terminal Job conditions; JC", "Failed comes only with FailureTarget and Complete only with SuccessCriteriaMet, with the reason and message of that interim condition.";
    TC04 = "TC-04" [Executor] Must, Judged::Truth, "KEP-3939 Tracking the terminating pods; JC enactJobFinished", "The terminal condition is written only with empty uncounted lists and terminating 0, and not in a sync that has reached the cap of 500.";
    TC05 = "TC-05" [Manager] Must, Judged::Truth, "KEP-4368 Job status validation; JC", "completionTime is set with Complete, never otherwise and never changed, and is not after that condition's lastTransitionTime.";
    TC06 = "TC-06" [Manager] Must, Judged::Truth, "KEP-4368 Terminating pods and terminal Job conditions; JC, VAL", "FailureTarget and SuccessCriteriaMet exclude each other and stay; the one that came first decides the Job.";
    TC07 = "TC-07" [Executor] Must, Judged::View, "Kubernetes 1.36 finishing (JC; #130103)", "From the interim condition on no pod is created, and every active pod is deleted, late ones included.";
    TC08 = "TC-08" [Executor] Must, Judged::Audit, "Kubernetes 1.36 finishing (JC deleteActivePods)", "If deleting an active pod fails (404 excepted), the interim condition waits while counting continues; a pod that matches FailJob still keeps its finalizer (S-03).";
    TC09 = "TC-09" [Executor] Must, Judged::Truth, "Kubernetes 1.36 finishing (JC)", "The terminal condition has its own times and is placed after the interim one, which stays True.";
    TC10 = "TC-10" [Executor] Must, Judged::View, "Kubernetes 1.36 finishing (JC)", "An interim condition with status False counts as absent.";
    TC11 = "TC-11" [Executor] Must, Judged::Truth, "Kubernetes 1.36 finishing (JC)", "After the terminal condition nothing more is written to the Job.";
    TC12 = "TC-12" [Executor] Must, Judged::Explored("a permission, which nothing can break"), "Kubernetes 1.36 finishing (JC)", "A Job may be finished while its condition Suspended is still True.";
    TC13 = "TC-13" [Internal] Should, Judged::Explored("internal memory of a controller; a pod created in that time is TC-07"), "Kubernetes 1.36 finishing (JC; #130103)", "After its terminal write a Job is not synced again before the cache shows it finished.";
    TC14 = "TC-14" [Manager] Must, Judged::View, "KEP-4368 Terminating pods and terminal Job conditions", "The interim condition is in the first write in which the decision holds and waits neither for terminating nor for uncounted pods.";
    PF01 = "PF-01" [Executor] Must, Judged::View, "Kubernetes 1.36 pod failure policy (PFP)", "Rules are tried in order and the first match acts; a failure that matches none is counted.";
    PF02 = "PF-02" [Executor] Must, Judged::View, "KEP-3939 Defaulting and validation; JC getFailJobMessage", "Rules apply to pods in phase Failed only, never to running ones with failed containers.";
    PF03 = "PF-03" [Executor] Must, Judged::View, "Kubernetes 1.36 pod failure policy (PFP)", "onExitCodes matches a terminated container, by name if given, whose exit code is not 0 and is In or NotIn the list; regular containers come first.";
    PF04 = "PF-04" [Executor] Must, Judged::View, "Kubernetes 1.36 pod failure policy (PFP; DEF)", "onPodConditions matches if a condition of the pod has a pattern's type and status; the status of a pattern is True by default.";
    PF05 = "PF-05" [Executor] Must, Judged::Not("the API server stores no other action or operator (SP-06), so the specification has none"), "Kubernetes 1.36 pod failure policy (PFP)", "A rule with an unknown action or operator is skipped.";
    PF06 = "PF-06" [Executor] Must, Judged::View, "KEP-3850 FailIndex action; PFP", "Ignore counts the failure nowhere, Count counts it, FailIndex also fails its index at once, and FailJob fails the Job.";
    PF07 = "PF-07" [Executor] Must, Judged::View, "Kubernetes 1.36 pod failure policy (PFP)", "A FailJob message names pod and namespace, the container with its exit code or the condition type, and the index of the rule.";
    PF08 = "PF-08" [Executor] Must, Judged::View, "Kubernetes 1.36 pod failure policy (JC)", "FailJob looks at all owned failed pods, those without finalizer included, until the Job has an interim condition.";
    PF09 = "PF-09" [Executor] Must, Judged::View, "Kubernetes 1.36 pod failure policy (JC)", "FailureTarget of a FailJob match is stored before the matching pod loses its finalizer.";
    SX01 = "SX-01" [Executor] Must, Judged::View, "Kubernetes 1.36 success policy (SPO)", "A success policy acts only on an Indexed Job with a completed index and no finishing decision; its rules are tried in order.";
    SX02 = "SX-02" [Executor] Must, Judged::View, "Kubernetes 1.36 success policy (SPO)", "A rule holds if all its succeededIndexes below completions are completed, or succeededCount of them, or, without a list, that many of all indexes.";
    SX03 = "SX-03" [Executor] Must, Judged::View, "Kubernetes 1.36 success policy (JC)", "A met success policy deletes all active pods; their later results count nowhere, and uncompleted indexes are no failures.";
    SX04 = "SX-04" [Executor] Must, Judged::View, "Kubernetes 1.36 success policy (JC)", "A failure beats the success policy in the same sync, but after a stored SuccessCriteriaMet nothing fails the Job.";
    SX05 = "SX-05" [Executor] Must, Judged::View, "Kubernetes 1.36 success policy (JC)", "With all indexes completed, the reason is SuccessPolicy if a rule holds, and CompletionsReached otherwise.";
    BI01 = "BI-01" [Executor] Must, Judged::View, "KEP-3850 Tracking the number of failures per index; IX isIndexFailed", "An index fails if and only if a counted failure hits a pod whose failure count is at least backoffLimitPerIndex, or a failure matches FailIndex.";
    BI02 = "BI-02" [Executor] Must, Judged::View, "KEP-3850 Tracking the number of failures per index; IX", "The first pod of an index has failure count 0 and a replacement one more than its predecessor; an ignored failure raises the ignored count instead.";
    BI03 = "BI-03" [Executor] Must, Judged::View, "KEP-3850 Tracking the number of failures per index; IX", "A failure count that is missing, malformed, negative or beyond int32 is read as 0.";
    BI04 = "BI-04" [Executor] Must, Judged::View, "KEP-3850 Job API; JC", "A failed index is never retried; failedIndexes is set from the first write on if backoffLimitPerIndex is, and never otherwise.";
    BI05 = "BI-05" [Executor] Must, Judged::View, "Kubernetes 1.36 backoffLimitPerIndex (IX)", "failedIndexes follows from its stored text and the pods that still hold the finalizer, without indexes at or above completions.";
    BI06 = "BI-06" [Executor] Must, Judged::View, "KEP-3850 Job completion; JC", "More failed indexes than maxFailedIndexes fail the Job at once; its running pods are deleted and counted as failed.";
    BI07 = "BI-07" [Executor] Must, Judged::View, "KEP-3850 Job completion; JC", "A Job with failed indexes fails with FailedIndexes once every index is completed or failed; it completes only without any.";
    BI08 = "BI-08" [Executor] Must, Judged::View, "KEP-3850 Tracking the number of failures per index; IX getPodsWithDelayedDeletionPerIndex", "The last failed pod of an unsettled index keeps its finalizer, unrecorded, until its replacement is active, the index settles or the Job ends.";
    BI09 = "BI-09" [Executor] Must, Judged::View, "KEP-3850 Tracking the number of failures per index; JC", "status.failed leaves out a pod kept by BI-08 for as long as it is kept, a suspension or a missing slot included.";
    BI10 = "BI-10" [Executor] Must, Judged::View, "Kubernetes 1.36 backoffLimitPerIndex (JC)", "The other failed pods of an index are counted and lose their finalizer without delay.";
    BI11 = "BI-11" [Executor] Must, Judged::View, "KEP-3850 Job API; JC", "A backoffLimit beside backoffLimitPerIndex applies too, and includes the pods kept by BI-08.";
    BI12 = "BI-12" [Api] Must, Judged::Truth, "KEP-3850 Job API; VAL", "backoffLimitPerIndex needs Indexed; maxFailedIndexes needs backoffLimitPerIndex, is at most completions, and above 100000 completions must be set and at most 10000.";
    BI13 = "BI-13" [Api] Must, Judged::Explored("a permission, which no stored object can break"), "KEP-3850 Job API; VAL", "backoffLimitPerIndex is documented to need restartPolicy Never, but OnFailure is accepted unless podFailurePolicy is set.";
    BI14 = "BI-14" [Manager] Must, Judged::Truth, "KEP-3850 The Job object too big; VAL", "completedIndexes and failedIndexes never share an index.";
    BI15 = "BI-15" [Executor] Must, Judged::View, "KEP-3850 Tracking the number of failures per index", "A failed pod loses its finalizer only after its replacement exists or its index is stored in failedIndexes.";
    BI16 = "BI-16" [Executor] Must, Judged::View, "KEP-3850 Goals", "No index is delayed, failed or stopped by another one, except by Job-wide limits, FailJob or a waiting lower index's slot.";
    BI17 = "BI-17" [Executor] Must, Judged::View, "KEP-3850 Alternatives", "The failure count and the delay of an index survive a restart of the controller, since its pods carry them.";
    SU01 = "SU-01" [Executor] Must, Judged::View, "Kubernetes 1.36 suspend (JC)", "A suspended Job that is not finishing loses its active pods, gets no new ones, and has condition Suspended True with reason JobSuspended.";
    SU02 = "SU-02" [Executor] Must, Judged::View, "Kubernetes 1.36 suspend (JC)", "The write that sets Suspended True clears startTime; a suspended Job that finishes has a startTime nevertheless (S-04).";
    SU03 = "SU-03" [Executor] Must, Judged::View, "Kubernetes 1.36 suspend (JC)", "A Job created suspended gets Suspended True in its first sync, and neither startTime nor pods.";
    SU04 = "SU-04" [Executor] Must, Judged::View, "Kubernetes 1.36 suspend (JC ensureJobConditionStatus)", "Resuming sets Suspended False with reason JobResumed and startTime to the current time in one write; a Job never suspended has no such condition.";
    SU05 = "SU-05" [Executor] Must, Judged::View, "Kubernetes 1.36 suspend (JC)", "Condition Suspended changes only in a sync that manages pods: every created pod is seen, and the Job is neither finishing nor being deleted.";
    SU06 = "SU-06" [Executor] Must, Judged::View, "Kubernetes 1.36 suspend (JC)", "A suspended Job continues to count its pods, and it may fail or complete.";
    SU07 = "SU-07" [Executor] Must, Judged::Explored("a permission: who saw the suspension in time may act on it"), "Kubernetes 1.36 suspend (JC)", "A suspension that is withdrawn before a sync has seen it deletes no pod and keeps startTime.";
    SU08 = "SU-08" [Executor] Must, Judged::View, "Kubernetes 1.36 deadline (JC)", "A Job that is not suspended fails once activeDeadlineSeconds have passed since startTime, at most 1 s early.";
    SU09 = "SU-09" [Executor] Must, Judged::View, "Kubernetes 1.36 deadline (JC)", "A Job with activeDeadlineSeconds 0 fails in its first sync, FailureTarget before Failed, and gets no pod.";
    SU10 = "SU-10" [Executor] Must, Judged::Pending, "Kubernetes 1.36 deadline (JC)", "A running Job is synced when its deadline is due, a changed deadline included, so that it fails in bounded time.";
    SU11 = "SU-11" [Executor] Must, Judged::View, "Kubernetes 1.36 deadline (JC)", "A resumed Job has its whole activeDeadlineSeconds again.";
    SU12 = "SU-12" [Api] Must, Judged::Truth, "Kubernetes 1.36 Job strategy (STR shouldAllowMutablePodTemplate; VAL)", "The template changes only while the Job is suspended and inactive, and only in scheduling directives, labels, annotations and resources.";
    SU13 = "SU-13" [Api] Must, Judged::Explored("a permission, which no stored object can break; what stays immutable is SU-12"), "Kubernetes 1.36 Job strategy (VAL validatePodTemplateUpdate)", "While the template may change, all its metadata may change, finalizers and generateName included.";
    SU14 = "SU-14" [Manager] Should, Judged::View, "KEP-4368 Use for MultiKueue", "A mirror shows condition Suspended as spec.suspend demands, and moves startTime only as SS-09 allows.";
    SU15 = "SU-15" [Internal] Should, Judged::Not("events are in no trace, and the specification has none"), "Kubernetes 1.36 suspend (JC)", "The events Suspended and Resumed precede the status write, so that a conflict may repeat them.";
    MB01 = "MB-01" [Api] Must, Judged::Truth, "KEP-4368 Mutability; VAL", "managedBy is a domain-prefixed path of at most 63 bytes and never changes, not even from unset to a value.";
    MB02 = "MB-02" [Executor] Must, Judged::Audit, "KEP-4368 Implementation overview; JC", "The built-in controller reconciles a Job if and only if its managedBy is unset or kubernetes.io/job-controller when the sync reads the Job.";
    MB03 = "MB-03" [Executor] Must, Judged::Audit, "KEP-4368 Implementation overview; JC", "The built-in controller writes nothing for a Job of another manager: no status, event, pod or finalizer, whether the Job is suspended or not.";
    MB04 = "MB-04" [Executor] Must, Judged::Audit, "Kubernetes 1.36 managedBy (JC)", "The built-in controller leaves the tracking finalizer on the pods of an existing Job of another manager, whether the Job is finished or not.";
    MB05 = "MB-05" [Executor] Must, Judged::Pending, "KEP-2307 Deleted Jobs; JC", "Once a Job of another manager is gone, the built-in controller removes the tracking finalizer from its pods.";
    MB06 = "MB-06" [Internal] Should, Judged::Not("metrics are in no trace, and the specification has none"), "KEP-4368 Monitoring Requirements; JC", "Pod events enqueue Jobs of other managers too, and each add event of such a Job raises jobs_by_external_controller_total by 1.";
    MB07 = "MB-07" [Ttl] Must, Judged::Pending, "Kubernetes 1.36 TTL after finished (TTLC)", "A Job of another manager is deleted after its TTL like any other.";
    MB08 = "MB-08" [Manager] Must, Judged::Not("the CronJob controller is no subject of this specification"), "KEP-4368 Risks: CronJob; CronJob controller", "A CronJob judges its Jobs by Complete, Failed and completionTime alone, no matter which controller manages them.";
    MB09 = "MB-09" [Manager] Must, Judged::Audit, "KEP-4368 Use for MultiKueue", "An external manager acts on its own managedBy value only, distinguishes Jobs of one name by UID, and satisfies every status rule.";
    MB10 = "MB-10" [Manager] Must, Judged::Audit, "Kubernetes 1.36 RBAC bootstrap policy", "An external executor needs the permissions of the built-in controller: none of its requests for Jobs, their status, pods or events is forbidden.";
    MB11 = "MB-11" [Api] Must, Judged::Explored("a permission, which no stored object can break"), "KEP-4368 Debuggability", "The API server accepts any well-formed managedBy, whether such a controller exists or not.";
    MB12 = "MB-12" [Manager] Must, Judged::Audit, "Kubernetes 1.36 Job strategy (STR)", "A PUT or PATCH of the status subresource changes status and metadata, and never the spec.";
    MB13 = "MB-13" [Executor] Must, Judged::Not("logs are in no trace"), "KEP-4368 Debuggability", "Each skipped sync logs the name of the Job's manager.";
    MB14 = "MB-14" [Manager] Must, Judged::Audit, "KEP-4368 Proposal", "Over the life of a Job's UID all its status writes come from one manager.";
    MB15 = "MB-15" [Manager] Must, Judged::Audit, "KEP-4368 Proposal, Story 1", "managedBy decides for each Job by itself: Jobs with and without it are managed side by side.";
    MB16 = "MB-16" [Manager] Must, Judged::Not("it spans two clusters, and a trace is of one, where SU-14 and SS-09 judge the mirror"), "KEP-4368 Use for MultiKueue", "A dispatching mirror keeps its Job suspended until one remote copy without managedBy exists, resumes both, and mirrors the status until the finish.";
    MB17 = "MB-17" [Manager] Must, Judged::Not("the CronJob controller is no subject of this specification"), "KEP-4368 CronJob delaying start of a new Job in Forbid mode", "A CronJob with policy Forbid starts its next Job only after the last pod of the previous one has terminated.";
    MB18 = "MB-18" [Manager] Must, Judged::Not("it is about other resources than Jobs"), "KEP-4368 Ecosystem Assessment", "A managedBy field of another resource is at most 63 bytes long, has the same format, is immutable, and is checked inside the reconciliation.";
    MB19 = "MB-19" [Manager] Must, Judged::Explored("it is about the recordings of third parties; in a trace the status rule itself breaks"), "KEP-4368 Beta", "Statuses that known third parties write break no status rule.";
    SS01 = "SS-01" [Api] Must, Judged::Truth, "KEP-4368 Job status validation; VAL", "active, ready, terminating, succeeded and failed are not negative.";
    SS02 = "SS-02" [Api] Must, Judged::Truth, "KEP-2307 API changes; VAL", "Every UID in uncountedTerminatedPods is non-empty and occurs once across both lists.";
    SS03 = "SS-03" [Api] Must, Judged::Truth, "KEP-4368 Job status validation; VAL", "SuccessCriteriaMet True and Failed True exclude each other.";
    SS04 = "SS-04" [Api] Must, Judged::Truth, "KEP-4368 Job status validation; VAL", "SuccessCriteriaMet True and FailureTarget True exclude each other.";
    SS05 = "SS-05" [Api] Must, Judged::Truth, "Kubernetes 1.36 status validation (VAL)", "With a success policy, Complete True needs SuccessCriteriaMet True.";
    SS06 = "SS-06" [Api] Must, Judged::Truth, "KEP-4368 Job status validation; VAL", "SuccessCriteriaMet, once True, stays True.";
    SS07 = "SS-07" [Api] Must, Judged::Truth, "Kubernetes 1.36 status validation (VAL)", "SuccessCriteriaMet is not added to a Job that is already Complete without it.";
    SS08 = "SS-08" [Api] Must, Judged::Truth, "KEP-4368 Job status validation; VAL", "Failed, Complete and FailureTarget, once True, stay True.";
    SS09 = "SS-09" [Api] Must, Judged::Truth, "KEP-4368 Job status validation; VAL", "startTime, once set, changes only while spec.suspend is true or in the write that turns Suspended from True to False.";
    SS10 = "SS-10" [Api] Must, Judged::Truth, "KEP-4368 Job status validation; VAL", "A finished Job has a startTime, unless it is suspended with completions 0.";
    SS11 = "SS-11" [Api] Must, Judged::Truth, "KEP-4368 Job status validation; VAL", "completionTime is not before startTime.";
    SS12 = "SS-12" [Api] Must, Judged::Truth, "KEP-4368 Job status validation; VAL", "A finished Job has active 0.";
    SS13 = "SS-13" [Api] Must, Judged::Truth, "KEP-4368 Job status validation; VAL", "A finished Job has no uncounted UIDs.";
    SS14 = "SS-14" [Api] Must, Judged::Truth, "KEP-4368 Job status validation; VAL", "completedIndexes lists, strictly increasing, indexes below completions and ranges x-y with x below y.";
    SS15 = "SS-15" [Api] Must, Judged::Truth, "KEP-4368 Job status validation; VAL", "failedIndexes lists, strictly increasing, indexes below completions and ranges x-y with x below y.";
    SS16 = "SS-16" [Api] Must, Judged::Truth, "KEP-4368 Job status validation; VAL", "completedIndexes is empty unless the Job is Indexed, and failedIndexes is nil unless backoffLimitPerIndex is set.";
    SS17 = "SS-17" [Api] Must, Judged::Truth, "KEP-3850 The Job object too big; VAL", "failedIndexes and completedIndexes share no index.";
    SS18 = "SS-18" [Api] Must, Judged::Truth, "KEP-4368 Job status validation; VAL", "A finished Job has no terminating above 0.";
    SS19 = "SS-19" [Api] Must, Judged::Truth, "KEP-4368 Job status validation; VAL", "ready does not exceed active.";
    SS20 = "SS-20" [Api] Must, Judged::Truth, "KEP-4368 Job status validation; VAL", "Failed True needs FailureTarget True.";
    SS21 = "SS-21" [Api] Must, Judged::Truth, "KEP-4368 Job status validation; VAL", "Complete True needs SuccessCriteriaMet True.";
    SS22 = "SS-22" [Api] Must, Judged::Truth, "KEP-4368 Job status validation; VAL", "Complete True and Failed True exclude each other.";
    SS23 = "SS-23" [Api] Must, Judged::Truth, "KEP-4368 Job status validation; VAL", "Complete True and FailureTarget True exclude each other.";
    SS24 = "SS-24" [Api] Must, Judged::Truth, "KEP-4368 Job status validation; VAL", "completionTime is set only with Complete True.";
    SS25 = "SS-25" [Api] Must, Judged::Truth, "KEP-4368 Job status validation; VAL", "Complete True needs a completionTime.";
    SS26 = "SS-26" [Api] Must, Judged::Truth, "KEP-4368 Job status validation; VAL", "completionTime, once set, does not change to another time.";
    SS27 = "SS-27" [Api] Must, Judged::Truth, "KEP-4368 Job status validation; VAL", "failed never decreases.";
    SS28 = "SS-28" [Api] Must, Judged::Truth, "KEP-4368 Job status validation; VAL", "succeeded never decreases, unless the Job is Indexed with completions equal to parallelism.";
    SS30 = "SS-30" [Api] Must, Judged::Explored("it says what the API server lets through, which nothing can break; where the times of conditions depart from the API conventions, which no KEP repeats, there is a warning"), "Kubernetes 1.36 status validation (VAL)", "The API server does not validate, among others, duplicate conditions, Complete with too few successes, shrinking index lists and writes after the finish.";
    SS31 = "SS-31" [Api] Must, Judged::Explored("it says what the API server lets through, which nothing can break"), "Kubernetes 1.36 status validation (VAL)", "Index texts may hold ranges of two and uncompressed runs.";
    SS32 = "SS-32" [Api] Must, Judged::Audit, "Kubernetes 1.36 Job strategy (STR)", "A status request leaves the spec alone and fails with 409 if its resourceVersion is not the stored one; create and main updates leave the status alone.";
    SS33 = "SS-33" [Manager] Must, Judged::Truth, "KEP-4368 Job status validation", "Terminal conditions are final, active, ready and terminating are 0 at the finish, and completionTime is set exactly with Complete.";
    SS34 = "SS-34" [Manager] Must, Judged::Truth, "KEP-4368 Job status validation; JC", "The interim condition is stored before the terminal one, nothing is written after that, succeeded stays within completions, and index texts are canonical.";
    SS35 = "SS-35" [Api] Must, Judged::Explored("a permission; only a comparison with the real validation shows a refusal that should not be"), "KEP-4368 Job status validation", "A status rule is checked only for what a write changes, so old bad values never block an unrelated write.";
    SS36 = "SS-36" [Api] Must, Judged::Truth, "KEP-4368 Job status validation", "A finished Job has terminating 0 and ready 0, the latter by SS-12 and SS-19 unless older values were bad.";
    SS37 = "SS-37" [Executor] Must, Judged::Audit, "KEP-4368 Job status validation", "No status write of an executor is refused by validation in a run without faults.";
    SP01 = "SP-01" [Api] Must, Judged::Truth, "Kubernetes 1.36 defaults (DEF)", "Unset fields get defaults: parallelism 1, completions 1 if both are unset, NonIndexed, not suspended, no manualSelector, and those of BO-14 and RP-01.";
    SP02 = "SP-02" [Api] Must, Judged::Truth, "Kubernetes 1.36 spec validation (VAL)", "parallelism, completions, activeDeadlineSeconds, ttlSecondsAfterFinished and all limits are at least 0.";
    SP03 = "SP-03" [Api] Must, Judged::Truth, "Kubernetes 1.36 spec validation (VAL)", "completionMode is NonIndexed or Indexed; Indexed needs completions, a parallelism up to 100000, and hostnames that are DNS labels.";
    SP04 = "SP-04" [Api] Must, Judged::Truth, "Kubernetes 1.36 spec validation (VAL)", "restartPolicy is OnFailure or Never, and it is Never with podFailurePolicy.";
    SP05 = "SP-05" [Api] Must, Judged::Truth, "Kubernetes 1.36 spec validation (VAL; STR)", "A Job's name is a DNS subdomain, and has at most 63 characters if its selector is generated.";
    SP06 = "SP-06" [Api] Must, Judged::Truth, "KEP-3850 FailIndex action; VAL", "podFailurePolicy has at most 20 rules, each with a known action and either exit codes or at most 20 conditions; FailIndex needs backoffLimitPerIndex.";
    SP07 = "SP-07" [Api] Must, Judged::Truth, "Kubernetes 1.36 spec validation (VAL)", "successPolicy needs an Indexed Job and 1 to 20 rules, each with indexes below completions, a count within those, or both.";
    SP08 = "SP-08" [Api] Must, Judged::Truth, "KEP-3850 Job API; KEP-4368 Mutability; VAL", "selector, completionMode, podFailurePolicy, successPolicy, backoffLimitPerIndex and managedBy never change, and completions and template only as PC-22 and SU-12 allow.";
    SP09 = "SP-09" [Api] Must, Judged::Explored("a permission, which no stored object can break"), "KEP-592 Goals; KEP-3939 Upgrade / Downgrade Strategy; VAL", "parallelism, suspend, activeDeadlineSeconds, ttlSecondsAfterFinished, backoffLimit, maxFailedIndexes, podReplacementPolicy and manualSelector may change at any time.";
    SP10 = "SP-10" [Api] Must, Judged::Truth, "Kubernetes 1.36 spec validation (VAL)", "An update satisfies the spec rules anew: completions, for example, cannot fall to or below an index that the success policy names.";
    SP11 = "SP-11" [Api] Must, Judged::Truth, "Kubernetes 1.36 Job strategy (STR)", "generation starts at 1 and rises by 1 with each change of the spec and with the deletionTimestamp, never with the status.";
    SP12 = "SP-12" [Api] Must, Judged::Not("selectors of list requests are reads, which are not judged"), "Kubernetes 1.36 Job strategy (STR)", "Jobs can be selected by the field status.successful, which equals succeeded.";
    SP13 = "SP-13" [Api] Must, Judged::Not("warnings are in no trace"), "KEP-3850 The Job object too big; pkg/api/job", "An Indexed Job with completions above 100000 and parallelism above 10000 causes a warning and no refusal.";
    SP14 = "SP-14" [Api] Must, Judged::Not("the CronJob controller is no subject of this specification"), "Kubernetes 1.36 spec validation (VAL)", "The Job template of a CronJob obeys the spec rules and sets neither selector nor manualSelector true.";
    SP15 = "SP-15" [Api] Must, Judged::Truth, "KEP-3939 Defaulting and validation", "podReplacementPolicy is TerminatingOrFailed or Failed, and it is Failed with podFailurePolicy.";
    SP16 = "SP-16" [Api] Must, Judged::Truth, "KEP-592 Validation", "A pod template has no ttlSecondsAfterFinished: such a field is not stored.";
    TT01 = "TT-01" [Ttl] Must, Judged::Audit, "KEP-592 TTL Controller, steps 1 and 2; TTLC needsCleanup", "Only a Job with a TTL, with Complete or Failed True and without deletionTimestamp is deleted; interim conditions do not count.";
    TT02 = "TT-02" [Ttl] Must, Judged::Audit, "KEP-592 Finished Jobs; TTLC jobFinishTime", "The TTL runs from lastTransitionTime of the first true Complete or Failed condition, not from completionTime; if that time is zero, it never expires.";
    TT03 = "TT-03" [Ttl] Must, Judged::Audit, "KEP-592 TTL Controller, step 3; TTLC", "A Job is not deleted before its finish time plus its TTL; a TTL of 0 expires at once.";
    TT04 = "TT-04" [Ttl] Must, Judged::Explored("internal: when a wake-up is set; a Job left over is TT-14"), "KEP-592 TTL Controller, step 4; TTLC", "A finished Job that is not yet expired is synced again exactly when it expires.";
    TT05 = "TT-05" [Ttl] Must, Judged::Explored("a trace holds no reads; what it is for is TT-13"), "KEP-592 TTL Controller, steps 5 and 6; TTLC", "A Job that is expired by the cache is read live, and deleted only if that object is finished, expired and not being deleted.";
    TT06 = "TT-06" [Ttl] Must, Judged::Audit, "KEP-592 TTL Controller, step 7; TTLC", "The DELETE has propagation policy Foreground, the UID just read as its precondition, and no resourceVersion.";
    TT07 = "TT-07" [Ttl] Must, Judged::Pending, "KEP-592 TTL Controller, step 7; TTLC", "A failed DELETE is retried until it succeeds or the Job is gone.";
    TT08 = "TT-08" [Ttl] Must, Judged::Audit, "KEP-592 Goals; TTLC", "A TTL that is added, raised, lowered or removed after the finish governs the deletion from then on.";
    TT09 = "TT-09" [Ttl] Must, Judged::Audit, "KEP-592 Owner References; TTLC", "Owners, CronJob history, suspension, managedBy and finalizers do not prevent the deletion; a Job being deleted is not deleted again.";
    TT10 = "TT-10" [Ttl] Must, Judged::Audit, "KEP-592 Risks and Mitigations; TTLC", "A finish time in the future only delays the deletion.";
    TT11 = "TT-11" [Ttl] Must, Judged::Audit, "KEP-592 TTL Controller; TTLC", "The TTL controller writes no Job and no event: it only gets, lists, watches and deletes Jobs.";
    TT12 = "TT-12" [Ttl] Must, Judged::Not("metrics are in no trace, and the specification has none"), "KEP-592 Monitoring Requirements; TTLC", "Metric ttl_after_finished_controller_job_deletion_duration_seconds observes the time between the expiry of a Job and its deletion.";
    TT13 = "TT-13" [Ttl] Must, Judged::Truth, "KEP-592 API Object; TTLC", "No Job is deleted that is unfinished, has no TTL, or has another UID than the Job that was just checked.";
    TT14 = "TT-14" [Ttl] Must, Judged::Pending, "KEP-592 Summary; TTLC", "A finished Job with a TTL is deleted eventually while it stays a candidate, across restarts of the controller too.";
    TT15 = "TT-15" [Executor] Must, Judged::Pending, "Kubernetes 1.36 finalizer tracking (JC)", "The pods of a finished Job hold no tracking finalizer, so that the foreground deletion of the Job ends.";
    TT16 = "TT-16" [Ttl] Must, Judged::Explored("garbage collection is a step of the environment, which a TTL does not guard"), "KEP-592 Owner References", "A Job whose owner is gone is garbage collected whatever its TTL, unfinished or not.";
    MX01 = "MX-01" [Internal] Should, Judged::Not("metrics are in no trace, and the specification has none"), "KEP-2307 Monitoring Requirements; MET", "job_sync_duration_seconds observes the duration of every sync that is not skipped, by completion mode, result and action.";
    MX02 = "MX-02" [Internal] Should, Judged::Not("metrics are in no trace, and the specification has none"), "KEP-2307 Monitoring Requirements; MET", "job_syncs_total counts the syncs that MX-01 observes, by the same labels.";
    MX03 = "MX-03" [Internal] Should, Judged::Not("metrics are in no trace, and the specification has none"), "KEP-2307 Monitoring Requirements; MET", "jobs_finished_total counts the terminal writes that succeeded, by completion mode, result and reason.";
    MX04 = "MX-04" [Internal] Should, Judged::Not("metrics are in no trace, and the specification has none"), "KEP-2307 Monitoring Requirements; MET", "job_pods_finished_total counts what each status write adds to succeeded and failed.";
    MX05 = "MX-05" [Internal] Should, Judged::Not("metrics are in no trace, and the specification has none"), "KEP-3850 Beta; MET", "job_finished_indexes_total counts what each status write adds to the index texts, by status and by kind of limit.";
    MX06 = "MX-06" [Internal] Should, Judged::Not("metrics are in no trace, and the specification has none"), "KEP-3939 Beta; MET", "job_pods_creation_total counts pod creations by reason and status.";
    MX07 = "MX-07" [Internal] Should, Judged::Not("metrics are in no trace, and the specification has none"), "Kubernetes 1.36 pod failure policy (MET)", "pod_failures_handled_by_failure_policy_total counts failed pods by the action of the rule that matched.";
    MX08 = "MX-08" [Internal] Should, Judged::Not("metrics are in no trace, and the specification has none"), "KEP-2307 Monitoring Pods with finalizers; MET", "terminated_pods_tracking_finalizer_total counts terminated pods that are seen with the finalizer, and their loss of it, no matter which object owns them.";
    MX09 = "MX-09" [Internal] Should, Judged::Not("metrics are in no trace, and the specification has none"), "KEP-4368 Monitoring Requirements; MET", "jobs_by_external_controller_total counts Jobs of other managers by the name of the manager.";
    MX10 = "MX-10" [Internal] Should, Judged::Not("metrics are in no trace, and the specification has none"), "Kubernetes 1.36 consistency gate (MET)", "stale_sync_skips_total counts the syncs that were refused because a cache was behind.";
    MX11 = "MX-11" [Internal] Should, Judged::Not("metrics are in no trace, and the specification has none"), "Kubernetes 1.36 metrics (JC)", "Label action is reconciling for finishing syncs and unmet expectations, and pods_created for syncs that wait for a backoff delay.";
    MX12 = "MX-12" [Internal] Should, Judged::Not("metrics are in no trace, and the specification has none"), "KEP-3939 Beta; JC", "Label reason is recreate_failed or recreate_terminating_or_failed, by policy, once pods failed or terminate, and new before.";
    MX13 = "MX-13" [Internal] Should, Judged::Not("metrics are in no trace, and the specification has none"), "KEP-2307 Monitoring Pods with finalizers", "The additions minus the deletions of MX-08 since the start of the process are the terminated pods that hold the finalizer now.";
    MX14 = "MX-14" [Internal] Should, Judged::Not("metrics are in no trace, and the specification has none"), "KEP-4368 Monitoring Requirements", "MX-09 rises by 1 with each add event of a Job with another manager's value, and never with updates or for unset and reserved values.";
    EV01 = "EV-01" [Executor] Should, Judged::Not("events are in no trace, and the specification has none"), "Kubernetes 1.36 events (CU)", "Creating a pod emits the event SuccessfulCreate with the name of the pod.";
    EV02 = "EV-02" [Executor] Should, Judged::Not("events are in no trace, and the specification has none"), "Kubernetes 1.36 events (CU)", "A failed creation emits the warning FailedCreate, unless the namespace is terminating.";
    EV03 = "EV-03" [Executor] Should, Judged::Not("events are in no trace, and the specification has none"), "Kubernetes 1.36 events (CU)", "Deleting a pod emits the event SuccessfulDelete with the name of the pod.";
    EV04 = "EV-04" [Executor] Should, Judged::Not("events are in no trace, and the specification has none"), "Kubernetes 1.36 events (CU)", "A failed deletion emits the warning FailedDelete, unless the pod was already gone.";
    EV05 = "EV-05" [Executor] Should, Judged::Not("events are in no trace, and the specification has none"), "Kubernetes 1.36 events (JC)", "Suspending a Job emits the event Suspended.";
    EV06 = "EV-06" [Executor] Should, Judged::Not("events are in no trace, and the specification has none"), "Kubernetes 1.36 events (JC)", "Resuming a Job emits the event Resumed.";
    EV07 = "EV-07" [Executor] Should, Judged::Not("events are in no trace, and the specification has none"), "Kubernetes 1.36 events (JC)", "Completing a Job emits the event Completed.";
    EV08 = "EV-08" [Executor] Should, Judged::Not("events are in no trace, and the specification has none"), "Kubernetes 1.36 events (JC)", "Completing a Job with more successes than completions emits the warning TooManySucceededPods.";
    EV09 = "EV-09" [Executor] Should, Judged::Not("events are in no trace, and the specification has none"), "Kubernetes 1.36 events (JC)", "Failing a Job emits a warning whose reason is the reason of the failure, after the write.";
    EV10 = "EV-10" [Executor] Should, Judged::Not("events are in no trace, and the specification has none"), "Kubernetes 1.36 events (JC)", "An unknown completion mode emits the warning UnknownCompletionMode.";
    EV11 = "EV-11" [Executor] Should, Judged::Not("events are in no trace, and the specification has none"), "Kubernetes 1.36 events (JC)", "With gate WorkloadWithJob, creating a Workload emits the event WorkloadCreated.";
    SY01 = "SY-01" [Internal] Should, Judged::Explored("internal to a process: queues, caches and memory"), "KEP-3850 Too fast Job status updates; workqueue", "One Job is never synced by two workers at once, and of several delayed wake-ups of a Job the earliest counts.";
    SY02 = "SY-02" [Internal] Should, Judged::Explored("internal to a process: queues, caches and memory"), "KEP-3850 Too fast Job status updates; JC", "Adds, deletions and spec changes wake a Job at once, other events after 1 s, errors after 1 s, doubling up to 60 s.";
    SY03 = "SY-03" [Internal] Should, Judged::Explored("internal to a process: queues, caches and memory"), "Kubernetes 1.36 consistency gate (CS; JC)", "No sync starts before the caches have reached the newest version that this process wrote for the Job; pod deletions do not count.";
    SY04 = "SY-04" [Internal] Should, Judged::Explored("internal: which version a status was computed from; what a blind overwrite destroys breaks FT-02, FT-13 or SS-27"), "Kubernetes 1.36 sync (JC)", "A status is written on the resourceVersion that it was computed from or not at all; a conflict fails the sync and undoes nothing.";
    SY05 = "SY-05" [Internal] Should, Judged::Explored("internal: when a sync finds something to write"), "Kubernetes 1.36 sync (JC)", "A status is written only if a count, list, index text or condition changed; a new startTime alone is no reason.";
    SY06 = "SY-06" [Internal] Should, Judged::Explored("internal to a process: queues, caches and memory"), "Kubernetes 1.36 sync (JC)", "A pod resync is ignored; a Job resync syncs the Job, or cleans up after a finished one.";
    SY07 = "SY-07" [Internal] Should, Judged::Explored("internal to a process: queues, caches and memory"), "Kubernetes 1.36 sync (JC addPod)", "A pod first seen while terminating counts as an observed deletion, not as an observed creation.";
    SY08 = "SY-08" [Internal] Should, Judged::Explored("internal to a process: queues, caches and memory"), "Kubernetes 1.36 sync (JC updatePod)", "A change of a pod's controller wakes both the old and the new owner.";
    SY09 = "SY-09" [Internal] Should, Judged::Explored("internal to a process: queues, caches and memory"), "Kubernetes 1.36 sync (JC)", "The deletion of a Job clears its records in memory, and wakes its key and the clean-up of its pods.";
    SY10 = "SY-10" [Internal] Should, Judged::Explored("internal to a process: queues, caches and memory"), "KEP-2307 Algorithm; JC", "A restart loses all memory, and the caches start from a fresh list.";
    SY11 = "SY-11" [Internal] Should, Judged::Explored("internal to the built-in: other managers may write a spec"), "Kubernetes 1.36 sync (JC)", "The built-in controller writes no Job's spec or metadata, and reads a Job live only to adopt a pod.";
    SY12 = "SY-12" [Api] Must, Judged::Truth, "Kubernetes 1.36 pod strategy (pkg/registry/core/pod)", "A pod stays while it has a finalizer; its DELETE has grace period 0 if the pod is unscheduled or terminated.";
    UG01 = "UG-01" [Executor] Must, Judged::Not("a gate off and a change of versions belong to the gate model; these rules are those of 1.36"), "KEP-2307 Jobs with legacy tracking", "The legacy tracking annotation has no effect; every unfinished Job is tracked, and its old terminated pods without finalizer run again.";
    UG02 = "UG-02" [Executor] Must, Judged::Not("a gate and an annotation that ended with 1.26"), "KEP-2307 Upgrade / Downgrade Strategy", "Until Kubernetes 1.26 tracking was chosen at creation, and without the gate the controller removed finalizers, annotation and lists.";
    UG03 = "UG-03" [Executor] Must, Judged::Explored("traces are judged by the rules of 1.36, whose gates are on"), "KEP-2307 Rollout, Upgrade and Rollback Planning", "Two versions that take turns on one Job continue from each other's intermediate states, and lose or double nothing.";
    UG04 = "UG-04" [Api] Must, Judged::Explored("traces are judged by the rules of 1.36, whose gates are on"), "KEP-3939 Feature Enablement and Rollback", "With JobPodReplacementPolicy off, the API server drops the field from new objects, does not default it, and keeps it where it is set.";
    UG05 = "UG-05" [Executor] Must, Judged::Explored("recordings have all gates on; it is judged where a native trace assumes others"), "KEP-3939 Feature Enablement and Rollback", "With JobPodReplacementPolicy off, the controller handles every Job as TerminatingOrFailed, and terminating becomes nil.";
    UG06 = "UG-06" [Executor] Must, Judged::Explored("traces are judged by the rules of 1.36, whose gates are on"), "KEP-3939 Feature Enablement and Rollback", "With JobPodReplacementPolicy on again, the policy holds for new events, and pods that were counted as failed stay so.";
    UG07 = "UG-07" [Executor] Must, Judged::Explored("recordings have all gates on; it is judged where a native trace assumes others"), "KEP-4368 Terminating pods and terminal Job conditions", "Interim conditions and the delayed terminal condition exist if JobManagedBy or JobPodReplacementPolicy is on.";
    UG08 = "UG-08" [Api] Must, Judged::Explored("traces are judged by the rules of 1.36, whose gates are on"), "KEP-3850 Feature Enablement and Rollback", "With JobBackoffLimitPerIndex off, the API server drops its fields and FailIndex rules from new objects and keeps them where they are set.";
    UG09 = "UG-09" [Executor] Must, Judged::Explored("recordings have all gates on; it is judged where a native trace assumes others"), "KEP-3850 Downgrade", "With JobBackoffLimitPerIndex off, only backoffLimit counts, failedIndexes is dropped from the status, and failed indexes run again.";
    UG10 = "UG-10" [Executor] Must, Judged::Explored("traces are judged by the rules of 1.36, whose gates are on"), "KEP-3850 Feature Enablement and Rollback", "With JobBackoffLimitPerIndex on again, limits count from the pods that hold the finalizer; earlier failed indexes stay lost.";
    UG11 = "UG-11" [Executor] Must, Judged::Explored("traces are judged by the rules of 1.36, whose gates are on"), "KEP-3939 Rollout, Upgrade and Rollback Planning", "A Job that does not set a feature's field behaves the same with the gate of the feature on or off.";
    UG12 = "UG-12" [Manager] Must, Judged::Not("a gate off and a change of versions belong to the gate model; these rules are those of 1.36"), "KEP-3850 Downgrade", "A Job with limits per index that has to survive a downgrade sets backoffLimit itself.";
    UG13 = "UG-13" [Api] Must, Judged::Explored("traces are judged by the rules of 1.36, whose gates are on"), "KEP-4368 Feature Enablement and Rollback", "With JobManagedBy off, the API server drops the field from new objects, keeps it immutable where it is set, and omits its status rules.";
    UG14 = "UG-14" [Executor] Must, Judged::Explored("traces are judged by the rules of 1.36, whose gates are on"), "KEP-4368 Feature Enablement and Rollback", "With JobManagedBy off, the built-in controller takes every Job over and resets its status.";
    UG15 = "UG-15" [Executor] Must, Judged::Explored("traces are judged by the rules of 1.36, whose gates are on"), "KEP-4368 Feature Enablement and Rollback", "With JobManagedBy on again, the built-in controller leaves external Jobs alone at once.";
    UG16 = "UG-16" [Executor] Must, Judged::Not("a gate off and a change of versions belong to the gate model; these rules are those of 1.36"), "KEP-3939 Version Skew Strategy", "A controller works with objects of an API server that is one minor version ahead.";
    UG17 = "UG-17" [Api] Must, Judged::Not("a gate off and a change of versions belong to the gate model; these rules are those of 1.36"), "KEP-4368 Version Skew Strategy", "With an API server too old for managedBy in the same cluster, the field may be dropped or changed.";
    UG18 = "UG-18" [Manager] Must, Judged::Not("advice to operators, not behaviour"), "KEP-4368 Risks and Mitigations", "Before JobManagedBy is turned off, operators remove the Jobs with the field or stop the external controllers.";
    UG19 = "UG-19" [Api] Must, Judged::Not("a gate off and a change of versions belong to the gate model; these rules are those of 1.36"), "KEP-592 Feature Enablement and Rollback", "With TTLAfterFinished off, the API server dropped the field from new objects and kept it where it was set, without effect.";
    UG20 = "UG-20" [Ttl] Must, Judged::Not("a gate off and a change of versions belong to the gate model; these rules are those of 1.36"), "KEP-592 Feature Enablement and Rollback", "With TTLAfterFinished on again, Jobs that expired meanwhile are deleted at once.";
    SC01 = "SC-01" [Internal] Should, Judged::Not("a cost, which benchmarks measure"), "KEP-2307 Risks: New API calls", "About 2500 pods a minute are handled at 50 queries a second and 5000 at 100, creations and countings mixed.";
    SC02 = "SC-02" [Internal] Should, Judged::Not("a cost, which benchmarks measure"), "KEP-2307 Risks: New API calls", "A small Job beside a huge one finishes in bounded time.";
    SC03 = "SC-03" [Internal] Should, Judged::Not("a cost, which benchmarks measure"), "KEP-2307 Graduation Criteria", "A Job of 100000 completions takes a time of the order of minutes.";
    SC04 = "SC-04" [Internal] Should, Judged::Not("a cost, which benchmarks measure"), "KEP-2307 Scalability", "Tracking costs one PATCH for each pod and one more status write for each sync, and nothing on creation.";
    SC05 = "SC-05" [Manager] Must, Judged::Truth, "KEP-2307 Risks: Bigger Job status", "The two uncounted lists hold at most 500 UIDs together, and so stay under 20 kB.";
    SC06 = "SC-06" [Internal] Should, Judged::Not("a cost, which benchmarks measure"), "KEP-2307 Monitoring Requirements", "99 % of the syncs of a day take at most 15 s at 50 queries a second.";
    SC07 = "SC-07" [Internal] Should, Judged::Not("a cost, which benchmarks measure"), "KEP-3850 Performance benchmark", "Limits per index cost about 1 % of the time of a plain Indexed Job, from 10 to 10000 pods.";
    SC08 = "SC-08" [Api] Must, Judged::Explored("arithmetic over SP-03, BI-12 and the canonical text"), "KEP-3850 The Job object too big", "Both index texts together take at most 600000 bytes, and at most 550000 above 100000 completions.";
    SC09 = "SC-09" [Internal] Should, Judged::Not("a cost, which benchmarks measure"), "KEP-3850 Too fast Job status updates", "Limits per index add no status writes and no API calls.";
    SC10 = "SC-10" [Internal] Should, Judged::Not("a cost, which benchmarks measure"), "KEP-3939 Scalability", "terminating is written with the other counters, and alone only if nothing else changed.";
    SC11 = "SC-11" [Ttl] Must, Judged::Not("a cost, which benchmarks measure"), "KEP-592 Scalability", "TTLs add at most one DELETE for each Job created.";
    SC12 = "SC-12" [Ttl] Must, Judged::Not("a cost, which benchmarks measure"), "KEP-592 Monitoring Requirements", "99 % of expired Jobs are deleted within a stated time.";
    SC13 = "SC-13" [Internal] Should, Judged::Not("a cost, which benchmarks measure"), "KEP-2307 Scalability; KEP-4368 Scalability", "An object grows by a finalizer of 33 bytes, an annotation of about 50, a managedBy of at most 72, and integers.";
    SC14 = "SC-14" [Ttl] Must, Judged::Not("a cost, which benchmarks measure"), "KEP-592 User Stories", "The number of finished Jobs stays within their creation rate times the TTL.";
    EN01 = "EN-01" [Internal] Should, Judged::Not("an assumption about the environment, made or broken by its steps in the model"), "KEP-3939 Risks and Mitigations", "The kubelet gives every terminating pod phase Succeeded or Failed before the object is removed.";
    EN02 = "EN-02" [Internal] Should, Judged::Not("an assumption about the environment, made or broken by its steps in the model"), "KEP-2307 Deleted Pods", "Pod GC marks the pods of a lost node Failed and then removes them; they count as failed.";
    EN03 = "EN-03" [Internal] Should, Judged::Not("an assumption about the environment, made or broken by its steps in the model"), "KEP-3939 Risks and Mitigations", "A pod that never gets a final phase makes policy Failed wait for ever.";
    EN04 = "EN-04" [Internal] Should, Judged::Not("an assumption about the environment, made or broken by its steps in the model"), "KEP-2307 Motivation", "A terminated pod may be removed at any time, by a user or by pod GC.";
    EN05 = "EN-05" [Manager] Must, Judged::Not("a status written by somebody else is a step of the environment, and what depends on it is inconclusive"), "KEP-2307 Risks: Unprotected Job status endpoint", "No client but its manager edits a Job's status.";
    EN06 = "EN-06" [Executor] Must, Judged::Pending, "KEP-2307 Troubleshooting", "While finalizer removals are refused, only those pods and the end of their Job wait; once the refusals stop, the pods are counted.";
    EN07 = "EN-07" [Executor] Must, Judged::Pending, "KEP-2307 Troubleshooting; KEP-592 Troubleshooting", "While the API server is down nothing is lost, and afterwards the work continues unaided.";
    EN08 = "EN-08" [Ttl] Must, Judged::Explored("two clocks: a trace holds the times of one"), "KEP-592 Risks and Mitigations", "With two clocks, a Job is deleted no earlier than its expiry less their skew.";
    OP01 = "OP-01" [Internal] Should, Judged::Not("advice to operators, not behaviour"), "KEP-2307 Rollout, Upgrade and Rollback Planning", "Longer syncs, stale counters, and rising numbers of syncs or of terminated pods with finalizers are signs of trouble.";
    OP02 = "OP-02" [Manager] Should, Judged::Not("advice to operators, not behaviour"), "KEP-4368 Rollout, Upgrade and Rollback Planning", "More conflicts on Jobs and alternating field managers are a sign of two controllers on one Job.";
    OP03 = "OP-03" [Internal] Should, Judged::Not("advice to operators, not behaviour"), "KEP-4368 Rollout, Upgrade and Rollback Planning", "A flat MX-09 while external Jobs are created is a sign that the feature is off.";
    OP04 = "OP-04" [Manager] Should, Judged::Not("advice to operators, not behaviour"), "KEP-4368 Rollout, Upgrade and Rollback Planning", "Active Jobs that accumulate in CronJobs, with MX-09 above 0, are a sign of an external controller that does not work.";
    OP05 = "OP-05" [Internal] Should, Judged::Not("advice to operators, not behaviour"), "KEP-4368 Rollout, Upgrade and Rollback Planning", "Shorter syncs while there are few external Jobs are a sign of Jobs that are wrongly skipped.";
    OP06 = "OP-06" [Ttl] Should, Judged::Not("advice to operators, not behaviour"), "KEP-592 Rollout, Upgrade and Rollback Planning", "Restarts of the controller manager and refused requests for Jobs are signs to roll back the TTL feature.";
    OP07 = "OP-07" [Internal] Should, Judged::Not("advice to operators, not behaviour"), "KEP-2307 Monitoring Requirements", "Each feature shows its use by a field, an annotation, a status field or a metric.";
    OP08 = "OP-08" [Ttl] Should, Judged::Not("advice to operators, not behaviour"), "KEP-592 Monitoring Requirements", "The metrics of the queue ttl_jobs_to_delete, and the number of Jobs with a TTL, show the load of the TTL controller.";
    OP09 = "OP-09" [Internal] Should, Judged::Not("advice to operators, not behaviour"), "KEP-2307 Troubleshooting", "If goals are missed, operators check reachability, request counts and priority, and suspend the Jobs concerned.";
    OP10 = "OP-10" [Internal] Should, Judged::Not("advice to operators, not behaviour"), "KEP-4368 Debuggability", "kubectl shows managedBy in YAML only.";
    US01 = "US-01" [Executor] Must, Judged::Explored("an acceptance scenario; in a trace it is BI-01 and BI-07 that break"), "KEP-3850 Proposal, Story 1", "Ten test suites run as indexes with one retry each, and a failing suite stops no other.";
    US02 = "US-02" [Executor] Must, Judged::Explored("an acceptance scenario; in a trace it is PF-06 and BI-01 that break"), "KEP-3850 Proposal, Story 2", "A test suite that exits with code 42 fails its index without a retry.";
    US03 = "US-03" [Executor] Must, Judged::Explored("an acceptance scenario; in a trace it is BI-06 that breaks"), "KEP-3850 Proposal, Story 3", "A Job of ten test suites stops when more than five have failed.";
    US04 = "US-04" [Executor] Must, Judged::Explored("an acceptance scenario; in a trace it is RP-12 that breaks"), "KEP-3939 Motivation, Story 1", "A machine learning framework never meets two running pods of one index.";
    US05 = "US-05" [Executor] Must, Judged::Explored("an acceptance scenario; in a trace it is RP-11 that breaks"), "KEP-3939 Motivation, Story 2", "A Job never holds more pods than it asked for, so that a cluster does not scale up needlessly.";
    US06 = "US-06" [Manager] Must, Judged::Explored("an acceptance scenario; in a trace it is PC-01, PC-02 and TC-04 that break"), "KEP-3939 Motivation, Story 3", "A quota controller reads active plus terminating as the number of pods that hold resources, until the last has terminated.";
    US07 = "US-07" [Manager] Must, Judged::Explored("an acceptance scenario; in a trace it is MB-02 and MB-15 that break"), "KEP-4368 Proposal, Story 1", "A cluster is manager and worker at once, with external Jobs beside its own.";
    US08 = "US-08" [Ttl] Must, Judged::Explored("an acceptance scenario; in a trace it is TT-03 and TT-14 that break"), "KEP-592 User Stories", "With a TTL of 3600 s a Job's result can be read for an hour, and then the Job is deleted without further action.";
    S01 = "S-01" [Executor] Must, Judged::Truth, "Ideal of FT-02 and TC-01, where 1.36 departs from it (JC)", "A Job without a success policy is Complete only if its counted successes reach completions.";
    S02 = "S-02" [Executor] Must, Judged::Truth, "Ideal of FT-02 and BI-14, where 1.36 departs from it (IX)", "A UID recorded as failed completes no index, a completed index outranks an unstored failure, and no write puts an index into both texts.";
    S03 = "S-03" [Executor] Must, Judged::Truth, "Ideal of PF-09 over TC-08, where 1.36 departs from it (JC)", "A FailJob match is stored as FailureTarget before the finalizer of the matching pod is removed, even if deletions fail or expectations are unmet.";
    S04 = "S-04" [Executor] Must, Judged::Truth, "Ideal of SU-06 and SS-10 over SU-02, where 1.36 departs from it (JC)", "A suspended Job that meets its success or failure rule finishes: its interim write sets startTime to the lastTransitionTime of that condition.";
    S05 = "S-05" [Executor] Must, Judged::Truth, "Ideal of FT-02 over FT-25, where 1.36 departs from it (JC)", "No UID is counted twice, not even after re-adoption: a terminated ownerless pod is not adopted.";
    S07 = "S-07" [Executor] Must, Judged::Truth, "Ideal of FT-13 and SS-02, where 1.36 departs from it (JC)", "The first record of a UID decides how its pod is counted, and no UID is in both uncounted lists.";
    S08 = "S-08" [Executor] Must, Judged::Truth, "Ideal of TC-04 over PC-24, where 1.36 departs from it (JC)", "Complete is written only after every created pod has been seen, or a pod seen later eventually loses its finalizer and is deleted.";
    S09 = "S-09" [Executor] Must, Judged::Truth, "Ideal of PC-03 and SS-19, where 1.36 departs from it (JC)", "ready does not exceed active in any attempted status write.";
    S12 = "S-12" [Executor] Must, Judged::Truth, "Ideal of TC-06 and TC-10, where 1.36 departs from it (JC)", "A Job has one condition of each type, and an interim condition that is set to False gets no second entry.";
    S25 = "S-25" [Executor] Must, Judged::Truth, "Ideal of FT-21, where 1.36 departs from it (JC handleSingleOrphanPod, removeTrackingFinalizerPatch)", "The orphan path does not remove the finalizer from a pod that has been adopted in the meantime.";
    H1 = "H1" [Executor] Must, Judged::View, "Ideal of FT-14, PC-04 and PC-26, where 1.36 departs from it (JC deletePod, activePodsForRemoval)", "Two changes of one terminating pod do not count as the deletions of two pods.";
    H2 = "H2" [Executor] Must, Judged::View, "Ideal of PC-01 and PC-12, where 1.36 departs from it (JC manageJob)", "A refused creation does not add to active, even if the namespace is being deleted.";
    H3 = "H3" [Executor] Must, Judged::View, "Ideal of PC-03, where 1.36 departs from it (JC deleteActivePods)", "A refused deletion does not take its pod out of ready.";
    H4 = "H4" [Executor] Must, Judged::View, "Ideal of PC-02, where 1.36 departs from it (JC deleteActivePods)", "A DELETE that finds no pod does not add to terminating.";
    J01 = "J-01" [Executor] Must, Judged::View, "Ideal of PC-01 to PC-03 and SY-03, where 1.36 departs from it (JC deleteJobPods)", "A sync reports no pod as active that its process deleted in an earlier sync, even if its Pod cache still shows it as active.";
    J02 = "J-02" [Executor] Must, Judged::Truth, "Ideal of SC-05 and FT-10, where 1.36 departs from it (JC trackJobStatusAndRemoveFinalizers)", "While finalizer removals are refused, uncounted lists that are full take no further UID.";
    J03 = "J-03" [Executor] Must, Judged::Truth, "Ideal of FT-02 and FT-28, where 1.36 departs from it (JC removeTrackingFinalizerFromPods)", "A pod that is gone when its finalizer is to be removed is counted only once, even if the Pod cache still shows it.";
    J04 = "J-04" [Executor] Must, Judged::View, "Ideal of FT-15 and PF-02, where 1.36 departs from it (JC trackJobStatusAndRemoveFinalizers)", "A pod that has not terminated when its Job fails is recorded as failed, regardless of the failure policy and the pod's conditions.";
    J05 = "J-05" [Executor] Must, Judged::Truth, "Ideal of FT-02 and FT-20, where 1.36 departs from it (JC cleanUncountedPodsWithoutFinalizers)", "A recorded pod that has lost its owner reference is not counted while it holds its finalizer.";
    J06 = "J-06" [Executor] Must, Judged::Pending, "Ideal of FT-23 over FT-22, where 1.36 departs from it (JC addPod, updatePod)", "A pod that appears after its Job has finished loses its finalizer, at the latest once it has terminated.";
    J07 = "J-07" [Executor] Must, Judged::Pending, "Ideal of BO-06 over SY-09, where 1.36 departs from it (JC deleteJob, resolveControllerRef)", "A recreated Job inherits no expectations from the previous Job of its name, and gets its pods.";
    J08 = "J-08" [Executor] Must, Judged::Pending, "Ideal of FT-20 over SY-09, where 1.36 departs from it (JC updateJob)", "The pods of a deleted Job lose their finalizer even if the controller next sees a recreated Job, which inherits nothing.";
    J09 = "J-09" [Executor] Must, Judged::Pending, "Ideal of PC-04 over SY-03 and SY-09, where 1.36 departs from it (JC addPod)", "A pod that is already being deleted when the controller first sees it counts as created, and is replaced.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_stands_at_its_own_value_and_is_found_by_its_id() {
        for (position, entry) in CATALOGUE.iter().enumerate() {
            assert_eq!(entry.req as usize, position, "{}", entry.id);
            assert_eq!(Req::parse(entry.id), Some(entry.req), "the id {} is taken twice", entry.id);
            assert_eq!(format!("{:?}", entry.req), entry.id.replace('-', ""));
        }
    }

    #[test]
    fn every_entry_is_written_out() {
        for entry in CATALOGUE {
            let words = entry.sentence.split(' ').count();
            assert!(
                words > 2 && entry.sentence.ends_with('.'),
                "{}: {:?} is no sentence",
                entry.id,
                entry.sentence
            );
            assert!(!entry.sentence.contains("to be written"), "{} is a placeholder", entry.id);
            assert!(!entry.source.is_empty(), "{} has no source", entry.id);
            if let Judged::Explored(reason) | Judged::Not(reason) = entry.judged {
                assert!(reason.split(' ').count() > 3, "{}: {reason:?} is no reason", entry.id);
            }
        }
    }

    #[test]
    fn what_is_internal_to_a_process_is_neither_demanded_nor_judged_by_a_trace() {
        for entry in CATALOGUE.iter().filter(|entry| entry.binds == Binds::Internal) {
            assert_eq!(entry.level, Level::Should, "{}", entry.id);
            assert!(!entry.judged.by_trace(), "{}", entry.id);
        }
    }
}
