package main

import (
	"fmt"
	"slices"
	"time"
)

// The scripted runs. Each leads the built-in controller into one situation; the seed varies what
// is incidental to it.

// kubeletFor plays the random kubelet for a while.
func (r *Run) kubeletFor(length time.Duration) {
	for end := time.Now().Add(length); time.Now().Before(end); time.Sleep(60 * time.Millisecond) {
		r.playKubelet()
	}
}

// startAll brings every pending pod to Running and Ready.
func (r *Run) startAll() {
	for _, pod := range r.rec.allPods() {
		if phase(pod) == "Pending" && !terminating(pod) {
			r.running(pod, true)
		}
	}
}

func (r *Run) waitAlive(job string, count int) []Object {
	r.waitPods(30*time.Second, fmt.Sprintf("%d pods of %s", count, job), func([]Object) bool {
		return len(r.alivePodsOf(r.rec.job(job))) == count
	})
	return r.alivePodsOf(r.rec.job(job))
}

func uncounted(job Object, list string) int {
	uids, _ := dig(job, "status", "uncountedTerminatedPods", list).([]any)
	return len(uids)
}

func index(pod Object) string {
	return str(pod, "metadata", "annotations", "batch.kubernetes.io/job-completion-index")
}

// playBackoff: pods that always fail, so that the delays of 10, 20 and 40 seconds are seen.
func playBackoff(r *Run) {
	failing := mood{success: 0, seconds: 1, slow: 1, readily: 0.5}
	r.moods["plain"], r.moods["per-index"] = failing, failing
	if r.chance(0.5) {
		r.moods["per-index"] = mood{success: 0.3, seconds: 2, slow: 1, readily: 1}
	}
	plain := Object{"parallelism": 1 + r.random.Intn(2), "completions": 2, "backoffLimit": 6}
	if r.chance(0.3) {
		plain["podReplacementPolicy"] = "Failed"
	}
	r.createJob(plainJob("plain", plain))
	spec := Object{"parallelism": 3, "completions": 3, "completionMode": "Indexed", "backoffLimitPerIndex": 2 + r.random.Intn(2)}
	if r.chance(0.4) {
		spec["podFailurePolicy"] = Object{"rules": []Object{{"action": "Ignore", "onExitCodes": Object{"operator": "In", "values": []int{43}}}}}
	}
	r.createJob(plainJob("per-index", spec))
	r.kubeletFor(130 * time.Second)
	r.settle(10*time.Second, r.playKubelet)
}

// playAdoption: stray pods with labels that match, owned pods whose labels stop matching.
func playAdoption(r *Run) {
	spec := Object{"parallelism": 2, "completions": 3, "backoffLimit": 6, "manualSelector": true,
		"selector": Object{"matchLabels": Object{"app": "x"}}}
	job := plainJob("job", spec)
	dig(job, "spec", "template").(Object)["metadata"] = Object{"labels": Object{"app": "x"}}
	stray := func(name string) {
		r.createPod(Object{"apiVersion": "v1", "kind": "Pod", "metadata": Object{"name": name, "labels": Object{"app": "x"}},
			"spec": podSpecOf(plainJob("", Object{}))})
		r.wait(5*time.Second, name, func() bool { return r.rec.pod(name) != nil })
	}
	relabel := func(pod Object, app string) {
		code, _, _ := r.user.do("PATCH", podsPath(r.namespace, "/"+name(pod)), mergePatch, Object{"metadata": Object{"labels": Object{"app": app}}})
		r.count("label app="+app, code)
	}
	alive := func() []Object {
		var pods []Object
		for _, pod := range r.rec.allPods() {
			if !ended(pod) && !terminating(pod) {
				pods = append(pods, pod)
			}
		}
		return pods
	}

	stray("stray-early")
	switch r.random.Intn(3) {
	case 1:
		r.running(r.rec.pod("stray-early"), true)
	case 2:
		r.running(r.rec.pod("stray-early"), true)
		r.exit(r.rec.pod("stray-early"), r.pick(0, 0, 1))
	}
	r.createJob(job)
	time.Sleep(r.between(0.5, 2.5))
	r.startAll()
	var released Object
	for range 6 + r.random.Intn(5) {
		pods := alive()
		switch action := r.random.Intn(7); {
		case action == 0:
			stray(fmt.Sprintf("stray-%d", r.random.Intn(1_000_000)))
		case action == 1 && released == nil && len(pods) > 0:
			released = pods[r.random.Intn(len(pods))]
			relabel(released, "y")
		case action == 2 && released != nil:
			relabel(released, "x")
			released = nil
		case action == 3 && len(pods) > 0: // loses its owner, matches still: adopted again
			code, _, _ := r.user.do("PATCH", podsPath(r.namespace, "/"+name(pods[0])), mergePatch, Object{"metadata": Object{"ownerReferences": nil}})
			r.count("strip owner", code)
		case action == 4 && len(pods) > 0:
			r.exit(pods[r.random.Intn(len(pods))], r.pick(0, 0, 1))
		case action == 5 && len(pods) > 0:
			r.deletePod(name(pods[r.random.Intn(len(pods))]))
		default:
			r.startAll()
		}
		time.Sleep(r.between(0.2, 2.5))
	}
	if r.chance(0.3) {
		r.deleteJob("job", "Orphan")
		time.Sleep(2 * time.Second)
	}
	for end := time.Now().Add(25 * time.Second); time.Now().Before(end); time.Sleep(time.Second) {
		if found := r.rec.job("job"); found == nil || finished(found) {
			break
		}
		r.startAll()
		for _, pod := range r.rec.allPods() {
			switch {
			case terminating(pod) && !ended(pod):
				r.exit(pod, 143)
			case phase(pod) == "Running":
				r.exit(pod, 0)
			}
		}
	}
	r.settle(6*time.Second, nil)
}

