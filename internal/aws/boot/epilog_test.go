package boot

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/services"
)

// kernelLog is a machine's /dev/kmsg: a pipe of which, as of the real one, each read is one record.
type kernelLog struct {
	t    *testing.T
	file *os.File
}

func (m Machine) kernelLog(t *testing.T) kernelLog {
	t.Helper()
	path := m.path("/dev/kmsg")
	for name, text := range map[string]string{"/proc/sys/kernel/random/boot_id": "one\n", "/dev/null": ""} {
		if _, err := m.Write(name, text, 0o644, ""); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	if _, err := unix.FcntlInt(file.Fd(), unix.F_SETFL, unix.O_DIRECT); err != nil { // pipe(2): one read returns what one write wrote
		t.Fatal(err)
	}
	return kernelLog{t, file}
}

// has has the log show these records at the next look, as the real one shows all that it has at each.
func (k kernelLog) has(records ...string) {
	k.t.Helper()
	for _, r := range records {
		if _, err := k.file.WriteString(r + "\n"); err != nil {
			k.t.Fatal(err)
		}
	}
}

func fallen(line string) bool { return strings.Contains(line, "fallen") }

// TestKernelNews: each record counts once in a boot, only those of the kernel itself do, and what could not be looked at is said.
func TestKernelNews(t *testing.T) {
	m := machineOf(t, &fake{}, "")
	log := m.kernelLog(t)
	look := func(want, missed string, records ...string) KernelNews {
		t.Helper()
		log.has(records...)
		news, err := m.KernelNews(t.Context(), fallen)
		if err != nil || news.Line != want || news.Missed != missed {
			t.Fatalf("got %+v, %v, want %q, %q", news, err, want, missed)
		}
		return news
	}
	keep := func(n KernelNews) {
		t.Helper()
		if err := m.Keep(n); err != nil {
			t.Fatal(err)
		}
	}
	usual := []string{"6,5,1,-;usb 1-1: found", "12,6,2,-;a fallen one of user space", "30,7,2,-;a fallen one of a daemon", "4,8,3,c;a fallen fragment"}
	keep(look("", "", usual...)) // that records before the first are gone says nothing of jobs
	fell := append(usual, "3,9,4,-;one has fallen\n SUBSYSTEM=pci", "3,10,5,-;another has fallen")
	look("one has fallen", "", fell...)
	keep(look("one has fallen", "", fell...)) // it was not dealt with
	keep(look("", "", fell...))
	keep(look("one more has fallen", "", append(fell, "3,11,6,-;one more has fallen")...))
	keep(look("", "2 records of the kernel's log were overwritten before they were looked at", "6,14,9,-;usb 1-1: found"))
	keep(look("", "1 records of the kernel's log could not be read", "6,14,9,-;usb 1-1: found", "no record", "6,15,9,-;usb 1-1: found"))
	if info, err := os.Stat(m.path(kernelFile)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	for _, damaged := range []string{"{", `{"boot":"","sequence":99}`, `{"boot":"one","sequence":-1}`} {
		if _, err := m.Write(kernelFile, damaged, 0o600, ""); err != nil {
			t.Fatal(err)
		}
		look("one has fallen", "", fell...)
	}
	keep(look("one has fallen", "", fell...))
	if _, err := m.Write("/proc/sys/kernel/random/boot_id", "two\n", 0o644, ""); err != nil {
		t.Fatal(err)
	}
	look("one has fallen", "", fell...) // of another life
}

// TestKernelNews_of_this_machine: its own log is read, and where there is none, that is no silence.
func TestKernelNews_of_this_machine(t *testing.T) {
	if os.Getuid() != 0 && os.Getenv("MUSTER_CI") != "" {
		t.Fatal("only root may read /dev/kmsg")
	} else if os.Getuid() != 0 {
		t.Skip("only root may read /dev/kmsg")
	}
	seen := 0
	if news, err := (Machine{}).KernelNews(t.Context(), func(string) bool { seen++; return false }); err != nil || news.Line != "" || seen == 0 {
		t.Errorf("%+v, %v, %d records", news, err, seen)
	}
	if _, err := machineOf(t, &fake{}, "").KernelNews(t.Context(), fallen); err == nil {
		t.Error("a machine without a kernel's log has nothing to say")
	}
}

// TestEpilog: machines with GPUs ask their kernel, and whatever becomes of that, Slurm hears nothing of it.
func TestEpilog(t *testing.T) {
	m := machineOf(t, &fake{}, "")
	if detail, err := m.Epilog(); err != nil || detail != "no GPUs to ask the kernel for" {
		t.Errorf("%s, %v", detail, err)
	}
	if out, err := exec.CommandContext(t.Context(), m.path(NodeEpilog)).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
	for name, text := range map[string]string{"vendor": "0x10de\n", "device": "0x2335\n", "class": "0x030200\n"} {
		if _, err := m.Write("/sys/bus/pci/devices/0000:38:00.0/"+name, text, 0o644, ""); err != nil {
			t.Fatal(err)
		}
	}
	if detail, err := m.Epilog(); err != nil || detail != "the kernel is asked for its GPUs" {
		t.Errorf("%s, %v", detail, err)
	}
	dir := t.TempDir()
	muster, epilog, said := filepath.Join(dir, "muster"), filepath.Join(dir, "epilog"), filepath.Join(dir, "said")
	if err := os.WriteFile(epilog, []byte(strings.ReplaceAll(asksKernel, services.Muster, muster)), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, program := range map[string]string{"well": "exit 0", "blind": "exit 1", "killed": "kill -9 $$", "talks": "echo x; echo y >&2; exit 3", "not_there": ""} {
		t.Run(name, func(t *testing.T) {
			_ = os.Remove(muster)
			if program != "" {
				if err := os.WriteFile(muster, fmt.Appendf(nil, "#!/bin/sh\necho \"$#: $*\" >%s\n%s\n", said, program), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.CommandContext(t.Context(), epilog)
			cmd.Env = []string{"SLURMD_NODENAME=q-st-b 1; reboot"} // no PATH, as Slurm has it
			if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("%v\n%s", err, out)
			}
			if got, _ := os.ReadFile(said); program != "" && string(got) != "3: agent kernel q-st-b 1; reboot\n" {
				t.Errorf("it was called with %q", got)
			}
		})
	}
}
