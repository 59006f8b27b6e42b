package main

import (
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"
)

const (
	holdFinalizer = "conformance.example.com/hold" // keeps a deleted pod until the script lets it go
	nodeName      = "node-a"
	containerName = "main"
)

// Run is one recording being made: a namespace, its recorder, a seeded generator, and the actors.
type Run struct {
	kind      string
	seed      int64
	namespace string
	random    *rand.Rand
	cluster   *Cluster
	rec       *Recorder

	user, kubelet, scheduler, mirror *Client

	bound  bool // pods are bound to the node: deletion by API has the real grace period
	fates  map[string]*fate
	moods  map[string]mood // by job name
	done   map[string]int  // what the user did, for the index
	notes  []string
	begin  time.Time
	offset int64 // of the audit log at the beginning
}

func newRun(c *Cluster, kind string, seed int64) *Run {
	r := &Run{
		kind: kind, seed: seed, namespace: fmt.Sprintf("%s-%d", kind, seed), cluster: c,
		random: rand.New(rand.NewSource(seed*1_000_003 + int64(len(kind))*7919 + int64(kind[0]))),
		user:   c.clients["admin"], kubelet: c.clients["system:node:node-a"],
		scheduler: c.clients["system:kube-scheduler"], mirror: c.clients["mirror-controller"],
		fates: map[string]*fate{}, moods: map[string]mood{}, done: map[string]int{}, begin: time.Now(),
	}
	if info, err := os.Stat(c.auditLog()); err == nil {
		r.offset = info.Size()
	}
	r.user.must("POST", "/api/v1/namespaces", jsonBody, Object{"metadata": Object{"name": r.namespace}})
	r.rec = newRecorder(r.user, r.namespace)
	return r
}

func (r *Run) notef(format string, values ...any) {
	text := fmt.Sprintf(format, values...)
	r.notes = append(r.notes, text)
	fmt.Printf("%s %s: %s\n", time.Now().Format("15:04:05"), r.namespace, text)
}

func (r *Run) chance(p float64) bool { return r.random.Float64() < p }

// between is a random duration in seconds.
func (r *Run) between(low, high float64) time.Duration {
	return time.Duration((low + (high-low)*r.random.Float64()) * float64(time.Second))
}

// ---- the user ----

func (r *Run) count(what string, code int) {
	if code >= 300 {
		what = fmt.Sprintf("%s refused %d", what, code)
	}
	r.done[what]++
}

func (r *Run) createJob(job Object) bool {
	code, answer, err := r.user.do("POST", jobsPath(r.namespace, ""), jsonBody, job)
	if err != nil {
		panic(err)
	}
	if code >= 300 {
		r.notef("create %s refused: %v", name(job), answer["message"])
	}
	r.count("create", code)
	return code < 300
}

func (r *Run) createPod(pod Object) {
	r.user.must("POST", podsPath(r.namespace, ""), jsonBody, pod)
	r.count("create stray pod", 200)
}

// patchJob is a merge patch of the Job's main resource, as kubectl patch sends it.
func (r *Run) patchJob(what, job string, patch Object) int {
	code, _, err := r.user.do("PATCH", jobsPath(r.namespace, "/"+job), mergePatch, patch)
	if err != nil {
		panic(err)
	}
	r.count(what, code)
	return code
}

func (r *Run) spec(what, job string, fields Object) int {
	return r.patchJob(what, job, Object{"spec": fields})
}

func (r *Run) suspend(job string, on bool) int {
	what := "resume"
	if on {
		what = "suspend"
	}
	return r.spec(what, job, Object{"suspend": on})
}

func (r *Run) deleteJob(job, propagation string) {
	code, _, err := r.user.do("DELETE", jobsPath(r.namespace, "/"+job), jsonBody,
		Object{"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": propagation})
	if err != nil {
		panic(err)
	}
	r.count("delete job "+propagation, code)
}

// hold puts the hold finalizer on a pod, so that its deletion takes as long as the script wants.
func (r *Run) hold(pod string) {
	r.editFinalizers(pod, true)
}

func (r *Run) release(pod string) {
	r.editFinalizers(pod, false)
}

// editFinalizers edits one entry of the list only: a strategic merge patch, like the controllers' own.
func (r *Run) editFinalizers(pod string, add bool) {
	change := Object{"$deleteFromPrimitiveList/finalizers": []string{holdFinalizer}}
	if add {
		change = Object{"finalizers": []string{holdFinalizer}}
	}
	code, _, err := r.user.do("PATCH", podsPath(r.namespace, "/"+pod), strategicPatch, Object{"metadata": change})
	if err != nil {
		panic(err)
	}
	if add {
		r.count("hold", code)
	} else {
		r.count("release", code)
	}
}

