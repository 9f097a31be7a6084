package aws

import (
	"context"
	"fmt"
	"time"

	"github.com/muster-hpc/muster/internal/aws/api"
	"github.com/muster-hpc/muster/internal/status"
)

// inRegion are the clusters of the region of the environment.
func inRegion(ctx context.Context) ([]Record, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, listWait, fmt.Errorf("no answer within %s", listWait))
	defer cancel()
	acc, err := api.Open(ctx, "")
	if err != nil {
		return nil, err
	}
	names, err := clusters(ctx, acc)
	if err != nil {
		return nil, err
	}
	var all []Record
	for _, name := range names {
		all = append(all, Record{Name: name, Region: acc.Region})
	}
	return all, nil
}

// How long a look at a cluster, and the list of a region's, may take.
const (
	lookWait = 30 * time.Second
	listWait = 10 * time.Second
)

// Look looks at a cluster by its record. It waits long for no answer.
func Look(ctx context.Context, r Record) status.Cluster {
	ctx, cancel := context.WithTimeoutCause(ctx, lookWait, fmt.Errorf("no answer within %s", lookWait))
	defer cancel()
	s := status.Cluster{Name: r.Name, Place: "aws", State: "unknown", File: r.File}
	acc, err := api.Open(ctx, r.Region)
	if err != nil {
		s.Unseen("%v", err)
		return s
	}
	own := StatusBy(ctx, acc, r, time.Now())
	s.Own, s.State, s.Look, s.Blind = &own, own.State, own.Look, own.Blind
	if s.State == "gone" && len(s.Blind) == 0 {
		forget := "muster down --cluster " + r.Name
		if r.Adopted != nil {
			forget = "muster import --forget " + r.Name
		}
		s.Needs("nothing of it is left in %s but this machine's record; `%s` forgets it", r.Region, forget)
	}
	s.Judge()
	return s
}
