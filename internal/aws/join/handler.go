package join

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
)

// nodeAPI is what answers: the controller. Join gives ErrNotYet while it knows no
// node for the instance.
type nodeAPI interface {
	Join(ctx context.Context, h Hello) (Place, error)
	Ready(ctx context.Context, r Ready) (ReadyAnswer, error)
	Failed(ctx context.Context, f Failure) error
}

const (
	// mostBody is how long a request or an answer may be, in bytes.
	mostBody = 1 << 20
	// checksAtOnce is how many credentials are looked at at the same time: a
	// thousand machines may come within a second.
	checksAtOnce = 8
	// handleWait bounds one request.
	handleWait = 20 * time.Second
)

// header has an answer's credential, as Authorization has a request's.
const (
	header = "Muster-Credential"
	scheme = "Munge "
)

// Handler answers machines.
func Handler(d nodeAPI, m Munge) http.Handler {
	h := &handler{munge: m, room: make(chan struct{}, checksAtOnce)}
	mux := http.NewServeMux()
	mux.Handle("POST "+pathJoin, serve(h, func(ctx context.Context, v Hello) (any, error) { return d.Join(ctx, v) }))
	mux.Handle("POST "+pathReady, serve(h, func(ctx context.Context, v Ready) (any, error) { return d.Ready(ctx, v) }))
	mux.Handle("POST "+pathFailed, serve(h, func(ctx context.Context, v Failure) (any, error) { return struct{}{}, d.Failed(ctx, v) }))
	return mux
}

type handler struct {
	munge Munge
	room  chan struct{}
}

// serve reads a proven request, has it answered, and proves the answer.
func serve[Request any](h *handler, do func(context.Context, Request) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), handleWait)
		defer cancel()
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBody))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		credential, ok := strings.CutPrefix(r.Header.Get("Authorization"), scheme)
		if !ok {
			http.Error(w, "no credential of munge's", http.StatusUnauthorized)
			return
		}
		if err := h.inTurn(ctx, func() error { return h.munge.check(ctx, credential, requestClaim(r.URL.Path, body)) }); err != nil {
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		status, answer := respond(ctx, body, do)
		h.reply(ctx, w, credential, status, answer)
	})
}

// respond is the answer to a request.
func respond[Request any](ctx context.Context, body []byte, do func(context.Context, Request) (any, error)) (int, []byte) {
	var request Request
	if err := json.Unmarshal(body, &request); err != nil {
		return http.StatusBadRequest, []byte(err.Error())
	}
	v, err := do(ctx, request)
	switch {
	case errors.Is(err, ErrNotYet):
		return http.StatusNotFound, []byte(err.Error())
	case err != nil:
		return http.StatusInternalServerError, []byte(err.Error())
	}
	answer, err := json.Marshal(v)
	if err != nil {
		return http.StatusInternalServerError, []byte(err.Error())
	}
	return http.StatusOK, answer
}

func (h *handler) reply(ctx context.Context, w http.ResponseWriter, credential string, status int, answer []byte) {
	var proof string
	err := h.inTurn(ctx, func() (err error) {
		proof, err = h.munge.sign(ctx, answerClaim(credential, status, answer))
		return err
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set(header, proof)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(answer) // the machine has gone: it asks again
}

func (h *handler) inTurn(ctx context.Context, f func() error) error {
	select {
	case h.room <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-h.room }()
	return f()
}
