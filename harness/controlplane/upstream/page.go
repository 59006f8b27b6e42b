package main

import (
	"fmt"
	"slices"
	"strings"
)

const introduction = `# Upstream's own tests of the Job controller

For reviewers of the shipped controllers: the results of Kubernetes' integration tests of its Job controller, run with
` + "`" + `jobcheck controller` + "`" + ` in place of the built-in controller.

The setup differs from upstream's in three points:

- ` + "`" + `jobcheck controller` + "`" + ` is a process of its own. It is killed by SIGKILL whenever a test stops or restarts the built-in controller.
- It gets the feature gates of the test as its ` + "`" + `--feature-gates` + "`" + `. A gate that changes means another process.
- Its counters are read from ` + "`" + `/metrics` + "`" + `.

The API server is the tests' own, with the emulated version that they ask for. Each process writes a native trace, which
` + "`" + `jobcheck replay` + "`" + ` judges. This command writes the page:

` + "```" + `
go run -C harness/controlplane ./upstream
` + "```" + `

It reads the tests from the Go module cache, changes them as listed below, and builds and runs them. A change that does not apply
exactly as often as it should is an error. Then the tests run unchanged with the built-in controller, on the same machine. The command
takes a quarter of an hour once everything is compiled. It is no part of ` + "`" + `.ci/run` + "`" + `, which only checks that all changes apply. Results
by case are in [` + "`" + `upstream.json` + "`" + `](upstream.json).

Each trace is judged alone. If its process continued the work of another process, it is judged from that moment on. A trace is
inconclusive if its process wrote nothing, or if it shows Jobs of earlier cases to which the process writes nothing.

`

// page is docs/results/upstream.md.
func (r report) page() string {
	var text strings.Builder
	text.WriteString(introduction)
	fmt.Fprintf(&text, "Run at %s, with %s of %s, on %s.\n\n", r.Commit, r.Package, r.Kubernetes, r.Machine)
	text.WriteString("## Results\n\n" + r.table())
	text.WriteString("\n## Not applicable\n\n| test | reason |\n| --- | --- |\n")
	for _, n := range r.NotApplicable {
		fmt.Fprintf(&text, "| %s | %s |\n", n.Test, n.Reason)
	}
	text.WriteString("\nTraces that are not judged:\n\n| test | reason |\n| --- | --- |\n")
	for _, e := range ownHand {
		fmt.Fprintf(&text, "| %s | %s |\n", e.path(), e.reason)
	}
	text.WriteString("\n## Changes to the tests\n\n| file | what | why |\n| --- | --- | --- |\n")
	for _, s := range r.Substitutions {
		fmt.Fprintf(&text, "| %s | %s | %s |\n", s.File, s.What, s.Why)
	}
	return text.String()
}

// table is the outcome of each test with both subjects, the sums, and what went wrong.
func (r report) table() string {
	var text strings.Builder
	text.WriteString("| test | cases | pass | fail | not applicable | seconds | the built-in: pass | fail | seconds |\n")
	text.WriteString("| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, test := range r.tests() {
		mine, its := named(r.Ours, test), named(r.BuiltIn, test)
		cells := []string{test, r.count(test), mine.count(pass), mine.count(fail), fmt.Sprint(r.notRun(test)), mine.time()}
		cells = append(cells, its.count(pass), its.count(fail), its.time())
		text.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	for _, s := range r.subjects() {
		fmt.Fprintf(&text, "\nWith %s: %s.\n", s.name, sums(s.outcomes))
	}
	text.WriteString(r.troubles())
	return text.String()
}

// tests are those that were run with either, in the order of the files.
func (r report) tests() []string {
	var tests []string
	for _, o := range append(slices.Clone(r.Ours), r.BuiltIn...) {
		if !slices.Contains(tests, o.Test) {
			tests = append(tests, o.Test)
		}
	}
	return tests
}

func named(outcomes []outcome, test string) *outcome {
	i := slices.IndexFunc(outcomes, func(o outcome) bool { return o.Test == test })
	if i < 0 {
		return nil
	}
	return &outcomes[i]
}

// count is a number of cases; nothing where the test was not run.
func (o *outcome) count(how verdict) string {
	if o == nil {
		return ""
	}
	return fmt.Sprint(o.cases(how))
}

func (o *outcome) time() string {
	if o == nil {
		return ""
	}
	return fmt.Sprintf("%.1f", o.Seconds)
}

// count is the number of the cases of a test, those that were left out included.
func (r report) count(test string) string {
	of := named(r.Ours, test)
	if of == nil {
		of = named(r.BuiltIn, test)
	}
	return fmt.Sprint(of.cases(pass) + of.cases(fail) + r.notRun(test))
}

type played struct {
	name     string
	outcomes []outcome
}

// subjects are those with which something was run.
func (r report) subjects() []played {
	both := []played{{"`jobcheck controller`", r.Ours}, {"the built-in", r.BuiltIn}}
	return slices.DeleteFunc(both, func(p played) bool { return len(p.outcomes) == 0 })
}

func sums(outcomes []outcome) string {
	var passed, failed int
	var seconds float64
	var all traces
	for _, o := range outcomes {
		passed, failed, seconds = passed+o.cases(pass), failed+o.cases(fail), seconds+o.Seconds
		all.Conforms += o.Traces.Conforms
		all.Inconclusive += o.Traces.Inconclusive
		all.Violates += o.Traces.Violates
	}
	text := fmt.Sprintf("%d tests with %d cases, of which %d pass and %d fail, in %.0f s of tests", len(outcomes), passed+failed, passed, failed, seconds)
	if traces := all.Conforms + all.Inconclusive + all.Violates; traces > 0 {
		text += fmt.Sprintf("; of %d traces %d conform, %d violate, %d are inconclusive", traces, all.Conforms, all.Violates, all.Inconclusive)
	}
	return text
}

// troubles are the failures, with the first that each says.
func (r report) troubles() string {
	var text strings.Builder
	say := func(whom, what, why string) { fmt.Fprintf(&text, "\n- With %s, `%s` fails: `%s`\n", whom, what, why) }
	for _, s := range r.subjects() {
		for _, o := range s.outcomes {
			if o.Why != "" {
				say(s.name, o.Test, o.Why)
			}
			for _, c := range o.Cases {
				if c.Verdict == fail {
					say(s.name, o.Test+"/"+c.Name, c.Why)
				}
			}
			for _, said := range o.Traces.Said {
				fmt.Fprintf(&text, "\nA trace of %s:\n\n```\n%s```\n", o.Test, said)
			}
		}
	}
	return text.String()
}
