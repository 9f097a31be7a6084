package controller

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/user"
	"slices"
	"strconv"
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
		mux.HandleFunc("POST /v1/exports/await", c.awaitExports)
		mux.HandleFunc("POST /v1/exports/verify", func(w http.ResponseWriter, r *http.Request) {
			report, err := c.Exports.Verify(r.Context())
			answer(w, report, err)
		})
	}
	mux.HandleFunc("POST /v1/restart", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "0") // the whole answer is out before we end
		w.WriteHeader(http.StatusAccepted)
		_ = http.NewResponseController(w).Flush() // who asked may be gone
		stop()                                    // the supervisor starts us again
	})
	handler := http.NewServeMux()
	handler.Handle("/", onlyFor(users, mux))
	if c.Kept != nil {
		jobs := c.jobRoutes(users)
		handler.Handle("/v1/jobs", jobs)
		handler.Handle("/v1/jobs/", jobs)
	}
	err := serve(ctx, socket, &http.Server{
		Handler: handler, ReadHeaderTimeout: 5 * time.Second,
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return context.WithValue(ctx, peerKey{}, peer.UID(conn))
		},
	})
	return cmp.Or(err, ErrStopped)
}

// serve serves until ctx ends.
func serve(ctx context.Context, l net.Listener, server *http.Server) error {
	defer context.AfterFunc(ctx, func() { server.Close() })()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// ErrStopped says that the controller was told to stop.
var ErrStopped = errors.New("stopped")

// share shows a directory of the caller's on every machine.
func (c *Controller) share(w http.ResponseWriter, r *http.Request) {
	var req client.ShareRequest
	if read(w, r, &req) {
		done(w, c.Share(req.Dir))
	}
}

// read reads a request, and refuses one that cannot be read.
func read(w http.ResponseWriter, r *http.Request, into any) bool {
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, requestLimit)).Decode(into)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
	return err == nil
}

// done answers a request for an action.
func done(w http.ResponseWriter, err error) {
	reply(w, err, http.StatusConflict, http.StatusNoContent)
}

// reply answers with a status, or with an error and its status.
func reply(w http.ResponseWriter, err error, failed, well int) {
	if err != nil {
		http.Error(w, err.Error(), failed)
		return
	}
	w.WriteHeader(well)
}

func (c *Controller) handover(w http.ResponseWriter, r *http.Request, kind string, take func([]string, []fleet.PendingJob)) {
	nodes, jobs, ok := readRequest(w, r)
	if !ok {
		return
	}
	c.Events.Add(Event{Kind: kind, Nodes: nodes})
	take(nodes, jobs)
	w.WriteHeader(http.StatusAccepted)
}

// stop stops the fleet.
func (c *Controller) stop(w http.ResponseWriter, r *http.Request) {
	var req client.StopRequest
	if read(w, r, &req) {
		accept(w, c.Stop(req.Now))
	}
}

// accept says that something will be done, or why it cannot.
func accept(w http.ResponseWriter, err error) {
	reply(w, err, http.StatusInternalServerError, http.StatusAccepted)
}

// answer writes a value as JSON, or an error as text.
func answer(w http.ResponseWriter, v any, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // an error means that the reader has gone
}

// await answers when the nodes of a job are up.
func (c *Controller) await(w http.ResponseWriter, r *http.Request) {
	if nodes, _, ok := readRequest(w, r); ok {
		reply(w, c.Await(r.Context(), nodes), http.StatusServiceUnavailable, http.StatusAccepted)
	}
}

// awaitExports answers when what a directory has now is in its bucket.
func (c *Controller) awaitExports(w http.ResponseWriter, r *http.Request) {
	var req client.AwaitRequest
	if read(w, r, &req) {
		all, err := c.Exports.Await(r.Context(), req.Dir)
		answer(w, all, err)
	}
}

// readRequest reads the nodes and the jobs of a request.
func readRequest(w http.ResponseWriter, r *http.Request) (nodes []string, jobs []fleet.PendingJob, ok bool) {
	var req client.Request
	if !read(w, r, &req) {
		return nil, nil, false
	}
	nodes, err := slurm.Expand(req.Nodes)
	for _, j := range req.Jobs {
		wanted, wrong := slurm.Expand(j.Nodes)
		err = cmp.Or(err, wrong)
		jobs = append(jobs, fleet.PendingJob{Job: j.ID, Nodes: wanted})
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
	return nodes, jobs, err == nil
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

// Listen makes a socket, in place of an old one. Every user may connect; Serve asks the
// kernel who it is.
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

// Users are the IDs of the users who may ask a controller for changes: 0, which is root
// or the cluster's own user, and those of the named users that exist.
func Users(names ...string) []int {
	users := []int{0}
	for _, name := range names {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		if uid, err := strconv.Atoi(u.Uid); err == nil {
			users = append(users, uid)
		}
	}
	return users
}
