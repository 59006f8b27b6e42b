package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// One test takes a minute or two; one that takes this long hangs.
const longest = 12 * time.Minute

// verdict is how a test or one of its cases ended.
type verdict string

const (
	pass verdict = "pass"
	fail verdict = "fail"
)

// outcome is that of one test, and of its cases.
type outcome struct {
	Test    string        `json:"test"`
	Verdict verdict       `json:"verdict"`
	Seconds float64       `json:"seconds"`
	Cases   []caseOutcome `json:"cases,omitempty"`
	Why     string        `json:"why,omitempty"` // of a failure that is not a case's
	Traces  traces        `json:"traces,omitzero"`
}

type caseOutcome struct {
	Name    string  `json:"name"`
	Verdict verdict `json:"verdict"`
	Seconds float64 `json:"seconds"`
	Why     string  `json:"why,omitempty"`
}

// runAll runs the tests that are wanted, some at a time, in the order of the suite.
func runAll(ctx context.Context, s suite, wanted *regexp.Regexp, parallel int) []outcome {
	var chosen []string
	for _, test := range s.tests {
		if wanted.MatchString(test) {
			chosen = append(chosen, test)
		}
	}
	outcomes := make([]outcome, len(chosen))
	places := make(chan struct{}, max(parallel, 1))
	var running sync.WaitGroup
	for i, test := range chosen {
		places <- struct{}{}
		running.Add(1)
		go func() {
			defer running.Done()
			defer func() { <-places }()
			if ctx.Err() == nil {
				outcomes[i] = runOne(ctx, s, test)
				fmt.Fprintf(os.Stderr, "%s: %s %s (%.1f s)\n", s.subject, outcomes[i].Verdict, test, outcomes[i].Seconds)
			}
		}()
	}
	running.Wait()
	return outcomes
}

// runOne runs a test in a process group of its own, of which nothing is left at the end. What it writes is kept.
func runOne(ctx context.Context, s suite, test string) outcome {
	ctx, cancel := context.WithTimeout(ctx, longest+time.Minute)
	defer cancel()
	arguments := []string{
		"-test.run=^" + test + "$", "-test.v=test2json", "-test.timeout=" + longest.String(),
		"-test.skip=" + skipped(),
	}
	command := exec.CommandContext(ctx, s.binary, arguments...)
	command.Dir = filepath.Dir(s.binary)
	command.Env = append(os.Environ(), "JOBCHECK="+s.program, "JOBCHECK_UPSTREAM_LOGS="+s.logs,
		"PATH="+s.path+string(os.PathListSeparator)+os.Getenv("PATH"))
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.WaitDelay = 10 * time.Second
	var written bytes.Buffer
	command.Stdout, command.Stderr = &written, &written
	began := time.Now()
	err := command.Run()
	if command.Process != nil {
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL) // what it may have left: etcd, controllers
	}
	seconds := time.Since(began).Seconds()
	log := filepath.Join(s.logs, test+".txt")
	if problem := os.WriteFile(log, written.Bytes(), 0o644); problem != nil {
		fmt.Fprintln(os.Stderr, "warning:", problem)
	}
	o := judge(test, written.Bytes(), err, seconds)
	actsItself := func(e excluded) bool { return e.test == test }
	if s.subject == ours && !slices.ContainsFunc(ownHand, actsItself) {
		o.Traces = replay(ctx, s, test)
	}
	return o
}

// skipped is an expression for the cases that are not run. Go matches it part by part.
func skipped() string {
	var names []string
	for _, e := range notApplicable {
		names = append(names, "^"+regexp.QuoteMeta(e.test)+"$/^"+regexp.QuoteMeta(strings.ReplaceAll(e.of, " ", "_"))+"$")
	}
	return strings.Join(names, "|")
}

// judge reads what a test has written. A process that failed makes the test fail, whatever the test says.
func judge(test string, written []byte, failure error, seconds float64) outcome {
	o := outcome{Test: test, Verdict: fail, Seconds: seconds}
	events, err := decode(written)
	if err != nil {
		o.Why = err.Error()
		return o
	}
	why := map[string]string{}
	for _, event := range events {
		switch event.Action {
		case "output":
			// The test's own words are what counts; else the last of those that it calls.
			said := strings.Contains(why[event.Test], "_test.go:")
			if !said && strings.Contains(event.Output, ".go:") {
				why[event.Test] = strings.TrimSpace(event.Output)
			}
		case "pass", "fail":
			if event.Test == test {
				o.Verdict = verdict(event.Action)
			} else if name, isCase := strings.CutPrefix(event.Test, test+"/"); isCase {
				o.Cases = append(o.Cases, caseOutcome{Name: name, Verdict: verdict(event.Action), Seconds: event.Elapsed})
			}
		}
	}
	for i := range o.Cases {
		if o.Cases[i].Verdict == fail {
			o.Cases[i].Why = why[test+"/"+o.Cases[i].Name]
		}
	}
	if o.Verdict == fail {
		o.Why = why[test]
	}
	if failure != nil && (o.Verdict == pass || o.cases(fail) == 0 && o.Why == "") {
		o.Verdict, o.Why = fail, "its process: "+failure.Error()
	}
	return o
}

// event is a line of `go tool test2json`.
type event struct {
	Action  string
	Test    string
	Elapsed float64
	Output  string
}

func decode(written []byte) ([]event, error) {
	command := exec.Command("go", "tool", "test2json")
	command.Stdin = bytes.NewReader(written)
	text, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go tool test2json: %w", err)
	}
	var events []event
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, len(text)+1)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("what test2json writes is no JSON: %w", err)
		}
		events = append(events, e)
	}
	return events, lines.Err()
}
