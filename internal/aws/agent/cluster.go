package agent

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/muster-hpc/muster/internal/aws/join"
	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/lint"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/sys/pause"
)

// cluster is what the bucket says of the cluster.
type cluster struct {
	site manifest.Site
	// source, workloadText and siteText are the bytes of the cluster file, muster.yaml
	// and the site; workloadText is nil where there is no muster.yaml.
	source, workloadText, siteText []byte
	file                           *spec.Cluster
	// ignored says in words what of the file has no effect.
	ignored  []string
	workload *spec.Workload
	// version is the site's object's.
	version string
}

// read reads the site, the cluster file and muster.yaml. A site whose files are not
// there yet is waited for: `up` writes it last, but a machine may be faster.
func (a *agent) read(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, a.Limits.Join, fmt.Errorf("the bucket had no whole cluster within %s", a.Limits.Join))
	defer cancel()
	for {
		c, err := a.readOnce(ctx)
		if err == nil {
			a.cluster = c
			return fmt.Sprintf("revision %s of %s", short(c.site.Revision), c.site.Cluster), nil
		}
		if !errors.Is(err, store.ErrNotFound) || pause.For(ctx, 2*time.Second) != nil {
			return "", err
		}
	}
}

func short(revision string) string { return revision[:min(12, len(revision))] }