// playSuspendedEnd (S-04): a pod that terminates slowly ends after its Job was suspended; the
// terminal condition is then refused for want of a startTime. Even seeds: the pod succeeds.
// Some seeds resume the Job at the end, which frees it.
func playSuspendedEnd(r *Run) {
	bound := r.seed%4 >= 2
	spec := Object{"parallelism": 1, "completions": 1, "backoffLimit": 0, "podReplacementPolicy": "Failed"}
	if r.seed%5 == 4 {
		spec["completionMode"] = "Indexed"
	}
	if r.seed%3 == 2 {
		spec["ttlSecondsAfterFinished"] = 1
	}
	job := plainJob("job", spec)
	if bound {
		podSpecOf(job)["nodeName"] = nodeName
	}
	r.createJob(job)
	pod := r.waitAlive("job", 1)[0]
	r.running(pod, true)
	time.Sleep(r.between(1.2, 2))
	r.hold(name(pod))
	r.deletePod(name(pod))
	time.Sleep(r.between(1, 3))
	r.suspend("job", true)
	time.Sleep(r.between(1, 3))
	code := 143
	if r.seed%2 == 0 {
		code = 0
	}
	r.exit(pod, code)
	if bound {
		r.remove(pod)
	}
	r.release(name(pod))
	time.Sleep(25 * time.Second) // refusals at 1, 2, 4, 8, 16 s
	if r.seed%3 == 1 {
		r.suspend("job", false)
		time.Sleep(4 * time.Second)
	}
	r.settle(4*time.Second, nil)
}

// playBothIndexes (S-02, L2): the pod of index 0 is being deleted and counts as failed; when its
// replacement appears, the controller dies before it has released the first pod; that one then
// succeeds, and the replacement fails.
func playBothIndexes(r *Run) {
	job := plainJob("job", Object{"parallelism": 2, "completions": 2, "completionMode": "Indexed", "backoffLimitPerIndex": 1})
	bound := r.seed%2 == 0
	if bound {
		podSpecOf(job)["nodeName"] = nodeName
	}
	r.createJob(job)
	pods := r.waitAlive("job", 2)
	r.startAll()
	time.Sleep(1500 * time.Millisecond)
	first := pods[0]
	if index(first) != "0" {
		first = pods[1]
	}
	r.hold(name(first))
	r.deletePod(name(first))
	var second Object
	r.waitPods(30*time.Second, "the replacement", func(pods []Object) bool {
		i := slices.IndexFunc(pods, func(pod Object) bool { return index(pod) == "0" && name(pod) != name(first) })
		if i >= 0 {
			second = pods[i]
		}
		return i >= 0
	})
	if second == nil {
		return
	}
	r.cluster.killController()
	r.running(second, true)
	r.exit(first, 0)
	if bound {
		r.remove(first)
	}
	r.release(name(first))
	r.exit(second, 1)
	time.Sleep(r.between(0.5, 3))
	r.mustStart()
	time.Sleep(20 * time.Second)
	if r.seed%3 == 0 {
		r.deleteJob("job", "Foreground")
		time.Sleep(15 * time.Second)
	}
}

func (r *Run) mustStart() {
	if err := r.cluster.startController(); err != nil {
		panic(err)
	}
}

// throttled restarts the controller with one request per second: between the status write that
// records a UID and the PATCH that releases the pod there is then time to do something.
func (r *Run) throttled(play func()) {
	before := r.cluster.qps
	r.cluster.killController()
	r.cluster.qps = 1
	r.mustStart()
	time.Sleep(5 * time.Second)
	defer func() {
		r.cluster.qps = before
		if !r.controllerDown() {
			r.cluster.killController()
		}
		r.mustStart()
	}()
	play()
}

func (r *Run) controllerDown() bool {
	select {
	case <-r.cluster.controller.done:
		return true
	default:
		return false
	}
}

// noRelease is false for a request of the controller manager that removes the Job's finalizer.
const noRelease = `!(request.userInfo.username == 'system:kube-controller-manager' &&
	has(oldObject.metadata.finalizers) && 'batch.kubernetes.io/job-tracking' in oldObject.metadata.finalizers &&
	!(has(object.metadata.finalizers) && 'batch.kubernetes.io/job-tracking' in object.metadata.finalizers))`

