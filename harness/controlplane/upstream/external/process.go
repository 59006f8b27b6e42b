package external

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// The environment that the runner sets.
const (
	programVariable = "JOBCHECK"               // the program
	logsVariable    = "JOBCHECK_UPSTREAM_LOGS" // a directory for the logs and traces of the processes; none are kept without
)

// A process that does not say by then where it listens, or is not ready by then, does not work.
const patience = 30 * time.Second

// process is one `jobcheck controller`.
type process struct {
	command *exec.Cmd
	address string // of /metrics and /readyz
	killed  atomic.Bool
	ended   chan struct{} // closed when it is gone
	last    samples       // what was last read from /metrics
}

var started atomic.Int64

// launch starts a process and waits until its caches are filled.
func launch(tb testing.TB, arguments []string) (*process, error) {
	program := os.Getenv(programVariable)
	if program == "" {
		return nil, fmt.Errorf("%s does not name the program: run the tests with `go run ./upstream`", programVariable)
	}
	arguments = append(arguments, "--metrics-bind-address=127.0.0.1:0", "--log-format=json")
	log := io.WriteCloser(discard{io.Discard})
	if kept := nextFile(tb.Name()); kept != "" {
		file, err := os.Create(kept + ".log")
		if err != nil {
			return nil, err
		}
		log, arguments = file, append(arguments, "--trace="+kept+".jsonl")
	}
	command := exec.Command(program, arguments...)
	stderr, err := command.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	p := &process{command: command, ended: make(chan struct{}), last: samples{}}
	addresses := make(chan string, 1)
	go p.follow(tb, stderr, log, addresses)
	if err := p.waitReady(addresses); err != nil {
		p.kill()
		return nil, err
	}
	return p, nil
}

// nextFile is a name, but for its ending, for what a process of this test writes; "" if nothing is kept.
func nextFile(test string) string {
	directory := os.Getenv(logsVariable)
	if directory == "" {
		return ""
	}
	name, of, _ := strings.Cut(test, "/")
	plain := strings.Map(func(r rune) rune {
		if strings.ContainsRune("/\\ :;,'\"()@", r) {
			return '_'
		}
		return r
	}, of)
	return filepath.Join(directory, fmt.Sprintf("%s@%d-%.120s", name, started.Add(1), plain))
}

type discard struct{ io.Writer }

func (discard) Close() error { return nil }

// follow reads the log until the process ends; nobody but a test ends it.
func (p *process) follow(tb testing.TB, stderr io.Reader, log io.WriteCloser, addresses chan<- string) {
	defer close(p.ended)
	lines := bufio.NewReader(stderr)
	var last string
	for {
		line, err := lines.ReadString('\n')
		_, _ = io.WriteString(log, line) // a log that cannot be written fails no test
		if address := listens(line); address != "" {
			addresses <- address
		}
		if err != nil {
			break
		}
		last = line
	}
	_ = log.Close()
	err := p.command.Wait()
	if !p.killed.Load() {
		tb.Errorf("the Job controller ended by itself: %v; its last words: %s", err, last)
	}
}

// listens finds the address in the one line of the log that tells it.
func listens(line string) string {
	var entry struct {
		Fields struct {
			Message string `json:"message"`
			Address string `json:"address"`
		} `json:"fields"`
	}
	if json.Unmarshal([]byte(line), &entry) != nil || !strings.HasPrefix(entry.Fields.Message, "serving /metrics") {
		return ""
	}
	return entry.Fields.Address
}

func (p *process) waitReady(addresses <-chan string) error {
	deadline := time.After(patience)
	select {
	case p.address = <-addresses:
	case <-p.ended:
		return errors.New("the process ended at once")
	case <-deadline:
		return errors.New("the process does not say where it serves /metrics")
	}
	for {
		body, code, err := p.get("/readyz")
		if err != nil {
			return err
		}
		if code == http.StatusOK {
			return nil
		}
		select {
		case <-p.ended:
			return errors.New("the process ended before it was ready")
		case <-deadline:
			return errors.New(strings.TrimSpace(body))
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// kill ends the process by SIGKILL and returns its metrics as they were just before.
func (p *process) kill() samples {
	if p.address != "" {
		p.scrape()
	}
	p.killed.Store(true)
	_ = p.command.Process.Kill() // it may be gone already
	<-p.ended
	return p.last
}

// No connection is kept: the tests look for goroutines that are left.
var client = http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

func (p *process) get(path string) (body string, code int, err error) {
	response, err := client.Get("http://" + p.address + path)
	if err != nil {
		return "", 0, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return string(text), response.StatusCode, err
}

// writeKubeconfig leads to the API server of the test as the test's own client.
func writeKubeconfig(path string, config *restclient.Config) error {
	file := clientcmdapi.NewConfig()
	file.Clusters["test"] = &clientcmdapi.Cluster{
		Server:                   config.Host,
		CertificateAuthorityData: config.CAData,
		TLSServerName:            config.ServerName,
		InsecureSkipTLSVerify:    config.Insecure,
	}
	file.AuthInfos["test"] = &clientcmdapi.AuthInfo{Token: config.BearerToken}
	file.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
	file.CurrentContext = "test"
	return clientcmd.WriteToFile(*file, path)
}
