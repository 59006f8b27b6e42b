"""up.py STATE: one control plane for a manager and two for workers, a Kueue on each, and MultiKueue between them.

up.py STATE restart: kills the manager's Kueue, and starts it again.
up.py STATE cut|mend: takes the network between the manager and its workers away, or gives it back. Kueue has noticed then.

Needs jobcheck ($JOBCHECK), kubectl, openssl, PyYAML, and what `run STATE build` has made. The processes are in STATE/pids.
"""
import base64
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request

import yaml

STATE = pathlib.Path(sys.argv[1]).resolve()
HERE = pathlib.Path(__file__).resolve().parent
JOBCHECK = os.environ.get("JOBCHECK", "jobcheck")
MANAGER, WORKERS = "mk-manager", ["mk-a", "mk-b"]
ZONE = "kueue-system"
SERVICE = f"kueue-webhook-service.{ZONE}.svc"
# The webhooks of the only integration that is on.
JOB_WEBHOOKS = {"/mutate-batch-v1-job", "/validate-batch-v1-job"}
API = "kueue.x-k8s.io/v1beta2"


def sh(*command, stdin=None, **more):
    done = subprocess.run(command, input=stdin, text=True, capture_output=True, **more)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def note_process(name, process):
    (STATE / "pids").mkdir(exist_ok=True)
    (STATE / "pids" / name).write_text(str(process.pid))


class Cluster:
    def __init__(self, name):
        self.name, self.folder = name, STATE / name
        self.folder.mkdir(parents=True, exist_ok=True)
        sh(JOBCHECK, "cluster", "up", "--with", "built-in", "--name", name)
        env = sh(JOBCHECK, "cluster", "env", "--name", name)
        self.kubeconfig = env.split("KUBECONFIG=", 1)[1].strip().strip("'\"")

    def kubectl(self, *arguments, stdin=None):
        return sh("kubectl", "--kubeconfig", self.kubeconfig, *arguments, stdin=stdin)

    def apply(self, *objects):
        objects = yaml.safe_dump_all(objects)
        self.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=objects)

    def config_of(self, account, server=None):
        """The kubeconfig of a service account, so that an audit log tells the parties apart."""
        with open(self.kubeconfig) as file:
            config = yaml.safe_load(file)
        token = self.kubectl("create", "token", account, "-n", ZONE, "--duration", "24h").strip()
        config["users"] = [{"name": account, "user": {"token": token}}]
        config["contexts"][0]["context"]["user"] = account
        if server:
            config["clusters"][0]["cluster"]["server"] = server
        return yaml.safe_dump(config)

    def link(self):
        """The address of a process in between, which can be stopped."""
        with open(self.kubeconfig) as file:
            server = yaml.safe_load(file)["clusters"][0]["cluster"]["server"]
        near, far = free_port(), urllib.parse.urlparse(server).port
        (self.folder / "link.ports").write_text(f"{near} {far}")
        mend(self.name)
        return f"https://127.0.0.1:{near}"


def mend(name):
    """Starts the link to a worker."""
    command = [sys.executable, HERE / "link.py", *(STATE / name / "link.ports").read_text().split()]
    null = subprocess.DEVNULL
    note_process(f"{name}.link", subprocess.Popen(command, stdout=null, stderr=null, start_new_session=True))


def cut(name):
    """Ends the link to a worker."""
    end(int((STATE / "pids" / f"{name}.link").read_text()))


def await_workers(are_there):
    """Waits until the manager's Kueue knows that its workers are there, or that they are away."""
    def is_active(it):
        return any(c["type"] == "Active" and c["status"] == "True" for c in it.get("status", {}).get("conditions", []))

    config = STATE / "home" / "clusters" / MANAGER / "kubeconfig"
    for _ in range(240):
        all_of_them = json.loads(sh("kubectl", "--kubeconfig", str(config), "get", "multikueuecluster", "-o", "json"))
        if all(is_active(it) == are_there for it in all_of_them["items"]):
            return
        time.sleep(0.5)
    raise SystemExit(f"after two minutes, Kueue does not know whether its workers are there: {are_there}")


def free_port():
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]


