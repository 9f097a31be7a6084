package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/aws/join"
	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/services/supervise"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/sys/tail"
)

// node is a compute or login node's part of an agent.
type node struct {
	*agent
	// Name is the Slurm node's, empty for a login node.
	Name string
	step string
	// blind is what could not be looked at of the node's hardware, and what it goes without.
	blind string
	// burned is what came of its burn-in, empty if it had none.
	burned string
	// report is what its burn-in found, where that took the machine for unfit.
	report []byte
	// settled is how often in a row Slurm was seen to know the node.
	settled int
}

// placeFile keeps which node the machine is, until it restarts.
const placeFile = services.RunDir + "/place.json"

func (a *agent) runNode(ctx context.Context) error {
	n := &node{agent: a}
	err := n.bootNode(ctx)
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return n.giveUp(ctx, err)
	}
	return n.watch(ctx)
}

// steps are a node's boot. munged comes first: by it the machine proves that it
// belongs to the cluster when it asks which node it is.
func (n *node) steps() []step {
	all := n.first()
	if n.Ticket.Role == manifest.RoleLogin {
		all = append(all, step{"share host keys", n.poolKeys})
	}
	all = append(all, []step{
		{"start munged", func(ctx context.Context) (string, error) { return n.startServices(ctx, "") }},
		{"join cluster", n.join},
		n.actions(spec.OnNodeStart),
		{"name machine", func(ctx context.Context) (string, error) {
			name := n.Name
			if name == "" {
				name = strings.ToLower(n.Ticket.Cluster + "-login-" + strings.TrimPrefix(n.identity.InstanceID, "i-"))
			}
			return n.named(name).do(ctx)
		}},
		n.scratch(),
		n.tune(),
		n.gpus(),
		{"mount file systems", n.mounts},
		{"prepare containers", n.nodeContainers},
	}...)
	if n.Ticket.Role == manifest.RoleCompute {
		all = append(all, step{"look at health", n.health})
	} else {
		all = append(all, step{"write configuration", n.loginConf})
	}
	all = append(all, n.actions(spec.OnNodeConfigured))
	if n.Ticket.Role == manifest.RoleCompute {
		all = append(all, step{join.BurnInStep, n.burnIn})
	}
	return append(all,
		step{"start services", func(ctx context.Context) (string, error) { return n.startServices(ctx, n.Name) }},
		step{"tell head node", n.ready})
}