func (a *agent) readOnce(ctx context.Context) (*cluster, error) {
	c := &cluster{}
	name := a.Ticket.Cluster
	at, err := a.bucket.Head(ctx, manifest.SiteKey(name))
	if err != nil {
		return nil, err
	}
	c.version = at.Version
	if c.siteText, err = a.decode(ctx, manifest.SiteKey(name), &c.site); err != nil {
		return nil, err
	}
	c.site.Use()
	if c.source, err = a.object(ctx, manifest.FileKey(name)); err != nil {
		return nil, err
	}
	file := spec.OpenText("cluster.yaml", c.source, spec.Options{})
	if file.Cluster == nil {
		return nil, fmt.Errorf("read %s: %w", manifest.FileKey(name), file.Problems.Err())
	}
	c.file, c.ignored = file.Cluster, lint.Ignored(file)
	text, err := a.object(ctx, manifest.WorkloadKey(name))
	if errors.Is(err, store.ErrNotFound) || err == nil && len(text) == 0 {
		c.workload = &spec.Workload{}
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	w, problems := spec.ParseWorkload("muster.yaml", text, c.file)
	if w == nil {
		return nil, fmt.Errorf("read %s: %w", manifest.WorkloadKey(name), problems.Err())
	}
	c.workload, c.workloadText = w, text
	return c, nil
}

// queue is the queue of a compute node.
func (c *cluster) queue(t manifest.Ticket) (spec.Queue, error) {
	return named(c.file.Scheduling.Queues, t.Queue, func(q spec.Queue) string { return q.Name })
}

// resource is the compute resource of a compute node.
func (c *cluster) resource(t manifest.Ticket) (spec.ComputeResource, error) {
	q, err := c.queue(t)
	if err != nil {
		return spec.ComputeResource{}, err
	}
	return named(q.ComputeResources, t.Resource, func(r spec.ComputeResource) string { return r.Name })
}

// actions are a machine's scripts: the head node's, its queue's, or its pool of login
// nodes'.
func (c *cluster) actions(t manifest.Ticket) (spec.CustomActions, error) {
	switch t.Role {
	case manifest.RoleHead:
		return c.file.HeadNode.CustomActions, nil
	case manifest.RoleCompute:
		q, err := c.queue(t)
		return q.CustomActions, err
	}
	p, err := named(c.file.LoginPools, t.Queue, func(p spec.LoginPool) string { return p.Name })
	return p.CustomActions, err
}

func named[T any](all []T, name string, nameOf func(T) string) (T, error) {
	i := slices.IndexFunc(all, func(one T) bool { return nameOf(one) == name })
	if i < 0 {
		var none T
		return none, fmt.Errorf("the cluster file has no queue or pool %q any more", name)
	}
	return all[i], nil
}

// sharedHome tells whether users' homes are the head node's, shown everywhere: where
// no file system is mounted there, and the file does not want them local.
func (c *cluster) sharedHome() bool {
	elsewhere := slices.ContainsFunc(c.site.Storage, func(s manifest.Storage) bool { return s.MountDir == "/home" })
	return !elsewhere && !c.file.LocalHomes
}

// exports are the directories that the head node shows to all others.
func (c *cluster) exports() []string {
	var dirs []string
	if c.sharedHome() {
		dirs = append(dirs, "/home")
	}
	for _, s := range c.site.Storage {
		if s.Type == spec.EBS {
			dirs = append(dirs, s.MountDir)
		}
	}
	return dirs
}

// Where machines have the cluster's munge key: where munged reads it, and where the head
// node keeps the one that it made. It is nowhere else, and above all not in the bucket:
// a job has the rights of its node, and with the key it could be any user.
const (
	MungeKeyFile = "/etc/munge/munge.key"
	keptKeyFile  = "/var/lib/muster/munge.key"
	// givenFile says that the head node gave the key in this machine's present life.
	givenFile = services.RunDir + "/munge-key"
)

// mungeKey writes the cluster's munge key. The head node has it from the file's secret
// or made it; the others ask the head node for it.
func (a *agent) mungeKey(ctx context.Context) (string, error) {
	if err := onlyRootHasLowPorts(); err != nil {
		return "", err
	}
	bring := a.askKey
	if a.Ticket.Role == manifest.RoleHead {
		bring = a.headKey
	}
	key, from, err := bring(ctx)
	if err != nil {
		return "", err
	}
	changed, err := a.machine.Write(MungeKeyFile, string(key), 0o400, "munge")
	if changed {
		from += ", new here"
	}
	if err == nil {
		_, err = a.machine.Write(givenFile, from+"\n", 0o644, "")
	}
	return "from " + from, err
}

// askKey asks the head node for the key, once in the machine's present life: an agent
// that starts again needs no head node.
func (a *agent) askKey(ctx context.Context) (key []byte, from string, err error) {
	given, err := a.machine.Read(givenFile)
	if err == nil && given != "" {
		have, err := a.machine.Read(MungeKeyFile)
		return []byte(have), "the head node before", err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, a.Limits.Join, fmt.Errorf("no key within %s", a.Limits.Join))
	defer cancel()
	key, err = join.Client{Head: net.JoinHostPort(a.Ticket.Head, fmt.Sprint(join.KeyPort))}.Key(ctx)
	return key, "the head node", err
}

// headKey is the file's key, or one that was made here once.
func (a *agent) headKey(ctx context.Context) (key []byte, from string, err error) {
	if secret := a.cluster.file.Scheduling.Slurm.MungeKeySecretARN; secret != "" {
		key, err = a.fileKey(ctx, secret)
		return key, "the file's secret", err
	}
	old, err := a.machine.Read(keptKeyFile)
	if err != nil || old != "" {
		return []byte(old), "here", err
	}
	if key, err = services.NewMungeKey(); err != nil {
		return nil, "", err
	}
	_, err = a.machine.Write(keptKeyFile, string(key), 0o400, "")
	return key, "here: it was made now", err
}

// onlyRootHasLowPorts holds what the key is given by: that a port below 1024 is root's.
func onlyRootHasLowPorts() error {
	const file = "/proc/sys/net/ipv4/ip_unprivileged_port_start"
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if first, err := strconv.Atoi(strings.TrimSpace(string(text))); err != nil || first < 1024 {
		return fmt.Errorf("%s is %q: on this image users can take ports that only root should have, and with them the cluster's key; set it to 1024", file, text)
	}
	return nil
}

// fileKey is the key that the file names: as ParallelCluster has it, in base64.
func (a *agent) fileKey(ctx context.Context, arn string) ([]byte, error) {
	text, err := a.secret(ctx, arn)
	if err != nil {
		return nil, err
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil {
		return nil, fmt.Errorf("read the munge key of %s: it is not base64: %w", arn, err)
	}
	if len(key) < 32 || len(key) > 1024 {
		return nil, fmt.Errorf("read the munge key of %s: it has %d bytes, and munge takes 32 to 1024", arn, len(key))
	}
	return key, nil
}

// secret is the text of a secret of Secrets Manager.
func (a *agent) secret(ctx context.Context, arn string) (string, error) {
	out, err := secretsmanager.NewFromConfig(a.AWS).GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: &arn})
	if err != nil {
		return "", fmt.Errorf("read secret %s: %w", arn, err)
	}
	if out.SecretString == nil {
		return string(out.SecretBinary), nil
	}
	return aws.ToString(out.SecretString), nil
}

// awaitObject waits for an object of the bucket.
func (a *agent) awaitObject(ctx context.Context, key string) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, a.Limits.Join, fmt.Errorf("the bucket has no %s after %s: did the head node start?", key, a.Limits.Join))
	defer cancel()
	for {
		data, err := a.object(ctx, key)
		if err == nil || !errors.Is(err, store.ErrNotFound) {
			return data, err
		}
		if err := pause.For(ctx, 2*time.Second); err != nil {
			return nil, err
		}
	}
}
