package main

import (
	"time"
)

// Runs with feature gates off in the controller manager, which takes an emulated version that does not lock them: 1.33
// has JobManagedBy and JobPodReplacementPolicy unlocked, and no version that 1.36 emulates has JobSuccessPolicy or
// JobBackoffLimitPerIndex. The API server has all gates on.

// withoutGates starts the controller manager again as one of 1.33 without JobManagedBy and JobPodReplacementPolicy, and
// again with all gates when the play is over.
func (r *Run) withoutGates(play func()) {
	restart := func(flags ...string) {
		r.cluster.killController()
		r.cluster.flags = flags
		r.mustStart()
	}
	restart("--emulated-version=1.33", "--feature-gates=JobManagedBy=false,JobPodReplacementPolicy=false")
	defer func() {
		if r.cluster.flags != nil {
			restart()
		}
	}()
	play()
}

// gatesReturn is the upgrade in the middle of a play.
func (r *Run) gatesReturn() {
	r.cluster.killController()
	r.cluster.flags = nil
	r.mustStart()
	r.notef("the gates are on again at %s", time.Now().UTC().Format("15:04:05.000"))
}

// playNoEnd (S-29): a controller without both gates writes the terminal condition alone, and an API server with
// JobManagedBy refuses it. Odd seeds end well, even seeds badly. The Job ends once the gates return.
func playNoEnd(r *Run) {
	r.withoutGates(func() {
		pod := r.startJob(Object{"parallelism": 1, "completions": 1, "backoffLimit": 0}, 1)[0]
		r.exit(pod, int(1-r.seed%2))
		r.waitPods(20*time.Second, "the release", func([]Object) bool { return isStripped(r.rec.pod(name(pod))) })
		refused := func() bool { return r.refusals("jobs/status", 422) > 2 }
		r.wait(40*time.Second, "three refusals", refused)
		r.notef("finished: %v, after %d refusals", finished(r.rec.job("job")), r.refusals("jobs/status", 422))
		r.gatesReturn()
		r.waitJob(40*time.Second, "job", "the end", finished)
	})
	r.settle(3*time.Second, nil)
}

// refusals counts the requests about a resource of this run that were refused with the code so far.
func (r *Run) refusals(resource string, code int) int {
	lines, err := auditLines(r.cluster.auditLog(), r.namespace, r.offset)
	if err != nil {
		panic(err)
	}
	found := 0
	for _, line := range lines {
		of := line.ObjectRef.Resource
		if line.ObjectRef.Subresource != "" {
			of += "/" + line.ObjectRef.Subresource
		}
		if of == resource && line.ResponseStatus.Code == code {
			found++
		}
	}
	return found
}

// playSkewedManager (MB-14, TC-04): a controller without JobManagedBy takes a Job over that another manages. The other
// one says how its Job has failed elsewhere, and the pod of the built-in runs on beside a finished Job.
func playSkewedManager(r *Run) {
	r.withoutGates(func() {
		job := plainJob("job", Object{"parallelism": 1, "completions": 1, "managedBy": "example.com/mirror"})
		podSpecOf(job)["nodeName"] = nodeName
		r.createJob(job)
		r.waitAlive("job", 1)
		r.startAll()
		r.waitJob(20*time.Second, "job", "a ready pod", func(job Object) bool { return num(job, "status", "ready") == 1 })
		now := stamp(time.Now())
		failed := func(kinds ...string) []Object {
			var all []Object
			for _, kind := range kinds {
				all = append(all, Object{"type": kind, "status": "True", "reason": "BackoffLimitExceeded", "message": "elsewhere",
					"lastProbeTime": now, "lastTransitionTime": now})
			}
			return all
		}
		mirrors := func(status Object) {
			code, answer, err := r.mirror.do("PATCH", jobsPath(r.namespace, "/job/status"), mergePatch, Object{"status": status})
			if err != nil {
				panic(err)
			}
			if code >= 300 {
				r.notef("the mirror's write is refused: %v", answer["message"])
			}
			r.count("mirror writes", code)
		}
		mirrors(Object{"active": 0, "ready": 0, "terminating": 0, "failed": 7, "conditions": failed("FailureTarget")})
		mirrors(Object{"active": 0, "ready": 0, "terminating": 0, "conditions": failed("FailureTarget", "Failed")})
		r.waitJob(10*time.Second, "job", "the end", finished)
		alive := r.alivePodsOf(r.rec.job("job"))
		r.notef("the Job has failed, and %d of its pods run", len(alive))
		r.settle(5*time.Second, nil)
		r.gatesReturn()
	})
	r.settle(5*time.Second, nil)
}