func (r *Run) deletePod(pod string) {
	code, _, err := r.user.do("DELETE", podsPath(r.namespace, "/"+pod), jsonBody, nil)
	if err != nil {
		panic(err)
	}
	r.count("delete pod", code)
}

func (r *Run) forceDeletePod(pod string) {
	code, _, err := r.user.do("DELETE", podsPath(r.namespace, "/"+pod)+"?gracePeriodSeconds=0", jsonBody, nil)
	if err != nil {
		panic(err)
	}
	r.count("force delete pod", code)
}

// ---- the kubelet and the scheduler ----

func (r *Run) patchStatus(pod Object, status Object) int {
	code, _, err := r.kubelet.do("PATCH", podsPath(r.namespace, "/"+name(pod)+"/status"), strategicPatch,
		Object{"metadata": Object{"uid": str(pod, "metadata", "uid")}, "status": status})
	if err != nil {
		panic(err)
	}
	return code
}

func readyCondition(ready bool) []Object {
	status := "False"
	if ready {
		status = "True"
	}
	return []Object{{"type": "Ready", "status": status, "lastTransitionTime": stamp(time.Now())}}
}

func containerStatus(ready bool, restarts int, state Object) []Object {
	return []Object{{"name": containerName, "image": "busybox", "imageID": "x", "ready": ready, "restartCount": restarts, "state": state}}
}

func (r *Run) running(pod Object, ready bool) int {
	now := stamp(time.Now())
	return r.patchStatus(pod, Object{"phase": "Running", "startTime": now, "conditions": readyCondition(ready),
		"containerStatuses": containerStatus(ready, 0, Object{"running": Object{"startedAt": now}})})
}

func (r *Run) setReady(pod Object, ready bool) int {
	restarts := restartCount(pod)
	return r.patchStatus(pod, Object{"conditions": readyCondition(ready),
		"containerStatuses": containerStatus(ready, restarts, Object{"running": Object{"startedAt": startedAt(pod)}})})
}

func restartCount(pod Object) int {
	list, _ := dig(pod, "status", "containerStatuses").([]any)
	if len(list) == 0 {
		return 0
	}
	return num(list[0], "restartCount")
}

func startedAt(pod Object) string {
	if at := str(pod, "status", "startTime"); at != "" {
		return at
	}
	return stamp(time.Now())
}

// restarted is what a kubelet reports of a container that failed under restartPolicy OnFailure.
func (r *Run) restarted(pod Object, code int) int {
	now := stamp(time.Now())
	status := containerStatus(true, restartCount(pod)+1, Object{"running": Object{"startedAt": now}})
	status[0]["lastState"] = Object{"terminated": Object{"exitCode": code, "reason": "Error", "startedAt": startedAt(pod), "finishedAt": now}}
	return r.patchStatus(pod, Object{"containerStatuses": status})
}

// exit ends the pod: code 0 is Succeeded, everything else Failed.
func (r *Run) exit(pod Object, code int) int {
	now := stamp(time.Now())
	result, reason := "Succeeded", "Completed"
	if code != 0 {
		result, reason = "Failed", "Error"
	}
	return r.patchStatus(pod, Object{"phase": result, "conditions": readyCondition(false),
		"containerStatuses": containerStatus(false, restartCount(pod), Object{"terminated": Object{
			"exitCode": code, "reason": reason, "startedAt": startedAt(pod), "finishedAt": now}})})
}

// remove is the kubelet's last word on a pod being deleted: DELETE with grace 0 and the pod's UID.
func (r *Run) remove(pod Object) int {
	code, _, err := r.kubelet.do("DELETE", podsPath(r.namespace, "/"+name(pod)), jsonBody, Object{
		"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0,
		"preconditions": Object{"uid": str(pod, "metadata", "uid")}})
	if err != nil {
		panic(err)
	}
	return code
}

func (r *Run) bind(pod Object) int {
	code, _, err := r.scheduler.do("POST", podsPath(r.namespace, "/"+name(pod)+"/binding"), jsonBody, Object{
		"kind": "Binding", "apiVersion": "v1", "metadata": Object{"name": name(pod)},
		"target": Object{"kind": "Node", "name": nodeName}})
	if err != nil {
		panic(err)
	}
	return code
}

// ---- waiting ----

// wait polls until the predicate holds; it says whether it did in time.
func (r *Run) wait(limit time.Duration, what string, holds func() bool) bool {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if holds() {
			return true
		}
	}
	r.notef("waited in vain for %s", what)
	return false
}

func (r *Run) waitPods(limit time.Duration, what string, holds func(pods []Object) bool) bool {
	return r.wait(limit, what, func() bool { return holds(r.rec.allPods()) })
}

func (r *Run) waitJob(limit time.Duration, job, what string, holds func(job Object) bool) bool {
	return r.wait(limit, what, func() bool {
		found := r.rec.job(job)
		return found != nil && holds(found)
	})
}

