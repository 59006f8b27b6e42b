----------------------------- MODULE JobTracking ----------------------------
(***************************************************************************)
(* Job tracking with finalizers, and TTL-after-finished: all behaviours    *)
(* that the requirements allow, and what must hold in each of them.        *)
(***************************************************************************)
EXTENDS Environment

Init ==
  /\ now = 0
  /\ job = [j \in Jobs |-> NewJob]
  /\ pods = [j \in Jobs |-> << >>]
  /\ shown = [j \in Jobs |-> Nil]
  /\ unseen = [j \in Jobs |-> << >>]
  /\ backoff = [j \in Jobs |-> NewBackoff]
  /\ past = [j \in Jobs |-> NewPast]
  /\ used = [j \in Jobs |-> {}]

Manage(j) ==
  \/ CreatePod(j) \/ DeletePod(j) \/ ReleasePod(j)
  \/ WriteStatus(j)

Next ==
  \/ \E j \in Jobs :
       \/ Manage(j) \/ Expire(j)
       \/ Kubelet(j) \/ User(j) \/ CollectPod(j) \/ CollectJob(j)
       \/ ShowPod(j) \/ ShowJob(j) \/ Crash(j)
  \/ Tick

Spec == Init /\ [][Next]_vars

(***************************************************************************)
(* Types.                                                                  *)
(***************************************************************************)
Option(S) == S \cup {Nil}
Uids      == 1 .. Scope.pods
Indexes   == 0 .. 3
Times     == 0 .. Scope.ticks

PodOK(p) ==
  /\ p.phase \in {"Pending", "Running", "Succeeded", "Failed"}
  /\ {p.deleting, p.finalizer, p.ready} \subseteq BOOLEAN
  /\ p.index \in Option(Indexes) /\ {p.failures, p.ignored} \subseteq Nat
  /\ p.policy \in {"None", "FailJob", "FailIndex", "Ignore"}
  /\ p.created \in Times /\ {p.readySince, p.finished} \subseteq Option(Times)

ConditionOK(c) ==
  /\ c.type \in {"Suspended", "SuccessCriteriaMet", "FailureTarget", "Complete", "Failed"}
  /\ c.status \in {"True", "False"}
  /\ c.time \in Times

JobOK(theJob) ==
  LET st == theJob.status IN
  /\ {theJob.deleting, theJob.spec.suspend} \subseteq BOOLEAN
  /\ {st.active, st.succeeded, st.failed} \subseteq Nat
  /\ {st.ready, st.terminating} \subseteq Option(Nat)
  /\ {st.startTime, st.completionTime} \subseteq Option(Times)
  /\ st.completed \subseteq Indexes
  /\ st.failedIndexes # Nil => st.failedIndexes \subseteq Indexes
  /\ Listed(st) \subseteq Uids
  /\ \A k \in DOMAIN st.conditions : ConditionOK(st.conditions[k])

TypeOK ==
  /\ now \in Times
  /\ \A j \in Jobs :
       /\ \A theJob \in {job[j], shown[j]} \ {Nil} : JobOK(theJob)
       /\ DOMAIN pods[j] \subseteq DOMAIN past[j].pods /\ DOMAIN past[j].pods \subseteq Uids
       /\ \A u \in DOMAIN pods[j] : PodOK(pods[j][u])
       /\ Len(unseen[j]) <= Scope.lag
       /\ past[j].crashes \in 0 .. Scope.crashes
       /\ used[j] \subseteq DOMAIN Scope.user

(***************************************************************************)
(* The three that everybody names. They are stated over what really        *)
(* happened, not over what a guard decides by.                             *)
(***************************************************************************)
\* FT-02
NoPodIsCountedTwice ==
  \A j \in Jobs : \A u \in DOMAIN past[j].pods : past[j].pods[u].succeeded + past[j].pods[u].failed <= 1

\* TC-04, SS-18
NothingTerminatesAtTheEnd ==
  \A j \in Jobs : past[j].ending # Nil => past[j].ending.terminating = 0 /\ past[j].ending.active = 0

\* TC-05, SS-24, SS-25
CompletionTimeOnlyWithComplete ==
  \A j \in Jobs : job[j] # Nil => (job[j].status.completionTime # Nil <=> IsTrue(job[j].status, "Complete"))

(***************************************************************************)
(* More invariants.                                                        *)
(***************************************************************************)
\* BI-14, SS-17
NoIndexIsCompletedAndFailed ==
  \A j \in Jobs : job[j] # Nil /\ job[j].status.failedIndexes # Nil
                    => job[j].status.completed \cap job[j].status.failedIndexes = {}

\* FT-13, S-07: a pod counts as what it was recorded as first.
FirstRecordStands ==
  \A j \in Jobs : \A u \in DOMAIN past[j].pods : LET p == past[j].pods[u] IN
    /\ p.succeeded > 0 => p.listed = "Succeeded"
    /\ p.failed > 0 => p.listed = "Failed"

\* FT-06
RecordedSuccessesAreReal ==
  \A j \in Jobs : \A u \in DOMAIN past[j].pods :
    past[j].pods[u].listed = "Succeeded" => past[j].pods[u].end = "Succeeded"

\* FT-12, PC-21: a completed index has had a pod that succeeded, and is counted once.
CompletedIndexesAreEarned ==
  \A j \in Jobs : job[j] # Nil /\ Indexed =>
    /\ job[j].status.succeeded = Cardinality(job[j].status.completed)
    /\ \A i \in job[j].status.completed : \E u \in DOMAIN past[j].pods :
         past[j].pods[u].index = i /\ past[j].pods[u].end = "Succeeded"

