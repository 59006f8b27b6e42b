------------------------------- MODULE Manager ------------------------------
(***************************************************************************)
(* The manager of a Job: the writes that the requirements allow. Each      *)
(* guard is an operator that names the requirements it states. `v` is the  *)
(* view that a write is decided from.                                      *)
(***************************************************************************)
EXTENDS Decision

(***************************************************************************)
(* Creating pods.                                                          *)
(***************************************************************************)
WantsPods(v) ==
  /\ ~Decided(v.status)             \* TC-07
  /\ ~v.deleting                    \* FT-19
  /\ ~v.spec.suspend                \* SU-01
  /\ v.allSeen                      \* PC-27
  /\ FateIsCertain(v) => Fate(v) = "CompletionsReached"   \* TC-01

\* PC-04, PC-08: how many more pods may be created. RP-03: terminating ones hold their slots.
Room(v) == Wanted(v) - Count(v.post, Active)
                     - (IF ReplacesOnlyFailed THEN Count(v.post, Terminating) ELSE 0)

\* PC-18, RP-12, BI-04: indexes that wait for a pod.
PendingIndexes(v) ==
  {i \in 0 .. v.spec.completions - 1 :
     /\ i \notin Completed(v)
     /\ PerIndexLimit => i \notin FailedIndexes(v)
     /\ \A u \in OfIndex(v.post, i) :
          ~Active(v.post[u]) /\ ~(ReplacesOnlyFailed /\ Terminating(v.post[u]))}

\* PC-18: the lowest ones come first.
MayCreateIndex(v) ==
  IF ~Indexed THEN {Nil}
  ELSE {i \in PendingIndexes(v) : Cardinality({k \in PendingIndexes(v) : k < i}) < Room(v)}

\* BI-02: the failure counts that a pod of this index carries on. BI-08: its predecessor is the last
\* failed pod, which still has its finalizer.
Counts(v, i) ==
  LET failed == FailedOf(v, i)
      last   == {u \in failed : \A w \in failed : Rank(v.cache[w]) <= Rank(v.cache[u])}
      After(p) == IF Ignored(p) THEN << p.failures, p.ignored + 1 >> ELSE << p.failures + 1, p.ignored >>
  IN IF ~PerIndexLimit \/ last = {} THEN { << 0, 0 >> } ELSE {After(v.cache[u]) : u \in last}

\* BO-01, BO-02: no pod of the Job while the global delay runs.
DelayIsOver(v) ==
  LET record == BackoffIn(v)
  IN record.failures > 0 => now - record.last >= Delay(record.failures)

CreatePod(j) ==
  /\ CachedJob(j) # Nil
  /\ NextUid(j) <= Scope.pods
  /\ LET v == View(j, CachedJob(j)) IN
       /\ WantsPods(v)
       /\ Room(v) > 0
       /\ DelayIsOver(v)
       /\ \E i \in MayCreateIndex(v) : \E c \in Counts(v, i) :
            LET p == NewPod(i, c[1], c[2]) IN
            /\ ByManager(j, NextUid(j), p)
            /\ past' = [past EXCEPT ![j] = Born(@, p)]
  /\ UNCHANGED << now, job, shown, backoff, used >>

(***************************************************************************)
(* Deleting pods.                                                          *)
(***************************************************************************)
IsFinishing(v) == Decided(v.status) \/ FateIsCertain(v)
MayBeFinishing(v) == IsFinishing(v) \/ PastDeadline(v)

\* PC-27, FT-19: pods are managed only once all are seen, and not for a Job that ends.
Manages(v) == ~IsFinishing(v) /\ ~v.deleting /\ v.allSeen

Suspending(v) == Manages(v) /\ v.spec.suspend                      \* SU-01
HasSurplus(v) == Manages(v) /\ ~v.spec.suspend /\ Surplus(v) > 0   \* PC-04, PC-05

\* PC-09: whether p is deleted before q.
PhaseOrder(p) == IF p.phase = "Pending" THEN 0 ELSE 1
Since(p) == IF p.ready THEN p.readySince ELSE 0
Precedes(p, q) ==
  \/ PhaseOrder(p) < PhaseOrder(q)
  \/ PhaseOrder(p) = PhaseOrder(q) /\ \/ ~p.ready /\ q.ready
                                      \/ p.ready = q.ready /\ \/ Since(p) > Since(q)
                                                              \/ Since(p) = Since(q) /\ p.created > q.created

\* PC-06: of the pods of one index the last in that order is kept, and of two that tie one not chosen yet.
Keeps(q, p) == Precedes(p, q) \/ (~Precedes(q, p) /\ q.finalizer)
BadIndex(v, u) ==
  /\ Manages(v) /\ ~v.spec.suspend /\ Indexed
  /\ \/ ~ValidIndex(v, v.post[u])
     \/ \E w \in OfIndex(v.post, v.post[u].index) \ {u} : Active(v.post[w]) /\ Keeps(v.post[w], v.post[u])

