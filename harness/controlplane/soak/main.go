// Command soak makes recordings of the built-in Job controller: it starts a control plane of its
// own (see ../main.go), plays the user and the kubelet in one namespace per run, and writes what
// happened in two forms, the API server's audit log and the watch events.
//
//	soak -bin controlplane -out recordings -kinds random,bound -seeds 1-8
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// How the controller manager is treated while runs of a kind go on.
const (
	steady   = iota // it is left alone
	restarts        // it is killed or paused at random moments; several runs share the moments
	alone           // the script itself kills it: one run at a time
	faulty          // it is behind the fault proxy, and the script says what goes wrong: one run at a time
)

type kind struct {
	doc       string
	treatment int
	play      func(*Run)
}

var kinds = map[string]kind{
	"random":              {"random Jobs, user and kubelet", steady, playRandom},
	"long":                {"random for some 150 s with a calmer user", steady, playLong},
	"long-restarts":       {"long with restarts", restarts, playLong},
	"bound":               {"the same with pods bound to a node (grace period of 30 s)", steady, playBound},
	"restarts":            {"random, the controller manager killed or paused now and then", restarts, playRandom},
	"bound-restarts":      {"bound and restarts together", restarts, playBound},
	"backoff":             {"always failing pods, 130 s", steady, playBackoff},
	"backoff-restarts":    {"always failing pods, with restarts", restarts, playBackoff},
	"adoption":            {"stray pods, labels changed, owner references stripped", steady, playAdoption},
	"adoption-restarts":   {"adoption with restarts", restarts, playAdoption},
	"load":                {"eight Jobs, some fifty pods", steady, playLoad},
	"load-restarts":       {"load with restarts", restarts, playLoad},
	"wide":                {"one Job with sixty pods", steady, playWide},
	"wide-restarts":       {"wide with restarts", restarts, playWide},
	"evict":               {"pods evicted through the API", steady, playEvict},
	"namespace-deleted":   {"the namespace is deleted under running Jobs", steady, playNamespaceDeleted},
	"user-forms":          {"the forms of requests: apply, JSON patch, dry run, generateName, preconditions, collections", steady, playForms},
	"node-gone":           {"the pods' node is deleted; pod garbage collection ends them", steady, playNodeGone},
	"create-refused":      {"admission refuses pod creations for a while", steady, playCreateRefused},
	"release-refused":     {"admission refuses to let the controller release pods for a while", steady, playReleaseRefused},
	"mirror":              {"managedBy: a status-only mirror", steady, playMirror},
	"s01-few-successes":   {"S-01: Complete with too few successes", alone, playFewSuccesses},
	"s02-both-indexes":    {"S-02, L2: an index completed and failed", alone, playBothIndexes},
	"s03-lost-failjob":    {"S-03: FailJob decision lost", steady, playLostFailJob},
	"s04-suspended-end":   {"S-04, L1: a suspended Job meets its end", steady, playSuspendedEnd},
	"s04-limit-lowered":   {"S-04 without a slow pod: the limit or the size is lowered while suspended", steady, playLimitLowered},
	"s05-readopted":       {"S-05: a counted pod is adopted and counted again", steady, playReadopted},
	"s07-flip":            {"S-07: a pod recorded as succeeded turns Failed", alone, playFlip},
	"s09-ready-active":    {"S-09: a ready pod is gone before the controller can release it", alone, playReadyAboveActive},
	"h4-delete-404":       {"H4 of the bug list: the controller deletes a pod that is gone", alone, playDelete404},
	"j01-stale-active":    {"J-01: a sync does not wait for the deletions of the one before", faulty, playStaleActive},
	"j02-full-lists":      {"J-02: full lists grow while removals fail (two minutes, 10 MB)", alone, playFullLists},
	"j03-counted-twice":   {"J-03: a pod that was gone when it was released is counted again", faulty, playCountedTwice},
	"l2-one-batch":        {"L2 without a fault: two events in one batch", steady, playBothInOneBatch},
	"bo05-lost-record":    {"BO-05: a failure without a delay, because an answer was lost", faulty, playLostRecord},
	"s11-stripped-pod":    {"S-11: a pod without finalizer, because an answer was lost", faulty, playStrippedPod},
	"two-leaders":         {"SY-01: two controller managers count one pod", alone, playTwoLeaders},
	"late-creation":       {"a request of a dead process doubles an index", faulty, playLateCreation},
	"tc09-false-failed":   {"TC-09: Failed=False set by hand", steady, playFalseTerminal},
	"s07-deletes-pods":    {"S-07: a healthy pod is deleted for the failure of one that was recorded as succeeded", faulty, playFlipDeletes},
	"h1-counted":          {"H1: two changes of one pod pass for the deletions of two", faulty, playCountedDeletions},
	"j04-ignored-alive":   {"J-04: a Job fails beside a pod that its policy ignores and that has not ended", steady, playIgnoredAlive},
	"j05-counted-stray":   {"J-05: a listed pod that has lost its owner", faulty, playCountedStray},
	"j06-late-pod":        {"J-06: a pod that arrives after its Job has finished (over two minutes)", faulty, playLatePod},
	"s25-adopted":         {"S-25: the orphan path takes the finalizer of an adopted pod", faulty, playStrippedAdopted},
	"j07-heir":            {"J-07: a Job inherits an expectation of one of its name (over two or five minutes)", faulty, playHeirOfExpectations},
	"j08-replaced-unseen": {"J-08: a Job is created again under its name while the watch of Jobs is interrupted (over two minutes)", faulty, playReplacedUnseen},
	"j09-deleted-unseen":  {"J-09: a list shows a pod for the first time when it is being deleted (over two or five minutes)", faulty, playDeletedUnseen},
	"j10-held-namespace":  {"J-10 without a fault: a namespace waits for a pod that waits for its replacement (over two or five minutes)", steady, playHeldNamespace},
	"s29-no-end":          {"S-29: no Job ends with JobManagedBy and JobPodReplacementPolicy off in the controller alone", alone, playNoEnd},
	"mb14-skew":           {"MB-14: two managers of one Job, with JobManagedBy off in the built-in alone", alone, playSkewedManager},
	"s12-false-interim":   {"S-12: FailureTarget=False set by hand", steady, playFalseCondition},
	"throttled":           {"random, meant for a low -qps: decisions on old views", steady, playRandom},
	"throttled-restarts":  {"throttled with restarts", restarts, playRandom},
}

