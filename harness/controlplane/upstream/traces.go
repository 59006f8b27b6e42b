package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
)

// traces are the native traces that the controller wrote in a test, one for each process, by what `jobcheck replay` says
// of each alone. That of a process which took up the work of one before is judged from there on.
type traces struct {
	Conforms     int      `json:"conforms"`
	Inconclusive int      `json:"inconclusive"`
	Violates     int      `json:"violates"`
	Said         []string `json:"said,omitempty"` // of violations, and of traces that cannot be read
}

// replay has the traces of a test judged. Their names begin with that of the test, a case follows.
func replay(ctx context.Context, s suite, test string) traces {
	var found traces
	entries, err := os.ReadDir(s.logs)
	if err != nil {
		found.Said = append(found.Said, err.Error())
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), test+nameEnd) && strings.HasSuffix(entry.Name(), ".jsonl") {
			found.add(ctx, s.program, filepath.Join(s.logs, entry.Name()))
		}
	}
	return found
}

// What package external puts behind the name of a test in the names of its files.
const nameEnd = "@"

// Exit codes of `jobcheck replay`.
const (
	violates     = 1
	inconclusive = 3
)

func (t *traces) add(ctx context.Context, program, trace string) {
	arguments, err := replayArguments(trace)
	if err != nil {
		t.Said = append(t.Said, err.Error())
		return
	}
	text, err := exec.CommandContext(ctx, program, arguments...).CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		t.Conforms++
		return
	case errors.As(err, &exit) && exit.ExitCode() == inconclusive:
		t.Inconclusive++
		return
	case errors.As(err, &exit) && exit.ExitCode() == violates:
		t.Violates++
	}
	t.Said = append(t.Said, strings.ReplaceAll(string(text), filepath.Dir(trace)+string(filepath.Separator), ""))
}

// replayArguments tell the judge of the API server's feature gates. They are those of the controller, which the first line
// of its trace has.
func replayArguments(trace string) ([]string, error) {
	file, err := os.Open(trace)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	line, err := bufio.NewReader(file).ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	var header struct{ Assume map[string]string }
	if err := json.Unmarshal(line, &header); err != nil {
		return nil, err
	}
	arguments := []string{"replay", trace}
	for name, value := range header.Assume {
		if strings.HasPrefix(name, "Job") {
			arguments = append(arguments, "--assume=apiserver/"+name+"="+value)
		}
	}
	sort.Strings(arguments[2:])
	return arguments, nil
}

func (t traces) fine() bool { return len(t.Said) == 0 }
