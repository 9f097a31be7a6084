package stack

import (
	"encoding/json"
	"strings"

	"github.com/muster-hpc/muster/internal/aws/cfn"
	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/spec"
)

// watched is a metric of the head node, with the value from which on a person
// should look.
type watched struct {
	id, title, description string
	namespace, metric      string
	// instance says that its dimension is the instance, and not the cluster.
	instance bool
	above    int
	// minutes is how long there has to be no value at all, for an alarm on silence.
	minutes int
}

// metrics are what the head node is watched by: ParallelCluster's five.
func metrics() []watched {
	return []watched{
		{"Health", "health", "The head node does not pass EC2's status checks", "AWS/EC2", "StatusCheckFailed", true, 0, 0},
		{"Cpu", "cpu", "The head node's CPUs are more than 90 % busy", "AWS/EC2", "CPUUtilization", true, 90, 0},
		{"Memory", "memory", "More than 90 % of the head node's memory is used", manifest.MetricNamespace, manifest.MetricMemory, false, 90, 0},
		{"Disk", "disk", "More than 90 % of the head node's root volume is used", manifest.MetricNamespace, manifest.MetricDisk, false, 90, 0},
		{"Silence", "silence", "muster has said nothing on the head node for ten minutes", manifest.MetricNamespace, manifest.MetricMemory, false, 0, 10},
	}
}

// alarms say when the head node is not well. They only change their
// state: whom they wake is the user's to add.
func (m *maker) alarms(p *part) {
	if !m.file.Monitoring.Alarms {
		return
	}
	var rule []string
	for _, w := range metrics() {
		dimension := cfn.Dimension{Name: manifest.MetricCluster, Value: cfn.Lit(m.facts.Name)}
		if w.instance {
			dimension = cfn.Dimension{Name: "InstanceId", Value: cfn.Ref("HeadNode")}
		}
		id := "HeadNode" + w.id + "Alarm"
		alarm := cfn.Alarm{
			AlarmName: m.facts.Name + "-head-" + w.title, AlarmDescription: w.description, Namespace: w.namespace, MetricName: w.metric,
			Dimensions: []cfn.Dimension{dimension}, Statistic: "Maximum", Period: 60, EvaluationPeriods: 1, DatapointsToAlarm: 1,
			Threshold: w.above, ComparisonOperator: "GreaterThanThreshold", TreatMissingData: "missing", Tags: m.tags("head-" + w.title),
		}
		if w.minutes > 0 {
			alarm.Statistic, alarm.Threshold, alarm.ComparisonOperator, alarm.TreatMissingData = "SampleCount", 1, "LessThanThreshold", "breaching"
			alarm.EvaluationPeriods, alarm.DatapointsToAlarm = w.minutes, w.minutes
		}
		p.add(cfn.Resource{ID: id, Properties: alarm})
		rule = append(rule, `ALARM("${`+id+`.Arn}")`)
	}
	p.add(cfn.Resource{ID: "HeadNodeAlarm", Properties: cfn.CompositeAlarm{
		AlarmName: m.facts.Name + "-head", AlarmDescription: "The head node of cluster " + m.facts.Name + " is not well",
		AlarmRule: cfn.Sub(strings.Join(rule, " OR ")), Tags: m.tags("head"),
	}})
}

