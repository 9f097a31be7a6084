package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/aws/boot"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/services/supervise"
	"github.com/muster-hpc/muster/internal/sys/own"
	"github.com/muster-hpc/muster/internal/sys/pause"
)

// The machine's services have a supervisor of their own, a process beside the agent:
// it waits for all children, and an agent that ends or is replaced does not end them.
//
//	systemd or user data ── agent
//	                          └╴╴╴ supervisor (its own session) ── munged, slurmctld, ...
const (
	servicesFile = services.RunDir + "/services.json"
	statusFile   = services.RunDir + "/services-status.json"
	superviseLog = LogDir + "/supervise.log"
	// superviseLock is held by the supervisor as long as it lives, and has its process ID.
	superviseLock = services.RunDir + "/supervise.pid"
)

// Supervise is the supervisor's main program. It returns when ctx ends.
func Supervise(ctx context.Context) error {
	lock, err := own.Open(superviseLock)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return fmt.Errorf("another supervisor runs: %w", err)
	}
	services, err := supervise.Load(servicesFile)
	if err != nil {
		return err
	}
	if err := endOrphans(services); err != nil {
		return err
	}
	if err := errors.Join(lock.Truncate(0), os.Remove(statusFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, err := lock.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0); err != nil {
		return err
	}
	// Orphans of the services come here, and not to a first process that may not reap.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return err
	}
	return supervise.Run(ctx, supervise.Config{Services: services, StatusFile: statusFile, Spawn: spawn})
}

// spawn starts a service of the machine.
func spawn(_ bool, args, env []string, log *os.File) (int, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	return syscall.ForkExec(args[0], args, &syscall.ProcAttr{
		Dir: "/", Env: append(os.Environ(), env...),
		Files: []uintptr{null.Fd(), log.Fd(), log.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
}

// Services are this machine's, as their supervisor sees them.
func Services() ([]supervise.Status, error) { return supervise.LoadStatus(statusFile) }

// endOrphans ends what a supervisor that died left running: the new one starts the
// services again. Jobs are no services, and go on.
func endOrphans(services []supervise.Service) error {
	old, err := supervise.LoadStatus(statusFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, s := range old {
		if s.PID == 0 || !runs(s.PID, services, s.Name) {
			continue
		}
		_ = unix.Kill(s.PID, unix.SIGTERM)
		for end := time.Now().Add(5 * time.Second); runs(s.PID, services, s.Name); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				_ = unix.Kill(s.PID, unix.SIGKILL)
			}
		}
	}
	return nil
}

// runs tells whether a process is the named service's program.
func runs(pid int, services []supervise.Service, name string) bool {
	line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	program, _, _ := strings.Cut(string(line), "\x00")
	if err != nil || program == "" {
		return false
	}
	return slices.ContainsFunc(services, func(s supervise.Service) bool { return s.Name == name && slices.Contains(s.Args, program) })
}

// supervisor is the process ID of the supervisor that lives, 0 if there is none.
func supervisor() int {
	f, err := os.Open(superviseLock)
	if err != nil {
		return 0
	}
	defer f.Close()
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
		return 0 // the lock was free; closing the file frees it again
	}
	data := make([]byte, 16)
	n, _ := f.ReadAt(data, 0)
	pid, _ := strconv.Atoi(strings.TrimSpace(string(data[:n])))
	return pid
}

// serve has the services run: a supervisor that does so already is left alone, one
// with other services is replaced. It returns when all of them answer.
func (a *agent) serve(ctx context.Context, services []supervise.Service) (string, error) {
	text, err := json.MarshalIndent(services, "", "  ")
	if err != nil {
		return "", err
	}
	changed, err := a.machine.Write(servicesFile, string(text)+"\n", 0o644, "")
	if err != nil {
		return "", err
	}
	if pid := supervisor(); pid != 0 && changed {
		if err := endSupervisor(ctx, pid); err != nil {
			return "", err
		}
	}
	if err := a.keepSupervised(); err != nil {
		return "", err
	}
	if err := a.answer(ctx, services); err != nil {
		return "", err
	}
	var names []string
	for _, s := range services {
		names = append(names, s.Name)
	}
	return strings.Join(names, ", ") + " answer", nil
}

func endSupervisor(ctx context.Context, pid int) error {
	_ = unix.Kill(pid, unix.SIGTERM)
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("the supervisor of the services did not end within a minute"))
	defer cancel()
	for supervisor() != 0 {
		if err := pause.For(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// keepSupervised starts a supervisor if there is none.
func (a *agent) keepSupervised() error {
	if supervisor() != 0 {
		return nil
	}
	log, err := os.OpenFile(superviseLog, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(a.Program, "agent", "supervise")
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", log, log
	cmd.Env = append(os.Environ(), "PATH="+boot.SystemPath, "LC_ALL=C.UTF-8")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the supervisor of the services: %w", err)
	}
	go func() { _ = cmd.Wait() }() // reaped whenever it ends; the lock says whether it lives
	return nil
}

// unanswered is a service that does not answer in time: how it ended last, and the end
// of its log.
type unanswered struct{ name, why string }

func (u unanswered) Error() string { return u.name + " does not answer after " + u.why }

// answer waits until all services answer; for those of accounting not as long. What does
// not answer is an error, unanswered.
func (a *agent) answer(ctx context.Context, services []supervise.Service) error {
	began := time.Now()
	for {
		waiting := notReady(services)
		if len(waiting) == 0 {
			return nil
		}
		limit := a.Limits.Services
		if slices.Contains(accountingServices, waiting[0].Name) {
			limit = min(limit, a.Limits.Accounting)
		}
		if time.Since(began) < limit && pause.For(ctx, 50*time.Millisecond) == nil {
			continue
		}
		if ctx.Err() != nil {
			limit = time.Since(began).Round(time.Second)
		}
		s := waiting[0]
		i := slices.IndexFunc(services, func(x supervise.Service) bool { return x.Name == s.Name })
		return unanswered{s.Name, fmt.Sprintf("%s (%s); its log ends: %s", limit, s.Last, strings.Join(logEnd(services[i].Log, 5), " | "))}
	}
}

// notReady are the services that do not answer yet.
func notReady(services []supervise.Service) []supervise.Status {
	status, err := supervise.LoadStatus(statusFile)
	var waiting []supervise.Status
	for _, s := range services {
		i := slices.IndexFunc(status, func(x supervise.Status) bool { return x.Name == s.Name })
		switch {
		case err != nil || i < 0:
			waiting = append(waiting, supervise.Status{Name: s.Name, Last: "not started yet"})
		case status[i].Phase != supervise.Ready:
			waiting = append(waiting, status[i])
		}
	}
	return waiting
}

// restart ends a service, which its supervisor starts again.
func (a *agent) restart(ctx context.Context, services []supervise.Service, name string) error {
	status, err := supervise.LoadStatus(statusFile)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(status, func(s supervise.Status) bool { return s.Name == name })
	if i < 0 || status[i].PID == 0 {
		return nil
	}
	_ = unix.Kill(status[i].PID, unix.SIGTERM)
	before := status[i].PID
	ctx, cancel := context.WithTimeoutCause(ctx, a.Limits.Services, fmt.Errorf("%s was not started again within %s", name, a.Limits.Services))
	defer cancel()
	for {
		if now, err := supervise.LoadStatus(statusFile); err == nil && now[i].PID != before && len(notReady(services)) == 0 {
			return nil
		}
		if err := pause.For(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}
