package nodes

import (
	"context"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/muster-hpc/muster/internal/provider"
)

// health is what EC2 has against instances.
type health struct {
	asked time.Time
	of    map[string][]provider.HealthEvent
	// trouble is why EC2 could not be asked the last time.
	trouble string
}

// impaired is EC2's word for a machine that fails a status check.
const impaired = "impaired"

// events are the codes of what EC2 schedules.
var events = []string{"instance-reboot", "system-reboot", "system-maintenance", "instance-retirement", "instance-stop"}

// lookAtHealth begins to ask EC2 for health events if it is time to. The returned function
// waits for the answer.
func (f *Fleet) lookAtHealth(ctx context.Context) (wait func()) {
	now := f.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	if now.Sub(f.health.asked) < f.Limits.Health {
		return func() {}
	}
	f.health.asked = now
	done := make(chan struct{})
	go func() {
		defer close(done)
		of, err := f.describeHealth(ctx)
		f.tookHealth(of, err)
	}()
	return func() { <-done }
}

// tookHealth takes an answer into account. Without one, what was known is still
// believed: it is a reason to look, and no instance is ended because it is missing.
func (f *Fleet) tookHealth(of map[string][]provider.HealthEvent, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	trouble := ""
	if err != nil {
		trouble = err.Error()
	} else {
		f.health.of = of
	}
	if trouble != "" && trouble != f.health.trouble {
		f.Log.Warn("the instances' health cannot be seen", "error", err)
	}
	f.health.trouble = trouble
}

// describeHealth asks only for instances with something against them: the account
// may have many others.
func (f *Fleet) describeHealth(ctx context.Context) (map[string][]provider.HealthEvent, error) {
	of := map[string][]provider.HealthEvent{}
	for _, about := range []types.Filter{
		filter("system-status.status", impaired), filter("instance-status.status", impaired),
		filter("attached-ebs-status.status", impaired), filter("event.code", events...),
	} {
		pages := ec2.NewDescribeInstanceStatusPaginator(f.clients.ec2, &ec2.DescribeInstanceStatusInput{Filters: []types.Filter{about}, MaxResults: aws.Int32(pageSize)})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, err
			}
			for _, s := range page.InstanceStatuses {
				of[aws.ToString(s.InstanceId)] = healthEventsOf(s)
			}
		}
	}
	return of, nil
}

// healthEventsOf are the health events of one instance.
func healthEventsOf(s types.InstanceStatus) []provider.HealthEvent {
	var all []provider.HealthEvent
	for _, check := range []struct {
		of      string
		summary *types.InstanceStatusSummary
	}{{"system", s.SystemStatus}, {"instance", s.InstanceStatus}} {
		if check.summary == nil || check.summary.Status != types.SummaryStatusImpaired {
			continue
		}
		d := provider.HealthEvent{Code: impaired, Text: "the " + check.of + " status check fails"}
		for _, detail := range check.summary.Details {
			d.Since = earliest(d.Since, detail.ImpairedSince)
		}
		all = append(all, d)
	}
	if e := s.AttachedEbsStatus; e != nil && e.Status == types.SummaryStatusImpaired {
		d := provider.HealthEvent{Code: impaired, Text: "the status check of its volumes fails"}
		for _, detail := range e.Details {
			d.Since = earliest(d.Since, detail.ImpairedSince)
		}
		all = append(all, d)
	}
	for _, e := range s.Events {
		text := aws.ToString(e.Description)
		// EC2 lists events for a week after they are over, with these marks:
		// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/viewing_scheduled_events.html
		if strings.HasPrefix(text, "[Completed]") || strings.HasPrefix(text, "[Canceled]") {
			continue
		}
		all = append(all, provider.HealthEvent{Code: string(e.Code), Text: text, NotBefore: aws.ToTime(e.NotBefore)})
	}
	return all
}

func earliest(t time.Time, other *time.Time) time.Time {
	if other != nil && (t.IsZero() || other.Before(t)) {
		return *other
	}
	return t
}
