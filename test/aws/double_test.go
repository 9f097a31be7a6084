package aws

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/test/cloud"
	"github.com/muster-hpc/muster/test/cloud/ec2"
	"github.com/muster-hpc/muster/test/cloud/remains"
	"github.com/muster-hpc/muster/test/cloud/wire"
)

// plainFile is a small cluster with a file system that is tied to a bucket. Nothing
// of it is to outlive `down --delete-data`.
const plainFile = `Region: us-east-2
Image: {Os: alinux2023}
HeadNode:
  InstanceType: c5.large
  Ssh: {AllowedIps: 192.0.2.0/24}
Scheduling:
  Scheduler: slurm
  SlurmQueues:
    - Name: q
      Networking: {PlacementGroup: {Enabled: true}}
      ComputeResources:
        - {Name: r, InstanceType: c5.large, MinCount: 0, MaxCount: 4}
SharedStorage:
  - Name: data
    MountDir: /fsx
    StorageType: FsxLustre
    FsxLustreSettings:
      StorageCapacity: 1200
      DeploymentType: PERSISTENT_2
      PerUnitStorageThroughput: 125
      DeletionPolicy: Delete
      DataRepositoryAssociations:
        - {Name: all, FileSystemPath: /, DataRepositoryPath: 's3://train-data/x/', AutoExportPolicy: [NEW, CHANGED, DELETED]}
Monitoring: {Logs: {CloudWatch: {DeletionPolicy: Delete}}}
`

const workloadFile = "Buckets: [train-data]\n"

// name is the cluster's in all tests here.
const name = "train"

// double is a double of AWS without machines, and users with the real muster before
// it.
type double struct {
	*cloud.Cloud
	t *testing.T
	// before is what there was in the beginning.
	before []string
}

func newDouble(t *testing.T) *double {
	t.Helper()
	needMoto(t)
	program(t, "muster") // not while something is timed
	missing := func(service, operation, why string) {
		if operation == "ListObjectVersions" && strings.HasPrefix(why, "TypeError") {
			return // moto falls over a bucket that goes while it is listed
		}
		t.Errorf("nobody implements %s %s: %s", service, operation, why)
	}
	d := &double{Cloud: cloud.Start(t, cloud.Options{Speed: 1200, Pause: 2 * time.Millisecond, Missing: missing}), t: t}
	d.puppets()
	d.before = d.remains()
	return d
}

func (d *double) remains() []string {
	d.t.Helper()
	all, err := remains.Of(d.t.Context(), d.as("looker"))
	if err != nil {
		d.t.Fatal(err)
	}
	return all
}

// as is the configuration of somebody who is no user, by an access key of its own.
func (d *double) as(key string) aws.Config {
	c := d.Config()
	c.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: key, SecretAccessKey: key, Source: "test"}, nil
	})
	return c
}

// empty holds that nothing of the cluster is left.
func (d *double) empty(when string) {
	d.t.Helper()
	if now := d.remains(); !slices.Equal(now, d.before) {
		d.t.Errorf("%s: left is %q, not %q", when, now, d.before)
	}
}

// ids are what differs between two clusters of the same file.
var ids = regexp.MustCompile(`[0-9a-fA-F]{12,64}|\d+\.\d+\.\d+\.\d+|[0-9a-z]{8,}-[0-9a-z]{8,}`)

// state is what there is, without names that differ: what remains, and what the
// stacks and buckets hold.
func (d *double) state() []string {
	d.t.Helper()
	var all []string
	for _, x := range d.remains() {
		kind, rest, _ := strings.Cut(x, " ")
		if kind == "stack" || kind == "launch" {
			kind += " " + rest
		}
		all = append(all, ids.ReplaceAllString(kind, "ID"))
	}
	client := cloudformation.NewFromConfig(d.as("looker"))
	for _, stack := range []string{name + "-base", name + "-storage", name} {
		out, err := client.ListStackResources(d.t.Context(), &cloudformation.ListStackResourcesInput{StackName: &stack})
		if err != nil {
			d.t.Fatal(err)
		}
		for _, r := range out.StackResourceSummaries {
			all = append(all, fmt.Sprintf("%s: %s %s %s", stack, aws.ToString(r.LogicalResourceId), aws.ToString(r.ResourceType), r.ResourceStatus))
		}
	}
	slices.Sort(all)
	return append(all, d.objects()...)
}

