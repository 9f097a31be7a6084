package agent

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/muster-hpc/muster/internal/aws/manifest"
)

// bootStatus is what the head node says of itself: a manifest.HeadStatus that is put into the
// bucket whenever it changed, and now and then so that readers see that it lives.
type bootStatus struct {
	mu     sync.Mutex // guards what follows
	status manifest.HeadStatus
	// told is the text that the bucket has, without its time, and when it was put.
	told   string
	toldAt time.Time
	// revision is the site's for which steps are done, empty until that is read.
	revision string
}

// quiet is how old the bucket's status may become while it stays the same.
const quiet = 30 * time.Second

func newBootStatus(version, sum string) *bootStatus {
	return &bootStatus{status: manifest.HeadStatus{Version: version, Program: sum, Phase: manifest.Booting}}
}

// change changes the status.
func (b *bootStatus) change(f func(s *manifest.HeadStatus)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f(&b.status)
}

func (b *bootStatus) begin(name string) {
	b.change(func(s *manifest.HeadStatus) {
		s.Phase, s.Error, s.LogTail = manifest.Booting, "", nil
		s.Steps = append(slices.DeleteFunc(s.Steps, func(x manifest.Step) bool { return x.Name == name }), manifest.Step{Name: name, Revision: b.revision})
	})
}

func (b *bootStatus) done(name, detail string, took time.Duration) {
	b.change(func(s *manifest.HeadStatus) {
		for i := range s.Steps {
			if s.Steps[i].Name == name {
				s.Steps[i] = manifest.Step{Name: name, Detail: detail, Seconds: took.Seconds(), Done: true, Revision: b.revision}
			}
		}
	})
}

// anew begins steps whose revision is not known yet.
func (b *bootStatus) anew() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.revision = ""
}

// read says for which revision the steps are, also those just before.
func (b *bootStatus) read(revision string) {
	b.change(func(s *manifest.HeadStatus) {
		b.revision = revision
		for i := range s.Steps {
			if s.Steps[i].Revision == "" {
				s.Steps[i].Revision = revision
			}
		}
	})
}

func (b *bootStatus) fail(err error, tail []string) {
	b.change(func(s *manifest.HeadStatus) { s.Phase, s.Error, s.LogTail = manifest.Failed, err.Error(), tail })
}

func (b *bootStatus) ready(revision string) {
	b.change(func(s *manifest.HeadStatus) {
		s.Phase, s.Revision, s.Error, s.LogTail = manifest.Ready, revision, "", nil
	})
}

func (b *bootStatus) phase() manifest.Phase {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.status.Phase
}

// news is the text to put, false if the bucket has it and it is young.
func (b *bootStatus) news(now time.Time, id string) (text []byte, bare string, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.status
	s.InstanceID = id
	plain, err := json.Marshal(s)
	if err != nil || string(plain) == b.told && now.Sub(b.toldAt) < quiet {
		return nil, "", false
	}
	s.At = now
	text, err = json.Marshal(s)
	return text, string(plain), err == nil
}

func (b *bootStatus) put(bare string, at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.told, b.toldAt = bare, at
}

// publishWait bounds the time in which the status is put: it is never worth more.
const publishWait = 20 * time.Second

// publish puts the status into the bucket. A head node that cannot do that goes on.
func (h *headNode) publish(ctx context.Context) {
	if h.bucket == nil {
		return // the machine is not identified yet
	}
	h.introduce()
	now := time.Now().UTC()
	text, bare, ok := h.status.news(now, h.identity.InstanceID)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, publishWait)
	defer cancel()
	if err := h.put(ctx, manifest.HeadKey(h.Ticket.Cluster), text); err != nil {
		h.Log.Warn("status not put into the bucket", "error", err)
		return
	}
	h.status.put(bare, now)
}

// lookEvery is how often the head node looks at Slurm for its status.
const lookEvery = 5 * time.Second

// watch serves until ctx ends: it says how the cluster is, keeps the services
// supervised, and takes up new revisions.
func (h *headNode) watch(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	polled, tried := time.Now(), time.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if time.Since(polled) >= h.Limits.Poll {
			h.poll(ctx)
			polled = time.Now()
		}
		switch {
		case h.status.phase() == manifest.Ready:
			h.observe(ctx)
		case h.again && time.Since(tried) >= h.Limits.Again:
			h.again = false
			h.tryBoot(ctx)
			tried = time.Now()
		}
		h.publish(ctx)
	}
}

// observe puts the state of Slurm and of the services into the status.
func (h *headNode) observe(ctx context.Context) {
	h.keep(ctx)
	if err := h.account(ctx); err != nil {
		h.Log.Warn("accounting is not taken up", "error", err)
	}
	h.accountsAgain(ctx)
	status, err := h.look(ctx)
	if err != nil {
		status = manifest.ClusterStatus{Fleet: "unknown", Why: err.Error(), Nodes: map[string]int{}, Jobs: map[string]int{}}
	}
	if err := h.obey(ctx, status.Fleet); err != nil {
		h.Log.Warn("the wish for the fleet is not done", "error", err)
	}
	if err := h.try(ctx); err != nil {
		h.Log.Warn("the test job is not run", "error", err)
	}
	for _, why := range []string{h.poor, h.unset, h.exposed} {
		if why != "" {
			status.Look = append(status.Look, why)
		}
	}
	status.Look = append(status.Look, h.cluster.ignored...)
	status.Services = h.serviceStates()
	for _, s := range status.Services {
		if !s.Ready {
			status.Look = append(status.Look, s.Name+" does not answer")
		}
	}
	h.status.change(func(s *manifest.HeadStatus) { s.Cluster = &status })
}

// poll looks for a new revision and applies it.
func (h *headNode) poll(ctx context.Context) {
	if h.bucket == nil {
		return
	}
	at, err := h.bucket.Head(ctx, manifest.SiteKey(h.Ticket.Cluster))
	if err != nil {
		h.Log.Warn("no look at the site", "error", err)
		return
	}
	if h.cluster != nil && at.Version == h.cluster.version {
		return
	}
	if err := h.update(ctx); err != nil && ctx.Err() == nil {
		h.Log.Error("update failed", "error", err)
		h.status.fail(err, strings.Split(err.Error(), "\n"))
	}
	h.publish(ctx)
}
