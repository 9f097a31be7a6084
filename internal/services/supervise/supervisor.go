package supervise

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Config is what a supervisor needs.
type Config struct {
	Services []Service
	// StatusFile is rewritten whole whenever something changes.
	StatusFile string
	// Logs are kept small.
	Logs Logs
	// Spawn starts a program and returns its process ID. It must not wait for it.
	Spawn func(inside bool, args, env []string, log *os.File) (pid int, err error)
}

const (
	probeEvery   = 10 * time.Millisecond
	settledEvery = 10 * time.Second
	// A service that ended is started again after a pause that doubles up to
	// pauseMax, and is short again once it ran for calmAfter.
	pauseMin  = 100 * time.Millisecond
	pauseMax  = 10 * time.Second
	calmAfter = 30 * time.Second
)

type service struct {
	def Service
	Status
	todo     [][]string // the commands of this start, from the one that runs on; the program itself is last
	setup    bool       // PID is not the program's, but that of something before it
	torn     bool       // Recover has to be run before the next start
	pause    time.Duration
	notUntil time.Time
	started  time.Time
}

type supervisor struct {
	Config
	services []*service
	rotated  time.Time
}

// Run keeps the services running until ctx ends, then ends them in reverse
// order. It must be the only one in its process that waits for children.
func Run(ctx context.Context, c Config) error {
	s := &supervisor{Config: c}
	for _, def := range c.Services {
		s.services = append(s.services, &service{def: def, Status: Status{Name: def.Name, Phase: Waiting, Since: time.Now()}, pause: pauseMin, torn: true})
	}
	children := make(chan os.Signal, 1)
	signal.Notify(children, unix.SIGCHLD)
	defer signal.Stop(children)
	for ctx.Err() == nil {
		changed := s.reap()
		changed = s.advance(time.Now()) || changed
		if changed {
			if err := s.writeStatus(); err != nil {
				fmt.Fprintln(os.Stderr, "write status:", err)
			}
		}
		if time.Since(s.rotated) >= rotateEvery {
			s.rotated = time.Now()
			if err := s.Logs.Rotate(); err != nil {
				fmt.Fprintln(os.Stderr, "keep logs small:", err)
			}
		}
		s.sleep(ctx, children)
	}
	return s.stop()
}

// sleep waits for something to do: a child's end, or the next probe while a
// service is on its way up.
func (s *supervisor) sleep(ctx context.Context, children <-chan os.Signal) {
	wait := probeEvery
	if s.settled() {
		wait = settledEvery
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-children:
	case <-timer.C:
	}
}

func (s *supervisor) settled() bool {
	return !slices.ContainsFunc(s.services, func(x *service) bool { return x.Phase != Ready && x.Phase != Hanging })
}

// advance moves every service one step on, if it can.
func (s *supervisor) advance(now time.Time) (changed bool) {
	for _, x := range s.services {
		switch {
		case x.PID != 0 && (x.Phase == Ready || x.Phase == Hanging):
			changed = x.look(now) || changed
		case x.PID != 0 && x.Phase == Starting && !x.setup && x.def.Ready.answers():
			x.Phase, x.Since, changed = Ready, now, true
		case x.PID == 0 && now.After(x.notUntil) && s.may(x):
			s.start(x, now)
			changed = true
		}
	}
	return changed
}

// look sees whether a service that was ready can still answer.
func (x *service) look(now time.Time) (changed bool) {
	phase := Ready
	if stopped(x.PID) {
		phase = Hanging
	}
	if x.Phase == phase {
		return false
	}
	x.Phase, x.Since = phase, now
	return true
}

// stopped tells whether a signal has stopped a process (proc(5)).
func stopped(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, state, _ := bytes.Cut(stat[max(0, bytes.LastIndexByte(stat, ')')):], []byte(" "))
	return bytes.HasPrefix(state, []byte("T"))
}

func (s *supervisor) may(x *service) bool {
	for _, need := range x.def.After {
		i := slices.IndexFunc(s.services, func(y *service) bool { return y.Name == need })
		if i < 0 || s.services[i].Phase != Ready {
			return false
		}
	}
	return true
}