// playFewSuccesses (S-01): a deleted pod is recorded as failed, then, before it is released, it
// exits 0. Kept apart from its release by a kill (odd seeds) or by an admission policy (even).
func playFewSuccesses(r *Run) {
	spec := Object{"parallelism": 1, "completions": 1, "backoffLimit": 6}
	if r.seed%3 == 0 {
		spec["completionMode"] = "Indexed"
	}
	create := func() Object {
		r.createJob(plainJob("job", spec))
		pod := r.waitAlive("job", 1)[0]
		r.running(pod, true)
		time.Sleep(4 * time.Second)
		return pod
	}
	recorded := func(job Object) bool { return uncounted(job, "failed") > 0 || num(job, "status", "failed") > 0 }
	if r.seed%2 == 0 {
		allow := r.forbid("release", []string{"UPDATE"}, noRelease)
		pod := create()
		r.deletePod(name(pod))
		r.waitJob(30*time.Second, "job", "the record", recorded)
		r.exit(pod, 0)
		time.Sleep(r.between(3, 8))
		allow()
		time.Sleep(15 * time.Second) // the controller's next attempt may be 8 s away
		r.settle(10*time.Second, nil)
		return
	}
	r.throttled(func() {
		pod := create()
		r.deletePod(name(pod))
		if !r.waitJob(40*time.Second, "job", "the record", recorded) {
			return
		}
		r.cluster.killController()
		r.exit(pod, 0)
		time.Sleep(time.Second)
		r.mustStart()
		time.Sleep(15 * time.Second)
		r.settle(20*time.Second, nil)
	})
}

// playLostFailJob (S-03): the deletion of another pod is refused, so the decision to fail the Job
// is not written, but the pod that matched the rule is counted and released.
func playLostFailJob(r *Run) {
	allow := r.forbid("delete", []string{"DELETE"}, "request.userInfo.username != 'system:kube-controller-manager'")
	r.createJob(plainJob("job", Object{"parallelism": 2, "completions": 2, "backoffLimit": 6, "podFailurePolicy": Object{
		"rules": []Object{{"action": "FailJob", "onExitCodes": Object{"operator": "In", "values": []int{42}}}}}}))
	pods := r.waitAlive("job", 2)
	r.startAll()
	time.Sleep(2 * time.Second)
	r.exit(pods[0], 42)
	time.Sleep(r.between(4, 8))
	if r.seed%2 == 0 {
		r.deletePod(name(pods[0])) // the trace of the match is gone
		time.Sleep(r.between(1, 3))
	}
	allow()
	time.Sleep(12 * time.Second)
	r.startAll()
	time.Sleep(2 * time.Second)
	for _, pod := range r.rec.allPods() {
		if !ended(pod) {
			r.exit(pod, 0)
		}
	}
	r.settle(15*time.Second, nil)
}

// forbid installs an admission policy for the namespace's pods and returns what lifts it again.
// Its refusals are 422 answers in the audit log that are none of the controller's fault.
func (r *Run) forbid(what string, operations []string, expression string) func() {
	id := r.namespace + "-" + what
	path := "/apis/admissionregistration.k8s.io/v1/"
	r.user.must("POST", path+"validatingadmissionpolicies", jsonBody, Object{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": Object{"name": id},
		"spec": Object{"failurePolicy": "Fail",
			"matchConstraints": Object{"resourceRules": []Object{{"apiGroups": []string{""}, "apiVersions": []string{"v1"},
				"operations": operations, "resources": []string{"pods"}}}},
			"validations": []Object{{"expression": expression, "message": "forbidden by the script"}}}})
	r.user.must("POST", path+"validatingadmissionpolicybindings", jsonBody, Object{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": Object{"name": id},
		"spec": Object{"policyName": id, "validationActions": []string{"Deny"},
			"matchResources": Object{"namespaceSelector": Object{"matchLabels": Object{"kubernetes.io/metadata.name": r.namespace}}}}})
	time.Sleep(3 * time.Second) // until the API server enforces it
	r.notef("an admission policy (422) stops the controller's %s requests for pods", what)
	return func() {
		r.user.must("DELETE", path+"validatingadmissionpolicybindings/"+id, jsonBody, nil)
		r.user.must("DELETE", path+"validatingadmissionpolicies/"+id, jsonBody, nil)
		r.notef("the policy was lifted at %s", time.Now().UTC().Format("15:04:05.000"))
	}
}

// playReadopted (S-05): a counted, finished pod loses its owner reference, is adopted and counted again.
func playReadopted(r *Run) {
	spec := Object{"parallelism": 2, "completions": 4 + r.random.Intn(3), "backoffLimit": 6}
	r.createJob(plainJob("job", spec))
	pods := r.waitAlive("job", 2)
	r.startAll()
	time.Sleep(1500 * time.Millisecond)
	code, counter := 0, "succeeded"
	if r.seed%3 == 0 {
		code, counter = 1, "failed"
	}
	r.exit(pods[0], code)
	for round := range 1 + r.random.Intn(2) {
		r.waitJob(10*time.Second, "job", "the count", func(job Object) bool {
			return num(job, "status", counter) == round+1 && uncounted(job, counter) == 0
		})
		time.Sleep(r.between(0.2, 2))
		answer, _, _ := r.user.do("PATCH", podsPath(r.namespace, "/"+name(pods[0])), mergePatch, Object{"metadata": Object{"ownerReferences": nil}})
		r.count("strip owner", answer)
		time.Sleep(3 * time.Second)
	}
	r.moods["job"] = mood{success: 1, seconds: 2, slow: 1, readily: 1}
	r.kubeletFor(14 * time.Second)
	r.settle(10*time.Second, r.playKubelet)
}

