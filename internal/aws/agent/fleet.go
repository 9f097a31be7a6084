package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/store"
)

// controllerWait bounds a question to the controller: it asks Slurm in turn.
const controllerWait = 20 * time.Second

// controller is the head node's own.
func controller() client.Client { return client.In(services.RunDir) }

// askController has the controller do something, or say how it is.
func askController(ctx context.Context, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, controllerWait)
	defer cancel()
	if err := ask(ctx); err != nil {
		return fmt.Errorf("ask the controller: %w", err)
	}
	return nil
}

// look asks the controller how Slurm and the fleet are.
func (h *headNode) look(ctx context.Context) (manifest.ClusterStatus, error) {
	var status manifest.ClusterStatus
	err := askController(ctx, func(ctx context.Context) (err error) {
		status, err = controller().Status(ctx)
		return err
	})
	return status, err
}

// obeyedFile notes which wish for the fleet was done: one that was is not done again
// when a user of the head node decides otherwise.
const obeyedFile = "/var/lib/muster/fleet"

// obey carries out a wish for the fleet from outside, once for each wish.
func (h *headNode) obey(ctx context.Context, is string) error {
	var wish manifest.Fleet
	data, err := h.decode(ctx, manifest.FleetKey(h.Ticket.Cluster), &wish)
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
		return askController(ctx, controller().StartFleet)
	case wish.Want == "stopped":
		return askController(ctx, func(ctx context.Context) error {
			return controller().StopFleet(ctx, client.StopRequest{Now: !wish.Gently})
		})
	}
	return fmt.Errorf("the fleet cannot be %q", wish.Want)
}
