package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/muster-hpc/muster/test/cloud/remains"
)

// scripts is the bucket that the user has before the story.
const scripts = "muster-demo-scripts"

const gpuType = types.InstanceTypeP548xlarge

// job is what the story trains: each node writes a checkpoint.
const job = `srun sh -c 'echo "step 1000 from $SLURMD_NODENAME with $SLURM_GPUS_ON_NODE GPUs" >/fsx/checkpoints/step1000.$SLURM_PROCID'; date +%s >/fsx/ended`

// tell is the story itself.
func (s *story) tell(ctx context.Context) error {
	for _, part := range []func(context.Context) error{s.look, s.create, s.visit, s.compute, s.shrink, s.grow, s.repeat, s.remove} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

// look asks what the file is worth before anything is made.
func (s *story) look(ctx context.Context) error {
	if _, err := s.run(ctx, "check", "cluster.yaml"); err != nil {
		return err
	}
	plan, err := s.run(ctx, "plan", "cluster.yaml")
	if err == nil && !strings.Contains(plan, "6 nodes, 32 GPUs") {
		err = fmt.Errorf("the plan does not speak of 6 nodes, 32 GPUs")
	}
	return err
}

func (s *story) create(ctx context.Context) error {
	if _, err := s.run(ctx, "up", "cluster.yaml", "--on", "aws", "--yes"); err != nil {
		return err
	}
	status, err := s.run(ctx, "status")
	if err != nil {
		return err
	}
	for _, want := range []string{"demo create complete", "demo-base create complete", "demo-storage create complete", "ready, muster", "1 c6i.large running", "1 c6i.xlarge running"} {
		if !strings.Contains(status, want) {
			return fmt.Errorf("the status does not say %q", want)
		}
	}
	return s.count(ctx, gpuType, 0, 0)
}

// compute runs a job over two nodes that are not there yet.
func (s *story) compute(ctx context.Context) error {
	s.say("A job over two nodes of 8 GPUs: they are launched for it, and write a checkpoint to Lustre")
	began := time.Now()
	if _, err := s.run(ctx, "exec", "--", "sbatch", "--wait", "--partition=gpu", "--nodes=2", "--gpus-per-node=8", "--job-name=train", "--wrap", job); err != nil {
		return err
	}
	// sbatch --wait looks after 2, 10 and 42 s, and may hear of the end late.
	ended, err := s.run(ctx, "exec", "--", "cat", "/fsx/ended")
	if err != nil {
		return err
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(ended), 10, 64)
	if err != nil {
		return fmt.Errorf("read when the job ended: %w", err)
	}
	s.idle = time.Unix(seconds, 0)
	s.say("It took %.1f s with the boot of its nodes", s.idle.Sub(began).Seconds())
	got, err := s.run(ctx, "exec", "--", "cat", "/fsx/checkpoints/step1000.0", "/fsx/checkpoints/step1000.1")
	if err != nil {
		return err
	}
	if want := "step 1000 from gpu-dy-p5-1 with 8 GPUs\nstep 1000 from gpu-dy-p5-2 with 8 GPUs\n"; got != want {
		return fmt.Errorf("the checkpoints hold %q, not %q", got, want)
	}
	if _, err := s.run(ctx, "nodes"); err != nil {
		return err
	}
	return s.count(ctx, gpuType, 2, 2)
}

// shrink waits until Slurm gives the nodes back, after ScaledownIdletime.
func (s *story) shrink(ctx context.Context) error {
	s.say("Nobody wants the two nodes: after ScaledownIdletime, one minute, they are gone")
	err := await(ctx, 3*time.Minute, "the nodes to be ended", func() (bool, error) {
		running, _, err := s.instances(ctx, gpuType)
		return running == 0, err
	})
	if err != nil {
		return err
	}
	took := time.Since(s.idle)
	fmt.Fprintf(s.out, "gone %.0f s after the job\n", took.Seconds())
	if took < 50*time.Second { // Slurm looks at times in whole seconds, and not at once
		return fmt.Errorf("the nodes were ended %v after the job, before they were idle for a minute", took)
	}
	return s.count(ctx, "c6i.large", 1, 1)
}

// grow changes the file and the cluster with it.
func (s *story) grow(ctx context.Context) error {
	s.say("cluster.yaml: MaxCount of p5 from 4 to 6")
	path := filepath.Join(s.files, "cluster.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	changed := strings.Replace(string(text), "MaxCount: 4", "MaxCount: 6", 1)
	if err := os.WriteFile(path, []byte(changed), 0o644); err != nil {
		return err
	}
	if _, err := s.run(ctx, "up", "cluster.yaml", "--on", "aws", "--yes"); err != nil {
		return err
	}
	nodes, err := s.run(ctx, "exec", "--", "sinfo", "--Node", "--noheader", "--partition=gpu", "--format=%N")
	if err != nil {
		return err
	}
	if want := "gpu-dy-p5-1 gpu-dy-p5-2 gpu-dy-p5-3 gpu-dy-p5-4 gpu-dy-p5-5 gpu-dy-p5-6"; strings.Join(strings.Fields(nodes), " ") != want {
		return fmt.Errorf("the nodes of Slurm are %q, not %s", nodes, want)
	}
	return nil
}

// repeat says again what is already so.
func (s *story) repeat(ctx context.Context) error {
	before, err := s.all(ctx)
	if err != nil {
		return err
	}
	if _, err := s.run(ctx, "up", "cluster.yaml", "--on", "aws", "--yes"); err != nil {
		return err
	}
	after, err := s.all(ctx)
	if err == nil && !slices.Equal(before, after) {
		err = fmt.Errorf("a second up changed what there is: %v, then %v", before, after)
	}
	return err
}

// remove takes everything away but what was there before.
func (s *story) remove(ctx context.Context) error {
	if _, err := s.run(ctx, "down", "--delete-data", "--yes"); err != nil {
		return err
	}
	found, err := remains.Of(ctx, s.aws)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "\n$ muster-cloud left\n%s\n", strings.Join(found, "\n"))
	if want := []string{"bucket " + scripts}; !slices.Equal(found, want) {
		return fmt.Errorf("left is %q, not %q", found, want)
	}
	return nil
}

// count holds how many instances of a type run, and how many were ever launched.
func (s *story) count(ctx context.Context, kind types.InstanceType, running, ever int) error {
	r, e, err := s.instances(ctx, kind)
	if err == nil && (r != running || e != ever) {
		err = fmt.Errorf("%d %s run and %d were launched, not %d and %d", r, kind, e, running, ever)
	}
	return err
}

func (s *story) instances(ctx context.Context, kind types.InstanceType) (running, ever int, err error) {
	out, err := ec2.NewFromConfig(s.aws).DescribeInstances(ctx, &ec2.DescribeInstancesInput{
		Filters: []types.Filter{{Name: aws.String("instance-type"), Values: []string{string(kind)}}},
	})
	if err != nil {
		return 0, 0, err
	}
	for _, r := range out.Reservations {
		for _, i := range r.Instances {
			ever++
			if n := i.State.Name; n == types.InstanceStateNameRunning || n == types.InstanceStateNamePending {
				running++
			}
		}
	}
	return running, ever, nil
}

// all names what there is, and every instance that ever was.
func (s *story) all(ctx context.Context) ([]string, error) {
	found, err := remains.Of(ctx, s.aws)
	if err != nil {
		return nil, err
	}
	_, ever, err := s.instances(ctx, "c6i.large")
	return append(found, fmt.Sprintf("%d c6i.large ever", ever)), err
}
