package judge_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/sys/golden"
	"github.com/muster-hpc/muster/internal/verify"
	"github.com/muster-hpc/muster/internal/verify/expect"
	"github.com/muster-hpc/muster/internal/verify/judge"
	"github.com/muster-hpc/muster/internal/verify/meter"
)

func task(node string, write, read float64) meter.StorageTask {
	return meter.StorageTask{Phase: "write", Node: node, Dir: "/fsx", By: "muster",
		Write: &meter.StorageRate{Bytes: int64(write * 10e9), Seconds: 10, Direct: true},
		Read:  &meter.StorageRate{Bytes: int64(read * 10e9), Seconds: 10, Direct: true, Of: "other"},
		Meta:  &meter.MetadataRates{Files: 1000, Create: 500, Stat: 4000, Remove: 600}}
}

func seen(tasks ...meter.StorageTask) judge.StorageSeen {
	s := judge.StorageSeen{Mount: "/fsx", Tasks: tasks, NetworkMbps: 100_000,
		Right: expect.FileSystem{Mount: "/fsx", What: "Lustre", WriteGBps: 4, ReadGBps: 4, ClientGBps: 12.5, Source: "a page"}}
	for _, t := range tasks {
		s.Nodes = append(s.Nodes, t.Node)
	}
	return s
}

func broken(node string, fault meter.StorageFault) meter.StorageTask {
	return meter.StorageTask{Phase: "write", Node: node, Dir: "/fsx", Fault: fault, Error: "write to /fsx: as it was"}
}

// verdictOf is the verdict of a check, on a node or mount.
func verdictOf(all []verify.Result, check, on string) verify.Verdict {
	for _, r := range all {
		if r.Check == check && r.On == on {
			return r.Verdict
		}
	}
	return ""
}

func TestThroughput(t *testing.T) {
	blind := task("n1", 1, 9)
	blind.Read.Blind = "it lay in memory"
	bursting := seen(task("n1", 0.5, 4))
	bursting.Right.Soft = "credits"
	unrated := seen(task("n1", 0.1, 0.1))
	unrated.Right = expect.UnratedAt("/fsx", "it is this machine's disk")
	absent := seen(task("n1", 4, 4))
	absent.Nodes = append(absent.Nodes, "n2")
	for _, c := range []struct {
		name      string
		seen      judge.StorageSeen
		check, on string
		want      verify.Verdict
	}{
		{"as_bought", seen(task("n1", 2, 2), task("n2", 2, 2)), "storage-write", "/fsx", verify.Pass},
		{"three_quarters", seen(task("n1", 1.5, 2), task("n2", 1.5, 2)), "storage-write", "/fsx", verify.Warn},
		{"less_than_half", seen(task("n1", 0.9, 2), task("n2", 0.9, 2)), "storage-write", "/fsx", verify.Fail},
		{"read_too", seen(task("n1", 2, 0.5), task("n2", 2, 0.5)), "storage-read", "/fsx", verify.Fail},
		{"bursting_only_warns", bursting, "storage-write", "/fsx", verify.Warn},
		{"from_memory", seen(blind), "storage-read", "/fsx", verify.Blind},
		{"unrated", unrated, "storage-write", "/fsx", verify.Pass},
		{"metadata", unrated, "storage-create", "/fsx", verify.Pass},
		{"slow_node", seen(task("n1", 2, 2), task("n2", 2, 2), task("n3", 0.9, 2)), "storage-write-node", "n3", verify.Warn},
		{"two_nodes_know_not", seen(task("n1", 2, 2), task("n2", 0.5, 2)), "storage-write-node", "n2", ""},
		{"silent_node", absent, "storage-measured", "n2", verify.Blind},
		{"full", seen(task("n1", 4, 4), broken("n2", meter.FaultFull)), "storage-measured", "n2", verify.Fail},
		{"read_only", seen(broken("n1", meter.FaultReadOnly)), "storage-measured", "n1", verify.Fail},
		{"stale", seen(broken("n1", meter.FaultStale)), "storage-measured", "n1", verify.Fail},
		{"missing", seen(broken("n1", meter.FaultMissing)), "storage-measured", "n1", verify.Fail},
		{"no_rights", seen(broken("n1", meter.FaultPermission)), "storage-measured", "n1", verify.Blind},
		{"no_room", seen(broken("n1", meter.FaultSpace)), "storage-measured", "n1", verify.Blind},
		{"damaged", seen(broken("n1", meter.FaultDamaged)), "storage-bytes", "n1", verify.Fail},
	} {
		t.Run(c.name, func(t *testing.T) {
			all, _ := judge.Throughput(c.seen)
			if got := verdictOf(all, c.check, c.on); got != c.want {
				t.Errorf("%s on %s is %q, not %q:\n%+v", c.check, c.on, got, c.want, all)
			}
			for _, r := range all {
				if (r.Verdict == verify.Warn || r.Verdict == verify.Fail) && r.Why == "" {
					t.Errorf("%+v has no reason", r)
				}
				if r.Want != "" && strings.Contains(r.Check, "storage-write") && r.Source == "" {
					t.Errorf("%+v has no source", r)
				}
			}
		})
	}
}

