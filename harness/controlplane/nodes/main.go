// Command nodes is what a control plane lacks to be a cluster that runs pods:
// kube-scheduler, kubelet, kubectl, and a cloud-controller-manager whose cloud has
// one machine, in one binary, built from their published Go modules. The first
// argument chooses the program, the rest are its own flags:
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
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

const usage = "usage: nodes kube-scheduler|kubelet|cloud-controller-manager|kubectl [flags]"

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
	case "cloud-controller-manager":
		command, err := cloudControllerManager()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		run(command)
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
