package kmsg_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/sys/kmsg"
)

// TestParse reads the examples of Linux's Documentation/ABI/testing/dev-kmsg, and what else there may be.
func TestParse(t *testing.T) {
	for name, row := range map[string]struct {
		data string
		want kmsg.Record
	}{
		"of_the_documentation":      {"7,160,424069,-;pci_root PNP0A03:00: host bridge window [io  0x0000-0x0cf7] (ignored)\n SUBSYSTEM=acpi\n DEVICE=+acpi:PNP0A03:00\n", kmsg.Record{Sequence: 160, Text: "pci_root PNP0A03:00: host bridge window [io  0x0000-0x0cf7] (ignored)"}},
		"of_a_daemon":               {"30,340,5690716,-;udevd[80]: starting version 181\n", kmsg.Record{Facility: 3, Sequence: 340, Text: "udevd[80]: starting version 181"}},
		"with_fields_of_the_future": {"6,339,5140900,-,caller=T1;NET: Registered protocol family 10\n", kmsg.Record{Sequence: 339, Text: "NET: Registered protocol family 10"}},
		"a_fragment":                {"6,341,5690717,c;and on\n", kmsg.Record{Sequence: 341, Fragment: true, Text: "and on"}},
		"of_two_lines":              {"6,1,2,-;one\\x0atwo\n", kmsg.Record{Sequence: 1, Text: `one\x0atwo`}},
		"not_escaped":               {"6,1,2,-;one\x1b[31m\xff\n", kmsg.Record{Sequence: 1, Text: `one\x1b[31m\xff`}},
		"empty":                     {"6,1,2,-;\n", kmsg.Record{Sequence: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := kmsg.Parse([]byte(row.data))
			if diff := cmp.Diff(row.want, got); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
	for _, data := range []string{"", "6", "6,1,2;x", "x,1,2,-;x", "6,x,2,-;x", "6,-1,2,-;x", "70000,1,2,-;x", " SUBSYSTEM=acpi\n"} {
		if r, err := kmsg.Parse([]byte(data)); err == nil {
			t.Errorf("%q is %+v", data, r)
		}
	}
}

// TestEach reads this machine's own log, and holds it against what dmesg reads of it.
func TestEach(t *testing.T) {
	if os.Getuid() != 0 && os.Getenv("MUSTER_CI") != "" {
		t.Fatal("only root may read /dev/kmsg")
	} else if os.Getuid() != 0 {
		t.Skip("only root may read /dev/kmsg")
	}
	var texts []string
	look, err := kmsg.Each(t.Context(), kmsg.Path, func(r kmsg.Record) {
		if r.Facility == kmsg.Kernel && !r.Fragment && r.Text != "" {
			texts = append(texts, strings.ReplaceAll(r.Text, `\x09`, "\t"))
		}
	})
	if err != nil || !look.Any || look.Last < look.First || len(texts) == 0 {
		t.Fatalf("%+v, %d records, %v", look, len(texts), err)
	}
	out, err := exec.CommandContext(t.Context(), "dmesg", "--kernel", "--raw", "--noescape").Output()
	if err != nil {
		t.Fatal(err)
	}
	said, missing := string(out), 0
	for _, text := range texts {
		if strings.Contains(text, `\x`) {
			continue // dmesg has its own way to show these
		}
		if !strings.Contains(said, text) {
			missing++
			t.Logf("dmesg has no %q", text)
		}
	}
	if missing > len(texts)/100 { // the log goes on meanwhile, and its oldest records go
		t.Errorf("dmesg lacks %d of %d records", missing, len(texts))
	}
}

// TestEach_knows_the_kernels_own: what a program of root's writes there as if it were the kernel comes from somebody else.
func TestEach_knows_the_kernels_own(t *testing.T) {
	said := "muster tries /dev/kmsg: " + rand.Text()
	err := os.WriteFile(kmsg.Path, []byte("<7>"+said+"\n"), 0) // facility 0 is the kernel's, level 7 goes to no console
	if err != nil && os.Getenv("MUSTER_CI") != "" {
		t.Fatal(err)
	} else if err != nil {
		t.Skip(err)
	}
	var found []kmsg.Record
	_, err = kmsg.Each(t.Context(), kmsg.Path, func(r kmsg.Record) {
		if strings.Contains(r.Text, said) {
			found = append(found, r)
		}
	})
	if err != nil || len(found) != 1 || found[0].Facility == kmsg.Kernel || found[0].Text != said {
		t.Errorf("%+v, %v", found, err)
	}
}

// TestEach_ends: with the time that it is given, and at the end of what is no log.
func TestEach_ends(t *testing.T) {
	over, cancel := context.WithTimeoutCause(t.Context(), -time.Second, errors.New("its time is over"))
	defer cancel()
	if _, err := kmsg.Each(over, os.DevNull, func(kmsg.Record) {}); err == nil || !strings.Contains(err.Error(), "its time is over") {
		t.Errorf("got %v", err)
	}
	if look, err := kmsg.Each(t.Context(), os.DevNull, func(kmsg.Record) {}); err != nil || look.Any {
		t.Errorf("%+v, %v", look, err)
	}
	if _, err := kmsg.Each(t.Context(), filepath.Join(t.TempDir(), "none"), func(kmsg.Record) {}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// BenchmarkEach says how long a look at this machine's log takes.
func BenchmarkEach(b *testing.B) {
	records := 0
	for b.Loop() {
		records = 0
		if _, err := kmsg.Each(b.Context(), kmsg.Path, func(kmsg.Record) { records++ }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(records), "records")
}

// FuzzParse: whatever there is, a text is one line that can be shown, and a record that was read reads the same again.
func FuzzParse(f *testing.F) {
	for _, path := range []string{"gpud-kmsg.1.log", "gpud-kmsg.2.peermem.log"} {
		file, err := os.Open("../../job/cause/testdata/xid/" + path)
		if err != nil {
			f.Fatal(err)
		}
		for lines := bufio.NewScanner(file); lines.Scan(); {
			f.Add(lines.Bytes())
		}
		_ = file.Close()
	}
	f.Add([]byte("7,160,424069,-;pci_root\n SUBSYSTEM=acpi\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := kmsg.Parse(data)
		if err != nil {
			return
		}
		if strings.ContainsFunc(r.Text, func(c rune) bool { return c < ' ' || c > '~' }) || r.Facility < 0 {
			t.Errorf("got %+v", r)
		}
	})
}
