------------------------------- MODULE Steps --------------------------------
(***************************************************************************)
(* What may happen: requests of the manager, and steps of everybody else.  *)
(***************************************************************************)
EXTENDS Protocol

(***************************************************************************)
(* Caches. A cache shows a version that was stored once, and jumps to the  *)
(* newest one just before a decision reads it. A worker that is away still *)
(* delivers what happened before, unless the cache was never filled.       *)
(***************************************************************************)
IsReadable(w) == ~worker[w].away \/ manager.copies[w] # Unfilled
Newest(w)     == IF worker[w].away THEN worker[w].before ELSE worker[w].copy

\* A creation is awaited until the cache has been read again.
StaleWorkers ==
  {w \in Workers : \/ IsReadable(w) /\ manager.copies[w] # Newest(w)
                   \/ w \in manager.awaited /\ ~worker[w].away}

\* The cache of the manager cluster is 0 in a set of caches.
Stale == StaleWorkers \cup (IF manager.local = local THEN {} ELSE {0})

Refreshed(caches) ==
  [ local   |-> IF 0 \in caches THEN local ELSE manager.local,
    copies  |-> [w \in Workers |-> IF w \in caches THEN Newest(w) ELSE manager.copies[w]],
    awaited |-> manager.awaited \ caches ]

(***************************************************************************)
(* The API servers. A request that changes nothing, such as a conflict, is *)
(* no step.                                                                *)
(***************************************************************************)
HasEffect(r, known) ==
  IF r.call = "Write" THEN known.local = local   \* the resourceVersion is that of the cache
  ELSE LET stored == worker[r.to].copy
           seen   == known.copies[r.to]
       IN /\ ~worker[r.to].away
          /\ CASE r.call = "Create"  -> stored = Nil /\ Len(past.copies) < MostCopies
               [] r.call = "Suspend" -> /\ stored # Nil /\ stored.of = seen.of           \* by UID
                                        /\ stored.suspended # r.suspended
               [] r.call = "Delete"  -> stored # Nil /\ stored.of = seen.of /\ ~stored.deleting
               [] r.call = "Release" -> stored = seen /\ stored.finalizer                \* by resourceVersion

Sent(caches) ==
  LET known == Refreshed(caches)
  IN {r \in Requests(known.local, known.copies, known.awaited) : HasEffect(r, known)}

\* A request is sent with the fewest caches that have to be read for it. What else is read later is as good.
IsFewest(caches, r) == \A fewer \in SUBSET caches \ {caches} : r \notin Sent(fewer)

(***************************************************************************)
(* Jobs that go.                                                           *)
(***************************************************************************)
\* The copy on this worker is removed at last; `history` is that before.
Removed(history, w) ==
  LET copy == worker[w].copy
      Goes(record) == [record EXCEPT !.gone    = Remains(copy.status),
                                     !.expired = IF record.expires THEN local # Nil /\ ~past.ended ELSE Nil]
  IN /\ worker' = [worker EXCEPT ![w].copy = Nil, ![w].hidden = 0]
     /\ past' = IF IsOwn(copy) THEN Recorded(history, w, Goes) ELSE history

\* It is deleted, and the finalizer holds it.
Deleted(history, w) ==
  IF worker[w].copy.finalizer
  THEN worker' = [worker EXCEPT ![w].copy.deleting = TRUE] /\ past' = history
  ELSE Removed(history, w)

LocalGoes ==
  /\ local' = Nil
  /\ past' = [past EXCEPT !.last = local.status]
  /\ UNCHANGED << now, born, worker, manager >>

(***************************************************************************)
(* Requests of the manager.                                                *)
(***************************************************************************)
Stores(st, known) ==
  /\ local' = [local EXCEPT !.status = st]
  /\ past' = [past EXCEPT !.ended = @ \/ Finished(st)]
  /\ manager' = IF Scope.lags THEN known ELSE [known EXCEPT !.local = local']
  /\ UNCHANGED << now, worker >>

Creates(w, base, known) ==
  /\ now' = now + 1
  /\ worker' = [worker EXCEPT ![w].copy = NewCopy(known.local.number, base, TRUE)]
  /\ past' = IF known.local.number = born THEN [past EXCEPT !.copies = Append(@, NewRecord(w))] ELSE past
  /\ manager' = [known EXCEPT !.awaited = @ \cup {w}]
  /\ UNCHANGED local

Suspends(w, flag, known) ==
  /\ worker' = [worker EXCEPT ![w].copy.suspended = flag]
  /\ manager' = known
  /\ UNCHANGED << now, local, past >>

Deletes(w, known) ==
  /\ Deleted(past, w)
  /\ manager' = known
  /\ UNCHANGED << now, local >>

