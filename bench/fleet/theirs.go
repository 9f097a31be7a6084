package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

//go:embed round.py
var roundProgram string

// nodePackage is aws-parallelcluster-node as PyPI has it, in an environment of
// Python. It runs unmodified: its configuration, its logs and the programs that it
// calls are where it looks for them.
type nodePackage struct {
	// python is the environment's folder, dir where everything else of it lies.
	python, dir string
}

// logDir is where the package opens its first log, whatever its configuration says.
const logDir = "/var/log/parallelcluster"

const resumeConf = `[slurm_resume]
cluster_name = bench
region = us-east-2
dynamodb_table = parallelcluster-slurm-bench
hosted_zone = Z0123456789ABC
dns_domain = bench.pcluster.
head_node_private_ip = 10.0.0.10
head_node_hostname = head
instance_id = i-0123456789abcdef0
clustermgtd_heartbeat_file_path = %[1]s/heartbeat
fleet_config_file = %[1]s/fleet-config.json
run_instances_overrides = %[1]s/none.json
create_fleet_overrides = %[1]s/none.json
scaling_strategy = %[2]s
`

const daemonConf = `[clustermgtd]
cluster_name = bench
region = us-east-2
dynamodb_table = parallelcluster-slurm-bench
hosted_zone = Z0123456789ABC
dns_domain = bench.pcluster.
head_node_private_ip = 10.0.0.10
head_node_hostname = head
instance_id = i-0123456789abcdef0
heartbeat_file_path = %[1]s/heartbeat
fleet_config_file = %[1]s/fleet-config.json
run_instances_overrides = %[1]s/none.json
create_fleet_overrides = %[1]s/none.json
`

// newNodePackage writes what the package reads.
func newNodePackage(python, dir, strategy string) (*nodePackage, error) {
	p := &nodePackage{python: python, dir: dir}
	fleet := map[string]any{queue: map[string]any{resource: map[string]any{
		"Api": "run-instances", "CapacityType": "on-demand", "Instances": []any{map[string]string{"InstanceType": instanceType}},
		"Networking": map[string]any{"SubnetIds": []string{subnetID}},
	}}}
	fleetText, err := json.Marshal(fleet)
	if err != nil {
		return nil, err
	}
	for name, text := range map[string]string{
		"resume.conf":       fmt.Sprintf(resumeConf, dir, strategy),
		"clustermgtd.conf":  fmt.Sprintf(daemonConf, dir),
		"fleet-config.json": string(fleetText),
		"none.json":         "{}",
		"heartbeat":         time.Now().UTC().Format("2006-01-02 15:04:05.000000-0700"),
		"round.py":          roundProgram,
		"slurm/etc/pcluster/parallelcluster_partition_nodelist_mapping.json": `{"` + queue + `":"` + queue + `-dy-` + resource + `-[1-1000]"}`,
		"bin/sudo":                        "#!/bin/sh\nexec \"$@\"\n",
		"bin/get-compute-fleet-status.sh": "#!/bin/sh\necho '{\"status\": \"RUNNING\"}'\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "slurm/bin"), 0o755); err != nil {
		return nil, err
	}
	for _, name := range []string{"scontrol", "sinfo", "squeue"} {
		real, err := exec.LookPath(name)
		if err != nil {
			return nil, err
		}
		if err := os.Symlink(real, filepath.Join(dir, "slurm/bin", name)); err != nil {
			return nil, err
		}
	}
	return p, os.MkdirAll(logDir, 0o755)
}

// ready has nothing to do: Slurm starts the resume program for each call.
func (p *nodePackage) ready(context.Context, *slurm, []string) error { return nil }

func (p *nodePackage) end() error { return nil }

// resume is the package's resume program, asked for the nodes of some jobs.
func (p *nodePackage) resume(ctx context.Context, s *slurm, jobs []job, env []string) (result, error) {
	type resumed struct {
		ID            int    `json:"job_id"`
		Alloc         string `json:"nodes_alloc"`
		Resume        string `json:"nodes_resume"`
		Oversubscribe string `json:"oversubscribe"`
		Partition     string `json:"partition"`
	}
	var all struct {
		Nodes string    `json:"all_nodes_resume"`
		Jobs  []resumed `json:"jobs"`
	}
	var nodes []string
	for _, j := range jobs { // in the form that Slurm has had since 23.02
		all.Jobs = append(all.Jobs, resumed{j.ID, j.Nodes, j.Nodes, "NO", queue})
		nodes = append(nodes, j.Nodes)
	}
	all.Nodes = strings.Join(nodes, ",")
	text, err := json.Marshal(all)
	if err != nil {
		return result{}, err
	}
	file := filepath.Join(p.dir, "resume.json")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		return result{}, err
	}
	c := exec.CommandContext(ctx, filepath.Join(p.python, "bin/slurm_resume"), all.Nodes)
	c.Env = append(p.env(s, env), "CONFIG_FILE="+filepath.Join(p.dir, "resume.conf"), "SLURM_RESUME_FILE="+file)
	return measured(ctx, c)
}

// round is a round of the package's daemon, which measures itself.
func (p *nodePackage) round(ctx context.Context, s *slurm, env []string) (result, error) {
	c := exec.CommandContext(ctx, filepath.Join(p.python, "bin/python"), filepath.Join(p.dir, "round.py"))
	c.Env = append(p.env(s, env), "CONFIG_FILE="+filepath.Join(p.dir, "clustermgtd.conf"))
	line, err := said(c)
	if err != nil {
		return result{}, err
	}
	return figures(line)
}

func (p *nodePackage) env(s *slurm, env []string) []string {
	all := append(append([]string(nil), s.env...), env...)
	return append(all, "SLURM_BINARIES_DIR="+filepath.Join(p.dir, "slurm/bin"), "PATH="+filepath.Join(p.dir, "bin")+":"+os.Getenv("PATH"))
}
