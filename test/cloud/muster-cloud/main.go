// Command muster-cloud runs the double of AWS by itself, and boots what it launches
// as machines in namespaces of this one.
//
//	muster-cloud run DIR       until it is stopped; DIR is made and removed
//	muster-cloud env DIR       the environment in which AWS's clients speak to it
//	muster-cloud exec DIR CMD  run a command in its network, in that environment
//	muster-cloud put DIR BUCKET KEY FILE
//	muster-cloud left DIR      what there is in the double
//	muster-cloud head DIR CMD  run a command as root on the head node
//	muster-cloud capacity DIR TYPE N
//	                           how many instances of a type there are
//	muster-cloud reserve DIR TYPE ZONE COUNT [--block [STARTS [LASTS]]]
//	                           make a capacity reservation or block
//	muster-cloud network DIR   make a VPC as users have one
//	muster-cloud demo [MUSTER [FOLDER]]
//	                           the life of a cluster, with FOLDER/cluster.yaml
//
// In its machines it stands for what a namespace cannot have: see machine.Guest.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/muster-hpc/muster/test/cloud/machine"
	"github.com/muster-hpc/muster/test/cloud/remains"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := command(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "muster-cloud:", err)
		os.Exit(1)
	}
}

func command(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("usage: muster-cloud run|env|exec|put|left|capacity|reserve|network|head DIR, or demo")
	}
	switch {
	case args[0] == "run" && len(args) == 2 && machine.Inside():
		return world(ctx, args[1])
	case args[0] == "run" && len(args) == 2:
		return run(ctx, args[1])
	case args[0] == "env" && len(args) == 2:
		env, err := readEnv(args[1])
		fmt.Println(strings.Join(env, "\n"))
		return err
	case args[0] == "put" && len(args) == 5:
		return put(ctx, args[1], args[2], args[3], args[4])
	case args[0] == "left" && len(args) == 2:
		cfg, err := outside(args[1])
		if err != nil {
			return err
		}
		found, err := remains.Of(ctx, cfg)
		fmt.Println(strings.Join(found, "\n"))
		return err
	case args[0] == "exec" && len(args) > 2:
		return inside(args[1], args[2:])
	case args[0] == "capacity" && len(args) == 4:
		return setCapacity(ctx, args[1], args[2], args[3])
	case args[0] == "network" && len(args) == 2:
		return makeNetwork(ctx, args[1])
	case args[0] == "reserve" && len(args) >= 5 && len(args) <= 8:
		return reserve(ctx, args[1], args[2:])
	case args[0] == "head" && len(args) > 2:
		return onHead(ctx, args[1], args[2:])
	case args[0] == "demo" && len(args) <= 3:
		return demo(ctx, args[1:])
	}
	os.Exit(machine.Guest(args))
	return nil
}

// run starts the double in namespaces of its own and waits for its end.
func run(ctx context.Context, dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close()
	cmd, err := machine.Enter(l.(*net.TCPListener), os.Stdout, os.Stderr, os.Args[1:]...)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "pid"), []byte(strconv.Itoa(cmd.Process.Pid)), 0o644); err != nil {
		return errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	stopped := context.AfterFunc(ctx, func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it ends its machines with it
		time.AfterFunc(5*time.Second, func() { _ = cmd.Process.Kill() })
	})
	defer stopped()
	err = cmd.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func readEnv(dir string) ([]string, error) {
	data, err := os.ReadFile(filepath.Join(dir, "env"))
	return strings.Split(strings.TrimSpace(string(data)), "\n"), err
}

// inside runs a command in the double's network.
func inside(dir string, args []string) error {
	env, err := readEnv(dir)
	if err != nil {
		return err
	}
	pid, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		return err
	}
	nsenter, err := exec.LookPath("nsenter")
	if err != nil {
		return err
	}
	line := append([]string{nsenter, "--net=/proc/" + string(pid) + "/ns/net", "--"}, args...)
	return syscall.Exec(nsenter, line, append(os.Environ(), env...))
}
