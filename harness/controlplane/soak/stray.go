package main

import (
	"slices"
	"time"

	"jobcheck/harness/controlplane/faultproxy"
)

// Runs of what the model found where more happens than one answer that is lost: deletions that are
// counted, pods that lose their owner, processes and Jobs that succeed each other. As in found.go
// every wait is for something to have happened.

// isStripped says that the pod has no tracking finalizer any more.
func isStripped(pod Object) bool {
	return !slices.Contains(finalizers(pod), "batch.kubernetes.io/job-tracking")
}

// patchPod is a merge patch of the pod by the user.
func (r *Run) patchPod(what, pod string, patch Object) {
	code, _, err := r.user.do("PATCH", podsPath(r.namespace, "/"+pod), mergePatch, patch)
	if err != nil {
		panic(err)
	}
	r.count(what, code)
}

// waitPod waits for a pod to be as the predicate says, and returns it.
func (r *Run) waitPod(limit time.Duration, what string, holds func(pod Object) bool) Object {
	var found Object
	r.waitPods(limit, what, func(pods []Object) bool {
		if i := slices.IndexFunc(pods, holds); i >= 0 {
			found = pods[i]
		}
		return found != nil
	})
	return found
}

// playCountedDeletions (H1): a Job is scaled from three pods to one. The first pod that is deleted changes once more
// while it terminates, and the deletion of the second does not reach the Pod cache: both expected deletions are
// observed, and the next sync deletes the third pod in the place of the second.
//
// The third pod was not ready for a moment, so that it is the first among the ready ones to be deleted (PC-09).
func playCountedDeletions(r *Run) {
	pods := r.startJob(Object{"parallelism": 3, "completions": 3, "backoffLimit": 6}, 3)
	deletions := faultproxy.Match{Verb: "delete", Resource: "pods", Namespace: r.namespace}
	first := r.cluster.proxy.Apply(faultproxy.Rule{Match: deletions, Hold: true, Times: 1})
	second := r.cluster.proxy.Apply(faultproxy.Rule{Match: deletions, Hold: true, Times: 1})
	defer second.Lift()
	defer first.Lift()
	r.spec("scale", "job", Object{"parallelism": 1})
	if !r.wait(20*time.Second, "both deletions", func() bool { return first.Held() == 1 && second.Held() == 1 }) {
		return
	}
	twoStripped := func(pods []Object) bool { return len(slices.DeleteFunc(pods, isStripped)) == 1 }
	if !r.waitPods(5*time.Second, "two releases", twoStripped) {
		return
	}
	first.Lift()
	gone := r.waitPod(5*time.Second, "the first deletion", terminating)
	left := r.waitPod(5*time.Second, "the pod that stays", func(pod Object) bool { return !isStripped(pod) })
	if gone == nil || left == nil {
		return
	}
	r.setReady(gone, false)
	r.notef("pod %s terminates and stops being ready: two events of one pod", name(gone))
	begun := stamp(time.Now())
	r.setReady(left, false)
	r.wait(5*time.Second, "the next second", func() bool { return stamp(time.Now()) != begun })
	r.setReady(left, true)
	stripped := func(pod Object) bool { return isStripped(pod) && name(pod) != name(gone) }
	other := r.waitPod(5*time.Second, "the second pod", stripped)
	hold := r.holdPods("the second deletion", func(event faultproxy.Event) bool {
		return name(event.Object) == name(other) && terminating(event.Object)
	})
	second.Lift()
	if r.waitPods(20*time.Second, "the deletion of the third", func([]Object) bool { return terminating(r.rec.pod(name(left))) }) {
		r.notef("pod %s is deleted as well: of %d pods none is left", name(left), len(pods))
	}
	r.letGo(hold)
	for _, pod := range pods {
		r.exit(pod, 143)
		r.remove(pod)
	}
	r.waitAlive("job", 1)
	r.settle(5*time.Second, nil)
}