def certificates(folder):
    """What Kueue's certificate rotator takes for its own and does not renew, and that is valid for 127.0.0.1, too."""
    at = folder / "certs"
    at.mkdir(exist_ok=True)
    new = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "3650"]
    sh(*new, "-keyout", "ca.key", "-out", "ca.crt", "-subj", "/O=kueue/CN=kueue-ca",
       "-addext", "subjectAltName=DNS:kueue-ca", "-addext", "basicConstraints=critical,CA:true",
       "-addext", "keyUsage=critical,digitalSignature,keyCertSign,keyEncipherment", cwd=at)
    sh(*new, "-keyout", "tls.key", "-out", "tls.crt", "-CA", "ca.crt", "-CAkey", "ca.key", "-subj", f"/CN={SERVICE}",
       "-addext", f"subjectAltName=DNS:{SERVICE},IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:false",
       "-addext", "keyUsage=digitalSignature,keyEncipherment", "-addext", "extendedKeyUsage=serverAuth", cwd=at)
    # The rotator reads PKCS #1 alone.
    for key in ("ca.key", "tls.key"):
        sh("openssl", "rsa", "-traditional", "-in", key, "-out", key, cwd=at)
    return at


def with_url(config, port, bundle):
    """A webhook is reached by a URL, since no service leads to a process outside of the cluster."""
    service = config.pop("service")
    config["url"] = f"https://127.0.0.1:{port}{service['path']}"
    config["caBundle"] = bundle


def manifests_for(manifests, port, bundle):
    objects = []
    for it in json.loads(json.dumps(manifests)):
        kind = it["kind"]
        if kind in ("Deployment", "Service", "APIService", "ConfigMap", "Secret"):
            continue
        if kind == "CustomResourceDefinition" and "conversion" in it["spec"]:
            with_url(it["spec"]["conversion"]["webhook"]["clientConfig"], port, bundle)
        if kind.endswith("WebhookConfiguration"):
            path = lambda webhook: webhook["clientConfig"]["service"]["path"]
            it["webhooks"] = [w for w in it["webhooks"] if "kueue-x-k8s-io" in path(w) or path(w) in JOB_WEBHOOKS]
            for webhook in it["webhooks"]:
                with_url(webhook["clientConfig"], port, bundle)
        objects.append(it)
    return objects


def install(cluster, manifests):
    """Installs what Kueue's manifests have, and writes its configuration."""
    webhook, health, metrics = free_port(), free_port(), free_port()
    certs = certificates(cluster.folder)
    bundle = base64.b64encode((certs / "ca.crt").read_bytes()).decode()
    objects = manifests_for(manifests, webhook, bundle)
    is_first = lambda it: it["kind"] in ("Namespace", "CustomResourceDefinition")
    is_last = lambda it: it["kind"].endswith("WebhookConfiguration")
    cluster.apply(*filter(is_first, objects))
    cluster.apply(*(it for it in objects if not is_first(it) and not is_last(it)))
    data = {name: base64.b64encode((certs / name).read_bytes()).decode()
            for name in ("ca.crt", "ca.key", "tls.crt", "tls.key")}
    cluster.apply({"apiVersion": "v1", "kind": "Secret", "data": data,
                   "metadata": {"name": "kueue-webhook-server-cert", "namespace": ZONE}})
    cluster.apply(*filter(is_last, objects))
    config = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration", "namespace": ZONE,
        "health": {"healthProbeBindAddress": f"127.0.0.1:{health}"},
        "metrics": {"bindAddress": f"127.0.0.1:{metrics}"},
        "webhook": {"port": webhook, "host": "127.0.0.1", "certDir": str(certs)},
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": True, "webhookServiceName": "kueue-webhook-service",
                                   "webhookSecretName": "kueue-webhook-server-cert"},
        "integrations": {"frameworks": ["batch/job"]},
        "featureGates": {"VisibilityOnDemand": False},
        # The defaults are a minute, and 15 minutes: too long for a scenario.
        "multiKueue": {"gcInterval": "10s", "workerLostTimeout": "20s", "origin": "multikueue"},
    }
    (cluster.folder / "config.yaml").write_text(yaml.safe_dump(config))
    (cluster.folder / "kueue.kubeconfig").write_text(cluster.config_of("kueue-controller-manager"))
    (cluster.folder / "health.url").write_text(f"http://127.0.0.1:{health}/readyz")
    start(cluster.name)