// objects are the keys in all buckets.
func (d *double) objects() []string {
	client := d.s3("looker")
	var all []string
	for _, x := range d.remains() {
		bucket, ok := strings.CutPrefix(x, "bucket ")
		if !ok {
			continue
		}
		out, err := client.ListObjectsV2(d.t.Context(), &s3.ListObjectsV2Input{Bucket: &bucket})
		if err != nil {
			d.t.Fatal(err)
		}
		for _, o := range out.Contents {
			if key := ids.ReplaceAllString(aws.ToString(o.Key), "ID"); !strings.Contains(key, "templates/") && !strings.HasSuffix(key, "/fleet.json") {
				all = append(all, "object "+key)
			}
		}
	}
	return slices.Compact(all)
}

func (d *double) s3(key string) *s3.Client {
	return s3.NewFromConfig(d.as(key), func(o *s3.Options) { o.UsePathStyle = true })
}

// heads are the head nodes that run.
func (d *double) heads() int {
	n := 0
	for _, i := range d.EC2.Instances() {
		if i.Tags["muster:role"] == manifest.RoleHead && (i.State == "running" || i.State == "pending") {
			n++
		}
	}
	return n
}

// user is somebody with a machine of their own, on which the real muster runs.
type user struct {
	d         *double
	home, dir string
}

func (d *double) newUser() *user {
	d.t.Helper()
	u := &user{d: d, home: d.t.TempDir(), dir: filepath.Join(d.t.TempDir(), name)}
	write := func(path, text string) {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			d.t.Fatal(err)
		}
	}
	write(filepath.Join(u.dir, "cluster.yaml"), plainFile)
	write(filepath.Join(u.dir, "muster.yaml"), workloadFile)
	write(filepath.Join(u.home, ".ssh", "id_ed25519.pub"), "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ6QG0bX0e4Yx0bH8gE0sFzB1Qq3j9w0s6m0b8F2x3yZ somebody\n")
	return u
}

// ended is a muster that ended.
type ended struct {
	code           int // -1 if it was killed
	stdout, stderr string
}

func (e ended) String() string {
	return fmt.Sprintf("exit code %d\n%s%s", e.code, e.stdout, e.stderr)
}

// patience is how long one command may take where the machine is busy.
const patience = 5 * time.Minute

// start starts muster. wait waits for its end.
func (u *user) start(args ...string) (process *os.Process, wait func() ended) {
	u.d.t.Helper()
	ctx, cancel := context.WithTimeout(u.d.t.Context(), patience)
	cmd := exec.CommandContext(ctx, program(u.d.t, "muster"), args...)
	cmd.Dir = u.dir
	cmd.Env = append(os.Environ(), u.d.Env()...)
	cmd.Env = append(cmd.Env, "HOME="+u.home, "MUSTER_HOME="+filepath.Join(u.home, "muster"))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		cancel()
		u.d.t.Fatal(err)
	}
	return cmd.Process, func() ended {
		err := cmd.Wait()
		if ctx.Err() != nil {
			u.d.t.Errorf("muster %s did not end within %v", strings.Join(args, " "), patience)
		}
		cancel()
		code := cmd.ProcessState.ExitCode()
		if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
			u.d.t.Errorf("muster %s: %v", strings.Join(args, " "), err)
		}
		return ended{code, stdout.String(), stderr.String()}
	}
}

func (u *user) run(args ...string) ended {
	u.d.t.Helper()
	_, wait := u.start(args...)
	return wait()
}

var (
	up   = []string{"up", "cluster.yaml", "--on", "aws", "--yes"}
	down = []string{"down", "--on", "aws", "--cluster", name, "--delete-data", "--yes"}
)

// must runs muster, which has to do what it is told.
func (u *user) must(when string, args ...string) ended {
	u.d.t.Helper()
	e := u.run(args...)
	if e.code != 0 {
		u.d.t.Fatalf("%s: muster %s: %v", when, args[0], e)
	}
	return e
}