\* FT-16: the reasons to delete a pod that is then counted nowhere.
Unneeded(v, u) == Suspending(v) \/ HasSurplus(v) \/ BadIndex(v, u)

\* Active pods that do not go in any case.
GoodPods(v) == {w \in DOMAIN v.post : Active(v.post[w]) /\ ~BadIndex(v, w)}

IsPreferred(v, u) ==
  Cardinality({w \in GoodPods(v) : Precedes(v.post[w], v.post[u])}) < Surplus(v)

MayDelete(v, u) ==
  /\ u \in DOMAIN v.post
  /\ LET p == v.post[u] IN
       /\ ~Ended(p)                                                 \* FT-32
       /\ \/ MayBeFinishing(v)                                      \* TC-07, FT-17
          \/ /\ Unneeded(v, u)
             /\ ~p.finalizer                                        \* FT-16: removed before
             /\ HasSurplus(v) /\ ~BadIndex(v, u) => IsPreferred(v, u)

Deletable(j) ==
  IF CachedJob(j) = Nil THEN {}
  ELSE LET v == View(j, CachedJob(j))
       IN {u \in DOMAIN pods[j] : ~pods[j][u].deleting /\ MayDelete(v, u)}

DeletePod(j) == \E u \in Deletable(j) :
  /\ LET p == Deleted(pods[j][u]) IN
       /\ ByManager(j, u, p)
       /\ past' = [past EXCEPT ![j] = Lived(@, u, p)]
  /\ UNCHANGED << now, job, shown, backoff, used >>

(***************************************************************************)
(* Removing the tracking finalizer (FT-14).                                *)
(***************************************************************************)
IsCounted(j, u) == past[j].pods[u].succeeded + past[j].pods[u].failed > 0

\* FT-02, FT-03, FT-07: what is stored about the pod, whatever a cache shows.
IsRecorded(j, u) ==
  LET st == job[j].status
      p  == pods[j][u]
      outside == Indexed /\ (p.index = Nil \/ p.index >= job[j].spec.completions)
  IN \/ Finished(st)                                                \* FT-23
     \/ u \in Listed(st) \/ IsCounted(j, u)
     \/ Indexed /\ p.phase = "Succeeded" /\ p.index \in st.completed
     \/ PerIndexLimit /\ p.phase = "Succeeded" /\ st.failedIndexes # Nil /\ p.index \in st.failedIndexes  \* S-02
     \/ outside /\ Ended(p)                                         \* FT-09
     \/ p.phase = "Failed" /\ Ignored(p) /\ ~PerIndexLimit          \* FT-11

\* FT-15, FT-16, FT-19: pods that are given up uncounted.
MayGiveUp(v, u) ==
  \/ v.deleting                                                     \* FT-19
  \/ /\ u \in DOMAIN v.cache /\ Indexed                             \* FT-09, by the completions that were read
     /\ v.cache[u].index = Nil \/ v.cache[u].index >= v.spec.completions
     /\ WillFail(v.status) \/ Ended(v.cache[u]) \/ HasFailed(v.cache[u])
  \/ /\ u \in DOMAIN v.cache /\ PerIndexLimit                       \* FT-11, BI-08: its successor knows its count
     /\ v.cache[u].phase = "Failed" /\ Ignored(v.cache[u])
     /\ Decided(v.status) \/ ~MustWait(v, u)
  \/ /\ u \in DOMAIN v.cache
     /\ ~Ended(v.cache[u]) /\ ~HasFailed(v.cache[u])                \* FT-03: those are recorded first
     /\ ~WillFail(v.status)                                         \* FT-15: a failure counts every pod
     /\ \/ WillPass(v.status)                                       \* FT-15: a success counts no living one
        \/ LET p == v.post[u]
               chosen == {w \in GoodPods(v) : ~v.post[w].finalizer}
           IN /\ Active(p) /\ Unneeded(v, u)                        \* FT-16
              /\ ~v.spec.suspend /\ ~BadIndex(v, u) => Cardinality(chosen) < Surplus(v)

\* PF-09, S-03: a FailJob verdict is stored before the pod that it rests on is released.
VerdictIsStored(j, p) ==
  p.phase = "Failed" /\ p.policy = "FailJob" /\ ~job[j].deleting => Decided(job[j].status)

\* FT-20: once the Job is gone nothing counts any more.
Releasable(j) ==
  {u \in DOMAIN pods[j] :
     /\ pods[j][u].finalizer
     /\ job[j] # Nil => /\ VerdictIsStored(j, pods[j][u])
                        /\ IsRecorded(j, u) \/ MayGiveUp(View(j, CachedJob(j)), u)}

ReleasePod(j) == \E u \in Releasable(j) :
  /\ ByManager(j, u, [pods[j][u] EXCEPT !.finalizer = FALSE])
  /\ UNCHANGED << now, job, shown, backoff, past, used >>
=============================================================================