func TestThroughputInWords(t *testing.T) {
	all, series := judge.Throughput(seen(task("n1", 1, 2), task("n2", 1, 2), task("n3", 0.3, 2), broken("n4", meter.FaultFull)))
	text, err := json.MarshalIndent(struct {
		Results []verify.Result
		Series  []verify.Series
	}{all, series}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "storage.json", string(text)+"\n")
}

// Whatever tasks tell, nothing panics, and a node without a rate is never a pass.
func FuzzThroughput(f *testing.F) {
	f.Add(`{"phase":"write","node":"n1","write":{"bytes":1,"seconds":0}}`, 2)
	f.Add(task("n1", 1, 1).Line(), 0)
	f.Fuzz(func(t *testing.T, line string, nodes int) {
		one, err := meter.ReadStorageTask(line)
		if err != nil {
			return
		}
		s := judge.StorageSeen{Mount: "/m", Tasks: []meter.StorageTask{one}}
		for i := range min(max(nodes, 0), 5) {
			s.Nodes = append(s.Nodes, fmt.Sprintf("n%d", i))
		}
		all, _ := judge.Throughput(s)
		if verify.Sum(all) == verify.Pass && len(s.Nodes) > 1 {
			t.Errorf("silent nodes pass: %+v", all)
		}
	})
}

// What a program of other people's measured is judged as muster's own, and says what measured.
func TestThroughputOfPrograms(t *testing.T) {
	one, two := task("n1", 2, 2), task("n2", 1.5, 2)
	one.By, two.By = "fio 3.33", "fio 3.33"
	byFio := seen(one, two)
	byFio.Dir = "/fsx/alice"
	byIOR := seen(meter.StorageTask{Phase: "write", Node: "n1", Dir: "/fsx", By: "muster"})
	byIOR.Sums = []judge.StorageSum{{By: "IOR 4.0.0", WriteGBps: 4, ReadGBps: 1}, {By: "mdtest 4.0.0", Meta: &meter.MetadataRates{Create: 100, Stat: 200, Remove: 300}}}
	alone := seen(meter.StorageTask{Phase: "write", Node: "n1", Dir: "/fsx", By: "muster"})
	alone.Sums = []judge.StorageSum{{By: "IOR 4.0.0", WriteGBps: 4, ReadGBps: 40, Blind: "memory"}}
	for _, c := range []struct {
		seen         judge.StorageSeen
		check, found string
		verdict      verify.Verdict
	}{
		{byFio, "storage-write", "3.50 GB/s from 2 nodes by fio 3.33, the slowest n2 with 1.50 GB/s in /fsx/alice", verify.Pass},
		{byFio, "storage-create", "1000 a second in /fsx/alice", verify.Pass},
		{byIOR, "storage-write", "4.00 GB/s from 1 node by IOR 4.0.0", verify.Pass},
		{byIOR, "storage-read", "1.00 GB/s from 1 node by IOR 4.0.0", verify.Fail},
		{byIOR, "storage-stat", "200 a second by mdtest 4.0.0", verify.Pass},
		{alone, "storage-read", "40.00 GB/s from 1 node by IOR 4.0.0", verify.Blind},
	} {
		all, _ := judge.Throughput(c.seen)
		i := slices.IndexFunc(all, func(r verify.Result) bool { return r.Check == c.check })
		if i < 0 || all[i].Found != c.found || all[i].Verdict != c.verdict {
			t.Errorf("%s is not %s, %q: %+v", c.check, c.verdict, c.found, all)
		}
	}
}

// What IOR and mdtest printed is a measurement only if all tasks were one program and told all.
func TestSumsOfPrograms(t *testing.T) {
	read := func(name string) []byte {
		t.Helper()
		text, err := os.ReadFile("../meter/testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	ior, broken := meter.ReadIOR(read("ior/ior-4.0.0-posix-fpp-2iter.txt")), meter.ReadIOR(read("ior/ior-4.1dev-error-enoent.txt"))
	md := meter.ReadMdtest(read("mdtest/mdtest-4.0.0-files-1iter.txt"))
	sum, err := judge.SumOfIOR(ior, ior.Tasks, 2, false)
	if err != nil || sum.By != "IOR 4.0.0" || sum.WriteGBps <= 0 || sum.ReadGBps <= 0 || sum.Blind != "" {
		t.Errorf("%+v, %v", sum, err)
	}
	if sum, err := judge.SumOfIOR(ior, ior.Tasks, 1, false); err != nil || sum.Blind == "" {
		t.Errorf("one node reads its own memory: %+v, %v", sum, err)
	}
	if _, err := judge.SumOfIOR(ior, 2*ior.Tasks, 2, false); err == nil || !strings.Contains(err.Error(), "PMIx") {
		t.Errorf("tasks that do not know each other: %v", err)
	}
	if _, err := judge.SumOfIOR(broken, broken.Tasks, 2, false); err == nil {
		t.Error("an error is a measurement")
	}
	if sum, err := judge.SumOfMdtest(md, 4); err != nil || sum.By != "mdtest 4.0.0" || sum.Meta.Create != 1896.05 || sum.Meta.Remove != 135365.629 {
		t.Errorf("%+v, %v", sum, err)
	}
	if _, err := judge.SumOfMdtest(md, 8); err == nil {
		t.Error("half of the tasks are a measurement")
	}
}