// playIgnoredAlive (J-04): no fault at all. A Job fails while one of its pods, which a rule of its failure policy is
// about, has not ended. Odd seeds: the pod is evicted and terminates. Even seeds: it has the condition, and its
// deletion was not sent yet, as within a preemption.
func playIgnoredAlive(r *Run) {
	rule := Object{"action": "Ignore", "onPodConditions": []Object{{"type": "DisruptionTarget", "status": "True"}}}
	pods := r.startJob(Object{"parallelism": 2, "completions": 2, "backoffLimit": 0, "podFailurePolicy": Object{"rules": []Object{rule}}}, 2)
	disrupted := name(pods[1])
	if r.seed%2 == 1 {
		eviction := Object{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": Object{"name": disrupted}}
		r.user.must("POST", podsPath(r.namespace, "/"+disrupted+"/eviction"), jsonBody, eviction)
		r.count("evict pod", 201)
		r.waitJob(20*time.Second, "job", "a terminating pod", func(job Object) bool { return num(job, "status", "terminating") == 1 })
	} else {
		code, _, err := r.scheduler.do("PATCH", podsPath(r.namespace, "/"+disrupted+"/status"), strategicPatch, Object{"status": Object{
			"conditions": []Object{{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler", "lastTransitionTime": stamp(time.Now())}}}})
		if err != nil {
			panic(err)
		}
		r.count("preempt pod", code)
	}
	r.exit(pods[0], 1)
	r.waitPods(20*time.Second, "the release", func([]Object) bool { return isStripped(r.rec.pod(disrupted)) })
	r.notef("pod %s is released while it runs", disrupted)
	r.waitPods(20*time.Second, "the deletion", func([]Object) bool { return terminating(r.rec.pod(disrupted)) })
	r.exit(pods[1], 143)
	r.remove(pods[1])
	r.waitJob(20*time.Second, "job", "the end", finished)
	r.notef("failed is %d", num(r.rec.job("job"), "status", "failed"))
	r.settle(3*time.Second, nil)
}

// playCountedStray (J-05): the PATCH that releases a listed pod fails, and the pod loses its owner before the next. It
// is counted while it has its finalizer. S-05 does not adopt it again, since it is being deleted (odd seeds) or has
// lost its label, too (even seeds).
func playCountedStray(r *Run) {
	pod := r.startJob(Object{"parallelism": 1, "completions": 1, "backoffLimit": 6}, 1)[0]
	own := r.cluster.proxy.Apply(faultproxy.Rule{Match: r.releases(), Hold: true, Times: 1, Outcome: faultproxy.RefuseFirst, Code: 500})
	orphan := r.cluster.proxy.Apply(faultproxy.Rule{Match: r.releases(), Hold: true})
	defer orphan.Lift()
	defer own.Lift()
	r.exit(pod, 0)
	if !r.wait(20*time.Second, "the controller's PATCH", func() bool { return own.Held() == 1 }) {
		return
	}
	change := Object{"ownerReferences": nil}
	if r.seed%2 == 1 {
		r.deletePod(name(pod))
	} else {
		change["labels"] = nil
	}
	r.patchPod("strip owner", name(pod), Object{"metadata": change})
	if !r.wait(20*time.Second, "the PATCH of the orphan path", func() bool { return orphan.Held() == 1 }) {
		return
	}
	own.Lift()
	r.waitJob(20*time.Second, "job", "the count", func(job Object) bool { return num(job, "status", "succeeded") == 1 })
	r.notef("pod %s is counted and has %v", name(pod), finalizers(r.rec.pod(name(pod))))
	orphan.Lift()
	r.settle(5*time.Second, nil)
}

// playStrippedAdopted (S-25): a running pod loses its owner. The PATCH of the orphan path is under way while a sync
// adopts the pod; it takes the finalizer that the adoption has kept, and the success of the pod counts nowhere.
func playStrippedAdopted(r *Run) {
	pod := r.startJob(Object{"parallelism": 1, "completions": 1, "backoffLimit": 6}, 1)[0]
	orphan := r.cluster.proxy.Apply(faultproxy.Rule{Match: r.releases(), Hold: true, Times: 1})
	defer orphan.Lift()
	r.patchPod("strip owner", name(pod), Object{"metadata": Object{"ownerReferences": nil}})
	if !r.wait(20*time.Second, "the PATCH of the orphan path", func() bool { return orphan.Held() == 1 }) {
		return
	}
	owned := func([]Object) bool { return has(r.rec.pod(name(pod)), "metadata", "ownerReferences") }
	lost := func(pods []Object) bool { return !owned(pods) }
	if !r.waitPods(5*time.Second, "the loss of the owner", lost) || !r.waitPods(20*time.Second, "the adoption", owned) {
		return
	}
	orphan.Lift()
	r.waitPods(5*time.Second, "the release", func([]Object) bool { return isStripped(r.rec.pod(name(pod))) })
	r.exit(pod, 0)
	next := r.waitPod(20*time.Second, "another pod", func(other Object) bool { return name(other) != name(pod) })
	r.notef("pod %s has ended well, and succeeded is %d", name(pod), num(r.rec.job("job"), "status", "succeeded"))
	if next != nil {
		r.running(next, true)
		r.exit(next, 0)
	}
	r.waitJob(20*time.Second, "job", "the end", finished)
	r.settle(3*time.Second, nil)
}

// patience is longer than any retry of the controller: what has not happened by then will not.
const patience = 125 * time.Second

// elsewhere shows that the controller is at work: another Job of the namespace begins and ends.
func (r *Run) elsewhere() {
	other := plainJob("other", Object{"parallelism": 1, "completions": 1})
	podSpecOf(other)["nodeName"] = nodeName
	r.createJob(other)
	pods := r.waitAlive("other", 1)
	for _, pod := range pods {
		r.running(pod, true)
		r.exit(pod, 0)
	}
	r.waitJob(20*time.Second, "other", "the end of the other Job", finished)
}

// playLatePod (J-06): the creation that a dead controller has sent arrives after its successor has finished the Job. The
// pod keeps its finalizer when it has ended, and no event of it wakes the clean-up.
func playLatePod(r *Run) {
	create := r.cluster.proxy.Apply(faultproxy.Rule{Hold: true, Late: true, Times: 1,
		Match: faultproxy.Match{Verb: "create", Resource: "pods", Namespace: r.namespace}})
	defer create.Lift()
	spec := Object{"parallelism": 1, "completions": 1}
	if r.seed%2 == 0 {
		spec["completionMode"] = "Indexed"
	}
	job := plainJob("job", spec)
	podSpecOf(job)["nodeName"] = nodeName
	r.createJob(job)
	if !r.wait(20*time.Second, "the creation", func() bool { return create.Held() == 1 }) {
		return
	}
	r.cluster.killController()
	r.mustStart()
	pods := r.waitAlive("job", 1)
	r.startAll()
	r.exit(pods[0], 0)
	if !r.waitJob(30*time.Second, "job", "the end", finished) {
		return
	}
	create.Lift()
	late := r.waitPod(10*time.Second, "the late pod", func(pod Object) bool { return name(pod) != name(pods[0]) })
	if late == nil {
		return
	}
	r.running(late, true)
	r.exit(late, 0)
	ended := time.Now()
	released := func() bool { return isStripped(r.rec.pod(name(late))) }
	for !released() && time.Since(ended) < patience {
		time.Sleep(100 * time.Millisecond)
	}
	r.notef("%.0f s after its end pod %s has %v", time.Since(ended).Seconds(), name(late), finalizers(r.rec.pod(name(late))))
	r.elsewhere()
	r.settle(3*time.Second, nil)
}

// playHeirOfExpectations (J-07): a Job is deleted and created again under its name while the controller's creation of a pod is
// under way. The pod belongs to the first Job, so that the second never sees the creation that it expects.
//
// Even seeds wait until the expectation has expired, after 5 minutes: nothing wakes the Job then, either.
func playHeirOfExpectations(r *Run) {
	create := r.cluster.proxy.Apply(faultproxy.Rule{Hold: true, Times: 1,
		Match: faultproxy.Match{Verb: "create", Resource: "pods", Namespace: r.namespace}})
	defer create.Lift()
	job := plainJob("job", Object{"parallelism": 1, "completions": 1})
	podSpecOf(job)["nodeName"] = nodeName
	r.createJob(job)
	if !r.wait(20*time.Second, "the creation", func() bool { return create.Held() == 1 }) {
		return
	}
	r.deleteJob("job", "Background")
	r.wait(5*time.Second, "the end of the first Job", func() bool { return r.rec.job("job") == nil })
	r.createJob(job)
	created := time.Now()
	var second string
	r.wait(5*time.Second, "the second Job", func() bool { second = str(r.rec.job("job"), "metadata", "uid"); return second != "" })
	create.Lift()
	limit := patience
	if r.seed%2 == 0 {
		limit = 310 * time.Second
	}
	served := func() bool {
		return slices.ContainsFunc(r.rec.allPods(), func(pod Object) bool {
			owners, _ := dig(pod, "metadata", "ownerReferences").([]any)
			return len(owners) == 1 && str(owners[0], "uid") == second
		})
	}
	for !served() && time.Since(created) < limit {
		time.Sleep(100 * time.Millisecond)
	}
	r.notef("%.0f s after its creation the second Job has a pod: %v", time.Since(created).Seconds(), served())
	r.elsewhere()
	r.settle(3*time.Second, nil)
}
