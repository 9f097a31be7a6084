package join

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/sys/pause"
)

// Client speaks for a machine to the controller.
type Client struct {
	// Head is where the controller listens: an address and Port.
	Head  string
	Munge Munge
	// HTTP may be nil.
	HTTP *http.Client
	// Every is the pause between two attempts; zero is a second.
	Every time.Duration
}

// askWait bounds one attempt.
const askWait = 30 * time.Second

// Join asks which node this is, again and again until the controller knows, or
// until ctx ends: the error then says what the last attempt said.
func (c Client) Join(ctx context.Context, h Hello) (Place, error) {
	var p Place
	err := c.persist(ctx, func() error { return c.ask(ctx, pathJoin, h, &p) })
	if err != nil {
		return Place{}, fmt.Errorf("ask the head node which node %s is: %w", h.InstanceID, err)
	}
	return p, nil
}

// Ready tells that the machine is ready, until the controller has heard it or ctx
// ends.
func (c Client) Ready(ctx context.Context, r Ready) (ReadyAnswer, error) {
	var s ReadyAnswer
	if err := c.persist(ctx, func() error { return c.ask(ctx, pathReady, r, &s) }); err != nil {
		return ReadyAnswer{}, fmt.Errorf("tell the head node that %s is ready: %w", r.Node, err)
	}
	return s, nil
}

// Failed tells that the machine's boot failed, until the controller has heard it
// or ctx ends.
func (c Client) Failed(ctx context.Context, f Failure) error {
	if err := c.persist(ctx, func() error { return c.ask(ctx, pathFailed, f, nil) }); err != nil {
		return fmt.Errorf("tell the head node that %s failed: %w", f.InstanceID, err)
	}
	return nil
}

// persist tries until it succeeds, the request is known to be wrong, or ctx ends.
func (c Client) persist(ctx context.Context, try func() error) error {
	every := c.Every
	if every <= 0 {
		every = time.Second
	}
	var last error
	for {
		err := try()
		if err == nil || errors.Is(err, errWrong) {
			return err
		}
		if ctx.Err() == nil || last == nil {
			last = err // and not what the end of time cut off
		}
		if over := pause.For(ctx, every); over != nil {
			return fmt.Errorf("%w; the last attempt: %w", over, last)
		}
	}
}

// errWrong is a request that can never succeed.
var errWrong = errors.New("the request is wrong")

// ask sends one request and reads its answer, if it proves to be one.
func (c Client) ask(ctx context.Context, path string, request, into any) error {
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	body, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("%w: %w", errWrong, err)
	}
	credential, err := c.Munge.sign(ctx, requestClaim(path, body))
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+c.Head+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%w: %w", errWrong, err)
	}
	req.Header.Set("Authorization", scheme+credential)
	resp, err := c.client().Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, mostBody))
	if err != nil {
		return err
	}
	if resp.StatusCode == http.StatusUnauthorized {
		return fmt.Errorf("the head node says: %s", strings.TrimSpace(string(answer)))
	}
	if err := c.Munge.check(ctx, resp.Header.Get(header), answerClaim(credential, resp.StatusCode, answer)); err != nil {
		return fmt.Errorf("the answer (%s) is not the head node's: %w", resp.Status, err)
	}
	return read(resp.StatusCode, answer, into)
}

func read(status int, answer []byte, into any) error {
	switch {
	case status == http.StatusNotFound:
		return ErrNotYet
	case status == http.StatusBadRequest:
		return fmt.Errorf("%w: %s", errWrong, answer)
	case status != http.StatusOK:
		return errors.New(strings.TrimSpace(string(answer)))
	case into == nil:
		return nil
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("read the head node's answer: %w", err)
	}
	return nil
}

func (c Client) client() *http.Client {
	if c.HTTP != nil {
		return c.HTTP
	}
	return http.DefaultClient
}