// playFlip (S-07): a pod recorded as succeeded turns Failed before it is released.
func playFlip(r *Run) {
	r.throttled(func() {
		r.createJob(plainJob("job", Object{"parallelism": 1, "completions": 2, "backoffLimit": 6}))
		pod := r.waitAlive("job", 1)[0]
		r.running(pod, true)
		time.Sleep(4 * time.Second)
		r.exit(pod, 0)
		if !r.waitJob(20*time.Second, "job", "the record", func(job Object) bool { return uncounted(job, "succeeded") > 0 }) {
			return
		}
		if r.seed%2 == 0 {
			r.cluster.killController()
		}
		r.exit(pod, 1)
		if r.seed%2 == 0 {
			time.Sleep(time.Second)
			r.mustStart()
		}
		time.Sleep(25 * time.Second)
	})
}

// playFalseCondition (S-12): FailureTarget=False was set by hand before the Job fails.
func playFalseCondition(r *Run) {
	r.createJob(plainJob("job", Object{"parallelism": 2, "completions": 2, "backoffLimit": 0, "podReplacementPolicy": "Failed"}))
	pods := r.waitAlive("job", 2)
	r.startAll()
	time.Sleep(2 * time.Second)
	now := stamp(time.Now())
	code, _, _ := r.user.do("PATCH", jobsPath(r.namespace, "/job/status"), mergePatch, Object{"status": Object{"conditions": []Object{
		{"type": "FailureTarget", "status": "False", "lastProbeTime": now, "lastTransitionTime": now, "reason": "ByHand", "message": "set by hand"}}}})
	r.count("status by hand", code)
	r.hold(name(pods[1]))
	time.Sleep(time.Second)
	r.exit(pods[0], 1)
	time.Sleep(3 * time.Second)
	for i := range 2 + r.random.Intn(3) { // every sync finds the wrong first entry again
		r.setReady(pods[1], i%2 == 0)
		time.Sleep(r.between(1.3, 2.5))
	}
	r.exit(pods[1], 143)
	r.release(name(pods[1]))
	r.settle(12*time.Second, nil)
}

// playLoad: eight Jobs with some fifty pods at once.
func playLoad(r *Run) {
	for i := range 8 {
		id := fmt.Sprintf("job-%d", i)
		spec := Object{"parallelism": 5 + r.random.Intn(3), "completions": 6 + r.random.Intn(8), "backoffLimit": 20}
		r.moods[id] = mood{success: 0.85, forever: 0.05, seconds: 8, slow: 3, readily: 0.8}
		if i%2 == 0 {
			spec["completionMode"] = "Indexed"
		}
		if i%3 == 0 {
			spec["podReplacementPolicy"] = "Failed"
		}
		r.createJob(plainJob(id, spec))
	}
	next := time.Now().Add(4 * time.Second)
	for end := time.Now().Add(45 * time.Second); time.Now().Before(end); time.Sleep(30 * time.Millisecond) {
		r.playKubelet()
		if r.seed%2 == 0 && time.Now().After(next) {
			r.userStep(nil)
			next = time.Now().Add(r.between(1, 4))
		}
	}
	r.settle(20*time.Second, r.playKubelet)
}

// playWide: one Job with sixty pods at once, scaled and shot at.
func playWide(r *Run) {
	spec := Object{"parallelism": 60, "completions": 60 + r.random.Intn(20), "backoffLimit": 200}
	if r.seed%2 == 0 {
		spec["completionMode"] = "Indexed"
	}
	r.moods["wide"] = mood{success: 0.8, forever: 0.15, seconds: 12, slow: 4, readily: 0.9}
	r.createJob(plainJob("wide", spec))
	r.kubeletFor(r.between(6, 9))
	steps := []func(){
		func() { r.spec("scale", "wide", Object{"parallelism": 20}) },
		func() { r.spec("scale", "wide", Object{"parallelism": 60}) },
		func() { r.suspend("wide", true) },
		func() { r.suspend("wide", false) },
		func() {
			for i, pod := range r.alivePodsOf(r.rec.job("wide")) {
				if i%5 == 0 {
					r.deletePod(name(pod))
				}
			}
		},
	}
	for _, step := range steps {
		if job := r.rec.job("wide"); job == nil || finished(job) {
			break
		}
		step()
		r.kubeletFor(r.between(3, 7))
	}
	r.settle(20*time.Second, r.playKubelet)
}

