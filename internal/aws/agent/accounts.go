package agent

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/account"
	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/slurm"
)

// accountsFile keeps what was done to Slurm's accounts: only that is ever undone.
const accountsFile = "/var/lib/muster/accounts.json"

// accounts makes Slurm's accounts and QoS what muster.yaml says. Where there is no accounting there is
// nobody to tell.
func (h *headNode) accounts(ctx context.Context) (string, error) {
	if h.cluster.workloadText == nil { // which is no wish to lose anything
		return "no muster.yaml: left as they are", nil
	}
	t := account.Target{
		Slurm:   slurm.Client{Runner: slurm.Exec{Conf: h.slurm.Conf + "/slurm.conf"}},
		Cluster: strings.ToLower(h.Ticket.Cluster), Workload: h.cluster.workload, Record: accountsFile,
	}
	concerned, err := t.Concerned()
	switch {
	case err != nil:
		return "", err
	case !concerned:
		return "none in muster.yaml", nil
	case h.poor != "":
		return "not set: " + h.poor, nil
	}
	detail, err := t.Apply(ctx)
	if ctx.Err() != nil {
		return "", err
	}
	h.unset, h.unsetAt = "", time.Now()
	if err != nil { // accounts are worth less than the cluster
		h.unset = "Slurm's accounts are not as muster.yaml says: " + err.Error()
		h.Log.Error("accounts are not set", "error", err)
		detail = h.unset
	}
	h.status.change(func(s *manifest.HeadStatus) { s.AccountsError = h.unset })
	return cmp.Or(detail, "none"), nil
}

// accountsAgain tries again to set accounts that could not be set: slurmdbd may answer by now, and
// people may have settled what stood against it.
func (h *headNode) accountsAgain(ctx context.Context) {
	if h.unset == "" || time.Since(h.unsetAt) < h.Limits.Again {
		return
	}
	if _, err := h.accounts(ctx); err != nil {
		h.Log.Warn("accounts are not set", "error", err)
	}
}

// accountsFirst sets accounts before slurmctld is told to hold jobs to them: it holds those back that
// have none. A head node whose Slurm does not answer yet sets them afterwards.
func (h *headNode) accountsFirst(ctx context.Context) {
	if supervisor() == 0 || len(notReady(h.services)) > 0 {
		return
	}
	if detail, err := h.accounts(ctx); err != nil {
		h.Log.Warn("accounts are not set before the configuration", "error", err)
	} else {
		h.Log.Info("accounts set", "detail", detail)
	}
}
