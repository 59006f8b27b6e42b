----------------------------- MODULE StatusWrite ----------------------------
(***************************************************************************)
(* The status writes that the requirements allow. Most of a status follows *)
(* from the view; what is left open is which pods are recorded in which    *)
(* write, and when the Job is declared to have ended.                      *)
(***************************************************************************)
EXTENDS Manager

(***************************************************************************)
(* How the conditions go on: nothing is said, an interim condition is      *)
(* announced, or the terminal one is declared. Never two in one write      *)
(* (SS-34).                                                                *)
(***************************************************************************)
Keep(v) == [conditions |-> v.status.conditions, completionTime |-> v.status.completionTime,
            declares |-> FALSE, decides |-> FALSE]

\* PF-07, TC-02: what the message names.
About(v, reason) ==
  CASE reason = "PodFailurePolicy" -> FailJobPods(v)
    [] reason = "SuccessPolicy"    -> {CHOOSE r \in MetRules(v) : \A s \in MetRules(v) : r <= s}   \* SX-01
    [] OTHER                       -> {Nil}

InterimOf(reason) == IF Good(reason) THEN "SuccessCriteriaMet" ELSE "FailureTarget"

\* TC-07, SX-03: at the announcement every active pod has been deleted. It need not wait until all created
\* pods are seen: a verdict must not be lost (S-03).
Announcements(v) ==
  IF Decided(v.status) \/ Count(v.post, Active) > 0 THEN {}
  ELSE UNION {{[Keep(v) EXCEPT !.decides = TRUE,
                               !.conditions = Append(@, Condition(InterimOf(r), "True", r, a))]
               : a \in About(v, r)} : r \in MayEndBy(v)}

\* TC-14: the announcement stands in the first write in which the decision holds. TC-08: unless a pod
\* that was created or deleted has not been seen yet; but a completion does not wait for that (PC-24).
MayKeepSilent(v) ==
  \/ Decided(v.status)
  \/ ~FateIsCertain(v)
  \/ (~v.allSeen \/ v.deletionUnseen) /\ Fate(v) # "CompletionsReached"

\* TC-03: reason and message of the interim condition are repeated. TC-05: completionTime.
Declaration(v) ==
  LET st == v.status
      interim == TheCondition(st, IF WillFail(st) THEN "FailureTarget" ELSE "SuccessCriteriaMet")
      type == IF WillFail(st) THEN "Failed" ELSE "Complete"
  IN [Keep(v) EXCEPT !.declares = TRUE,
                     !.conditions = Append(@, Condition(type, "True", interim.reason, interim.about)),
                     !.completionTime = IF WillFail(st) THEN @ ELSE now]

\* TC-04, S-08: nothing runs or terminates, in the numbers of this write and in truth.
MayDeclare(v, truth) ==
  /\ Decided(v.status) /\ ~Finished(v.status)
  /\ \A u \in DOMAIN v.post : Ended(v.post[u])
  /\ \A u \in DOMAIN truth : Ended(truth[u])

Ends(v, truth) ==
  (IF MayKeepSilent(v) THEN {Keep(v)} ELSE {})
    \cup Announcements(v)
    \cup (IF MayDeclare(v, truth) THEN {Declaration(v)} ELSE {})

(***************************************************************************)
(* Suspension and startTime.                                               *)
(***************************************************************************)
Suspended == Condition("Suspended", "True", "JobSuspended", Nil)
Resumed   == Condition("Suspended", "False", "JobResumed", Nil)

Replace(conditions, c) ==
  IF \E k \in DOMAIN conditions : conditions[k].type = c.type
  THEN [k \in DOMAIN conditions |-> IF conditions[k].type = c.type THEN c ELSE conditions[k]]
  ELSE Append(conditions, c)

\* Whether the sync managed pods. PC-26: until a deletion is seen it need not.
MayHaveManaged(v) == {v.allSeen} \cup (IF v.deletionUnseen THEN {FALSE} ELSE {})