// dashboard is CloudWatch's page of the cluster.
func (m *maker) dashboard(p *part) {
	if !m.file.Monitoring.Dashboard {
		return
	}
	var widgets []widget
	for _, g := range m.graphs(p) {
		widgets = append(widgets, widget{
			Type: "metric", X: len(widgets) % 3 * 8, Y: len(widgets) / 3 * 6, Width: 8, Height: 6,
			Properties: properties{Title: g.title, Region: m.facts.Region, Metrics: g.metrics, Stat: "Maximum", Period: 60},
		})
	}
	if m.file.Monitoring.Logs.Enabled {
		widgets = append(widgets, widget{
			Type: "log", Y: (len(widgets) + 2) / 3 * 6, Width: 24, Height: 8,
			Properties: properties{Title: "Errors", Region: m.facts.Region, Query: "SOURCE '" + m.logGroupName() +
				"' | fields @timestamp, @logStream, @message | filter @message like /(?i)error|fatal|failed/ | sort @timestamp desc | limit 100", View: "table"},
		})
	}
	body, err := json.Marshal(struct {
		Widgets []widget `json:"widgets"`
	}{widgets})
	if err != nil {
		m.fail("write the dashboard: %w", err)
	}
	p.add(cfn.Resource{ID: "Dashboard", Properties: cfn.Dashboard{
		DashboardName: m.facts.Name + "-" + m.facts.Region, DashboardBody: cfn.Sub(string(body)),
	}})
}

// widget is a part of a dashboard.
type widget struct {
	Type       string     `json:"type"`
	X          int        `json:"x"`
	Y          int        `json:"y"`
	Width      int        `json:"width"`
	Height     int        `json:"height"`
	Properties properties `json:"properties"`
}

type properties struct {
	Title   string     `json:"title"`
	Region  string     `json:"region"`
	Metrics [][]string `json:"metrics,omitempty"`
	Query   string     `json:"query,omitempty"`
	View    string     `json:"view,omitempty"`
	Stat    string     `json:"stat,omitempty"`
	Period  int        `json:"period,omitempty"`
}

// graph is a widget of metrics.
type graph struct {
	title   string
	metrics [][]string
}

// graphs are the head node's, and those of storage.
func (m *maker) graphs(p *part) []graph {
	head := []string{"InstanceId", "${HeadNode}"}
	var out []graph
	for _, g := range []struct {
		title string
		names []string
	}{
		{"Head node: CPUs busy", []string{"CPUUtilization"}},
		{"Head node: network", []string{"NetworkIn", "NetworkOut"}},
		{"Head node: volumes", []string{"EBSReadBytes", "EBSWriteBytes"}},
	} {
		out = append(out, graph{g.title, lines("AWS/EC2", g.names, head)})
	}
	out = append(out, graph{"Head node: memory and disk used, %",
		lines(manifest.MetricNamespace, []string{manifest.MetricMemory, manifest.MetricDisk}, []string{manifest.MetricCluster, m.facts.Name})})
	for _, one := range m.mounts {
		if g := storageGraph(p, one); g.title != "" {
			out = append(out, g)
		}
	}
	return out
}

// storageGraph is that of a file system or volume; empty where CloudWatch knows it
// by another id.
func storageGraph(p *part, one mount) graph {
	title := cfn.Literal(one.dir + " (" + one.name + ")")
	switch one.kind {
	case spec.EBS:
		return graph{title, lines("AWS/EBS", []string{"VolumeReadBytes", "VolumeWriteBytes"}, []string{"VolumeId", p.sub(one.ids[0])})}
	case spec.EFS:
		return graph{title, lines("AWS/EFS", []string{"DataReadIOBytes", "DataWriteIOBytes"}, []string{"FileSystemId", p.sub(one.ids[0])})}
	case spec.Lustre:
		return graph{title, lines("AWS/FSx", []string{"DataReadBytes", "DataWriteBytes", "FreeDataStorageCapacity"}, []string{"FileSystemId", p.sub(one.ids[0])})}
	case spec.OpenZFS:
		if one.made {
			return graph{title, lines("AWS/FSx", []string{"DataReadBytes", "DataWriteBytes"}, []string{"FileSystemId", p.sub(one.ids[0])})}
		}
	}
	return graph{}
}

// lines are metrics of one thing.
func lines(namespace string, names, dimension []string) [][]string {
	var out [][]string
	for _, n := range names {
		out = append(out, append([]string{namespace, n}, dimension...))
	}
	return out
}
