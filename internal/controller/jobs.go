package controller

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/muster-hpc/muster/internal/controller/client"
)

// keeper is what keeps jobs.
type keeper interface {
	// Reports are what is known of all kept jobs, and Report of one, nil if it is not kept.
	Reports() []client.JobReport
	Report(id int) *client.JobReport
	// Adopt keeps a job. It refuses others than root and the job's owner with client.ErrNotTheirs.
	Adopt(ctx context.Context, id, caller int, r client.AdoptRequest) error
	// Wake has it look at jobs now.
	Wake()
}

// secrets keeps what jobs may know and nobody else.
type secrets interface {
	// Keep keeps the secrets of a job. It refuses others than the job's owner with client.ErrNotTheirs.
	Keep(ctx context.Context, id, caller int, values map[string][]byte) error
}

// jobRoutes are for all users: each sees his own jobs, and users all.
func (c *Controller) jobRoutes(users []int) http.Handler {
	mux := http.NewServeMux()
	sees := func(r *http.Request, j client.JobReport) bool {
		caller := callerOf(r)
		return slices.Contains(users, caller) || caller == j.UID
	}
	mux.HandleFunc("GET /v1/jobs", func(w http.ResponseWriter, r *http.Request) {
		all := slices.DeleteFunc(c.Kept.Reports(), func(j client.JobReport) bool { return !sees(r, j) })
		answer(w, all, nil)
	})
	mux.HandleFunc("GET /v1/jobs/{id}", func(w http.ResponseWriter, r *http.Request) {
		id, _ := strconv.Atoi(r.PathValue("id"))
		j := c.Kept.Report(id)
		if j == nil || !sees(r, *j) {
			http.Error(w, "it is not kept", http.StatusNotFound)
			return
		}
		answer(w, j, nil)
	})
	mux.HandleFunc("POST /v1/jobs/{id}/adopt", func(w http.ResponseWriter, r *http.Request) {
		var req client.AdoptRequest
		if !read(w, r, &req) {
			return
		}
		id, _ := strconv.Atoi(r.PathValue("id"))
		err := c.Kept.Adopt(r.Context(), id, callerOf(r), req)
		if errors.Is(err, client.ErrNotTheirs) {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		done(w, err)
	})
	if c.Secrets != nil {
		mux.HandleFunc("POST /v1/jobs/{id}/secrets", c.keepSecrets)
	}
	return mux
}

// keepSecrets takes the secrets of a job of the caller's.
func (c *Controller) keepSecrets(w http.ResponseWriter, r *http.Request) {
	var req client.SecretsRequest
	if !read(w, r, &req) {
		return
	}
	id, _ := strconv.Atoi(r.PathValue("id"))
	err := c.Secrets.Keep(r.Context(), id, callerOf(r), req.Values)
	if errors.Is(err, client.ErrNotTheirs) {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	done(w, err)
}

// callerOf is the user who asks, as the kernel names him, -1 if unknown.
func callerOf(r *http.Request) int {
	if uid, ok := r.Context().Value(peerKey{}).(int); ok {
		return uid
	}
	return -1
}

// JobEvent adds an event about a job.
func (e *Events) JobEvent(job int, kind string, nodes []string, reason, hint string) {
	e.Add(Event{Job: job, Kind: kind, Nodes: nodes, Reason: reason, Hint: hint})
}
