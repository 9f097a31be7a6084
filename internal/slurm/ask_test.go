package slurm

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// asked answers commands by their words, as Slurm 22.05 does.
type asked map[string]string

func (a asked) Run(_ context.Context, name string, args ...string) ([]byte, error) {
	return []byte(a[strings.Join(append([]string{name}, args...), " ")]), nil
}

func TestClient_asks_what_there_is(t *testing.T) {
	const sacctmgr = "sacctmgr --noheader --parsable2 --readonly show "
	c := Client{Runner: asked{
		"scontrol show config": "Configuration data as of 2026-11-22T14:54:49\nAccountingStorageEnforce = associations,qos\nTopologyPlugin          = topology/none\n\n" +
			"Slurmctld(primary) at c-head is UP\n",
		"scontrol --oneliner --all show licenses":          "LicenseName=matlab Total=2 Used=0 Free=2 Reserved=0 Remote=no\nLicenseName=idl Total=10 Used=1 Free=9 Reserved=0 Remote=no\n",
		sacctmgr + "association user=alice format=account": "root\nresearch\nresearch\n",
		sacctmgr + "qos format=name":                       "normal\n",
	}}
	conf, err := c.Conf(t.Context())
	if err != nil || conf["AccountingStorageEnforce"] != "associations,qos" || conf["TopologyPlugin"] != "topology/none" {
		t.Errorf("%v, %v", conf, err)
	}
	licenses, err := c.Licenses(t.Context())
	if diff := cmp.Diff(map[string]int{"matlab": 2, "idl": 10}, licenses); diff != "" || err != nil {
		t.Error(diff, err)
	}
	accounts, err := c.Accounts(t.Context(), "alice")
	if diff := cmp.Diff([]string{"root", "research"}, accounts); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for what, list := range map[string]func(context.Context) ([]string, error){"qos": c.Qualities, "clusters": c.Clusters} {
		if all, err := list(t.Context()); all == nil || err != nil {
			t.Errorf("%s: %v, %v: an empty list is not nil", what, all, err)
		}
	}
}