Releases(w, known) ==
  /\ IF worker[w].copy.deleting THEN Removed(past, w)
     ELSE worker' = [worker EXCEPT ![w].copy.finalizer = FALSE] /\ past' = past
  /\ manager' = known
  /\ UNCHANGED << now, local >>

Request ==
  \E caches \in SUBSET Stale : \E r \in Sent(caches) :
    /\ IsFewest(caches, r)
    /\ LET known == Refreshed(caches) IN
       CASE r.call = "Write"   -> Stores(r.status, known)
         [] r.call = "Create"  -> Creates(r.to, r.base, known)
         [] r.call = "Suspend" -> Suspends(r.to, r.suspended, known)
         [] r.call = "Delete"  -> Deletes(r.to, known)
         [] r.call = "Release" -> Releases(r.to, known)
    /\ UNCHANGED << born, left >>

(***************************************************************************)
(* The user, the dispatcher, and another actor on the manager cluster.     *)
(***************************************************************************)
Spend(what) == left[what] > 0 /\ left' = [left EXCEPT ![what] = @ - 1]

UserSuspends ==
  /\ local # Nil /\ ~Finished(local.status)
  /\ Spend("suspends")
  /\ local' = [local EXCEPT !.suspended = ~@]
  /\ now' = now + 1
  /\ past' = [past EXCEPT !.paused = TRUE]
  /\ UNCHANGED << born, worker, manager >>

UserDeletes == local # Nil /\ Spend("deletions") /\ LocalGoes

UserRecreates ==
  /\ local = Nil
  /\ Spend("recreations")
  /\ now' = now + 1
  /\ born' = born + 1
  /\ local' = NewLocal(born', now')
  /\ past' = [NewPast EXCEPT !.former = AllTimes(past.last), !.foreign = past.foreign \cup past.own]
  /\ UNCHANGED << worker, manager >>

Assign(w) ==
  /\ local # Nil /\ local.assigned = Nil /\ ~local.suspended /\ ~Finished(local.status)
  /\ local' = [local EXCEPT !.assigned = w]
  /\ UNCHANGED << now, born, worker, manager, left, past >>

Evict ==
  /\ local # Nil /\ local.assigned # Nil /\ ~Finished(local.status)
  /\ Spend("evictions")
  /\ local' = [local EXCEPT !.assigned = Nil]
  /\ UNCHANGED << now, born, worker, manager, past >>

SetCondition ==
  /\ local # Nil /\ local.status.foreign = Nil
  /\ Spend("conditions")
  /\ local' = [local EXCEPT !.status.foreign = now]
  /\ UNCHANGED << now, born, worker, manager, past >>

Expire ==
  /\ Scope.ttl /\ local # Nil /\ Finished(local.status)
  /\ LocalGoes
  /\ UNCHANGED left

(***************************************************************************)
(* Others on a worker, the network, and the manager's process.             *)
(***************************************************************************)
DeleteCopy(w) ==
  /\ worker[w].copy # Nil /\ ~worker[w].copy.deleting
  /\ Spend("copyDeletions")
  /\ Deleted(past, w)
  /\ UNCHANGED << now, born, local, manager >>

ExpireCopy(w) ==
  LET copy == worker[w].copy
      Expires(record) == [record EXCEPT !.expires = TRUE]
  IN
  /\ Scope.ttl /\ copy # Nil /\ ~copy.deleting /\ Finished(copy.status)
  /\ Deleted(IF IsOwn(copy) THEN Recorded(past, w, Expires) ELSE past, w)
  /\ UNCHANGED << now, born, local, manager, left >>

CreateStranger(w) ==
  /\ worker[w].copy = Nil
  /\ Spend("strangers")
  /\ worker' = [worker EXCEPT ![w].copy = Stranger]
  /\ UNCHANGED << now, born, local, manager, past >>

Disconnect(w) ==
  /\ ~worker[w].away
  /\ Spend("disconnections")
  /\ worker' = [worker EXCEPT ![w].away = TRUE, ![w].before = worker[w].copy]
  /\ UNCHANGED << now, born, local, manager, past >>

Reconnect(w) ==
  /\ worker[w].away
  /\ worker' = [worker EXCEPT ![w].away = FALSE, ![w].before = Nil]
  /\ UNCHANGED << now, born, local, manager, left, past >>

Crash ==
  /\ Spend("crashes")
  /\ manager' = NewProcess
  /\ UNCHANGED << now, born, local, worker, past >>

OnWorker(w) ==
  \/ IsCopy(worker[w].copy) /\ \E m \in Moves : Execute(w, m)
  \/ Assign(w) \/ DeleteCopy(w) \/ ExpireCopy(w) \/ CreateStranger(w) \/ Disconnect(w) \/ Reconnect(w)
=============================================================================