\* SU-05: the condition changes only in syncs that managed pods, and never for a Job that ends (SU-06).
Pause(v, end, managed) ==
  LET was     == Suspension(v.status)
      ends    == end.decides \/ Decided(v.status)
      reaches == managed /\ ~v.deleting /\ ~ends
      start   == v.status.startTime
      started == IF start = Nil THEN now ELSE start
  IN IF reaches /\ v.spec.suspend /\ was # "True"
     THEN [conditions |-> Replace(end.conditions, Suspended), startTime |-> Nil]       \* SU-01 … SU-03
     ELSE IF reaches /\ ~v.spec.suspend /\ was = "True"
     THEN [conditions |-> Replace(end.conditions, Resumed), startTime |-> now]         \* SU-04
     ELSE [ conditions |-> end.conditions,
            startTime |-> IF ~v.spec.suspend THEN started
                          \* S-04: a suspended Job that meets its end gets its startTime with the decision.
                          ELSE IF end.decides /\ v.spec.completions # 0 THEN started ELSE start ]

(***************************************************************************)
(* Recording and counting pods (FT-02).                                    *)
(***************************************************************************)
\* FT-02, FT-04, FT-05: a listed UID whose pod has lost the finalizer, or is gone, is counted now; the
\* others stay.
Leaving(v) == {u \in Listed(v.status) : u \notin DOMAIN v.post \/ ~v.post[u].finalizer}

Fails(v, end)  == WillFail(v.status) \/ (end.decides /\ Last(end.conditions).type = "FailureTarget")
Passes(v, end) == WillPass(v.status) \/ (end.decides /\ Last(end.conditions).type = "SuccessCriteriaMet")

\* FT-07: an Indexed success is recorded by its index alone.
RecordableSuccesses(v) == IF Indexed THEN {} ELSE NewSuccesses(v)

\* FT-08, FT-15, FT-18: failures; of a Job that fails, its living pods as well. PF-06: not ignored ones.
RecordableFailures(v, end) ==
  {u \in DOMAIN v.cache : LET p == v.cache[u] IN
     /\ MayCount(v, p) /\ u \notin Listed(v.status)
     /\ IF HasFailed(p)
        THEN /\ ~Ignored(p)
             /\ Fails(v, end) \/ Passes(v, end) \/ ~MustWait(v, u)                     \* BI-08
        ELSE Fails(v, end) /\ ~Ended(p)}

\* What a write may not leave out. What the pods of a Job that succeeds end as counts nowhere (SX-03).
Due(v, end) ==
  RecordableSuccesses(v)
    \cup (IF Passes(v, end) THEN {}
          ELSE {u \in RecordableFailures(v, end) :
                  HasFailed(v.cache[u]) /\ (Fails(v, end) \/ ~MayWait(v, u))})

\* FT-10: newly completed indexes and listed UIDs together fill the cap.
IsFull(v, listed) ==
  Cardinality(listed) + Cardinality(Completed(v) \ Below(v.spec, v.status.completed)) >= Scope.maxUncounted

\* FT-10: the first write of the sync filled the cap, so that the second records nothing more: what that write
\* listed, and what was released since without being listed.
WasFull(v) ==
  LET released == {u \in DOMAIN v.cache : /\ v.cache[u].finalizer /\ v.cache[u].phase = "Succeeded"
                                          /\ u \notin Listed(v.status)
                                          /\ u \notin DOMAIN v.post \/ ~v.post[u].finalizer}
  IN Cardinality(Listed(v.status)) + Cardinality(released) >= Scope.maxUncounted

\* The sets of UIDs that may enter the lists.
Records(v, end) ==
  LET staying == Listed(v.status) \ Leaving(v)
      able    == RecordableSuccesses(v) \cup RecordableFailures(v, end)
  IN {r \in SUBSET able :
        /\ Cardinality(staying \cup r) <= Scope.maxUncounted                           \* SC-05
        /\ Due(v, end) \subseteq r \/ IsFull(v, staying \cup r) \/ WasFull(v)
        /\ end.declares => staying \cup r = {}}                                        \* TC-04

(***************************************************************************)
(* The whole.                                                              *)
(***************************************************************************)
Status(v, end, r, managed) ==
  LET was == Uncounted(v.status)
      pause == Pause(v, end, managed)
  IN [ active         |-> Count(v.post, Active),                                       \* PC-01
       terminating    |-> Count(v.post, Terminating),                                  \* PC-02, RP-06
       ready          |-> Count(v.post, Ready),                                        \* PC-03
       succeeded      |-> IF Indexed THEN Cardinality(Completed(v))                    \* PC-21
                          ELSE v.status.succeeded + Cardinality(was.succeeded \cap Leaving(v)),
       failed         |-> v.status.failed + Cardinality(was.failed \cap Leaving(v)),
       startTime      |-> pause.startTime,
       completionTime |-> end.completionTime,
       completed      |-> Completed(v),                                                \* FT-12
       failedIndexes  |-> IF PerIndexLimit THEN FailedIndexes(v) ELSE Nil,             \* BI-04
       uncounted      |-> [ succeeded |-> (was.succeeded \ Leaving(v)) \cup (r \cap RecordableSuccesses(v)),
                            failed    |-> (was.failed \ Leaving(v)) \cup (r \ RecordableSuccesses(v)) ],
       conditions     |-> pause.conditions ]

\* S-01: a Job that completes by completions has the successes in its counter; as many as it wanted when it was
\* decided, or since: it may have been scaled (PC-23).
EnoughSuccesses(v, end, st, fewest) ==
  end.declares /\ WillPass(v.status) /\ TheCondition(v.status, "SuccessCriteriaMet").reason = "CompletionsReached"
    => st.succeeded >= (IF fewest = Nil THEN 1 ELSE fewest)

\* SU-01, SU-05: a Job that becomes suspended has lost its active pods: the sync has deleted them.
LeavesNoPods(v, st) == Suspension(v.status) # "True" /\ Suspension(st) = "True" => st.active = 0

StatusWrites(v, truth, fewest) ==
  IF Finished(v.status) THEN {}                                                        \* TC-11
  ELSE {st \in UNION {{Status(v, end, r, m) : r \in Records(v, end), m \in MayHaveManaged(v)} :
                        end \in {e \in Ends(v, truth) : EnoughSuccesses(v, e, Status(v, e, {}, FALSE), fewest)}} :
          st # v.status /\ LeavesNoPods(v, st)}                                        \* SY-05

WriteStatus(j) ==
  /\ MayWriteStatus(j)
  /\ LET v == View(j, job[j]) IN
     \E st \in StatusWrites(v, pods[j], IF past[j].decision = Nil THEN Nil ELSE past[j].decision.fewest) :
       /\ job' = [job EXCEPT ![j].status = st]
       /\ past' = [past EXCEPT ![j] = Written(@, v.spec, v.status, st, pods[j])]
       /\ backoff' = [backoff EXCEPT ![j] = BackoffIn(v)]
  /\ unseen' = [unseen EXCEPT ![j] = EndSync(@)]
  /\ UNCHANGED << now, pods, shown, used >>
=============================================================================
