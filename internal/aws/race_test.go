package aws_test

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/muster-hpc/muster/internal/aws/cloudformation"
	"github.com/muster-hpc/muster/internal/place"
	"github.com/muster-hpc/muster/internal/say/step"
	double "github.com/muster-hpc/muster/test/cloud"
	"github.com/muster-hpc/muster/test/cloud/wire"
)

// halfMade stops CloudFormation when a bucket and a log group are made and the stack does not
// list them yet.
type halfMade struct {
	bucket string
	held   chan struct{} // has one for each of the two
	let    chan struct{} // is closed to let CloudFormation go on
}

func (h halfMade) Answer(ctx context.Context, c *wire.Call) (*wire.Answer, bool) {
	operation := c.Operation()
	if operation == "PutRetentionPolicy" || operation == "PutBucketEncryption" && strings.Contains(c.Request.URL.Path, h.bucket) {
		select {
		case h.held <- struct{}{}:
		default:
		}
		select {
		case <-h.let:
		case <-ctx.Done():
		}
	}
	return nil, false
}

// TestUpMeetsItsOwnBucket kills `up` while the base stack is being made. The bucket and the
// log group that are not listed yet are the cluster's own for the next `up`.
func TestUpMeetsItsOwnBucket(t *testing.T) {
	w := newWorld(t)
	w.heads()
	let := w.killedUp(work)
	waited := ""
	r := &told{t: t, after: func(s step.Step) {
		if s.Name == "compare with what is there" { // too late
			let()
		}
	}, waits: func(name, what string) {
		waited = cmp.Or(waited, name+": "+what)
		let()
	}}
	plan, err := w.up(t.Context(), plainFile, work, r)
	if err != nil {
		t.Fatal(err)
	}
	if want := "stack demo-base: create in progress"; waited != want {
		t.Errorf("waited for %q, want %q", waited, want)
	}
	if plan.Stacks[0].Action != "keep" {
		t.Errorf("what the first up has made is to be changed: %+v", plan.Stacks[0])
	}
	if has := w.has("demo-base"); !slices.Contains(has, "DataBucket1") || !slices.Contains(has, "LogGroup") {
		t.Errorf("the stack has no more than %q", has)
	}
	w.empty()
}

// work has a bucket of the cluster's own.
const work = "Buckets: [demo-results]\n"

// killedUp kills `up` while the base stack is being made, and stops CloudFormation where a
// bucket and a log group are made and not listed, until let is called.
func (w *world) killedUp(work string) (let func()) {
	w.t.Helper()
	h := halfMade{bucket: "demo-results", held: make(chan struct{}, 2), let: make(chan struct{})}
	w.Handle("s3", h)
	w.Handle("logs", h)
	ctx, kill := context.WithCancel(w.t.Context())
	defer kill()
	lift := w.Fail(double.Rule{Operation: "ExecuteChangeSet", Kind: double.Delayed, Then: func(*wire.Call) { kill() }})
	if _, err := w.up(ctx, plainFile, work, &told{t: w.t}); err == nil {
		w.t.Fatal("the first up was not killed")
	}
	lift()
	<-h.held
	<-h.held
	return sync.OnceFunc(func() { close(h.let) })
}

// TestDownMeetsABucketThatIsBeingMade takes a cluster down right after an `up` that was
// killed: it names the bucket that was just being made among those that it keeps.
func TestDownMeetsABucketThatIsBeingMade(t *testing.T) {
	w := newWorld(t)
	let := w.killedUp(work)
	details := map[string]string{}
	r := &told{t: t, after: func(s step.Step) {
		details[s.Name] = s.Detail
		let() // too late
	}, waits: func(string, string) { let() }}
	left, err := w.down(t.Context(), false, r)
	if err != nil {
		t.Fatal(err)
	}
	if got := details["delete buckets and keys"]; got != "2 buckets kept" {
		t.Errorf("it says of buckets %q", got)
	}
	if !slices.ContainsFunc(left, func(l place.Left) bool {
		return strings.Contains(l.ID, "demo-results") && l.Why == "buckets go with --delete-data"
	}) {
		t.Errorf("left are %+v", left)
	}
}

// has are the names of the resources of a stack.
func (w *world) has(stack string) []string {
	w.t.Helper()
	all, err := cloudformation.New(w.account.Config()).Resources(w.t.Context(), stack)
	if err != nil {
		w.t.Fatal(err)
	}
	var names []string
	for _, r := range all {
		names = append(names, r.Name)
	}
	return names
}

// TestUpAfterARollback brings a cluster up after its base stack was rolled back. The bucket
// that the rollback has left does not stop it.
func TestUpAfterARollback(t *testing.T) {
	w := newWorld(t)
	w.heads()
	w.Formation.FailResource("demo-base", "DataBucket1Policy", "no")
	if _, err := w.up(t.Context(), plainFile, work, &told{t: t}); err == nil {
		t.Fatal("the first up did not fail")
	}
	w.Formation.Heal("demo-base", "DataBucket1Policy")
	if _, err := w.up(t.Context(), plainFile, work, &told{t: t}); err != nil {
		t.Fatal(err)
	}
	w.empty()
}
