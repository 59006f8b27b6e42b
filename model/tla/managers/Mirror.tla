------------------------------- MODULE Mirror -------------------------------
(***************************************************************************)
(* A manager that writes status alone, between its cluster and workers:    *)
(* all behaviours of the mirror protocol, and what must hold in each of    *)
(* them (family MR).                                                       *)
(***************************************************************************)
EXTENDS Steps

Init ==
  /\ now = 1
  /\ born = 0
  /\ local = NewLocal(0, 1)
  /\ worker = [w \in Workers |-> NewWorker]
  /\ manager = NewProcess
  /\ left = Budget
  /\ past = NewPast

Next ==
  \/ Request
  \/ UserSuspends \/ UserDeletes \/ UserRecreates
  \/ Evict \/ SetCondition \/ Expire \/ Crash
  \/ \E w \in Workers : OnWorker(w)

Spec == Init /\ [][Next]_vars

(***************************************************************************)
(* Types.                                                                  *)
(***************************************************************************)
Option(S) == S \cup {Nil}
Times     == 1 .. now
Jobs      == 0 .. born

StatusOK(st) ==
  /\ {st.active, st.terminating, st.succeeded, st.failed, st.recorded} \subseteq 0 .. Scope.pods
  /\ st.reported \in BOOLEAN
  /\ {st.startTime, st.completionTime, st.foreign} \subseteq Option(Times)
  /\ \A t \in Types : st.conditions[t] # Nil =>
       st.conditions[t].status \in BOOLEAN /\ st.conditions[t].time \in Times

LocalOK(job) ==
  /\ job.number \in Jobs /\ job.created \in Times /\ job.suspended \in BOOLEAN
  /\ job.assigned \in Option(Workers)
  /\ StatusOK(job.status)

CopyOK(copy) ==
  /\ copy.of \in Option(Jobs)
  /\ {copy.suspended, copy.deleting, copy.finalizer} \subseteq BOOLEAN
  /\ StatusOK(copy.status)

TypeOK ==
  /\ \A job \in {local, manager.local} \ {Nil, Unfilled} : LocalOK(job)
  /\ \A w \in Workers : \A copy \in {worker[w].copy, worker[w].before, manager.copies[w]} \ {Nil, Unfilled} :
       CopyOK(copy)
  /\ \A w \in Workers : /\ worker[w].hidden \in -Scope.pods .. Scope.pods
                       /\ worker[w].copy = Nil => worker[w].hidden = 0
  /\ manager.awaited \subseteq Workers
  /\ \A what \in DOMAIN left : left[what] \in 0 .. Budget[what]
  /\ past.pods \in 0 .. Scope.pods
  /\ Len(past.copies) <= MostCopies

(***************************************************************************)
(* The three headlines.                                                    *)
(***************************************************************************)
\* MR-30: nothing is counted that no copy of this Job has counted.
NoPodIsCountedTwice ==
  local # Nil => local.status.succeeded <= past.succeeded /\ local.status.failed <= past.failed

\* TC-04
NothingRunsAtTheEnd == [][
  local # Nil /\ local' # Nil /\ ~Finished(local.status) /\ Finished(local'.status) =>
    \A w \in Workers : IsOwn(worker[w].copy) => Living(worker[w].copy.status) = 0 ]_vars

\* TC-05
CompletionTimeOnlyWithComplete ==
  local # Nil => (local.status.completionTime # Nil <=> IsTrue(local.status, "Complete"))

(***************************************************************************)
(* The stored status.                                                      *)
(***************************************************************************)
\* MR-01
SuccessIsCounted ==
  local # Nil =>
    /\ local.status.succeeded <= Scope.completions
    /\ IsTrue(local.status, "SuccessCriteriaMet") \/ IsTrue(local.status, "Complete")
         => local.status.succeeded = Scope.completions

\* MR-04
TimesAreOfThisJob == local # Nil => \A t \in AllTimes(local.status) : t >= local.created

\* MR-07
EndIsAnnounced ==
  local # Nil =>
    /\ IsTrue(local.status, "Complete") => IsTrue(local.status, "SuccessCriteriaMet")
    /\ IsTrue(local.status, "Failed") => IsTrue(local.status, "FailureTarget")

\* MR-11, MR-12
NumbersFit ==
  local # Nil =>
    /\ Finished(local.status) => Living(local.status) = 0 /\ local.status.reported
    /\ local.status.active <= Scope.parallelism

\* MR-09: what the API server demands of every status.
ServerAccepts ==
  local # Nil =>
    LET st == local.status IN
    /\ ~(IsTrue(st, "SuccessCriteriaMet") /\ IsTrue(st, "FailureTarget"))              \* SS-04
    /\ Finished(st) => st.recorded = 0 /\ st.startTime # Nil                           \* SS-13, SS-10
    /\ st.completionTime # Nil => st.completionTime >= st.startTime                    \* SS-11

(***************************************************************************)
(* The Job beside its copies.                                              *)
(***************************************************************************)
Copies == DOMAIN past.copies

\* The last status of a copy, as far as it is remembered.
HasFailed(k) ==
  LET record == past.copies[k] IN
  IF record.gone # Nil THEN record.gone.conditions["Failed"] = TRUE
  ELSE IsTrue(worker[record.worker].copy.status, "Failed")

