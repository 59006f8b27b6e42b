package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strconv"
	"sync"
	"time"
)

// Recorder watches the Jobs and Pods of one namespace from the moment it is empty. It keeps the
// events as the server wrote them and the current objects for those who play user and kubelet.
type Recorder struct {
	mu       sync.Mutex
	events   []event
	jobs     map[string]Object
	pods     map[string]Object
	last     time.Time // of the last event
	broken   error     // a watch that ended early: the recording is worthless
	closed   bool
	closers  []func() error
	maxAlive int
}

type event struct {
	version int // resourceVersion
	line    []byte
	at      time.Time // of arrival
}

func newRecorder(client *Client, namespace string) *Recorder {
	r := &Recorder{jobs: map[string]Object{}, pods: map[string]Object{}, last: time.Now()}
	r.watch(client, jobsPath(namespace, ""), r.jobs)
	r.watch(client, podsPath(namespace, ""), r.pods)
	return r
}

func (r *Recorder) watch(client *Client, path string, into map[string]Object) {
	list := client.must("GET", path, "", nil)
	if items, _ := list["items"].([]any); len(items) > 0 {
		panic("namespace is not empty: " + path)
	}
	response, err := client.request("GET", path+"?watch=1&timeoutSeconds=3600&resourceVersion="+str(list, "metadata", "resourceVersion"), "", nil)
	if err != nil {
		panic(err)
	}
	r.closers = append(r.closers, response.Body.Close)
	go func() {
		lines := bufio.NewReaderSize(response.Body, 1<<20)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				r.mu.Lock()
				if !r.closed {
					r.broken = err
				}
				r.mu.Unlock()
				return
			}
			r.take(bytes.TrimSpace(line), into)
		}
	}()
}

func (r *Recorder) take(line []byte, into map[string]Object) {
	var seen struct {
		Type   string
		Object Object
	}
	if err := json.Unmarshal(line, &seen); err != nil {
		panic(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if seen.Type == "ERROR" {
		r.broken = fmt.Errorf("watch error: %s", line)
		return
	}
	version, _ := strconv.Atoi(str(seen.Object, "metadata", "resourceVersion"))
	r.events = append(r.events, event{version, withoutManagedFields(line), time.Now()})
	if seen.Type == "DELETED" {
		delete(into, name(seen.Object))
	} else {
		into[name(seen.Object)] = seen.Object
	}
	r.maxAlive = max(r.maxAlive, len(r.pods))
	r.last = time.Now()
}

// withoutManagedFields cuts ,"managedFields":[…] out of the text and leaves every other byte alone.
func withoutManagedFields(line []byte) []byte {
	start := bytes.Index(line, []byte(`,"managedFields":[`))
	if start < 0 {
		return bytes.Clone(line)
	}
	depth, inString := 0, false
	for i := start; i < len(line); i++ {
		switch c := line[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			if depth--; depth == 0 {
				return append(bytes.Clone(line[:start]), line[i+1:]...)
			}
		}
	}
	panic("unbalanced managedFields")
}

func snapshot(r *Recorder, from map[string]Object) []Object {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []Object
	for _, object := range from {
		all = append(all, object)
	}
	sort.Slice(all, func(i, j int) bool { return name(all[i]) < name(all[j]) })
	return all
}

func (r *Recorder) allJobs() []Object { return snapshot(r, r.jobs) }
func (r *Recorder) allPods() []Object { return snapshot(r, r.pods) }

func (r *Recorder) job(name string) Object {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.jobs[name]
}

func (r *Recorder) pod(name string) Object {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pods[name]
}

func (r *Recorder) quiet() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Since(r.last)
}

// auditLine is what the driver itself needs to know of an audit event.
type auditLine struct {
	raw                      []byte
	RequestReceivedTimestamp time.Time
	Verb                     string
	UserAgent                string
	ObjectRef                struct{ Namespace, Resource, Subresource string }
	ResponseStatus           struct {
		Code   int
		Reason string
	}
	ResponseObject struct {
		Metadata struct{ ResourceVersion string }
	}
}

// auditLines reads the namespace's lines from the audit log, beginning at offset.
func auditLines(path, namespace string, offset int64) ([]auditLine, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if _, err := file.Seek(offset, 0); err != nil {
		return nil, err
	}
	mark := []byte(`"namespace":"` + namespace + `"`)
	lines := bufio.NewReaderSize(file, 1<<20)
	var found []auditLine
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return found, nil // a last line without its end is being written: later than the cut
		}
		if !bytes.Contains(line, mark) {
			continue
		}
		parsed := auditLine{raw: bytes.TrimSpace(line)}
		if err := json.Unmarshal(line, &parsed); err != nil {
			return nil, err
		}
		if parsed.ObjectRef.Namespace == namespace {
			found = append(found, parsed)
		}
	}
}

// finish ends the recording at the moment cut and returns both forms. They hold the same writes:
// a write that reached the server after the cut is in neither.
func (r *Recorder) finish(log, namespace string, offset int64, cut time.Time) (audit []auditLine, watch []event, err error) {
	time.Sleep(700 * time.Millisecond) // let what was on its way at the cut arrive
	r.mu.Lock()
	r.closed = true
	events, broken := r.events, r.broken
	r.mu.Unlock()
	for _, close := range r.closers {
		close()
	}
	if broken != nil {
		return nil, nil, broken
	}
	lines, err := auditLines(log, namespace, offset)
	if err != nil {
		return nil, nil, err
	}
	var before, after int // last version before the cut, first version behind it
	for _, line := range lines {
		version, _ := strconv.Atoi(line.ResponseObject.Metadata.ResourceVersion)
		if !line.RequestReceivedTimestamp.After(cut) {
			audit = append(audit, line)
			before = max(before, version)
		} else if after == 0 && version > before {
			after = version
		}
	}
	for _, seen := range events {
		// A removal has no version in the audit log; it is recognised by its late arrival.
		if (after == 0 || seen.version < after) && seen.at.Before(cut.Add(300*time.Millisecond)) {
			watch = append(watch, seen)
		}
	}
	sort.SliceStable(watch, func(i, j int) bool { return watch[i].version < watch[j].version })
	return audit, watch, nil
}
