package main

import (
	"fmt"
	"slices"
	"strings"
)

// excluded is a test, or one case of a test, that is not run.
type excluded struct {
	test   string
	of     string // the case, as the test's table names it; "" is all of it
	reason string
}

const gang = "about the Workload and PodGroup objects of gang scheduling (gate WorkloadWithJob, alpha in 1.36 and off by " +
	"default), which the controller does not make"
const benchmark = "a benchmark: it measures and decides nothing; docs/results/scale.md and side-by-side.md have our measurements"

// What is not run, with the reason. All else in the package is.
var notApplicable = []excluded{
	{"TestJobGangScheduling", "eligible job creates workload and podgroup", gang},
	{"TestJobGangScheduling", "suspended job creates workload before pods", gang},
	{"TestJobGangScheduling", "controller restart preserves workload", gang},
	{"TestJobGangScheduling", "parallelism update blocked", gang},
	{"TestJobAdmissionParallelismUpdate", "parallelism update blocked for gang-scheduled job", gang},
	{"BenchmarkLargeIndexedJob", "", benchmark},
	{"BenchmarkLargeFailureHandling", "", benchmark},
}

const cleans = "the test removes tracking finalizers of pods when it cleans up, and a watch does not show the actor"

// Tests whose traces are not judged: what the test does itself would be taken for a mistake of the controller.
var ownHand = []excluded{
	{"TestManagedBy", "", cleans},
	{"TestJobPodReplacementPolicy", "", cleans},
	{"TestManagedBy_Reenabling", "", "its API server loses the gate JobManagedBy while a Job has the field, and no trace records that"},
	{"TestManagedBy_UsingReservedJobFinalizers", "", "the test acts as another controller, which breaks the rules for it"},
}

// path is the name under which Go runs it.
func (e excluded) path() string {
	if e.of == "" {
		return e.test
	}
	return e.test + "/" + strings.ReplaceAll(e.of, " ", "_")
}

// checkExcluded says whether all that is not run is there at all.
func checkExcluded(sources map[string]string) error {
	var all strings.Builder
	for _, source := range sources {
		all.WriteString(source)
	}
	for _, e := range append(slices.Clone(notApplicable), ownHand...) {
		if !strings.Contains(all.String(), "func "+e.test+"(") || !strings.Contains(all.String(), fmt.Sprintf("%q: {", e.of)) && e.of != "" {
			return fmt.Errorf("%s, which is not to be run, is not there: has upstream changed?", e.path())
		}
	}
	return nil
}
