package main

import (
	"context"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	"k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/fake"
	"k8s.io/cloud-provider/names"
	"k8s.io/cloud-provider/options"
	cliflag "k8s.io/component-base/cli/flag"
)

// machine is the name of the one machine that the cloud knows.
const machine = "node-a"

// cloud is a cloud as the controllers of Nodes see one: every Node that is not ready is looked for among its machines.
type cloud struct{ *fake.Cloud }

func (c cloud) InstancesV2() (cloudprovider.InstancesV2, bool) { return c, true }

func (c cloud) InstanceExists(_ context.Context, node *v1.Node) (bool, error) {
	return node.Name == machine, nil
}

// cloudControllerManager is upstream's cloud-controller-manager, with that cloud.
func cloudControllerManager() (*cobra.Command, error) {
	flags, err := options.NewCloudControllerManagerOptions()
	if err != nil {
		return nil, err
	}
	provider := func(*config.CompletedConfig) cloudprovider.Interface {
		return cloud{&fake.Cloud{Provider: "jobcheck"}}
	}
	return app.NewCloudControllerManagerCommand(flags, provider, app.DefaultInitFuncConstructors,
		names.CCMControllerAliases(), cliflag.NamedFlagSets{}, wait.NeverStop), nil
}
