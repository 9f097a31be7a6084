// Package status says how a cluster is and what of it needs a look, the same for
// clusters of all places: what its services, its Slurm and its controller say of
// themselves. Each place has its own look, which uses this one.
package status

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/say/page"
)

// Cluster is one cluster. What could not be looked at is absent, and the
// reason is in Blind.
type Cluster struct {
	Name string `json:"name"`
	// Place is local or aws.
	Place string `json:"place"`
	// State is up, starting or stopped, or unreadable where its record is; on AWS also creating, changing, failed,
	// removing, half made, gone or unknown.
	State string `json:"state"`
	// Healthy says that Look and Blind are empty.
	Healthy bool `json:"healthy"`
	// File is the cluster file, User who made the cluster, Since when its head
	// node was started.
	File     string                `json:"file,omitempty"`
	Dir      string                `json:"dir"`
	User     string                `json:"user,omitempty"`
	Since    time.Time             `json:"since,omitzero"`
	Services []Service             `json:"services,omitempty"`
	Nodes    *Nodes                `json:"nodes,omitempty"`
	Jobs     *Jobs                 `json:"jobs,omitempty"`
	Mounts   []Mount               `json:"mounts,omitempty"`
	S3       *S3                   `json:"s3,omitempty"`
	Exports  []client.ExportStatus `json:"exports,omitempty"`
	// Own are its properties at this kind of place alone: in JSON they have the place's name.
	Own Own `json:"-"`
	// Look says what needs a look, Blind what did not answer.
	Look  []string `json:"look,omitempty"`
	Blind []string `json:"blind,omitempty"`
}

// Own are properties of a cluster that only one kind of place has.
type Own interface {
	// Show adds it to a table for people.
	Show(t *page.Table)
}

// Nodes are all nodes of a cluster by what they do.
type Nodes struct {
	Total  int          `json:"total"`
	States []NodesState `json:"states"`
}

// NodesState are the nodes in one state.
type NodesState struct {
	State string `json:"state"`
	Count int    `json:"count"`
	// Nodes is a host list.
	Nodes string `json:"nodes"`
}

// Jobs counts the jobs that have not ended.
type Jobs struct {
	Running    int `json:"running"`
	Starting   int `json:"starting"`
	Completing int `json:"completing"`
	Suspended  int `json:"suspended"`
	Pending    int `json:"pending"`
}

// Text says it for people, who call the queue pending or waiting.
func (j Jobs) Text(pending string) string {
	parts := []string{fmt.Sprintf("%d running", j.Running)}
	for _, x := range []struct {
		n    int
		what string
	}{{j.Starting, "starting"}, {j.Completing, "completing"}, {j.Suspended, "suspended"}} {
		if x.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", x.n, x.what))
		}
	}
	return strings.Join(append(parts, fmt.Sprintf("%d %s", j.Pending, pending)), ", ")
}

// Mount is a file system that every node sees.
type Mount struct {
	Path string `json:"path"`
	// Dir is where its files lie on this machine.
	Dir       string `json:"dir"`
	UsedBytes int64  `json:"used_bytes"`
	// AtLeast says that there was no time to count all files.
	AtLeast   bool  `json:"at_least,omitempty"`
	FreeBytes int64 `json:"free_bytes"`
}

// S3 is the cluster's own S3 server, as jobs see it.
type S3 struct {
	Endpoint string   `json:"endpoint"`
	Buckets  []string `json:"buckets"`
}

// Service is a service of a machine of the cluster.
type Service struct {
	Name string `json:"name"`
	// Phase is waiting, starting or ready, and Since when it is that.
	Phase    string    `json:"phase"`
	PID      int       `json:"pid,omitempty"`
	Since    time.Time `json:"since"`
	Restarts int       `json:"restarts"`
	// Last says how the last run ended.
	Last string `json:"last,omitempty"`
}

// LastRun says how the service's last run ended.
func (s Service) LastRun() string {
	if s.Last == "" {
		return ""
	}
	return ", its last run " + s.Last
}

// Ready is the phase of a service that answers.
const Ready = "ready"

// All looks at many clusters at the same time. They stay in their order.
func All[T any](those []T, look func(T) Cluster) []Cluster {
	all := make([]Cluster, len(those))
	var group sync.WaitGroup
	for i, t := range those {
		group.Go(func() { all[i] = look(t) })
	}
	group.Wait()
	return all
}

// Needs adds what needs a look.
func (c *Cluster) Needs(format string, args ...any) {
	c.Look = append(c.Look, fmt.Sprintf(format, args...))
}

// Unseen adds what did not answer.
func (c *Cluster) Unseen(format string, args ...any) {
	c.Blind = append(c.Blind, fmt.Sprintf(format, args...))
}

// Judge says whether all is well: nothing needs a look, and all was seen.
func (c *Cluster) Judge() { c.Healthy = len(c.Look)+len(c.Blind) == 0 }

// MarshalJSON adds Own under the place's name.
func (c Cluster) MarshalJSON() ([]byte, error) {
	type plain Cluster
	text, err := encode(plain(c))
	if err != nil || c.Own == nil {
		return text, err
	}
	own, err := encode(map[string]any{c.Place: c.Own})
	return slices.Concat(text[:len(text)-1], []byte(","), own[1:]), err
}

// encode writes a value as JSON for people, who read < and > as such.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	to := json.NewEncoder(&b)
	to.SetEscapeHTML(false)
	err := to.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}
