package main

import (
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
)

// claim is what the model decided about a question.
type claim struct {
	Accepted bool     `json:"accepted"`
	Broken   []string `json:"broken"`
}

// sign is how an error of Kubernetes shows which requirement it enforces: its field starts with field and its
// detail contains detail.
type sign struct{ id, field, detail string }

// signs of all rules that are compared. Where two match, the first counts.
var signs = []sign{
	{"SS-02", "status.uncountedTerminatedPods.", ""}, // elements of the lists; SS-13 names the whole
	{"SS-13", "status.uncountedTerminatedPods", "must be empty for finished job"},
	{"UG-07", "status.conditions", "cannot set SuccessCriteriaMet to NonIndexed Job"},
	{"UG-07", "status.conditions", "cannot set SuccessCriteriaMet=True for Job without SuccessPolicy"},
	{"SS-03", "status.conditions", "cannot set SuccessCriteriaMet=True and Failed=true"},
	{"SS-04", "status.conditions", "cannot set SuccessCriteriaMet=True and FailureTarget=true"},
	{"SS-05", "status.conditions", "cannot set Complete=True for Job with SuccessPolicy unless"},
	{"SS-06", "status.conditions", "cannot disable the SuccessCriteriaMet=True"},
	{"SS-07", "status.conditions", "cannot set SuccessCriteriaMet=True for Job already has Complete"},
	{"SS-08", "status.conditions", "cannot disable the terminal"},
	{"SS-09", "status.startTime", "field is immutable for unsuspended job once set"},
	{"SS-09", "status.startTime", "startTime cannot be removed for unsuspended job"}, // 1.35
	{"SS-10", "status.startTime", "startTime is required for finished job"},
	{"SS-11", "status.completionTime", "must be equal to or after `startTime`"},
	{"SS-12", "status.active", "active>0 is invalid for finished job"},
	{"SS-14", "status.completedIndexes", "error parsing completedIndexes"},
	{"SS-15", "status.failedIndexes", "error parsing failedIndexes"},
	{"SS-16", "status.completedIndexes", "when non-indexed completion mode"},
	{"SS-16", "status.failedIndexes", "when backoffLimitPerIndex is null"},
	{"SS-17", "status.failedIndexes", "overlap at index"},
	{"SS-18", "status.terminating", "terminating>0 is invalid for finished job"},
	{"SS-19", "status.ready", "cannot set more ready pods than active"},
	{"SS-20", "status.conditions", "cannot set Failed=True condition without the FailureTarget"},
	{"SS-21", "status.conditions", "cannot set Complete=True condition without the SuccessCriteriaMet"},
	{"SS-22", "status.conditions", "cannot set Complete=True and Failed=true"},
	{"SS-23", "status.conditions", "cannot set Complete=True and FailureTarget=true"},
	{"SS-24", "status.completionTime", "cannot set completionTime when there is no Complete"},
	{"SS-25", "status.completionTime", "completionTime is required for Complete jobs"},
	{"SS-26", "status.completionTime", "field is immutable"},
	{"SS-27", "status.failed", "cannot decrease the failed counter"},
	{"SS-28", "status.succeeded", "cannot decrease the succeeded counter"},
	{"SS-01", "status.", "must be greater than or equal to 0"},

	{"SU-12", "spec.template", "field is immutable"},
	{"SU-12", "spec.template.spec", "field is immutable"},
	{"MB-01", "spec.managedBy", ""},
	{"PC-22", "spec.completions", "field is immutable"},
	{"PC-22", "spec.completions", "in tandem with"},
	{"BI-12", "spec.backoffLimitPerIndex", "field is immutable"},
	{"SP-08", "spec.", "field is immutable"},
	{"SP-06", "spec.podFailurePolicy", ""},
	{"SP-07", "spec.successPolicy", ""},
	{"RP-01", "spec.podReplacementPolicy", `supported values: "Failed"` + end},
	{"SP-15", "spec.podReplacementPolicy", ""},
	{"SP-02", "spec.", "must be greater than or equal to 0"},
	{"BI-12", "spec.backoffLimitPerIndex", ""},
	{"BI-12", "spec.maxFailedIndexes", ""},
	{"BI-12", "spec.parallelism", "used with backoff limit per index"},
	{"SP-03", "spec.parallelism", "when completion mode is Indexed"},
	{"SP-03", "spec.completions", "when completion mode is Indexed"},
	{"SP-03", "spec.completionMode", ""},
	{"SP-03", "metadata.name", "will not able to create pod"},
	{"SP-04", "spec.template.spec.restartPolicy", ""},
	{"SP-05", "metadata.name", ""},
	{"SP-05", "spec.template.labels", "must be no more than 63 bytes"}, // the label that holds the name
	{"SP-05", "spec.template.labels", "a valid label must be"},
	{"PC-15", "spec.template.metadata.labels", ""},
	{"PC-15", "spec.selector", ""},
}

// end marks a detail that must end there.
const end = "\x00"

// tally compares the decisions, and the requirements that they rest on, of the model with those of Kubernetes.
type tally struct {
	asked, accepted, panicked, differing int
	fired                                map[string]int
	shown                                io.Writer
}

// showAtMost bounds the differences that are printed.
const showAtMost = 20

func (t *tally) compare(q question, a answer) {
	t.asked++
	if a.Accepted {
		t.accepted++
	}
	if a.panicked() {
		t.panicked++
	}
	for _, id := range q.Ours.Broken {
		t.fired[id]++
	}
	theirs := requirements(a.Errors)
	agrees := a.Accepted == q.Ours.Accepted && (a.panicked() ||
		slices.Equal(theirs, slices.Sorted(slices.Values(q.Ours.Broken))))
	if agrees {
		return
	}
	t.differing++
	if t.differing <= showAtMost {
		fmt.Fprintf(t.shown, "line %d: ours %v %v, theirs %v %v %v\n", t.asked, q.Ours.Accepted, q.Ours.Broken,
			a.Accepted, theirs, a.Errors)
	}
}

func (t *tally) report(out io.Writer) {
	fmt.Fprintf(out, "compared %d, accepted %d, refused %d (%d by a panic), differing %d\n", t.asked, t.accepted,
		t.asked-t.accepted, t.panicked, t.differing)
	ids := make([]string, 0, len(t.fired))
	for id := range t.fired {
		ids = append(ids, id)
	}
	sort.Strings(ids)
	for _, id := range ids {
		fmt.Fprintf(out, "%s %d\n", id, t.fired[id])
	}
}

// requirements names what the errors enforce, sorted; an error that no sign explains names itself.
func requirements(errors []reason) []string {
	ids := sets.New[string]()
	for _, e := range errors {
		ids.Insert(requirement(e))
	}
	return sets.List(ids)
}

func requirement(e reason) string {
	for _, s := range signs {
		if strings.HasPrefix(e.Field, s.field) && strings.Contains(e.Detail+end, s.detail) {
			return s.id
		}
	}
	return "? " + e.Field + ": " + e.Detail
}
