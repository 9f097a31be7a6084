//go:build linux

package cli

import (
	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/local"
	"github.com/muster-hpc/muster/internal/services"
)

// controllerHere speaks to the cluster's controller, on the host and on the head
// node.
func (a *app) controllerHere() (client.Client, error) {
	if guest() {
		return client.Client{}, errTheirs
	}
	if inside() {
		return client.In(services.RunDir), nil
	}
	l, _, _, err := a.running()
	if err != nil {
		return client.Client{}, err
	}
	return local.Controller(l), nil
}
