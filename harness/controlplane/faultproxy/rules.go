package faultproxy

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"
)

// Outcome is what becomes of a request.
type Outcome int

// The outcomes. "After" is after the API server has answered, so that a write is committed and
// its sender does not know it.
const (
	Forward     Outcome = iota // the API server's own answer
	RefuseFirst                // Rule.Code, and the API server never sees the request
	RefuseAfter                // Rule.Code in the place of the API server's answer
	CutFirst                   // no answer, and the API server never sees the request
	CutAfter                   // no answer
)

// Rule is a fault for some requests. Of several rules that fit, the first that was added applies.
type Rule struct {
	Match   Match
	Skip    int           // so many requests that fit pass unharmed before the first fault
	Times   int           // so many requests get the fault, then no more; 0 is no bound
	Hold    bool          // the request waits in the proxy until the rule is lifted
	Delay   time.Duration // the request waits in the proxy for so long
	Late    bool          // the request reaches the API server even if its sender is gone by then
	Outcome Outcome
	Code    int // the HTTP status of a refusal
}

// Applied is a rule in force.
type Applied struct {
	rule   Rule
	proxy  *Proxy
	lifted chan struct{}
	lift   sync.Once

	// Guarded by proxy.mu.
	fits, hits, held int
}

// Apply puts a rule into force.
func (p *Proxy) Apply(rule Rule) *Applied {
	applied := &Applied{rule: rule, proxy: p, lifted: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = append(p.rules, applied)
	return applied
}

// Lift ends the rule. Requests that it holds go on to their outcome.
func (a *Applied) Lift() {
	a.lift.Do(func() {
		a.proxy.mu.Lock()
		defer a.proxy.mu.Unlock()
		for i, other := range a.proxy.rules {
			if other == a {
				a.proxy.rules = append(a.proxy.rules[:i:i], a.proxy.rules[i+1:]...)
				break
			}
		}
		close(a.lifted)
	})
}

// Hits is the number of requests that got the fault so far, those that are held included.
func (a *Applied) Hits() int {
	a.proxy.mu.Lock()
	defer a.proxy.mu.Unlock()
	return a.hits
}

// Held is the number of requests that wait in the proxy now.
func (a *Applied) Held() int {
	a.proxy.mu.Lock()
	defer a.proxy.mu.Unlock()
	return a.held
}

// ruleFor counts the request where a rule fits, and returns the rule if the request gets its fault.
func (p *Proxy) ruleFor(request Request) *Applied {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, applied := range p.rules {
		rule := applied.rule
		if !rule.Match.Fits(request) || (rule.Times > 0 && applied.hits >= rule.Times) {
			continue
		}
		applied.fits++
		if applied.fits > rule.Skip {
			applied.hits++
			return applied
		}
	}
	return nil
}

// wait keeps the request for as long as its rule says; false if its sender has gone.
func (a *Applied) wait(ctx context.Context) bool {
	a.count(1)
	defer a.count(-1)
	if a.rule.Delay > 0 {
		timer := time.NewTimer(a.rule.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return false
		}
	}
	if a.rule.Hold {
		select {
		case <-a.lifted:
		case <-ctx.Done():
			return false
		}
	}
	return ctx.Err() == nil
}

func (a *Applied) count(by int) {
	a.proxy.mu.Lock()
	defer a.proxy.mu.Unlock()
	a.held += by
}

// reasons are those of k8s.io/apimachinery's StatusReason; clients decide by them, not by the code.
var reasons = map[int]string{
	400: "BadRequest", 401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 409: "Conflict", 410: "Expired",
	422: "Invalid", 429: "TooManyRequests", 500: "InternalError", 503: "ServiceUnavailable", 504: "Timeout",
}

// statusBody is a metav1.Status with the code.
func statusBody(code int) []byte {
	body, err := json.Marshal(map[string]any{
		"kind": "Status", "apiVersion": "v1", "metadata": map[string]any{}, "status": "Failure",
		"message": "answered by the fault proxy", "reason": reasons[code], "code": code,
	})
	if err != nil {
		panic(err) // strings and numbers have a JSON form
	}
	return body
}

func refuse(w http.ResponseWriter, code int) {
	w.Header().Set("Content-Type", "application/json")
	if code == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(code)
	_, _ = w.Write(statusBody(code)) // a sender that has gone needs no answer
}
