// Package late is a proxy that delivers the events of a watch of Jobs late.
package late

import (
	"bufio"
	"crypto/tls"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"
)

// Start starts a proxy before the API server at target that delivers each event of a watch of Jobs late by lag. What
// else passes is as the API server has it. It returns the proxy and its certificate, as PEM.
func Start(target string, config *tls.Config, lag time.Duration) (*httptest.Server, []byte, error) {
	upstream, err := url.Parse(target)
	if err != nil {
		return nil, nil, err
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(request *httputil.ProxyRequest) { request.SetURL(upstream) },
		Transport:     &http.Transport{TLSClientConfig: config},
		FlushInterval: -1,
		ModifyResponse: func(response *http.Response) error {
			if isJobWatch(response.Request) {
				response.Body = lateLines(response.Body, lag)
			}
			return nil
		},
	}
	server := httptest.NewTLSServer(proxy)
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return server, certificate, nil
}

func isJobWatch(request *http.Request) bool {
	watch := request.URL.Query().Get("watch")
	return strings.HasSuffix(request.URL.Path, "/jobs") && (watch == "1" || watch == "true")
}

// event is a line, and when it came.
type event struct {
	line []byte
	at   time.Time
}

// lateLines reads lines as soon as they come, so that the API server never waits, and shows each after lag.
func lateLines(body io.ReadCloser, lag time.Duration) io.ReadCloser {
	lines := make(chan event, 1024)
	go func() {
		defer close(lines)
		reader := bufio.NewReader(body)
		for {
			line, err := reader.ReadBytes('\n')
			lines <- event{line, time.Now()}
			if err != nil {
				return
			}
		}
	}()
	reader, writer := io.Pipe()
	go func() {
		defer writer.Close()
		for next := range lines {
			time.Sleep(time.Until(next.at.Add(lag)))
			if _, err := writer.Write(next.line); err != nil {
				body.Close()
				for range lines { // the reader of the body ends, and is not kept waiting
				}
				return
			}
		}
	}()
	return reader
}