func (n *node) bootNode(ctx context.Context) error {
	outer, cancel := ctx, func() {}
	defer func() { cancel() }()
	for _, s := range n.steps() {
		n.step = s.name
		began := time.Now()
		detail, err := s.do(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		n.Log.Info("step done", "step", s.name, "detail", detail, "seconds", time.Since(began).Seconds())
		if s.name == "read cluster" {
			n.ship(outer, []string{"slurmd", "munged", "supervise"})
			ctx, cancel = n.limited(outer)
		}
	}
	return nil
}

// startServices runs munged, and slurmd of a node that is known.
func (n *node) startServices(ctx context.Context, name string) (string, error) {
	if place, err := n.place(); err == nil && name == "" {
		name = place.Node // an agent that starts again leaves the slurmd alone
	}
	return n.serve(ctx, n.services(name))
}

func (n *node) services(name string) []supervise.Service {
	var scope []string
	if run := n.machine.Find("systemd-run"); run != "" && n.machine.Systemd() {
		scope = []string{run, "--scope", "--quiet", "--collect", "--slice=system.slice", "--property=Delegate=yes", "--"}
	}
	return services.NodeServices(services.Node{Params: n.params(), Name: name, Head: n.Ticket.Head, Login: n.Ticket.Role == manifest.RoleLogin,
		Sackd: n.machine.Find(n.slurm.Sbin + "/sackd"), Scope: scope})
}

// loginConf brings slurm.conf where Slurm is too old to have a sackd, which does so.
func (n *node) loginConf(ctx context.Context) (string, error) {
	if n.machine.Find(n.slurm.Sbin+"/sackd") != "" {
		return "sackd brings it", nil
	}
	conf, err := n.awaitObject(ctx, loginConfKey(n.Ticket.Cluster))
	if err != nil {
		return "", err
	}
	stack, _ := n.stack()
	for name, text := range map[string]string{"slurm.conf": string(conf), "plugstack.conf": stack.Conf()} {
		if _, err := n.machine.Write(n.slurm.Conf+"/"+name, text, 0o644, ""); err != nil {
			return "", err
		}
	}
	return "slurm.conf from the bucket", nil
}

// place is what the head node said before, in this machine's present life.
func (n *node) place() (join.Place, error) {
	var p join.Place
	data, err := os.ReadFile(placeFile)
	if err == nil {
		err = json.Unmarshal(data, &p)
	}
	return p, err
}

// join learns which node this is.
func (n *node) join(ctx context.Context) (string, error) {
	if n.Ticket.Role == manifest.RoleLogin {
		return "login nodes have no node of Slurm's", nil
	}
	p, err := n.place()
	if errors.Is(err, fs.ErrNotExist) {
		ctx, cancel := context.WithTimeoutCause(ctx, n.Limits.Join, fmt.Errorf("no answer within %s", n.Limits.Join))
		defer cancel()
		p, err = n.controller().Join(ctx, join.Hello{InstanceID: n.identity.InstanceID, Version: n.Version})
	}
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(p)
	if err != nil {
		return "", err
	}
	n.Name = p.Node
	_, err = n.machine.Write(placeFile, string(data), 0o644, "")
	return p.Node, err
}

func (n *node) controller() join.Client {
	return join.Client{Head: net.JoinHostPort(n.Ticket.Head, fmt.Sprint(join.Port))}
}

// ready tells the head node that slurmd runs.
func (n *node) ready(ctx context.Context) (string, error) {
	took := time.Since(n.began).Seconds()
	if n.Name == "" {
		return fmt.Sprintf("nothing to tell after %.1f s", took), nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, n.Limits.Join, fmt.Errorf("no answer within %s", n.Limits.Join))
	defer cancel()
	_, err := n.controller().Ready(ctx, join.Ready{InstanceID: n.identity.InstanceID, Node: n.Name, Seconds: took, BurnIn: n.burned, Blind: n.blind})
	return fmt.Sprintf("ready after %.1f s", took), err
}

// failWait is how long a node that failed tries to say so before it ends.
const failWait = 30 * time.Second

// tailLines is how much of the log goes with a failure.
const tailLines = 20

// logEnd is the end of a log; one that cannot be read has none.
func logEnd(path string, lines int) []string {
	all, _ := tail.File(path, 0, lines)
	return all
}

// giveUp says why the boot failed, to the head node and on the console, and ends the
// machine: EC2 terminates it. A login node stays for a look.
func (n *node) giveUp(ctx context.Context, why error) error {
	n.Log.Error("boot failed", "step", n.step, "error", why)
	console(why.Error())
	if n.Ticket.Role != manifest.RoleCompute {
		<-ctx.Done()
		return why
	}
	tell, cancel := context.WithTimeoutCause(ctx, failWait, errors.New("the head node did not listen"))
	defer cancel()
	f := join.Failure{InstanceID: n.identity.InstanceID, Node: n.Name, Step: n.step, Error: why.Error(), LogTail: logEnd(logFile, tailLines), Report: n.report}
	if err := n.controller().Failed(tell, f); err != nil {
		n.Log.Error("the head node was not told", "error", err)
	}
	n.flushLogs(ctx)
	err := n.shutDown(ctx, why.Error())
	<-ctx.Done() // not again and again: the machine is on its way out
	return err
}

// headAnswers tells whether the head node's controller or its slurmctld can be
// reached. slurmctld complains of connections without a message, so it comes last.
func (n *node) headAnswers(ctx context.Context) bool {
	d := net.Dialer{Timeout: 5 * time.Second}
	for _, port := range []string{fmt.Sprint(join.Port), "6817"} {
		if c, err := d.DialContext(ctx, "tcp", net.JoinHostPort(n.Ticket.Head, port)); err == nil {
			c.Close()
			return true
		}
	}
	return false
}

// busy tells whether a step of a job runs here.
func (n *node) busy() bool {
	names, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		return true
	}
	for _, name := range names {
		if data, err := os.ReadFile(name); err == nil && strings.TrimSpace(string(data)) == "slurmstepd" {
			return true
		}
	}
	return false
}