// settle lets things come to rest: no event for two seconds, at most limit.
func (r *Run) settle(limit time.Duration, step func()) {
	begin := time.Now()
	for time.Since(begin) < limit && (r.rec.quiet() < 2*time.Second || time.Since(begin) < 2*time.Second) {
		time.Sleep(100 * time.Millisecond)
		if step != nil {
			step()
		}
	}
}

// ---- the end ----

// save writes both forms and the line of the index, then removes the namespace.
func (r *Run) save(dir string) error {
	cut := time.Now()
	audit, watch, err := r.rec.finish(r.cluster.auditLog(), r.namespace, r.offset, cut)
	if err != nil {
		return fmt.Errorf("%s: %w", r.namespace, err)
	}
	stem := filepath.Join(dir, r.namespace)
	var text []byte
	for _, line := range audit {
		text = append(append(text, line.raw...), '\n')
	}
	if err := os.WriteFile(stem+".audit.jsonl", text, 0o644); err != nil {
		return err
	}
	text = nil
	for _, seen := range watch {
		text = append(append(text, seen.line...), '\n')
	}
	if err := os.WriteFile(stem+".watch.jsonl", text, 0o644); err != nil {
		return err
	}
	index, err := os.OpenFile(filepath.Join(dir, "INDEX.md"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer index.Close()
	if _, err := index.WriteString(r.summary(audit, watch, cut)); err != nil {
		return err
	}
	return r.cleanUp()
}

func (r *Run) summary(audit []auditLine, watch []event, cut time.Time) string {
	refused := map[string]int{}
	for _, line := range audit {
		if line.ResponseStatus.Code >= 300 {
			agent := line.UserAgent[strings.LastIndex(line.UserAgent, "/")+1:]
			if strings.Contains(line.UserAgent, "conformance-user") || strings.Contains(line.UserAgent, "kubelet") {
				agent = strings.Split(line.UserAgent, "/")[0]
			}
			target := line.ObjectRef.Resource
			if line.ObjectRef.Subresource != "" {
				target += "/" + line.ObjectRef.Subresource
			}
			refused[fmt.Sprintf("%d %s %s by %s", line.ResponseStatus.Code, line.Verb, target, agent)]++
		}
	}
	var ends []string
	for _, job := range r.rec.allJobs() {
		state := "open"
		for _, kind := range []string{"Suspended", "FailureTarget", "SuccessCriteriaMet", "Failed", "Complete"} {
			if condition(job, kind) == "True" {
				state = kind
			}
		}
		if terminating(job) {
			state += " (being deleted)"
		}
		ends = append(ends, name(job)+" "+state)
	}
	var faults []string
	for _, f := range r.cluster.faultsBetween(r.begin, cut) {
		faults = append(faults, fmt.Sprintf("%s at %s (+%.1fs)", f.what, f.at.UTC().Format("15:04:05.000"), f.at.Sub(r.begin).Seconds()))
	}
	parts := []string{fmt.Sprintf("%.0f s, %d audit, %d watch, at most %d pods", cut.Sub(r.begin).Seconds(), len(audit), len(watch), r.rec.maxAlive)}
	if len(r.done) > 0 {
		parts = append(parts, "user: "+tally(r.done))
	}
	if len(faults) > 0 {
		parts = append(parts, "controller manager: "+strings.Join(faults, ", "))
	}
	if len(refused) > 0 {
		parts = append(parts, "refused: "+tally(refused))
	}
	if len(ends) > 0 {
		parts = append(parts, "at the end: "+strings.Join(ends, ", "))
	}
	if len(r.notes) > 0 {
		parts = append(parts, "notes: "+strings.Join(r.notes, "; "))
	}
	return fmt.Sprintf("- `%s`: %s\n", r.namespace, strings.Join(parts, " · "))
}

func tally(counts map[string]int) string {
	var parts []string
	for what, n := range counts {
		parts = append(parts, fmt.Sprintf("%d × %s", n, what))
	}
	sort.Strings(parts)
	return strings.Join(parts, ", ")
}

// cleanUp removes the namespace, so that no left-over work disturbs the next runs.
func (r *Run) cleanUp() error {
	r.user.do("DELETE", "/api/v1/namespaces/"+r.namespace, jsonBody, nil)
	r.user.do("DELETE", jobsPath(r.namespace, "")+"?propagationPolicy=Background", jsonBody, nil)
	_, list, err := r.user.do("GET", podsPath(r.namespace, ""), "", nil)
	if err != nil {
		return err
	}
	pods, _ := list["items"].([]any)
	for _, pod := range pods {
		path := podsPath(r.namespace, "/"+str(pod, "metadata", "name"))
		r.user.do("PATCH", path, mergePatch, Object{"metadata": Object{"finalizers": nil}})
		r.user.do("DELETE", path+"?gracePeriodSeconds=0", jsonBody, nil)
	}
	return nil
}
