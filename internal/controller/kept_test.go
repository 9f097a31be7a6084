package controller_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/controller"
	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/provider/providertest"
)

// keptJobs are one of the caller's and one of another user's.
type keptJobs struct{ mine int }

func (k keptJobs) Reports() []client.JobReport {
	return []client.JobReport{{ID: 1, UID: k.mine}, {ID: 2, UID: k.mine + 1}}
}

func (k keptJobs) Report(id int) *client.JobReport {
	if id < 1 || id > 2 {
		return nil
	}
	return &k.Reports()[id-1]
}

func (k keptJobs) Adopt(_ context.Context, id, caller int, _ client.AdoptRequest) error {
	if j := k.Report(id); j != nil && j.UID == caller {
		return nil
	}
	return client.ErrNotTheirs
}

func (keptJobs) Wake() {}

// Keep implements the keeping of secrets.
func (k keptJobs) Keep(_ context.Context, id, caller int, values map[string][]byte) error {
	if j := k.Report(id); j != nil && j.UID == caller && string(values["A"]) == "b\xff" {
		return nil
	}
	return client.ErrNotTheirs
}

// Each user asks about his own jobs, and those who may change the fleet about all.
func TestJobsOfUsers(t *testing.T) {
	mine := os.Getuid()
	for name, row := range map[string]struct {
		mayAll, sees int
		others       int
	}{
		"of_the_cluster": {mine, 2, http.StatusOK},
		"any":            {mine + 7, 1, http.StatusNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			socket, err := controller.Listen(filepath.Join(dir, client.Socket))
			if err != nil {
				t.Fatal(err)
			}
			place := providertest.New("q-dy-r-1")
			world := newSlurm(place, "q-dy-r-1")
			c := controller.New(controller.Config{Fleet: place, Slurm: world, Jobs: world, Partitions: world, Limits: limits, Kept: keptJobs{mine}, Secrets: keptJobs{mine}, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
			ctx, cancel := context.WithCancel(t.Context())
			served := make(chan error, 1)
			go func() { served <- c.Serve(ctx, socket, []int{row.mayAll}) }()
			defer func() { cancel(); <-served }()
			ask := client.In(dir)
			all, err := ask.Jobs(t.Context())
			if err != nil || len(all) != row.sees {
				t.Errorf("got %+v, %v", all, err)
			}
			if j, err := ask.Job(t.Context(), 1); err != nil || j == nil || j.ID != 1 {
				t.Errorf("my own: %+v, %v", j, err)
			}
			if j, err := ask.Job(t.Context(), 2); err != nil || (j != nil) != (row.others == http.StatusOK) {
				t.Errorf("another's: %+v, %v", j, err)
			}
			if err := ask.Adopt(t.Context(), 1, client.AdoptRequest{}); err != nil {
				t.Errorf("adopt my own: %v", err)
			}
			secrets := client.SecretsRequest{Values: map[string][]byte{"A": []byte("b\xff")}}
			if err := ask.KeepSecrets(t.Context(), 1, secrets); err != nil {
				t.Errorf("secrets of my own: %v", err)
			}
			if err := ask.KeepSecrets(t.Context(), 2, secrets); err == nil || !strings.Contains(err.Error(), "not yours") {
				t.Errorf("secrets of another's: %v", err)
			}
			if err := ask.Adopt(t.Context(), 2, client.AdoptRequest{}); err == nil || !strings.Contains(err.Error(), "not yours") {
				t.Errorf("adopt another's: %v", err)
			}
		})
	}
}
