package main

import (
	"fmt"
	"math/rand"
	"time"
)

// A mood is how the pods of one Job tend to behave; each pod then gets a fate of its own.
type mood struct {
	success float64 // share of pods that exit 0
	forever float64 // share of pods that run until someone ends them
	seconds float64 // longest run
	slow    float64 // longest time to terminate, seconds
	readily float64 // share of pods that become ready
}

var exitCodes = []int{1, 3, 42, 43, 137}

func randomMood(g *rand.Rand) mood {
	moods := []mood{
		{0.9, 0.05, 6, 3, 0.9},  // healthy
		{0.5, 0.10, 5, 5, 0.7},  // mixed
		{0.1, 0.05, 3, 4, 0.5},  // failing
		{0.7, 0.50, 12, 8, 0.9}, // long-running
		{1.0, 0.00, 2, 2, 1.0},  // quick
	}
	return moods[g.Intn(len(moods))]
}

// fate is the plan for one pod, fixed by the seed when the pod is first seen.
type fate struct {
	bind, start, ready, end time.Time
	flips                   []time.Time // changes of readiness
	neverReady, forever     bool
	code                    int
	disrupted               bool // gets the DisruptionTarget condition before it fails
	dying                   time.Duration
	dieAt                   time.Time
	dyingCode               int // −1: vanishes without a terminal phase
	removed                 bool
	releaseAt               time.Time
}

func (r *Run) fateOf(pod Object) *fate {
	uid := str(pod, "metadata", "uid")
	if known := r.fates[uid]; known != nil {
		return known
	}
	m, ok := r.moods[str(pod, "metadata", "labels", "job-name")]
	if !ok {
		m = mood{0.7, 0.2, 6, 4, 0.8}
	}
	now := time.Now()
	f := &fate{bind: now.Add(r.between(0, 0.6)), neverReady: !r.chance(m.readily), forever: r.chance(m.forever),
		dying: r.between(0.1, m.slow), dyingCode: 143, disrupted: r.chance(0.1)}
	f.start = f.bind.Add(r.between(0, 1.2))
	f.ready = f.start.Add(r.between(0, 1.5))
	f.end = f.start.Add(r.between(0, m.seconds))
	for at := f.ready; r.chance(0.15) && len(f.flips) < 3; {
		at = at.Add(r.between(0.3, 2))
		f.flips = append(f.flips, at)
	}
	if !r.chance(m.success) {
		f.code = exitCodes[r.random.Intn(len(exitCodes))]
	}
	switch {
	case r.chance(0.25):
		f.dyingCode = 0
	case r.chance(0.1):
		f.dyingCode = -1
	}
	r.fates[uid] = f
	return f
}

// playKubelet lets every pod take the step that is due.
func (r *Run) playKubelet() {
	for _, pod := range r.rec.allPods() {
		f, now := r.fateOf(pod), time.Now()
		unbound := !has(pod, "spec", "nodeName")
		switch {
		case ended(pod):
			if terminating(pod) && !unbound && !f.removed {
				f.removed = true
				r.remove(pod)
			}
			if terminating(pod) && held(pod) {
				if f.releaseAt.IsZero() {
					f.releaseAt = now.Add(r.between(0, 2))
				} else if now.After(f.releaseAt) {
					f.releaseAt = now.Add(time.Second)
					r.release(name(pod))
				}
			}
		case terminating(pod):
			if f.dieAt.IsZero() {
				f.dieAt = now.Add(f.dying)
				continue
			}
			if now.Before(f.dieAt) {
				continue
			}
			f.dieAt = now.Add(2 * time.Second)
			if f.dyingCode < 0 { // the machine went away: the pod is removed in the phase it has
				f.dyingCode = 137
				if held(pod) {
					r.release(name(pod))
				}
				r.remove(pod)
				continue
			}
			r.exit(pod, f.dyingCode)
		case r.bound && unbound:
			if now.After(f.bind) {
				f.bind = now.Add(time.Second)
				r.bind(pod)
			}
		case phase(pod) == "Pending" || phase(pod) == "":
			if now.After(f.start) {
				f.start = now.Add(time.Second)
				r.running(pod, !f.neverReady && r.chance(0.5))
			}
		case now.After(f.end) && !f.forever:
			f.end = now.Add(time.Second)
			r.endOf(pod, f)
		case !f.neverReady && now.After(f.ready) && !isReady(pod) && len(f.flips) == 0:
			f.ready = now.Add(time.Second)
			r.setReady(pod, true)
		case len(f.flips) > 0 && now.After(f.flips[0]):
			f.flips = f.flips[1:]
			r.setReady(pod, !isReady(pod))
		}
	}
}

func (r *Run) endOf(pod Object, f *fate) {
	switch {
	case f.code == 0:
		r.exit(pod, 0)
	case str(pod, "spec", "restartPolicy") == "OnFailure":
		r.restarted(pod, f.code)
		f.end = time.Now().Add(r.between(0.5, 4))
		if r.chance(0.3) {
			f.code = 0
		}
	default:
		if f.disrupted {
			r.patchStatus(pod, Object{"conditions": []Object{{"type": "DisruptionTarget", "status": "True",
				"reason": "DeletionByTaintManager", "lastTransitionTime": stamp(time.Now())}}})
		}
		r.exit(pod, f.code)
	}
}

