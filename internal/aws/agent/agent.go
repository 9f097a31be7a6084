// Package agent is the daemon of a machine of a cluster on AWS: it boots the machine as
// its ticket says, tells the head node how that went, and keeps its services running.
// Every boot begins from the state of the machine: it may be cut off anywhere and begin again.
package agent

import (
	"cmp"
	"context"
	"encoding/json"
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

	"github.com/muster-hpc/muster/internal/aws/boot"
	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/store"
)

// Config is what an agent works with.
type Config struct {
	Ticket manifest.Ticket
	// Owner is the path of a file that says whose the ticket is: see OwnerFile.
	Owner string
	// AWS are the machine's credentials and region.
	AWS aws.Config
	// Endpoint is where S3 is, empty for AWS's own.
	Endpoint string
	// Version is muster's, and Program its path.
	Version, Program string
	Log              *slog.Logger
	// Shutdown ends the machine.
	Shutdown []string
	// Limits may be zero.
	Limits Limits
}

// Limits are how long and how often.
type Limits struct {
	// Poll is how often a head node looks for a new revision; other machines look at a
	// fourth of that.
	Poll time.Duration
	// Join is how long a machine asks which node it is, and for the cluster's key.
	Join time.Duration
	// Services is how long services may take to answer.
	Services time.Duration
	// Accounting is how long the database and slurmdbd may take: the cluster goes on
	// without them. A large database that was cut off takes minutes, too.
	Accounting time.Duration
	// HeadGone is how long the head node may be away before a node without jobs ends
	// itself.
	HeadGone time.Duration
	// Again is the pause until a head node whose boot failed tries it again.
	Again time.Duration
}

func (l Limits) filled() Limits {
	l.Poll = cmp.Or(l.Poll, 15*time.Second)
	l.Join = cmp.Or(l.Join, 15*time.Minute)
	l.Services = cmp.Or(l.Services, 5*time.Minute)
	l.Accounting = cmp.Or(l.Accounting, 5*time.Minute)
	l.HeadGone = cmp.Or(l.HeadGone, 10*time.Minute)
	l.Again = cmp.Or(l.Again, time.Minute)
	return l
}

// ParseLimits reads limits that differ from the usual, such as "poll=1s,head-gone=1m".
func ParseLimits(text string) (Limits, error) {
	var l Limits
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		name, value, _ := strings.Cut(word, "=")
		d, err := time.ParseDuration(value)
		if err != nil {
			return l, fmt.Errorf("read the agent's limits: %w", err)
		}
		of, ok := map[string]*time.Duration{
			"poll": &l.Poll, "join": &l.Join, "services": &l.Services, "accounting": &l.Accounting, "head-gone": &l.HeadGone, "again": &l.Again,
		}[name]
		if !ok {
			return l, fmt.Errorf("read the agent's limits: there is none called %q", name)
		}
		*of = d
	}
	return l, nil
}

// Places of the agent's own files.
const (
	LogDir  = "/var/log/muster"
	logFile = LogDir + "/agent.log"
)

// ReadTicket reads what the machine was told.
func ReadTicket(path string) (manifest.Ticket, error) {
	var t manifest.Ticket
	data, err := os.ReadFile(path)
	if err != nil {
		return t, err
	}
	if err := json.Unmarshal(data, &t); err != nil {
		return t, fmt.Errorf("read ticket %s: %w", path, err)
	}
	if t.Cluster == "" || t.Bucket == "" || t.Region == "" {
		return t, fmt.Errorf("ticket %s names no cluster, bucket or region", path)
	}
	return t, nil
}

// agent is a machine on its way.
type agent struct {
	Config
	machine  boot.Machine
	identity boot.Identity
	bucket   *store.S3
	cluster  *cluster
	slurm    services.Slurm
	began    time.Time
	logs     *shipper
	// background is what goes on beside the boot: it ends with the agent's context.
	background sync.WaitGroup
}

