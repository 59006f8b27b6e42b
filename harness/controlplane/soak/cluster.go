package main

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"jobcheck/harness/controlplane/faultproxy"
)

// The actors: user name, group, and the user agent under which they appear in the audit log.
// Each has its own token; system:masters spares the RBAC roles.
var actors = map[string]string{ // user → user agent
	"admin":                          "conformance-user/1.0",
	"system:node:node-a":             "kubelet/v1.36.3",
	"system:kube-scheduler":          "kube-scheduler/v1.36.3",
	"mirror-controller":              "acme-mirror/v1",
	"system:kube-controller-manager": "", // the real one sends its own
}

const controllers = "job-controller,ttl-after-finished-controller,garbage-collector-controller," +
	"namespace-controller,pod-garbage-collector-controller"

// The controller manager's kubeconfig.
const ownKubeconfig = "kcm.kubeconfig"

// Everything about Jobs and Pods that changes something, refusals included.
//
//go:embed audit-policy.yaml
var auditPolicy []byte

// Cluster is one control plane: etcd, kube-apiserver, kube-controller-manager.
type Cluster struct {
	bin, dir, base string
	tokens         map[string]string
	clients        map[string]*Client
	qps            int
	flags          []string          // of the controller manager, besides those that it always gets
	accounts       bool              // each controller under a service account of its own, as on most clusters
	proxy          *faultproxy.Proxy // between the API server and the controller manager, once behindProxy was called

	start chan launch // processes are started from one locked thread, see launcher

	mu         sync.Mutex
	processes  []*process
	controller *process
	faults     []fault
}

// fault is something done to the controller manager, with its real time.
type fault struct {
	at   time.Time
	what string
}

type process struct {
	name string
	cmd  *exec.Cmd
	done chan struct{}
}

type launch struct {
	cmd    *exec.Cmd
	answer chan error
}

// launcher starts all children from one thread that lives as long as the driver: the kernel
// delivers Pdeathsig when that thread ends, so no server survives a driver that was killed.
func (c *Cluster) launcher() {
	runtime.LockOSThread()
	for request := range c.start {
		request.answer <- request.cmd.Start()
	}
}

