----------------------------- MODULE Environment ----------------------------
(***************************************************************************)
(* Everything that happens without a controller under judgement.           *)
(***************************************************************************)
EXTENDS StatusWrite

(***************************************************************************)
(* The kubelet gives each pod a final phase before its object goes (EN-01).*)
(***************************************************************************)
MayEnd(p) == ~Ended(p) /\ ~(Scope.phases /\ p.phase = "Pending" /\ ~p.deleting)

\* PF-01: the action of the first rule that matches.
PolicyFor(j, code) ==
  LET matching == {r \in DOMAIN Scope.failureRules : code \in Scope.failureRules[r].codes}
  IN IF job[j] = Nil \/ matching = {} THEN "None"
     ELSE Scope.failureRules[CHOOSE r \in matching : \A s \in matching : r <= s].action

PodLives(j, u, p) ==
  /\ ByOthers(j, u, p)
  /\ past' = [past EXCEPT ![j] = Lived(@, u, p)]
  /\ UNCHANGED << now, job, shown, backoff, used >>

PodRuns(j, u) ==
  /\ Scope.phases /\ pods[j][u].phase = "Pending" /\ ~pods[j][u].deleting
  /\ PodLives(j, u, [pods[j][u] EXCEPT !.phase = "Running"])

PodBecomesReady(j, u) ==
  /\ Scope.phases /\ MayEnd(pods[j][u]) /\ ~pods[j][u].ready /\ ~pods[j][u].deleting
  /\ PodLives(j, u, [pods[j][u] EXCEPT !.ready = TRUE, !.readySince = Stamp])

PodSucceeds(j, u) ==
  /\ MayEnd(pods[j][u])
  /\ PodLives(j, u, [pods[j][u] EXCEPT !.phase = "Succeeded", !.ready = FALSE, !.finished = Stamp])

PodFails(j, u, code) ==
  /\ MayEnd(pods[j][u])
  /\ PodLives(j, u, [pods[j][u] EXCEPT !.phase = "Failed", !.ready = FALSE, !.finished = Stamp,
                                       !.policy = PolicyFor(j, code)])

PodGoes(j, u) ==   \* it was deleted, has ended, and no finalizer holds it
  /\ Ended(pods[j][u]) /\ pods[j][u].deleting /\ ~pods[j][u].finalizer
  /\ ByOthers(j, u, Nil)
  /\ UNCHANGED << now, job, shown, backoff, past, used >>

Kubelet(j) == \E u \in DOMAIN pods[j] :
  \/ PodRuns(j, u) \/ PodBecomesReady(j, u) \/ PodSucceeds(j, u) \/ PodGoes(j, u)
  \/ \E code \in Scope.exitCodes : PodFails(j, u, code)

(***************************************************************************)
(* The user, who takes each action once.                                   *)
(***************************************************************************)
Edited(spec, act) ==
  CASE act.what = "Suspend" -> [spec EXCEPT !.suspend = TRUE]
    [] act.what = "Resume"  -> [spec EXCEPT !.suspend = FALSE]
    [] act.what = "Scale"   -> [spec EXCEPT !.parallelism = act.to,                \* PC-22
                                            !.completions = IF Indexed THEN act.to ELSE @]
    [] act.what = "SetTtl"  -> [spec EXCEPT !.ttl = act.to]

InTime(j, act) ==
  CASE act.what = "SetTtl" -> TRUE
    [] act.what = "Scale"  -> ~Finished(job[j].status)
    [] OTHER               -> ~Finished(job[j].status)

UserDeletesPod(j, act) ==
  \E u \in DOMAIN pods[j] :
    LET p == Deleted(pods[j][u]) IN
    /\ ~pods[j][u].deleting
    /\ Ended(p) <=> act.what = "DeleteEndedPod"                                    \* EN-04
    /\ ByOthers(j, u, p)
    /\ past' = [past EXCEPT ![j] = Lived(@, u, p)]
    /\ UNCHANGED << job, shown >>

UserEdits(j, act) ==
  LET spec == Edited(job[j].spec, act) IN
  /\ InTime(j, act)
  /\ spec # job[j].spec
  /\ JobChanges(j, [job[j] EXCEPT !.spec = spec])
  /\ past' = [past EXCEPT ![j] = Respecified(@, spec)]
  /\ UNCHANGED << pods, unseen >>

