package placetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/place"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/say/step"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/status"
	"github.com/muster-hpc/muster/internal/sys/tie"
)

// Moon is a place for tests. Its clusters are files of a home, and their head nodes this
// machine.
type Moon struct{}

var _ place.Place = Moon{}

// Name implements place.Place.
func (Moon) Name() string { return "moon" }

// On implements place.Place.
func (Moon) On() string { return "on the moon" }

// Here implements place.Place.
func (Moon) Here() error { return nil }

// Kept implements place.Place.
func (Moon) Kept(string) []place.Kept { return nil }

// Asks implements place.Place.
func (Moon) Asks() bool { return false }

// Lacks implements place.Place.
func (Moon) Lacks(string, string) bool { return false }

func moonFile(home, name string) string { return filepath.Join(home, "moon.d", name) }

// Known implements place.Place.
func (Moon) Known(home string) ([]place.Known, error) {
	entries, err := os.ReadDir(moonFile(home, ""))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var all []place.Known
	for _, e := range entries {
		all = append(all, place.Known{Name: e.Name()})
	}
	return all, err
}

// Look implements place.Place.
func (m Moon) Look(_ context.Context, q place.Query) ([]status.Cluster, error) {
	known, err := m.Known(q.Home)
	var all []status.Cluster
	for _, k := range known {
		if q.Name == "" || q.Name == k.Name {
			all = append(all, status.Cluster{Name: k.Name, Place: "moon", State: "up", Healthy: true})
		}
	}
	return all, err
}

// Open implements place.Place.
func (Moon) Open(home, name string, t place.Talk) (place.Cluster, error) {
	return moonCluster{moonFile(home, name), name, t}, nil
}

// Read implements place.Place.
func (Moon) Read(_ context.Context, f place.Files, t place.Talk) (place.Wanted, error) {
	text, err := place.ReadCluster(f, t)
	if err != nil {
		return nil, err
	}
	_, problems := spec.Parse(f.Cluster, text)
	return moonWanted{t}, t.Problems(problems)
}

type moonWanted struct{ talk place.Talk }

// Up implements place.Wanted.
func (w moonWanted) Up(_ context.Context, o place.UpOptions) (place.Answer, error) {
	s := step.Series{Report: w.talk.Report()}
	err := s.Do("land", func() (string, error) {
		file := moonFile(o.Home, o.Name)
		return "", errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, nil, 0o600))
	})
	return place.Answer{Cluster: o.Name, Steps: s.Done}, err
}

type moonCluster struct {
	file, name string
	talk       place.Talk
}

// Taken implements place.Cluster.
func (c moonCluster) Taken(place.Other) error {
	return fault.Usage(fmt.Errorf("cluster %s is on the moon: choose another name with --cluster", c.name))
}

// Near implements place.Cluster.
func (moonCluster) Near() place.Near { return nil }

// Enter implements place.Cluster. Commands of muster's answer nothing but a job's ID.
func (c moonCluster) Enter(ctx context.Context, p place.Program) error {
	if _, err := os.Stat(c.file); err != nil {
		return c.talk.None(c.name)
	}
	if p.Args[0] == services.Muster {
		if p.Output != nil {
			_, err := io.WriteString(p.Output, "1\n")
			return err
		}
		return c.talk.Answer("1")
	}
	cmd := exec.CommandContext(ctx, p.Args[0], p.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if p.Output != nil {
		cmd.Stdout = p.Output
	}
	return tie.Ended(cmd.Run())
}

// Shell implements place.Cluster.
func (c moonCluster) Shell(ctx context.Context, _ string, _ place.Way) error {
	return c.Enter(ctx, place.Program{Args: []string{"/bin/sh"}})
}

// SSH implements place.Cluster.
func (c moonCluster) SSH(context.Context, place.SSHOptions) error {
	return c.talk.Answer("ssh moon")
}

// HostKeys implements place.Cluster: those that are written in the cluster's file.
func (c moonCluster) HostKeys(context.Context) ([]string, error) {
	text, err := os.ReadFile(c.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, c.talk.None(c.name)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n"), err
}

// S3 implements place.Cluster.
func (c moonCluster) S3(context.Context) (place.S3, error) {
	if _, err := os.Stat(c.file); err != nil {
		return place.S3{}, c.talk.None(c.name)
	}
	return place.S3{}, nil
}

// Send implements place.Cluster.
func (moonCluster) Send(_ context.Context, script string, _ []byte) (string, error) {
	return script, nil
}

// Fleet implements place.Cluster.
func (moonCluster) Fleet(context.Context, client.FleetOrder) error { return nil }

// Down implements place.Cluster.
func (c moonCluster) Down(_ context.Context, o place.DownOptions) (place.Answer, error) {
	if !o.Yes {
		if err := c.talk.Confirm("Take it down?"); err != nil {
			return place.Answer{}, err
		}
	}
	s := step.Series{Report: c.talk.Report()}
	err := s.Do("leave", func() (string, error) { return "", os.Remove(c.file) })
	return place.Answer{Cluster: c.name, Steps: s.Done}, err
}
