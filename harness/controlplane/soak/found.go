package main

import (
	"fmt"
	"slices"
	"time"

	"jobcheck/harness/controlplane/faultproxy"
)

// The runs in this file show what the model found (docs/findings/README.md). The faults come from the
// proxy, at the step that the model names: every wait is for something to have happened.

// releases are the controller's requests that remove the tracking finalizer.
func (r *Run) releases() faultproxy.Match {
	return faultproxy.Match{Verb: "patch", Resource: "pods", Namespace: r.namespace}
}

// holdPods stops the Pod cache at the event that the predicate names.
func (r *Run) holdPods(what string, from func(faultproxy.Event) bool) *faultproxy.WatchHold {
	r.notef("the proxy holds the Pod watches back from %s on", what)
	return r.cluster.proxy.HoldWatch(faultproxy.WatchRule{Match: faultproxy.Match{Resource: "pods"}, From: from})
}

func (r *Run) letGo(hold *faultproxy.WatchHold) {
	hold.Lift()
	r.notef("the Pod watches go on at %s", time.Now().UTC().Format("15:04:05.000"))
}

// startJob creates the Job and waits until its pods run and are counted as ready.
func (r *Run) startJob(spec Object, pods int) []Object {
	job := plainJob("job", spec)
	podSpecOf(job)["nodeName"] = nodeName
	r.createJob(job)
	alive := r.waitAlive("job", pods)
	r.startAll()
	r.waitJob(20*time.Second, "job", "ready pods", func(job Object) bool { return num(job, "status", "ready") == pods })
	return alive
}

// playCountedTwice (J-03): the PATCH that releases a failed pod is answered with 404, and the Pod cache stands still.
//
// Odd seeds: somebody removes the finalizer and the pod while the controller's request is under way. Even seeds: the
// pod is being deleted, the answer to the first PATCH is lost, and the kubelet removes the pod before the second.
func playCountedTwice(r *Run) {
	pod := r.startJob(Object{"parallelism": 1, "completions": 1, "backoffLimit": 1}, 1)[0]
	lost := r.seed%2 == 0
	rule := faultproxy.Rule{Match: r.releases(), Hold: true, Times: 1}
	if lost {
		rule.Outcome = faultproxy.CutAfter
		r.deletePod(name(pod))
	}
	release := r.cluster.proxy.Apply(rule)
	r.exit(pod, 1)
	if !r.wait(20*time.Second, "the controller's PATCH", func() bool { return release.Held() == 1 }) {
		return
	}
	hold := r.holdPods("the removal of the pod", nil)
	if lost {
		release.Lift()
		r.notef("the answer to the PATCH of pod %s is lost", name(pod))
		r.waitPods(5*time.Second, "the release", func([]Object) bool { return len(finalizers(r.rec.pod(name(pod)))) == 0 })
	} else {
		r.stripFinalizers(name(pod))
	}
	r.remove(pod)
	r.wait(5*time.Second, "the end of the pod", func() bool { return r.rec.pod(name(pod)) == nil })
	release.Lift()
	r.waitJob(20*time.Second, "job", "the second count", func(job Object) bool { return num(job, "status", "failed") > 1 })
	r.letGo(hold)
	r.settle(15*time.Second, nil)
}

func (r *Run) stripFinalizers(pod string) {
	code, _, err := r.user.do("PATCH", podsPath(r.namespace, "/"+pod), mergePatch, Object{"metadata": Object{"finalizers": nil}})
	if err != nil {
		panic(err)
	}
	r.count("remove finalizers", code)
}

// playBothInOneBatch (L2): no fault at all. The pod of index 0 is deleted and replaced; within the second that passes
// before the next sync it ends well in its grace period, and its replacement fails at the limit.
func playBothInOneBatch(r *Run) {
	pods := r.startJob(Object{"parallelism": 2, "completions": 2, "completionMode": "Indexed", "backoffLimitPerIndex": 1}, 2)
	isFirst := func(pod Object) bool { return index(pod) == "0" }
	first := pods[slices.IndexFunc(pods, isFirst)]
	r.deletePod(name(first))
	var second Object
	r.waitPods(40*time.Second, "the replacement", func(pods []Object) bool {
		for _, pod := range pods {
			if isFirst(pod) && name(pod) != name(first) {
				second = pod
			}
		}
		return second != nil
	})
	if second == nil {
		return
	}
	r.exit(first, 0)
	r.exit(second, 1)
	r.remove(first)
	r.settle(20*time.Second, nil)
}

