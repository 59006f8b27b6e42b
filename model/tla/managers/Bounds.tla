------------------------------- MODULE Bounds -------------------------------
(***************************************************************************)
(* The bounds of one check: how many workers there are, and how often      *)
(* users, dispatchers and faults interfere. The first scopes are the       *)
(* default ones of `jobcheck check --subject mirror`, under the same       *)
(* names without `managers/`.                                              *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets, TLC

CONSTANTS
  Nil,        \* no value: a model value
  Unfilled,   \* a cache that has not been filled yet: a model value
  ScopeName   \* which scope is checked

Plain ==
  [ workers     |-> 1,
    completions |-> 1,
    parallelism |-> 1,
    pods        |-> 1,       \* the most pods of a Job, over all of its copies
    ttl         |-> FALSE,   \* whether finished Jobs expire, on all clusters
    lags        |-> FALSE,   \* whether the cache of the manager cluster may lag behind the manager's own writes
    \* How often it happens, at most.
    suspends      |-> 0,     \* the user changes spec.suspend
    deletions     |-> 0,     \* the user deletes the Job
    recreations   |-> 0,     \* the user creates the Job again under its name
    evictions     |-> 0,     \* the dispatcher takes the Job away from its worker
    copyDeletions |-> 0,     \* somebody deletes the Job of this name on a worker
    strangers     |-> 0,     \* somebody creates a Job of this name on a worker
    disconnections |-> 0,    \* a worker becomes unreachable
    crashes       |-> 0,     \* the manager crashes
    conditions    |-> 0 ]    \* another actor sets its condition on the Job

Pods(n) == [Plain EXCEPT !.pods = n]
Two(n)  == [Pods(n) EXCEPT !.workers = 2]
Recreates(n) == [Pods(n) EXCEPT !.deletions = 1, !.recreations = 1]

Table ==
     "plain"          :> [Plain EXCEPT !.lags = TRUE, !.crashes = 1, !.conditions = 1]
  @@ "redispatch"     :> [Two(2) EXCEPT !.evictions = 1]
  @@ "takeover"       :> [Two(1) EXCEPT !.evictions = 1, !.crashes = 1]
  @@ "lost-copy"      :> [Pods(2) EXCEPT !.copyDeletions = 1]
  @@ "recreation"     :> [Recreates(1) EXCEPT !.disconnections = 1]
  @@ "ttl"            :> [Pods(2) EXCEPT !.ttl = TRUE, !.disconnections = 1]
  @@ "suspend"        :> [Plain EXCEPT !.suspends = 2]
  @@ "stranger"       :> [Plain EXCEPT !.deletions = 1, !.strangers = 1, !.copyDeletions = 1]
  \* Small ones and combinations, which model/managers/tests/twin.rs makes for the comparison alone. A bare one has no pods.
  @@ "small"                   :> Plain
  @@ "small-crash"             :> [Plain EXCEPT !.crashes = 1]
  @@ "small-away"              :> [Plain EXCEPT !.disconnections = 1]
  @@ "small-deletion"          :> [Plain EXCEPT !.deletions = 1]
  @@ "small-recreation"        :> Recreates(1)
  @@ "small-ttl"               :> [Plain EXCEPT !.ttl = TRUE]
  @@ "small-workers"           :> Two(1)
  @@ "completions"             :> [Pods(2) EXCEPT !.completions = 2]
  @@ "completions-lost-copy"   :> [Pods(2) EXCEPT !.completions = 2, !.copyDeletions = 1]
  @@ "parallelism"             :> [Pods(3) EXCEPT !.completions = 2, !.parallelism = 2]
  @@ "bare-suspend"            :> [Pods(0) EXCEPT !.suspends = 2]
  @@ "bare-suspend-faults"     :> [Pods(0) EXCEPT !.suspends = 2, !.disconnections = 1, !.crashes = 1, !.lags = TRUE]
  @@ "bare-eviction"           :> [Two(0) EXCEPT !.evictions = 1]
  @@ "bare-eviction-suspend"   :> [Two(0) EXCEPT !.evictions = 1, !.suspends = 2]
  @@ "bare-eviction-faults"    :> [Two(0) EXCEPT !.evictions = 1, !.disconnections = 1, !.crashes = 1]
  @@ "bare-stranger"           :> [Two(0) EXCEPT !.evictions = 1, !.strangers = 1]
  @@ "bare-recreation"         :> Recreates(0)
  @@ "bare-recreation-away"    :> [Recreates(0) EXCEPT !.disconnections = 1]
  @@ "bare-recreation-crash"   :> [Recreates(0) EXCEPT !.crashes = 1]
  @@ "bare-recreation-suspend" :> [Recreates(0) EXCEPT !.suspends = 1]
  @@ "bare-ttl-away"           :> [Pods(0) EXCEPT !.ttl = TRUE, !.disconnections = 1]
  @@ "bare-ttl-faults"         :> [Pods(0) EXCEPT !.ttl = TRUE, !.recreations = 1, !.copyDeletions = 1,
                                                  !.disconnections = 1, !.crashes = 1]

Scope   == Table[ScopeName]
Workers == 1 .. Scope.workers

Budget ==
  [ suspends |-> Scope.suspends, deletions |-> Scope.deletions, recreations |-> Scope.recreations,
    evictions |-> Scope.evictions, copyDeletions |-> Scope.copyDeletions, strangers |-> Scope.strangers,
    disconnections |-> Scope.disconnections, crashes |-> Scope.crashes, conditions |-> Scope.conditions ]

\* A manager creates so many copies of one Job, and no more.
MostCopies == 4

Min(a, b) == IF a < b THEN a ELSE b
Max(a, b) == IF a > b THEN a ELSE b
=============================================================================