// start runs the next command of a start: first recovery and setup, if there are any, then
// the service itself.
func (s *supervisor) start(x *service, now time.Time) {
	if len(x.todo) == 0 {
		x.todo = x.steps()
	}
	x.setup = len(x.todo) > 1
	pid, err := s.spawn(x, x.todo[0])
	if err != nil {
		x.Last, x.todo = err.Error(), nil
		s.postpone(x, now)
		return
	}
	x.PID, x.Phase, x.Since, x.started = pid, Starting, now, now
}

// steps are the commands of a start.
func (x *service) steps() [][]string {
	var all [][]string
	if x.torn && len(x.def.Recover) > 0 {
		all = append(all, x.def.Recover)
	}
	if len(x.def.Setup) > 0 {
		all = append(all, x.def.Setup)
	}
	return append(all, x.def.Args)
}

func (s *supervisor) spawn(x *service, args []string) (int, error) {
	log, err := os.OpenFile(x.def.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	return s.Spawn(x.def.Inside, args, x.def.Env, log)
}

func (s *supervisor) postpone(x *service, now time.Time) {
	x.PID, x.Phase, x.Since = 0, Waiting, now
	x.notUntil = now.Add(x.pause)
	x.pause = min(2*x.pause, pauseMax)
}

// reap collects every child that ended, ours or an orphan's.
func (s *supervisor) reap() (changed bool) {
	for {
		var ws unix.WaitStatus
		pid, err := unix.Wait4(-1, &ws, unix.WNOHANG, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || pid <= 0 {
			return changed
		}
		i := slices.IndexFunc(s.services, func(x *service) bool { return x.PID == pid })
		if i >= 0 {
			s.ended(s.services[i], ws, time.Now())
			changed = true
		}
	}
}

func (s *supervisor) ended(x *service, ws unix.WaitStatus, now time.Time) {
	if x.setup && ws.ExitStatus() == 0 {
		// Go on at once. The first step that is done is the recovery, where there is one.
		x.PID, x.todo, x.torn = 0, x.todo[1:], false
		return
	}
	if now.Sub(x.started) > calmAfter {
		x.pause = pauseMin
	}
	used := !x.setup && (x.Phase == Ready || x.Phase == Hanging)
	x.torn = x.torn || used && ws.ExitStatus() != 0
	x.Last, x.todo = describe(x, ws), nil
	x.Restarts++
	s.postpone(x, now)
}

func describe(x *service, ws unix.WaitStatus) string {
	what := "ended"
	if x.setup {
		what = "setup ended"
	}
	if ws.Signaled() {
		return fmt.Sprintf("%s by signal %s", what, unix.SignalName(ws.Signal()))
	}
	return fmt.Sprintf("%s with exit code %d", what, ws.ExitStatus())
}

const stopWait = 2 * time.Second

// stop ends the services in reverse order. One that does not end in time is
// killed.
func (s *supervisor) stop() error {
	for _, x := range slices.Backward(s.services) {
		if x.PID == 0 {
			continue
		}
		_ = syscall.Kill(x.PID, syscall.SIGTERM)
		for end := time.Now().Add(stopWait); x.PID != 0; s.reap() {
			if time.Now().After(end) {
				_ = syscall.Kill(x.PID, syscall.SIGKILL)
			}
			time.Sleep(time.Millisecond)
		}
	}
	return nil
}

func (s *supervisor) writeStatus() error {
	var all []Status
	for _, x := range s.services {
		all = append(all, x.Status)
	}
	data, err := json.Marshal(all)
	if err != nil {
		return err
	}
	beside := s.StatusFile + ".new"
	if err := os.WriteFile(beside, data, 0o644); err != nil {
		return err
	}
	return os.Rename(beside, s.StatusFile)
}

// answers tells whether the probe's socket accepts a connection.
func (p Probe) answers() bool {
	if p.Network == "" {
		return true
	}
	c, err := net.DialTimeout(p.Network, p.Address, time.Second)
	if err != nil {
		return false
	}
	c.Close()
	return true
}
