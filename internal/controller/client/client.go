// Package client asks the controller of a cluster's head node, which answers HTTP on
// a socket. It has the requests and answers of both sides. An error of a method is the
// controller's own text, or tells why it gave no answer (Unanswered); callers add what
// they asked for.
package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/muster-hpc/muster/internal/aws/manifest"
)

// Socket is the controller's, in a folder that is the cluster's.
const Socket = "controller.sock"

// Client asks one controller. It may be used from many goroutines.
type Client struct{ http *http.Client }

// In is the client of the controller whose socket is in a folder.
func In(dir string) Client {
	return Over(&http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return dial(ctx, dir)
	}})
}

// Over is the client of the controller that a transport leads to.
func Over(t http.RoundTripper) Client { return Client{&http.Client{Transport: t}} }

// dial connects to a socket whose path may be longer than a socket's name can be.
func dial(ctx context.Context, dir string) (net.Conn, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", "/proc/self/fd/"+strconv.Itoa(int(d.Fd()))+"/"+Socket)
	if reason, ok := errors.AsType[syscall.Errno](err); ok {
		err = &os.PathError{Op: "connect to", Path: filepath.Join(dir, Socket), Err: reason}
	}
	return conn, err
}

// Resume hands nodes over to be launched, and Suspend to be ended: it returns before
// they are.
func (c Client) Resume(ctx context.Context, r Request) error {
	return c.post(ctx, "/v1/resume", r, nil)
}
func (c Client) Suspend(ctx context.Context, r Request) error {
	return c.post(ctx, "/v1/suspend", r, nil)
}

// Await returns when none of the nodes of a host list is on its way up any more.
func (c Client) Await(ctx context.Context, nodes string) error {
	return c.post(ctx, "/v1/await", Request{Nodes: nodes}, nil)
}

// StartFleet lets nodes start again, and StopFleet has them end.
func (c Client) StartFleet(ctx context.Context) error {
	return c.post(ctx, "/v1/fleet/start", nil, nil)
}
func (c Client) StopFleet(ctx context.Context, r StopRequest) error {
	return c.post(ctx, "/v1/fleet/stop", r, nil)
}

// orderWait is how long a controller may take to accept an order.
const orderWait = 5 * time.Second

// FleetOrder says that the fleet is to run, or to stop; Now does not wait for jobs.
type FleetOrder struct{ Run, Now bool }

// OrderFleet lets the fleet run, or stops it.
func (c Client) OrderFleet(ctx context.Context, o FleetOrder) error {
	ctx, cancel := context.WithTimeout(ctx, orderWait)
	defer cancel()
	verb, err := "start", error(nil)
	if o.Run {
		err = c.StartFleet(ctx)
	} else {
		verb, err = "stop", c.StopFleet(ctx, StopRequest{Now: o.Now})
	}
	if err != nil {
		return fmt.Errorf("%s the fleet: %w", verb, err)
	}
	return nil
}

// Status is how Slurm and the fleet are.
func (c Client) Status(ctx context.Context) (s manifest.ClusterStatus, err error) {
	err = c.call(ctx, http.MethodGet, "/v1/status", nil, &s)
	return s, err
}

// Settle returns when the controller has looked at all nodes and done what follows.
func (c Client) Settle(ctx context.Context) error { return c.post(ctx, "/v1/settle", nil, nil) }

// Share shows a directory on every machine.
func (c Client) Share(ctx context.Context, dir string) error {
	return c.post(ctx, "/v1/share", ShareRequest{dir}, nil)
}

// Refresh has the machines look anew at the files of the one that they share.
func (c Client) Refresh(ctx context.Context) error { return c.post(ctx, "/v1/refresh", nil, nil) }

// Restart ends the controller. What keeps it running starts it again.
func (c Client) Restart(ctx context.Context) error { return c.post(ctx, "/v1/restart", nil, nil) }

// Exports is how far the exports are. A controller that mirrors nothing has none.
func (c Client) Exports(ctx context.Context) (all []ExportStatus, err error) {
	err = c.call(ctx, http.MethodGet, "/v1/exports", nil, &all)
	return all, unlessNone(err)
}

// Flush exports until all that can be exported is in the buckets. What cannot is its
// error.
func (c Client) Flush(ctx context.Context) error {
	return unlessNone(c.post(ctx, "/v1/exports/flush", nil, nil))
}

// AwaitExports returns when all that there is now of a directory is in its bucket or cannot
// be, and was held against it. A controller that mirrors nothing has none.
func (c Client) AwaitExports(ctx context.Context, r AwaitRequest) (all []Awaited, err error) {
	err = c.post(ctx, "/v1/exports/await", r, &all)
	return all, unlessNone(err)
}

// Verify reads all that was exported back and compares it.
func (c Client) Verify(ctx context.Context) (all []Verification, err error) {
	err = c.post(ctx, "/v1/exports/verify", nil, &all)
	return all, err
}

// refusal is a controller's own error, with its HTTP status.
type refusal struct {
	code int
	said string
}

func (r *refusal) Error() string { return r.said }

// Refused says that the controller does not answer this user.
func Refused(err error) bool {
	no, ok := errors.AsType[*refusal](err)
	return ok && no.code == http.StatusForbidden
}

// unanswered is the error of a request that got no answer.
type unanswered struct{ error }

func (u unanswered) Unwrap() error { return u.error }

// Unanswered says that the controller was not reached, or ended before it had answered.
func Unanswered(err error) bool { return errors.As(err, new(unanswered)) }

// unansweredBy leaves out what the transport says of the request: callers say what they asked for.
func unansweredBy(err error) error {
	if request, ok := errors.AsType[*url.Error](err); ok {
		err = request.Err
	}
	if errors.Is(err, io.EOF) {
		err = errors.New("the controller ended before it had answered")
	}
	return unanswered{err}
}

// unlessNone drops the error of a controller that does not serve a request.
func unlessNone(err error) error {
	if no, ok := errors.AsType[*refusal](err); ok && no.code == http.StatusNotFound {
		return nil
	}
	return err
}

func (c Client) post(ctx context.Context, path string, request, into any) error {
	return c.call(ctx, http.MethodPost, path, request, into)
}

// call asks, and reads the answer into a value if there is one.
func (c Client) call(ctx context.Context, method, path string, request, into any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://controller"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return unansweredBy(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusMultipleChoices {
		return refused(resp)
	}
	if into == nil {
		_, err := io.Copy(io.Discard, resp.Body) // its end is the end of the action
		return err
	}
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		return fmt.Errorf("read the controller's answer: %w", err)
	}
	return nil
}

// saidLimit is how much of a refusal is read, in bytes.
const saidLimit = 4096

func refused(resp *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(resp.Body, saidLimit))
	return errors.Join(&refusal{resp.StatusCode, cmp.Or(strings.TrimSpace(string(text)), resp.Status)}, err)
}
