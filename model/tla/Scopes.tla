------------------------------- MODULE Scopes -------------------------------
(***************************************************************************)
(* The bounds of one check. A scope says which Jobs a user creates and how *)
(* much may happen to them. The scopes are those of `jobcheck check        *)
(* --list`, under the same names, and combinations of them.                *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets, TLC

CONSTANTS
  Nil,        \* no value: a model value
  ScopeName   \* which scope is checked

NoLimit == 2147483647   \* BO-14: backoffLimit, where only backoffLimitPerIndex is set

(***************************************************************************)
(* A Job with one completion, one pod at a time, and no retry. Nothing     *)
(* lags, no time passes, the user does nothing.                            *)
(***************************************************************************)
Plain ==
  [ \* How many Jobs there are, all with the specification that follows.
    jobs          |-> 1,
    completions   |-> 1,        \* Nil: a work queue
    parallelism   |-> 1,
    indexed       |-> FALSE,
    backoffLimit  |-> 0,
    limitPerIndex |-> Nil,      \* backoffLimitPerIndex
    maxFailed     |-> Nil,      \* maxFailedIndexes
    deadline      |-> Nil,      \* activeDeadlineSeconds
    ttl           |-> Nil,      \* ttlSecondsAfterFinished
    patient       |-> FALSE,    \* podReplacementPolicy is Failed
    failureRules  |-> << >>,    \* podFailurePolicy: [codes, action], the first match wins
    successRules  |-> << >>,    \* successPolicy: a set of indexes for each rule
    \* The environment.
    pods          |-> 1,        \* the most pods that are created for one Job
    lag           |-> 0,        \* by how many changes of pods the Pod cache may lag
    jobLags       |-> FALSE,    \* whether the Job cache may lag by one version
    ticks         |-> 0,        \* how many seconds pass
    phases        |-> FALSE,    \* whether pods run and become ready before they end
    exitCodes     |-> {1},      \* the codes with which failing containers exit
    user          |-> << >>,    \* what the user may do, each at most once
    crashes       |-> 0,        \* how often the manager of a Job dies at most
    \* The controller's constants.
    firstDelay    |-> 0,        \* pod-failure backoff in seconds; 0: no delays
    maxUncounted  |-> 500 ]     \* UIDs that the lists in the status may hold

Act(what)     == [what |-> what, to |-> Nil]
Scale(to)     == [what |-> "Scale", to |-> to]
SetTtl(to)    == [what |-> "SetTtl", to |-> to]

Pods(n)       == [Plain EXCEPT !.pods = n]
Two(n)        == [Pods(n) EXCEPT !.completions = 2, !.parallelism = 2]
TwoIndexes(n) == [Two(n) EXCEPT !.indexed = TRUE]
PerIndex(n)   == [TwoIndexes(n) EXCEPT !.backoffLimit = NoLimit, !.limitPerIndex = 1]
DeletesPod    == << Act("DeletePod") >>
Suspends      == << Act("Suspend"), Act("Resume") >>

Table ==
     "non-indexed"            :> [Two(4) EXCEPT !.backoffLimit = 1]
  @@ "deleted-pods"           :> [Two(3) EXCEPT !.user = << Act("DeletePod"), Act("DeleteEndedPod") >>]
  @@ "full-lists"             :> [Two(4) EXCEPT !.backoffLimit = 1, !.maxUncounted = 1]
  @@ "ready-pods"             :> [Two(3) EXCEPT !.phases = TRUE]
  @@ "work-queue"             :> [Two(4) EXCEPT !.completions = Nil, !.backoffLimit = 1]
  @@ "indexed"                :> [TwoIndexes(4) EXCEPT !.backoffLimit = 1]
  @@ "indexed-deletion"       :> [TwoIndexes(4) EXCEPT !.user = DeletesPod]
  @@ "backoff-limit"          :> [Pods(4) EXCEPT !.backoffLimit = 2]
  @@ "backoff-delay"          :> [Pods(4) EXCEPT !.backoffLimit = 2, !.ticks = 4, !.firstDelay = 1]
  @@ "replace-failed"         :> [Two(4) EXCEPT !.backoffLimit = 1, !.patient = TRUE, !.user = DeletesPod]
  @@ "replace-failed-indexes" :> [TwoIndexes(4) EXCEPT !.backoffLimit = 1, !.patient = TRUE,
                                                       !.user = DeletesPod]
  @@ "replace-terminating"    :> [Two(4) EXCEPT !.backoffLimit = 1, !.user = DeletesPod]
  @@ "fail-job"               :> [Two(4) EXCEPT !.backoffLimit = 1, !.exitCodes = {1, 42},
                                     !.failureRules = << [codes |-> {42}, action |-> "FailJob"] >>]
  @@ "ignored-failures"       :> [Two(4) EXCEPT !.exitCodes = {1, 3},
                                     !.failureRules = << [codes |-> {3}, action |-> "Ignore"] >>]
  @@ "success-policy"         :> [TwoIndexes(4) EXCEPT !.backoffLimit = 1, !.successRules = << {0} >>]
  @@ "per-index"              :> PerIndex(4)
  @@ "fail-index"             :> [PerIndex(4) EXCEPT !.parallelism = 1, !.exitCodes = {1, 42},
                                     !.failureRules = << [codes |-> {42}, action |-> "FailIndex"] >>]
  @@ "max-failed-indexes"     :> [PerIndex(3) EXCEPT !.limitPerIndex = 0, !.maxFailed = 0,
                                                     !.user = DeletesPod]
  @@ "suspend"                :> [Pods(3) EXCEPT !.ticks = 1, !.user = Suspends]
  @@ "deadline"               :> [Pods(3) EXCEPT !.deadline = 2, !.backoffLimit = 1, !.ticks = 3]
  @@ "elastic"                :> [TwoIndexes(3) EXCEPT !.user = << Scale(1), Scale(2) >>]
  @@ "ttl"                    :> [Pods(2) EXCEPT !.ttl = 1, !.ticks = 3, !.user = << SetTtl(2) >>]
  @@ "job-deletion"           :> [Pods(3) EXCEPT !.completions = 2, !.backoffLimit = 1,
                                     !.user = << Act("DeleteInForeground"), Act("DeleteInBackground") >>]
  @@ "stale-pods"             :> [Two(3) EXCEPT !.lag = 2, !.user = DeletesPod]
  @@ "stale-job"              :> [Pods(3) EXCEPT !.lag = 1, !.jobLags = TRUE, !.user = Suspends]
  @@ "two-jobs"               :> [Pods(1) EXCEPT !.jobs = 2]
  @@ "crash"                  :> [Two(3) EXCEPT !.lag = 2, !.crashes = 1]
  @@ "crash-full-lists"       :> [Two(3) EXCEPT !.backoffLimit = 1, !.maxUncounted = 1, !.lag = 2, !.crashes = 1]
  @@ "crash-indexed"          :> [TwoIndexes(3) EXCEPT !.lag = 2, !.crashes = 1, !.user = DeletesPod]
  @@ "crash-per-index"        :> [PerIndex(4) EXCEPT !.lag = 1, !.crashes = 1]
  @@ "crash-backoff"          :> [Pods(3) EXCEPT !.backoffLimit = 2, !.ticks = 2, !.firstDelay = 1, !.lag = 1, !.crashes = 1]
  \* Combinations of the above, which tests/suite/twin.rs makes for the comparison alone.
  @@ "full-lists-indexed"     :> [TwoIndexes(3) EXCEPT !.backoffLimit = 1, !.maxUncounted = 1]
  @@ "ready-scale"            :> [Two(2) EXCEPT !.phases = TRUE, !.user = << Scale(1) >>]
  @@ "backoff-delay-lag"      :> [Pods(3) EXCEPT !.backoffLimit = 2, !.ticks = 2, !.firstDelay = 1, !.lag = 1]
  @@ "success-policy-lag"     :> [TwoIndexes(2) EXCEPT !.backoffLimit = 1, !.successRules = << {0} >>, !.lag = 1,
                                                       !.user = DeletesPod]
  @@ "suspend-patient"        :> [Pods(3) EXCEPT !.backoffLimit = 1, !.patient = TRUE,
                                                 !.user = Suspends \o DeletesPod]
  @@ "elastic-patient"        :> [TwoIndexes(2) EXCEPT !.patient = TRUE,
                                                       !.user = << Scale(1), Scale(2), Act("DeletePod") >>]
  @@ "per-index-ignore"       :> [PerIndex(3) EXCEPT !.exitCodes = {1, 3},
                                     !.failureRules = << [codes |-> {3}, action |-> "Ignore"] >>]
  @@ "ttl-lag"                :> [Pods(2) EXCEPT !.ttl = 1, !.ticks = 3, !.user = << SetTtl(2) >>, !.lag = 1,
                                                 !.jobLags = TRUE]
  \* Large enough to measure how fast both sides are: tests/bench/against_tlc.
  @@ "crash-indexed-twice"    :> [TwoIndexes(3) EXCEPT !.lag = 2, !.crashes = 2, !.user = DeletesPod]

Scope == Table[ScopeName]
Jobs  == 1 .. Scope.jobs

Indexed  == Scope.indexed
PerIndexLimit == Scope.limitPerIndex # Nil

\* RP-02: a replacement waits until its predecessor has ended.
ReplacesOnlyFailed == Scope.patient \/ Scope.failureRules # << >>
=============================================================================
