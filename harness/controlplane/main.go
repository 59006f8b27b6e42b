// Command controlplane is a Kubernetes control plane in one binary: etcd,
// kube-apiserver and kube-controller-manager, built from their published Go
// modules. The first argument chooses the program, the rest are its own flags:
//
//	controlplane etcd --data-dir …
//	controlplane kube-apiserver --etcd-servers …
//	controlplane kube-controller-manager --kubeconfig …
//
// Nothing is patched: each subcommand is the upstream command itself, so that
// what is recorded against it is the behaviour of the built-in controllers.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

const usage = "usage: controlplane etcd|kube-apiserver|kube-controller-manager [flags]"

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, usage)
		os.Exit(2)
	}
	// The upstream commands read os.Args; make them see their own name first.
	os.Args = os.Args[1:]

	switch os.Args[0] {
	case "etcd":
		etcdmain.Main(os.Args) // exits by itself
	case "kube-apiserver":
		run(apiserver.NewAPIServerCommand())
	case "kube-controller-manager":
		run(controllermanager.NewControllerManagerCommand())
	default:
		fmt.Fprintln(os.Stderr, usage)
		os.Exit(2)
	}
}

func run(command *cobra.Command) {
	os.Exit(cli.Run(command))
}
