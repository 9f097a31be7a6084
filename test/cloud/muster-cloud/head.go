package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// onHead runs a command on the head node as root.
func onHead(ctx context.Context, dir string, args []string) error {
	cfg, err := outside(dir)
	if err != nil {
		return err
	}
	id, err := headOf(ctx, cfg)
	if err != nil {
		return err
	}
	line, err := enter(dir, id, args)
	if err != nil {
		return err
	}
	return syscall.Exec(line[0], line, os.Environ())
}

// headOf is the instance that is a head node.
func headOf(ctx context.Context, cfg aws.Config) (string, error) {
	out, err := ec2.NewFromConfig(cfg).DescribeInstances(ctx, &ec2.DescribeInstancesInput{Filters: []types.Filter{
		{Name: aws.String("tag:muster:role"), Values: []string{"head"}},
		{Name: aws.String("instance-state-name"), Values: []string{"running"}},
	}})
	if err != nil {
		return "", err
	}
	if len(out.Reservations) == 0 || len(out.Reservations[0].Instances) == 0 {
		return "", errors.New("no head node runs")
	}
	return aws.ToString(out.Reservations[0].Instances[0].InstanceId), nil
}

// enter is the command line that runs another one in a machine. Its process is
// known by its number in the world's namespace.
func enter(dir, id string, args []string) ([]string, error) {
	world, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		return nil, err
	}
	machine, err := os.ReadFile(filepath.Join(dir, "pids", id))
	if err != nil {
		return nil, fmt.Errorf("machine %s: %w", id, err)
	}
	nsenter, err := exec.LookPath("nsenter")
	if err != nil {
		return nil, err
	}
	line := []string{nsenter, "--target=" + strings.TrimSpace(string(world)), "--mount", "--pid", "--",
		nsenter, "--target=" + strings.TrimSpace(string(machine)), "--all", "--wdns=/", "--"}
	return append(line, args...), nil
}
