package agent

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/sys/pause"
)

// measureEvery is how often the head node tells CloudWatch how full it is.
const measureEvery = time.Minute

// measure tells CloudWatch how much of the head node's memory and root disk is used,
// until ctx ends. The cluster's alarms look at that.
func (h *headNode) measure(ctx context.Context) {
	client := cloudwatch.NewFromConfig(h.AWS)
	trouble := ""
	for {
		now := ""
		if err := h.measureOnce(ctx, client); err != nil {
			now = err.Error()
		}
		if now != trouble && ctx.Err() == nil {
			h.Log.Warn("metrics to CloudWatch", "error", now)
		}
		trouble = now
		if pause.For(ctx, measureEvery) != nil {
			return
		}
	}
}

func (h *headNode) measureOnce(ctx context.Context, client *cloudwatch.Client) error {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return err
	}
	memory, err := memoryUsed(string(text))
	if err != nil {
		return err
	}
	var disk unix.Statfs_t
	if err := unix.Statfs("/", &disk); err != nil {
		return err
	}
	data := []types.MetricDatum{h.datum(manifest.MetricMemory, memory)}
	if all := float64(disk.Blocks); all > 0 {
		data = append(data, h.datum(manifest.MetricDisk, 100*(1-float64(disk.Bavail)/all)))
	}
	_, err = client.PutMetricData(ctx, &cloudwatch.PutMetricDataInput{Namespace: aws.String(manifest.MetricNamespace), MetricData: data})
	return err
}

func (h *headNode) datum(name string, value float64) types.MetricDatum {
	return types.MetricDatum{MetricName: &name, Value: &value, Unit: types.StandardUnitPercent,
		Dimensions: []types.Dimension{{Name: aws.String(manifest.MetricCluster), Value: &h.Ticket.Cluster}}}
}

// memoryUsed reads /proc/meminfo: what is not available, in percent.
func memoryUsed(meminfo string) (float64, error) {
	var total, available float64
	for line := range strings.Lines(meminfo) {
		// Other lines are in other forms: they stay zero.
		_, _ = fmt.Sscanf(line, "MemTotal: %f kB", &total)
		_, _ = fmt.Sscanf(line, "MemAvailable: %f kB", &available)
	}
	if total == 0 || available == 0 {
		return 0, fmt.Errorf("read /proc/meminfo: it says nothing of MemTotal and MemAvailable")
	}
	return 100 * (1 - available/total), nil
}