// Run boots the machine and serves until ctx ends.
func Run(ctx context.Context, c Config) error {
	c.Limits = c.Limits.filled()
	a := &agent{Config: c, began: time.Now(), slurm: installed()}
	if waited, err := a.own(ctx); waited || err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer a.background.Wait()
	defer stop()
	switch c.Ticket.Role {
	case manifest.RoleHead:
		return a.runHead(ctx)
	case manifest.RoleCompute, manifest.RoleLogin:
		return a.runNode(ctx)
	}
	return fmt.Errorf("the ticket has no known role: %q", c.Ticket.Role)
}

// installed is where this machine has Slurm: ParallelCluster's images bring their own.
func installed() services.Slurm {
	if _, err := os.Stat(services.Official.Sbin + "/slurmd"); err == nil {
		return services.Official
	}
	return services.Debian
}

// identify asks the metadata service which machine this is, and opens the cluster's bucket.
func (a *agent) identify(ctx context.Context) (string, error) {
	var err error
	a.identity, err = boot.Identify(ctx, a.AWS)
	if err != nil {
		return "", err
	}
	if err := a.notOwn(a.identity.InstanceID); err != nil {
		return "", err
	}
	former, err := a.machine.Own(a.identity.InstanceID)
	if err != nil {
		return "", err
	}
	a.bucket, err = a.open(ctx, a.Ticket.Bucket)
	return fmt.Sprintf("%s, %s in %s, %s%s", a.identity.InstanceID, a.identity.Type, a.identity.Zone, a.identity.Address, former), err
}

func (a *agent) open(ctx context.Context, bucket string) (*store.S3, error) {
	return store.Open(ctx, store.Config{Endpoint: a.Endpoint, Region: a.Ticket.Region, Credentials: a.AWS.Credentials, Bucket: bucket})
}

// object is a whole object of the cluster's bucket.
func (a *agent) object(ctx context.Context, key string) ([]byte, error) {
	body, _, err := a.bucket.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(body)
}

// decode reads an object of the cluster's bucket, which is JSON. It returns its text, too.
func (a *agent) decode(ctx context.Context, key string, into any) ([]byte, error) {
	text, err := a.object(ctx, key)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return nil, fmt.Errorf("read %s: %w", key, err)
	}
	return text, nil
}

// put stores a small object in the cluster's bucket.
func (a *agent) put(ctx context.Context, key string, data []byte) error {
	_, err := a.bucket.Put(ctx, store.Upload{Key: key, Body: strings.NewReader(string(data)), SizeBytes: int64(len(data))})
	return err
}

// shutDown ends the machine for good. It returns only if that failed.
func (a *agent) shutDown(ctx context.Context, why string) error {
	a.Log.Error("shutting down", "why", why)
	console(why)
	_, err := a.machine.Command(ctx, a.Shutdown...)
	return errors.Join(errors.New(why), err)
}

// console says something where EC2 keeps it after the machine's end.
func console(line string) {
	f, err := os.OpenFile("/dev/console", os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return // a namespace has none: the log has it
	}
	defer f.Close()
	fmt.Fprintln(f, "muster:", line)
}

// directories makes what the services write to.
func (a *agent) directories() error {
	for _, d := range []struct {
		path  string
		mode  os.FileMode
		owner string
	}{
		{LogDir, 0o755, ""}, {services.RunDir, 0o755, ""}, {services.ConfDir, 0o755, ""},
		{"/etc/munge", 0o700, "munge"}, {"/run/munge", 0o755, "munge"}, {"/var/lib/munge", 0o711, "munge"},
		{services.SpoolDir, 0o755, ""},
	} {
		if err := a.machine.Directory(d.path, d.mode, d.owner); err != nil {
			return fmt.Errorf("make %s: %w", d.path, err)
		}
	}
	return nil
}

// OpenLog opens the agent's own log, which is also its answer to what went wrong.
func OpenLog() (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(logFile), 0o755); err != nil {
		return nil, err
	}
	return os.OpenFile(logFile, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
}

// ReadSite reads what the cluster of this machine was made of.
func ReadSite(path string) (manifest.Site, error) {
	var s manifest.Site
	data, err := os.ReadFile(path)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return s, fmt.Errorf("read %s: %w", path, err)
	}
	return s, nil
}
