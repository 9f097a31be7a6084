package services_test

import (
	"encoding/json"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/sys/golden"
)

func params(userNamespace bool) services.Params {
	p := services.Params{
		Dir: "/home/ada/clusters/train", Address: netip.MustParseAddr("10.99.0.1"), Region: "ap-southeast-3",
		ControlUser: "slurm", MungeUser: "munge", RESTUser: "daemon",
		Become: func(user string) []string { return []string{"/usr/bin/setpriv", "--reuid=" + user, "--"} },
	}
	if userNamespace {
		p.ControlUser, p.MungeUser, p.RESTUser, p.UserNamespace = "ada", "ada", "ada", true
		p.Become = func(string) []string { return []string{"/usr/bin/unshare", "--user", "--map-user=1000", "--"} }
	}
	return p
}

func TestServices(t *testing.T) {
	for name, p := range map[string]services.Params{"root": params(false), "user": params(true)} {
		t.Run(name, func(t *testing.T) {
			got, err := json.MarshalIndent(services.Services(p), "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden.Check(t, name+".json", string(got)+"\n")
		})
	}
}

func TestServices_keep_to_the_cluster(t *testing.T) {
	p := params(false)
	var before []string
	for _, s := range services.Services(p) {
		for _, need := range s.After {
			if !slices.Contains(before, need) {
				t.Errorf("%s needs %s, which is not started before it", s.Name, need)
			}
		}
		before = append(before, s.Name)
		if !filepath.IsAbs(s.Args[0]) || len(s.Setup) > 0 && !filepath.IsAbs(s.Setup[0]) {
			t.Errorf("%s is looked for in a PATH: %q", s.Name, s.Args[0])
		}
		if s.Log != p.Dir+"/log/"+s.Name+".log" {
			t.Errorf("%s logs to %s", s.Name, s.Log)
		}
		switch s.Ready.Network {
		case "unix": // relative, because a socket's name is short
			if !strings.HasPrefix(s.Ready.Address, "run/") {
				t.Errorf("%s answers at %s, outside the cluster", s.Name, s.Ready.Address)
			}
		case "tcp":
			if a, err := netip.ParseAddrPort(s.Ready.Address); err != nil || a.Addr() != p.Address {
				t.Errorf("%s answers at %s, which is not the head node's address", s.Name, s.Ready.Address)
			}
		default:
			t.Errorf("nobody sees whether %s answers", s.Name)
		}
	}
}

func TestDatabaseSetup(t *testing.T) {
	p := params(false)
	p.ControlUser = `LAB\o'hara`
	want := `CREATE DATABASE IF NOT EXISTS slurm_acct_db;
CREATE USER IF NOT EXISTS 'LAB\\o''hara'@'localhost' IDENTIFIED VIA unix_socket;
GRANT ALL ON slurm_acct_db.* TO 'LAB\\o''hara'@'localhost';
`
	if diff := cmp.Diff(want, p.DatabaseSetup()); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}
