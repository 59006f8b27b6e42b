package main

import (
	"slices"
	"time"

	"jobcheck/harness/controlplane/faultproxy"
)

// Runs in which a watch of the controller ends with 410 after something has happened that it had not shown: the list
// that follows tells it as something else (J-08, J-09). As in found.go every wait is for something to have happened.

// unseen plays what the controller learns by a new list alone: its watch stands still meanwhile, and ends with 410. The
// garbage collector of the same process reads the same watch.
func (r *Run) unseen(resource string, play func() bool) bool {
	watches := faultproxy.Match{Resource: resource}
	hold := r.cluster.proxy.HoldWatch(faultproxy.WatchRule{Match: watches})
	defer hold.Lift()
	r.notef("the watch of %s stands still", resource)
	played := play()
	r.cluster.proxy.ExpireWatches(watches)
	r.notef("the watch of %s ends with 410", resource)
	return played
}

// playReplacedUnseen (J-08): a Job is deleted and created again under its name while the watch of Jobs is interrupted.
//
// Odd seeds: its pods end meanwhile, and keep their finalizer. Even seeds: its pods have failed and are counted, and the
// new Job inherits their delay.
func playReplacedUnseen(r *Run) {
	if r.seed%2 == 1 {
		r.playForgottenPods()
	} else {
		r.playInheritedDelay()
	}
}

// replaceUnseen is kubectl replace --force, and what happens meanwhile. It waits until the controller has seen the new Job.
func (r *Run) replaceUnseen(spec Object, meanwhile func() bool) bool {
	replaced := r.unseen("jobs", func() bool {
		r.deleteJob("job", "Background")
		gone := func() bool { return r.rec.job("job") == nil }
		return r.wait(5*time.Second, "the end of the first Job", gone) && r.createJob(plainJob("job", spec)) && meanwhile()
	})
	begun := func(job Object) bool { return has(job, "status", "startTime") }
	return replaced && r.waitJob(20*time.Second, "job", "a sync of the second Job", begun)
}

// playForgottenPods: the controller leaves the end of the first pod to a sync of the Job that is gone. The second ends later.
func (r *Run) playForgottenPods() {
	spec := Object{"parallelism": 2, "completions": 2}
	pods := r.startJob(spec, 2)
	if len(pods) != 2 {
		return
	}
	replaced := r.replaceUnseen(spec, func() bool {
		before := r.refusals("jobs/status", 409)
		r.deletePod(name(pods[0]))
		r.exit(pods[0], 0)
		r.remove(pods[0])
		refused := func() bool { return r.refusals("jobs/status", 409) > before }
		return r.wait(20*time.Second, "a refused status", refused)
	})
	if !replaced {
		return
	}
	r.notef("both pods of the first Job are there: %v", r.areHeld(pods))
	r.exit(pods[1], 0)
	ended := time.Now()
	for r.areHeld(pods) && time.Since(ended) < patience {
		time.Sleep(100 * time.Millisecond)
	}
	r.notef("%.0f s after the end of the second both have the finalizer: %v; it was deleted: %v",
		time.Since(ended).Seconds(), r.areHeld(pods), terminating(r.rec.pod(name(pods[1]))))
	r.elsewhere()
	r.settle(3*time.Second, nil)
}

func (r *Run) areHeld(pods []Object) bool {
	return !slices.ContainsFunc(pods, func(pod Object) bool { return isStripped(r.rec.pod(name(pod))) })
}

func (r *Run) playInheritedDelay() {
	const failures = 6 // the default of backoffLimit; the delay after them is 320 s
	spec := Object{"parallelism": failures, "completions": failures}
	for _, pod := range r.startJob(spec, failures) {
		r.exit(pod, 1)
	}
	counted := func(job Object) bool {
		return num(job, "status", "failed") == failures && uncounted(job, "failed") == 0
	}
	if !r.waitJob(20*time.Second, "job", "the failures", counted) {
		return
	}
	if !r.replaceUnseen(spec, func() bool { return true }) {
		return
	}
	r.waitForPod("the second Job", time.Now(), patience)
}

// waitForPod waits until the Job gets another pod, which it does not, and shows that the controller is at work.
func (r *Run) waitForPod(whose string, since time.Time, limit time.Duration) {
	served := func() bool { return len(r.alivePodsOf(r.rec.job("job"))) > 0 }
	for !served() && time.Since(since) < limit {
		time.Sleep(100 * time.Millisecond)
	}
	r.notef("after %.0f s %s has a pod: %v", time.Since(since).Seconds(), whose, served())
	r.elsewhere()
	r.settle(3*time.Second, nil)
}

// playDeletedUnseen (J-09): a pod is deleted before the watch of pods has shown it, and a list shows it for the first time
// when it is being deleted. Its creation is expected for ever, and the Job gets no pod in its place.
//
// Even seeds wait until the expectation has expired, after 5 minutes: nothing wakes the Job then, either.
func playDeletedUnseen(r *Run) {
	var pod Object
	deleted := r.unseen("pods", func() bool {
		job := plainJob("job", Object{"parallelism": 1, "completions": 1})
		podSpecOf(job)["nodeName"] = nodeName
		r.createJob(job)
		written := func(job Object) bool { return num(job, "status", "active") == 1 }
		if !r.waitJob(20*time.Second, "job", "an active pod", written) {
			return false
		}
		pod = r.rec.allPods()[0]
		r.deletePod(name(pod))
		isGoing := func([]Object) bool { return terminating(r.rec.pod(name(pod))) }
		return r.waitPods(5*time.Second, "the deletion", isGoing)
	})
	seen := func(job Object) bool { return num(job, "status", "failed") == 1 && uncounted(job, "failed") == 0 }
	if !deleted || !r.waitJob(60*time.Second, "job", "the count of the pod", seen) {
		return
	}
	counted := time.Now()
	r.exit(pod, 143)
	r.remove(pod)
	limit := patience + 15*time.Second // the failure has a delay of 10 s
	if r.seed%2 == 0 {
		limit = 310 * time.Second
	}
	r.waitForPod("the Job", counted, limit)
}
