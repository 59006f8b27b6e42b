------------------------------ MODULE Protocol ------------------------------
(***************************************************************************)
(* The mirror protocol: the requests that a manager sends, given what its  *)
(* caches show. docs/guide/mirror-protocol.md explains it.                 *)
(***************************************************************************)
EXTENDS Executor

(***************************************************************************)
(* The status of the local Job, from that of its copy.                     *)
(***************************************************************************)
Counters(copy, st) ==   \* MR-03, MR-24: what was counted once stays counted
  [st EXCEPT !.succeeded = Max(@, copy.base.succeeded + copy.status.succeeded),
             !.failed    = Max(@, copy.base.failed + copy.status.failed)]

Numbers(copy, st) ==
  [st EXCEPT !.active = copy.status.active, !.terminating = copy.status.terminating,
             !.reported = copy.status.reported]

\* MR-05: the first startTime stays. It moves only in the write that resumes the Job, and the Job is resumed only
\* once the copy has a startTime that is not the old one.
Suspension(copy, st) ==
  LET theirs  == copy.status
      since   == TimeOf(theirs, "Suspended")
      started == [st EXCEPT !.startTime = IF @ = Nil THEN theirs.startTime ELSE @]
      isNew   == /\ theirs.startTime # Nil
                 /\ \/ theirs.startTime # st.startTime
                    \/ since # Nil /\ theirs.startTime >= since
  IN CASE IsTrue(theirs, "Suspended") /\ ~IsTrue(st, "Suspended") -> With(started, "Suspended", TRUE, since)
       [] ~IsTrue(theirs, "Suspended") /\ IsTrue(st, "Suspended") /\ isNew ->
            [With(started, "Suspended", FALSE, IF since = Nil THEN theirs.startTime ELSE since)
               EXCEPT !.startTime = theirs.startTime]
       [] OTHER -> started

\* MR-01, MR-07, MR-11: the interim condition comes first, and waits for the successes. The terminal one comes in a
\* later write, and waits for the pods.
Ending(old, copy, st) ==
  LET theirs   == copy.status
      succeeds == IsTrue(theirs, "SuccessCriteriaMet") \/ IsTrue(theirs, "Complete")
      interim  == IF succeeds THEN "SuccessCriteriaMet" ELSE "FailureTarget"
      terminal == IF succeeds THEN "Complete" ELSE "Failed"
  IN CASE ~Decided(theirs) -> st
       [] succeeds /\ st.succeeded < Scope.completions -> st
       [] ~IsTrue(old, interim) ->
            With(st, interim, TRUE, TimeOf(theirs, IF IsTrue(theirs, interim) THEN interim ELSE terminal))
       [] IsTrue(old, interim) /\ IsTrue(theirs, terminal) /\ Living(st) = 0 ->
            [With(st, terminal, TRUE, TimeOf(theirs, terminal)) EXCEPT !.completionTime = theirs.completionTime]
       [] OTHER -> st

Mirrored(old, copy) ==
  IF Finished(old) THEN old   \* TC-11
  ELSE Ending(old, copy, Suspension(copy, Numbers(copy, Counters(copy, old))))

(***************************************************************************)
(* The requests. Each is a record; `to` is its worker.                     *)
(***************************************************************************)
Write(st)          == [call |-> "Write", status |-> st]
CreateAt(w, base)  == [call |-> "Create", to |-> w, base |-> base]
SuspendAt(w, flag) == [call |-> "Suspend", to |-> w, suspended |-> flag]
DeleteAt(w)        == [call |-> "Delete", to |-> w]
ReleaseAt(w)       == [call |-> "Release", to |-> w]

\* MR-25: a copy whose Job is gone has nothing to report. It is deleted, and the finalizer is removed.
Removal(w, copy) == CASE ~copy.deleting                  -> {DeleteAt(w)}
                      [] copy.deleting /\ copy.finalizer -> {ReleaseAt(w)}
                      [] OTHER                           -> {}

\* Whether everything that a copy has to report is in its counters.
HasReported(copy) == Living(copy.status) = 0 /\ copy.status.recorded = 0

\* MR-21, MR-22: report first. Only a copy whose status has arrived is changed, withdrawn, or released.
ForCopy(job, w, copy) ==
  LET new     == Mirrored(job.status, copy)
      isMoved == job.assigned # w
  IN CASE new # job.status      -> {Write(new)}
       [] Finished(job.status)  -> IF copy.finalizer THEN {ReleaseAt(w)} ELSE {}
       [] Decided(copy.status)  -> {}   \* its end is near
       [] copy.deleting         -> IF HasReported(copy) /\ copy.finalizer THEN {ReleaseAt(w)} ELSE {}
       [] isMoved               -> {DeleteAt(w)}
       \* MR-27: startTime moves only after a reported suspension.
       [] copy.suspended # job.suspended /\ (job.suspended \/ IsTrue(job.status, "Suspended")) ->
            {SuspendAt(w, job.suspended)}
       [] OTHER -> {}

\* MR-22: there is no copy anywhere, and none on its way.
ForNoCopy(job, copies, awaited) ==
  LET isSure == awaited = {} /\ \A w \in Workers : copies[w] # Unfilled
  IN CASE Finished(job.status) \/ ~isSure -> {}
       [] job.suspended -> IF IsTrue(job.status, "Suspended") THEN {}
                           ELSE {Write(With(job.status, "Suspended", TRUE, now))}      \* MR-13
       [] OTHER -> IF job.assigned # Nil /\ copies[job.assigned] = Nil
                   THEN {CreateAt(job.assigned, [succeeded |-> job.status.succeeded, failed |-> job.status.failed])}
                   ELSE {}

\* MR-23: a copy is known by the number that it carries, and a Job without one is left alone.
Requests(job, copies, awaited) ==
  LET known    == {w \in Workers : copies[w] # Unfilled /\ IsCopy(copies[w])}
      mine     == {w \in known : job # Nil /\ copies[w].of = job.number}
      orphans  == {w \in known : job = Nil \/ copies[w].of # job.number}
      removals == UNION {Removal(w, copies[w]) : w \in orphans}
  IN CASE job = Unfilled -> {}
       [] job = Nil      -> removals
       [] mine = {}      -> removals \cup ForNoCopy(job, copies, awaited)
       [] OTHER          -> LET w == CHOOSE w \in mine : \A v \in mine : w <= v
                            IN removals \cup ForCopy(job, w, copies[w])
=============================================================================