func isReady(pod Object) bool {
	list, _ := dig(pod, "status", "conditions").([]any)
	for _, item := range list {
		if str(item, "type") == "Ready" {
			return str(item, "status") == "True"
		}
	}
	return false
}

// plainJob is the frame of every Job: one container, a node when the pods are to be bound by template.
func plainJob(name string, spec Object) Object {
	podSpec := Object{"restartPolicy": "Never", "containers": []Object{{"name": containerName, "image": "busybox"}}}
	if _, there := spec["template"]; !there {
		spec["template"] = Object{"spec": podSpec}
	}
	return Object{"apiVersion": "batch/v1", "kind": "Job", "metadata": Object{"name": name}, "spec": spec}
}

func podSpecOf(job Object) Object { return dig(job, "spec", "template", "spec").(Object) }

func (r *Run) pick(numbers ...int) int { return numbers[r.random.Intn(len(numbers))] }

// randomJob is a valid Job of random shape.
func (r *Run) randomJob(name string) Object {
	spec := Object{"parallelism": 1 + r.random.Intn(4)}
	job := plainJob(name, spec)
	completions := 1 + r.random.Intn(6)
	shape := r.pick(0, 0, 1, 2, 2, 2)
	switch shape {
	case 0: // NonIndexed with a fixed number
		spec["completions"] = completions
	case 1: // work queue
	case 2:
		spec["completions"], spec["completionMode"] = completions, "Indexed"
	}
	indexed := shape == 2
	if !indexed || r.chance(0.6) {
		spec["backoffLimit"] = r.random.Intn(7)
	}
	perIndex := indexed && r.chance(0.5)
	if perIndex {
		spec["backoffLimitPerIndex"] = r.random.Intn(3)
		if r.chance(0.4) {
			spec["maxFailedIndexes"] = r.random.Intn(completions + 1)
		}
	}
	policy := r.chance(0.35)
	switch {
	case policy:
		spec["podFailurePolicy"] = Object{"rules": r.randomRules(perIndex)}
		if r.chance(0.5) {
			spec["podReplacementPolicy"] = "Failed"
		}
	case r.chance(0.5):
		spec["podReplacementPolicy"] = []string{"Failed", "TerminatingOrFailed"}[r.random.Intn(2)]
	}
	if indexed && r.chance(0.3) {
		rule := Object{}
		if r.chance(0.6) {
			rule["succeededIndexes"] = fmt.Sprintf("0-%d", r.random.Intn(completions))
			if rule["succeededIndexes"] == "0-0" {
				rule["succeededIndexes"] = "0"
			}
		}
		if len(rule) == 0 || r.chance(0.3) {
			rule["succeededCount"] = 1
		}
		spec["successPolicy"] = Object{"rules": []Object{rule}}
	}
	if r.chance(0.15) {
		spec["activeDeadlineSeconds"] = 4 + r.random.Intn(25)
	}
	if r.chance(0.3) {
		spec["ttlSecondsAfterFinished"] = r.random.Intn(6)
	}
	if r.chance(0.2) {
		spec["suspend"] = true
	}
	if !policy && !perIndex && r.chance(0.25) {
		podSpecOf(job)["restartPolicy"] = "OnFailure"
	}
	if r.bound && r.chance(0.5) {
		podSpecOf(job)["nodeName"] = nodeName // else the scheduler binds it
	}
	return job
}

func (r *Run) randomRules(perIndex bool) []Object {
	onExit := func(action string, codes ...int) Object {
		return Object{"action": action, "onExitCodes": Object{"operator": "In", "values": codes}}
	}
	rules := []Object{}
	if r.chance(0.6) {
		rules = append(rules, onExit("Ignore", 43))
	}
	if r.chance(0.4) {
		rules = append(rules, Object{"action": "Ignore", "onPodConditions": []Object{{"type": "DisruptionTarget", "status": "True"}}})
	}
	if r.chance(0.4) {
		rules = append(rules, onExit("Count", 3))
	}
	if perIndex && r.chance(0.6) {
		rules = append(rules, onExit("FailIndex", 137))
	}
	if len(rules) == 0 || r.chance(0.5) {
		rules = append(rules, onExit("FailJob", 42))
	}
	return rules
}

