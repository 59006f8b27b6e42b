------------------------------ MODULE Decision ------------------------------
(***************************************************************************)
(* What a view `v` says: how many pods have ended and how, whether the     *)
(* Job's fate is decided, and how many pods should run.                    *)
(***************************************************************************)
EXTENDS History

(***************************************************************************)
(* Counting (KEP-2307).                                                    *)
(***************************************************************************)
ValidIndex(v, p) == p.index # Nil /\ p.index < v.spec.completions
MayCount(v, p)   == p.finalizer /\ (Indexed => ValidIndex(v, p))       \* FT-06, FT-09

\* Pods that ended and are in no list yet. A UID in the failed list stays a failure (FT-13).
NewSuccesses(v) == {u \in DOMAIN v.cache : LET p == v.cache[u] IN
                      p.phase = "Succeeded" /\ MayCount(v, p) /\ u \notin Listed(v.status)}
NewFailures(v)  == {u \in DOMAIN v.cache : LET p == v.cache[u] IN
                      HasFailed(p) /\ MayCount(v, p) /\ u \notin Listed(v.status)}

StoredFailed(v) == IF v.status.failedIndexes = Nil THEN {} ELSE Below(v.spec, v.status.failedIndexes)

\* FT-12, PC-23: stored ones, and those of new successes. S-02: a failure that is stored stays.
Completed(v) ==
  IF ~Indexed THEN {}
  ELSE Below(v.spec, v.status.completed)
         \cup ({v.cache[u].index : u \in NewSuccesses(v)} \ StoredFailed(v))

\* BI-01: a counted failure with no retry left, or one that matches FailIndex.
ExhaustsIndex(p) == \/ p.policy = "FailIndex"
                    \/ ~Ignored(p) /\ p.failures >= Scope.limitPerIndex

\* BI-04, BI-05: stored ones, and those of pods with the finalizer. S-02: a success comes first.
FailedIndexes(v) ==
  LET exhausting == {u \in DOMAIN v.cache : LET p == v.cache[u] IN
                       HasFailed(p) /\ MayCount(v, p) /\ ExhaustsIndex(p)}
  IN StoredFailed(v) \cup ({v.cache[u].index : u \in exhausting} \ Completed(v))

\* PC-04, PC-21
Succeeded(v) ==
  IF Indexed THEN Cardinality(Completed(v))
  ELSE v.status.succeeded + Cardinality(Uncounted(v.status).succeeded) + Cardinality(NewSuccesses(v))

\* BO-12
Failed(v) ==
  LET counted == {u \in NewFailures(v) : ~Ignored(v.cache[u])}
  IN v.status.failed + Cardinality(Uncounted(v.status).failed) + Cardinality(counted)

(***************************************************************************)
(* Why a Job ends, in the order in which the reasons are tried (TC-01).    *)
(***************************************************************************)
Reasons == << "PodFailurePolicy", "BackoffLimitExceeded", "DeadlineExceeded", "MaxFailedIndexesExceeded",
              "FailedIndexes", "SuccessPolicy", "CompletionsReached" >>
Good(reason) == reason \in {"SuccessPolicy", "CompletionsReached"}

\* PF-08: over all failed pods, released ones included.
FailJobPods(v) == {u \in DOMAIN v.cache : v.cache[u].phase = "Failed" /\ v.cache[u].policy = "FailJob"}

\* SU-08, SU-09: relative to startTime; a sync that finds none sets it to its own now.
PastDeadline(v) ==
  /\ Scope.deadline # Nil
  /\ ~v.spec.suspend
  /\ IF v.status.startTime = Nil THEN Scope.deadline = 0
     ELSE now - v.status.startTime >= Scope.deadline

\* SX-01, SX-02: the rules that are met. A rule that names no index below completions is skipped.
MetRules(v) ==
  {r \in DOMAIN Scope.successRules :
     LET wanted == Below(v.spec, Scope.successRules[r]) IN wanted # {} /\ wanted \subseteq Completed(v)}

\* PC-24, PC-25: on what is active after the sync's own writes.
ReachesCompletions(v) ==
  /\ IF v.spec.completions = Nil THEN Succeeded(v) > 0 ELSE Succeeded(v) >= v.spec.completions
  /\ Count(v.post, Active) = 0

Holds(v, reason) ==
  CASE reason = "PodFailurePolicy"         -> FailJobPods(v) # {}
    [] reason = "BackoffLimitExceeded"     -> Failed(v) > Scope.backoffLimit                    \* BO-12
    [] reason = "DeadlineExceeded"         -> PastDeadline(v)
    [] reason = "MaxFailedIndexesExceeded" -> /\ PerIndexLimit /\ Scope.maxFailed # Nil         \* BI-06
                                              /\ Cardinality(FailedIndexes(v)) > Scope.maxFailed
    [] reason = "FailedIndexes"            -> /\ PerIndexLimit /\ FailedIndexes(v) # {}         \* BI-07
                                              /\ Cardinality(FailedIndexes(v)) + Succeeded(v)
                                                   >= v.spec.completions
    [] reason = "SuccessPolicy"            -> MetRules(v) # {}
    [] reason = "CompletionsReached"       -> ReachesCompletions(v)

\* A clock that is known to the second only cannot tell the instant at which a sync looked at it: a
\* deadline that has passed may have been missed still. Deadline 0 leaves no doubt (SU-09).
Certain(v, reason) ==
  Holds(v, reason) /\ (reason = "DeadlineExceeded" => v.status.startTime = Nil)

FateIsCertain(v) == \E k \in DOMAIN Reasons : Certain(v, Reasons[k])
Fate(v) == LET k == CHOOSE k \in DOMAIN Reasons :
                      Certain(v, Reasons[k]) /\ \A l \in 1 .. k - 1 : ~Certain(v, Reasons[l])
           IN Reasons[k]

\* The reasons that an interim condition may give now: none that comes earlier holds for certain.
MayEndBy(v) == {Reasons[k] : k \in {k \in DOMAIN Reasons :
                  Holds(v, Reasons[k]) /\ \A l \in 1 .. k - 1 : ~Certain(v, Reasons[l])}}

(***************************************************************************)
(* How many pods should be active (PC-04, PC-05).                          *)
(***************************************************************************)
Min(a, b) == IF a < b THEN a ELSE b
Max(a, b) == IF a > b THEN a ELSE b

Wanted(v) ==
  IF v.spec.completions = Nil
  THEN IF Succeeded(v) > 0 THEN Count(v.cache, Active) ELSE v.spec.parallelism
  ELSE Min(Max(v.spec.completions - Succeeded(v), 0), v.spec.parallelism)

\* PC-06: of each valid index one pod is kept; those that go in any case are no part of the surplus.
HeldIndexes(v) == {v.post[u].index : u \in {w \in DOMAIN v.post : Active(v.post[w]) /\ ValidIndex(v, v.post[w])}}
Surplus(v) == (IF Indexed THEN Cardinality(HeldIndexes(v)) ELSE Count(v.post, Active)) - Wanted(v)

(***************************************************************************)
(* BI-08: the last failed pod of an index keeps its finalizer, and is not  *)
(* recorded, until its replacement is active, or the index is done.        *)
(***************************************************************************)
Rank(p) == p.failures + p.ignored
IsBefore(p, q) == Rank(p) < Rank(q) \/ (Rank(p) = Rank(q) /\ EndTime(p) < EndTime(q))

FailedOf(v, i) == {u \in OfIndex(v.cache, i) : v.cache[u].finalizer /\ HasFailed(v.cache[u])}

IsIndexOpen(v, u) ==
  /\ PerIndexLimit
  /\ ValidIndex(v, v.cache[u])
  /\ ~v.deleting
  /\ v.cache[u].index \notin Completed(v) \cup FailedIndexes(v)
  /\ ~\E w \in OfIndex(v.cache, v.cache[u].index) : Active(v.cache[w])

\* Where counts and times tie, either pod may be the one that is kept.
MustWait(v, u) == IsIndexOpen(v, u) /\ \A w \in FailedOf(v, v.cache[u].index) \ {u} : IsBefore(v.cache[w], v.cache[u])
MayWait(v, u)  == IsIndexOpen(v, u) /\ \A w \in FailedOf(v, v.cache[u].index) : ~IsBefore(v.cache[u], v.cache[w])

(***************************************************************************)
(* The global backoff (BO-01, BO-03, BO-05): consecutive failures since    *)
(* the last success, and when the last of them ended.                      *)
(***************************************************************************)
NewBackoff == [failures |-> 0, last |-> Nil, known |-> {}]
HasBackoff == Scope.firstDelay > 0 /\ ~PerIndexLimit

Latest(v, us) ==
  IF us = {} THEN Nil
  ELSE EndTime(v.cache[CHOOSE u \in us : \A w \in us : EndTime(v.cache[w]) <= EndTime(v.cache[u])])

\* The record with what the view shows besides; each pod is taken once.
BackoffIn(v) ==
  LET failures == NewFailures(v) \ v.backoff.known
      success  == Latest(v, NewSuccesses(v) \ v.backoff.known)
      later    == {u \in failures : EndTime(v.cache[u]) > success}
  IN IF ~HasBackoff THEN NewBackoff
     ELSE [ failures |-> IF success = Nil THEN v.backoff.failures + Cardinality(failures)
                         ELSE Cardinality(later),
            last     |-> IF success # Nil THEN Latest(v, later)
                         ELSE IF failures = {} THEN v.backoff.last ELSE Latest(v, failures),
            known    |-> v.backoff.known \cup NewFailures(v) \cup NewSuccesses(v) ]

Delay(failures) == IF failures = 0 THEN 0 ELSE Min(Scope.firstDelay * 2 ^ (failures - 1), 600)
=============================================================================
