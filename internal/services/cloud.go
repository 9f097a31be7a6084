//go:build linux

package services

import (
	"slices"

	"github.com/muster-hpc/muster/internal/services/supervise"
)

// CloudServices are the services of a head node on AWS in their order.
func CloudServices(p Params) []supervise.Service {
	all := []supervise.Service{p.munged()}
	if !p.NoAccounting {
		if !p.Database {
			all = append(all, p.mariadb())
		}
		all = append(all, p.slurmdbd())
	}
	controller := p.service(supervise.Service{
		Name: "controller", After: []string{"slurmctld"},
		Args: []string{Muster, "controller", "--ticket", TicketFile}, Ready: p.unix(ControllerSocket),
	})
	return append(all, p.slurmctld(), p.slurmrestd(), controller)
}

// Node is a machine on AWS that is not the head node.
type Node struct {
	Params
	// Name is the Slurm node's, empty for a login node.
	Name string
	// Head is where slurmctld is, by its address.
	Head string
	// Sackd is the program that brings login nodes their configuration, empty where
	// Slurm has none: before 23.11.
	Login bool
	Sackd string
	// Scope begins the command line of slurmd where systemd runs the machine: it gives
	// slurmd a control group of its own, which it may divide among jobs.
	Scope []string
}

// NodeServices are the services of a compute or login node in their order.
func NodeServices(n Node) []supervise.Service {
	all := []supervise.Service{n.munged()}
	if n.Login && n.Sackd != "" {
		return append(all, n.service(supervise.Service{
			Name: "sackd", After: []string{"munged"}, Args: []string{n.Sackd, "-D", "--conf-server", n.Head},
		}))
	}
	if n.Name == "" {
		return all
	}
	// The first start tells slurmctld that the node has booted; a later one must not,
	// or slurmctld would take the node's jobs for lost.
	once := `b=-b; [ -e "$3.booted" ] && b=; : >"$3.booted"; exec "$1" -D $b -N "$2" --conf-server "$4"`
	return append(all, n.service(supervise.Service{
		Name: "slurmd", After: []string{"munged"},
		Args:  append(slices.Clone(n.Scope), "/bin/sh", "-c", once, "slurmd", n.slurm().Sbin+"/slurmd", n.Name, RunDir+"/"+n.Name, n.Head),
		Ready: n.tcp(6818),
	}))
}