// playHeldNamespace (J-10): no fault at all. The namespace of an Indexed Job is deleted; its pod fails and waits for a
// replacement, which the namespace refuses, and the namespace waits for the pod.
//
// Odd seeds: the pod is on no node, and pod garbage collection ends it. Even seeds: it runs, fails in its grace period,
// and the wait is longer than the expectation of the refused creation, which expires after 5 minutes.
func playHeldNamespace(r *Run) {
	spec := Object{"completions": 1, "completionMode": "Indexed", "backoffLimitPerIndex": 1}
	limit := patience
	job := plainJob("job", spec)
	if r.seed%2 == 0 {
		podSpecOf(job)["nodeName"] = nodeName
		limit = 310 * time.Second
	}
	r.createJob(job)
	pods := r.waitAlive("job", 1)
	if len(pods) == 0 {
		return
	}
	pod := name(pods[0])
	namespace := "/api/v1/namespaces/" + r.namespace
	r.user.must("DELETE", namespace, jsonBody, nil)
	r.waitPods(20*time.Second, "the deletion of the pod", func([]Object) bool { return terminating(r.rec.pod(pod)) })
	if r.seed%2 == 0 {
		r.exit(pods[0], 1)
		r.remove(pods[0])
	}
	r.waitPods(40*time.Second, "the failure of the pod", func([]Object) bool { return phase(r.rec.pod(pod)) == "Failed" })
	failed := time.Now()
	held := func() bool { return !isStripped(r.rec.pod(pod)) }
	for held() && time.Since(failed) < limit {
		time.Sleep(100 * time.Millisecond)
	}
	answer := r.user.must("GET", namespace, "", nil)
	r.notef("%.0f s after the failure the namespace is %s, the pod has %v, and the Job is being deleted: %v",
		time.Since(failed).Seconds(), str(answer, "status", "phase"), finalizers(r.rec.pod(pod)), terminating(r.rec.job("job")))
}

// playStaleActive (J-01): the Pod cache stands still between the two requests by which the controller gets rid of a pod.
func playStaleActive(r *Run) {
	pod := r.startJob(Object{"parallelism": 1, "completions": 1, "backoffLimit": 6}, 1)[0]
	hold := r.holdPods("the deletion", func(event faultproxy.Event) bool {
		return str(event.Object, "metadata", "namespace") == r.namespace && terminating(event.Object)
	})
	r.suspend("job", true)
	gone := r.waitJob(20*time.Second, "job", "the deletion", func(job Object) bool {
		return condition(job, "Suspended") == "True" && num(job, "status", "active") == 0
	})
	if gone {
		r.waitJob(20*time.Second, "job", "the stale number", func(job Object) bool { return num(job, "status", "active") == 1 })
	}
	r.letGo(hold)
	r.waitJob(20*time.Second, "job", "the right number", func(job Object) bool { return num(job, "status", "active") == 0 })
	r.exit(pod, 143)
	r.remove(pod)
	r.settle(10*time.Second, nil)
}

// playFlipDeletes (S-07): the pod that was recorded as succeeded cannot be released and turns Failed. The next sync
// takes it for a failure above the limit and deletes the healthy pod; its status write is refused.
func playFlipDeletes(r *Run) {
	pod := r.startJob(Object{"parallelism": 1, "completions": 2, "backoffLimit": 0}, 1)[0]
	release := r.cluster.proxy.Apply(faultproxy.Rule{Match: r.releases(), Hold: true, Outcome: faultproxy.RefuseFirst, Code: 500})
	r.exit(pod, 0)
	if !r.wait(20*time.Second, "the controller's PATCH", func() bool { return release.Held() == 1 }) {
		return
	}
	r.waitAlive("job", 1)
	r.startAll()
	r.exit(pod, 1)
	release.Lift()
	r.notef("the PATCH of pod %s is answered with 500 and not made", name(pod))
	deleted := func(pods []Object) bool {
		return slices.ContainsFunc(pods, func(other Object) bool { return name(other) != name(pod) && terminating(other) })
	}
	r.waitPods(20*time.Second, "the deletion of the healthy pod", deleted)
	r.settle(15*time.Second, nil)
}

