package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"

	"github.com/muster-hpc/muster/internal/sys/pause"
)

// logsClient is the part of CloudWatch Logs that is used.
type logsClient interface {
	CreateLogStream(ctx context.Context, in *cloudwatchlogs.CreateLogStreamInput, o ...func(*cloudwatchlogs.Options)) (*cloudwatchlogs.CreateLogStreamOutput, error)
	PutLogEvents(ctx context.Context, in *cloudwatchlogs.PutLogEventsInput, o ...func(*cloudwatchlogs.Options)) (*cloudwatchlogs.PutLogEventsOutput, error)
}

// shipper sends new lines of log files to a log group, line by line. What
// cannot be sent stays in its file: the place that was reached is kept, and memory
// holds no more than one batch.
type shipper struct {
	client logsClient
	group  string
	// prefix begins the streams' names: one stream for each file.
	prefix string
	log    *slog.Logger

	mu    sync.Mutex // guards what follows
	files []*shipped
	// trouble is the last error, so that each is said once.
	trouble string
}

// shipped is a file that is sent.
type shipped struct {
	path, stream string
	offset       int64
	made         bool // the stream is there
}

const (
	shipEvery = 5 * time.Second
	// shipAgain is the pause after a refusal.
	shipAgain = time.Minute
	// A batch may have 1 MiB, of which each line takes 26 bytes more than it has, and
	// 10,000 lines. https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutLogEvents.html
	batchBytes = 512 << 10
	batchLines = 5000
)

// ship begins to send the agent's log, those of services and those of actions, unless
// the cluster has no log group.
func (a *agent) ship(ctx context.Context, services []string) {
	group := a.cluster.site.LogGroup
	if group == "" || a.logs != nil {
		return
	}
	// EC2's own name of the machine, as in ParallelCluster's streams.
	host := "ip-" + strings.ReplaceAll(a.identity.Address.String(), ".", "-")
	a.logs = &shipper{client: cloudwatchlogs.NewFromConfig(a.AWS), group: group, log: a.Log, prefix: host + "." + a.identity.InstanceID + "."}
	a.logs.add(logFile)
	for _, s := range services {
		a.logs.add(filepath.Join(LogDir, s+".log"))
	}
	a.background.Go(func() { a.logs.run(ctx) })
}

// flushLogs sends what there is before the machine ends.
func (a *agent) flushLogs(ctx context.Context) {
	if a.logs == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	_ = a.logs.round(ctx) // the head node and the console have the reason, too
}

func (s *shipper) add(path string) {
	name := strings.TrimSuffix(filepath.Base(path), ".log")
	for _, f := range s.files {
		if f.path == path {
			return
		}
	}
	s.files = append(s.files, &shipped{path: path, stream: s.prefix + name})
}

// run sends until ctx ends.
func (s *shipper) run(ctx context.Context) {
	wait := shipEvery
	for pause.For(ctx, wait) == nil {
		wait = shipEvery
		err := s.round(ctx)
		now := ""
		if err != nil {
			wait, now = shipAgain, err.Error()
		}
		if now != s.trouble && ctx.Err() == nil {
			s.log.Warn("logs to CloudWatch", "error", now)
		}
		s.trouble = now
	}
}

// round sends what is new in each file. One that fails does not hold the others up.
func (s *shipper) round(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	actions, err := filepath.Glob("/var/log/muster/actions/*.log")
	for _, path := range actions {
		s.add(path)
	}
	errs := []error{err}
	for _, f := range s.files {
		errs = append(errs, s.send(ctx, f))
	}
	return errors.Join(errs...)
}

// send sends a file's new whole lines, a batch at a time.
func (s *shipper) send(ctx context.Context, f *shipped) error {
	for {
		lines, next, err := f.batch()
		if err != nil || len(lines) == 0 {
			return err
		}
		if err := s.put(ctx, f, lines); err != nil {
			return fmt.Errorf("send %s to %s: %w", f.path, s.group, err)
		}
		f.offset = next
	}
}

func (s *shipper) put(ctx context.Context, f *shipped, lines []string) error {
	if !f.made {
		_, err := s.client.CreateLogStream(ctx, &cloudwatchlogs.CreateLogStreamInput{LogGroupName: &s.group, LogStreamName: &f.stream})
		var there *types.ResourceAlreadyExistsException
		if err != nil && !errors.As(err, &there) {
			return err
		}
		f.made = true
	}
	now := time.Now().UnixMilli()
	var events []types.InputLogEvent
	for _, l := range lines {
		events = append(events, types.InputLogEvent{Message: aws.String(l), Timestamp: &now})
	}
	_, err := s.client.PutLogEvents(ctx, &cloudwatchlogs.PutLogEventsInput{LogGroupName: &s.group, LogStreamName: &f.stream, LogEvents: events})
	return err
}

// batch reads whole lines from where the last batch ended. A file that became shorter
// was begun anew. A line without an end that fills a whole batch is sent as it is.
func (f *shipped) batch() (lines []string, next int64, err error) {
	file, err := os.Open(f.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, 0, err
	}
	if info.Size() < f.offset {
		f.offset = 0
	}
	data, err := io.ReadAll(io.NewSectionReader(file, f.offset, batchBytes))
	if err != nil {
		return nil, 0, err
	}
	next = f.offset
	for text := string(data); text != "" && len(lines) < batchLines; {
		line, rest, whole := strings.Cut(text, "\n")
		if !whole && len(line) < batchBytes {
			break
		}
		next += int64(len(text) - len(rest))
		text = rest
		if line = strings.ToValidUTF8(strings.TrimRight(line, "\r"), "?"); line != "" {
			lines = append(lines, line)
		}
	}
	return lines, next, nil
}
