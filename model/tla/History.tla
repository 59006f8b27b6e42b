------------------------------ MODULE History -------------------------------
(***************************************************************************)
(* What really happened, whatever a cache showed. Invariants are stated    *)
(* over it. Guards read of it only what a judge of the Job's whole history *)
(* knows: which pods were counted, and the completions since the decision. *)
(***************************************************************************)
EXTENDS Cluster

NewPast ==
  [ pods     |-> << >>,                \* every pod ever created; UIDs are positions
    widest   |-> Scope.parallelism,    \* the largest parallelism so far
    most     |-> Scope.completions,    \* the largest completions so far
    rescaled |-> FALSE,                \* whether completions ever changed
    decision |-> Nil,                  \* the first interim condition that was stored
    ending   |-> Nil,                  \* what held at the first terminal condition
    removal  |-> Nil,                  \* what the TTL controller's DELETE found
    crashes  |-> 0 ]                   \* how often the manager died

NewPodPast(index) ==
  [ index     |-> index,
    end       |-> Nil,       \* "Succeeded" or "Failed"
    deleted   |-> FALSE,     \* being deleted before it ended
    released  |-> FALSE,     \* without finalizer before it ended
    ignored   |-> FALSE,     \* a policy rule ignores its failure
    listed    |-> Nil,       \* in which list it was recorded first
    succeeded |-> 0,         \* how often it was counted as a success
    failed    |-> 0 ]        \* how often it was counted as a failure

NextUid(j) == Len(past[j].pods) + 1

\* A pod was created.
Born(h, p) == [h EXCEPT !.pods = Append(@, NewPodPast(p.index))]

\* A pod changed in etcd. After its end nothing is noted any more.
Lived(h, u, p) ==
  IF h.pods[u].end # Nil THEN h
  ELSE [h EXCEPT !.pods[u].deleted = p.deleting, !.pods[u].released = ~p.finalizer,
                 !.pods[u].ignored = Ignored(p), !.pods[u].end = IF Ended(p) THEN p.phase ELSE Nil]

\* The user changed the specification.
Respecified(h, spec) ==
  [h EXCEPT !.widest = IF spec.parallelism > @ THEN spec.parallelism ELSE @,
            !.most = IF spec.completions # Nil /\ (@ = Nil \/ spec.completions > @)
                     THEN spec.completions ELSE @,
            !.rescaled = @ \/ h.most # spec.completions,
            !.decision = IF @ # Nil /\ spec.completions # Nil /\ spec.completions < @.fewest
                         THEN [@ EXCEPT !.fewest = spec.completions] ELSE @]

NoteLists(h, old, new) ==
  LET was == Uncounted(old)
      is  == Uncounted(new)
      Note(u, p) ==
        [p EXCEPT !.listed = IF @ # Nil THEN @
                             ELSE IF u \in is.succeeded \ was.succeeded THEN "Succeeded"
                             ELSE IF u \in is.failed \ was.failed THEN "Failed" ELSE Nil,
                  !.succeeded = IF u \in was.succeeded \ is.succeeded THEN @ + 1 ELSE @,
                  !.failed    = IF u \in was.failed \ is.failed THEN @ + 1 ELSE @]
  IN [h EXCEPT !.pods = [u \in DOMAIN @ |-> Note(u, @[u])]]

FirstTrue(st, types) ==
  LET found == {k \in DOMAIN st.conditions : st.conditions[k].type \in types /\ st.conditions[k].status = "True"}
  IN IF found = {} THEN Nil ELSE st.conditions[CHOOSE k \in found : \A l \in found : k <= l]

\* A status write was stored.
Written(h, spec, old, new, ps) ==
  LET interim  == FirstTrue(new, {"SuccessCriteriaMet", "FailureTarget"})
      terminal == FirstTrue(new, {"Complete", "Failed"})
      decision == [type |-> interim.type, reason |-> interim.reason, about |-> interim.about, when |-> now,
                    fewest |-> spec.completions]   \* the fewest completions since then (S-01)
      ending   == [ type |-> terminal.type, reason |-> terminal.reason, about |-> terminal.about,
                    announced |-> h.decision # Nil,
                    terminating |-> Count(ps, Terminating), active |-> Count(ps, Active),
                    completionTime |-> new.completionTime, when |-> now ]
  IN [NoteLists(h, old, new) EXCEPT
        !.decision = IF @ = Nil /\ interim # Nil THEN decision ELSE @,
        !.ending   = IF @ = Nil /\ terminal # Nil THEN ending ELSE @]
=============================================================================