// playMirror: the Job belongs to somebody else, who carries a remote Job's status over.
func playMirror(r *Run) {
	n := 2 + r.random.Intn(3)
	spec := Object{"parallelism": n, "completions": n, "backoffLimit": 3, "managedBy": "acme.example.com/mirror"}
	indexed := r.chance(0.5)
	if indexed {
		spec["completionMode"] = "Indexed"
	}
	suspended := r.chance(0.4)
	if suspended {
		spec["suspend"] = true
	}
	if r.chance(0.4) {
		spec["ttlSecondsAfterFinished"] = 1 + r.random.Intn(3)
	}
	fails := r.chance(0.35)
	r.createJob(plainJob("job", spec))
	r.wait(5*time.Second, "the job", func() bool { return r.rec.job("job") != nil })

	conditions := []Object{}
	set := func(kind string, on bool, reason string) {
		status := "False"
		if on {
			status = "True"
		}
		now := stamp(time.Now())
		entry := Object{"type": kind, "status": status, "lastProbeTime": now, "lastTransitionTime": now, "reason": reason, "message": "from the remote cluster"}
		for i := range conditions {
			if conditions[i]["type"] == kind {
				conditions[i] = entry
				return
			}
		}
		conditions = append(conditions, entry)
	}
	status := Object{}
	write := func(change Object) {
		time.Sleep(r.between(0.3, 1.5))
		for key, value := range change {
			status[key] = value
		}
		if len(conditions) > 0 {
			status["conditions"], change["conditions"] = conditions, conditions
		}
		path := jobsPath(r.namespace, "/job/status")
		var code int
		if r.seed%3 == 0 { // server-side apply, of the whole status each time
			full := Object{}
			for key, value := range status {
				if value != nil {
					full[key] = value
				}
			}
			code, _, _ = r.mirror.do("PATCH", path+"?fieldManager=mirror&force=true", applyPatch, Object{
				"apiVersion": "batch/v1", "kind": "Job", "metadata": Object{"name": "job"}, "status": full})
		} else if r.seed%2 == 0 || (r.seed%5 == 0 && r.chance(0.5)) {
			code, _, _ = r.mirror.do("PATCH", path, mergePatch, Object{"status": change})
		} else {
			current := r.mirror.must("GET", jobsPath(r.namespace, "/job"), "", nil)
			full := Object{}
			for key, value := range status {
				if value != nil {
					full[key] = value
				}
			}
			current["status"] = full
			code, _, _ = r.mirror.do("PUT", path, jsonBody, current)
		}
		r.count("mirror writes", code)
	}

	if suspended {
		set("Suspended", true, "JobSuspended")
		write(Object{"active": 0, "ready": 0, "terminating": 0})
		time.Sleep(r.between(1, 3))
		r.suspend("job", false)
		set("Suspended", false, "JobResumed")
	}
	write(Object{"startTime": stamp(time.Now()), "active": n, "ready": 0, "terminating": 0})
	write(Object{"ready": n})
	if r.chance(0.3) { // and once more in the middle
		r.suspend("job", true)
		set("Suspended", true, "JobSuspended")
		write(Object{"active": 0, "ready": 0, "terminating": n, "startTime": nil})
		write(Object{"terminating": 0})
		r.suspend("job", false)
		set("Suspended", false, "JobResumed")
		write(Object{"startTime": stamp(time.Now()), "active": n, "ready": n})
	}
	succeeded, failed := 0, 0
	done := func() Object {
		change := Object{"succeeded": succeeded, "failed": failed}
		if indexed && succeeded > 0 {
			text := "0"
			if succeeded == 2 {
				text = "0,1"
			} else if succeeded > 2 {
				text = fmt.Sprintf("0-%d", succeeded-1)
			}
			change["completedIndexes"] = text
		}
		return change
	}
	for succeeded < n-1 {
		if fails && r.chance(0.5) {
			failed++
		} else {
			succeeded++
		}
		change := done()
		change["active"], change["ready"] = n-succeeded, n-succeeded
		write(change)
		if failed > 3 {
			break
		}
	}
	if fails {
		failed = max(failed, 3) + 1
		set("FailureTarget", true, "BackoffLimitExceeded")
		change := done()
		change["active"], change["ready"], change["terminating"] = 0, 0, n-succeeded
		write(change)
		set("Failed", true, "BackoffLimitExceeded")
		write(Object{"terminating": 0})
	} else {
		succeeded = n
		set("SuccessCriteriaMet", true, "CompletionsReached")
		change := done()
		change["active"], change["ready"], change["terminating"] = 0, 0, 0
		write(change)
		set("Complete", true, "CompletionsReached")
		write(Object{"completionTime": stamp(time.Now())})
	}
	time.Sleep(4 * time.Second)
	if r.rec.job("job") != nil && r.chance(0.4) {
		r.deleteJob("job", "Background")
	}
	r.settle(5*time.Second, nil)
}

