------------------------------ MODULE Clusters ------------------------------
(***************************************************************************)
(* The state: the Job on the manager cluster, the Jobs of its name on the  *)
(* workers, what the manager has seen of them, and what really happened.   *)
(***************************************************************************)
EXTENDS Bounds

VARIABLES
  now,      \* the one clock of all clusters; it moves when something is created, and when spec.suspend changes
  born,     \* how many local Jobs of this name there were before the last one
  local,    \* the local Job; Nil once it is gone
  worker,   \* each worker, with the Job of this name
  manager,  \* what the manager's process knows
  left,     \* the steps of users, dispatchers and faults that may still happen
  past      \* history of the last local Job, which only the properties read

vars == << now, born, local, worker, manager, left, past >>

(***************************************************************************)
(* A status. Reasons and messages follow from the types of conditions.     *)
(***************************************************************************)
Types == {"Suspended", "SuccessCriteriaMet", "FailureTarget", "Complete", "Failed"}

NoStatus ==
  [ active         |-> 0,
    terminating    |-> 0,
    reported       |-> FALSE,    \* whether `ready`, which is 0, and `terminating` are there at all
    succeeded      |-> 0,
    failed         |-> 0,
    recorded       |-> 0,        \* how many UIDs uncountedTerminatedPods.succeeded has
    startTime      |-> Nil,
    completionTime |-> Nil,
    conditions     |-> [t \in Types |-> Nil],
    foreign        |-> Nil ]     \* the time of the condition that another actor has set

Condition(status, time)    == [status |-> status, time |-> time]
With(st, type, status, t)  == [st EXCEPT !.conditions[type] = Condition(status, t)]
IsTrue(st, type)           == st.conditions[type] # Nil /\ st.conditions[type].status
TimeOf(st, type)           == IF st.conditions[type] = Nil THEN Nil ELSE st.conditions[type].time

Finished(st) == IsTrue(st, "Complete") \/ IsTrue(st, "Failed")
Decided(st)  == IsTrue(st, "SuccessCriteriaMet") \/ IsTrue(st, "FailureTarget") \/ Finished(st)
Living(st)   == st.active + st.terminating

StoredTimes(st) == {st.startTime, st.completionTime} \ {Nil}
AllTimes(st)    == StoredTimes(st) \cup ({TimeOf(st, t) : t \in Types} \ {Nil})

(***************************************************************************)
(* Jobs. A local Job is known by its number, which is its UID. A copy      *)
(* carries that number, and the counts of the local Job at its creation;   *)
(* a Job of somebody else carries no number.                               *)
(***************************************************************************)
NewLocal(number, time) ==
  [number |-> number, created |-> time, suspended |-> FALSE, assigned |-> Nil, status |-> NoStatus]

NewCopy(of, base, finalizer) ==
  [of |-> of, base |-> base, suspended |-> FALSE, deleting |-> FALSE, finalizer |-> finalizer, status |-> NoStatus]

NoCounts == [succeeded |-> 0, failed |-> 0]
Stranger == NewCopy(Nil, NoCounts, FALSE)

\* `hidden`: the pods that the status of the copy does not show. Those are new, or have ended and are not counted
\* yet. A pod that is counted and still shown as active is subtracted.
NewWorker == [away |-> FALSE, before |-> Nil, copy |-> Nil, hidden |-> 0]

\* A process begins with empty caches. `awaited` are the workers to which it has sent a creation, and whose cache
\* has shown nothing newer since.
NewProcess == [local |-> Unfilled, copies |-> [w \in Workers |-> Unfilled], awaited |-> {}]

IsCopy(copy) == copy # Nil /\ copy.of # Nil
IsOwn(copy)  == copy # Nil /\ copy.of = born

(***************************************************************************)
(* History. Each copy of the Job has a record: its worker, how many copies *)
(* there were when it ended, its last status once it is gone, and whether  *)
(* its TTL removed it, TRUE being before the end of the Job.               *)
(***************************************************************************)
NewPast ==
  [ succeeded |-> 0, failed |-> 0,   \* the pods that its copies have counted
    pods    |-> 0,                   \* the pods that were created for it
    former  |-> {},                  \* the times in the last status of the Job before
    foreign |-> {},                  \* startTime and completionTime of copies of other Jobs
    own     |-> {},                  \* the same of its own copies
    paused  |-> FALSE,               \* whether the user has changed spec.suspend
    ended   |-> FALSE,               \* whether the Job has had an end
    last    |-> Nil,                 \* its last status, once it is gone
    copies  |-> << >> ]

NewRecord(w) == [worker |-> w, ended |-> Nil, gone |-> Nil, expires |-> FALSE, expired |-> Nil]

Remains(st) ==
  [ succeeded  |-> st.succeeded, failed |-> st.failed,
    conditions |-> [t \in Types |-> IF st.conditions[t] = Nil THEN Nil ELSE st.conditions[t].status] ]

\* The history in which the record of the copy that is on this worker is changed.
Recorded(history, w, Change(_)) ==
  [history EXCEPT !.copies =
     [k \in DOMAIN @ |-> IF @[k].worker = w /\ @[k].gone = Nil THEN Change(@[k]) ELSE @[k]]]
=============================================================================
