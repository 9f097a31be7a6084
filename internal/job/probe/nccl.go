package probe

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/job/ras"
)

const (
	// rasWait is how long NCCL gathers what its processes say, which is its own default.
	rasWait = 5 * time.Second
	// tasksAsk is how many nodes ask NCCL: each answer is about all ranks, and costs all of them a little.
	tasksAsk = 3
	// addrsAtMost is how many addresses are asked on a node, answerBytes how long an answer may be when it is read.
	addrsAtMost = 4
	answerBytes = 2 << 20
)

// askNCCL asks NCCL wherever it may listen for the ranks on this node, if the node is among those that ask.
func askNCCL(ctx context.Context, all []seen) []Answer {
	if task, err := strconv.Atoi(os.Getenv("SLURM_PROCID")); err == nil && task >= tasksAsk {
		return nil
	}
	var answers []Answer
	for _, addr := range rasAddrs(all) {
		a := Answer{Addr: addr}
		r, err := ras.Query(ctx, addr, rasWait)
		if err == nil && !isOf(r, all) {
			err = errors.New("what answers there is not of this job")
		}
		if err == nil {
			err = fits(r)
		}
		if err != nil {
			a.Blind = strings.ToValidUTF8(err.Error(), "?")
		} else {
			a.Report = &r
		}
		answers = append(answers, a)
	}
	if len(answers) == 0 && len(all) > 0 {
		return []Answer{{Blind: "NCCL_RAS_ENABLE=0 has it say nothing, or no process has a rank"}}
	}
	return answers
}

// rasAddrs are the addresses at which the ranks' NCCL listens, by their environment.
func rasAddrs(all []seen) []string {
	var addrs []string
	for _, s := range all {
		addr := s.rasAddr
		if addr == "" {
			addr = net.JoinHostPort("localhost", strconv.Itoa(ras.Port))
		}
		if s.rank != "" && s.rasEnable != "0" {
			addrs = append(addrs, addr)
		}
	}
	slices.Sort(addrs)
	addrs = slices.Compact(addrs)
	return addrs[:min(len(addrs), addrsAtMost)]
}

// isOf says that a report is of the job's processes: two jobs of a user on a node may share a port. One that names no process
// of any may be.
func isOf(r ras.Report, all []seen) bool {
	named := false
	for _, c := range r.Comms {
		for _, p := range c.Ranks {
			named = true
			if slices.ContainsFunc(all, func(s seen) bool { return s.pid == p.PID }) {
				return true
			}
		}
	}
	return !named
}

// fits says that a report is short enough to be told.
func fits(r ras.Report) error {
	text, err := json.Marshal(r)
	if err == nil && len(text) > answerBytes {
		err = ras.ErrTooLong
	}
	return err
}

// addrs are the addresses of this machine that others see.
func addrs() []string {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil // NCCL's words are left as they are
	}
	var own []string
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && !n.IP.IsLoopback() && !n.IP.IsLinkLocalUnicast() {
			own = append(own, n.IP.String())
		}
	}
	return own
}
