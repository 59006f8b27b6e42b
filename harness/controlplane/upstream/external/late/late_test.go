package late

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// An event of a watch of Jobs comes late, and what else is asked for comes at once.
func TestEventsOfJobsComeLate(t *testing.T) {
	const lag = 200 * time.Millisecond
	begun := make(chan time.Time, 1)
	upstream := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") == "true" {
			begun <- time.Now()
		}
		fmt.Fprintln(w, r.URL.Path)
		w.(http.Flusher).Flush()
	}))
	defer upstream.Close()
	proxy, certificate, err := Start(upstream.URL, &tls.Config{RootCAs: pool(t, upstream.Certificate())}, lag)
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(certificate) {
		t.Fatal("no certificate")
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	line := func(path string) string {
		response, err := client.Get(proxy.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, err := bufio.NewReader(response.Body).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	if got := line("/apis/batch/v1/jobs?watch=true"); got != "/apis/batch/v1/jobs\n" {
		t.Errorf("the watch shows %q", got)
	}
	if waited := time.Since(<-begun); waited < lag {
		t.Errorf("the event came after %v, before %v have passed", waited, lag)
	}
	if got := line("/api/v1/pods"); got != "/api/v1/pods\n" {
		t.Errorf("the list is %q", got)
	}
}

func pool(t *testing.T, certificate *x509.Certificate) *x509.CertPool {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(certificate)
	return roots
}