// playFullLists (J-02): more than 500 pods end well, and an admission policy keeps the finalizers. A sync stops at the first pod at
// which it finds the lists full, after it has added that pod; so they grow in each sync that meets a new pod first.
func playFullLists(r *Run) {
	const pods, limit = 600, 500
	allow := r.forbid("release", []string{"UPDATE"}, noRelease)
	r.createJob(plainJob("job", Object{"parallelism": pods, "completions": pods}))
	r.waitPods(120*time.Second, "the pods", func(all []Object) bool { return len(all) == pods })
	for _, pod := range r.rec.allPods() {
		r.exit(pod, 0)
	}
	some := name(r.rec.allPods()[0])
	r.waitJob(60*time.Second, "job", "full lists", func(job Object) bool { return uncounted(job, "succeeded") >= limit })
	grown := func() bool { return uncounted(r.rec.job("job"), "succeeded") >= limit+3 }
	for round := 0; round < 120 && !grown(); round++ {
		// An event of a pod leads to a sync a second later; for failures alone the controller would wait longer and longer.
		r.user.must("PATCH", podsPath(r.namespace, "/"+some), mergePatch, Object{"metadata": Object{"annotations": Object{"round": fmt.Sprint(round)}}})
		for end := time.Now().Add(time.Second); time.Now().Before(end) && !grown(); time.Sleep(10 * time.Millisecond) {
		}
	}
	r.notef("%d UIDs are listed", uncounted(r.rec.job("job"), "succeeded"))
	allow()
	r.waitJob(120*time.Second, "job", "the end", finished)
	r.settle(10*time.Second, nil)
}

// statusWrites are the controller's writes of the Job's status.
func (r *Run) statusWrites() faultproxy.Match {
	return faultproxy.Match{Verb: "update", Resource: "jobs/status", Namespace: r.namespace}
}

// playLostRecord: the answer to the write that lists a failed pod is lost, and with it the record of the failure (BO-05):
// the next pod comes at once instead of after 10 s.
func playLostRecord(r *Run) {
	pod := r.startJob(Object{"parallelism": 1, "completions": 1, "backoffLimit": 6}, 1)[0]
	write := r.cluster.proxy.Apply(faultproxy.Rule{Match: r.statusWrites(), Times: 1, Outcome: faultproxy.CutAfter})
	defer write.Lift()
	r.exit(pod, 1)
	r.waitJob(20*time.Second, "job", "the record", func(job Object) bool { return uncounted(job, "failed") == 1 })
	failed := time.Now()
	r.notef("the answer to the status write that lists pod %s is lost", name(pod))
	r.waitPods(30*time.Second, "the next pod", func(pods []Object) bool { return len(pods) == 2 })
	r.notef("the next pod came %.1f s after the failure", time.Since(failed).Seconds())
	r.settle(5*time.Second, nil)
}

// playStrippedPod (S-11): the Job is scaled down to one pod; the answer to the PATCH before the DELETE is lost, and the
// other pod stops being ready. The next sync deletes that one, and the pod without its finalizer stays: its success is
// counted nowhere.
func playStrippedPod(r *Run) {
	r.startJob(Object{"parallelism": 2, "completions": 2, "backoffLimit": 6}, 2)
	release := r.cluster.proxy.Apply(faultproxy.Rule{Match: r.releases(), Times: 1, Outcome: faultproxy.CutAfter})
	defer release.Lift()
	r.spec("scale", "job", Object{"parallelism": 1})
	stripped := func(pod Object) bool { return len(finalizers(pod)) == 0 }
	if !r.waitPods(20*time.Second, "a pod without finalizer", func(pods []Object) bool { return slices.ContainsFunc(pods, stripped) }) {
		return
	}
	var kept, other Object
	for _, pod := range r.rec.allPods() {
		if stripped(pod) {
			kept = pod
		} else {
			other = pod
		}
	}
	r.notef("the answer to the PATCH of pod %s is lost", name(kept))
	r.setReady(other, false)
	r.waitPods(20*time.Second, "the deletion of the other", func([]Object) bool { return terminating(r.rec.pod(name(other))) })
	r.exit(other, 143)
	r.remove(other)
	r.exit(kept, 0)
	r.waitPods(20*time.Second, "another pod", func(pods []Object) bool {
		return slices.ContainsFunc(pods, func(pod Object) bool { return name(pod) != name(kept) && name(pod) != name(other) })
	})
	r.notef("pod %s has ended well, and succeeded is %d", name(kept), num(r.rec.job("job"), "status", "succeeded"))
	r.settle(5*time.Second, nil)
}