\* FT-31: nothing but counting a pod moves a counter.
CountersAreTheCountedPods ==
  \A j \in Jobs : job[j] # Nil =>
    /\ job[j].status.failed = Cardinality({u \in DOMAIN past[j].pods : past[j].pods[u].failed > 0})
    /\ ~Indexed => job[j].status.succeeded
                     = Cardinality({u \in DOMAIN past[j].pods : past[j].pods[u].succeeded > 0})

\* TC-03, TC-06, SS-34: the terminal condition repeats the first decision, which stood in an earlier write.
EndRepeatsTheDecision ==
  \A j \in Jobs : past[j].ending # Nil =>
    LET e == past[j].ending
        d == past[j].decision
    IN /\ e.announced
       /\ e.reason = d.reason /\ e.about = d.about
       /\ (e.type = "Failed") <=> (d.type = "FailureTarget")

\* S-01: as many as it wanted when it was decided, or since.
CompleteMeansEnoughSuccesses ==
  \A j \in Jobs : past[j].ending # Nil /\ past[j].ending.reason = "CompletionsReached" /\ job[j] # Nil =>
    LET ended == {u \in DOMAIN past[j].pods : past[j].pods[u].end = "Succeeded"}
        won   == IF Indexed THEN {past[j].pods[u].index : u \in ended} ELSE ended
    IN Cardinality(won) >= (IF past[j].decision.fewest = Nil THEN 1 ELSE past[j].decision.fewest)

\* PC-08, and RP-11 where only failed pods are replaced
WithinParallelism ==
  \A j \in Jobs :
    LET held == IF ReplacesOnlyFailed /\ job[j] # Nil THEN Count(pods[j], Terminating) ELSE 0
    IN Count(pods[j], Active) + held <= past[j].widest

\* PC-18: no index has two active pods.
OneActivePodForEachIndex ==
  Indexed => \A j \in Jobs : \A u, w \in Which(pods[j], Active) :
               pods[j][u].index = pods[j][w].index => u = w

\* SS-01 … SS-28: what the API server demands of every status that is stored.
ServerAccepts ==
  \A j \in Jobs : job[j] # Nil =>
    LET st == job[j].status IN
    /\ st.ready # Nil => st.ready <= st.active                                        \* SS-19
    /\ Uncounted(st).succeeded \cap Uncounted(st).failed = {}                         \* SS-02
    /\ ~(WillPass(st) /\ WillFail(st))                                                \* SS-04
    /\ IsTrue(st, "Failed") => WillFail(st)                                           \* SS-20
    /\ IsTrue(st, "Complete") => WillPass(st)                                         \* SS-21
    /\ Finished(st) => /\ st.active = 0 /\ st.terminating = 0 /\ Listed(st) = {}      \* SS-12, 13, 18
                       /\ st.startTime # Nil                                          \* SS-10
    /\ st.completionTime # Nil => st.completionTime >= st.startTime                   \* SS-11

\* TT-03, TT-13: the TTL controller deletes finished Jobs only, and not before their time.
OnlyExpiredJobsAreRemoved ==
  \A j \in Jobs : past[j].removal # Nil => past[j].removal.finished /\ past[j].removal.expired

(***************************************************************************)
(* What no step does.                                                      *)
(***************************************************************************)
\* FT-03: a pod that its manager has seen end loses its finalizer only once the status tells of it, or
\* need not.
IsTold(j, u) ==
  LET p == pods[j][u] IN
  \/ past[j].pods[u].listed # Nil
  \/ past[j].pods[u].ignored
  \/ Indexed /\ p.phase = "Succeeded" /\ p.index \in job[j].status.completed
  \/ Indexed /\ p.index >= job[j].spec.completions

NoFinishedPodIsLost == [][
  \A j \in Jobs : job[j] # Nil /\ ~job[j].deleting /\ ~Finished(job[j].status) =>
    \A u \in {u \in DOMAIN pods[j] \cap DOMAIN pods'[j] : pods[j][u].finalizer /\ ~pods'[j][u].finalizer} :
      Ended(pods[j][u]) /\ Ended(View(j, CachedJob(j)).post[u]) => IsTold(j, u) ]_vars

\* TC-11
SilenceAfterTheEnd == [][
  \A j \in Jobs : job[j] # Nil /\ job'[j] # Nil /\ Finished(job[j].status)
                    => job'[j].status = job[j].status ]_vars

\* TC-07
NoPodAfterTheDecision == [][
  \A j \in Jobs : past[j].decision # Nil => Len(past'[j].pods) = Len(past[j].pods) ]_vars

\* SS-27, SS-28: counters never fall, but for an Indexed Job that is scaled down.
CountersNeverFall == [][
  \A j \in Jobs : job[j] # Nil /\ job'[j] # Nil =>
    /\ job'[j].status.failed >= job[j].status.failed
    /\ ~Indexed => job'[j].status.succeeded >= job[j].status.succeeded ]_vars

\* SS-09, SU-04
StartTimeStays == [][
  \A j \in Jobs : job[j] # Nil /\ job'[j] # Nil /\ job[j].status.startTime # Nil
                  /\ ~job[j].spec.suspend /\ Suspension(job[j].status) # "True"
                    => job'[j].status.startTime = job[j].status.startTime ]_vars
=============================================================================
