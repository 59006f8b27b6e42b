package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const source = `package job

func start(name string) (int, error) {
	return begin(name), nil
}
`

// The smoke part of the whole run: upstream's files of the version in go.mod are what the edits were made for.
func TestEditsApplyToUpstream(t *testing.T) {
	p, err := findPlace(context.Background(), options{})
	if err != nil {
		t.Fatal(err)
	}
	sources, err := rewriteAll(p, ours)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(sources["job_test.go"], "jobcontroller.NewController") {
		t.Error("a built-in controller is started still")
	}
	found, benchmarks, err := tests("job_test.go", sources["job_test.go"])
	if err != nil || len(found) == 0 || len(benchmarks) == 0 {
		t.Errorf("found %d tests and %d benchmarks: %v", len(found), len(benchmarks), err)
	}
	original, err := os.ReadFile(filepath.Join(p.upstream, upstreamPackage, "job_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	unchanged, _, err := tests("job_test.go", string(original))
	if err != nil || strings.Join(unchanged, " ") != strings.Join(found, " ") {
		t.Errorf("the edits change which tests there are: %v", err)
	}
}

func TestEditsApply(t *testing.T) {
	edited, err := rewrite("f.go", source, edits{
		substitutions: []substitution{{old: "int", new: "uint", times: 1}},
		bodies:        []body{{function: "start", signature: "(name string) (uint, error)", new: "{ return 1, nil }"}},
	})
	if err != nil || !strings.Contains(edited, "func start(name string) (uint, error) { return 1, nil }") {
		t.Errorf("%v: %s", err, edited)
	}
}

func TestEditsThatDoNotApplyAreErrors(t *testing.T) {
	for why, e := range map[string]edits{
		"occurs 2 times, not 1":         {substitutions: []substitution{{old: "name", times: 1}}},
		"occurs 0 times, not 1":         {substitutions: []substitution{{old: "nothing", times: 1}}},
		"there is no function stop":     {bodies: []body{{function: "stop", new: "{}"}}},
		"(name string) (int, error), n": {bodies: []body{{function: "start", signature: "()", new: "{}"}}},
	} {
		if _, err := rewrite("f.go", source, e); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q, not %q", err, why)
		}
	}
}

func TestWhatATestWritesIsJudged(t *testing.T) {
	const mark = "\x16"
	written := mark + "=== RUN   TestA\n" + mark + "=== RUN   TestA/one\n" + mark + "--- PASS: TestA/one (0.50s)\n" +
		mark + "=== NAME  TestA\n" + mark + "=== RUN   TestA/two\n" + "    job_test.go:7: wanted 1\n" +
		mark + "--- FAIL: TestA/two (1.50s)\n" + mark + "=== NAME  TestA\n" + mark + "--- FAIL: TestA (2.00s)\n" + mark + "FAIL\n"
	o := judge("TestA", []byte(written), nil, 3)
	if o.Verdict != fail || o.cases(pass) != 1 || o.cases(fail) != 1 || o.Seconds != 3 {
		t.Fatalf("%+v", o)
	}
	if o.Cases[1].Name != "two" || !strings.Contains(o.Cases[1].Why, "wanted 1") {
		t.Errorf("%+v", o.Cases)
	}
	passed := judge("TestA", []byte(mark+"=== RUN   TestA\n"+mark+"--- PASS: TestA (0.00s)\n"+mark+"=== NAME  \n"+mark+"PASS\n"), os.ErrClosed, 1)
	if passed.Verdict != fail || !strings.Contains(passed.Why, "its process") {
		t.Errorf("a process that failed: %+v", passed)
	}
	if silent := judge("TestA", nil, nil, 1); silent.Verdict != fail {
		t.Errorf("a test that says nothing: %+v", silent)
	}
}
