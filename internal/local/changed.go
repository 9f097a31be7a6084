package local

import (
	"fmt"
	"os"
	"strings"

	"github.com/muster-hpc/muster/internal/plan"
	"github.com/muster-hpc/muster/internal/say/page"
	"github.com/muster-hpc/muster/internal/spec"
)

// mostChanges are those that a step of `up` names.
const mostChanges = 3

// changes says what the new files of a cluster change of those that it has, before these are written; empty if there are none yet.
func (u *up) changes() string {
	old, err := os.ReadFile(u.layout.Path("cluster.yaml"))
	if err != nil {
		return ""
	}
	var all []string
	for _, c := range plan.Changes(spec.OpenText("the cluster's file", old, spec.Options{}), spec.OpenText(u.File.File, u.Source, spec.Options{})) {
		all = append(all, page.Printable(c.Path+" "+c.Values()))
	}
	if old, err := os.ReadFile(u.layout.Path("muster.yaml")); err == nil && string(old) != string(u.WorkloadSource) {
		all = append(all, "muster.yaml")
	}
	if len(all) == 0 {
		return ""
	}
	if more := len(all) - mostChanges; more > 0 {
		all = append(all[:mostChanges], fmt.Sprintf("and %d more", more))
	}
	return "; changed: " + strings.Join(all, ", ")
}
