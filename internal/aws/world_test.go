package aws_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/aws"
	"github.com/muster-hpc/muster/internal/aws/api"
	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/lint"
	"github.com/muster-hpc/muster/internal/place"
	"github.com/muster-hpc/muster/internal/say/step"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/store"
	double "github.com/muster-hpc/muster/test/cloud"
	"github.com/muster-hpc/muster/test/cloud/wire"
)

const region = "us-east-2"

// atOnce is how many tests run at the same time: they wait for looks that are seconds apart, and compute little.
const atOnce = 4

func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", strconv.Itoa(atOnce)); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// world is an account of the double, with something in place of a head node.
type world struct {
	*double.Cloud
	t       *testing.T
	home    string
	account *api.Account
	// program is a file in the place of muster's build.
	program string
	// static is how many nodes of the cluster are always on, test what is tested.
	static int
	// says changes what the head node says of the cluster, if there is one.
	says func(*manifest.ClusterStatus)
	test aws.Test
}

func newWorld(t *testing.T) *world { return newWorldOf(t, double.Options{Region: region, Speed: 600}) }

func newWorldOf(t *testing.T, o double.Options) *world {
	t.Helper()
	t.Parallel()
	w := &world{Cloud: double.Start(t, o), t: t, home: t.TempDir()}
	w.Handle("s3", bucketPolicies{})
	w.account = api.Of(w.Config())
	w.program = filepath.Join(w.home, "muster-linux")
	if err := os.WriteFile(w.program, []byte("a build of muster"), 0o600); err != nil {
		t.Fatal(err)
	}
	return w
}

// bucketPolicies takes policies of buckets and forgets them: moto takes a Deny under
// a condition for one without.
type bucketPolicies struct{}

func (bucketPolicies) Answer(_ context.Context, c *wire.Call) (*wire.Answer, bool) {
	if !c.Request.URL.Query().Has("policy") {
		return nil, false
	}
	return &wire.Answer{Status: http.StatusNoContent}, true
}

// told is a reporter that remembers.
type told struct {
	t     *testing.T
	mu    sync.Mutex // guards what follows
	notes []string
	steps []step.Step

	// on, if there is one, is called for each note, and after for each step that is done.
	on    func(note string)
	after func(s step.Step)
	// waits, if there is one, is called when something takes time.
	waits func(name, what string)
}

func (r *told) Begin(string) {}
func (r *told) Waiting(name, what string, _ time.Duration) {
	if r.waits != nil {
		r.waits(name, what)
	}
}
func (r *told) Note(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notes = append(r.notes, line)
	r.t.Log("      ", line)
	if r.on != nil {
		r.on(line)
	}
}
func (r *told) Done(s step.Step) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.steps = append(r.steps, s)
	r.t.Logf("%6.2f s %s: %s", s.Seconds, s.Name, s.Detail)
	if r.after != nil {
		r.after(s)
	}
}

const plainFile = `Region: us-east-2
Image: {Os: alinux2023}
HeadNode:
  InstanceType: c5.large
  Ssh: {AllowedIps: 192.0.2.0/24}
Scheduling:
  Scheduler: slurm
  SlurmQueues:
    - Name: q
      ComputeResources:
        - {Name: r, InstanceType: c5.large, MinCount: 0, MaxCount: 4}
`

// missing is a muster.yaml that is not there.
const missing = "missing"

// up brings a cluster up and returns the plan that was shown.
func (w *world) up(ctx context.Context, text, workload string, r *told) (*aws.Plan, error) {
	w.t.Helper()
	file := spec.OpenText("cluster.yaml", []byte(text), spec.Options{AWS: true})
	file.Finish()
	if file.Problems.HasErrors() {
		w.t.Fatalf("the file has errors: %v", file.Problems.All())
	}
	source := []byte(workload)
	if workload == missing {
		workload, source = "", nil
	}
	work, problems := spec.ParseWorkload("muster.yaml", []byte("Run: {Hours: 1}\n"+workload), file.Cluster)
	if problems.HasErrors() {
		w.t.Fatalf("muster.yaml has errors: %v", problems.All())
	}
	wanted := lint.Wanted(file)
	wanted.Cluster = "demo"
	have, err := w.account.Survey(ctx, wanted)
	if err != nil {
		return nil, err
	}
	var plan *aws.Plan
	_, err = aws.Up(ctx, aws.UpOptions{
		Name: "demo", Home: w.home, Version: "test", Account: w.account, Inventory: have, File: file, Path: "/w/cluster.yaml", Workload: work,
		Source: []byte(text), WorkloadSource: source, Report: r, HeadSilence: 20 * time.Second, Test: w.test,
		Programs:  map[string]string{"amd64": w.program},
		PublicKey: []byte("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ6QG0bX0e4Yx0bH8gE0sFzB1Qq3j9w0s6m0b8F2x3yZ somebody"),
		Address:   func(context.Context) (netip.Addr, error) { return netip.Addr{}, errors.New("no network in tests") },
		Confirm: func(p *aws.Plan) error {
			plan = p
			return nil
		},
	})
	return plan, err
}

