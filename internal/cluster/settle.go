package cluster

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/provider/local"
)

// settleWait is how long the controller of a cluster that was just started may take
// until it has looked at all nodes and done what follows.
const settleWait = time.Minute

// settle waits until the controller has set down the nodes that slurmctld's saved
// state calls up and that died with the machine: no job must get them.
func settle(ctx context.Context, l *local.Layout) error {
	ctx, cancel := context.WithTimeoutCause(ctx, settleWait, fmt.Errorf("no answer within %s", settleWait))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://controller/v1/settle", http.NoBody)
	if err != nil {
		return err
	}
	resp, err := ControllerClient(l).Do(req)
	if err != nil {
		return fmt.Errorf("wait for the controller's first look at the nodes: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
		return fmt.Errorf("wait for the controller's first look at the nodes: %s", strings.TrimSpace(string(text)))
	}
	return nil
}
