// Package external lets upstream's integration tests of the Job controller run with one that is a process of its own:
// `jobcheck controller`, stopped by SIGKILL wherever a test stops the built-in, and read through its /metrics.
//
// What a test sets in the variables of the built-in's package becomes flags of the process, as do the feature gates
// and the client's limits. The functions have the signatures of those that they stand for in the tests.
package external

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	restclient "k8s.io/client-go/rest"
	"k8s.io/component-base/featuregate"
	"k8s.io/klog/v2/ktesting"
	jobcontroller "k8s.io/kubernetes/pkg/controller/job"
	"k8s.io/kubernetes/pkg/features"

	"jobcheck/harness/controlplane/upstream/external/late"
)

// Controller is the Job controller of one test. Its process is replaced where the feature gates change.
type Controller struct {
	tb         testing.TB
	kubeconfig string
	flags      []string // but for the gates

	mu      sync.Mutex
	gates   string
	process *process
	stopped bool
}

// Start runs a controller until the returned function is called, and waits until its caches are filled. Options are
// what TestDelayedJobUpdateEvent delays the informer's events with: the same is done to the watch of Jobs.
func Start(tb testing.TB, config *restclient.Config, options ...informers.SharedInformerOption) (context.Context, context.CancelFunc) {
	tb.Helper()
	config = restclient.CopyConfig(config)
	if len(options) > 0 {
		delayed, err := delayJobs(tb, config)
		if err != nil {
			tb.Fatalf("Error delaying the watch of Jobs: %v", err)
		}
		config = delayed
	}
	controller, ctx, cancel := Prepare(tb, config)
	if err := controller.start(); err != nil {
		tb.Fatalf("Error starting the Job controller: %v", err)
	}
	return ctx, cancel
}

// Prepare makes a controller that Run starts. It keeps the limits that the configuration has now.
func Prepare(tb testing.TB, config *restclient.Config) (*Controller, context.Context, context.CancelFunc) {
	tb.Helper()
	kubeconfig := filepath.Join(tb.TempDir(), "kubeconfig")
	if err := writeKubeconfig(kubeconfig, config); err != nil {
		tb.Fatalf("Error writing the kubeconfig of the Job controller: %v", err)
	}
	controller := &Controller{tb: tb, kubeconfig: kubeconfig, flags: flags(config)}
	_, ctx := ktesting.NewTestContext(tb)
	ctx, cancelContext := context.WithCancel(ctx)
	cancel := func() {
		cancelContext()
		controller.stop()
	}
	all.add(controller)
	tb.Cleanup(func() {
		cancel()
		all.remove(controller)
	})
	return controller, ctx, cancel
}

// Run starts the process and returns when the context ends. Of workers there is always one, as in all of these tests.
func (c *Controller) Run(ctx context.Context, workers int) {
	if workers != 1 {
		c.tb.Errorf("the external Job controller was asked for %d workers, and has one", workers)
	}
	if err := c.start(); err != nil && ctx.Err() == nil {
		c.tb.Errorf("Error starting the Job controller: %v", err)
	}
	<-ctx.Done()
}

func (c *Controller) start() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return errors.New("it was stopped before")
	}
	return c.startLocked()
}

func (c *Controller) startLocked() error {
	c.gates = currentGates()
	arguments := append([]string{"controller", "--kubeconfig=" + c.kubeconfig, "--feature-gates=" + c.gates}, c.flags...)
	process, err := launch(c.tb, arguments)
	c.process = process
	return err
}

// stop kills the process. It may be called again.
func (c *Controller) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	c.killLocked()
}

func (c *Controller) killLocked() {
	if c.process != nil {
		dead.add(c.process.kill())
		c.process = nil
	}
}

// followGates replaces the process by one with the gates that hold now, if they are others.
func (c *Controller) followGates() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process == nil || c.gates == currentGates() {
		return nil
	}
	c.killLocked()
	return c.startLocked()
}

// FollowGates is called when feature gates have changed in the test. The built-in, which is in the same process, sees
// that at once; an external controller has to start anew.
func FollowGates(tb testing.TB) {
	tb.Helper()
	for _, controller := range all.list() {
		if err := controller.followGates(); err != nil {
			tb.Fatalf("Error restarting the Job controller with other feature gates: %v", err)
		}
	}
}

// flags are what the variables and limits of the built-in are for a process. They are read once, as by NewController.
func flags(config *restclient.Config) []string {
	return []string{
		"--controllers=job",
		"--leader-elect=false",
		"--concurrent-job-syncs=1",
		fmt.Sprintf("--qps=%v", config.QPS),
		fmt.Sprintf("--burst=%d", config.Burst),
		"--sync-batch-period=" + jobcontroller.SyncJobBatchPeriod.String(),
		"--pod-failure-backoff=" + jobcontroller.DefaultJobPodFailureBackOff.String(),
		"--pod-failure-backoff-max=" + jobcontroller.MaxJobPodFailureBackOff.String(),
		fmt.Sprintf("--max-uncounted-pods=%d", jobcontroller.MaxUncountedPods),
		fmt.Sprintf("--max-pod-create-delete-per-sync=%d", jobcontroller.MaxPodCreateDeletePerSync),
	}
}

// Gates of the built-in that an external controller knows.
var known = []featuregate.Feature{
	features.JobPodReplacementPolicy, features.JobBackoffLimitPerIndex, features.JobSuccessPolicy, features.JobManagedBy,
}

func currentGates() string {
	var gates []string
	for _, gate := range known {
		gates = append(gates, fmt.Sprintf("%s=%t", gate, feature.DefaultFeatureGate.Enabled(gate)))
	}
	return strings.Join(gates, ",")
}

// delayJobs puts a proxy before the API server that delivers each event of Jobs late by twice the test's batch period,
// which is what the test's transform function does to the built-in.
func delayJobs(tb testing.TB, config *restclient.Config) (*restclient.Config, error) {
	tlsConfig, err := restclient.TLSConfigFor(config)
	if err != nil {
		return nil, err
	}
	const lag = 200 * time.Millisecond
	proxy, certificate, err := late.Start(config.Host, tlsConfig, lag)
	if err != nil {
		return nil, err
	}
	tb.Cleanup(func() { // its clients are dead by then
		proxy.CloseClientConnections()
		proxy.Close()
	})
	config.Host = proxy.URL
	config.TLSClientConfig = restclient.TLSClientConfig{CAData: certificate}
	return config, nil
}

// controllers are those of the tests that run, in the order of their start.
type controllers struct {
	mu   sync.Mutex
	live []*Controller
}

var all controllers

func (c *controllers) add(controller *Controller) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.live = append(c.live, controller)
}

func (c *controllers) remove(controller *Controller) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, other := range c.live {
		if other == controller {
			c.live = append(c.live[:i:i], c.live[i+1:]...)
			return
		}
	}
}

func (c *controllers) list() []*Controller {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*Controller(nil), c.live...)
}