func (c *Cluster) spawn(name string, args ...string) (*process, error) {
	log, err := os.OpenFile(filepath.Join(c.dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(c.bin, append([]string{name}, args...)...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	answer := make(chan error)
	c.start <- launch{cmd, answer}
	if err := <-answer; err != nil {
		return nil, err
	}
	started := &process{name, cmd, make(chan struct{})}
	go func() {
		cmd.Wait()
		close(started.done)
	}()
	c.mu.Lock()
	c.processes = append(c.processes, started)
	c.mu.Unlock()
	return started, nil
}

func (p *process) stop(signal syscall.Signal) {
	p.cmd.Process.Signal(signal)
	select {
	case <-p.done:
	case <-time.After(15 * time.Second):
		p.cmd.Process.Kill()
		<-p.done
	}
}

func freePort() int {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

func randomToken() string {
	raw := make([]byte, 16)
	rand.Read(raw)
	return hex.EncodeToString(raw)
}

func serviceAccountKey() []byte {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
}

func (c *Cluster) file(name string, content []byte) string {
	path := filepath.Join(c.dir, name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		panic(err)
	}
	return path
}

func (c *Cluster) auditLog() string { return filepath.Join(c.dir, "audit.log") }

// up starts the three programs in the directory dir and waits until they are ready.
func up(bin, dir string, qps int, accounts bool) (*Cluster, error) {
	c := &Cluster{bin: bin, dir: dir, qps: qps, accounts: accounts, tokens: map[string]string{}, clients: map[string]*Client{}, start: make(chan launch)}
	go c.launcher()

	client, peer, secure := freePort(), freePort(), freePort()
	etcd := fmt.Sprintf("http://127.0.0.1:%d", client)
	peers := fmt.Sprintf("http://127.0.0.1:%d", peer)
	if _, err := c.spawn("etcd", "--data-dir", filepath.Join(dir, "etcd"), "--unsafe-no-fsync", "--log-level=warn",
		"--listen-client-urls", etcd, "--advertise-client-urls", etcd, "--listen-peer-urls", peers,
		"--initial-advertise-peer-urls", peers, "--initial-cluster", "default="+peers); err != nil {
		return c, err
	}

	c.base = fmt.Sprintf("https://127.0.0.1:%d", secure)
	var tokens []byte
	for user, agent := range actors {
		token := randomToken()
		c.tokens[user] = token
		c.clients[user] = newClient(c.base, token, agent)
		tokens = fmt.Appendf(tokens, "%s,%s,uid-%s,system:masters\n", token, user, user)
	}
	key := c.file("sa.key", serviceAccountKey())
	if _, err := c.spawn("kube-apiserver", "--etcd-servers", etcd, "--bind-address=127.0.0.1", "--secure-port", strconv.Itoa(secure),
		"--cert-dir", filepath.Join(dir, "certs"), "--token-auth-file", c.file("tokens.csv", tokens),
		"--authorization-mode=RBAC", "--disable-admission-plugins=ServiceAccount",
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file", key,
		"--service-account-signing-key-file", key, "--service-cluster-ip-range=10.0.0.0/24",
		"--audit-policy-file", c.file("audit.yaml", auditPolicy), "--audit-log-path", c.auditLog(),
		"--audit-log-maxsize=100000"); err != nil {
		return c, err
	}
	if err := c.waitReady(c.base + "/readyz"); err != nil {
		return c, err
	}

	c.writeKubeconfig(ownKubeconfig, c.base, "insecure-skip-tls-verify: true")
	c.clients["admin"].must("POST", "/api/v1/nodes", jsonBody, Object{"metadata": Object{"name": nodeName}})
	return c, c.startController()
}

// writeKubeconfig says where the controller manager finds the API server when it starts the next time.
func (c *Cluster) writeKubeconfig(file, server, trust string) {
	kubeconfig := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %q, %s}}]
users: [{name: u, user: {token: %s}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`, server, trust, c.tokens["system:kube-controller-manager"])
	c.file(file, []byte(kubeconfig))
}

// behindProxy starts the controller manager again, with the fault proxy between it and the API server.
func (c *Cluster) behindProxy() error {
	c.killController()
	proxy, err := c.newProxy(ownKubeconfig)
	if err != nil {
		return err
	}
	c.proxy = proxy
	return c.startController()
}

// newProxy starts a fault proxy and writes a kubeconfig that points at it.
func (c *Cluster) newProxy(kubeconfig string) (*faultproxy.Proxy, error) {
	authority, err := os.ReadFile(filepath.Join(c.dir, "certs", "apiserver.crt"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	proxy, err := faultproxy.Start(c.base, roots)
	if err != nil {
		return nil, err
	}
	c.writeKubeconfig(kubeconfig, proxy.URL(), "certificate-authority-data: "+base64.StdEncoding.EncodeToString(proxy.Certificate()))
	return proxy, nil
}

// startSecond starts another controller manager beside the first, behind a fault proxy of its own, and returns what
// ends both.
func (c *Cluster) startSecond() (*faultproxy.Proxy, func(), error) {
	proxy, err := c.newProxy("second.kubeconfig")
	if err != nil {
		return nil, nil, err
	}
	second, err := c.spawnController("second.kubeconfig")
	if err != nil {
		return nil, nil, err
	}
	c.mu.Lock()
	c.note("a second one starts")
	c.mu.Unlock()
	return proxy, func() {
		second.stop(syscall.SIGKILL)
		_ = proxy.Close()
	}, nil
}

func (c *Cluster) waitReady(url string) error {
	for end := time.Now().Add(90 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		response, err := c.clients["admin"].request("GET", url[len(c.base):], "", nil)
		if err == nil {
			response.Body.Close()
			if response.StatusCode == 200 {
				return nil
			}
		}
	}
	return fmt.Errorf("not ready: %s (see the logs in %s)", url, c.dir)
}

func (c *Cluster) note(what string) {
	c.faults = append(c.faults, fault{time.Now(), what})
}

func (c *Cluster) spawnController(kubeconfig string) (*process, error) {
	return c.spawn("kube-controller-manager", append([]string{"--kubeconfig", filepath.Join(c.dir, kubeconfig),
		"--controllers", controllers, "--leader-elect=false", "--bind-address=127.0.0.1",
		"--secure-port", strconv.Itoa(freePort()), "--cert-dir", filepath.Join(c.dir, "kcm-certs"),
		"--use-service-account-credentials=" + strconv.FormatBool(c.accounts),
		"--kube-api-qps", strconv.Itoa(c.qps), "--kube-api-burst", strconv.Itoa(c.qps * 3 / 2)}, c.flags...)...)
}

func (c *Cluster) startController() error {
	started, err := c.spawnController(ownKubeconfig)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.controller = started
	c.note("start")
	return err
}

// killController is kill -9: nothing is finished, no goodbye.
func (c *Cluster) killController() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.note("kill")
	c.controller.cmd.Process.Signal(syscall.SIGKILL)
	<-c.controller.done
}

// pauseController stops the process (SIGSTOP) and lets it go on with what it remembers.
func (c *Cluster) pauseController(length time.Duration) {
	c.mu.Lock()
	c.note(fmt.Sprintf("pause %.1fs", length.Seconds()))
	victim := c.controller.cmd.Process
	c.mu.Unlock()
	victim.Signal(syscall.SIGSTOP)
	time.Sleep(length)
	victim.Signal(syscall.SIGCONT)
}

func (c *Cluster) faultsBetween(from, to time.Time) []fault {
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []fault
	for _, f := range c.faults {
		if f.at.After(from) && f.at.Before(to) {
			found = append(found, f)
		}
	}
	return found
}

// down stops everything in the order controller manager, API server, etcd and waits for the exits.
func (c *Cluster) down() {
	c.mu.Lock()
	all := c.processes
	c.mu.Unlock()
	if c.proxy != nil {
		_ = c.proxy.Close() // everything behind it is stopped
	}
	for i := len(all) - 1; i >= 0; i-- {
		select {
		case <-all[i].done:
		default:
			signal := syscall.SIGTERM
			if all[i].name != "kube-apiserver" {
				signal = syscall.SIGKILL
			}
			all[i].stop(signal)
		}
	}
}
