//go:build linux

package cli

import (
	"os"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/aws/agent"
	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/status"
)

// onCloudHead tells whether this is a machine of a cluster on AWS.
func onCloudHead() bool {
	_, err := os.Stat(services.TicketFile)
	return err == nil && inside()
}

// findSlurm puts Slurm's programs and ours on the PATH of a machine on AWS, where they
// may be in places that only login shells know.
func findSlurm() error {
	if !onCloudHead() && !guest() {
		return nil
	}
	path := strings.Split(os.Getenv("PATH"), ":")
	for _, dir := range []string{services.Official.Bin, services.Official.Sbin, services.BinDir} {
		if info, err := os.Stat(dir); err == nil && info.IsDir() && !slices.Contains(path, dir) {
			path = append(path, dir)
		}
	}
	return os.Setenv("PATH", strings.Join(path, ":"))
}

// servicesHere are the services of the machine on AWS that this is, none elsewhere.
func servicesHere() ([]manifest.Service, error) {
	if !onCloudHead() {
		return nil, nil
	}
	running, err := agent.Services()
	var all []manifest.Service
	for _, x := range running {
		all = append(all, manifest.Service{Name: x.Name, Ready: string(x.Phase) == status.Ready})
	}
	return all, err
}

// siteTypes are the instance types of the cluster whose head node this is, nil
// elsewhere.
func siteTypes() *catalog.Newer {
	s, err := agent.ReadSite(services.SiteFile)
	if err != nil {
		return nil
	}
	return s.Types
}
