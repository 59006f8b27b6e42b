// Command oracle answers what kube-apiserver itself decides about a Job.
//
// It reads one JSON object per line,
//
//	{"kind": "status"|"spec"|"create"|"stored", "old": Job, "new": Job}
//
// and writes one per line,
//
//	{"accepted": bool, "errors": [{"field", "type", "detail"}], "object": Job}
//
// The decision is made by the registered strategies of k8s.io/kubernetes, after the defaulting and the
// preparation that a request undergoes. The kind "stored" leaves both out: it validates an object exactly as
// it is, which is what the model judges; all others answer with "object", what the request makes of it.
//
// The flags -emulate and -gates switch feature gates, as those of the server do. With -compare it reads questions that carry the model's decision ("ours") and prints how many agree instead.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/version"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/batch"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	"k8s.io/kubernetes/pkg/registry/batch/job"
)

type question struct {
	Kind string       `json:"kind"`
	Old  *batchv1.Job `json:"old"`
	New  *batchv1.Job `json:"new"`
	Ours *claim       `json:"ours"` // only for -compare
}

type reason struct {
	Field  string `json:"field"`
	Type   string `json:"type"`
	Detail string `json:"detail"`
}

type answer struct {
	Accepted bool         `json:"accepted"`
	Errors   []reason     `json:"errors"`
	Object   *batchv1.Job `json:"object,omitempty"`
}

// panicked tells whether the strategy gave no answer.
func (a answer) panicked() bool {
	return len(a.Errors) == 1 && a.Errors[0].Type == "panic"
}

func main() {
	comparing := flag.Bool("compare", false, "compare the answers with those that the questions carry")
	emulate := flag.String("emulate", "", "minor `version` whose gates may be switched, such as 1.34")
	gates := flag.String("gates", "", "feature gates to switch, as `name=value,...`")
	flag.Parse()
	if err := switchGates(*emulate, *gates); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(2)
	}
	run := answerAll
	if *comparing {
		run = compareAll
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

// switchGates does what --emulated-version and --feature-gates do: a locked gate can only be switched in the
// emulation of a version that had not locked it yet.
func switchGates(emulate, gates string) error {
	if emulate != "" {
		minor, err := version.Parse(emulate)
		if err != nil {
			return err
		}
		if err := utilfeature.DefaultMutableFeatureGate.SetEmulationVersion(minor); err != nil {
			return err
		}
	}
	if gates == "" {
		return nil
	}
	return utilfeature.DefaultMutableFeatureGate.Set(gates)
}

func answerAll() error {
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	return eachQuestion(func(q question, a answer, last bool) error {
		if err := encoder.Encode(a); err != nil {
			return err
		}
		// Someone who asks one question at a time must get the answer before asking the next.
		if last {
			return out.Flush()
		}
		return nil
	})
}

func compareAll() error {
	t := tally{fired: map[string]int{}, shown: os.Stdout}
	err := eachQuestion(func(q question, a answer, _ bool) error {
		if q.Ours == nil {
			return fmt.Errorf("question without ours")
		}
		t.compare(q, a)
		return nil
	})
	t.report(os.Stdout)
	if err == nil && t.differing > 0 {
		err = fmt.Errorf("%d decisions differ", t.differing)
	}
	return err
}

// eachQuestion decides the questions in order; last says that no further one has arrived yet.
func eachQuestion(use func(q question, a answer, last bool) error) error {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return nil
		} else if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		var q question
		if err := json.Unmarshal(line, &q); err != nil {
			return err
		}
		a, err := decide(q)
		if err != nil {
			return err
		}
		if err := use(q, a, in.Buffered() == 0); err != nil {
			return err
		}
	}
}

// decide asks the strategy that the server would ask. Where it panics, as it does for an Indexed Job with a
// success policy but no completions, the server answers 500, which is no acceptance either.
func decide(q question) (a answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			a, err = answer{Errors: []reason{{Type: "panic", Detail: fmt.Sprint(p)}}}, nil
		}
	}()
	if q.New == nil {
		return answer{}, fmt.Errorf("question without new")
	}
	isUpdate := q.Kind == "status" || q.Kind == "spec"
	if isUpdate && q.Old == nil {
		return answer{}, fmt.Errorf("%s without old", q.Kind)
	}
	ctx := context.Background()
	next, err := internal(q.New, q.Kind != "stored")
	if err != nil {
		return answer{}, err
	}
	var old *batch.Job
	if isUpdate {
		if old, err = internal(q.Old, true); err != nil {
			return answer{}, err
		}
	}

	switch q.Kind {
	case "status":
		next.Generation = old.Generation // as rest.BeforeUpdate does
		job.StatusStrategy.PrepareForUpdate(ctx, next, old)
		object, err := external(next)
		return answered(job.StatusStrategy.ValidateUpdate(ctx, next, old), object), err
	case "spec":
		next.Generation = old.Generation
		job.Strategy.PrepareForUpdate(ctx, next, old)
		object, err := external(next)
		return answered(job.Strategy.ValidateUpdate(ctx, next, old), object), err
	case "create":
		job.Strategy.PrepareForCreate(ctx, next)
		object, err := external(next)
		return answered(job.Strategy.Validate(ctx, next), object), err
	case "stored":
		return answered(job.Strategy.Validate(ctx, next), nil), nil
	default:
		return answer{}, fmt.Errorf("unknown kind %q", q.Kind)
	}
}

func internal(v1 *batchv1.Job, defaulted bool) (*batch.Job, error) {
	if v1.CreationTimestamp.IsZero() {
		v1.CreationTimestamp = metav1.Unix(1, 0)
	}
	if defaulted {
		legacyscheme.Scheme.Default(v1)
	}
	converted := &batch.Job{}
	return converted, legacyscheme.Scheme.Convert(v1, converted, nil)
}

func external(converted *batch.Job) (*batchv1.Job, error) {
	v1 := &batchv1.Job{}
	return v1, legacyscheme.Scheme.Convert(converted, v1, nil)
}

func answered(refusals field.ErrorList, object *batchv1.Job) answer {
	a := answer{Accepted: len(refusals) == 0, Errors: []reason{}, Object: object}
	for _, e := range refusals {
		a.Errors = append(a.Errors, reason{Field: e.Field, Type: string(e.Type), Detail: e.Detail})
	}
	return a
}
