package external

import (
	"fmt"
	"sort"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	basemetrics "k8s.io/component-base/metrics"
	"k8s.io/kubernetes/pkg/controller/job/metrics"
)

// samples are counters by name and labels.
type samples map[string]float64

// The counters of the built-in outlive its restarts within a test, as they belong to the test's own process. Those of
// an external controller begin at zero with each process, so what killed ones had counted is kept here.
type killed struct {
	mu    sync.Mutex
	total samples
	reset samples // what was counted before the last resetMetrics
}

var dead = killed{total: samples{}, reset: samples{}}

func (k *killed) add(last samples) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for key, value := range last {
		k.total[key] += value
	}
}

// ResetMetrics lets all counters begin anew.
func ResetMetrics() {
	now := counted()
	dead.mu.Lock()
	defer dead.mu.Unlock()
	dead.reset = now
}

// CounterValue is what the counter of the built-in's package would show: the sum over all processes of this test, from
// the last reset on.
func CounterValue(counter *basemetrics.CounterVec, labels []string) (float64, error) {
	key, err := keyOf(counter, labels)
	if err != nil {
		return 0, err
	}
	now := counted()
	dead.mu.Lock()
	defer dead.mu.Unlock()
	return now[key] - dead.reset[key], nil
}

func counted() samples {
	sum := samples{}
	for _, controller := range all.list() {
		for key, value := range controller.counted() {
			sum[key] += value
		}
	}
	dead.mu.Lock()
	defer dead.mu.Unlock()
	for key, value := range dead.total {
		sum[key] += value
	}
	return sum
}

func (c *Controller) counted() samples {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process == nil {
		return nil
	}
	c.process.scrape()
	return c.process.last
}

// scrape reads the counters; one that fails leaves what was read before.
func (p *process) scrape() {
	text, _, err := p.get("/metrics")
	if err != nil {
		return
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		return
	}
	found := samples{}
	for name, family := range families {
		for _, metric := range family.GetMetric() {
			if counter := metric.GetCounter(); counter != nil {
				found[key(name, metric.GetLabel())] = counter.GetValue()
			}
		}
	}
	p.last = found
}

// keyOf asks the built-in's own counter for its name and the names of its labels.
func keyOf(counter *basemetrics.CounterVec, labels []string) (string, error) {
	metrics.Register()
	var written dto.Metric
	metric, ok := counter.WithLabelValues(labels...).(basemetrics.Metric)
	if !ok {
		return "", fmt.Errorf("the counter %s has no labels to ask for", counter.Name)
	}
	if err := metric.Write(&written); err != nil {
		return "", err
	}
	return key(prometheus.BuildFQName(counter.Namespace, counter.Subsystem, counter.Name), written.GetLabel()), nil
}

func key(name string, labels []*dto.LabelPair) string {
	var pairs []string
	for _, label := range labels {
		pairs = append(pairs, fmt.Sprintf("%s=%q", label.GetName(), label.GetValue()))
	}
	sort.Strings(pairs)
	return name + "{" + strings.Join(pairs, ",") + "}"
}
