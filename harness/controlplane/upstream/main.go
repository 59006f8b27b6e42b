// Command upstream runs upstream's own integration tests of the Job controller (k8s.io/kubernetes/test/integration/job)
// with `jobcheck controller` in the place of the built-in, as a process of its own:
//
//	go run -C harness/controlplane ./upstream
//
// The tests are read from the Go module cache, changed where they start, stop and read the controller
// (substitutions.go), and built; nothing of them is stored in this repository. Each test runs in a process of its own,
// with an etcd of its own and a kube-apiserver within. Each process of the controller writes a native trace, which
// `jobcheck replay` judges. Unless -subject says otherwise they run unchanged, too, with the built-in, for comparison.
//
// It exits with 1 if a test failed with `jobcheck controller` or a trace of it is not as it should be, and with 4 if the
// tests could not be built or begun.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"syscall"
)

// subject is whom the tests run with.
type subject string

const (
	ours    subject = "ours"
	builtIn subject = "builtin"
)

// options are the flags.
type options struct {
	subject  string
	run      string
	parallel int
	program  string
	work     string
	results  string
}

func main() {
	var o options
	flag.StringVar(&o.subject, "subject", "both", "whom the tests run with: ours, builtin for the tests as upstream has them, or both")
	flag.StringVar(&o.run, "run", "", "run the tests whose name matches this expression alone; no results are written then")
	flag.IntVar(&o.parallel, "parallel", runtime.NumCPU(), "tests at a time")
	flag.StringVar(&o.program, "jobcheck", "", "the program; unset, it is built with cargo")
	flag.StringVar(&o.work, "work", "", "directory for what is built and for logs; unset, target/upstream")
	flag.StringVar(&o.results, "results", "", "write NAME.md and NAME.json here; unset, docs/results/upstream")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	failed, err := run(ctx, o)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(4)
	case failed:
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (failed bool, err error) {
	wanted, err := regexp.Compile(o.run)
	if err != nil {
		return false, fmt.Errorf("-run: %w", err)
	}
	subjects, known := map[string][]subject{"ours": {ours}, "builtin": {builtIn}, "both": {ours, builtIn}}[o.subject]
	if !known {
		return false, fmt.Errorf("-subject is %q, neither ours, builtin nor both", o.subject)
	}
	place, err := findPlace(ctx, o)
	if err != nil {
		return false, err
	}
	outcomes := map[subject][]outcome{}
	for _, subject := range subjects {
		suite, err := build(ctx, place, o, subject)
		if err != nil {
			return false, err
		}
		outcomes[subject] = runAll(ctx, suite, wanted, o.parallel)
		if err := ctx.Err(); err != nil {
			return false, fmt.Errorf("stopped: %w", err)
		}
	}
	report := newReport(ctx, place, outcomes)
	fmt.Print(report.table())
	if o.run == "" && len(outcomes[ours]) > 0 {
		err = report.write(filepath.Join(place.repository, "docs", "results", "upstream"), o.results)
	}
	return report.failed(), err
}
