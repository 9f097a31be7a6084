package controller_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-hpc/muster/internal/aws/join"
	"github.com/muster-hpc/muster/internal/controller"
)

// A partition that somebody else made inactive stays so.
func TestStart_opens_what_it_closed(t *testing.T) {
	playWith(t, costly, func(t *testing.T, s *scene) {
		if err := s.slurm.SetPartition(t.Context(), "p", "INACTIVE"); err != nil {
			t.Fatal(err)
		}
		if err := s.now.Stop(false); err != nil {
			t.Fatal(err)
		}
		within(t, time.Minute, "closed", func() bool { return s.slurm.partition("q") == "INACTIVE" })
		if err := s.slurm.SetPartition(t.Context(), "q", "UP"); err != nil { // as a slurmctld that starts anew does
			t.Fatal(err)
		}
		within(t, time.Minute, "closed again", func() bool { return s.slurm.partition("q") == "INACTIVE" })
		if err := s.now.Start(); err != nil {
			t.Fatal(err)
		}
		within(t, time.Minute, "open", func() bool { return s.slurm.partition("q") == "UP" })
		<-time.After(time.Hour)
		if got := s.slurm.partition("p"); got != "INACTIVE" {
			t.Errorf("the other partition is %s", got)
		}
	}, "q-dy-r-1", "p-dy-r-1")
}

func TestStop_counts_only_when_it_is_kept(t *testing.T) {
	playWith(t, func(s *scene) { costly(s); s.config.State = "/nonexistent/fleet.json" }, func(t *testing.T, s *scene) {
		if err := s.now.Stop(true); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("got %v", err)
		}
		if status, err := s.now.Status(t.Context()); err != nil || status.Fleet != "running" {
			t.Errorf("the fleet is %s, %v", status.Fleet, err)
		}
		synctest.Wait()
	}, "q-dy-r-1")
}

func TestRun_does_not_guess_what_was_decided(t *testing.T) {
	dir := t.TempDir()
	half, pipe := filepath.Join(dir, "half.json"), filepath.Join(dir, "pipe.json")
	if err := errors.Join(os.WriteFile(half, []byte("{"), 0o600), syscall.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{half, pipe} {
		c := controller.New(controller.Config{State: path})
		if err := c.Run(t.Context()); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestServeNodes(t *testing.T) {
	c := controller.New(controller.Config{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- c.ServeNodes(ctx, l, join.Munge{Socket: "/nonexistent"}) }()
	for path, want := range map[string]int{"/v1/join": http.StatusUnauthorized, "/v1/failed": http.StatusUnauthorized, "/v1/resume": http.StatusNotFound, "/v1/fleet/stop": http.StatusNotFound} {
		resp, err := http.Post("http://"+l.Addr().String()+path, "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %s, want %d", path, resp.Status, want)
		}
	}
	cancel()
	select {
	case err := <-served:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("it goes on")
	}
}
