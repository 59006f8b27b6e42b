package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	upstreamPackage = "test/integration/job"
	// The same for the compiler, in this module.
	testPackage = "./upstream/job"
)

// place is where things are.
type place struct {
	repository string // of jobcheck
	module     string // harness/controlplane
	upstream   string // k8s.io/kubernetes in the module cache
	version    string // of it
	work       string // what is built, and logs
}

// suite is what is run.
type suite struct {
	subject subject
	binary  string   // of the tests
	program string   // jobcheck, where it is the subject
	path    string   // a directory with etcd
	logs    string   // a directory for logs and traces
	tests   []string // in the order of the files
}

func findPlace(ctx context.Context, o options) (place, error) {
	var p place
	var err error
	if p.module, err = output(ctx, "", "go", "list", "-m", "-f", "{{.Dir}}"); err != nil {
		return p, err
	}
	if _, err := output(ctx, p.module, "go", "mod", "download", "k8s.io/kubernetes"); err != nil {
		return p, err
	}
	found, err := output(ctx, p.module, "go", "list", "-m", "-f", "{{.Dir}} {{.Version}}", "k8s.io/kubernetes")
	if err != nil {
		return p, err
	}
	p.upstream, p.version, _ = strings.Cut(found, " ")
	p.repository = filepath.Join(p.module, "..", "..")
	if p.work = o.work; p.work == "" {
		p.work = filepath.Join(p.repository, "target", "upstream")
	}
	p.work, err = filepath.Abs(p.work)
	return p, err
}

func build(ctx context.Context, p place, o options, whom subject) (suite, error) {
	s := suite{subject: whom, path: filepath.Join(p.work, "bin"), logs: filepath.Join(p.work, "logs-"+string(whom))}
	if err := os.RemoveAll(s.logs); err != nil {
		return s, err
	}
	for _, directory := range []string{s.path, s.logs} {
		if err := os.MkdirAll(directory, 0o755); err != nil {
			return s, err
		}
	}
	sources, err := rewriteAll(p, whom)
	if err != nil {
		return s, err
	}
	for _, name := range []string{"job_test.go", "job_admission_test.go"} {
		found, _, err := tests(name, sources[name])
		if err != nil {
			return s, err
		}
		s.tests = append(s.tests, found...)
	}
	if whom == ours {
		if s.program, err = buildProgram(ctx, p, o); err != nil {
			return s, err
		}
	}
	if err := buildEtcd(ctx, p, s.path); err != nil {
		return s, err
	}
	s.binary = filepath.Join(p.work, string(whom)+".test")
	return s, buildTests(ctx, p, sources, s.binary)
}

// rewriteAll reads upstream's files, and changes them unless the built-in is the subject.
func rewriteAll(p place, whom subject) (map[string]string, error) {
	sources := map[string]string{}
	for name, edits := range files {
		text, err := os.ReadFile(filepath.Join(p.upstream, upstreamPackage, name))
		if err != nil {
			return nil, err
		}
		sources[name] = string(text)
		if whom == ours {
			if sources[name], err = rewrite(name, sources[name], edits); err != nil {
				return nil, err
			}
		}
	}
	return sources, checkExcluded(sources)
}

// buildTests builds the tests as a package of this module that is there for the compiler alone.
func buildTests(ctx context.Context, p place, sources map[string]string, binary string) error {
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for name, source := range sources {
		written := binary + "." + name
		if err := os.WriteFile(written, []byte(source), 0o644); err != nil {
			return err
		}
		overlay.Replace[filepath.Join(p.module, "upstream", "job", name)] = written
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		return err
	}
	written := binary + ".overlay.json"
	if err := os.WriteFile(written, text, 0o644); err != nil {
		return err
	}
	modfile, err := copyModule(p)
	if err != nil {
		return err
	}
	shared := []string{"-modfile=" + modfile, "-overlay=" + written}
	// The tests need modules that the control plane does not; Kubernetes says in which versions.
	list := append([]string{"list", "-mod=mod", "-test", "-deps"}, shared...)
	if _, err := output(ctx, p.module, "go", append(list, testPackage)...); err != nil {
		return err
	}
	// The test server looks for its own source: no -trimpath.
	compile := append([]string{"test", "-c", "-vet=off", "-o", binary}, shared...)
	return loud(ctx, p.module, "go", append(compile, testPackage)...)
}

// copyModule makes a go.mod that may be changed, with its go.sum: the module's own are part of the program jobcheck.
func copyModule(p place) (string, error) {
	modfile := filepath.Join(p.work, "upstream.mod")
	for name, copied := range map[string]string{"go.mod": modfile, "go.sum": strings.TrimSuffix(modfile, ".mod") + ".sum"} {
		text, err := os.ReadFile(filepath.Join(p.module, name))
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(copied, text, 0o644); err != nil {
			return "", err
		}
	}
	return modfile, nil
}

func buildProgram(ctx context.Context, p place, o options) (string, error) {
	if o.program != "" {
		return filepath.Abs(o.program)
	}
	if err := loud(ctx, p.repository, "cargo", "build", "--locked", "-p", "jobcheck"); err != nil {
		return "", err
	}
	text, err := output(ctx, p.repository, "cargo", "metadata", "--locked", "--no-deps", "--format-version=1")
	if err != nil {
		return "", err
	}
	var metadata struct {
		Target string `json:"target_directory"`
	}
	err = json.Unmarshal([]byte(text), &metadata)
	return filepath.Join(metadata.Target, "debug", "jobcheck"), err
}

// buildEtcd makes the program that the tests look for in the path. The flags are those of `jobcheck cluster up`, so that
// what it has compiled is there already.
func buildEtcd(ctx context.Context, p place, directory string) error {
	binary := filepath.Join(directory, "controlplane")
	if err := loud(ctx, p.module, "go", "build", "-trimpath", "-buildvcs=false", "-o", binary, "."); err != nil {
		return err
	}
	script := "#!/bin/sh\nexec \"${0%/*}/controlplane\" etcd \"$@\"\n"
	return os.WriteFile(filepath.Join(directory, "etcd"), []byte(script), 0o755)
}

func output(ctx context.Context, directory, name string, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, name, arguments...)
	command.Dir, command.Stderr = directory, os.Stderr
	text, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", strings.Join(append([]string{name}, arguments...), " "), err)
	}
	return strings.TrimSpace(string(text)), nil
}

// loud runs what may take minutes.
func loud(ctx context.Context, directory, name string, arguments ...string) error {
	told := strings.Join(append([]string{name}, arguments...), " ")
	fmt.Fprintln(os.Stderr, told)
	command := exec.CommandContext(ctx, name, arguments...)
	command.Dir, command.Stdout, command.Stderr = directory, os.Stderr, os.Stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("%s: %w", told, err)
	}
	return nil
}
