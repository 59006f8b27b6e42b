------------------------------ MODULE Cluster -------------------------------
(***************************************************************************)
(* The state: what etcd holds, what the manager of each Job has seen of    *)
(* it, and what really happened.                                           *)
(***************************************************************************)
EXTENDS Scopes

VARIABLES
  now,      \* the one clock, in seconds
  job,      \* each Job as etcd holds it; Nil once it is gone
  pods,     \* the pods of each Job as etcd holds them: a function from UIDs
  shown,    \* the version that the Job cache still shows, Nil if it is the stored one
  unseen,   \* the changes of pods that the Pod cache lacks, oldest first
  backoff,  \* the delays after failures, as the controller remembers them (BO-05)
  past,     \* history: what really happened to the Job and to each pod
  used      \* which of the user's actions were taken

vars == << now, job, pods, shown, unseen, backoff, past, used >>

(***************************************************************************)
(* Pods. A pod has no UID of its own here: UIDs are what `pods` maps from. *)
(***************************************************************************)
Stamp == IF Scope.firstDelay > 0 THEN now ELSE 0   \* without delays nothing depends on pods' times

NewPod(index, failures, ignored) ==
  [ phase      |-> "Pending",     \* or Running, Succeeded, Failed
    deleting   |-> FALSE,         \* has a deletionTimestamp
    finalizer  |-> TRUE,          \* FT-01: holds batch.kubernetes.io/job-tracking
    ready      |-> FALSE,
    readySince |-> Nil,
    index      |-> index,         \* completion index, Nil if not Indexed
    failures   |-> failures,      \* annotation job-index-failure-count
    ignored    |-> ignored,       \* annotation job-index-ignored-failure-count
    policy     |-> "None",        \* action of the failure rule that it matches
    created    |-> Stamp,
    finished   |-> Nil ]         \* or when the pod was deleted, until it ends

\* BO-07: a pod that is being deleted and has not ended is dated from its deletion.
Deleted(p) == [p EXCEPT !.deleting = TRUE, !.finished = IF @ = Nil THEN Stamp ELSE @]

Ended(p)       == p.phase \in {"Succeeded", "Failed"}
Active(p)      == ~Ended(p) /\ ~p.deleting              \* PC-01
Terminating(p) == ~Ended(p) /\ p.deleting               \* PC-02
Ready(p)       == Active(p) /\ p.ready                  \* PC-03
EndTime(p)     == IF p.finished = Nil THEN p.created ELSE p.finished   \* BO-07

\* FT-18, RP-03, RP-04: what counts as a failure. Where replacements do not wait for the end, a pod
\* that is being deleted has failed already, unless it has succeeded.
HasFailed(p) == \/ p.phase = "Failed"
                \/ ~ReplacesOnlyFailed /\ p.deleting /\ p.phase # "Succeeded"
Ignored(p)   == p.policy = "Ignore"                     \* PF-06

Which(ps, Is(_)) == {u \in DOMAIN ps : Is(ps[u])}
Count(ps, Is(_)) == Cardinality(Which(ps, Is))
OfIndex(ps, i)   == {u \in DOMAIN ps : ps[u].index = i}
Put(ps, u, p)    == [v \in DOMAIN ps \cup {u} |-> IF v = u THEN p ELSE ps[v]]
Drop(ps, u)      == [v \in DOMAIN ps \ {u} |-> ps[v]]
Become(ps, u, p) == IF p = Nil THEN Drop(ps, u) ELSE Put(ps, u, p)

(***************************************************************************)
(* Jobs. A specification holds what a user may change.                     *)
(***************************************************************************)
NewSpec == [ completions |-> Scope.completions, parallelism |-> Scope.parallelism,
             suspend |-> FALSE, ttl |-> Scope.ttl ]

NewStatus ==
  [ active |-> 0, ready |-> Nil, terminating |-> Nil, succeeded |-> 0, failed |-> 0,
    startTime |-> Nil, completionTime |-> Nil,
    completed |-> {},          \* completedIndexes; PC-19 gives each set one text
    failedIndexes |-> Nil,     \* BI-04: a set from the first write on, with a limit per index
    uncounted |-> Nil,         \* uncountedTerminatedPods, present from the first write on (FT-30)
    conditions |-> << >> ]

NewJob == [spec |-> NewSpec, deleting |-> FALSE, status |-> NewStatus]

\* What a condition's message names besides fixed words is `about`: a pod, or a success rule.
Condition(type, status, reason, about) ==
  [type |-> type, status |-> status, reason |-> reason, about |-> about, time |-> now]

HasCondition(st, type) == \E k \in DOMAIN st.conditions : st.conditions[k].type = type
TheCondition(st, type) ==
  LET k == CHOOSE k \in DOMAIN st.conditions : st.conditions[k].type = type IN st.conditions[k]
