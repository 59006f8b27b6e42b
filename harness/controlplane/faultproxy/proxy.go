// Package faultproxy stands between an API server and a controller, speaks TLS with both, and
// makes what goes wrong on real clusters happen when a test wants it: requests that wait, are
// refused or lose their answer, before or after they were committed, and watches that lag, stand
// still, break or expire. The controller needs a kubeconfig that points at the proxy and that
// authenticates by token; nothing in it is changed.
//
// Where no rule applies, requests and answers pass as they are, except that watches are asked for
// in JSON, which the proxy can tell apart into events. A LIST is a request, not a watch: it shows
// what etcd holds even while watches of the same resource stand still.
package faultproxy

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Proxy listens on 127.0.0.1. Its methods may be called from any goroutine.
type Proxy struct {
	server      *http.Server
	transport   *http.Transport
	listener    net.Listener
	certificate []byte

	mu      sync.Mutex
	rules   []*Applied
	holds   []*WatchHold
	streams map[*stream]struct{}
	changed chan struct{} // closed and replaced when a hold is lifted
}

type ruleKey struct{}

var errCut = errors.New("the fault proxy cuts the connection")

// Start makes a proxy of the API server at that address, whose certificate has to be signed by one of the roots.
func Start(upstream string, roots *x509.CertPool) (*Proxy, error) {
	return StartTLS(upstream, &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12})
}

// StartTLS is Start for an API server that is reached with this configuration, such as one with a server name of its own.
func StartTLS(upstream string, config *tls.Config) (*Proxy, error) {
	target, err := url.Parse(upstream)
	if err != nil {
		return nil, err
	}
	key, certificate, err := selfSigned()
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: listener, certificate: certificate, streams: map[*stream]struct{}{}, changed: make(chan struct{})}
	p.transport = &http.Transport{
		TLSClientConfig: config, ForceAttemptHTTP2: true,
		DisableCompression: true, MaxIdleConnsPerHost: 100,
	}
	quiet := log.New(io.Discard, "", 0) // what a client sees of a fault is no trouble of the proxy's
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header["User-Agent"] = r.In.Header["User-Agent"]
		},
		Transport: p.transport, ModifyResponse: p.answered, ErrorHandler: failed, FlushInterval: -1, ErrorLog: quiet,
	}
	p.server = &http.Server{
		Handler: p.handler(forward), ErrorLog: quiet, ReadHeaderTimeout: time.Minute,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{key}, MinVersion: tls.VersionTLS12},
	}
	go func() { _ = p.server.ServeTLS(listener, "", "") }() // ends with Close
	return p, nil
}

// URL is where clients find the proxy.
func (p *Proxy) URL() string { return "https://" + p.listener.Addr().String() }

// Certificate is the proxy's own, in PEM; clients trust it as their authority.
func (p *Proxy) Certificate() []byte { return bytes.Clone(p.certificate) }

// Close ends all requests and watches.
func (p *Proxy) Close() error {
	err := p.server.Close()
	p.transport.CloseIdleConnections()
	return err
}

func (p *Proxy) handler(forward http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request := attributes(r)
		if request.Verb == "watch" && !asksForJSON(r.Header) {
			refuse(w, http.StatusNotAcceptable)
			return
		}
		applied := p.ruleFor(request)
		if applied != nil && applied.rule.Late {
			// All of it is here before its sender can go.
			body, err := io.ReadAll(r.Body)
			if err != nil {
				panic(http.ErrAbortHandler)
			}
			// One that can be cancelled: else ReverseProxy asks the connection whether it is closed.
			ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
			defer cancel()
			r = r.WithContext(ctx)
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		if applied != nil {
			if !applied.wait(r.Context()) {
				panic(http.ErrAbortHandler)
			}
			switch applied.rule.Outcome {
			case RefuseFirst:
				refuse(w, applied.rule.Code)
				return
			case CutFirst:
				panic(http.ErrAbortHandler)
			}
		}
		ctx := context.WithValue(r.Context(), ruleKey{}, exchange{request, applied})
		forward.ServeHTTP(w, r.WithContext(ctx))
	})
}

// exchange is what ModifyResponse has to know of the request.
type exchange struct {
	request Request
	applied *Applied
}

// answered is called with the API server's answer; a write is committed by then.
func (p *Proxy) answered(response *http.Response) error {
	of, known := response.Request.Context().Value(ruleKey{}).(exchange)
	if !known {
		return nil
	}
	if of.applied != nil {
		switch rule := of.applied.rule; rule.Outcome {
		case CutAfter:
			return errCut
		case RefuseAfter:
			replace(response, rule.Code)
			return nil
		}
	}
	if of.request.Verb == "watch" && response.StatusCode == http.StatusOK {
		response.Body = p.newStream(response.Request.Context(), of.request, response.Body)
	}
	return nil
}

func replace(response *http.Response, code int) {
	_ = response.Body.Close()
	body := statusBody(code)
	response.StatusCode, response.Status = code, http.StatusText(code)
	response.Header = http.Header{"Content-Type": {"application/json"}, "Content-Length": {strconv.Itoa(len(body))}}
	response.ContentLength, response.Body = int64(len(body)), io.NopCloser(bytes.NewReader(body))
}

// failed tells a client that the API server is away as an API server would; a cut is silent.
func failed(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, errCut) || r.Context().Err() != nil {
		panic(http.ErrAbortHandler)
	}
	refuse(w, http.StatusServiceUnavailable)
}

// asksForJSON leaves only JSON among what the client accepts; false if nothing is left.
func asksForJSON(header http.Header) bool {
	accepted := strings.Join(header.Values("Accept"), ",")
	var left []string
	for _, media := range strings.Split(accepted, ",") {
		kind, _, _ := strings.Cut(strings.TrimSpace(media), ";")
		if kind == "application/json" || kind == "*/*" || kind == "" {
			left = append(left, strings.TrimSpace(media))
		}
	}
	header.Set("Accept", strings.Join(left, ","))
	header.Del("Accept-Encoding")
	return len(left) > 0
}

func selfSigned() (tls.Certificate, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "fault proxy"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(10 * 365 * 24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true, DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, text, nil
}
