package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// measured runs a command to its end and says what it used, with its children. It
// is run by a small process of ours: the kernel counts the memory of whoever starts
// a process as the process's.
func measured(ctx context.Context, c *exec.Cmd) (result, error) {
	self, err := os.Executable()
	if err != nil {
		return result{}, err
	}
	outer := exec.CommandContext(ctx, self, append([]string{"measure", c.Path}, c.Args[1:]...)...)
	outer.Dir, outer.Env = c.Dir, c.Env
	out, err := said(outer)
	if err != nil {
		return result{}, err
	}
	return figures(out)
}

// said is the last line that a command prints.
func said(c *exec.Cmd) (string, error) {
	var problems bytes.Buffer
	c.Stderr = &problems
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", c.Path, err, problems.String())
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1], nil
}

// measure is the small process.
func measure(ctx context.Context, args []string) error {
	c := exec.CommandContext(ctx, args[0], args[1:]...)
	c.Stderr = os.Stderr
	began := time.Now()
	if err := c.Run(); err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	wall := time.Since(began)
	usage, ok := c.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return errors.New("this system does not say what a process used")
	}
	fmt.Printf("%.3f %.3f %d\n", wall.Seconds(), (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds(), usage.Maxrss)
	return nil
}