IsTrue(st, type)       == HasCondition(st, type) /\ TheCondition(st, type).status = "True"

Finished(st)  == IsTrue(st, "Complete") \/ IsTrue(st, "Failed")
WillFail(st)  == IsTrue(st, "FailureTarget")
WillPass(st)  == IsTrue(st, "SuccessCriteriaMet")
Decided(st)   == Finished(st) \/ WillFail(st) \/ WillPass(st)
Suspension(st) ==
  IF HasCondition(st, "Suspended") THEN TheCondition(st, "Suspended").status ELSE Nil

Uncounted(st) == IF st.uncounted = Nil THEN [succeeded |-> {}, failed |-> {}] ELSE st.uncounted
Listed(st)    == Uncounted(st).succeeded \cup Uncounted(st).failed

\* PC-20, PC-23: stored indexes at or beyond `completions` are not read.
Below(spec, indexes) == {i \in indexes : spec.completions = Nil \/ i < spec.completions}

(***************************************************************************)
(* What a manager knows. A sync reads its caches once and then acts, so    *)
(* that decisions rest on `cache`, and reported numbers on `post`, which   *)
(* has the writes of this sync as well (PC-03).                            *)
(***************************************************************************)
Last(q)  == q[Len(q)]
Front(q) == SubSeq(q, 1, Len(q) - 1)

RECURSIVE Without(_, _)   \* the pods before the changes of q
Without(ps, q) == IF q = << >> THEN ps
                  ELSE Without(Become(ps, Last(q).pod, Last(q).before), Front(q))

RECURSIVE WithOwn(_, _, _)   \* with the own writes in q: those of earlier syncs, or all
WithOwn(ps, q, all) ==
  IF q = << >> THEN ps
  ELSE LET own == Head(q).own
           mine == own # Nil /\ (all \/ own.earlier)
       IN WithOwn(IF mine THEN Put(ps, Head(q).pod, own.after) ELSE ps, Tail(q), all)

\* PC-27: the cache shows every pod that earlier syncs created.
AllSeen(q) ==
  \A k \in DOMAIN q : q[k].own # Nil => ~(q[k].own.earlier /\ q[k].own.created)

\* PC-26: the cache lacks a deletion, finalizer first, that an earlier sync asked for.
DeletionUnseen(q) ==
  \E k \in DOMAIN q : q[k].own # Nil /\ q[k].own.earlier /\ q[k].own.after.deleting /\ ~q[k].own.after.finalizer

View(j, theJob) ==
  LET base == Without(pods[j], unseen[j]) IN
  [ spec     |-> theJob.spec,
    status   |-> theJob.status,
    deleting |-> theJob.deleting,
    cache    |-> WithOwn(base, unseen[j], FALSE),
    post     |-> WithOwn(base, unseen[j], TRUE),
    allSeen  |-> AllSeen(unseen[j]),
    deletionUnseen |-> DeletionUnseen(unseen[j]),
    backoff  |-> backoff[j] ]

CachedJob(j) == IF shown[j] # Nil THEN shown[j] ELSE job[j]

\* SY-04: the status is written only over the version that the Job cache shows.
MayWriteStatus(j) == job[j] # Nil /\ shown[j] = Nil

(***************************************************************************)
(* Changes, as a manager will see them.                                    *)
(***************************************************************************)
EndSync(q) ==   \* what the manager did so far belongs to an earlier sync now
  [k \in DOMAIN q |-> IF q[k].own = Nil THEN q[k] ELSE [q[k] EXCEPT !.own.earlier = TRUE]]

Queue(q, change) ==   \* the cache lags by so many changes and no more
  LET longer == Append(q, change)
      most   == Scope.lag
  IN IF Len(longer) <= most THEN longer
     ELSE EndSync(SubSeq(longer, Len(longer) - most + 1, Len(longer)))

StoredPod(j, u) == IF u \in DOMAIN pods[j] THEN pods[j][u] ELSE Nil

PodChanges(j, u, p, own) ==
  /\ pods' = [pods EXCEPT ![j] = Become(@, u, p)]
  /\ unseen' = [unseen EXCEPT ![j] =
                  Queue(@, [pod |-> u, before |-> StoredPod(j, u), own |-> own])]

ByOthers(j, u, p)  == PodChanges(j, u, p, Nil)
ByManager(j, u, p) ==
  PodChanges(j, u, p, [after |-> p, created |-> u \notin DOMAIN pods[j], earlier |-> FALSE])

JobChanges(j, new) ==   \* by somebody else
  /\ job' = [job EXCEPT ![j] = new]
  /\ shown' = [shown EXCEPT ![j] = IF Scope.jobLags THEN job[j] ELSE @]
=============================================================================
