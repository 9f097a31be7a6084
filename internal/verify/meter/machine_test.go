package meter

import (
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func sample(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestEFA counts devices: libfabric 2 has two endpoints of each for reliable messages, and ranks print the same.
func TestEFA(t *testing.T) {
	f := ReadFiInfo(sample(t, "fi_info/rdmap-2.x-efa-direct-one-device.txt"))
	if got := f.EFA(""); !slices.Equal(got, []string{"rdmap47s0"}) || !f.Direct() {
		t.Errorf("got %q, direct %v", got, f.Direct())
	}
	f = ReadFiInfo(sample(t, "fi_info/mpirun-tagged-2nodes.txt"))
	if got := f.Processes(); !slices.Equal(got, []string{"1", "0"}) {
		t.Fatalf("processes %q", got)
	}
	for _, process := range f.Processes() {
		if got := f.EFA(process); !slices.Equal(got, []string{"rdmap197s0"}) {
			t.Errorf("process %s: %q", process, got)
		}
	}
	if got := ReadFiInfo(sample(t, "fi_info/dlami-with-rxd.txt")).EFA(""); !slices.Equal(got, []string{"efa_0"}) {
		t.Errorf("got %q", got)
	}
	if got := ReadFiInfo([]byte("fi_getinfo: -61 (No data available)\n")); got.Whole || len(got.Problems) != 2 {
		t.Errorf("got %+v", got)
	}
}

// TestReadGPUQuery_without_a_header has the names from who asked.
func TestReadGPUQuery_without_a_header(t *testing.T) {
	q := ReadGPUQuery([]byte("0, 81559 MiB, 0x0000000000000000, 45 %\n1, 81559, [N/A], 7\n"), "index", "memory.total", "clocks_throttle_reasons.active", "utilization.gpu")
	if !q.Whole || len(q.GPUs) != 2 {
		t.Fatalf("got %+v", q)
	}
	if n, ok := q.GPUs[0].Number("memory.total"); n != 81559 || !ok || q.GPUs[0]["memory.total"].Unit != "MiB" {
		t.Errorf("got %v", q.GPUs[0])
	}
	if got := q.GPUs[0].Text("clocks_throttle_reasons.active"); got != "0x0000000000000000" || got != q.GPUs[0].Text("clocks_event_reasons.active") {
		t.Errorf("got %q", got)
	}
	if n, ok := q.GPUs[1].Number("clocks_event_reasons.active"); ok {
		t.Errorf("got %g for a value that is not there", n)
	}
	for text, want := range map[string]string{
		"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n": "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
		"No devices were found\n": "No devices were found",
		"0, 81559":                `line 1 has 2 values instead of 4: "0, 81559"`,
	} {
		got := ReadGPUQuery([]byte(text), "index", "memory.total", "clocks_throttle_reasons.active", "utilization.gpu")
		if diff := cmp.Diff([]string{want, "there are no GPUs in the answer"}, got.Problems); diff != "" || got.Whole {
			t.Error(diff)
		}
	}
}

// TestReadDCGM: what failed has failed in all forms, whatever comes behind, and what did not run has not passed.
func TestReadDCGM(t *testing.T) {
	for _, name := range []string{"dcgm3-diag-r2-synthetic.json", "dcgm3-diag-text-fail.txt", "dcgm4-diag-r1-persistence-fail.json", "dcgm4-diag-r3-memory-fail-synthetic.json", "dcgm4-diag-text-synthetic.txt"} {
		if d := ReadDCGM(sample(t, "dcgm/"+name)); len(d.Failed()) == 0 || !d.Ran() || !d.Whole {
			t.Errorf("%s: %+v", name, d)
		}
	}
	if d := ReadDCGM(sample(t, "dcgm/dcgmi-diag-r2-text-3.3.3.txt")); len(d.Failed()) != 0 || !d.Ran() || !d.Whole {
		t.Errorf("got %+v", d)
	}
	for name, row := range map[string]struct {
		text   string
		failed int
		ran    bool
		whole  bool
	}{
		"skipped":       {`{"DCGM Diagnostic":{"test_categories":[{"tests":[{"name":"memory","results":[{"status":"Skip"}],"test_summary":{"status":"Skip"}}]}]}}`, 0, false, true},
		"summary_fails": {`{"DCGM Diagnostic":{"test_categories":[{"tests":[{"name":"memory","results":[{"status":"Pass"}],"test_summary":{"status":"Fail"}}]}]}}`, 1, true, true},
		"null_tests":    {`x` + "\n" + `{"DCGM GPU Diagnostic":{"test_categories":[{"tests":[null,{"name":"Inforom","results":[{"gpu_ids":"0","status":"FAIL","warnings":["bad"]}]},null]}]}}`, 1, true, true},
		"cut":           {`{"DCGM Diagnostic":{"test_categories":[{"tests":[{"name":"memory","results":[{"status":"Fail"}],"test_su`, 1, true, false},
		"iterations":    {`{"iterations":[{"DCGM Diagnostic":{"test_categories":[{"tests":[{"name":"pcie","results":[{"status":"Fail"}]}]}]}}],"Overall Result":"Fail"}`, 1, true, true},
		"runtime_error": {`{"DCGM Diagnostic":{"runtime_error":"The GPU is in use by another diagnosis"}}`, 0, false, false},
		"new_word":      {`{"DCGM Diagnostic":{"test_categories":[{"tests":[{"name":"pcie","results":[{"status":"Perhaps"}]}]}]}}`, 0, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			d := ReadDCGM([]byte(row.text))
			if len(d.Failed()) != row.failed || d.Ran() != row.ran || d.Whole != row.whole {
				t.Errorf("got %+v", d)
			}
		})
	}
}

// TestTopologyPath_and_links have what judges ask for.
func TestTopologyPath_and_links(t *testing.T) {
	top := ReadTopology(sample(t, "nvidia-smi/topo-8xa100.txt"))
	for _, row := range [][3]string{{"GPU0", "GPU7", "NV12"}, {"GPU2", "NIC3", "PXB"}, {"GPU2", "NIC0", "SYS"}, {"GPU2", "NIC99", ""}} {
		if got := top.Path(row[0], row[1]); got != row[2] {
			t.Errorf("%v: %q", row, got)
		}
	}
	if got := top.NICs["NIC3"]; got != "mlx5_3" {
		t.Errorf("got %q", got)
	}
	links := ReadNVLinks(sample(t, "nvidia-smi/nvlink-inactive-synthetic.txt"))
	if links.GPUs[0].Active() != 1 || links.GPUs[1].Active() != 0 {
		t.Errorf("got %+v", links)
	}
}

// TestReadChrony_offset has the sign of chrony, where positive is slow: client.c of chrony 4.3, the format O.
func TestReadChrony_offset(t *testing.T) {
	c := ReadChrony([]byte("A29FC87B,162.159.200.123,4,1700000000.123,-0.000250000,0.000010000,0.000020000,1.5,0.01,0.1,0.010000000,0.000500000,64.2,Normal\n"))
	if !c.Synchronised || c.Stratum != 4 || *c.OffsetS != 0.00025 || *c.BoundS != 0.00575 || c.Source != "162.159.200.123" {
		t.Errorf("got %+v, %g, %g", c, *c.OffsetS, *c.BoundS)
	}
}

// TestReadIOR_between_lines takes IOR's warnings out of the midst of its JSON.
func TestReadIOR_between_lines(t *testing.T) {
	text := sample(t, "ior/ior-4.1dev-summary.json")
	at := 2600
	for text[at-1] != '\n' {
		at++
	}
	text = slices.Concat(text[:at], []byte("WARNING: Incorrect data on read (3 errors found).\n"), text[at:])
	o := ReadIOR(text)
	if !o.Whole || len(o.Incorrect) != 1 || len(o.Runs) != 4 {
		t.Errorf("got %+v", o)
	}
}