def start(name):
    """Starts the Kueue of a cluster, in place of the one that runs."""
    folder, old = STATE / name, STATE / "pids" / f"{name}.kueue"
    if old.exists():
        end(int(old.read_text()))
    with open(folder / "kueue.log", "a") as log:
        process = subprocess.Popen([STATE / "kueue", "--config", folder / "config.yaml", "--zap-log-level=2"],
                                   stdout=log, stderr=log, start_new_session=True,
                                   env=dict(os.environ, KUBECONFIG=str(folder / "kueue.kubeconfig")))
    note_process(f"{name}.kueue", process)


def end(pid):
    """Kills a process, and waits until it is gone."""
    try:
        os.kill(pid, signal.SIGKILL)
        for _ in range(100):
            os.kill(pid, 0)
            time.sleep(0.05)
    except ProcessLookupError:
        pass


def await_ready(name):
    url, limit = (STATE / name / "health.url").read_text(), time.time() + 90
    while time.time() < limit:
        try:
            with urllib.request.urlopen(url, timeout=2) as answer:
                if answer.status == 200:
                    return
        except OSError:
            pass
        time.sleep(0.2)
    raise SystemExit(f"{name}: kueue is not ready; see {STATE / name}/kueue.log")


def queues(is_manager):
    flavors = [{"name": "default", "resources": [{"name": "cpu", "nominalQuota": "1000"}]}]
    spec = {"namespaceSelector": {}, "resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}]}
    if is_manager:
        spec["admissionChecksStrategy"] = {"admissionChecks": [{"name": "multikueue"}]}
    return [{"apiVersion": API, "kind": "ResourceFlavor", "metadata": {"name": "default"}},
            {"apiVersion": API, "kind": "ClusterQueue", "metadata": {"name": "shared"}, "spec": spec}]


def join(manager, worker):
    """Makes a cluster a worker of MultiKueue."""
    worker.apply(
        *queues(False),
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "multikueue", "namespace": ZONE}},
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "multikueue"},
         "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
         "subjects": [{"kind": "ServiceAccount", "name": "multikueue", "namespace": ZONE}]})
    manager.apply(
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": worker.name, "namespace": ZONE},
         "stringData": {"kubeconfig": worker.config_of("multikueue", worker.link())}},
        {"apiVersion": API, "kind": "MultiKueueCluster", "metadata": {"name": worker.name},
         "spec": {"clusterSource": {"kubeConfig": {"location": worker.name, "locationType": "Secret"}}}})


def main():
    module = (STATE / "kueue.module").read_text().strip()
    manifests = [it for it in yaml.safe_load_all(sh("kubectl", "kustomize", f"{module}/config/default")) if it]
    manager, workers = Cluster(MANAGER), [Cluster(name) for name in WORKERS]
    for cluster in [manager, *workers]:
        install(cluster, manifests)
    for cluster in [manager, *workers]:
        await_ready(cluster.name)
    for worker in workers:
        join(manager, worker)
    parameters = {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": "workers"}
    manager.apply(
        {"apiVersion": API, "kind": "MultiKueueConfig", "metadata": {"name": "workers"}, "spec": {"clusters": WORKERS}},
        {"apiVersion": API, "kind": "AdmissionCheck", "metadata": {"name": "multikueue"},
         "spec": {"controllerName": "kueue.x-k8s.io/multikueue", "parameters": parameters}},
        *queues(True))
    active = "jsonpath={.status.conditions[?(@.type=='Active')].status}"
    for _ in range(120):
        if manager.kubectl("get", "clusterqueue", "shared", "-o", active) == "True":
            return
        time.sleep(0.5)
    raise SystemExit(manager.kubectl("get", "multikueuecluster,admissioncheck,clusterqueue", "-o", "yaml"))


match sys.argv[2:]:
    case []:
        main()
    case ["restart"]:
        start(MANAGER)
        await_ready(MANAGER)
    case ["cut"]:
        for worker in WORKERS:
            cut(worker)
        await_workers(False)
    case ["mend"]:
        for worker in WORKERS:
            mend(worker)
        await_workers(True)
    case other:
        raise SystemExit(f"unknown arguments: {other}")
