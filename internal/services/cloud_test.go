package services_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/services/supervise"
	"github.com/muster-hpc/muster/internal/sys/golden"
)

// onAWS are the params of a machine on AWS.
func onAWS() services.Params {
	p := params(false)
	p.Dir, p.LogDir, p.Slurm = "", "/var/log/muster", services.Official
	return p
}

func TestCloudServices(t *testing.T) {
	elsewhere, external, poor, old := onAWS(), onAWS(), onAWS(), onAWS()
	old.MariaDB = services.MariaDB{Daemon: "/usr/libexec/mysqld", Install: "/usr/bin/mysql_install_db", Load: services.BySocket}
	elsewhere.Database, external.NoAccounting, poor.Slurm = true, true, services.Slurm{}
	for name, services := range map[string][]supervise.Service{
		"aws-head":          services.CloudServices(onAWS()),
		"aws-head-database": services.CloudServices(elsewhere),
		"aws-head-rhel8":    services.CloudServices(old),
		"aws-head-external": services.CloudServices(external),
		"aws-node": services.NodeServices(services.Node{Params: onAWS(), Name: "gpu-dy-p5-1", Head: "10.0.0.5",
			Scope: []string{"/usr/bin/systemd-run", "--scope", "--"}}),
		"aws-node-debian": services.NodeServices(services.Node{Params: poor, Name: "gpu-dy-p5-1", Head: "10.0.0.5"}),
		"aws-login":       services.NodeServices(services.Node{Params: onAWS(), Login: true, Sackd: "/opt/slurm/sbin/sackd", Head: "10.0.0.5"}),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := json.MarshalIndent(services, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden.Check(t, name+".json", string(got)+"\n")
			var before []string
			for _, s := range services {
				for _, need := range s.After {
					if !slices.Contains(before, need) {
						t.Errorf("%s needs %s, which is not started before it", s.Name, need)
					}
				}
				before = append(before, s.Name)
			}
		})
	}
}