// changes tells whether a call of a user's may change something.
func changes(c *wire.Call) bool {
	if c.Key != "test" {
		return false
	}
	for _, reads := range []string{"Describe", "Get", "List", "Head", "Simulate"} {
		if strings.HasPrefix(c.Operation(), reads) {
			return false
		}
	}
	return true
}

// killed runs muster, and kills it when its n-th call comes that changes something:
// before it is carried out, or after it was with its answer lost. It is false if
// muster ended before.
func (u *user) killed(n int, kind cloud.Kind, args ...string) (what string, hit bool) {
	u.d.t.Helper()
	ready := make(chan *os.Process, 1)
	var mu sync.Mutex // guards what and hit
	lift := u.d.Fail(cloud.Rule{Kind: kind, When: changes, Skip: n - 1, Times: 1, Then: func(c *wire.Call) {
		mu.Lock()
		defer mu.Unlock()
		defer func() { _ = (<-ready).Signal(syscall.SIGKILL) }() // nothing of it acts any more
		what, hit = fmt.Sprintf("%s of %s %s, call %d of %s", kind, c.Service, c.Operation(), n, args[0]), true
	}})
	process, wait := u.start(args...)
	ready <- process
	e := wait()
	lift()
	mu.Lock()
	defer mu.Unlock()
	if !hit && e.code != 0 {
		u.d.t.Fatalf("muster %s: %v", args[0], e)
	}
	if hit && e.code != -1 {
		u.d.t.Errorf("%s: muster ended by itself: %v", what, e)
	}
	return what, hit
}

// puppets stand in for head nodes until the test ends: there are no machines here.
// What a ready head node writes, a puppet writes, and it obeys orders to the fleet.
func (d *double) puppets() {
	p := &puppet{d: d}
	d.EC2.Hook(p.launched, p.ended)
	ctx, cancel := context.WithCancel(d.t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			p.speak(ctx)
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	d.t.Cleanup(func() {
		cancel()
		group.Wait()
	})
}

type puppet struct {
	d *double

	mu         sync.Mutex // guards what follows
	id, bucket string
}

var ticketBucket = regexp.MustCompile(`"bucket":"([^"]+)"`)

func (p *puppet) launched(i ec2.Instance) {
	m := ticketBucket.FindSubmatch(i.UserData)
	if i.Tags["muster:role"] != manifest.RoleHead || m == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.id, p.bucket = i.ID, string(m[1])
}

func (p *puppet) ended(i ec2.Instance) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.id == i.ID {
		p.id = ""
	}
}

// speak writes head.json as a head node does that runs what it was told.
func (p *puppet) speak(ctx context.Context) {
	p.mu.Lock()
	id, bucket := p.id, p.bucket
	p.mu.Unlock()
	client := p.d.s3("puppet")
	var s manifest.Site
	fleet := manifest.Fleet{Want: "running"}
	if id == "" || !p.read(ctx, client, bucket, manifest.SiteKey(name), &s) {
		return
	}
	p.read(ctx, client, bucket, manifest.FleetKey(name), &fleet)
	text, err := json.Marshal(manifest.HeadStatus{
		At: time.Now(), InstanceID: id, Revision: s.Revision, Phase: manifest.Ready, Version: s.Version,
		Cluster: &manifest.ClusterStatus{Fleet: fleet.Want},
	})
	if err != nil {
		panic(err) // a value of our own types
	}
	key := manifest.HeadKey(name)
	// A bucket that goes takes no more words.
	_, _ = client.PutObject(ctx, &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: bytes.NewReader(text)})
}

func (p *puppet) read(ctx context.Context, client *s3.Client, bucket, key string, into any) bool {
	out, err := client.GetObject(ctx, &s3.GetObjectInput{Bucket: &bucket, Key: &key})
	if err != nil {
		return false
	}
	defer out.Body.Close()
	text, err := io.ReadAll(out.Body)
	return err == nil && json.Unmarshal(text, into) == nil
}
