package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/fleet"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/sys/peer"
)

const requestLimit = 16 << 20

type peerKey struct{}

// Serve answers on the socket until ctx ends. Only users may ask for changes.
func (c *Controller) Serve(ctx context.Context, socket net.Listener, users []int) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/resume", func(w http.ResponseWriter, r *http.Request) {
		c.handover(w, r, "resume requested", c.Resume)
	})
	mux.HandleFunc("POST /v1/suspend", func(w http.ResponseWriter, r *http.Request) {
		c.handover(w, r, "suspend requested", func([]string, []fleet.PendingJob) { c.Wake() })
	})
	mux.HandleFunc("POST /v1/fleet/start", func(w http.ResponseWriter, _ *http.Request) { accept(w, c.Start()) })
	mux.HandleFunc("POST /v1/fleet/stop", c.stop)
	mux.HandleFunc("GET /v1/status", func(w http.ResponseWriter, r *http.Request) {
		status, err := c.Status(r.Context())
		answer(w, status, err)
	})
	mux.HandleFunc("POST /v1/await", c.await)
	mux.HandleFunc("POST /v1/settle", c.serveSettle)
	if c.Share != nil {
		mux.HandleFunc("POST /v1/share", c.share)
	}
	mux.HandleFunc("POST /v1/connect/{service}", c.connect)
	if c.Refresh != nil {
		mux.HandleFunc("POST /v1/refresh", func(w http.ResponseWriter, _ *http.Request) { done(w, c.Refresh()) })
	}
	if c.Exports != nil {
		mux.HandleFunc("GET /v1/exports", func(w http.ResponseWriter, _ *http.Request) { answer(w, c.Exports.Status(), nil) })
		mux.HandleFunc("POST /v1/exports/flush", func(w http.ResponseWriter, r *http.Request) {
			err := c.Exports.Flush(r.Context())
			answer(w, c.Exports.Status(), err)
		})
		mux.HandleFunc("POST /v1/exports/verify", func(w http.ResponseWriter, r *http.Request) {
			report, err := c.Exports.Verify(r.Context())
			answer(w, report, err)
		})
	}
	mux.HandleFunc("POST /v1/restart", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusAccepted)
		stop() // whoever keeps us running starts us again
	})
	server := &http.Server{
		Handler:           onlyFor(users, mux),
		ReadHeaderTimeout: 5 * time.Second,
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return context.WithValue(ctx, peerKey{}, peer.UID(conn))
		},
	}
	closing := context.AfterFunc(ctx, func() { server.Close() })
	defer closing()
	if err := server.Serve(socket); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return ErrStopped
}

// ErrStopped says that the controller was told to stop.
var ErrStopped = errors.New("stopped")

// share shows a directory of the caller's on every machine.
func (c *Controller) share(w http.ResponseWriter, r *http.Request) {
	var req client.ShareRequest
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, requestLimit)).Decode(&req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	done(w, c.Share(req.Dir))
}

// done answers a request for an action.
func done(w http.ResponseWriter, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (c *Controller) handover(w http.ResponseWriter, r *http.Request, kind string, take func([]string, []fleet.PendingJob)) {
	nodes, jobs, err := readRequest(w, r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.Events.Add(Event{Kind: kind, Nodes: nodes})
	take(nodes, jobs)
	w.WriteHeader(http.StatusAccepted)
}

// stop stops the fleet.
func (c *Controller) stop(w http.ResponseWriter, r *http.Request) {
	var req client.StopRequest
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, requestLimit)).Decode(&req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	accept(w, c.Stop(req.Now))
}

// accept says that something will be done, or why it cannot.
func accept(w http.ResponseWriter, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// answer writes a value as JSON, or an error as text.
func answer(w http.ResponseWriter, v any, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the reader has gone: nobody is left to tell
}

// await answers when the nodes of a job are up.
func (c *Controller) await(w http.ResponseWriter, r *http.Request) {
	nodes, _, err := readRequest(w, r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if err := c.Await(r.Context(), nodes); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// readRequest reads the nodes and the jobs of a request.
func readRequest(w http.ResponseWriter, r *http.Request) (nodes []string, jobs []fleet.PendingJob, err error) {
	var req client.Request
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, requestLimit)).Decode(&req); err != nil {
		return nil, nil, err
	}
	for _, j := range req.Jobs {
		wanted, err := slurm.Expand(j.Nodes)
		if err != nil {
			return nil, nil, err
		}
		jobs = append(jobs, fleet.PendingJob{Job: j.ID, Nodes: wanted})
	}
	nodes, err = slurm.Expand(req.Nodes)
	return nodes, jobs, err
}

// onlyFor lets only some users of the machine in, as the kernel names them.
func onlyFor(users []int, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		uid, ok := r.Context().Value(peerKey{}).(int)
		if !ok || !slices.Contains(users, uid) {
			http.Error(w, fmt.Sprintf("user %d may not change the fleet", uid), http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Listen makes the controller's socket in the current folder's place, whoever
// left one there. Everybody may connect; Serve sees who it is.
func Listen(path string) (net.Listener, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	return l, os.Chmod(path, 0o666)
}
