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
	Machine       string        `json:"machine"`
	Ours          []outcome     `json:"ours,omitempty"`
	BuiltIn       []outcome     `json:"builtIn,omitempty"`
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

func newReport(ctx context.Context, p place, outcomes map[subject][]outcome) report {
	r := report{
		Commit: commit(ctx, p.repository), Kubernetes: p.version, Package: "k8s.io/kubernetes/" + upstreamPackage,
		Machine: fmt.Sprintf("%s/%s, %d cores, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version()),
		Ours:    outcomes[ours], BuiltIn: outcomes[builtIn],
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

// failed says whether something is wrong with the external controller.
func (r report) failed() bool {
	for _, o := range r.Ours {
		if o.Verdict != pass || !o.Traces.fine() {
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

// notRun counts the cases of a test that were left out.
func (r report) notRun(test string) int {
	count := 0
	for _, n := range r.NotApplicable {
		if strings.HasPrefix(n.Test, test+"/") {
			count++
		}
	}
	return count
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
	if err := os.WriteFile(path+".md", []byte(r.page()), 0o644); err != nil {
		return err
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path+".json", append(text, '\n'), 0o644)
}