// playLimitLowered (S-04 again): nothing terminates slowly; the user moves the goal of a suspended Job.
func playLimitLowered(r *Run) {
	indexed := r.seed%2 == 0
	spec := Object{"parallelism": 3, "completions": 3, "backoffLimit": 6}
	if indexed {
		spec["completionMode"] = "Indexed"
	}
	r.createJob(plainJob("job", spec))
	pods := r.waitAlive("job", 3)
	r.startAll()
	time.Sleep(1500 * time.Millisecond)
	for _, pod := range pods {
		switch {
		case indexed && index(pod) != "2":
			r.exit(pod, 0)
		case !indexed && pod["metadata"].(Object)["name"] != name(pods[2]):
			r.exit(pod, 1)
		}
	}
	time.Sleep(r.between(2.5, 4))
	r.suspend("job", true)
	time.Sleep(r.between(2, 3))
	for _, pod := range r.rec.allPods() {
		if terminating(pod) && !ended(pod) {
			r.exit(pod, 143)
		}
	}
	time.Sleep(r.between(1, 2))
	if indexed {
		r.spec("resize", "job", Object{"parallelism": 2, "completions": 2}) // both are completed already
	} else {
		r.spec("edit backoffLimit", "job", Object{"backoffLimit": 1})
	}
	time.Sleep(20 * time.Second)
	if r.seed%4 >= 2 {
		r.suspend("job", false)
		time.Sleep(3 * time.Second)
	}
	r.settle(4*time.Second, nil)
}