\* MR-21: the end of the Job is that of a copy.
EndIsThatOfACopy ==
  LET ended == {k \in Copies : past.copies[k].ended # Nil}
      here  == IF local # Nil THEN local.status ELSE past.last
  IN past.ended /\ ended # {} => \E k \in ended : HasFailed(k) = IsTrue(here, "Failed")

\* MR-22: the work is not done twice.
NoCopyAfterTheEnd == \A k \in Copies : past.copies[k].ended # Nil => past.copies[k].ended = Len(past.copies)
OneCopyRuns ==
  Cardinality({w \in Workers : IsOwn(worker[w].copy) /\ ~worker[w].copy.deleting}) <= 1

\* MR-23
TimesAreOfOwnCopies == local # Nil => StoredTimes(local.status) \cap past.foreign \subseteq past.own

\* MR-26
EndArrivesBeforeExpiry == \A k \in Copies : past.copies[k].ended # Nil => past.copies[k].expired # TRUE

(***************************************************************************)
(* What no step does.                                                      *)
(***************************************************************************)
SameJob == local # Nil /\ local' # Nil /\ local.number = local'.number

\* MR-03, SS-27, SS-28
CountersNeverFall == [][
  SameJob => /\ local'.status.succeeded >= local.status.succeeded
             /\ local'.status.failed >= local.status.failed ]_vars

\* MR-05, SS-09: startTime moves in the write that resumes the Job, and in no other.
StartTimeStays == [][
  SameJob =>
    LET old == local.status
        new == local'.status
    IN IF IsTrue(old, "Suspended") /\ ~IsTrue(new, "Suspended")
       THEN /\ new.startTime # Nil
            /\ new.startTime # old.startTime \/ new.startTime >= TimeOf(new, "Suspended")
       ELSE old.startTime # Nil /\ ~local.suspended => new.startTime = old.startTime ]_vars

\* MR-06
ForeignConditionsStay == [][
  SameJob /\ local.status.foreign # Nil => local'.status.foreign = local.status.foreign ]_vars

\* MR-07 as advice, SS-34
InterimComesFirst == [][
  SameJob /\ ~Finished(local.status) /\ Finished(local'.status) => Decided(local.status) ]_vars

\* MR-08, TC-11
EndStays == [][
  SameJob =>
    /\ \A t \in Types \ {"Suspended"} : IsTrue(local.status, t) => IsTrue(local'.status, t)
    /\ Finished(local.status) => [local'.status EXCEPT !.foreign = local.status.foreign] = local.status ]_vars

\* MR-10
Timeless(st) ==
  [st EXCEPT !.startTime = @ = Nil, !.completionTime = @ = Nil,
             !.conditions = [t \in Types |-> IF @[t] = Nil THEN Nil ELSE @[t].status]]
NoWriteOfTimesAlone == [][
  SameJob /\ local'.status # local.status => Timeless(local'.status) # Timeless(local.status) ]_vars

\* MR-14
TimesChangeWithTheStatus == [][
  SameJob => \A t \in Types :
    local.status.conditions[t] # Nil /\ local'.status.conditions[t] # Nil
      /\ local.status.conditions[t].status = local'.status.conditions[t].status
        => local.status.conditions[t] = local'.status.conditions[t] ]_vars

\* MR-25: nobody but somebody on the worker deletes a Job of somebody else.
StrangersStay == [][
  \A w \in Workers : worker[w].copy = Stranger /\ worker'[w].copy # Stranger
                       => left'.copyDeletions < left.copyDeletions ]_vars

(***************************************************************************)
(* What holds once nothing more has to happen. The explorer alone checks   *)
(* progress: that such a state is reached.                                 *)
(***************************************************************************)
AtRest ==
  /\ \A w \in Workers : ~worker[w].away
  /\ \A caches \in SUBSET Stale : Sent(caches) = {}
  /\ \A w \in Workers : IsCopy(worker[w].copy) =>
       \A m \in Moves : ~MustMove(m, Task(worker[w].copy), worker[w].copy.status, worker[w].hidden)
  /\ local # Nil /\ local.assigned = Nil => local.suspended \/ Finished(local.status)

\* MR-25
NoOrphanIsLeft ==
  AtRest => \A w \in Workers : IsCopy(worker[w].copy) => local # Nil /\ worker[w].copy.of = local.number

\* MR-08, MR-13, MR-21: a Job ends unless it is suspended, or its place is taken by a Job of somebody else.
JobIsSettled ==
  AtRest /\ local # Nil /\ ~Finished(local.status) =>
    /\ ~Decided(local.status)
    /\ IF local.suspended THEN IsTrue(local.status, "Suspended") /\ local.status.active = 0
       ELSE local.assigned # Nil /\ worker[local.assigned].copy = Stranger

\* MR-20, as far as the manager cluster allows: startTime of a Job that ended as a suspended one cannot move.
StatusIsThatOfTheCopy ==
  LET last == Len(past.copies) IN
  AtRest /\ local # Nil /\ last > 0 /\ past.copies[last].gone = Nil =>
    LET here  == local.status
        copy  == worker[past.copies[last].worker].copy
        there == copy.status
    IN copy.suspended = local.suspended =>
         /\ \A t \in Types \ {"Suspended"} : IsTrue(here, t) = IsTrue(there, t)
         /\ here.active = there.active
         /\ last = 1 => here.succeeded = there.succeeded /\ here.failed = there.failed
         /\ last = 1 /\ ~local.suspended /\ ~IsTrue(there, "Suspended") => here.startTime = there.startTime
=============================================================================