func main() {
	bin := flag.String("bin", "controlplane", "the control plane program")
	out := flag.String("out", "recordings", "directory for the recordings and INDEX.md")
	names := flag.String("kinds", "random", "comma-separated kinds of runs; 'list' prints them")
	seeds := flag.String("seeds", "1-4", "first and last seed of each kind")
	parallel := flag.Int("parallel", 8, "runs at the same time")
	qps := flag.Int("qps", 50, "requests per second allowed to the controller manager (its own default is 20)")
	accounts := flag.Bool("service-accounts", false, "run each controller under its own service account")
	keep := flag.Bool("keep", false, "keep the control plane's directory (logs) afterwards")
	flag.Parse()

	if *names == "list" {
		var lines []string
		for name, k := range kinds {
			lines = append(lines, fmt.Sprintf("%-20s %s", name, k.doc))
		}
		sort.Strings(lines)
		fmt.Println(strings.Join(lines, "\n"))
		return
	}
	if err := soak(*bin, *out, strings.Split(*names, ","), *seeds, *parallel, *qps, *accounts, *keep); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

type planned struct {
	name string
	seed int64
}

func soak(bin, out string, names []string, seeds string, parallel, qps int, accounts, keep bool) error {
	low, high, _ := strings.Cut(seeds, "-")
	first, err := strconv.ParseInt(low, 10, 64)
	if err != nil {
		return err
	}
	last := first
	if high != "" {
		if last, err = strconv.ParseInt(high, 10, 64); err != nil {
			return err
		}
	}
	plan := map[int][]planned{}
	for seed := first; seed <= last; seed++ {
		for _, name := range names {
			k, known := kinds[name]
			if !known {
				return fmt.Errorf("no kind %q", name)
			}
			plan[k.treatment] = append(plan[k.treatment], planned{name, seed})
		}
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "soak-")
	if err != nil {
		return err
	}
	if !keep {
		defer os.RemoveAll(dir)
	}
	cluster, err := up(bin, dir, qps, accounts)
	defer cluster.down()
	if err != nil {
		return err
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		<-stop
		cluster.down()
		if !keep {
			os.RemoveAll(dir)
		}
		os.Exit(130)
	}()
	fmt.Println("control plane is up,", dir)
	time.Sleep(3 * time.Second)

	pool(cluster, out, plan[steady], parallel)
	if len(plan[restarts]) > 0 {
		done := make(chan struct{})
		stopped := make(chan struct{})
		go disturb(cluster, first, done, stopped)
		pool(cluster, out, plan[restarts], parallel)
		close(done)
		<-stopped
	}
	pool(cluster, out, plan[alone], 1)
	if len(plan[faulty]) > 0 {
		if err := cluster.behindProxy(); err != nil {
			return err
		}
		time.Sleep(3 * time.Second)
		pool(cluster, out, plan[faulty], 1)
	}
	if n := lost.Load(); n > 0 {
		return fmt.Errorf("%d runs were not recorded", n)
	}
	return nil
}

func pool(c *Cluster, out string, plan []planned, parallel int) {
	var group sync.WaitGroup
	slots := make(chan struct{}, parallel)
	for _, next := range plan {
		slots <- struct{}{}
		group.Add(1)
		go func() {
			defer group.Done()
			defer func() { <-slots }()
			one(c, out, next)
		}()
		time.Sleep(300 * time.Millisecond)
	}
	group.Wait()
}

var lost atomic.Int32 // runs that left no recording

// one makes one recording. A run that fails is reported and leaves no files.
func one(c *Cluster, out string, next planned) {
	defer func() {
		if trouble := recover(); trouble != nil {
			lost.Add(1)
			fmt.Fprintf(os.Stderr, "not recorded: %s-%d: %v\n", next.name, next.seed, trouble)
		}
	}()
	r := newRun(c, next.name, next.seed)
	kinds[next.name].play(r)
	if err := r.save(out); err != nil {
		lost.Add(1)
		fmt.Fprintln(os.Stderr, "not recorded:", err)
		return
	}
	fmt.Printf("%s %s: saved\n", time.Now().Format("15:04:05"), r.namespace)
}
