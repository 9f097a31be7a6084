package boot

import (
	"errors"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFacts holds that a script which reads ParallelCluster's file finds what the
// documentation promises, on each kind of machine.
func TestFacts(t *testing.T) {
	m := machineOf(t, &fake{}, "")
	node := Facts{Cluster: "train", Region: "us-east-2", NodeType: "ComputeFleet", User: "ec2-user", CPUs: 8, Scratch: "/local scratch", Shared: []string{"/a", "/it's"},
		Head: "train-head", HeadAddress: "10.0.0.5", Queue: "gpu"}
	head := Facts{Cluster: "train", Region: "us-east-2", NodeType: "HeadNode", User: "ec2-user", CPUs: 4, Scratch: "/scratch", Shared: []string{"/a"}, Volumes: []string{"vol-1", "vol-2"}}
	const asked = `. "$1" && echo "$cfn_node_type|$stack_name|$cfn_region|$cfn_scheduler|$cfn_instance_slots|$cfn_cluster_user|$cfn_ephemeral_dir|$cfn_ebs_shared_dirs|` +
		`$cfn_proxy|$cfn_head_node|$cfn_head_node_private_ip|$cfn_scheduler_queue_name|$cfn_volume"`
	for want, f := range map[string]Facts{
		"ComputeFleet|train|us-east-2|slurm|8|ec2-user|/local scratch|/a,/it's|NONE|train-head|10.0.0.5|gpu|": node,
		"HeadNode|train|us-east-2|slurm|4|ec2-user|/scratch|/a|NONE||||vol-1,vol-2":                           head,
	} {
		for range 2 { // a boot may be repeated
			if _, err := m.WriteFacts(f); err != nil {
				t.Fatal(err)
			}
		}
		out, err := exec.Command("/bin/sh", "-c", asked, "sh", m.path(factsFile)).CombinedOutput()
		if diff := cmp.Diff(want+"\n", string(out)); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
	}
	if to, err := os.Readlink(m.path(factsLink)); err != nil || to != factsFile {
		t.Errorf("%s leads to %q, %v", factsLink, to, err)
	}
}

// TestNear holds that ssh's question is answered for the networks of the cluster and
// for no others.
func TestNear(t *testing.T) {
	m := machineOf(t, &fake{}, "")
	networks := []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("2001:db8::/56"), netip.MustParsePrefix("172.31.16.0/20")}
	if detail, err := m.Near(networks); err != nil || !strings.Contains(detail, "as the image has it") {
		t.Errorf("without a configuration: %q, %v", detail, err)
	}
	config := m.path("/etc/ssh/ssh_config")
	if err := os.MkdirAll(filepath.Dir(config), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, []byte("Match exec \"ssh_target_checker.sh %h\"\n  StrictHostKeyChecking no\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Near(networks); err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]bool{
		"10.1.0.1": true, "10.1.255.255": true, "10.2.0.1": false, "172.31.16.0": true, "172.31.31.255": true, "172.31.32.0": false,
		"192.0.2.1": false, "127.0.0.1": true, "": false, "no such host": false, "$(reboot)": false,
	} {
		err := exec.Command(m.path(nearProgram), host).Run()
		if _, ended := errors.AsType[*exec.ExitError](err); (err == nil) != want || err != nil && !ended {
			t.Errorf("%q: %v, want near %v", host, err, want)
		}
	}
}
