package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// report is what docs/results/upstream.json holds.
type report struct {
	Commit        string        `json:"commit"`
	Kubernetes    string        `json:"kubernetes"`
	Package       string        `json:"package"`
	Subject       string        `json:"subject"`
	Machine       string        `json:"machine"`
	Tests         []outcome     `json:"tests"`
	NotApplicable []notRun      `json:"notApplicable"`
	Substitutions []substituted `json:"substitutions"`
}

type notRun struct {
	Test   string `json:"test"`
	Reason string `json:"reason"`
}

type substituted struct {
	File string `json:"file"`
	What string `json:"what"`
	Why  string `json:"why"`
}

func newReport(ctx context.Context, p place, s suite, o options, outcomes []outcome) report {
	r := report{
		Commit: commit(ctx, p.repository), Kubernetes: p.version, Package: "k8s.io/kubernetes/" + upstreamPackage, Subject: o.subject,
		Machine: fmt.Sprintf("%s/%s, %d cores, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version()),
		Tests:   outcomes,
	}
	for _, e := range notApplicable {
		r.NotApplicable = append(r.NotApplicable, notRun{e.path(), e.reason})
	}
	for _, name := range []string{"job_test.go", "job_admission_test.go", "main_test.go"} {
		for _, s := range files[name].substitutions {
			what := fmt.Sprintf("`%s`", strings.Join(strings.Fields(s.old), " "))
			r.Substitutions = append(r.Substitutions, substituted{name, what, s.why})
		}
		for _, b := range files[name].bodies {
			r.Substitutions = append(r.Substitutions, substituted{name, "the body of `" + b.function + "`", b.why})
		}
	}
	return r
}

// commit is that of the repository, with a sign if something is not committed.
func commit(ctx context.Context, repository string) string {
	text, err := output(ctx, repository, "git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*")
	if err != nil {
		return "unknown"
	}
	return text
}

func (r report) failed() bool {
	for _, o := range r.Tests {
		if o.Verdict != pass {
			return true
		}
	}
	return false
}

// cases counts those that ended this way; a test without cases is one.
func (o outcome) cases(how verdict) int {
	if len(o.Cases) == 0 {
		if o.Verdict == how {
			return 1
		}
		return 0
	}
	count := 0
	for _, c := range o.Cases {
		if c.Verdict == how {
			count++
		}
	}
	return count
}

func (r report) sums() string {
	passed, failed, seconds := 0, 0, 0.0
	for _, o := range r.Tests {
		passed, failed, seconds = passed+o.cases(pass), failed+o.cases(fail), seconds+o.Seconds
	}
	return fmt.Sprintf("%d tests with %d cases: %d pass, %d fail; %d not applicable; %.0f s of tests",
		len(r.Tests), passed+failed, passed, failed, len(r.NotApplicable), seconds)
}

// table is the outcome of each test, the failures with what they say, and what was not run.
func (r report) table() string {
	var text strings.Builder
	text.WriteString("| test | cases | pass | fail | not applicable | seconds |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, o := range r.Tests {
		left := 0
		for _, n := range r.NotApplicable {
			if strings.HasPrefix(n.Test, o.Test+"/") {
				left++
			}
		}
		passed, failed := o.cases(pass), o.cases(fail)
		fmt.Fprintf(&text, "| %s | %d | %d | %d | %d | %.1f |\n", o.Test, passed+failed+left, passed, failed, left, o.Seconds)
	}
	fmt.Fprintf(&text, "\n%s.\n", r.sums())
	for _, o := range r.Tests {
		if o.Why != "" {
			fmt.Fprintf(&text, "\n- %s fails: %s\n", o.Test, o.Why)
		}
		for _, c := range o.Cases {
			if c.Verdict == fail {
				fmt.Fprintf(&text, "\n- %s/%s fails: %s\n", o.Test, c.Name, c.Why)
			}
		}
	}
	return text.String()
}

const introduction = `# Upstream's own tests of the Job controller

The integration tests that Kubernetes has for its Job controller, run with ` + "`jobcheck controller`" + ` in its place: a process of
its own, killed by SIGKILL wherever a test stops or restarts the built-in, with the feature gates of the test as its
` + "`--feature-gates`" + ` (a gate that changes while it runs means a restart), and its counters read from ` + "`/metrics`" + `. The API server is
the tests' own, with the emulated version that they ask for. This page is written by

` + "```" + `
go run -C harness/controlplane ./upstream
` + "```" + `

which reads the tests from the Go module cache, changes them as told below, and builds and runs them; a change that does
not apply exactly as often as it should is an error. ` + "`-subject builtin`" + ` runs them unchanged. It takes minutes, and is no part
of ` + "`.ci/run`" + `, which looks that all changes apply. Results by case are in ` + "[`upstream.json`](upstream.json)" + `.

`

func (r report) markdown() string {
	var text strings.Builder
	text.WriteString(introduction)
	fmt.Fprintf(&text, "Run at %s, %s of %s, on %s.\n\n", r.Commit, r.Package, r.Kubernetes, r.Machine)
	text.WriteString("## Results\n\n" + r.table())
	text.WriteString("\n## Not applicable\n\n| test | reason |\n| --- | --- |\n")
	for _, n := range r.NotApplicable {
		fmt.Fprintf(&text, "| %s | %s |\n", n.Test, n.Reason)
	}
	text.WriteString("\n## What is changed in the tests\n\n| file | what | why |\n| --- | --- | --- |\n")
	for _, s := range r.Substitutions {
		fmt.Fprintf(&text, "| %s | %s | %s |\n", s.File, s.What, s.Why)
	}
	return text.String()
}

// write stores both forms.
func (r report) write(usual, asked string) error {
	path := usual
	if asked != "" {
		path = asked
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path+".md", []byte(r.markdown()), 0o644); err != nil {
		return err
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path+".json", append(text, '\n'), 0o644)
}
