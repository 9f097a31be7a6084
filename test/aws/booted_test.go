package aws

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/test/cloud"
	"github.com/muster-hpc/muster/test/cloud/remains"
)

// bootedFile has a queue with GPU nodes of two kinds, and one with others.
const bootedFile = `Region: us-east-2
Image: {Os: alinux2023}
HeadNode:
  InstanceType: c6i.xlarge
  Ssh: {AllowedIps: 10.0.0.0/16}
Scheduling:
  Scheduler: slurm
  ScalingStrategy: all-or-nothing
  SlurmSettings:
    ScaledownIdletime: 1
    CustomSlurmSettings: [{SlurmdParameters: config_overrides}]
  SlurmQueues:
    - Name: gpu
      JobExclusiveAllocation: true
      ComputeResources:
        - {Name: p5, InstanceType: p5.48xlarge, MinCount: 0, MaxCount: 4}
        - {Name: p4, InstanceType: p4d.24xlarge, MinCount: 0, MaxCount: 4}
    - Name: cpu
      ComputeResources:
        - {Name: small, InstanceType: c6i.large, MinCount: 0, MaxCount: 4}
Monitoring: {Logs: {CloudWatch: {DeletionPolicy: Delete}}}
`

// booted is a cluster on a double whose machines boot.
type booted struct {
	t             *testing.T
	cloud, double string
	user          string
	aws           aws.Config
}

// newBooted brings a cluster up. It is taken down when the test ends, and nothing may
// be left.
func newBooted(t *testing.T) *booted {
	t.Helper()
	b := newWorld(t)
	if err := os.WriteFile(filepath.Join(b.user, "cluster.yaml"), []byte(bootedFile), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.end)
	b.must("exec", b.double, program(t, "muster"), "up", "cluster.yaml", "--on", "aws", "--yes")
	return b
}

// newWorld starts a double whose machines boot, for a user who has made nothing yet.
func newWorld(t *testing.T) *booted {
	t.Helper()
	needMachines(t)
	needMoto(t)
	base, err := os.MkdirTemp("/var/tmp", "muster-aws-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	b := &booted{t: t, cloud: program(t, "muster-cloud"), double: filepath.Join(base, "cloud"), user: filepath.Join(base, name)}
	b.startWorld(filepath.Join(base, "log"))
	if err := os.Mkdir(b.user, 0o700); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *booted) startWorld(log string) {
	b.t.Helper()
	said, err := os.Create(log)
	if err != nil {
		b.t.Fatal(err)
	}
	defer said.Close()
	world := exec.Command(b.cloud, "run", b.double)
	world.Stdout, world.Stderr = said, said
	world.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is ours to pass on
	if err := world.Start(); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		_ = world.Process.Signal(syscall.SIGTERM)
		_ = world.Wait() // it was told to end
		if text, err := os.ReadFile(log); err == nil && b.t.Failed() {
			b.t.Logf("the double said:\n%s", text)
		}
	})
	b.await("the double", patience, func() bool {
		_, err := os.Stat(filepath.Join(b.double, "env"))
		return err == nil
	})
	env, err := os.ReadFile(filepath.Join(b.double, "env"))
	if err != nil {
		b.t.Fatal(err)
	}
	_, url, _ := strings.Cut(string(env), "MUSTER_CLOUD_OUTSIDE=")
	b.aws = aws.Config{
		Region: "us-east-2", BaseEndpoint: aws.String(strings.TrimSpace(url)), HTTPClient: &http.Client{Transport: cloud.Transport()},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "looker", SecretAccessKey: "looker", Source: "test"}, nil
		}),
	}
}

// end takes the cluster down. Nothing may be left of it.
func (b *booted) end() {
	b.t.Helper()
	if b.t.Failed() {
		out, err := b.head("sh", "-c", "sinfo -Nl; squeue; scontrol show job; tail -n 40 $(find /var/log/muster /var/log/slurm /var/log/slurmctld.log /var/log/agent.log -name '*.log')")
		b.t.Logf("the head node: %v\n%s", err, out)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(b.t.Context()), patience)
	defer cancel()
	cmd := b.command(ctx, "exec", b.double, program(b.t, "muster"), "down", "--delete-data", "--yes")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.t.Errorf("down: %v\n%s", err, out)
	}
	if left, err := remains.Of(ctx, b.aws); err != nil || len(left) > 0 {
		b.t.Errorf("left is %q, %v", left, err)
	}
}

func (b *booted) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, b.cloud, args...)
	cmd.Dir = b.user
	cmd.Env = append(os.Environ(), "HOME="+b.user, "MUSTER_HOME="+filepath.Join(b.user, ".muster"))
	return cmd
}

// must runs muster-cloud, which has to succeed, and returns what it said.
func (b *booted) must(args ...string) string {
	b.t.Helper()
	out, err := b.try(args...)
	if err != nil {
		b.t.Fatalf("muster-cloud %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (b *booted) try(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	out, err := b.command(ctx, args...).CombinedOutput()
	return string(out), err
}

// head runs a command on the head node as root.
func (b *booted) head(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(b.t.Context()), patience)
	defer cancel()
	var out, complaints bytes.Buffer
	cmd := b.command(ctx, append([]string{"head", b.double}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, &complaints)
	}
	return out.String(), nil
}

func (b *booted) await(what string, limit time.Duration, so func() bool) {
	b.t.Helper()
	began, deadline := time.Now(), time.After(limit)
	for !so() {
		// What takes long is looked at more seldom, so that looking does not make it take longer.
		pause := min(max(50*time.Millisecond, time.Since(began)/10), 400*time.Millisecond)
		select {
		case <-time.After(pause):
		case <-deadline:
			b.t.Fatalf("waited %v for %s", limit, what)
		}
	}
}

// instances are the fleet's of a type, ended ones too.
func (b *booted) instances(kind types.InstanceType) []types.Instance {
	out, err := ec2.NewFromConfig(b.aws).DescribeInstances(b.t.Context(), &ec2.DescribeInstancesInput{Filters: []types.Filter{
		{Name: aws.String("instance-type"), Values: []string{string(kind)}},
	}})
	if err != nil {
		b.t.Errorf("look at the instances: %v", err)
		return nil
	}
	var all []types.Instance
	for _, r := range out.Reservations {
		all = append(all, r.Instances...)
	}
	return all
}

func runs(i types.Instance) bool {
	return i.State.Name == types.InstanceStateNameRunning || i.State.Name == types.InstanceStateNamePending
}

// nodeOf is which node an instance is, by its tags.
func nodeOf(i types.Instance) string {
	var nodes []string
	for _, t := range i.Tags {
		switch aws.ToString(t.Key) {
		case "muster:node":
			return aws.ToString(t.Value)
		case "muster:nodes":
			nodes, _ = slurm.Expand(aws.ToString(t.Value))
		}
	}
	if n := int(aws.ToInt32(i.AmiLaunchIndex)); n < len(nodes) {
		return nodes[n]
	}
	return ""
}

// doubles are nodes that have more than one instance now.
func doubles(all []types.Instance) []string {
	of := map[string][]string{}
	for _, i := range all {
		if runs(i) {
			of[nodeOf(i)] = append(of[nodeOf(i)], aws.ToString(i.InstanceId))
		}
	}
	var found []string
	for node, ids := range of {
		if node == "" || len(ids) > 1 {
			found = append(found, fmt.Sprintf("%q has %v", node, ids))
		}
	}
	slices.Sort(found)
	return found
}
