package faultproxy

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"sync"
	"time"
)

// Event is one event of a watch.
type Event struct {
	Type   string // ADDED, MODIFIED, DELETED, BOOKMARK, ERROR
	Object map[string]any
}

// WatchRule keeps events of watches back. The order within a watch stays, and bookmarks wait like
// the rest, so that a client is never told of a version whose events it lacks.
type WatchRule struct {
	Match Match            // of the watch's request; the verb does not matter
	From  func(Event) bool // the first event of each watch that stays back, with all after it; nil: the next
	Lag   time.Duration    // not 0: nothing is held, but each event arrives so much later
}

// WatchHold is a WatchRule in force.
type WatchHold struct {
	rule  WatchRule
	proxy *Proxy

	// Guarded by proxy.mu.
	begun map[*stream]bool
}

// stream is one watch: what the API server sends is taken at once and waits here for its delivery.
type stream struct {
	request  Request
	proxy    *Proxy
	upstream io.ReadCloser
	out      *io.PipeReader
	into     *io.PipeWriter
	ended    chan struct{} // closed when nobody reads any more
	end      sync.Once
	expire   sync.Once
	expired  chan struct{} // closed when its history is gone
	arrived  chan struct{} // has an element where the queue has grown or is complete

	mu       sync.Mutex
	queue    []arrival
	complete error // why there will be no more events
}

type arrival struct {
	line []byte
	at   time.Time
}

// HoldWatch puts the rule into force for watches that are open and for those that follow.
func (p *Proxy) HoldWatch(rule WatchRule) *WatchHold {
	hold := &WatchHold{rule: rule, proxy: p, begun: map[*stream]bool{}}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.holds = append(p.holds, hold)
	return hold
}

// Lift delivers what was held, in its order, and ends the rule.
func (h *WatchHold) Lift() {
	p := h.proxy
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, other := range p.holds {
		if other == h {
			p.holds = append(p.holds[:i:i], p.holds[i+1:]...)
			close(p.changed)
			p.changed = make(chan struct{})
			return
		}
	}
}

// Begun says whether an event stays back.
func (h *WatchHold) Begun() bool {
	h.proxy.mu.Lock()
	defer h.proxy.mu.Unlock()
	return len(h.begun) > 0
}

// CutWatches breaks the connections of the watches that fit.
func (p *Proxy) CutWatches(match Match) {
	for _, open := range p.open(match) {
		_ = open.into.CloseWithError(errCut)
	}
}

// ExpireWatches ends the watches that fit as an API server does whose history is compacted: 410.
// What is still held of them is never delivered.
func (p *Proxy) ExpireWatches(match Match) {
	for _, open := range p.open(match) {
		line := append(append([]byte(`{"type":"ERROR","object":`), statusBody(410)...), "}\n"...)
		open.expire.Do(func() {
			open.mu.Lock()
			open.queue, open.complete = []arrival{{line, time.Now()}}, io.EOF
			open.mu.Unlock()
			close(open.expired)
			open.wake()
		})
	}
}

func (p *Proxy) open(match Match) []*stream {
	match.Verb = ""
	p.mu.Lock()
	defer p.mu.Unlock()
	var found []*stream
	for open := range p.streams {
		if match.Fits(open.request) {
			found = append(found, open)
		}
	}
	return found
}

func (p *Proxy) newStream(ctx context.Context, request Request, upstream io.ReadCloser) io.ReadCloser {
	s := &stream{request: request, proxy: p, upstream: upstream, ended: make(chan struct{}), expired: make(chan struct{}), arrived: make(chan struct{}, 1)}
	s.out, s.into = io.Pipe()
	p.mu.Lock()
	p.streams[s] = struct{}{}
	p.mu.Unlock()
	context.AfterFunc(ctx, func() { _ = s.Close() })
	go s.take()
	go s.deliver()
	return s
}

func (s *stream) Read(into []byte) (int, error) { return s.out.Read(into) }

// Close is called when the client has gone, or everything was delivered.
func (s *stream) Close() error {
	s.end.Do(func() {
		close(s.ended)
		_ = s.out.Close()
		s.proxy.mu.Lock()
		defer s.proxy.mu.Unlock()
		delete(s.proxy.streams, s)
		for _, hold := range s.proxy.holds {
			delete(hold.begun, s)
		}
	})
	return s.upstream.Close()
}

// take reads without pause: an API server gives up a watch whose reader is slow.
func (s *stream) take() {
	lines := bufio.NewReader(s.upstream)
	for {
		line, err := lines.ReadBytes('\n')
		s.mu.Lock()
		if s.complete == nil && err == nil {
			s.queue = append(s.queue, arrival{line, time.Now()})
		} else if s.complete == nil {
			s.complete = err
		}
		s.mu.Unlock()
		s.wake()
		if err != nil {
			return
		}
	}
}

// wake tells whoever delivers that there is something new.
func (s *stream) wake() {
	select {
	case s.arrived <- struct{}{}:
	default:
	}
}

func (s *stream) deliver() {
	for {
		next, err := s.next()
		if err == nil && !s.stay(next) {
			return
		}
		if err == nil && s.drop(next) {
			_, err = s.into.Write(next.line)
		}
		if err != nil {
			_ = s.into.CloseWithError(err)
			return
		}
	}
}

// next waits for the oldest event that was not delivered; it stays in the queue.
func (s *stream) next() (arrival, error) {
	for {
		s.mu.Lock()
		queue, complete := s.queue, s.complete
		s.mu.Unlock()
		if len(queue) > 0 {
			return queue[0], nil
		}
		if complete != nil {
			return arrival{}, complete
		}
		select {
		case <-s.arrived:
		case <-s.ended:
			return arrival{}, io.ErrClosedPipe
		}
	}
}

// drop takes the event out of the queue; false if the watch was expired meanwhile.
func (s *stream) drop(event arrival) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 || &s.queue[0].line[0] != &event.line[0] {
		return false
	}
	s.queue = s.queue[1:]
	return true
}

// stay waits until no rule keeps the event back; false if nobody reads any more.
func (s *stream) stay(event arrival) bool {
	for {
		select {
		case <-s.expired: // what is held is not delivered, and the 410 is not held
			return true
		default:
		}
		until, changed := s.proxy.keeps(s, event)
		if until == nil {
			return true
		}
		wait, stop := timer(*until)
		select {
		case <-changed:
		case <-wait:
		case <-s.expired:
		case <-s.ended:
			stop()
			return false
		}
		stop()
	}
}

// timer never fires for the zero time.
func timer(until time.Time) (<-chan time.Time, func() bool) {
	if until.IsZero() {
		return nil, func() bool { return true }
	}
	t := time.NewTimer(time.Until(until))
	return t.C, t.Stop
}

// keeps is nil if the event can be delivered, else until when it stays back; the zero time is until a rule changes.
func (p *Proxy) keeps(s *stream, event arrival) (*time.Time, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var latest *time.Time
	for _, hold := range p.holds {
		match := hold.rule.Match
		match.Verb = ""
		if !match.Fits(s.request) {
			continue
		}
		if hold.rule.Lag > 0 {
			due := event.at.Add(hold.rule.Lag)
			if time.Now().Before(due) && (latest == nil || due.After(*latest)) {
				latest = &due
			}
			continue
		}
		if hold.begun[s] || hold.rule.From == nil || hold.rule.From(parse(event.line)) {
			hold.begun[s] = true
			return &time.Time{}, p.changed
		}
	}
	return latest, p.changed
}

func parse(line []byte) Event {
	var event Event
	_ = json.Unmarshal(line, &event) // what is no event has no type, and no rule knows it
	return event
}
