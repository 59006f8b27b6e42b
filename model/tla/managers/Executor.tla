------------------------------ MODULE Executor ------------------------------
(***************************************************************************)
(* The executor of a worker. It writes the status of a copy, and a pod is  *)
(* only a number in it. Each move is one status write, or one pod that the *)
(* status does not show yet. `task` is what the executor reads of its Job, *)
(* `st` the status, and `hidden` the pods that it does not show.           *)
(***************************************************************************)
EXTENDS Clusters

Moves == { "Start", "Suspend", "Unstart", "Resume", "Create", "Activate", "Terminate", "End", "EndLate",
           "Succeed", "Count", "Fail", "Accept", "Reject", "Finish" }

\* The pods of a former Job end without new ones. A copy asks for the successes that are missing.
Task(copy) ==
  [ completions |-> Max(Scope.completions - copy.base.succeeded, 0),
    podsLeft    |-> IF IsOwn(copy) THEN Scope.pods - past.pods ELSE 0,
    suspended   |-> copy.suspended,
    deleting    |-> copy.deleting ]

Reached(st)         == st.succeeded + st.recorded
Ended(st)           == Reached(st) + st.failed
Created(st, hidden) == hidden + Living(st) + Ended(st)

\* Some pod has not been counted or recorded yet.
Open(st, hidden) == Created(st, hidden) > Ended(st)

\* PC-04
Wanted(task, st) == Min(Max(task.completions - Reached(st), 0), Scope.parallelism)

MayMove(m, task, st, hidden) ==
  /\ ~Finished(st)                                                                     \* TC-11
  /\ CASE m = "Start"     -> st.startTime = Nil /\ ~Decided(st) /\ ~task.deleting
       [] m = "Suspend"   -> task.suspended /\ ~IsTrue(st, "Suspended") /\ ~Decided(st)
       [] m = "Unstart"   -> /\ task.suspended /\ IsTrue(st, "Suspended") /\ ~Decided(st)   \* SS-09
                             /\ st.startTime # Nil
       [] m = "Resume"    -> ~task.suspended /\ IsTrue(st, "Suspended") /\ ~Decided(st)
       [] m = "Create"    -> /\ ~Decided(st) /\ ~task.deleting /\ ~task.suspended
                             /\ task.podsLeft > 0
                             /\ st.active < Wanted(task, st)
       [] m = "Activate"  -> /\ Created(st, hidden) > Living(st) /\ Open(st, hidden)
                             /\ st.active < Scope.parallelism
       [] m = "Terminate" -> st.active > 0
       [] m = "End"       -> st.active > 0
       [] m = "EndLate"   -> st.terminating > 0
       [] m = "Succeed"   -> Open(st, hidden) /\ Reached(st) < task.completions
       [] m = "Count"     -> st.recorded > 0
       [] m = "Fail"      -> Open(st, hidden)
       [] m = "Accept"    -> ~Decided(st) /\ st.startTime # Nil /\ Reached(st) >= task.completions
       [] m = "Reject"    -> ~Decided(st) /\ st.startTime # Nil
       [] m = "Finish"    -> Decided(st) /\ Living(st) = 0 /\ st.recorded = 0          \* TC-04

\* The status after a move.
Written(m, st) ==
  CASE m = "Start"     -> [st EXCEPT !.startTime = now]
    [] m = "Suspend"   -> With(st, "Suspended", TRUE, now)
    [] m = "Unstart"   -> [st EXCEPT !.startTime = Nil]
    [] m = "Resume"    -> [With(st, "Suspended", FALSE, now) EXCEPT !.startTime = now]
    [] m = "Create"    -> st
    [] m = "Activate"  -> [st EXCEPT !.active = @ + 1]
    [] m = "Terminate" -> [st EXCEPT !.active = @ - 1, !.terminating = @ + 1]
    [] m = "End"       -> [st EXCEPT !.active = @ - 1]
    [] m = "EndLate"   -> [st EXCEPT !.terminating = @ - 1]
    [] m = "Succeed"   -> [st EXCEPT !.recorded = @ + 1]
    [] m = "Count"     -> [st EXCEPT !.recorded = @ - 1, !.succeeded = @ + 1]
    [] m = "Fail"      -> [st EXCEPT !.failed = @ + 1]
    [] m = "Accept"    -> With(st, "SuccessCriteriaMet", TRUE, now)
    [] m = "Reject"    -> With(st, "FailureTarget", TRUE, now)
    [] m = "Finish"    -> IF IsTrue(st, "FailureTarget") THEN With(st, "Failed", TRUE, now)
                          ELSE [With(st, "Complete", TRUE, now) EXCEPT !.completionTime = now]   \* TC-05

Hides(m) == CASE m \in {"Create", "End", "EndLate"}      -> 1
              [] m \in {"Activate", "Succeed", "Fail"}   -> -1
              [] OTHER                                   -> 0

\* Moves that come in any case, because executors and their pods never stop. A Job fails once it has no other way
\* to its end.
MustMove(m, task, st, hidden) ==
  /\ MayMove(m, task, st, hidden)
  /\ CASE m = "Terminate" -> task.suspended \/ task.deleting \/ Decided(st)
       [] m = "Reject"    -> /\ Created(st, hidden) = st.succeeded + st.failed
                             /\ task.podsLeft = 0 /\ ~task.deleting /\ ~task.suspended
                             /\ st.succeeded < task.completions
       [] m = "Unstart"   -> FALSE
       [] m \in {"Start", "Create", "Activate", "Accept"} -> ~task.suspended
       [] OTHER           -> TRUE

Execute(w, m) ==
  LET copy == worker[w].copy
      st   == copy.status
      new  == IF m = "Create" THEN st ELSE [Written(m, st) EXCEPT !.reported = TRUE]
  IN
  /\ MayMove(m, Task(copy), st, worker[w].hidden)
  /\ worker' = [worker EXCEPT ![w].copy.status = new, ![w].hidden = @ + Hides(m)]
  /\ past' = IF ~IsOwn(copy) THEN [past EXCEPT !.foreign = @ \cup StoredTimes(new)]
             ELSE LET counted ==
                        [past EXCEPT !.succeeded = @ + new.succeeded - st.succeeded,
                                     !.failed = @ + new.failed - st.failed,
                                     !.pods = @ + (IF m = "Create" THEN 1 ELSE 0),
                                     !.own = @ \cup StoredTimes(new)]
                      HasEnded(record) == [record EXCEPT !.ended = Len(past.copies)]
                  IN IF m = "Finish" THEN Recorded(counted, w, HasEnded) ELSE counted
  /\ UNCHANGED << now, born, local, manager, left >>
=============================================================================
