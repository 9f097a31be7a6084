//go:build linux

package cli

import (
	"context"
	"fmt"
	"net/http"

	"github.com/muster-hpc/muster/internal/controller"
	"github.com/muster-hpc/muster/internal/local"
	"github.com/muster-hpc/muster/internal/services"
)

func startFleet(ctx context.Context, client *http.Client) error {
	return orderFleet(ctx, client, "start", struct{}{})
}

func stopFleet(ctx context.Context, client *http.Client, o stopOptions) error {
	return orderFleet(ctx, client, "stop", controller.StopRequest{Now: o.now})
}

func orderFleet(ctx context.Context, client *http.Client, verb string, request any) error {
	ctx, cancel := context.WithTimeout(ctx, handOverWait)
	defer cancel()
	if err := post(ctx, client, "fleet/"+verb, request); err != nil {
		return fmt.Errorf("%s the fleet: %w", verb, err)
	}
	return nil
}

// controllerHere speaks to the cluster's controller, on the host and on the head
// node.
func (a *app) controllerHere() (*http.Client, error) {
	if guest() {
		return nil, errTheirs
	}
	if inside() {
		return local.SocketClient(services.RunDir, "controller.sock"), nil
	}
	l, _, _, err := a.running()
	if err != nil {
		return nil, err
	}
	return local.ControllerClient(l), nil
}
