package cause_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/job/cause"
	"github.com/muster-hpc/muster/internal/sys/kmsg"
)

// TestCondemns: what NVIDIA's drivers say of a machine's fault, and not what a user can have a kernel say.
func TestCondemns(t *testing.T) {
	for line, want := range map[string]bool{
		"NVRM: Xid (PCI:0000:38:00): 79, pid=12, GPU has fallen off the bus.":                                                                           true,
		"NVRM: Xid (PCI:0000:38:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.":                                                  true,
		"NVRM: Xid (PCI:0000:38:00 GPU-I:05): 94, pid=12, name=python, Contained: SM (0x1)":                                                             true,
		"NVRM: Xid (PCI:0000:38:00 GPU-I:05 GPU-CI:00): 13, pid=12, name=python, Graphics SM Warp Exception":                                            false,
		"NVRM: GPU 0000:38:00.0: GPU has fallen off the bus.":                                                                                           true,
		"NVRM: GPU at PCI:0000:38:00: GPU-8c4d3b4e-0000-0000-0000-000000000000":                                                                         false,
		`NVRM: The NVIDIA GPU 0000:38:00.0\x0aNVRM: (PCI ID: 10de:2335) installed in this system has\x0aNVRM: fallen off the bus and is not responding`: true,
		"nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Fatal, Link 32 egress non-posted PRIV error (First)":                                         true,
		"nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error (First)":                                     false,
		"NVRM: Xid (PCI:0018:01:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x0)":                                                                    true,
		"NVRM: Xid (PCI:0018:01:00): 149, NETIR_LINK_EVT Nonfatal XC0 i0 Link 08 (0x0)":                                                                 false,
		"NVRM: Xid (PCI:0000:38:00): 154, pid=12, name=x, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)":                      true,
		"NVRM: Xid (PCI:0000:38:00): 154, pid=12, name=x, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)":                      false,
		"NVRM: Xid (PCI:0000:38:00): 31, pid=12, name=python, Ch 0000000f, MMU Fault":                                                                   false,
		"NVRM: Xid (PCI:0000:38:00): 45, pid=12, name=python, Ch 00000008":                                                                              false,
		"NVRM: Xid (PCI:0000:38:00): 9999, pid=12":                                                                                                      false,
		// Programs may be called as they like, in fifteen letters, and crash; mounts may have options of any text.
		"NVRM: Xid (PCI:[12]: segfault at 79 ip 00007f sp 00007f error 4 in fallen off the bus[400000+1000]":     false,
		"NVRM: Xid (0): [12]: segfault at 79 ip 00007f sp 00007f error 4 in x[400000+1000]":                      false,
		"NVRM: GPU 0000:[12]: segfault at 79 ip 00007f sp 00007f error 4 in has fallen off the bus[400000+1000]": false,
		"NVRM: GPU 0000: page allocation failure: order:9":                                                       false,
		"nvidia-nvswitch[12]: unhandled exception: SXid (PCI:0000:05:00.0): 12028, Fatal":                        false,
		`overlayfs: unrecognized mount option "NVRM: Xid (PCI:0000:38:00): 79, x" or missing value`:              false,
		`tmpfs: Unknown parameter 'x\x0aNVRM: Xid (PCI:0000:38:00): 79, x'`:                                      false,
		" NVRM: Xid (PCI:0000:38:00): 79, x":                                                                     false,
		"":                                                                                                       false,
	} {
		if got := cause.Condemns(line); got != want {
			t.Errorf("%t: %s", got, line)
		}
	}
}

// TestCondemns_as_Judge_does: a line that condemns a node has Judge hold the node at fault, for a look at it.
func TestCondemns_as_Judge_does(t *testing.T) {
	condemned := 0
	for _, line := range recordedKernels(t) {
		e := failed(1)
		e.Kernel = []cause.KernelLine{{Node: "q-st-b-2", Text: line}}
		want := atFault(cause.Judge(e)) == "q-st-b-2!"
		if cause.Condemns(line) {
			condemned++
		}
		if got := cause.Condemns(line); got && !want || strings.HasPrefix(line, "NVRM: ") && got != want {
			t.Errorf("condemned %t, judged %t: %s", got, want, line)
		}
	}
	if condemned == 0 {
		t.Error("no line was")
	}
}

// recordedKernels are the lines of recorded logs of kernels, as /dev/kmsg has them.
func recordedKernels(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/xid/*")
	if err != nil || len(paths) == 0 {
		t.Fatal(err)
	}
	var all []string
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			line = strings.TrimSuffix(line, "\n")
			if r, err := kmsg.Parse([]byte(line)); err == nil {
				line = r.Text
			}
			if i := strings.Index(line, "NVRM: "); i > 0 {
				line = line[i:] // what dmesg puts before it
			}
			all = append(all, line)
		}
	}
	return all
}