func (w *world) down(ctx context.Context, deleteData bool, r *told) ([]place.Left, error) {
	w.t.Helper()
	_, left, err := aws.Down(ctx, aws.DownOptions{Name: "demo", Home: w.home, Account: w.account, DeleteData: deleteData, Report: r})
	return left, err
}

// makeBucket makes a bucket that is no cluster's.
func (w *world) makeBucket(name string) {
	w.t.Helper()
	b, err := store.Open(w.t.Context(), store.Config{Endpoint: w.URL, Region: region, Credentials: w.account.Config().Credentials, Bucket: name})
	if err == nil {
		err = b.MakeBucket(w.t.Context())
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// heads stands in for head nodes until the test ends: it says of each cluster that
// is described in the bucket that it runs, and obeys.
func (w *world) heads() {
	ctx, cancel := context.WithCancel(w.t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		for ctx.Err() == nil {
			w.head(ctx)
			select {
			case <-ctx.Done():
			case <-time.After(200 * time.Millisecond):
			}
		}
	})
	w.t.Cleanup(func() {
		cancel()
		group.Wait()
	})
}

func (w *world) head(ctx context.Context) {
	record, err := aws.RecordOf(w.home, "demo")
	if err != nil || record.Bucket == "" {
		return
	}
	instances, err := w.account.Instances(ctx, "demo")
	if err != nil {
		return
	}
	id := ""
	for _, i := range instances {
		if i.Role == manifest.RoleHead && i.State == "running" {
			id = i.ID
		}
	}
	b, err := store.Open(ctx, store.Config{Endpoint: w.URL, Region: region, Credentials: w.account.Config().Credentials, Bucket: record.Bucket})
	if id == "" || err != nil {
		return
	}
	var s manifest.Site
	var fleet manifest.Fleet
	read(ctx, b, manifest.SiteKey("demo"), &s)
	read(ctx, b, manifest.FleetKey("demo"), &fleet)
	var trial manifest.Trial
	read(ctx, b, manifest.TrialKey("demo"), &trial)
	status := manifest.HeadStatus{
		At: time.Now(), InstanceID: id, Revision: s.Revision, Phase: manifest.Ready, Version: "test", Program: s.Programs["amd64"].SHA256,
		Cluster: &manifest.ClusterStatus{Fleet: "running", Nodes: map[string]int{"idle": 2}, Static: &manifest.StaticNodes{Want: w.static, Ready: w.static}},
	}
	if trial.ID != "" {
		status.Trial = &manifest.TrialResult{ID: trial.ID, Nodes: []string{trial.Queue + "-" + trial.Constraint}}
	}
	if fleet.Want != "" {
		status.Cluster.Fleet = fleet.Want
	}
	if w.says != nil {
		w.says(status.Cluster)
	}
	text, err := json.Marshal(status)
	if err != nil || s.Revision == "" {
		return
	}
	_, _ = b.Put(ctx, store.Upload{Key: manifest.HeadKey("demo"), Body: strings.NewReader(string(text)), SizeBytes: int64(len(text))}) // next time
}

func read(ctx context.Context, b store.Store, key string, into any) {
	body, _, err := b.Get(ctx, key)
	if err != nil {
		return
	}
	defer body.Close()
	if text, err := io.ReadAll(body); err == nil {
		_ = json.Unmarshal(text, into) // what is not there yet stays empty
	}
}