// userStep is one random action of the user.
func (r *Run) userStep(jobs []string) {
	existing := r.rec.allJobs()
	if len(existing) < len(jobs) && r.chance(0.5) { // recreate one under its old name
		for _, wanted := range jobs {
			if r.rec.job(wanted) == nil {
				r.moods[wanted] = randomMood(r.random)
				r.createJob(r.randomJob(wanted))
				return
			}
		}
	}
	if len(existing) == 0 {
		return
	}
	job := existing[r.random.Intn(len(existing))]
	for tries := 0; finished(job) && tries < 3; tries++ { // mostly the ones still alive
		job = existing[r.random.Intn(len(existing))]
	}
	id := name(job)
	suspended := isTrue(job, "spec", "suspend")
	pods := r.alivePodsOf(job)
	switch action := r.random.Intn(100); {
	case suspended && action < 12: // allowed while the Job is suspended
		r.spec("edit template", id, Object{"template": Object{"metadata": Object{"labels": Object{"example.com/round": fmt.Sprint(action)}},
			"spec": Object{"nodeSelector": Object{"example.com/pool": fmt.Sprint(action)}}}})
	case suspended && action < 50:
		r.suspend(id, false)
	case action < 14:
		r.suspend(id, !suspended)
	case action < 26:
		r.spec("scale", id, Object{"parallelism": r.random.Intn(6)})
	case action < 36:
		if str(job, "spec", "completionMode") == "Indexed" {
			n := 1 + r.random.Intn(6)
			r.spec("resize", id, Object{"parallelism": n, "completions": n})
		} else {
			r.spec("scale", id, Object{"parallelism": 1 + r.random.Intn(4)})
		}
	case action < 58 && len(pods) > 0:
		for range 1 + r.random.Intn(2) {
			pod := pods[r.random.Intn(len(pods))]
			if r.chance(0.5) {
				r.hold(name(pod))
			}
			r.deletePod(name(pod))
		}
	case action < 66 && len(pods) > 0:
		r.forceDeletePod(name(pods[r.random.Intn(len(pods))]))
	case action < 74:
		r.deleteJob(id, []string{"Background", "Foreground", "Orphan"}[r.random.Intn(3)])
	case action < 80:
		r.spec("edit backoffLimit", id, Object{"backoffLimit": r.random.Intn(7)})
	case action < 86:
		r.spec("edit ttl", id, Object{"ttlSecondsAfterFinished": r.random.Intn(8)})
	case action < 89:
		r.spec("edit deadline", id, Object{"activeDeadlineSeconds": 3 + r.random.Intn(30)})
	case action < 91 && len(pods) > 0: // the pod leaves its Job
		r.relabel(name(pods[r.random.Intn(len(pods))]))
	case action < 94: // read, change, PUT: may lose against the controller
		r.putJob(id)
	case action < 96:
		code, _, _ := r.user.do("DELETE", podsPath(r.namespace, "?labelSelector=job-name%3D"+id), jsonBody, nil)
		r.count("deletecollection of pods", code)
	default:
		r.patchJob("annotate", id, Object{"metadata": Object{"annotations": Object{"example.com/touched": fmt.Sprint(r.random.Intn(1000))}}})
	}
}

func (r *Run) alivePodsOf(job Object) []Object {
	var alive []Object
	for _, pod := range r.rec.allPods() {
		if str(pod, "metadata", "labels", "job-name") == name(job) && !ended(pod) && !terminating(pod) {
			alive = append(alive, pod)
		}
	}
	return alive
}

func (r *Run) relabel(pod string) {
	code, _, err := r.user.do("PATCH", podsPath(r.namespace, "/"+pod), mergePatch, Object{"metadata": Object{"labels": Object{
		"batch.kubernetes.io/controller-uid": "someone-else", "controller-uid": "someone-else"}}})
	if err != nil {
		panic(err)
	}
	r.count("relabel pod", code)
}

func (r *Run) putJob(id string) {
	code, job, err := r.user.do("GET", jobsPath(r.namespace, "/"+id), "", nil)
	if err != nil || code >= 300 {
		return
	}
	time.Sleep(r.between(0, 0.4))
	dig(job, "spec").(Object)["parallelism"] = r.random.Intn(5)
	code, _, err = r.user.do("PUT", jobsPath(r.namespace, "/"+id), jsonBody, job)
	if err != nil {
		panic(err)
	}
	r.count("put job", code)
}

// playRandom is the soak itself: some random Jobs, a random user and a random kubelet.
func playRandom(r *Run) { r.soak(r.between(25, 60), 4) }

// playLong has the same Jobs, for longer and with a user who acts less: delays, limits and
// deadlines run to their end.
func playLong(r *Run) { r.soak(r.between(140, 170), 25) }

func (r *Run) soak(length time.Duration, pause float64) {
	var jobs []string
	for i := range 2 + r.random.Intn(3) {
		jobs = append(jobs, fmt.Sprintf("job-%c", 'a'+i))
	}
	for _, id := range jobs {
		r.moods[id] = randomMood(r.random)
		r.createJob(r.randomJob(id))
	}
	next := time.Now().Add(r.between(1, 3))
	for end := time.Now().Add(length); time.Now().Before(end); time.Sleep(60 * time.Millisecond) {
		r.playKubelet()
		if time.Now().After(next) {
			r.userStep(jobs)
			next = time.Now().Add(r.between(0.3, pause))
		}
	}
	r.settle(25*time.Second, r.playKubelet)
}

func playBound(r *Run) {
	r.bound = true
	playRandom(r)
}
