package faultproxy

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// world is an API server that counts writes and sends what a test wants as watch events.
type world struct {
	t       *testing.T
	proxy   *Proxy
	client  *http.Client
	commits atomic.Int32
	events  chan string
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, events: make(chan string, 100)}
	server := httptest.NewUnstartedServer(http.HandlerFunc(w.serve))
	server.EnableHTTP2 = true
	server.StartTLS()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	proxy, err := Start(server.URL, roots)
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(proxy.Certificate())
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}, ForceAttemptHTTP2: true}
	w.proxy, w.client = proxy, &http.Client{Transport: transport}
	t.Cleanup(func() {
		close(w.events)
		transport.CloseIdleConnections()
		_ = proxy.Close()
		server.Close()
	})
	return w
}

func (w *world) serve(out http.ResponseWriter, in *http.Request) {
	if in.Header.Get("Authorization") != "Bearer token" {
		out.WriteHeader(http.StatusUnauthorized)
		return
	}
	if in.Method != http.MethodGet {
		w.commits.Add(1)
		fmt.Fprint(out, `{"kind":"Pod"}`)
		return
	}
	if accept := in.Header.Get("Accept"); accept != "application/json" {
		w.t.Errorf("the watch asks for %q", accept)
	}
	_ = http.NewResponseController(out).Flush()
	for {
		select {
		case event, open := <-w.events:
			if !open {
				return
			}
			fmt.Fprintln(out, event)
			_ = http.NewResponseController(out).Flush()
		case <-in.Context().Done():
			return
		}
	}
}

func (w *world) send(method, path string) (*http.Response, error) {
	request, err := http.NewRequest(method, w.proxy.URL()+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer token")
	request.Header.Set("Accept", "application/vnd.kubernetes.protobuf,application/json")
	return w.client.Do(request)
}

// code is the status of the answer, 0 for none.
func (w *world) code(method, path string) int {
	response, err := w.send(method, path)
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return 0
	}
	if response.StatusCode >= 300 {
		var status struct{ Reason string }
		if json.Unmarshal(body, &status) != nil || status.Reason == "" {
			w.t.Errorf("no Status: %s", body)
		}
	}
	return response.StatusCode
}

const pod = "/api/v1/namespaces/ns/pods/a"

// eventually is the only place where the tests look at a clock.
func (w *world) eventually(holds func() bool) {
	w.t.Helper()
	for end := time.Now().Add(10 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatal("it never came about")
		}
	}
}

func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		outcome       Outcome
		code, commits int
	}{{Forward, 200, 1}, {RefuseFirst, 409, 0}, {RefuseAfter, 409, 1}, {CutFirst, 0, 0}, {CutAfter, 0, 1}} {
		w := newWorld(t)
		rule := w.proxy.Apply(Rule{Match: Match{Verb: "patch", Resource: "pods"}, Outcome: c.outcome, Code: 409})
		if code := w.code("PATCH", pod); code != c.code || int(w.commits.Load()) != c.commits {
			t.Errorf("outcome %d: answer %d and %d commits", c.outcome, code, w.commits.Load())
		}
		if w.code("DELETE", pod) != 200 || w.code("PATCH", "/apis/batch/v1/namespaces/ns/jobs/a/status") != 200 {
			t.Errorf("outcome %d: a request that does not fit was harmed", c.outcome)
		}
		rule.Lift()
		if w.code("PATCH", pod) != 200 || rule.Hits() != 1 {
			t.Errorf("outcome %d: the rule was not lifted", c.outcome)
		}
	}
}

func TestSkipAndTimes(t *testing.T) {
	w := newWorld(t)
	w.proxy.Apply(Rule{Match: Match{Verb: "patch"}, Skip: 1, Times: 2, Outcome: RefuseFirst, Code: 500})
	var codes []int
	for range 4 {
		codes = append(codes, w.code("PATCH", pod))
	}
	if fmt.Sprint(codes) != "[200 500 500 200]" {
		t.Error(codes)
	}
}

func TestHeldRequest(t *testing.T) {
	w := newWorld(t)
	rule := w.proxy.Apply(Rule{Match: Match{Verb: "patch"}, Hold: true, Outcome: CutAfter})
	answer := make(chan int)
	go func() { answer <- w.code("PATCH", pod) }()
	w.eventually(func() bool { return rule.Held() == 1 })
	if w.commits.Load() != 0 {
		t.Error("a held request was committed")
	}
	rule.Lift()
	if code := <-answer; code != 0 || w.commits.Load() != 1 || rule.Held() != 0 {
		t.Errorf("answer %d, %d commits", code, w.commits.Load())
	}
}

func TestLateRequest(t *testing.T) {
	for _, late := range []bool{false, true} {
		w := newWorld(t)
		rule := w.proxy.Apply(Rule{Match: Match{Verb: "patch"}, Hold: true, Late: late})
		ctx, die := context.WithCancel(context.Background())
		request, err := http.NewRequestWithContext(ctx, "PATCH", w.proxy.URL()+pod, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer token")
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			if response, err := w.client.Do(request); err == nil {
				_ = response.Body.Close()
				t.Error("a dead sender got an answer")
			}
		}()
		w.eventually(func() bool { return rule.Held() == 1 })
		die()
		<-gone
		if late {
			rule.Lift()
			w.eventually(func() bool { return w.commits.Load() == 1 })
		} else {
			w.eventually(func() bool { return rule.Held() == 0 })
			rule.Lift()
			if w.commits.Load() != 0 {
				t.Error("the request of a dead sender was committed")
			}
		}
	}
}