UserDeletesJob(j, act) ==   \* in the foreground the Job waits for its pods
  /\ InTime(j, act)
  /\ JobChanges(j, IF act.what = "DeleteInBackground" THEN Nil ELSE [job[j] EXCEPT !.deleting = TRUE])
  /\ UNCHANGED << pods, unseen, past >>

User(j) == \E k \in DOMAIN Scope.user \ used[j] :
  LET act == Scope.user[k] IN
  /\ job[j] # Nil /\ ~job[j].deleting
  /\ CASE act.what \in {"DeletePod", "DeleteEndedPod"} -> UserDeletesPod(j, act)
       [] act.what \in {"DeleteInForeground", "DeleteInBackground"} -> UserDeletesJob(j, act)
       [] OTHER -> UserEdits(j, act)
  /\ used' = [used EXCEPT ![j] = @ \cup {k}]
  /\ UNCHANGED << now, backoff >>

(***************************************************************************)
(* The garbage collector carries the deletion of a Job through.            *)
(***************************************************************************)
CollectPod(j) ==
  /\ job[j] # Nil => job[j].deleting
  /\ \E u \in DOMAIN pods[j] :
       /\ ~pods[j][u].deleting
       /\ PodLives(j, u, Deleted(pods[j][u]))

CollectJob(j) ==
  /\ job[j] # Nil /\ job[j].deleting /\ DOMAIN pods[j] = {}
  /\ JobChanges(j, Nil)
  /\ UNCHANGED << now, pods, unseen, backoff, past, used >>

(***************************************************************************)
(* The TTL-after-finished controller (KEP-592). TT-06: it has just read    *)
(* the Job afresh, and deletes in the foreground.                          *)
(***************************************************************************)
FinishTime(st) == FirstTrue(st, {"Complete", "Failed"}).time                       \* TT-02

Expired(theJob) ==                                                                 \* TT-01, TT-03, TT-13
  /\ theJob.spec.ttl # Nil
  /\ Finished(theJob.status)
  /\ now >= FinishTime(theJob.status) + theJob.spec.ttl

Expire(j) ==
  /\ job[j] # Nil /\ ~job[j].deleting                                              \* TT-09
  /\ Expired(job[j])
  /\ JobChanges(j, [job[j] EXCEPT !.deleting = TRUE])
  /\ past' = [past EXCEPT ![j].removal =
                [finished |-> past[j].ending # Nil,
                 expired  |-> past[j].ending # Nil /\ now >= past[j].ending.when + job[j].spec.ttl]]
  /\ UNCHANGED << now, pods, unseen, backoff, used >>

(***************************************************************************)
(* Watch events reach the caches. A sync reads its caches once: what the   *)
(* manager did before belongs to an earlier sync than what follows.        *)
(***************************************************************************)
ShowPod(j) ==
  /\ unseen[j] # << >>
  /\ unseen' = [unseen EXCEPT ![j] = EndSync(Tail(@))]
  /\ UNCHANGED << now, job, pods, shown, backoff, past, used >>

ShowJob(j) ==
  /\ shown[j] # Nil
  /\ shown' = [shown EXCEPT ![j] = Nil]
  /\ unseen' = [unseen EXCEPT ![j] = EndSync(@)]
  /\ UNCHANGED << now, job, pods, backoff, past, used >>

(***************************************************************************)
(* The process that manages a Job dies, and another takes over. SY-10: its *)
(* caches show no less than the last write of the dead one; BO-05: delays  *)
(* are forgotten. A crash that loses nothing is no step. The Job cache     *)
(* shows every own write already (SY-04).                                  *)
(***************************************************************************)
RECURSIVE AfterLastOwn(_)   \* the changes since the manager's last own one
AfterLastOwn(q) ==
  IF \A k \in DOMAIN q : q[k].own = Nil THEN q ELSE AfterLastOwn(Tail(q))

Crash(j) ==
  /\ past[j].crashes < Scope.crashes
  /\ ~(backoff[j] = NewBackoff /\ AfterLastOwn(unseen[j]) = unseen[j])   \* no \/ here: TLC would take the step twice
  /\ unseen' = [unseen EXCEPT ![j] = AfterLastOwn(@)]
  /\ backoff' = [backoff EXCEPT ![j] = NewBackoff]
  /\ past' = [past EXCEPT ![j].crashes = @ + 1]
  /\ UNCHANGED << now, job, pods, shown, used >>

Tick ==
  /\ now < Scope.ticks
  /\ \E j \in Jobs : job[j] # Nil
  /\ now' = now + 1
  /\ UNCHANGED << job, pods, shown, unseen, backoff, past, used >>
=============================================================================
