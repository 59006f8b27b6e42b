// Command nodes is what a control plane lacks to be a cluster that runs pods:
// kube-scheduler, kubelet and kubectl in one binary, built from their published
// Go modules. The first argument chooses the program, the rest are its own flags:
//
//	nodes kube-scheduler --kubeconfig …
//	nodes kubelet --config …
//	nodes kubectl get pods
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

const usage = "usage: nodes kube-scheduler|kubelet|kubectl [flags]"

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, usage)
		os.Exit(2)
	}
	// The upstream commands read os.Args; make them see their own name first.
	os.Args = os.Args[1:]

	switch os.Args[0] {
	case "kube-scheduler":
		run(scheduler.NewSchedulerCommand())
	case "kubelet":
		run(kubelet.NewKubeletCommand(context.Background()))
	case "kubectl":
		run(kubectl.NewDefaultKubectlCommand())
	default:
		fmt.Fprintln(os.Stderr, usage)
		os.Exit(2)
	}
}

func run(command *cobra.Command) {
	os.Exit(cli.Run(command))
}
