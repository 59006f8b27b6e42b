// Package gates stands for k8s.io/component-base/featuregate/testing in upstream's tests: what a test changes is told to
// the external controller that runs.
package gates

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-base/featuregate"
	featuregatetesting "k8s.io/component-base/featuregate/testing"

	"jobcheck/harness/controlplane/upstream/external"
)

// FeatureOverrides is the original.
type FeatureOverrides = featuregatetesting.FeatureOverrides

// SetFeatureGateDuringTest is the original, and replaces a controller that has another value.
func SetFeatureGateDuringTest(tb testing.TB, gate featuregate.FeatureGate, name featuregate.Feature, value bool) {
	tb.Helper()
	featuregatetesting.SetFeatureGateDuringTest(tb, gate, name, value)
	external.FollowGates(tb)
}

// SetFeatureGatesDuringTest is the original, and replaces a controller that has other values.
func SetFeatureGatesDuringTest(tb testing.TB, gate featuregate.FeatureGate, values FeatureOverrides) {
	tb.Helper()
	featuregatetesting.SetFeatureGatesDuringTest(tb, gate, values)
	external.FollowGates(tb)
}

// SetFeatureGateEmulationVersionDuringTest is the original, and replaces a controller that has other values.
func SetFeatureGateEmulationVersionDuringTest(tb testing.TB, gate featuregate.FeatureGate, emulated *version.Version) {
	tb.Helper()
	featuregatetesting.SetFeatureGateEmulationVersionDuringTest(tb, gate, emulated)
	external.FollowGates(tb)
}
