package main

// What is changed in upstream's tests so that another process takes the place of the built-in controller. Nothing else
// is; what the tests do and what they expect stays as it is. Each entry has to apply exactly as often as it says, or
// nothing is run: a new version of the tests has to be looked at.

// external is the package whose functions stand for those of the tests.
const external = `"jobcheck/harness/controlplane/upstream/external"`

// substitution replaces a text.
type substitution struct {
	why   string
	old   string
	new   string
	times int
}

// body replaces what a function does. Its parameters and results, as written in the file, are those that it has to have.
type body struct {
	why       string
	function  string
	signature string
	new       string
}

// edits are those of one file.
type edits struct {
	substitutions []substitution
	bodies        []body
}

const gatesImport = `featuregatetesting "k8s.io/component-base/featuregate/testing"`
const ourGatesImport = `featuregatetesting "jobcheck/harness/controlplane/upstream/external/gates"`

// files are the files of the package, by name.
var files = map[string]edits{
	"main_test.go": {},
	"job_admission_test.go": {
		substitutions: []substitution{{
			why: "a changed feature gate reaches the process", old: gatesImport, new: ourGatesImport, times: 1,
		}},
	},
	"job_test.go": {
		substitutions: []substitution{
			{
				why: "a changed feature gate reaches the process: a running process is replaced by one with that gate",
				old: gatesImport, new: external + "\n\t" + ourGatesImport, times: 1,
			},
			{
				why: "counters are read from /metrics, summed over the processes of a test",
				old: `testutil.GetCounterMetricValue(counterVec.WithLabelValues(wantMetric.Labels...))`,
				new: `external.CounterValue(counterVec, wantMetric.Labels)`, times: 1,
			},
			{
				why: "the import is not needed any more",
				old: "\t\"k8s.io/component-base/metrics/testutil\"\n", times: 1,
			},
			{
				why: "the test itself runs the controller that is created here",
				old: `informerSet informers.SharedInformerFactory) (*jobcontroller.Controller, `,
				new: `informerSet informers.SharedInformerFactory) (*external.Controller, `, times: 1,
			},
			{
				why: "a test that checks for the absence of events waits longer than a batch of events does",
				old: `const sleepDurationForControllerLatency = 100 * time.Millisecond`,
				new: `const sleepDurationForControllerLatency = 2 * time.Second`, times: 1,
			},
		},
		bodies: []body{
			{
				why:       "the controller is a process, and is killed by SIGKILL where the test cancels it",
				function:  "startJobControllerAndWaitForCaches",
				signature: `(tb testing.TB, restConfig *restclient.Config, options ...informers.SharedInformerOption) (context.Context, context.CancelFunc)`,
				new:       `{ tb.Helper(); return external.Start(tb, restConfig, options...) }`,
			},
			{
				why:       "the same, started later by the test",
				function:  "createJobControllerWithSharedInformers",
				signature: `(tb testing.TB, restConfig *restclient.Config, informerSet informers.SharedInformerFactory) (*external.Controller, context.Context, context.CancelFunc)`,
				new:       `{ tb.Helper(); return external.Prepare(tb, restConfig) }`,
			},
			{
				why:       "counters of a process cannot be set to zero: their present values are subtracted from then on",
				function:  "resetMetrics",
				signature: `()`,
				new:       `{ external.ResetMetrics() }`,
			},
		},
	},
}