func event(kind, name string) string {
	return fmt.Sprintf(`{"type":%q,"object":{"metadata":{"name":%q}}}`, kind, name)
}

// watch opens a watch and returns its lines.
func (w *world) watch(path string) chan string {
	w.t.Helper()
	response, err := w.send("GET", path+"?watch=true")
	if err != nil {
		w.t.Fatal(err)
	}
	lines := make(chan string, 100)
	go func() {
		defer close(lines)
		defer response.Body.Close()
		read := bufio.NewScanner(response.Body)
		for read.Scan() {
			lines <- read.Text()
		}
	}()
	return lines
}

func (w *world) expect(lines chan string, kinds ...string) {
	w.t.Helper()
	for _, kind := range kinds {
		select {
		case line := <-lines:
			if !strings.Contains(line, kind) {
				w.t.Fatalf("%s in the place of %s", line, kind)
			}
		case <-time.After(10 * time.Second):
			w.t.Fatalf("no %s", kind)
		}
	}
}

func TestHeldWatch(t *testing.T) {
	w := newWorld(t)
	from := func(e Event) bool { return e.Type == "DELETED" }
	hold := w.proxy.HoldWatch(WatchRule{Match: Match{Resource: "pods"}, From: from})
	lines := w.watch("/api/v1/pods")
	w.events <- event("ADDED", "a")
	w.expect(lines, "ADDED")
	if hold.Begun() {
		t.Error("an event before the first was held")
	}
	w.events <- event("DELETED", "a")
	w.events <- event("BOOKMARK", "")
	w.eventually(hold.Begun)
	if len(lines) > 0 {
		t.Errorf("delivered: %s", <-lines)
	}
	hold.Lift()
	w.events <- event("ADDED", "b")
	w.expect(lines, "DELETED", "BOOKMARK", "ADDED")
}

func TestLaggingWatch(t *testing.T) {
	w := newWorld(t)
	w.proxy.HoldWatch(WatchRule{Lag: 50 * time.Millisecond})
	lines, begin := w.watch("/api/v1/pods"), time.Now()
	w.events <- event("ADDED", "a")
	w.events <- event("DELETED", "a")
	w.expect(lines, "ADDED", "DELETED")
	if passed := time.Since(begin); passed < 50*time.Millisecond {
		t.Errorf("after %v", passed)
	}
}

func TestWatchesEnd(t *testing.T) {
	for _, expire := range []bool{false, true} {
		w := newWorld(t)
		lines := w.watch("/api/v1/pods")
		w.events <- event("ADDED", "a")
		w.expect(lines, "ADDED")
		w.proxy.HoldWatch(WatchRule{Match: Match{Resource: "pods"}})
		w.events <- event("DELETED", "a")
		w.proxy.CutWatches(Match{Resource: "jobs"})
		if expire {
			w.proxy.ExpireWatches(Match{Resource: "pods"})
			w.expect(lines, `"code":410`)
		} else {
			w.proxy.CutWatches(Match{Resource: "pods"})
		}
		if line, open := <-lines; open {
			t.Errorf("after the end: %s", line)
		}
		w.eventually(func() bool { return len(w.proxy.open(Match{})) == 0 })
	}
}

func TestAttributes(t *testing.T) {
	for request, expected := range map[string]Request{
		"GET /api/v1/pods?watch=1":                       {Verb: "watch", Resource: "pods"},
		"GET /api/v1/namespaces/ns/pods":                 {Verb: "list", Resource: "pods", Namespace: "ns"},
		"GET /api/v1/namespaces/ns":                      {Verb: "get", Resource: "namespaces", Namespace: "ns", Name: "ns"},
		"PUT /api/v1/namespaces/ns/finalize":             {Verb: "update", Resource: "namespaces/finalize", Namespace: "ns", Name: "ns"},
		"PUT /apis/batch/v1/namespaces/ns/jobs/j/status": {Verb: "update", Group: "batch", Resource: "jobs/status", Namespace: "ns", Name: "j"},
		"DELETE /apis/batch/v1/namespaces/ns/jobs":       {Verb: "deletecollection", Group: "batch", Resource: "jobs", Namespace: "ns"},
		"POST /api/v1/namespaces/ns/pods/a/binding":      {Verb: "create", Resource: "pods/binding", Namespace: "ns", Name: "a"},
		"GET /healthz": {Verb: "get"},
		"GET /apis/batch/v1/namespaces/ns/jobs?watch=false":   {Verb: "list", Group: "batch", Resource: "jobs", Namespace: "ns"},
		"PATCH /api/v1/namespaces/ns/pods/a?fieldManager=kcm": {Verb: "patch", Resource: "pods", Namespace: "ns", Name: "a"},
	} {
		method, target, _ := strings.Cut(request, " ")
		if found := attributes(httptest.NewRequest(method, target, nil)); found != expected {
			t.Errorf("%s: %+v", request, found)
		}
	}
}