// playEvict: kubectl drain's way to remove pods; the API server adds the DisruptionTarget condition.
func playEvict(r *Run) {
	r.bound = true
	r.moods["plain"], r.moods["ignoring"] = mood{1, 0.3, 10, 3, 1}, mood{1, 0.3, 10, 3, 1}
	r.createJob(plainJob("plain", Object{"parallelism": 3, "completions": 5, "backoffLimit": 2}))
	r.createJob(plainJob("ignoring", Object{"parallelism": 3, "completions": 4, "backoffLimit": 0, "completionMode": "Indexed",
		"podFailurePolicy": Object{"rules": []Object{{"action": "Ignore", "onPodConditions": []Object{{"type": "DisruptionTarget", "status": "True"}}}}}}))
	r.kubeletFor(4 * time.Second)
	for range 3 + r.random.Intn(3) {
		for _, job := range r.rec.allJobs() {
			pods := r.alivePodsOf(job)
			if len(pods) == 0 || r.chance(0.4) {
				continue
			}
			id := name(pods[r.random.Intn(len(pods))])
			code, _, _ := r.user.do("POST", podsPath(r.namespace, "/"+id+"/eviction"), jsonBody,
				Object{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": Object{"name": id}})
			r.count("evict pod", code)
		}
		r.kubeletFor(r.between(2, 8))
	}
	r.kubeletFor(5 * time.Second)
	r.settle(20*time.Second, r.playKubelet)
}

// playNamespaceDeleted: creations are refused from then on, everything else must still work.
func playNamespaceDeleted(r *Run) {
	for i := range 3 {
		id := fmt.Sprintf("job-%c", 'a'+i)
		r.moods[id] = mood{0.6, 0.3, 6, 6, 0.9}
		r.createJob(plainJob(id, Object{"parallelism": 2 + i, "completions": 6, "backoffLimit": 6}))
	}
	r.kubeletFor(r.between(4, 10))
	for _, pod := range r.rec.allPods() {
		if !ended(pod) && r.chance(0.5) {
			r.hold(name(pod))
		}
	}
	if r.seed%2 == 0 { // a pod goes at the same moment, and wants a successor
		if pods := r.alivePodsOf(r.rec.job("job-c")); len(pods) > 0 {
			r.deletePod(name(pods[0]))
		}
	}
	r.user.do("DELETE", "/api/v1/namespaces/"+r.namespace, jsonBody, nil)
	r.notef("namespace deleted at %s", time.Now().UTC().Format("15:04:05.000"))
	r.kubeletFor(15 * time.Second)
	r.settle(20*time.Second, r.playKubelet)
}

// playCreateRefused: no pod can be created for a while, then it can.
func playCreateRefused(r *Run) {
	spec := Object{"parallelism": 5, "completions": 6, "backoffLimit": 6}
	if r.seed%2 == 0 {
		spec["completionMode"] = "Indexed"
	}
	r.moods["job"] = mood{0.8, 0, 5, 2, 1}
	var allow func()
	refuse := func() {
		allow = r.forbid("create", []string{"CREATE"}, "request.userInfo.username != 'system:kube-controller-manager'")
	}
	if r.seed%4 < 2 { // from the beginning, or only the later ones
		refuse()
	}
	r.createJob(plainJob("job", spec))
	if allow == nil {
		r.kubeletFor(2500 * time.Millisecond)
		refuse()
	}
	r.kubeletFor(r.between(8, 14))
	if r.seed%3 == 0 {
		r.suspend("job", true)
		r.kubeletFor(2 * time.Second)
		r.suspend("job", false)
	}
	r.kubeletFor(3 * time.Second)
	allow()
	r.kubeletFor(20 * time.Second)
	r.settle(15*time.Second, r.playKubelet)
}

// playReleaseRefused: UIDs stay uncounted because the pods cannot be released; then they can.
func playReleaseRefused(r *Run) {
	allow := r.forbid("release", []string{"UPDATE"}, noRelease)
	for i := range 3 {
		id := fmt.Sprintf("job-%c", 'a'+i)
		job := r.randomJob(id)
		spec := dig(job, "spec").(Object)
		delete(spec, "suspend")
		r.moods[id] = randomMood(r.random)
		r.createJob(job)
	}
	r.kubeletFor(r.between(8, 14))
	r.userStep(nil)
	r.kubeletFor(r.between(3, 6))
	allow()
	r.kubeletFor(12 * time.Second)
	r.settle(15*time.Second, r.playKubelet)
}

// playReadyAboveActive (S-09): the controller scales down or suspends; before it can release the
// last of the ready pods, that one loses its finalizers and is removed.
func playReadyAboveActive(r *Run) {
	r.throttled(func() {
		r.createJob(plainJob("job", Object{"parallelism": 3, "completions": 6, "backoffLimit": 6}))
		pods := r.waitAlive("job", 3)
		r.startAll()
		if !r.waitJob(15*time.Second, "job", "three ready pods", func(job Object) bool { return num(job, "status", "ready") == 3 }) {
			return
		}
		time.Sleep(3 * time.Second)
		if r.seed%2 == 0 {
			r.suspend("job", true)
		} else {
			r.spec("scale", "job", Object{"parallelism": 0})
		}
		released := func(pod Object) bool { return pod == nil || len(finalizers(pod)) == 0 }
		r.waitPods(15*time.Second, "the first release", func([]Object) bool {
			return slices.ContainsFunc(pods, func(pod Object) bool { return released(r.rec.pod(name(pod))) })
		})
		for _, pod := range pods {
			if !released(r.rec.pod(name(pod))) {
				r.user.do("PATCH", podsPath(r.namespace, "/"+name(pod)), mergePatch, Object{"metadata": Object{"finalizers": nil}})
				r.count("strip finalizers", 200)
				r.forceDeletePod(name(pod))
			}
		}
		time.Sleep(14 * time.Second)
		if r.seed%2 == 0 {
			r.suspend("job", false)
			time.Sleep(8 * time.Second)
		}
	})
}

// playDelete404 (H4): the controller has released a pod and finds it gone when it deletes it.
func playDelete404(r *Run) {
	r.throttled(func() {
		r.createJob(plainJob("job", Object{"parallelism": 2, "completions": 6, "backoffLimit": 6}))
		pods := r.waitAlive("job", 2)
		r.startAll()
		time.Sleep(5 * time.Second)
		r.suspend("job", true)
		done := map[string]bool{}
		r.wait(15*time.Second, "both releases", func() bool {
			for _, pod := range pods {
				current := r.rec.pod(name(pod))
				if !done[name(pod)] && current != nil && len(finalizers(current)) == 0 {
					done[name(pod)] = true
					r.forceDeletePod(name(pod))
				}
			}
			return len(done) == 2
		})
		time.Sleep(10 * time.Second)
		if r.seed%2 == 0 {
			r.suspend("job", false)
			time.Sleep(8 * time.Second)
		}
	})
}

// playForms: the same intentions in the many forms that requests of users take.
func playForms(r *Run) {
	send := func(what, method, rest, contentType string, body any) Object {
		code, answer, err := r.user.do(method, jobsPath(r.namespace, rest), contentType, body)
		if err != nil {
			panic(err)
		}
		r.count(what, code)
		return answer
	}
	apply := func(what, job string, spec Object) {
		object := plainJob(job, spec)
		send(what, "PATCH", "/"+job+"?fieldManager=forms&force=true", applyPatch, object)
	}
	options := func(fields Object) Object {
		fields["kind"], fields["apiVersion"] = "DeleteOptions", "v1"
		return fields
	}
	r.moods["applied"] = mood{0.9, 0.3, 8, 3, 1}

	apply("create by apply", "applied", Object{"parallelism": 2, "completions": 5})
	send("dry-run create", "POST", "?dryRun=All", jsonBody, plainJob("never", Object{}))
	generated := plainJob("", Object{"parallelism": 2, "completions": 3})
	generated["metadata"] = Object{"generateName": "made-", "labels": Object{"group": "g"}}
	made := name(send("create by generateName", "POST", "", jsonBody, generated))
	own := plainJob("own-finalizer", Object{"parallelism": 1, "completions": 3})
	own["metadata"] = Object{"name": "own-finalizer", "finalizers": []string{"example.com/job-hold"}, "labels": Object{"group": "g"}}
	send("create with a finalizer", "POST", "", jsonBody, own)
	r.kubeletFor(r.between(2, 4))

	steps := []func(){
		func() { apply("scale by apply", "applied", Object{"parallelism": 3, "completions": 5}) },
		func() {
			send("JSON patch", "PATCH", "/"+made, jsonPatch, []Object{{"op": "replace", "path": "/spec/parallelism", "value": 1}})
		},
		func() {
			send("dry-run scale", "PATCH", "/applied?dryRun=All", mergePatch, Object{"spec": Object{"parallelism": 0}})
		},
		func() {
			send("dry-run suspend", "PATCH", "/"+made+"?dryRun=All", mergePatch, Object{"spec": Object{"suspend": true}})
		},
		func() {
			send("delete with a wrong UID", "DELETE", "/applied", jsonBody, options(Object{"preconditions": Object{"uid": "no-such-uid"}}))
		},
		func() {
			send("dry-run delete", "DELETE", "/applied", jsonBody, options(Object{"dryRun": []string{"All"}, "propagationPolicy": "Background"}))
		},
		func() {
			if pods := r.alivePodsOf(r.rec.job("applied")); len(pods) > 0 {
				code, _, _ := r.user.do("DELETE", podsPath(r.namespace, "/"+name(pods[0]))+"?dryRun=All", jsonBody, nil)
				r.count("dry-run delete pod", code)
			}
		},
		func() {
			if pods := r.alivePodsOf(r.rec.job("applied")); len(pods) > 0 {
				code, _, _ := r.user.do("DELETE", podsPath(r.namespace, "/"+name(pods[0])), jsonBody, options(Object{"gracePeriodSeconds": 3}))
				r.count("delete pod with grace 3", code)
			}
		},
		func() { // changes nothing
			send("empty patch", "PATCH", "/"+made, mergePatch, Object{"spec": Object{"suspend": false}})
		},
		func() {
			send("suspend by strategic patch", "PATCH", "/applied", strategicPatch, Object{"spec": Object{"suspend": true}})
			r.kubeletFor(r.between(1, 3))
			send("resume by strategic patch", "PATCH", "/applied", strategicPatch, Object{"spec": Object{"suspend": false}})
		},
	}
	r.random.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
	for _, step := range steps {
		step()
		r.kubeletFor(r.between(0.3, 2.5))
	}
	if r.chance(0.5) {
		send("deletecollection of jobs", "DELETE", "?labelSelector=group%3Dg", jsonBody, options(Object{"propagationPolicy": "Background"}))
	} else {
		send("delete job Foreground", "DELETE", "/own-finalizer", jsonBody, options(Object{"propagationPolicy": "Foreground"}))
	}
	r.kubeletFor(r.between(3, 6))
	if job := r.rec.job("own-finalizer"); job != nil { // our finalizer only: a foreground deletion has one of its own
		for i, finalizer := range finalizers(job) {
			if finalizer == "example.com/job-hold" {
				send("remove the finalizer", "PATCH", "/own-finalizer", jsonPatch, []Object{
					{"op": "test", "path": fmt.Sprintf("/metadata/finalizers/%d", i), "value": finalizer},
					{"op": "remove", "path": fmt.Sprintf("/metadata/finalizers/%d", i)}})
			}
		}
	}
	r.kubeletFor(8 * time.Second)
	r.settle(15*time.Second, r.playKubelet)
}

// playNodeGone: the node object of running pods is deleted. Pod garbage collection notices after
// 40 to 60 s, marks the pods Failed with the DisruptionTarget condition and deletes them.
func playNodeGone(r *Run) {
	lost := "lost-" + r.namespace
	r.user.must("POST", "/api/v1/nodes", jsonBody, Object{"metadata": Object{"name": lost}})
	plain := plainJob("plain", Object{"parallelism": 2, "completions": 2, "backoffLimit": 3})
	ignoring := plainJob("ignoring", Object{"parallelism": 2, "completions": 2, "completionMode": "Indexed", "backoffLimit": 0,
		"podFailurePolicy": Object{"rules": []Object{{"action": "Ignore", "onPodConditions": []Object{{"type": "DisruptionTarget", "status": "True"}}}}}})
	for _, job := range []Object{plain, ignoring} {
		podSpecOf(job)["nodeSelector"] = Object{"example.com/pool": "any"} // nothing reads it: there is no scheduler
		r.createJob(job)
	}
	r.waitPods(10*time.Second, "four pods", func(pods []Object) bool { return len(pods) == 4 })
	for i, pod := range r.rec.allPods() {
		target := nodeName
		if i%2 == int(r.seed%2) {
			target = lost
		}
		r.scheduler.do("POST", podsPath(r.namespace, "/"+name(pod)+"/binding"), jsonBody, Object{
			"kind": "Binding", "apiVersion": "v1", "metadata": Object{"name": name(pod)}, "target": Object{"kind": "Node", "name": target}})
	}
	time.Sleep(time.Second)
	r.startAll()
	time.Sleep(3 * time.Second)
	r.user.must("DELETE", "/api/v1/nodes/"+lost, jsonBody, nil)
	r.notef("node deleted at %s", time.Now().UTC().Format("15:04:05.000"))
	time.Sleep(75 * time.Second)
	r.startAll()
	time.Sleep(12 * time.Second)
	r.startAll()
	time.Sleep(2 * time.Second)
	for _, pod := range r.rec.allPods() {
		if !ended(pod) && !terminating(pod) {
			r.exit(pod, 0)
		}
	}
	r.settle(10*time.Second, nil)
}