// playFalseTerminal (TC-09): somebody has set Failed to False before the Job fails.
func playFalseTerminal(r *Run) {
	pod := r.startJob(Object{"parallelism": 1, "completions": 1, "backoffLimit": 0}, 1)[0]
	now := stamp(time.Now())
	code, _, err := r.user.do("PATCH", jobsPath(r.namespace, "/job/status"), mergePatch, Object{"status": Object{"conditions": []Object{
		{"type": "Failed", "status": "False", "lastProbeTime": now, "lastTransitionTime": now, "reason": "ByHand", "message": "set by hand"}}}})
	if err != nil {
		panic(err)
	}
	r.count("status by hand", code)
	r.exit(pod, 1)
	r.waitJob(20*time.Second, "job", "the end", finished)
	r.settle(3*time.Second, nil)
}

// playTwoLeaders (SY-01): two controller managers for a while. The second has a Pod cache that stands still when the
// first releases the pod; it reads the Job in which the pod is counted, and counts it again.
func playTwoLeaders(r *Run) {
	pod := r.startJob(Object{"parallelism": 1, "completions": 1, "backoffLimit": 1}, 1)[0]
	proxy, stop, err := r.cluster.startSecond()
	if err != nil {
		panic(err)
	}
	defer stop()
	lists := proxy.Apply(faultproxy.Rule{Match: faultproxy.Match{Verb: "watch", Resource: "pods"}})
	defer lists.Lift()
	if !r.wait(30*time.Second, "the second one's Pod watch", func() bool { return lists.Hits() > 0 }) {
		return
	}
	hold := proxy.HoldWatch(faultproxy.WatchRule{Match: faultproxy.Match{Resource: "pods"}, From: func(event faultproxy.Event) bool {
		return str(event.Object, "metadata", "namespace") == r.namespace && len(finalizers(event.Object)) == 0
	}})
	// What the second one writes waits until the first has counted the pod.
	writes := proxy.Apply(faultproxy.Rule{Match: r.statusWrites(), Hold: true})
	r.exit(pod, 1)
	r.waitJob(20*time.Second, "job", "the count", func(job Object) bool {
		return num(job, "status", "failed") == 1 && uncounted(job, "failed") == 0
	})
	writes.Lift()
	r.waitJob(30*time.Second, "job", "the second count", func(job Object) bool { return num(job, "status", "failed") > 1 })
	hold.Lift()
	r.settle(5*time.Second, nil)
}

// playLateCreation: the controller dies after it has sent the creation of a pod; its successor creates one of its own for
// the index, and then the first request arrives.
func playLateCreation(r *Run) {
	create := r.cluster.proxy.Apply(faultproxy.Rule{Hold: true, Late: true, Times: 1,
		Match: faultproxy.Match{Verb: "create", Resource: "pods", Namespace: r.namespace}})
	defer create.Lift()
	job := plainJob("job", Object{"parallelism": 1, "completions": 1, "completionMode": "Indexed"})
	podSpecOf(job)["nodeName"] = nodeName
	r.createJob(job)
	if !r.wait(20*time.Second, "the creation", func() bool { return create.Held() == 1 }) {
		return
	}
	r.cluster.killController()
	r.mustStart()
	r.waitAlive("job", 1)
	r.startAll()
	create.Lift()
	r.notef("the creation of the dead controller arrives")
	r.waitAlive("job", 2)
	r.startAll()
	r.notef("two pods of index 0 run")
	r.settle(10*time.Second, nil)
}
