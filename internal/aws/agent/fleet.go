package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/store"
)

// controllerWait bounds a question to the controller: it asks Slurm in turn.
const controllerWait = 20 * time.Second

// tellController asks the head node's own controller.
func tellController(ctx context.Context, method, path string, request, into any) error {
	ctx, cancel := context.WithTimeout(ctx, controllerWait)
	defer cancel()
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://controller"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	var d net.Dialer
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return d.DialContext(ctx, "unix", services.ControllerSocket)
	}}}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("ask the controller: %w", err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return fmt.Errorf("ask the controller: %w", err)
	}
	if resp.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("ask the controller: %s: %s", resp.Status, strings.TrimSpace(string(answer)))
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer, into)
}

// look asks the controller how Slurm and the fleet are.
func (h *headNode) look(ctx context.Context) (manifest.ClusterStatus, error) {
	var status manifest.ClusterStatus
	err := tellController(ctx, http.MethodGet, "/v1/status", struct{}{}, &status)
	return status, err
}

// obeyedFile notes which wish for the fleet was done: one that was is not done again
// when somebody on the head node decides otherwise.
const obeyedFile = "/var/lib/muster/fleet"

// obey does what somebody outside wants of the fleet, once for each wish.
func (h *headNode) obey(ctx context.Context, is string) error {
	data, err := h.object(ctx, manifest.FleetKey(h.Ticket.Cluster))
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	done, err := h.machine.Read(obeyedFile)
	if err != nil || done == string(data) {
		return err
	}
	var wish manifest.Fleet
	if err := json.Unmarshal(data, &wish); err != nil {
		return fmt.Errorf("read %s: %w", manifest.FleetKey(h.Ticket.Cluster), err)
	}
	if err := wanted(ctx, wish, is); err != nil {
		return err
	}
	h.Log.Info("fleet", "want", wish.Want, "why", wish.Why)
	_, err = h.machine.Write(obeyedFile, string(data), 0o644, "")
	return err
}

func wanted(ctx context.Context, wish manifest.Fleet, is string) error {
	switch {
	case wish.Want == is && (is != "stopped" || wish.Gently): // one that ends nodes at once may follow a gentle one
		return nil
	case wish.Want == "running":
		return tellController(ctx, http.MethodPost, "/v1/fleet/start", struct{}{}, nil)
	case wish.Want == "stopped":
		return tellController(ctx, http.MethodPost, "/v1/fleet/stop", map[string]bool{"now": !wish.Gently}, nil)
	}
	return fmt.Errorf("the fleet cannot be %q", wish.Want)
}
