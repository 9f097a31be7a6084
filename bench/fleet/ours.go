package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// controllers is muster's side: the program of bench/fleet/ours.
type controllers struct {
	program, dir, strategy string
	// daemon is the controller that resumes nodes, until end.
	daemon  *exec.Cmd
	tell    io.WriteCloser
	answers *bufio.Scanner
	said    bytes.Buffer
}

func newControllers(program, dir, strategy string) (*controllers, error) {
	return &controllers{program: program, dir: dir, strategy: strategy}, os.MkdirAll(dir, 0o755)
}

// ready starts the controller and waits for its first round.
func (c *controllers) ready(ctx context.Context, s *slurm, env []string) error {
	c.daemon = c.command(ctx, s, env, "resume", c.strategy)
	c.daemon.Stderr = &c.said
	var err error
	if c.tell, err = c.daemon.StdinPipe(); err != nil {
		return err
	}
	out, err := c.daemon.StdoutPipe()
	if err != nil {
		return err
	}
	c.answers = bufio.NewScanner(out)
	if err := c.daemon.Start(); err != nil {
		return err
	}
	_, err = c.answer()
	return err
}

// answer is the controller's next line.
func (c *controllers) answer() (string, error) {
	if !c.answers.Scan() {
		return "", fmt.Errorf("the controller says nothing any more: %s", c.said.String())
	}
	return c.answers.Text(), nil
}

func (c *controllers) resume(_ context.Context, _ *slurm, jobs []job, _ []string) (result, error) {
	if err := json.NewEncoder(c.tell).Encode(jobs); err != nil {
		return result{}, err
	}
	line, err := c.answer()
	if err != nil {
		return result{}, err
	}
	return figures(line)
}

func (c *controllers) end() error {
	if c.daemon.Process == nil {
		return nil
	}
	if err := c.tell.Close(); err != nil {
		return err
	}
	if err := c.daemon.Wait(); err != nil {
		return fmt.Errorf("the controller: %w: %s", err, c.said.String())
	}
	return nil
}

func (c *controllers) round(ctx context.Context, s *slurm, env []string) (result, error) {
	line, err := said(c.command(ctx, s, env, "round"))
	if err != nil {
		return result{}, err
	}
	return figures(line)
}

func (c *controllers) command(ctx context.Context, s *slurm, env []string, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, c.program, args...)
	command.Dir = c.dir
	command.Env = append(append([]string(nil), s.env...), env...)
	return command
}
